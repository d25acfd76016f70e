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
 */
#include "store/redis/inner.h"

#include "base/random.h"
#include "core/lease.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAREWELL (100 * HF_MS) /* how long close waits at most, if we hold anything */

static void hello(struct hf_redis *redis);

static void start_afresh(struct hf_redis *redis)
{
    struct hf_redis_session *session = &redis->session;

    snprintf(session->sid, sizeof session->sid, "%016" PRIx64, hf_random());
    strcpy(session->epoch, "0");
    redis->news.heard = redis->news.sent = 0;
}

void hf_redis_session_init(struct hf_redis *redis)
{
    redis->session.longest = redis->config.ttl;
    redis->session.due = redis->session.look = HF_NEVER;
    start_afresh(redis);
}

/* ---- The lease ------------------------------------------------------------------------------ */

static void extend(struct hf_redis *redis)
{
    hf_time ttl = redis->config.ttl;
    hf_time guard = ttl / 40 < 50 * HF_MS ? ttl / 40 : 50 * HF_MS;
    hf_time until = hf_lease_deadline(redis->session.sent, ttl, guard);

    if (until > redis->base.alive_until) /* each was proven: the latest holds */
        redis->base.alive_until = until;
    redis->session.due = redis->session.sent + ttl / 3;
}

void hf_redis_look_in(struct hf_redis *redis, int64_t us)
{
    hf_time at = redis->now + us * 1000 + HF_MS;

    if (us > 0 && at < redis->session.look)
        redis->session.look = at;
}

/* The time to put places down again is over: who comes next is granted when one looks. */
static void set_held_off(struct hf_redis *redis, int64_t us)
{
    bool over = redis->session.held_off && us == 0;

    redis->session.held_off = us > 0;
    hf_redis_look_in(redis, us);
    if (over)
        hf_redis_news_all(redis);
}

/* ---- Answers -------------------------------------------------------------------------------- */

bool hf_redis_session_answered(struct hf_redis *redis, const redisReply *reply,
                               enum hf_redis_script script, int *code)
{
    if (reply == NULL)
        return false;
    switch (hf_redis_fault(redis, reply)) {
    case HF_REDIS_FINE:
        *code = (int)hf_redis_number(reply, 0);
        return true;
    case HF_REDIS_NO_SCRIPT:
        hf_redis_script_load(redis, script);
        *code = HF_REDIS_UNKNOWN;
        return true;
    case HF_REDIS_DENIED:
        hf_redis_link_refuse(redis, HF_EDENIED, NULL);
        return false;
    case HF_REDIS_FAILED:
        hf_redis_link_refuse(redis, HF_ESTORE, NULL);
        return false;
    default:
        hf_redis_link_break(redis, NULL);
        return false;
    }
}

static void opened(struct hf_redis *redis)
{
    extend(redis);
    hf_redis_link_ready(redis);
}

void hf_redis_mended(struct hf_redis *redis)
{
    hf_redis_news_all(redis);
    opened(redis);
}

static void on_hello(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_redis_session *session = &redis->session;
    const char              *epoch = hf_redis_text(reply, 1);
    int                      code;

    (void)data;
    if (!hf_redis_session_answered(redis, reply, HF_REDIS_HELLO, &code))
        return;
    if (code == HF_REDIS_UNKNOWN) {
        hello(redis);
    } else if (code == HF_REDIS_GONE) {
        hf_redis_session_restart(redis);
    } else if (code != HF_REDIS_DONE || epoch == NULL) {
        hf_redis_link_break(redis, "gives no answer that makes sense");
    } else {
        bool fresh = strcmp(session->epoch, "0") == 0;
        bool other = strcmp(session->epoch, epoch) != 0;
        bool late = redis->now >= redis->base.alive_until;
        session->longest = hf_redis_number(reply, 4) * 1000;
        session->look = HF_NEVER;
        if (!fresh && other && late && redis->places > 0) {
            hf_redis_session_restart(redis); /* too late to say that anything is ours */
            return;
        }
        snprintf(session->epoch, sizeof session->epoch, "%s", epoch);
        set_held_off(redis, hf_redis_number(reply, 2));
        hf_redis_look_in(redis, hf_redis_number(reply, 5));
        hf_redis_news_count(redis, (uint64_t)hf_redis_number(reply, 3));
        if (!fresh && other && redis->places > 0)
            hf_redis_mend(redis); /* until that is done nothing is sure to be ours */
        else
            opened(redis);
    }
}

/* ---- Hello ------------------------------------------------------------------------------------ */

/* How long nobody may be granted anything, should there be no data at all.  There was
 * none before either if the namespace was never used on this server since it started,
 * and leases from before that have ended. */
