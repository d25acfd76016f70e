/* link.c - the connection for commands: where its server is.
 *
 * That is the server in the URL, the one that the Sentinels name, or the one that a
 * cluster redirects us to.  A Unix socket needs no look-up.  store/remote/dial.h draws
 * the states.  GREETING is AUTH, INFO and the like (greet.c), then the session's hello
 * (session/hello.c).
 */
#include "store/redis/inner.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define STEP_MOST (2 * HF_SEC)

hf_time hf_redis_patience(const struct hf_dial *dial)
{
    return hf_dial_doubled(((const struct hf_redis *)dial->store)->config.ttl / 6, 0,
                           STEP_MOST);
}

/* Pauses stay short while a session is running out. */
static hf_time redis_pause_most(const struct hf_dial *dial)
{
    const struct hf_redis *redis = (const struct hf_redis *)dial->store;

    return redis->served.places > 0 ? redis->config.ttl / 20 : HF_NEVER;
}

static void find_redis_server(struct hf_dial *dial)
{
    struct hf_redis      *redis = (struct hf_redis *)dial->store;
    struct hf_redis_link *link = &redis->link;

    assert(dial == redis->remote.dial && hf_dial_is_sought(dial));
    link->following = link->moved.host[0] != '\0';
    link->asking = link->following && link->moving;
    if (redis->config.path[0] != '\0') {
        hf_dial_connect_path(dial, redis->config.path);
    } else if (link->following) {
        dial->here = link->moved;
        link->moved.host[0] = '\0';
        hf_dial_look_up(dial);
    } else if (redis->config.service[0] != '\0') {
        hf_redis_sentinels_seek(redis);
    } else {
        hf_dial_choose(dial);
        hf_dial_look_up(dial);
    }
}

static void redis_link_over(struct hf_dial *dial)
{
    struct hf_redis      *redis = (struct hf_redis *)dial->store;
    struct hf_redis_link *link = &redis->link;

    assert(dial == redis->remote.dial);
    if (dial->refusal != 0)
        link->moved.host[0] = '\0';
    link->introduced = false;
    hf_redis_conn_over(dial);
    hf_redis_session_broken(redis);
}

static const struct hf_dial_ops ops = {
    .kind = "Redis",
    .plain = "redis:",
    .secure = "rediss:",
    .is_link = true,
    .shuffle = true,
    .shares = HF_DIAL_GREETING,
    .find = find_redis_server,
    .greet = hf_redis_greet,
    .read = hf_redis_conn_read,
    .over = redis_link_over,
    .patience = hf_redis_patience,
    .pause_most = redis_pause_most,
};

void hf_redis_link_init(struct hf_redis *redis, uint64_t seed)
{
    bool sentinels = redis->config.service[0] != '\0';

    *redis->remote.dial =
        (struct hf_dial){ .ops = &ops,
                          .store = &redis->served.base,
                          .now = &redis->remote.now,
                          .list = redis->config.server,
                          .servers = sentinels ? 0 : redis->config.servers,
                          .tls = redis->tls };
    hf_dial_init(redis->remote.dial, seed);
    if (redis->config.path[0] != '\0')
        snprintf(redis->remote.dial->here.host, sizeof redis->remote.dial->here.host,
                 "%s", redis->config.path);
}
