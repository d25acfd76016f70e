/* messages.c - the connection for messages.
 *
 * It is made once the connection for commands is ready, and subscribes to our session's
 * channel.  Messages are numbered, and the answer to each renewal says how many the
 * server has sent.  If one was lost, every waiter reads its place again.
 */
#include "store/redis/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAINED 64 /* reads, in case somebody publishes faster than we read */
#define LATE \
    (50 * HF_MS) /* a message may arrive that much later than a renewal's answer */

/* ---- Numbers ------------------------------------------------------------------ */

void hf_redis_messages_count(struct hf_redis *redis, uint64_t sent, uint64_t heard)
{
    struct hf_redis_messages *messages = &redis->messages;

    if (heard > sent) { /* another client publishes in our channel */
        messages->heard = sent;
        hf_served_reread_all(&redis->served);
    }
    messages->sent = sent;
    if (messages->heard >= sent)
        messages->miss = HF_NEVER;
    else if (messages->miss == HF_NEVER)
        messages->miss = redis->remote.now + LATE;
}

/* The connection may be dead without our knowing: make another one. */
static void missed(struct hf_redis *redis, uint64_t number)
{
    assert(redis->messages.heard < number);
    redis->messages.heard = number;
    hf_redis_messages_close(redis);
    hf_served_reread_all(&redis->served);
}

static void count_message(struct hf_redis *redis, uint64_t number)
{
    struct hf_redis_messages *messages = &redis->messages;

    if (number <= messages->heard)
        return;
    bool gap = number > messages->heard + 1;
    messages->heard = number;
    if (messages->heard >= messages->sent)
        messages->miss = HF_NEVER;
    if (gap)
        hf_served_reread_all(&redis->served);
}

/* ---- Messages ----------------------------------------------------------------- */

/* "<number> <message>" */
static void on_message(struct hf_redis *redis, const char *text)
{
    char    *rest;
    uint64_t number = strtoull(text, &rest, 10);

    if (rest[0] != ' ' || !hf_served_message(&redis->served, rest + 1))
        return;
    count_message(redis, number);
}

/* Without permission to subscribe no waiter would be woken, so refuse.  Other errors are
 * temporary, and concern only this connection. */
static void on_error(struct hf_redis *redis, const redisReply *reply)
{
    char server_text[HF_ERRMSG_MAX];

    if (hf_redis_fault_text(reply, server_text, sizeof server_text) == HF_SERVED_DENIED)
        hf_dial_refuse(redis->remote.dial, HF_EDENIED, server_text);
    else
        hf_dial_break(&redis->message_conn.dial, server_text);
}

static void on_push(struct hf_redis *redis, const redisReply *reply)
{
    struct hf_dial *dial = &redis->message_conn.dial;
    const char     *kind = hf_redis_text(reply, 0);
    const char     *text = hf_redis_text(reply, 2);

    assert(dial->phase >= HF_DIAL_GREETING);
    if (kind != NULL && strcmp(kind, "message") == 0 && text != NULL) {
        on_message(redis, text);
    } else if (kind != NULL && strcmp(kind, "subscribe") == 0) {
        if (dial->phase == HF_DIAL_GREETING)
            hf_dial_ready(dial);
        hf_dial_proven(dial);
        hf_redis_renew(&redis->served); /* how many did we miss? */
    } else if (reply->type == REDIS_REPLY_ERROR) {
        on_error(redis, reply);
    }
}

/* ---- The connection ----------------------------------------------------------- */

static void subscribe(struct hf_redis *redis)
{
    char        channel[HF_REDIS_PREFIX + 32];
    const char *argv[] = { "SUBSCRIBE", channel };
    size_t      length[2] = { strlen(argv[0]) };

    length[1] = (size_t)snprintf(channel, sizeof channel, "%s:wake:%s",
                                 redis->config.prefix, redis->served.sid);
    assert(length[1] < sizeof channel);
    hf_redis_conn_call(redis, &redis->message_conn, NULL, 2, argv, length, NULL, NULL);
}

static void on_message_auth(struct hf_redis *redis, void *data, const redisReply *reply)
{
    (void)data;
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR &&
        !hf_redis_auth_is_needless(redis, reply))
        on_error(redis, reply);
}

static void greet_for_messages(struct hf_dial *dial)
{
    struct hf_redis *redis = (struct hf_redis *)dial->store;

    assert(dial->phase == HF_DIAL_GREETING && redis->remote.dial->phase == HF_DIAL_READY);
    hf_redis_conn_auth(redis, &redis->message_conn, &redis->messages.call,
                       on_message_auth, NULL);
    subscribe(redis);
}

/* To the same address as the commands. */
static void find_commands_server(struct hf_dial *dial)
{
    const struct hf_redis *redis = (const struct hf_redis *)dial->store;

    assert(redis->remote.dial->phase == HF_DIAL_READY); /* its address works */
    dial->here = redis->remote.dial->here;
    hf_dial_connect(dial, &redis->remote.dial->at);
}

static bool commands_are_ready(const struct hf_dial *dial)
{
    return ((const struct hf_redis *)dial->store)->remote.dial->phase == HF_DIAL_READY;
}

static hf_time message_patience(const struct hf_dial *dial)
{
    return ((const struct hf_redis *)dial->store)->config.ttl / 3;
}

/* Failures are not reported: renewals notice everything, only later. */
static bool messages_are_quiet(const struct hf_dial *dial)
{
    (void)dial;
    return true;
}

static const struct hf_dial_ops ops = {
    .kind = "Redis",
    .shares = HF_DIAL_GREETING,
    .may_begin = commands_are_ready,
    .find = find_commands_server,
    .greet = greet_for_messages,
    .read = hf_redis_conn_read,
    .over = hf_redis_conn_over,
    .patience = message_patience,
    .is_quiet = messages_are_quiet,
};

void hf_redis_messages_init(struct hf_redis *redis, uint64_t seed)
{
    redis->messages.miss = HF_NEVER;
    redis->message_conn.on_push = on_push;
    redis->message_conn.dial = (struct hf_dial){ .ops = &ops,
                                                 .store = &redis->served.base,
                                                 .now = &redis->remote.now,
                                                 .tls = redis->tls };
    hf_dial_init(&redis->message_conn.dial, seed);
}

void hf_redis_messages_drain(struct hf_redis *redis)
{
    struct hf_dial *dial = &redis->message_conn.dial;

    for (int i = 0; i < DRAINED && dial->phase >= HF_DIAL_GREETING; i++) {
        hf_redis_conn_read(dial);
        if (!dial->more)
            return;
    }
}

void hf_redis_messages_close(struct hf_redis *redis)
{
    hf_dial_close(&redis->message_conn.dial);
    redis->messages.miss = HF_NEVER;
}

void hf_redis_messages_run(struct hf_redis *redis, bool readable)
{
    if (redis->remote.dial->phase != HF_DIAL_READY)
        return;
    hf_dial_run(&redis->message_conn.dial, readable);
    if (redis->remote.now >= redis->messages.miss)
        missed(redis, redis->messages.sent);
}

hf_time hf_redis_messages_wake(const struct hf_redis *redis)
{
    hf_time wake = hf_dial_wake(&redis->message_conn.dial);

    if (redis->remote.dial->phase != HF_DIAL_READY)
        return HF_NEVER;
    return wake < redis->messages.miss ? wake : redis->messages.miss;
}
