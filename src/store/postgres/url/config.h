/* config.h - what a postgres: URL says, and which servers it names. */
#ifndef HF_PG_CONFIG_H
#define HF_PG_CONFIG_H

#include "store/postgres/pq.h"
#include "store/remote/server.h"
#include "store/store.h"

#define HF_PG_SERVERS 16

struct hf_pg_config {
    PQconninfoOption *option; /* libpq's own parameters; may contain a password */
    /* Tried one after the other.  The host is a name, an address or the folder of a
     * socket.  Host and port may be "": libpq's default. */
    struct hf_server server[HF_PG_SERVERS];
    char    hostaddr[HF_PG_SERVERS][64]; /* "": look the name up, if the host is one */
    size_t  servers;
    hf_time ttl;
    bool    polling; /* never LISTEN, as behind a pooler */
    int     history; /* how many entries to keep; -1: leave it as it is */
};

int  hf_pg_config_init(struct hf_pg_config *ret, const struct hf_config *config,
                       char *errmsg);
void hf_pg_config_finish(struct hf_pg_config *config);

/* The value of one of libpq's parameters, or "". */
const char *hf_pg_option(const PQconninfoOption *option, const char *key);
void        hf_pg_options_free(PQconninfoOption *option); /* wipes the values first */

/* ---- servers.c ------------------------------------------------------------------ */

/* For config.c: find the servers in the options. */
int hf_pg_config_servers(struct hf_pg_config *ret, char *errmsg);

/* "host:port/database" of one of the servers. */
const char *hf_pg_config_show(const struct hf_pg_config *config, size_t server, char *ret,
                              size_t size);

#define HF_PG_KEYWORDS 96

/* The name of our connections and sessions, for people: "holdfast 1.2.3". */
#define HF_PG_STRING_(x)        #x
#define HF_PG_VERSION_(a, b, c) HF_PG_STRING_(a) "." HF_PG_STRING_(b) "." HF_PG_STRING_(c)
#define HF_PG_WHO \
    "holdfast " HF_PG_VERSION_(HF_VERSION_MAJOR, HF_VERSION_MINOR, HF_VERSION_PATCH)

/* For PQconnectStartParams(); all strings are lent. */
struct hf_pg_keywords {
    const char *key[HF_PG_KEYWORDS];
    const char *value[HF_PG_KEYWORDS];
    size_t      count;
};

void hf_pg_config_keywords(const struct hf_pg_config *config, size_t server,
                           const char *hostaddr, struct hf_pg_keywords *ret);

#endif
