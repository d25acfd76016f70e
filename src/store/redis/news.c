/* news.c - what the server tells us unasked, on a connection of its own.
 *
 * This connection is made when the one for commands is ready.  It subscribes to our
 * session's channel.  Messages are numbered, and every renewal tells how many there
 * were.  So we notice when some were lost; then whoever waits for news is woken, and
 * reads.
 */
#include "store/redis/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LATE (50 * HF_MS) /* a message may be that much later than a renewal's answer */

/* ---- Numbers -------------------------------------------------------------------- */

void hf_redis_news_count(struct hf_redis *redis, uint64_t sent, uint64_t heard)
{
    struct hf_redis_news *news = &redis->news;

    if (heard > sent) { /* of more than there were: somebody else sends in our channel */
        news->heard = sent;
        hf_served_news_all(&redis->served);
    }
    news->sent = sent;
    if (news->heard >= sent)
        news->miss = HF_NEVER;
    else if (news->miss == HF_NEVER)
        news->miss = redis->remote.now + LATE;
}

/* The connection may be dead without our knowing: another one is made. */
static void missed(struct hf_redis *redis, uint64_t number)
{
    assert(redis->news.heard < number);
    redis->news.heard = number;
    hf_redis_news_close(redis);
    hf_served_news_all(&redis->served);
}

static void count_message(struct hf_redis *redis, uint64_t number)
{
    struct hf_redis_news *news = &redis->news;

    if (number <= news->heard)
        return;
    bool gap = number > news->heard + 1;
    news->heard = number;
    if (news->heard >= news->sent)
        news->miss = HF_NEVER;
    if (gap)
        hf_served_news_all(&redis->served);
}

/* ---- Messages ------------------------------------------------------------------- */

/* "<number> <message>" */
static void on_message(struct hf_redis *redis, const char *text)
{
    char    *rest;
    uint64_t number = strtoull(text, &rest, 10);

    if (rest[0] != ' ' || !hf_served_message(&redis->served, rest + 1))
        return;
    count_message(redis, number);
}

/* We may not listen: without that nobody would be woken, so better to say it.  All else
 * passes, and concerns this connection alone: others do what they did. */
static void on_error(struct hf_redis *redis, const redisReply *reply)
{
    char clause[HF_ERRMSG_MAX];

    if (hf_redis_fault_clause(reply, clause, sizeof clause) == HF_SERVED_DENIED)
        hf_dial_refuse(redis->remote.dial, HF_EDENIED, clause);
    else
        hf_dial_break(&redis->news_conn.dial, clause);
}

static void on_push(struct hf_redis *redis, const redisReply *reply)
{
    struct hf_dial *dial = &redis->news_conn.dial;
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

/* ---- The connection ------------------------------------------------------------- */

static void subscribe(struct hf_redis *redis)
{
    char        channel[HF_REDIS_PREFIX + 32];
    const char *argv[] = { "SUBSCRIBE", channel };
    size_t      length[2] = { strlen(argv[0]) };

    length[1] = (size_t)snprintf(channel, sizeof channel, "%s:wake:%s",
                                 redis->config.prefix, redis->served.sid);
    assert(length[1] < sizeof channel);
    hf_redis_conn_call(redis, &redis->news_conn, NULL, 2, argv, length, NULL, NULL);
}

static void on_news_auth(struct hf_redis *redis, void *data, const redisReply *reply)
{
    (void)data;
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR &&
        !hf_redis_auth_is_needless(redis, reply))
        on_error(redis, reply);
}

static void greet_for_news(struct hf_dial *dial)
{
    struct hf_redis *redis = (struct hf_redis *)dial->store;

    assert(dial->phase == HF_DIAL_GREETING && redis->remote.dial->phase == HF_DIAL_READY);
    hf_redis_conn_auth(redis, &redis->news_conn, &redis->news.call, on_news_auth, NULL);
    subscribe(redis);
}

/* Where the commands go. */
static void find_commands_server(struct hf_dial *dial)
{
    const struct hf_redis *redis = (const struct hf_redis *)dial->store;

    assert(redis->remote.dial->phase == HF_DIAL_READY); /* so its address is a good one */
    dial->here = redis->remote.dial->here;
    hf_dial_connect(dial, &redis->remote.dial->at);
}

static bool commands_are_ready(const struct hf_dial *dial)
{
    return ((const struct hf_redis *)dial->store)->remote.dial->phase == HF_DIAL_READY;
}

static hf_time news_patience(const struct hf_dial *dial)
{
    return ((const struct hf_redis *)dial->store)->config.ttl / 3;
}

/* Without it renewals tell all, if later. */
static bool news_is_quiet(const struct hf_dial *dial)
{
    (void)dial;
    return true;
}

static const struct hf_dial_ops ops = {
    .kind = "Redis",
    .shares = HF_DIAL_GREETING,
    .may_begin = commands_are_ready,
    .find = find_commands_server,
    .greet = greet_for_news,
    .read = hf_redis_conn_read,
    .over = hf_redis_conn_over,
    .patience = news_patience,
    .is_quiet = news_is_quiet,
};

void hf_redis_news_init(struct hf_redis *redis, uint64_t seed)
{
    redis->news.miss = HF_NEVER;
    redis->news_conn.on_push = on_push;
    redis->news_conn.dial = (struct hf_dial){ .ops = &ops,
                                              .store = &redis->served.base,
                                              .now = &redis->remote.now,
                                              .tls = redis->tls };
    hf_dial_init(&redis->news_conn.dial, seed);
}

void hf_redis_news_close(struct hf_redis *redis)
{
    hf_dial_close(&redis->news_conn.dial);
    redis->news.miss = HF_NEVER;
}

void hf_redis_news_run(struct hf_redis *redis, bool readable)
{
    if (redis->remote.dial->phase != HF_DIAL_READY)
        return;
    hf_dial_run(&redis->news_conn.dial, readable);
    if (redis->remote.now >= redis->news.miss)
        missed(redis, redis->news.sent);
}

hf_time hf_redis_news_wake(const struct hf_redis *redis)
{
    hf_time wake = hf_dial_wake(&redis->news_conn.dial);

    if (redis->remote.dial->phase != HF_DIAL_READY)
        return HF_NEVER;
    return wake < redis->news.miss ? wake : redis->news.miss;
}
