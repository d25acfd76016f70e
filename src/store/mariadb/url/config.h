/* config.h - what a mariadb: URL says. */
#ifndef HF_MARIA_CONFIG_H
#define HF_MARIA_CONFIG_H

#include "store/remote/server.h"
#include "store/store.h"

#define HF_MARIA_SERVERS 16

struct hf_maria_config {
    struct hf_server server[HF_MARIA_SERVERS]; /* tried one after the other */
    size_t           servers;
    char             path[108];    /* of a Unix socket, or "" */
    char             database[65]; /* letters, digits, _, - and $ */
    bool             secure;
    hf_time          ttl;
    bool             polling; /* no second connection, as behind a pooler */
    int              history; /* how many entries to keep; -1: leave it as it is */
    char            *user;
    char            *password; /* NULL: none */
    char            *auth;     /* the file that has the password; NULL: none */
    bool             auth_has_user;
};

int  hf_maria_config_init(struct hf_maria_config *ret, const struct hf_config *config,
                          char *errmsg);
void hf_maria_config_finish(struct hf_maria_config *config);

/* Read the file `auth` again, if there is one; what is wrong with it changes nothing. */
void hf_maria_config_reread(struct hf_maria_config *config);

#endif
