/* news.c - what the server tells us unasked, on a connection of its own.
 *
 * It comes up when the commands' connection is ready, and subscribes to our session's
 * channel.  Messages are numbered, and every renewal tells how many there were: so it is
 * noticed when some were lost, and whoever waits for news then looks for himself.
 */
#include "store/redis/inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LATE (50 * HF_MS) /* a message may be that much later than a renewal's answer */

void hf_redis_news_init(struct hf_redis *redis, uint64_t seed)
{
    hf_retry_init(&redis->news.retry, 50 * HF_MS, HF_SEC, seed);
    redis->news.miss = HF_NEVER;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

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
    redis->news.heard = number;
    hf_redis_news_close(redis);
    hf_served_news_all(&redis->served);
}

static void count(struct hf_redis *redis, uint64_t number)
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

/* ---- Messages --------------------------------------------------------------------------------- */

/* "<number> <message>" */
static void on_message(struct hf_redis *redis, const char *text)
{
    char    *rest;
    uint64_t number = strtoull(text, &rest, 10);

    if (rest[0] != ' ' || !hf_served_message(&redis->served, rest + 1))
        return;
    count(redis, number);
}

/* We may not listen: without that nobody would be woken, so better to say it.  All else
 * passes, and concerns this connection alone: others do what they did. */
static void on_error(struct hf_redis *redis, const redisReply *reply)
{
    char words[HF_ERRMSG_MAX];

    if (hf_redis_fault_words(reply, words, sizeof words) == HF_REDIS_DENIED) {
        redis->news.refused = true;
        hf_redis_fault(redis, reply);
    } else {
        redis->news.failed = true;
    }
}

static void on_push(struct hf_redis *redis, const redisReply *reply)
{
    const char *kind = hf_redis_text(reply, 0);
    const char *text = hf_redis_text(reply, 2);

    if (kind != NULL && strcmp(kind, "message") == 0 && text != NULL) {
        on_message(redis, text);
    } else if (kind != NULL && strcmp(kind, "subscribe") == 0) {
        redis->news.subscribed = true;
        hf_retry_reset(&redis->news.retry);
        hf_redis_renew(redis); /* how many did we miss? */
    } else if (reply->type == REDIS_REPLY_ERROR) {
        on_error(redis, reply);
    }
}

/* ---- The connection ---------------------------------------------------------------------------- */

static void rest(struct hf_redis *redis)
{
    struct hf_redis_news *news = &redis->news;

    hf_redis_conn_close(redis, &redis->news_conn);
    news->subscribed = news->failed = false;
    news->due = redis->remote.now + hf_retry_next(&news->retry);
}

void hf_redis_news_close(struct hf_redis *redis)
{
    hf_redis_conn_close(redis, &redis->news_conn);
    redis->news.subscribed = false;
    redis->news.due = 0;
    redis->news.miss = HF_NEVER;
}

static void subscribe(struct hf_redis *redis)
{
    char        channel[HF_REDIS_PREFIX + 32];
    const char *argv[] = { "SUBSCRIBE", channel };
    size_t      length[2] = { strlen(argv[0]) };

    length[1] = (size_t)snprintf(channel, sizeof channel, "%s:wake:%s",
                                 redis->config.prefix, redis->session.sid);
    hf_redis_conn_call(redis, &redis->news_conn, NULL, 2, argv, length, NULL, NULL);
}

static void on_auth(struct hf_redis *redis, void *data, const redisReply *reply)
{
    (void)data;
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR)
        on_error(redis, reply);
}

static void begin(struct hf_redis *redis)
{
    struct hf_redis_news *news = &redis->news;

    news->due = redis->remote.now + redis->config.ttl / 3; /* to give up then */
    redis->news_conn.on_push = on_push;
    if (hf_redis_conn_open(redis, &redis->news_conn, &redis->link.at, redis->link.host) <
        0) {
        rest(redis);
        return;
    }
    hf_redis_conn_auth(redis, &redis->news_conn, &news->call, on_auth, NULL);
    subscribe(redis);
}

void hf_redis_news_run(struct hf_redis *redis, bool readable)
{
    struct hf_redis_news *news = &redis->news;

    if (redis->link.phase != HF_REDIS_READY)
        return;
    if (!redis->news_conn.there && redis->remote.now >= news->due)
        begin(redis);
    if (redis->news_conn.there &&
        (!hf_redis_conn_run(redis, &redis->news_conn, readable) || news->failed ||
         (!news->subscribed && redis->remote.now >= news->due)))
        rest(redis);
    if (news->refused) {
        news->refused = false;
        hf_redis_link_refuse(redis, HF_EDENIED, NULL);
        return;
    }
    if (redis->remote.now >= news->miss)
        missed(redis, news->sent);
}

void hf_redis_news_flush(struct hf_redis *redis)
{
    if (redis->news_conn.there && !hf_redis_conn_flush(redis, &redis->news_conn))
        rest(redis);
}

hf_time hf_redis_news_wake(const struct hf_redis *redis)
{
    const struct hf_redis_news *news = &redis->news;

    if (redis->link.phase != HF_REDIS_READY)
        return HF_NEVER;
    if (redis->news_conn.more)
        return 0;
    return !news->subscribed && news->due < news->miss ? news->due : news->miss;
}
