/* hello.c - hello: what the server is told when a connection begins, and what it answers.
 *
 * It is said again on the same connection when the data are not what they were, and once more
 * when a client that only looked wants its first place.
 */
#include "store/redis/inner.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- The answer ----------------------------------------------------------------- */

/* The session stands, or stands again.  If data were lost meanwhile, it is no more than
 * that: until our places are put down again nothing is sure to be ours, even if the
 * connection breaks before that is done.  A client that only looks has none. */
static void take_hello(struct hf_redis *redis, const redisReply *reply, const char *epoch)
{
    struct hf_redis_session *session = &redis->session;
    bool                     other = strcmp(session->epoch, epoch) != 0;
    bool                     again = !redis->served.fresh && other;
    bool                     late = redis->remote.now >= redis->served.base.alive_until;

    assert(redis->remote.dial->phase == HF_DIAL_GREETING && redis->link.introduced);
    session->early = HF_NEVER;
    session->unmended |= again && session->locks;
    if (session->unmended && late && redis->served.places > 0) {
        hf_redis_session_restart(
            &redis->served); /* too late to say that anything is ours */
        return;
    }
    snprintf(session->epoch, sizeof session->epoch, "%s", epoch);
    redis->served.fresh = false;
    session->history_set = true;
    hf_redis_session_told(redis, hf_redis_time(reply, 2), hf_redis_time(reply, 4),
                          hf_redis_number(reply, 6));
    if (session->longest > 0)
        redis->link.info.longest = session->longest;
    hf_redis_renew_after(redis, hf_redis_time(reply, 5));
    if (other)
        redis->news.heard = 0; /* the count may have been lost, too */
    hf_redis_news_count(redis, (uint64_t)hf_redis_number(reply, 3), redis->news.heard);
    if (session->unmended) {
        hf_redis_mend(redis);
        return;
    }
    if (again)
        hf_served_news_all(&redis->served);
    hf_redis_session_opened(redis);
}

/* We would not understand what is there, nor would those who wrote it what we write. */
static void other_layout(struct hf_redis *redis, const redisReply *reply)
{
    char    why[HF_ERRMSG_MAX];
    int64_t theirs = hf_redis_number(reply, 1), ours = hf_redis_number(reply, 2);

    if (theirs > ours)
        snprintf(why, sizeof why,
                 "is used by a newer version of Holdfast (layout %" PRId64
                 ", ours is %" PRId64 "): use that version",
                 theirs, ours);
    else
        snprintf(
            why, sizeof why,
            "is used by an older version of Holdfast (layout %" PRId64
            ", ours is %" PRId64 "), sessions: %" PRId64
            "; the last ends in %.0f s unless it is renewed. End them; that version's "
            "`holdfast list` shows who holds locks",
            theirs, ours, hf_redis_number(reply, 3), hf_seconds(hf_redis_time(reply, 4)));
    hf_dial_refuse(redis->remote.dial, HF_EUNSUPPORTED, why);
}

static void on_hello(struct hf_redis *redis, void *data, const redisReply *reply)
{
    const char *epoch = hf_redis_text(reply, 1);
    int         code;

    (void)data;
    if (!hf_redis_session_answered(redis, reply, HF_REDIS_HELLO, &code))
        return;
    if (code == HF_REDIS_AGAIN) {
        hf_redis_script_load(redis, HF_REDIS_BYE); /* there may be no time later */
        hf_redis_hello(redis);
    } else if (code == HF_SERVED_GONE) {
        hf_redis_session_restart(&redis->served);
    } else if (code == HF_SERVED_VERSION) {
        other_layout(redis, reply);
    } else if (code == HF_SERVED_STALE) {
        hf_dial_break(redis->remote.dial, "was told to end our session, by its will");
    } else if (code != HF_SERVED_DONE || epoch == NULL) {
        hf_dial_break(redis->remote.dial, "gives no answer that makes sense");
    } else if (redis->served.executes) {
        snprintf(redis->session.epoch, sizeof redis->session.epoch, "%s", epoch);
        hf_redis_execute(redis);
    } else {
        take_hello(redis, reply, epoch);
    }
}

