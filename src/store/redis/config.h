/* config.h - what a redis: URL says. */
#ifndef HF_REDIS_CONFIG_H
#define HF_REDIS_CONFIG_H

#include "store/remote/server.h"
#include "store/store.h"

#define HF_REDIS_SERVERS 16
#define HF_REDIS_PREFIX  128

struct hf_redis_config {
    struct hf_server server[HF_REDIS_SERVERS]; /* the server, some of a cluster, or the
                                                  Sentinels */
    size_t           servers;
    char             path[108];    /* of a Unix socket, or "" */
    char             service[128]; /* what the Sentinels call the master, or "" */
    bool             secure;
    int              db;
    char             prefix[HF_REDIS_PREFIX]; /* "{holdfast}": a hash tag */
    hf_time          ttl;
    int              replicas; /* that must have a grant before it counts */
    bool             evicting; /* accept a server that may evict our keys */
    int              history;  /* entries to keep; -1: leave the setting alone */
    char            *user;     /* NULL: none, or the default one */
    char            *password; /* NULL: none */
    char            *auth;     /* the file that has both; NULL: none */
};

int  hf_redis_config_init(struct hf_redis_config *ret, const struct hf_config *config,
                          char *errmsg);
void hf_redis_config_finish(struct hf_redis_config *config);

/* auth.c: user and password from a file, the URL or the environment. */
int hf_redis_config_auth(struct hf_redis_config *ret, const struct hf_config *config,
                         char *errmsg);

/* Read the file again, if there is one; what is wrong with it changes nothing. */
void hf_redis_config_reread(struct hf_redis_config *config);

#endif
