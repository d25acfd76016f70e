/* session.c - our session on the server, and its lease.
 *
 * Happy path: hello opens it, and a renewal every third of the ttl keeps it.  Each answer
 * moves alive_until, counted from when the renewal was sent.
 *
 * Failures: if there is no answer for another third, we give the connection up; on the
 * next one, hello proves that the session still exists.  If it is dead, the link is
 * LOST, and hello opens a new session.  If the server has lost data (it was restarted,
 * replaced or emptied), a new epoch begins: the server grants nothing during a grace
 * period, and we reclaim our places (reclaim.c).
 *
 * A store that was opened with a session key says hello to take that session over, and
 * bye to end it.
 */
#include "base/random.h"
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
    session->unreclaimed = false;
    redis->messages.heard = redis->messages.sent = 0;
}

void hf_redis_session_init(struct hf_redis *redis)
{
    redis->session.due = redis->session.early = HF_NEVER;
    strcpy(redis->session.epoch, "0");
    redis->served.first_id =
        hf_random() >> 16; /* so no id has more digits than Lua counts */
}

/* ---- The lease ---------------------------------------------------------------- */

/* With Sentinels, a majority must name this server as well: see sentinel.c. */
void hf_redis_session_extend(struct hf_redis *redis)
{
    hf_time since = redis->session.renewed;

    redis->served.base.lease = redis->config.ttl; /* known even before the first answer */
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

/* When the grace period ends, every waiter reads its place. */
static void take_grace(struct hf_redis *redis, hf_time left)
{
    bool over = redis->session.in_grace && left == 0;

    redis->session.in_grace = left > 0;
    hf_redis_renew_after(redis, left);
    if (over) {
        redis->served.watch.seen = 0; /* LIST showed it in every line: all have changed */
        hf_served_reread_all(&redis->served);
    }
}

/* Tokens do not run ahead of this, whatever the server's clock does: no server gives
 * out one every microsecond. */
uint64_t hf_redis_session_token_bound(const struct hf_redis *redis)
{
    const struct hf_redis_session *session = &redis->session;
    uint64_t us = (uint64_t)(redis->remote.now - session->token_at) / 1000;

    return session->token > 0 ? session->token + us + us / 500 + 1 : 0;
}

/* A higher one than we thought possible: the server's clock was set forward. */
void hf_redis_session_saw_token(struct hf_redis *redis, uint64_t token, hf_time sent)
{
    if (token > hf_redis_session_token_bound(redis)) {
        redis->session.token = token;
        redis->session.token_at = sent;
    }
}

/* During the grace period the server may not know all sessions yet. */
void hf_redis_session_take_limits(struct hf_redis *redis, hf_time grace, hf_time longest,
                                  int64_t token)
{
    struct hf_redis_session *session = &redis->session;

    take_grace(redis, grace);
    if (longest > session->longest || grace == 0)
        session->longest = longest;
    session->token = token > 0 ? (uint64_t)token : 0;
    session->token_at = session->sent;
    hf_redis_session_saw_token(redis, redis->served.token, session->sent);
}

/* ---- Answers ------------------------------------------------------------------ */

bool hf_redis_session_answered(struct hf_redis *redis, const redisReply *reply,
                               enum hf_redis_script script, int *code)
{
    if (reply == NULL)
        return false;
    switch (hf_redis_fault(redis, reply)) {
    case HF_SERVED_FINE:
        *code = (int)hf_redis_number(reply, 0);
        if (*code == HF_REDIS_NEEDS_LOG) {
            redis->log_keys = true;
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
    assert(!redis->session.unreclaimed && redis->link.introduced);
    hf_redis_session_renewed(redis);
    if (redis->session.locks)
        hf_redis_canary_load(redis); /* before our first ENTER here */
    redis->link.following = false;
    hf_dial_ready(redis->remote.dial);
    hf_dial_proven(redis->remote.dial);
}

void hf_redis_reclaimed(struct hf_redis *redis)
{
    assert(redis->session.unreclaimed && redis->session.reclaiming.id == NULL);
    redis->session.unreclaimed = false;
    hf_served_reread_all(&redis->served);
    hf_redis_session_opened(redis);
}

/* ---- Begin, begin again ------------------------------------------------------- */

/* Above every connection number that the owner of a session can reach, so that the
 * server ignores the owner from then on; and the same for everybody who has the session
 * key, so that they do not shut each other out.  Lua has no integers above 2^53. */
#define LAST_CONNECTION ((uint64_t)1 << 52)

void hf_redis_session_begin(struct hf_redis *redis)
{
    struct hf_redis_session *session = &redis->session;

    assert(redis->remote.dial->phase == HF_DIAL_GREETING && redis->link.introduced);
    if (redis->served.only_ends) {
        session->connection = LAST_CONNECTION;
        strcpy(session->epoch, "-");
    } else {
        session->connection++;
        assert(session->connection < LAST_CONNECTION);
    }
    session->again = false;
    redis->log_keys = false;
    hf_redis_hello(redis);
}

/* A renewal in flight is answered first; then on_renewed() says hello. */
void hf_redis_session_greet_again(struct hf_redis *redis)
{
    hf_dial_greet_again(redis->remote.dial);
    redis->session.again = redis->session.call.flying;
    if (!redis->session.again)
        hf_redis_hello(redis);
}

/* Every call in flight gets the same answer; the first one is enough.  With Sentinels the
 * server may have been replaced and named again.  They are asked before the next hello,
 * because it has to say the present config epoch. */
void hf_redis_session_again(struct hf_served *served)
{
    struct hf_redis *redis = (struct hf_redis *)served;

    if (redis->remote.dial->phase != HF_DIAL_READY)
        return;
    if (redis->sentinel != NULL)
        hf_dial_break(redis->remote.dial, "has lost data");
    else
        hf_redis_session_greet_again(redis);
}

void hf_redis_session_restart(struct hf_served *served)
{
    struct hf_redis *redis = (struct hf_redis *)served;

    if (served->only_ends) { /* there will be no other */
        hf_served_ended(served);
        return;
    }
    redis->session.due = redis->session.early = HF_NEVER;
    hf_dial_say(redis->remote.dial,
                "no longer has our session: its lease expired, or somebody ended it");
    start_afresh(redis);
    hf_redis_messages_close(redis);
    hf_remote_lose(&redis->remote);
    assert(served->places == 0);
    if (redis->link.introduced)
        hf_redis_session_greet_again(redis);
}

void hf_redis_session_broken(struct hf_redis *redis)
{
    assert(!redis->session.call.flying && redis->link.conn.first == NULL);
    redis->session.due = HF_NEVER;
    redis->session.renewed = 0;
    hf_redis_reclaim_end(redis);
    hf_redis_messages_drain(redis);
    hf_redis_messages_close(redis);
    hf_served_tasks_fail(&redis->served);
}
