/* inner.h - one opened MariaDB store, made of the parts in these folders:
 *
 *   url/      what the URL says
 *   wire/     the server's protocol
 *   call/     calls of the server's functions and procedures
 *   session/  hello, renewals and bye; which sessions have expired; waking
 *   verbs/    the verbs, as far as served/served.h does not have them
 *
 *   link.c    the connection for calls          fault.c  what errors mean
 *   schema.c  makes tables and functions; schema.sql has them
 *   store.c   open, close, process
 */
#ifndef HF_MARIA_INNER_H
#define HF_MARIA_INNER_H

#include "store/mariadb/call/call.h"
#include "store/mariadb/session/session.h"
#include "store/mariadb/url/config.h"
#include "store/mariadb/verbs/verbs.h"

/* schema.c: which statement comes next. */
struct hf_maria_schema {
    const char          *at;   /* in schema.sql */
    bool                 weak; /* we may not create the account holdfast@localhost */
    int                  step;
    hf_maria_on_reply   *done;
    struct hf_maria_call call;
};

struct hf_maria {
    union { /* the same by two names */
        struct hf_remote remote;
        struct hf_served served;
    };
    struct hf_maria_config  config;
    struct hf_tls          *tls; /* NULL: plain */
    struct hf_my_login      login;
    struct hf_my_conn       main;
    struct hf_my_query      args; /* of the next call, while the caller adds them */
    struct hf_maria_calls   calls;
    struct hf_maria_session session;
    struct hf_maria_expiry  expiry;
    struct hf_maria_waker   waker;
    struct hf_maria_schema  schema;
};

/* ---- link.c ----------------------------------------------------------------------- */

void hf_maria_link_init(struct hf_maria *maria, uint64_t seed);
void hf_maria_greet(struct hf_dial *dial);

/* How long the server may take for a call. */
hf_time hf_maria_limit(const struct hf_maria *maria);

/* It took longer: give up the connection, and try the next server first. */
void hf_maria_hung(struct hf_maria *maria);

/* ---- fault.c ---------------------------------------------------------------------- */

/* What a failed reply means.  base.errmsg says it for people: which server, what to do.
 * NULL is DOWN, and base.errmsg says why already. */
enum hf_served_fault hf_maria_fault(struct hf_maria          *maria,
                                    const struct hf_my_reply *reply);

/* The same for a number and an SQLSTATE, as a server text, to follow the server's name. */
enum hf_served_fault hf_maria_fault_text(unsigned error, const char *state,
                                         const char *message, char *ret, size_t size);

/* ---- schema.c --------------------------------------------------------------------- */

/* Make tables and functions, in GREETING; then call `done`, with the reply to the
 * statement that failed, or to the last (NULL: the connection broke). */
void hf_maria_schema_make(struct hf_maria *maria, hf_maria_on_reply *done);

/* See hf_schema() in holdfast.h. */
char *hf_maria_schema_print(const char *role);

extern const unsigned hf_maria_schema_version;

#endif