static hf_time blank_hold(const struct hf_redis *redis)
{
    const struct hf_redis_server_info *info = &redis->link.info;
    hf_time                            longest = redis->session.longest;
    hf_time                            up = (info->uptime - 1) * HF_SEC;

    if (strcmp(redis->session.epoch, "0") != 0 || info->known || info->promoted)
        return longest;
    return up >= longest ? 0 : longest - (up > 0 ? up : 0);
}

static void hello(struct hf_redis *redis)
{
    struct hf_redis_session *session = &redis->session;

    assert(!session->call.flying);
    session->sent = redis->now;
    hf_redis_script(redis, HF_REDIS_HELLO, 0);
    hf_redis_add_who(redis);
    hf_redis_add_number(redis, (uint64_t)(redis->config.ttl / 1000));
    hf_redis_add_number(redis, (uint64_t)(session->longest / 1000));
    hf_redis_add_number(redis, (uint64_t)(blank_hold(redis) / 1000));
    hf_redis_add_number(redis, session->token);
    hf_redis_add(redis, session->epoch);
    hf_redis_send(redis, &session->call, on_hello, NULL);
}

void hf_redis_session_begin(struct hf_redis *redis)
{
    redis->session.connection++;
    redis->session.again = false;
    hf_redis_canary_load(redis);
    hello(redis);
}

/* Every answer to what is in flight says the same; one is enough. */
void hf_redis_session_again(struct hf_redis *redis)
{
    if (redis->link.phase != HF_REDIS_READY)
        return;
    redis->link.phase = HF_REDIS_OPENING;
    redis->link.info.known = true;
    redis->session.again = redis->session.call.flying; /* after that renewal */
    if (!redis->session.again)
        hello(redis);
}

static void fail_all(struct hf_requests *list)
{
    for (struct hf_req *req; (req = hf_requests_take(list)) != NULL;) {
        req->status = HF_EDOWN;
        req->done(req);
    }
}

void hf_redis_session_restart(struct hf_redis *redis)
{
    struct hf_requests waiting = redis->waiting; /* what comes now is for the next one */
    struct hf_requests repeat = redis->repeat;
    char               server[300];

    redis->waiting = redis->repeat = (struct hf_requests){ 0 };
    redis->base.alive_until = 0;
    redis->session.due = redis->session.look = HF_NEVER;
    snprintf(redis->base.errmsg, sizeof redis->base.errmsg,
             "Redis at %.180s does not know our session any more: its lease ended",
             hf_redis_link_server(redis, server, sizeof server));
    start_afresh(redis);
    hf_redis_news_close(redis);
    hf_redis_link_set(redis, HF_LINK_LOST);
    hf_redis_tasks_fail(redis);
    hf_redis_places_drop(redis);
    fail_all(&repeat);
    fail_all(&waiting);
    if (redis->link.phase >= HF_REDIS_OPENING) {
        redis->link.phase = HF_REDIS_OPENING;
        redis->session.again = redis->session.call.flying;
        if (!redis->session.again)
            hello(redis);
    }
}

void hf_redis_session_broken(struct hf_redis *redis)
{
    redis->session.due = HF_NEVER;
    hf_redis_news_close(redis);
    hf_redis_tasks_fail(redis);
}

/* ---- Renewal ---------------------------------------------------------------------------------- */

/* A claim of ours that is not there any more: its key was deleted, or expired. */
static void claim_gone(struct hf_redis *redis, uint64_t id)
{
    struct hf_redis_place *place = hf_redis_place_find(redis, id);

    if (place != NULL && !place->leaving)
        hf_redis_place_news(redis, place);
}

static void on_renewed(struct hf_redis *redis, void *data, const redisReply *reply)
{
    int code;

    (void)data;
    if (!hf_redis_session_answered(redis, reply, HF_REDIS_RENEW, &code))
        return;
    if (redis->link.phase == HF_REDIS_OPENING) { /* hello waits for us */
        redis->session.again = false;
        hello(redis);
    } else if (code == HF_REDIS_UNKNOWN) {
        hf_redis_renew(redis);
    } else if (code == HF_REDIS_EPOCH) {
        hf_redis_session_again(redis);
    } else if (code == HF_REDIS_GONE) {
        hf_redis_session_restart(redis);
    } else if (code != HF_REDIS_DONE) {
        hf_redis_link_break(redis, "has a newer connection of ours");
    } else {
        extend(redis);
        redis->session.look = HF_NEVER;
        hf_redis_news_count(redis, (uint64_t)hf_redis_number(reply, 1));
        hf_redis_look_in(redis, hf_redis_number(reply, 2));
        set_held_off(redis, hf_redis_number(reply, 3));
        for (size_t i = 4; i < reply->elements; i++)
            claim_gone(redis, (uint64_t)hf_redis_number(reply, i));
        if (redis->session.again)
            hf_redis_renew(redis);
    }
}