/* ---- Hello ---------------------------------------------------------------------- */

static hf_time longest_known(const struct hf_redis *redis)
{
    const struct hf_redis_session *session = &redis->session;
    hf_time                        ttl = redis->config.ttl;

    return ttl > session->longest ? ttl : session->longest;
}

/* How long nobody may be granted anything, should there be no data at all.  There was
 * none before either if the namespace was never used on this server since it started,
 * and leases from before that have ended.  `first`: we have locked nothing so far. */
static hf_time blank_hold(const struct hf_redis *redis, bool first)
{
    const struct hf_redis_server_info *info = &redis->link.info;
    hf_time                            longest = longest_known(redis);
    hf_time                            up = (info->uptime - 1) * HF_SEC;

    if (info->longest > longest)
        longest = info->longest;
    if (!first || info->longest > 0 || info->promoted)
        return longest;
    return up >= longest ? 0 : longest - (up > 0 ? up : 0);
}

static void add_hello(struct hf_redis *redis, bool first)
{
    struct hf_served        *served = &redis->served;
    struct hf_redis_session *session = &redis->session;

    hf_redis_script(redis, HF_REDIS_HELLO, 0);
    hf_redis_add_who(redis);
    hf_redis_add_number(served, (uint64_t)(redis->config.ttl / 1000));
    hf_redis_add_number(served, (uint64_t)(longest_known(redis) / 1000));
    hf_redis_add_number(served, (uint64_t)(blank_hold(redis, first) / 1000));
    hf_redis_add_number(served, hf_redis_session_token_bound(redis));
    if (redis->config.history >= 0 && !served->executes)
        hf_redis_add_number(served, (uint64_t)redis->config.history);
    else
        hf_redis_add(served, "");
    hf_redis_add_number(served, session->history_set);
    hf_redis_add_number(served, !session->locks);
}

static bool is_enter_among(const struct hf_requests *list)
{
    for (const struct hf_req *req = list->first; req != NULL; req = req->next)
        if (req->op == HF_ENTER)
            return true;
    return false;
}

void hf_redis_hello(struct hf_redis *redis)
{
    struct hf_redis_session *session = &redis->session;

    assert(!session->call.flying && redis->remote.dial->phase != HF_DIAL_READY);
    session->sent = redis->remote.now;
    session->locks = session->locks || is_enter_among(&redis->remote.waiting) ||
                     is_enter_among(&redis->remote.repeat);
    if (session->locks)
        hf_redis_canary_load(redis);
    add_hello(redis, redis->served.fresh);
    hf_redis_send(redis, &session->call, on_hello, NULL);
}

/* If that hello began another epoch, ENTER, which was sent behind it, is told so and sent again. */
static void on_used(struct hf_redis *redis, void *data, const redisReply *reply)
{
    const char *epoch = hf_redis_text(reply, 1);
    int         code;

    (void)data;
    if (!hf_redis_session_answered(redis, reply, HF_REDIS_HELLO, &code))
        return;
    hf_redis_canary_load(redis);
    if (code == HF_REDIS_AGAIN)
        hf_redis_session_use(redis);
    else if (code == HF_SERVED_DONE &&
             epoch != NULL) /* we have no place to put down again */
        snprintf(redis->session.epoch, sizeof redis->session.epoch, "%s", epoch);
}

/* Our session was opened when we wanted no place.  Without memory ENTER comes no further
 * either. */
void hf_redis_session_use(struct hf_redis *redis)
{
    struct hf_redis_session *session = &redis->session;

    assert(!session->use.flying);
    session->locks = true;
    add_hello(redis, true);
    if (redis->args.failed)
        session->locks = false;
    else
        hf_redis_send(redis, &session->use, on_used, NULL);
}
