/* session.c - our session on the server, and its lease.
 *
 * Happy path: hello opens it, a renewal a third of the ttl later keeps it, and so on.
 * Each answer moves alive_until, counted from the sending.
 *
 * Failures: no answer for another third: the connection is given up.  On a new one hello
 * proves that the session is still there.  It is dead: the link is lost, and hello opens
 * a new one.  The server's data are not what they were (it was started anew, or is
 * another, or was emptied): a new epoch; for a while nobody is granted anything, and we
 * put our places down again (mend.c).
 *
 * The session that a will is of: hello takes it over, and bye ends it.
 */
#include "store/redis/inner.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void start_afresh(struct hf_redis *redis)
{
    struct hf_redis_session *session = &redis->session;

    hf_served_start_afresh(&redis->served);
    strcpy(session->epoch, "0");
    session->unmended = false;
    redis->news.heard = redis->news.sent = 0;
}

void hf_redis_session_init(struct hf_redis *redis)
{
    redis->session.longest = redis->config.ttl;
    redis->session.due = redis->session.early = HF_NEVER;
    strcpy(redis->session.epoch, "0");
}

/* ---- The lease ------------------------------------------------------------------ */

/* With Sentinels it takes also that they name this server: sentinel.c tells why. */
void hf_redis_session_extend(struct hf_redis *redis)
{
    hf_time since = redis->session.renewed;

    redis->served.base.lease = redis->config.ttl; /* even if nothing is proven yet */
    if (redis->sentinel != NULL && hf_redis_sentinels_since(redis) < since)
        since = hf_redis_sentinels_since(redis);
    if (since > 0)
        hf_served_extend(&redis->served, since, redis->config.ttl);
}

void hf_redis_session_renewed(struct hf_redis *redis)
{
    redis->session.renewed = redis->session.sent;
    redis->session.due = redis->session.sent + redis->config.ttl / 3;
    hf_redis_session_extend(redis);
}

void hf_redis_session_longest(struct hf_redis *redis, hf_time longest)
{
    if (longest > redis->config.ttl)
        redis->session.longest = longest;
}

void hf_redis_renew_after(struct hf_redis *redis, hf_time time)
{
    hf_time at = redis->remote.now + time + HF_MS;

    if (time > 0 && at < redis->session.early)
        redis->session.early = at;
}

/* The time to put places down again is over: whoever waits is woken, and reads. */
void hf_redis_session_held_off(struct hf_redis *redis, hf_time left)
{
    bool over = redis->session.held_off && left == 0;

    redis->session.held_off = left > 0;
    hf_redis_renew_after(redis, left);
    if (over) {
        redis->served.survey.stamp = 0; /* LIST told of it in every line: look at all */
        hf_served_news_all(&redis->served);
    }
}

/* ---- Answers -------------------------------------------------------------------- */

bool hf_redis_session_answered(struct hf_redis *redis, const redisReply *reply,
                               enum hf_redis_script script, int *code)
{
    if (reply == NULL)
        return false;
    switch (hf_redis_fault(redis, reply)) {
    case HF_SERVED_FINE:
        *code = (int)hf_redis_number(reply, 0);
        return true;
    case HF_SERVED_MISSING:
        hf_redis_script_load(redis, script);
        *code = HF_REDIS_UNKNOWN;
        return true;
    case HF_SERVED_DENIED:
        hf_dial_refuse(redis->remote.dial, HF_EDENIED, NULL);
        return false;
    case HF_SERVED_FAILED:
        hf_dial_refuse(redis->remote.dial, HF_ESTORE, NULL);
        return false;
    default:
        hf_dial_break(redis->remote.dial, NULL);
        return false;
    }
}

static void opened(struct hf_redis *redis)
{
    assert(!redis->session.unmended && redis->link.introduced);
    hf_redis_session_renewed(redis);
    redis->link.following = false;
    hf_dial_ready(redis->remote.dial);
    hf_dial_proven(redis->remote.dial);
}

void hf_redis_mended(struct hf_redis *redis)
{
    assert(redis->session.unmended && redis->session.mending.id == NULL);
    redis->session.unmended = false;
    hf_served_news_all(&redis->served);
    opened(redis);
}

/* The session stands, or stands again.  If data were lost meanwhile, it is no more than
 * that: until our places are put down again nothing is sure to be ours, even if the
 * connection breaks before that is done. */
static void take_hello(struct hf_redis *redis, const redisReply *reply, const char *epoch)
{
    struct hf_redis_session *session = &redis->session;
    bool                     other = strcmp(session->epoch, epoch) != 0;
    bool                     late = redis->remote.now >= redis->served.base.alive_until;

    assert(redis->remote.dial->phase == HF_DIAL_GREETING && redis->link.introduced);
    hf_redis_session_longest(redis, hf_redis_time(reply, 4));
    redis->link.info.longest = session->longest;
    session->early = HF_NEVER;
    session->unmended |= !redis->served.fresh && other;
    if (session->unmended && late && redis->served.places > 0) {
        hf_redis_session_restart(
            &redis->served); /* too late to say that anything is ours */
        return;
    }
    snprintf(session->epoch, sizeof session->epoch, "%s", epoch);
    redis->served.fresh = false;
    session->history_set = true;
    hf_redis_session_held_off(redis, hf_redis_time(reply, 2));
    hf_redis_renew_after(redis, hf_redis_time(reply, 5));
    if (other)
        redis->news.heard = 0; /* the count may have been lost, too */
    hf_redis_news_count(redis, (uint64_t)hf_redis_number(reply, 3), redis->news.heard);
    if (session->unmended)
        hf_redis_mend(redis);
    else
        opened(redis);
}

