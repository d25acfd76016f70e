/* greet.c - the first commands on a connection, in one flight, and whether this server
 * will do.
 *
 * AUTH, SELECT, INFO.  CLIENT SETNAME comes last, because it may fail.
 * A server that accepts no more clients says so in reply to the first command.
 */
#include "store/redis/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UPTIME_MAX 1000000000 /* seconds */

/* ---- INFO --------------------------------------------------------------------- */

/* The value of "key:value\r\n", or "". */
static void get_info(const redisReply *reply, const char *key, char *ret, size_t size)
{
    size_t length = strlen(key);

    ret[0] = '\0';
    for (const char *line = reply->str; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && line[length] == ':') {
            const char *value = line + length + 1;
            snprintf(ret, size, "%.*s", (int)strcspn(value, "\r\n"), value);
            return;
        }
    }
}

static long long get_info_number(const redisReply *reply, const char *key)
{
    char text[32];

    get_info(reply, key, text, sizeof text);
    return strtoll(text, NULL, 10);
}

/* Cut off, so that it can be counted in nanoseconds. */
static long long get_uptime(const redisReply *reply)
{
    long long uptime = get_info_number(reply, "uptime_in_seconds");

    return uptime < 0 ? 0 : uptime < UPTIME_MAX ? uptime : UPTIME_MAX;
}

static bool is_old(const char *version)
{
    int major = 0, minor = 0;

    return sscanf(version, "%d.%d", &major, &minor) < 2 || major < 6 ||
           (major == 6 && minor < 2);
}

/* ---- Is it one for us? -------------------------------------------------------- */

static void take_server(struct hf_redis *redis, const redisReply *reply)
{
    struct hf_redis_server_info *info = &redis->link.info;
    char                         mode[16], why[HF_ERRMSG_MAX];
    bool several = redis->config.servers > 1 && redis->config.service[0] == '\0';

    get_info(reply, "run_id", info->run_id, sizeof info->run_id);
    get_info(reply, "redis_version", info->version, sizeof info->version);
    get_info(reply, "redis_mode", mode, sizeof mode);
    info->started = redis->remote.now - get_uptime(reply) * HF_SEC;
    info->cluster = strcmp(mode, "cluster") == 0;
    if (strcmp(mode, "sentinel") == 0) {
        hf_dial_refuse(redis->remote.dial, HF_EINVAL,
                       "is a Sentinel: write redis+sentinel://host:port/SERVICE");
    } else if (info->version[0] == '\0' || info->run_id[0] == '\0') {
        hf_dial_refuse(redis->remote.dial, HF_EUNSUPPORTED,
                       "is not Redis: INFO has no redis_version and run_id");
    } else if (is_old(info->version)) {
        snprintf(why, sizeof why, "has version %.20s; 6.2 or later is needed",
                 info->version);
        hf_dial_refuse(redis->remote.dial, HF_EUNSUPPORTED, why);
    } else if (several && !info->cluster) { /* each server would have locks of its own */
        hf_dial_refuse(redis->remote.dial, HF_EINVAL,
                       "is not in a cluster: name one server only, or Sentinels as "
                       "redis+sentinel:");
    }
}

static void take_memory(struct hf_redis *redis, const redisReply *reply)
{
    struct hf_redis_server_info *info = &redis->link.info;
    char                         why[HF_ERRMSG_MAX];

    info->maxmemory = get_info_number(reply, "maxmemory");
    get_info(reply, "maxmemory_policy", info->policy, sizeof info->policy);
    if (info->maxmemory <= 0 || strcmp(info->policy, "noeviction") == 0 ||
        redis->config.evicting)
        return;
    snprintf(why, sizeof why,
             "may evict locks (maxmemory-policy %.20s): set noeviction there; "
             "?evicting=yes takes the risk",
             info->policy);
    hf_dial_refuse(redis->remote.dial, HF_EUNSUPPORTED, why);
}

/* A server that was our master may become it again, and a Sentinel may be behind: in
 * those cases we try again instead of refusing. */
static void deny_replica(struct hf_redis *redis, const redisReply *reply)
{
    char host[128], port[8], why[HF_ERRMSG_MAX];

    assert(redis->link.info.replica && !redis->link.info.cluster);
    get_info(reply, "master_host", host, sizeof host);
    get_info(reply, "master_port", port, sizeof port);
    snprintf(why, sizeof why,
             "is a read-only replica: name its master (%.100s:%s) or use redis+sentinel:",
             host, port);
    if (redis->config.service[0] != '\0')
        hf_dial_break(redis->remote.dial,
                      "is a read-only replica, though a Sentinel named it");
    else if (redis->served.places > 0 || redis->link.following)
        hf_dial_break(redis->remote.dial, why);
    else
        hf_dial_deny(redis->remote.dial, HF_EDENIED, why);
}

