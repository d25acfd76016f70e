/* hello.c - hello: the first script called on a connection.
 *
 * It opens the session, or proves that it still exists.  It is called again on the same
 * connection when the server has lost data, and before the first ENTER of a client that
 * was read-only so far.
 */
#include "store/redis/inner.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NOT_SOUGHT (-1)

/* ---- The answer --------------------------------------------------------------- */

/* The server is in another epoch than the one we know: data were lost.  We cannot rely on
 * our places until they are reclaimed, even if the connection breaks before that is done.
 * A read-only client has no places. */
static bool take_epoch(struct hf_redis *redis, const char *epoch)
{
    struct hf_redis_session *session = &redis->session;
    bool                     again = !redis->served.fresh;

    if (strcmp(session->epoch, epoch) == 0)
        return false;
    session->unreclaimed |= again && session->locks;
    redis->served.fresh = false;
    redis->messages.heard = 0; /* the count may have been lost, too */
    snprintf(session->epoch, sizeof session->epoch, "%s", epoch);
    return again;
}

/* The session exists.  `reread`: our places may stand differently now. */
static void take_hello(struct hf_redis *redis, const redisReply *reply, bool reread)
{
    struct hf_redis_session *session = &redis->session;
    bool                     late = redis->remote.now >= redis->served.base.alive_until;

    assert(redis->remote.dial->phase == HF_DIAL_GREETING && redis->link.introduced);
    session->early = HF_NEVER;
    if (session->unreclaimed && late && redis->served.places > 0) {
        hf_redis_session_restart(&redis->served); /* too late to reclaim anything */
        return;
    }
    hf_redis_session_take_limits(redis, hf_redis_time(reply, 2), hf_redis_time(reply, 4),
                                 hf_redis_number(reply, 6));
    hf_redis_renew_after(redis, hf_redis_time(reply, 5));
    hf_redis_messages_count(redis, (uint64_t)hf_redis_number(reply, 3),
                            redis->messages.heard);
    if (session->unreclaimed) {
        hf_redis_reclaim(redis);
        return;
    }
    if (reread)
        hf_served_reread_all(&redis->served);
    hf_redis_session_opened(redis);
}

/* We cannot read the data, and their owners could not read ours. */
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
    struct hf_redis_session *session = &redis->session;
    const char              *epoch = hf_redis_text(reply, 1);
    int                      code;

    (void)data;
    if (!hf_redis_session_answered(redis, reply, HF_REDIS_HELLO, &code))
        return;
    if (code == HF_REDIS_AGAIN) {
        hf_redis_script_load(redis, HF_REDIS_BYE); /* close() may have no time for it */
        hf_redis_hello(redis);
    } else if (code == HF_SERVED_GONE) {
        hf_redis_session_restart(&redis->served);
    } else if (code == HF_SERVED_VERSION) {
        other_layout(redis, reply);
    } else if (code == HF_SERVED_STALE) {
        hf_dial_break(redis->remote.dial, "has ended our session by its session key");
    } else if (code != HF_SERVED_DONE || epoch == NULL) {
        hf_dial_break(redis->remote.dial, "sends an answer that makes no sense");
    } else if (redis->served.only_ends) {
        snprintf(redis->session.epoch, sizeof redis->session.epoch, "%s", epoch);
        hf_redis_end_by_key(redis);
    } else {
        bool reread = take_epoch(redis, epoch) || session->blank;
        session->history_set = true;
        session->blank = hf_redis_number(reply, 7) != 0;
        if (session->blank && session->locks)
            hf_redis_canaries_seek(redis);
        else
            take_hello(redis, reply, reread);
    }
}

/* ---- Hello -------------------------------------------------------------------- */

hf_time hf_redis_longest_known(const struct hf_redis *redis)
{
    const struct hf_redis_session *session = &redis->session;
    hf_time                        ttl = redis->config.ttl;

    return ttl > session->longest ? ttl : session->longest;
}

/* Without a canary nobody had locked since the server started, and leases from before end
 * by themselves. */
