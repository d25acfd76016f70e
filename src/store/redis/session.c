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

/* The time to put places down again is over: whoever waits is woken, and reads. */
static void take_held_off(struct hf_redis *redis, hf_time left)
{
    bool over = redis->session.held_off && left == 0;

    redis->session.held_off = left > 0;
    hf_redis_renew_after(redis, left);
    if (over) {
        redis->served.survey.stamp = 0; /* LIST told of it in every line: look at all */
        hf_served_news_all(&redis->served);
    }
}

/* Whatever becomes of the server's clock, its tokens do not run ahead of ours: it does not give out
 * one every microsecond. */
uint64_t hf_redis_session_token_bound(const struct hf_redis *redis)
{
    const struct hf_redis_session *session = &redis->session;
    uint64_t us = (uint64_t)(redis->remote.now - session->token_at) / 1000;

    return session->token > 0 ? session->token + us + us / 500 + 1 : 0;
}

/* Some jump: that clock was set forward. */
void hf_redis_session_saw_token(struct hf_redis *redis, uint64_t token, hf_time sent)
{
    if (token > hf_redis_session_token_bound(redis)) {
        redis->session.token = token;
        redis->session.token_at = sent;
    }
}

/* In a hold-off the server may not know all of them yet. */
void hf_redis_session_told(struct hf_redis *redis, hf_time held_off, hf_time longest,
                           int64_t token)
{
    struct hf_redis_session *session = &redis->session;

    take_held_off(redis, held_off);
    if (longest > session->longest || held_off == 0)
        session->longest = longest;
    session->token = token > 0 ? (uint64_t)token : 0;
    session->token_at = session->sent;
    hf_redis_session_saw_token(redis, redis->served.token, session->sent);
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
        if (*code == HF_REDIS_TRAIL) {
            redis->trail = true;
            *code = HF_REDIS_AGAIN;
        }
        return true;
    case HF_SERVED_MISSING:
        hf_redis_script_load(redis, script);
        *code = HF_REDIS_AGAIN;
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

void hf_redis_session_opened(struct hf_redis *redis)
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
    hf_redis_session_opened(redis);
}

/* ---- Begin, begin again ---------------------------------------------------------- */

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
    redis->trail = false;
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
