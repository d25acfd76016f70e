/* mariadb_rig.h - a connection of the MariaDB store without the store: tests log in and ask. */
#ifndef HF_TEST_MARIADB_RIG_H
#define HF_TEST_MARIADB_RIG_H

#include "store/mariadb/wire/wire.h"

struct mariadb_rig {
    struct hf_my_conn  conn;
    struct hf_store    store;
    struct hf_my_login login;
    struct hf_server   server;
    hf_time            now;
    unsigned           logins, overs;
    unsigned           answers, breaks; /* calls answered, and calls without an answer */

    /* The last answer: rows as "1|text|NULL\n", and the rest. */
    char     rows[65536];
    unsigned error, warnings, status, results;
    uint64_t changed;
    char     state[6], message[256];
};

/* Dials host and port; `port` NULL: `host` is the path of a Unix socket.  `tls` NULL:
 * plain. */
void mariadb_rig_open(struct mariadb_rig *rig, const char *host, const char *port,
                      const char *user, const char *password, struct hf_tls *tls);
void mariadb_rig_close(struct mariadb_rig *rig);

/* One process(), after up to `ms` of waiting. */
void mariadb_rig_run(struct mariadb_rig *rig, int ms);

/* Until it is READY (true), or the first connection has failed: see store.errmsg, and
 * store.refusal. */
bool mariadb_rig_settle(struct mariadb_rig *rig);

/* A call that is answered later; and a call and its answer: the rows. */
void        mariadb_rig_send(struct mariadb_rig *rig, struct hf_my_call *call,
                             const struct hf_my_query *query);
const char *mariadb_rig_ask(struct mariadb_rig *rig, const struct hf_my_query *query);
const char *mariadb_rig_ask_text(struct mariadb_rig *rig, const char *query);

/* ---- A server that test/server/mariadb.py has started ------------------------------- */

/* Dial it by TCP; and log in. */
void mariadb_rig_dial(struct mariadb_rig *rig, const char *user, const char *password,
                      struct hf_tls *tls);
void mariadb_rig_log_in(struct mariadb_rig *rig, const char *user, const char *password,
                        struct hf_tls *tls);

/* A command to the program that started it, see there: its answer, until the next call. */
const char *mariadb_rig_tell(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* TLS with these files, which environment variables name; NULL: none. */
struct hf_tls *mariadb_rig_tls(const char *ca, const char *cert, const char *key);

/* Is there a server?  Else the program is skipped: return 77.  Loads OpenSSL. */
bool mariadb_rig_has_server(void);

#endif
