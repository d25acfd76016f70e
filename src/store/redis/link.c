/* link.c - the connection by which commands are sent.
 *
 *     RESTING -> SEEKING -> RESOLVING -> REACHING -> GREETING -> OPENING -> READY
 *        ^          |           |            |           |          |         |
 *        +----------+-----------+------------+-----------+----------+---------+  it broke
 *
 * Happy path: the server's name is looked up, a stream opened, the server greeted; then
 * the session's hello is sent, and when that is answered calls flow.  A Unix socket needs
 * no look-up.  With Sentinel, which server that is has to be found out first: sentinel.c.
 *
 * Failures: each step has a short limit, each address and each server its turn; after
 * all of them there is a pause that grows.  Calls in flight are answered with NULL.
 * What will not be better soon, as a wrong password, is told to whoever asks.
 */
#include "store/redis/inner.h"

#include "base/random.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const char *hf_redis_link_server(const struct hf_redis *redis, char *ret, size_t size)
{
    const struct hf_redis_link *link = &redis->link;
    bool                        v6 = strchr(link->host, ':') != NULL;

    if (redis->config.path[0] != '\0')
        snprintf(ret, size, "%s", redis->config.path);
    else
        snprintf(ret, size, "%s%.100s%s:%s", v6 ? "[" : "", link->host, v6 ? "]" : "",
                 link->port);
    return ret;
}

hf_time hf_redis_link_patience(const struct hf_redis *redis)
{
    hf_time limit = redis->config.ttl / 6;

    return limit < 2 * HF_SEC ? limit : 2 * HF_SEC;
}

/* ---- Breaking ------------------------------------------------------------------------- */

void hf_redis_link_say(struct hf_redis *redis, const char *why)
{
    char server[128];

    snprintf(redis->served.base.errmsg, sizeof redis->served.base.errmsg,
             "Redis at %s %s", hf_redis_link_server(redis, server, sizeof server), why);
}

/* Longer and longer; but short of a session that is running out meanwhile. */
static hf_time pause_for(struct hf_redis *redis)
{
    hf_time pause = hf_retry_next(&redis->link.retry);
    hf_time most = redis->config.ttl / 20;

    return redis->served.places > 0 && pause > most ? most : pause;
}

/* Say `refusal` to whoever asks, instead of letting him wait. */
static void refuse(struct hf_redis *redis, int refusal)
{
    struct hf_redis_link *link = &redis->link;

    link->refused = redis->served.base.refusing = true;
    link->refusal = refusal;
    link->tried = 0;
    link->lookup.count = 0;
    link->moved_host[0] = '\0';
    link->due = redis->remote.now + HF_SEC;
    hf_store_set_link(&redis->served.base, HF_LINK_UP);
}

/* To be tried one after the other. */
static size_t servers(const struct hf_redis *redis)
{
    return redis->config.service[0] != '\0' ? 1 : redis->config.servers;
}

/* The next address, or server of the cluster, has its turn, at once; after all of them, a
 * pause. */
static void go_on(struct hf_redis *redis, bool reaching)
{
    struct hf_redis_link *link = &redis->link;
    bool                  first_hop = link->moved_host[0] != '\0' && !link->following;

    link->due = redis->remote.now;
    if (reaching && link->lookup.next < link->lookup.count)
        return;
    link->lookup.count = 0;
    hf_store_tried(&redis->served.base, hf_store_is_absent(&redis->served.base),
                   !first_hop && link->tried + 1 >= servers(redis));
    if (first_hop || ++link->tried < servers(redis))
        return;
    link->tried = 0;
    link->due = redis->remote.now + pause_for(redis);
}

static void give_up(struct hf_redis *redis, const char *why, int refusal)
{
    struct hf_redis_link *link = &redis->link;
    bool                  reaching = link->phase == HF_REDIS_REACHING;

    if (link->phase == HF_REDIS_RESTING)
        return;
    if (why != NULL)
        hf_redis_link_say(redis, why);
    hf_redis_lookup_end(redis, &link->lookup);
    link->phase = HF_REDIS_RESTING;
    if (refusal != 0) {
        hf_store_tried(&redis->served.base, hf_store_is_absent(&redis->served.base),
                       true);
        refuse(redis, refusal);
    } else {
        go_on(redis, reaching);
    }
    if (!link->refused)
        hf_store_set_link(&redis->served.base, HF_LINK_DOWN);
    hf_redis_conn_close(redis, &link->conn);
    hf_redis_session_broken(redis);
}

void hf_redis_link_break(struct hf_redis *redis, const char *why)
{
    const struct hf_redis_conn *conn = &redis->link.conn;

    give_up(redis, why, conn->there && conn->stream.denied ? HF_EDENIED : 0);
}

