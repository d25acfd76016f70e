/* find.c - where the server is: the one in the URL, the one that Sentinels name, or where a
 * cluster sends us. */
#include "store/redis/inner.h"

#include <stdio.h>
#include <string.h>
#include <sys/un.h>

/* ---- Addresses -------------------------------------------------------------------------- */

static void reach(struct hf_redis *redis)
{
    struct hf_redis_link *link = &redis->link;
    struct hf_address    *address = &link->lookup.address[link->lookup.next++];

    link->at = *address;
    link->phase = HF_REDIS_REACHING;
    link->due = redis->remote.now + hf_redis_link_patience(redis);
    if (hf_redis_conn_open(redis, &link->conn, address, link->host) < 0)
        hf_redis_link_break(redis, "cannot be reached: out of memory");
}

void hf_redis_find_addresses(struct hf_redis *redis)
{
    struct hf_redis_lookup *lookup = &redis->link.lookup;
    int                     n = hf_redis_lookup_get(redis, lookup);

    if (n < 0) {
        char why[HF_ERRMSG_MAX];
        snprintf(why, sizeof why, "is not to be found: %.150s",
                 hf_resolve_error(lookup->resolve));
        hf_redis_link_break(redis, why);
    } else if (n > 0) {
        reach(redis);
    }
}

static void look_up(struct hf_redis *redis)
{
    struct hf_redis_link *link = &redis->link;

    link->phase = HF_REDIS_RESOLVING;
    link->due = redis->remote.now + hf_redis_link_patience(redis);
    if (hf_redis_lookup_start(redis, &link->lookup, link->host, link->port) < 0)
        hf_redis_link_break(redis, "cannot be looked up: out of memory");
    else
        hf_redis_find_addresses(redis);
}

/* ---- Servers ------------------------------------------------------------------------------ */

static void go_to(struct hf_redis *redis, const char *host, const char *port)
{
    struct hf_redis_link *link = &redis->link;

    snprintf(link->host, sizeof link->host, "%s", host);
    snprintf(link->port, sizeof link->port, "%s", port);
    if (redis->served.base.errmsg[0] ==
        '\0') /* should somebody give up before we know more */
        hf_redis_link_say(redis, "does not answer");
    look_up(redis);
}

static void go_to_path(struct hf_redis *redis)
{
    struct hf_redis_link *link = &redis->link;
    struct sockaddr_un   *at = (struct sockaddr_un *)&link->lookup.address[0].at;

    *at = (struct sockaddr_un){ .sun_family = AF_UNIX };
    snprintf(at->sun_path, sizeof at->sun_path, "%s", redis->config.path);
    link->lookup.address[0].length = sizeof *at;
    link->lookup.count = 1;
    link->lookup.next = 0;
    if (redis->served.base.errmsg[0] == '\0')
        hf_redis_link_say(redis, "does not answer");
    reach(redis);
}

void hf_redis_find_next(struct hf_redis *redis)
{
    struct hf_redis_link   *link = &redis->link;
    struct hf_redis_config *config = &redis->config;

    if (link->lookup.next < link->lookup.count) {
        reach(redis);
        return;
    }
    link->following = link->moved_host[0] != '\0';
    if (config->path[0] != '\0') {
        go_to_path(redis);
    } else if (link->following) {
        go_to(redis, link->moved_host, link->moved_port);
        link->moved_host[0] = '\0';
    } else if (config->service[0] != '\0') {
        link->phase = HF_REDIS_SEEKING;
        link->due = HF_NEVER;
        hf_redis_sentinels_seek(redis);
    } else {
        struct hf_redis_server *server = &config->server[link->next_server];
        link->next_server = (link->next_server + 1) % config->servers;
        go_to(redis, server->host, server->port);
    }
}

void hf_redis_find_named(struct hf_redis *redis, const char *host, const char *port)
{
    go_to(redis, host, port);
}
