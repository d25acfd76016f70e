/* renew.c - renewals: one for the whole session, every third of the ttl, and earlier if a
 * session that may block us, or the grace period, is about to end. */
#include "store/redis/inner.h"

#include <assert.h>

/* ---- Claims, whose keys have ends of their own -------------------------------- */

static bool is_claim(const struct hf_served_place *place)
{
    return place->shape.claim && place->granted && !place->away && !place->leaving;
}

size_t hf_redis_each_claim(struct hf_redis *redis,
                           void (*visit)(struct hf_redis              *redis,
                                         const struct hf_served_place *place))
{
    size_t count = 0;

    for (size_t i = 0; i < redis->served.buckets; i++)
        for (struct hf_served_place *at = redis->served.place[i]; at != NULL;
             at = at->next)
            if (is_claim(at)) {
                count++;
                if (visit != NULL)
                    visit(redis, at);
            }
    return count;
}

/* The key of a claim of ours was deleted, or expired. */
static void claim_gone(struct hf_redis *redis, uint64_t id)
{
    struct hf_served_place *place =
        hf_served_place_find(&redis->served, id - redis->served.first_id);

    if (place != NULL && !place->leaving)
        hf_served_place_notify(place);
}

static void on_renewed(struct hf_redis *redis, void *data, const redisReply *reply)
{
    int code;

    (void)data;
    if (!hf_redis_session_answered(redis, reply, HF_REDIS_RENEW, &code))
        return;
    if (redis->remote.dial->phase == HF_DIAL_GREETING) { /* hello was put off until now */
        redis->session.again = false;
        hf_redis_hello(redis);
    } else if (code == HF_REDIS_AGAIN) {
        hf_redis_renew(&redis->served);
    } else if (code == HF_SERVED_EPOCH) {
        hf_redis_session_again(&redis->served);
    } else if (code == HF_SERVED_GONE) {
        hf_redis_session_restart(&redis->served);
    } else if (code != HF_SERVED_DONE) {
        hf_dial_break(redis->remote.dial, "has a newer connection of ours");
    } else {
        assert(redis->remote.dial->phase == HF_DIAL_READY);
        hf_redis_session_renewed(redis);
        redis->session.early = HF_NEVER;
        hf_redis_messages_count(redis, (uint64_t)hf_redis_number(reply, 1),
                                redis->session.heard);
        hf_redis_renew_after(redis, hf_redis_time(reply, 2));
        hf_redis_session_take_limits(redis, hf_redis_time(reply, 3),
                                     hf_redis_time(reply, 4), hf_redis_number(reply, 5));
        for (size_t i = 6; i < reply->elements; i++)
            claim_gone(redis, (uint64_t)hf_redis_number(reply, i));
        if (redis->session.again)
            hf_redis_renew(&redis->served);
    }
}

void hf_redis_add_claim_key(struct hf_redis *redis, const struct hf_served_place *place)
{
    hf_redis_add_claim(redis, place->name);
}

static void add_claim_value(struct hf_redis *redis, const struct hf_served_place *place)
{
    hf_redis_add_number(&redis->served, redis->served.first_id + place->id);
    hf_redis_add_seq(&redis->served, place->seq);
}

bool hf_redis_renew(struct hf_served *served)
{
    struct hf_redis         *redis = (struct hf_redis *)served;
    struct hf_redis_session *session = &redis->session;

    session->again = session->call.flying;
    if (session->again || redis->remote.dial->phase != HF_DIAL_READY)
        return redis->remote.dial->phase == HF_DIAL_READY;
    assert(!session->unreclaimed); /* READY means that all places are reclaimed */
    if (redis->remote.now >= session->due && session->locks)
        hf_redis_canary_load(redis); /* in case of SCRIPT FLUSH */
    session->sent = redis->remote.now;
    session->heard = redis->messages.heard;
    session->due = redis->remote.now + redis->config.ttl / 3;
    hf_redis_script(redis, HF_REDIS_RENEW, hf_redis_each_claim(redis, NULL));
    hf_redis_each_claim(redis, hf_redis_add_claim_key);
    hf_redis_add_session(redis);
    hf_redis_add_number(&redis->served, (uint64_t)(redis->config.ttl / 1000));
    hf_redis_each_claim(redis, add_claim_value);
    hf_redis_send(redis, &session->call, on_renewed, NULL);
    return redis->remote.dial->phase == HF_DIAL_READY;
}

/* ---- Time --------------------------------------------------------------------- */

void hf_redis_renew_after(struct hf_redis *redis, hf_time time)
{
    hf_time at = redis->remote.now + time + HF_MS;

    if (time > 0 && at < redis->session.early)
        redis->session.early = at;
}

/* Does anybody here care when another session or the grace period ends? */
static bool somebody_waits(const struct hf_redis *redis)
{
    return redis->served.places > 0 || redis->served.line_watches > 0 ||
           redis->served.watch.task != NULL;
}

static hf_time oldest_call(const struct hf_redis *redis)
{
    const struct hf_redis_call *call = redis->link.conn.first;

    return call != NULL ? call->sent + redis->config.ttl / 3 : HF_NEVER;
}

void hf_redis_renew_run(struct hf_redis *redis)
{
    struct hf_redis_session *session = &redis->session;

    if (!redis->link.introduced)
        return;
    assert(redis->remote.dial->phase >= HF_DIAL_GREETING);
    if (redis->remote.now >= oldest_call(redis)) {
        hf_dial_break(redis->remote.dial, "does not answer");
        return;
    }
    if (redis->remote.dial->phase != HF_DIAL_READY || session->call.flying)
        return;
    if (redis->remote.now >= session->due ||
        (redis->remote.now >= session->early && somebody_waits(redis)))
        hf_redis_renew(&redis->served);
}

hf_time hf_redis_renew_wake(const struct hf_redis *redis)
{
    const struct hf_redis_session *session = &redis->session;
    hf_time                        wake = oldest_call(redis);

    if (redis->remote.dial->phase != HF_DIAL_READY || session->call.flying)
        return redis->link.introduced ? wake : HF_NEVER;
    if (session->due < wake)
        wake = session->due;
    if (session->early < wake && somebody_waits(redis))
        wake = session->early;
    return wake;
}