/* We would not understand what is there, nor would those who wrote it what we write. */
static void other_layout(struct hf_redis *redis, const redisReply *reply)
{
    char why[HF_ERRMSG_MAX];

    snprintf(why, sizeof why,
             "has locks of another version of Holdfast under our keys (layout %" PRId64
             ", ours is %" PRId64 "): use that version, or another ?prefix=",
             hf_redis_number(reply, 1), hf_redis_number(reply, 2));
    hf_dial_refuse(redis->remote.dial, HF_EUNSUPPORTED, why);
}

static void on_hello(struct hf_redis *redis, void *data, const redisReply *reply)
{
    const char *epoch = hf_redis_text(reply, 1);
    int         code;

    (void)data;
    if (!hf_redis_session_answered(redis, reply, HF_REDIS_HELLO, &code))
        return;
    if (code == HF_REDIS_UNKNOWN) {
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

/* How long nobody may be granted anything, should there be no data at all.  There was
 * none before either if the namespace was never used on this server since it started,
 * and leases from before that have ended. */
static hf_time blank_hold(const struct hf_redis *redis)
{
    const struct hf_redis_server_info *info = &redis->link.info;
    hf_time                            longest =
        redis->session.longest > info->longest ? redis->session.longest : info->longest;
    hf_time up = (info->uptime - 1) * HF_SEC;

    if (!redis->served.fresh || info->longest > 0 || info->promoted)
        return longest;
    return up >= longest ? 0 : longest - (up > 0 ? up : 0);
}

void hf_redis_hello(struct hf_redis *redis)
{
    struct hf_redis_session *session = &redis->session;

    assert(!session->call.flying && redis->remote.dial->phase != HF_DIAL_READY);
    session->sent = redis->remote.now;
    hf_redis_script(redis, HF_REDIS_HELLO, 0);
    hf_redis_add_who(redis);
    hf_redis_add_number(&redis->served, (uint64_t)(redis->config.ttl / 1000));
    hf_redis_add_number(&redis->served, (uint64_t)(session->longest / 1000));
    hf_redis_add_number(&redis->served, (uint64_t)(blank_hold(redis) / 1000));
    hf_redis_add_number(&redis->served, redis->served.token);
    if (redis->config.history >= 0 && !redis->served.executes) {
        hf_redis_add_number(&redis->served, (uint64_t)redis->config.history);
        hf_redis_add_number(&redis->served, session->history_set);
    }
    hf_redis_send(redis, &session->call, on_hello, NULL);
}

/* Past all connections that the owner of a session may make, so that nothing he sends counts
 * any more; and the same for all who have its will, so that none keeps another out.  The
 * server's Lua has no whole numbers beyond 2^53. */
#define LAST_CONNECTION ((uint64_t)1 << 52)

void hf_redis_session_begin(struct hf_redis *redis)
{
    struct hf_redis_session *session = &redis->session;

    assert(redis->remote.dial->phase == HF_DIAL_GREETING && redis->link.introduced);
    if (redis->served.executes) {
        session->connection = LAST_CONNECTION;
        strcpy(session->epoch, "-");
    } else {
        session->connection++;
        assert(session->connection < LAST_CONNECTION);
    }
    session->again = false;
    hf_redis_canary_load(redis);
    hf_redis_hello(redis);
}

/* The renewal that may be in flight is answered first; then on_renewed() says hello. */
static void hello_again(struct hf_redis *redis)
{
    hf_dial_greet_again(redis->remote.dial);
    redis->session.again = redis->session.call.flying;
    if (!redis->session.again)
        hf_redis_hello(redis);
}

/* Every answer to what is in flight says the same; one is enough. */
void hf_redis_session_again(struct hf_served *served)
{
    struct hf_redis *redis = (struct hf_redis *)served;

    if (redis->remote.dial->phase == HF_DIAL_READY)
        hello_again(redis);
}

void hf_redis_session_restart(struct hf_served *served)
{
    struct hf_redis *redis = (struct hf_redis *)served;

    if (served->executes) { /* no other */
        hf_served_executed(served);
        return;
    }
    redis->session.due = redis->session.early = HF_NEVER;
    hf_dial_say(
        redis->remote.dial,
        "does not know our session any more: its lease ended, or somebody ended it");
    start_afresh(redis);
    hf_redis_news_close(redis);
    hf_remote_lose(&redis->remote);
    assert(served->places == 0);
    if (redis->link.introduced)
        hello_again(redis);
}

void hf_redis_session_broken(struct hf_redis *redis)
{
    assert(!redis->session.call.flying && redis->link.conn.first == NULL);
    redis->session.due = HF_NEVER;
    redis->session.renewed = 0;
    hf_redis_mend_end(redis);
    hf_redis_news_close(redis);
    hf_served_tasks_fail(&redis->served);
}