static void take_replication(struct hf_redis *redis, const redisReply *reply)
{
    struct hf_redis_server_info *info = &redis->link.info;
    char                         role[16];

    get_info(reply, "role", role, sizeof role);
    info->replica = strcmp(role, "slave") == 0 || strcmp(role, "replica") == 0;
    if (info->replica && !info->cluster) /* in a cluster it will redirect us */
        deny_replica(redis, reply);
}

/* ---- Answers ------------------------------------------------------------------ */

/* False: it was an error or not of this type, and the link is broken. */
static bool is_good(struct hf_redis *redis, const redisReply *reply, int type)
{
    char server_text[HF_ERRMSG_MAX];

    if (reply == NULL)
        return false;
    assert(redis->remote.dial->phase == HF_DIAL_GREETING);
    switch (hf_redis_fault_text(reply, server_text, sizeof server_text)) {
    case HF_SERVED_FINE:
        if (reply->type == type)
            return true;
        hf_dial_break(redis->remote.dial, "sends an answer that makes no sense");
        return false;
    case HF_SERVED_DENIED:
        hf_dial_refuse(redis->remote.dial, HF_EDENIED, server_text);
        return false;
    case HF_SERVED_FAILED:
        hf_dial_refuse(redis->remote.dial, HF_ESTORE, server_text);
        return false;
    default:
        hf_dial_break(redis->remote.dial, server_text);
        return false;
    }
}

static void on_link_auth(struct hf_redis *redis, void *data, const redisReply *reply)
{
    (void)data;
    if (!hf_redis_auth_is_needless(redis, reply))
        is_good(redis, reply, REDIS_REPLY_STATUS);
}

static void on_server(struct hf_redis *redis, void *data, const redisReply *reply)
{
    (void)data;
    if (is_good(redis, reply, REDIS_REPLY_STRING))
        take_server(redis, reply);
}

static void on_memory(struct hf_redis *redis, void *data, const redisReply *reply)
{
    (void)data;
    if (is_good(redis, reply, REDIS_REPLY_STRING))
        take_memory(redis, reply);
}

static void on_select(struct hf_redis *redis, void *data, const redisReply *reply)
{
    char why[HF_ERRMSG_MAX], server_text[HF_ERRMSG_MAX];

    (void)data;
    if (hf_redis_fault_text(reply, server_text, sizeof server_text) == HF_SERVED_FAILED) {
        snprintf(why, sizeof why, "has no database %d: it %.150s", redis->config.db,
                 server_text);
        hf_dial_refuse(redis->remote.dial, HF_EINVAL, why);
    } else {
        is_good(redis, reply, REDIS_REPLY_STATUS);
    }
}

/* The last reply that matters. */
static void on_replication(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_dial *dial = redis->remote.dial;

    (void)data;
    if (!is_good(redis, reply, REDIS_REPLY_STRING))
        return;
    take_replication(redis, reply);
    if (dial->phase != HF_DIAL_GREETING)
        return;
    assert(!redis->link.introduced);
    redis->link.introduced = true;
    hf_dial_allow_all(dial);
    hf_redis_session_begin(redis);
}

static void send_greeting(struct hf_redis *redis, int argc, const char *const *argv,
                          hf_redis_on_reply *on_reply)
{
    struct hf_redis_link *link = &redis->link;

    assert((size_t)link->calls < sizeof link->call / sizeof *link->call);
    hf_redis_conn_call(redis, &link->conn, &link->call[link->calls++], argc, argv, NULL,
                       on_reply, NULL);
}

void hf_redis_greet(struct hf_dial *dial)
{
    struct hf_redis      *redis = (struct hf_redis *)dial->store;
    struct hf_redis_link *link = &redis->link;
    char                  db[12];

    assert(dial == redis->remote.dial && dial->phase == HF_DIAL_GREETING &&
           !link->introduced);
    link->info = (struct hf_redis_server_info){ 0 };
    link->calls = 0;
    hf_redis_conn_auth(redis, &link->conn, &link->call[link->calls++], on_link_auth,
                       NULL);
    send_greeting(redis, 2, (const char *[]){ "INFO", "server" }, on_server);
    send_greeting(redis, 2, (const char *[]){ "INFO", "memory" }, on_memory);
    snprintf(db, sizeof db, "%d", redis->config.db);
    if (redis->config.db != 0)
        send_greeting(redis, 2, (const char *[]){ "SELECT", db }, on_select);
    send_greeting(redis, 2, (const char *[]){ "INFO", "replication" }, on_replication);
    send_greeting(redis, 3, (const char *[]){ "CLIENT", "SETNAME", "holdfast" }, NULL);
}