hf_time hf_redis_blank_grace(const struct hf_redis *redis, hf_time canary)
{
    hf_time longest = hf_redis_longest_known(redis);
    hf_time up = redis->remote.now - redis->link.info.started - HF_SEC;

    if (canary > 0 || redis->session.longest > 0)
        return canary > longest ? canary : longest;
    return up >= longest ? 0 : longest - (up > 0 ? up : 0);
}

/* `canary`: the longest one found in this epoch, or 0; NOT_SOUGHT. */
static void add_hello(struct hf_redis *redis, hf_time canary)
{
    struct hf_served        *served = &redis->served;
    struct hf_redis_session *session = &redis->session;

    hf_redis_script(redis, HF_REDIS_HELLO, 0);
    hf_redis_add_session(redis);
    hf_redis_add_number(served, (uint64_t)(redis->config.ttl / 1000));
    hf_redis_add_number(served, (uint64_t)(session->longest / 1000));
    if (canary == NOT_SOUGHT)
        hf_redis_add(served, "");
    else
        hf_redis_add_number(served,
                            (uint64_t)(hf_redis_blank_grace(redis, canary) / 1000));
    hf_redis_add_number(served, hf_redis_session_token_bound(redis));
    if (redis->config.history >= 0 && !served->only_ends)
        hf_redis_add_number(served, (uint64_t)redis->config.history);
    else
        hf_redis_add(served, "");
    hf_redis_add_number(served, session->history_set);
    hf_redis_add_number(served, !session->locks);
    if (redis->sentinel != NULL)
        hf_redis_add_number(served, redis->link.master.config_epoch);
    else
        hf_redis_add(served, "");
}

static bool is_enter_among(const struct hf_requests *list)
{
    for (const struct hf_req *req = list->first; req != NULL; req = req->next)
        if (req->op == HF_ENTER)
            return true;
    return false;
}

static void say_hello(struct hf_redis *redis, hf_time canary)
{
    struct hf_redis_session *session = &redis->session;

    assert(!session->call.flying && redis->remote.dial->phase != HF_DIAL_READY);
    session->sent = redis->remote.now;
    add_hello(redis, canary);
    hf_redis_send(redis, &session->call, on_hello, NULL);
}

void hf_redis_hello(struct hf_redis *redis)
{
    redis->session.locks = redis->session.locks ||
                           is_enter_among(&redis->remote.waiting) ||
                           is_enter_among(&redis->remote.repeat);
    say_hello(redis, NOT_SOUGHT);
}

void hf_redis_hello_found(struct hf_redis *redis, hf_time canary)
{
    assert(redis->session.blank && redis->session.locks);
    hf_redis_canary_load(redis); /* before anything can be granted */
    say_hello(redis, canary);
}

/* If this hello began a new epoch, the ENTER behind it is told so, and is sent again.  We
 * have no place to reclaim. */
static void on_used(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_redis_session *session = &redis->session;
    const char              *epoch = hf_redis_text(reply, 1);
    int                      code;

    (void)data;
    if (!hf_redis_session_answered(redis, reply, HF_REDIS_HELLO, &code))
        return;
    if (code == HF_REDIS_AGAIN) {
        hf_redis_session_use(redis);
    } else if (code == HF_SERVED_DONE && epoch != NULL) {
        snprintf(session->epoch, sizeof session->epoch, "%s", epoch);
        session->blank = hf_redis_number(reply, 7) != 0;
        if (!session->blank)
            hf_redis_canary_load(redis);
        else if (redis->remote.dial->phase == HF_DIAL_READY)
            hf_redis_session_greet_again(redis);
    }
}

/* We said hello as a read-only client.  Others must see the canary before our ENTER is
 * granted; but if we have to look for canaries, it would be in our way.  Out of memory:
 * ENTER will fail as well. */
void hf_redis_session_use(struct hf_redis *redis)
{
    struct hf_redis_session *session = &redis->session;

    assert(!session->use.flying);
    session->locks = true;
    if (!session->blank)
        hf_redis_canary_load(redis);
    add_hello(redis, NOT_SOUGHT);
    if (redis->args.failed)
        session->locks = false;
    else
        hf_redis_send(redis, &session->use, on_used, NULL);
}