static void add_claim(struct hf_redis *redis, const struct hf_redis_place *place)
{
    hf_redis_add_claim(redis, place->name);
}

static void add_claim_value(struct hf_redis *redis, const struct hf_redis_place *place)
{
    hf_redis_add_number(redis, place->id);
    hf_redis_add_seq(redis, place->seq);
}

void hf_redis_renew(struct hf_redis *redis)
{
    struct hf_redis_session *session = &redis->session;

    session->again = session->call.flying;
    if (session->again || redis->link.phase != HF_REDIS_READY)
        return;
    session->sent = redis->now;
    session->due = redis->now + redis->config.ttl / 3;
    hf_redis_script(redis, HF_REDIS_RENEW, hf_redis_each_claim(redis, NULL));
    hf_redis_each_claim(redis, add_claim);
    hf_redis_add_who(redis);
    hf_redis_add_number(redis, (uint64_t)(redis->config.ttl / 1000));
    hf_redis_each_claim(redis, add_claim_value);
    hf_redis_send(redis, &session->call, on_renewed, NULL);
}

/* ---- Time -------------------------------------------------------------------------------------- */

/* Is anybody there for whom it matters that a session or a hold-off ends? */
static bool somebody_waits(const struct hf_redis *redis)
{
    return redis->places > 0 || redis->outsiders > 0;
}

static hf_time oldest_call(const struct hf_redis *redis)
{
    const struct hf_redis_call *call = redis->link.conn.first;

    return call != NULL ? call->sent + redis->config.ttl / 3 : HF_NEVER;
}

void hf_redis_session_run(struct hf_redis *redis)
{
    struct hf_redis_session *session = &redis->session;

    if (redis->link.phase != HF_REDIS_OPENING && redis->link.phase != HF_REDIS_READY)
        return;
    if (redis->now >= oldest_call(redis)) {
        hf_redis_link_break(redis, "does not answer");
        return;
    }
    if (redis->link.phase != HF_REDIS_READY || session->call.flying)
        return;
    if (redis->now >= session->due ||
        (redis->now >= session->look && somebody_waits(redis)))
        hf_redis_renew(redis);
}

hf_time hf_redis_session_wake(const struct hf_redis *redis)
{
    const struct hf_redis_session *session = &redis->session;
    hf_time                        wake = oldest_call(redis);

    if (redis->link.phase != HF_REDIS_READY || session->call.flying)
        return redis->link.phase >= HF_REDIS_OPENING ? wake : HF_NEVER;
    if (session->due < wake)
        wake = session->due;
    if (session->look < wake && somebody_waits(redis))
        wake = session->look;
    return wake;
}

/* ---- The end ------------------------------------------------------------------------------------ */

struct farewell {
    struct hf_redis_call call;
    bool                 done;
};

static void say_bye(struct hf_redis *redis, struct farewell *farewell);

static void on_bye(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct farewell *farewell = data;

    if (hf_redis_fault(redis, reply) == HF_REDIS_NO_SCRIPT) {
        hf_redis_script_load(redis, HF_REDIS_BYE);
        say_bye(redis, farewell);
    } else {
        farewell->done = true;
    }
}

static void say_bye(struct hf_redis *redis, struct farewell *farewell)
{
    hf_redis_script(redis, HF_REDIS_BYE, hf_redis_each_claim(redis, NULL));
    hf_redis_each_claim(redis, add_claim);
    hf_redis_add_who(redis);
    hf_redis_each_claim(redis, add_claim_value);
    hf_redis_send(redis, &farewell->call, on_bye, farewell);
}

/* It should not stay behind for others to find out about. */
void hf_redis_session_end(struct hf_redis *redis)
{
    struct hf_redis_conn *conn = &redis->link.conn;
    struct farewell       farewell = { .done = false };

    if (redis->link.phase != HF_REDIS_READY)
        return;
    say_bye(redis, &farewell);
    hf_time end = hf_now() + (redis->places > 0 ? FAREWELL : 0);
    while (hf_redis_conn_flush(redis, conn) && !farewell.done && hf_now() < end) {
        struct pollfd poll_fd = { .fd = conn->stream.fd,
                                  .events = (short)hf_stream_events(&conn->stream) };
        if (poll(&poll_fd, 1, hf_poll_ms(hf_now(), end)) > 0 &&
            !hf_redis_conn_run(redis, conn, true))
            break;
    }
    hf_redis_conn_close(redis, conn); /* the call is on our stack */
}