void hf_redis_link_refuse(struct hf_redis *redis, int status, const char *why)
{
    assert(status < 0);
    give_up(redis, why, status);
}

/* The stream broke by itself. */
static void explain(struct hf_redis *redis)
{
    struct hf_redis_link *link = &redis->link;
    const char           *what = link->conn.stream.errmsg;
    bool                  speechless = link->conn.heard == 0;
    bool                  plain = !redis->config.secure && redis->config.path[0] == '\0';
    char                  why[HF_ERRMSG_MAX];

    if (link->conn.strange)
        snprintf(why, sizeof why, "%s", what);
    else if (link->phase == HF_REDIS_REACHING)
        snprintf(why, sizeof why, "cannot be reached: %.180s", what);
    else
        snprintf(why, sizeof why, "hung up: %.150s%s", what,
                 speechless && plain ? " (if it speaks TLS, write rediss:)" : "");
    hf_redis_link_break(redis, why);
}

/* ---- Turns ------------------------------------------------------------------------------ */

/* Once the stream is open. */
static void greet(struct hf_redis *redis)
{
    struct hf_redis_link *link = &redis->link;

    if (link->phase != HF_REDIS_REACHING || link->conn.stream.state != HF_STREAM_OPEN)
        return;
    link->phase = HF_REDIS_GREETING;
    hf_redis_greet(redis);
}

static void time_out(struct hf_redis *redis)
{
    struct hf_redis_link *link = &redis->link;
    bool                  shaking =
        link->phase == HF_REDIS_REACHING && link->conn.stream.state == HF_STREAM_SHAKING;

    hf_redis_link_break(redis, shaking ? "does not answer in TLS (does it speak that on "
                                         "this port? if not, write redis:)"
                                       : "does not answer");
}

void hf_redis_link_run(struct hf_redis *redis, bool readable)
{
    struct hf_redis_link *link = &redis->link;

    if (link->phase == HF_REDIS_RESTING && redis->remote.now >= link->due) {
        if (link->refused) {
            link->refused = redis->served.base.refusing = false;
            hf_store_set_link(&redis->served.base, HF_LINK_DOWN);
        }
        hf_redis_find_next(redis);
    }
    if (link->phase == HF_REDIS_RESOLVING)
        hf_redis_find_addresses(redis);
    /* Before the clock is looked at: after a pause it may have been here long. */
    if (link->phase >= HF_REDIS_REACHING) {
        if (hf_redis_conn_run(redis, &link->conn, readable))
            greet(redis);
        else
            explain(redis);
    }
    if (link->phase != HF_REDIS_RESTING && link->phase < HF_REDIS_OPENING &&
        redis->remote.now >= link->due)
        time_out(redis);
}

void hf_redis_link_flush(struct hf_redis *redis)
{
    if (redis->link.phase >= HF_REDIS_REACHING &&
        !hf_redis_conn_flush(redis, &redis->link.conn))
        explain(redis);
}

hf_time hf_redis_link_wake(const struct hf_redis *redis)
{
    const struct hf_redis_link *link = &redis->link;

    if (link->conn.more)
        return 0;
    return link->phase >= HF_REDIS_OPENING ? HF_NEVER : link->due;
}

void hf_redis_link_ready(struct hf_redis *redis)
{
    struct hf_redis_link *link = &redis->link;

    assert(link->phase == HF_REDIS_OPENING || link->phase == HF_REDIS_READY);
    link->phase = HF_REDIS_READY;
    link->tried = 0;
    link->lookup.count = 0;
    link->following = false;
    hf_retry_reset(&link->retry);
    redis->served.base.errmsg[0] = '\0';
    hf_store_set_link(&redis->served.base, HF_LINK_UP);
}

/* ---- Both ends of its life ---------------------------------------------------------------- */

void hf_redis_link_init(struct hf_redis *redis, uint64_t seed)
{
    struct hf_redis_link *link = &redis->link;

    hf_retry_init(&link->retry, 50 * HF_MS, HF_SEC, seed);
    if (redis->config.servers > 0) {
        link->next_server = (size_t)(hf_random_next(&seed) % redis->config.servers);
        snprintf(link->host, sizeof link->host, "%s", redis->config.server[0].host);
        snprintf(link->port, sizeof link->port, "%s", redis->config.server[0].port);
    }
}

void hf_redis_link_finish(struct hf_redis *redis)
{
    hf_redis_lookup_end(redis, &redis->link.lookup);
    redis->link.phase = HF_REDIS_RESTING;
    hf_redis_sentinels_finish(redis);
    hf_redis_conn_close(redis, &redis->link.conn);
    hf_redis_conn_close(redis, &redis->news_conn);
}
