/* find.c - where the server is: a name looked up, Sentinels asked, a cluster's word. */
#include "store/redis/inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>

/* ---- Addresses -------------------------------------------------------------------------- */

void hf_redis_find_end(struct hf_redis *redis)
{
    struct hf_redis_link *link = &redis->link;

    if (link->resolve == NULL)
        return;
    if (link->resolve_polled != 0)
        epoll_ctl(redis->served.base.fd, EPOLL_CTL_DEL, hf_resolve_fd(link->resolve),
                  NULL);
    link->resolve_polled = 0;
    hf_resolve_free(link->resolve);
    link->resolve = NULL;
}

static void reach(struct hf_redis *redis)
{
    struct hf_redis_link *link = &redis->link;
    struct hf_address    *address = &link->address[link->next_address++];

    hf_redis_find_end(redis);
    link->at = *address;
    link->phase = HF_REDIS_REACHING;
    link->due = redis->served.now + hf_redis_link_patience(redis);
    if (hf_redis_conn_open(redis, &link->conn, address, link->host) < 0)
        hf_redis_link_break(redis, "cannot be reached: out of memory");
}

/* Epoll knows when a look-up is over. */
static void look(struct hf_redis *redis)
{
    struct epoll_event event = { .events = EPOLLIN };

    if (redis->link.resolve_polled != 0)
        return;
    epoll_ctl(redis->served.base.fd, EPOLL_CTL_ADD, hf_resolve_fd(redis->link.resolve),
              &event);
    redis->link.resolve_polled = EPOLLIN;
}

void hf_redis_find_addresses(struct hf_redis *redis)
{
    struct hf_redis_link *link = &redis->link;
    int n = hf_resolve_get(link->resolve, link->address, HF_RESOLVE_MAX);

    if (n < 0) {
        char why[HF_ERRMSG_MAX];
        snprintf(why, sizeof why, "is not to be found: %.150s",
                 hf_resolve_error(link->resolve));
        hf_redis_link_break(redis, why);
    } else if (n > 0) {
        link->addresses = n;
        link->next_address = 0;
        reach(redis);
    } else {
        look(redis);
    }
}

static void look_up(struct hf_redis *redis)
{
    struct hf_redis_link *link = &redis->link;

    link->phase = HF_REDIS_RESOLVING;
    link->due = redis->served.now + hf_redis_link_patience(redis);
    if (hf_resolve_new(link->host, link->port, &link->resolve) < 0)
        hf_redis_link_break(redis, "cannot be looked up: out of memory");
    else
        hf_redis_find_addresses(redis);
}

/* ---- Servers ------------------------------------------------------------------------------ */

static void go_to(struct hf_redis *redis, const char *host, const char *port, bool asking)
{
    struct hf_redis_link *link = &redis->link;

    snprintf(link->host, sizeof link->host, "%s", host);
    snprintf(link->port, sizeof link->port, "%s", port);
    link->asking = asking;
    if (redis->served.base.errmsg[0] ==
        '\0') /* should somebody give up before we know more */
        hf_redis_link_say(redis, "does not answer");
    look_up(redis);
}

static void go_to_path(struct hf_redis *redis)
{
    struct hf_redis_link *link = &redis->link;
    struct sockaddr_un   *at = (struct sockaddr_un *)&link->address[0].at;

    *at = (struct sockaddr_un){ .sun_family = AF_UNIX };
    snprintf(at->sun_path, sizeof at->sun_path, "%s", redis->config.path);
    link->address[0].length = sizeof *at;
    link->addresses = 1;
    link->next_address = 0;
    if (redis->served.base.errmsg[0] == '\0')
        hf_redis_link_say(redis, "does not answer");
    reach(redis);
}

void hf_redis_find_next(struct hf_redis *redis)
{
    struct hf_redis_link   *link = &redis->link;
    struct hf_redis_config *config = &redis->config;

    if (link->next_address < link->addresses) {
        reach(redis);
        return;
    }
    link->following = link->moved_host[0] != '\0';
    if (config->path[0] != '\0') {
        go_to_path(redis);
    } else if (link->following) {
        go_to(redis, link->moved_host, link->moved_port, false);
        link->moved_host[0] = '\0';
    } else {
        struct hf_redis_server *server = &config->server[link->next_server];
        link->next_server = (link->next_server + 1) % config->servers;
        go_to(redis, server->host, server->port, config->service[0] != '\0');
    }
}

/* ---- Sentinels ------------------------------------------------------------------------------ */

static void ask(struct hf_redis *redis);

/* The master is at "host", "port". */
static void take_master(struct hf_redis *redis, const redisReply *reply)
{
    struct hf_redis_link *link = &redis->link;
    const redisReply     *host = reply->element[0], *port = reply->element[1];
    char                  to[sizeof link->host], at[sizeof link->port];

    if (host->type != REDIS_REPLY_STRING || port->type != REDIS_REPLY_STRING ||
        host->len == 0 || host->len >= sizeof to || port->len >= sizeof at ||
        atoi(port->str) <= 0) {
        hf_redis_link_break(redis, "names a master that makes no sense");
        return;
    }
    snprintf(to, sizeof to, "%s", host->str);
    snprintf(at, sizeof at, "%s", port->str);
    link->unknown = 0;
    hf_redis_conn_close(redis, &link->conn);
    go_to(redis, to, at, false);
}

static void on_asked(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_redis_link *link = &redis->link;
    char                  why[HF_ERRMSG_MAX], words[HF_ERRMSG_MAX];

    (void)data;
    if (reply == NULL)
        return;
    enum hf_redis_fault fault = hf_redis_fault_words(reply, words, sizeof words);
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2) {
        take_master(redis, reply);
    } else if (reply->type == REDIS_REPLY_NIL) {
        snprintf(why, sizeof why, "knows no service \"%.100s\"", redis->config.service);
        link->unknown++;
        hf_redis_link_break(redis, why);
    } else if (fault == HF_REDIS_DENIED && redis->config.password && link->calls == 0) {
        link->calls = 1; /* those without a password would take none */
        ask(redis);
    } else if (fault == HF_REDIS_DENIED) {
        hf_redis_link_break(redis, words);
    } else {
        snprintf(why, sizeof why, "is no Sentinel: it %.150s",
                 fault == HF_REDIS_FINE ? "answers something else" : words);
        hf_redis_link_break(redis, why);
    }
}

static void on_auth(struct hf_redis *redis, void *data, const redisReply *reply)
{
    char words[HF_ERRMSG_MAX];

    (void)data;
    if (hf_redis_fault_words(reply, words, sizeof words) != HF_REDIS_FINE)
        hf_redis_link_break(redis, words);
}

static void ask(struct hf_redis *redis)
{
    struct hf_redis_link *link = &redis->link;
    const char *argv[] = { "SENTINEL", "GET-MASTER-ADDR-BY-NAME", redis->config.service };

    if (link->calls > 0)
        hf_redis_conn_auth(redis, &link->conn, &link->call[1], on_auth, NULL);
    hf_redis_conn_call(redis, &link->conn, &link->call[0], 3, argv, NULL, on_asked, NULL);
}

void hf_redis_find_ask(struct hf_redis *redis)
{
    redis->link.calls = 0;
    ask(redis);
}
