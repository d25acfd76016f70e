/* inner.h - one opened PostgreSQL store, made of the parts in these folders:
 *
 *   url/      what the URL says, and which servers it names
 *   link/     the connection: connect, cancel, read and send, what errors mean
 *   call/     calls of the server's functions
 *   session/  hello, renewals and bye; which sessions have expired; LISTEN or polling
 *   verbs/    the verbs, as far as served/served.h does not have them
 *
 *   schema.c  makes the schema; schema.sql says what the database contains
 *   store.c   open, close, process
 */
#ifndef HF_PG_INNER_H
#define HF_PG_INNER_H

#include "store/postgres/link/link.h"
#include "store/postgres/session/session.h"
#include "store/postgres/verbs/verbs.h"

struct hf_pg {
    union { /* the same by two names */
        struct hf_remote remote;
        struct hf_served served;
    };
    struct hf_pg_config  config;
    struct hf_dial       dial;
    struct hf_pg_link    link;
    struct hf_pg_args    args;
    struct hf_pg_session session;
    struct hf_pg_expiry  expiry;
    struct hf_pg_listen  listen;
};

/* ---- schema.c ------------------------------------------------------------------- */

/* Make the schema, unless another one is there; then call `done` with the result (NULL:
 * the connection broke). */
void hf_pg_schema_make(struct hf_pg *pg, hf_pg_on_result *done);

/* See hf_schema() in holdfast.h. */
char *hf_pg_schema_print(const char *role);

extern const unsigned hf_pg_schema_version;

#endif
