/* witness.h - what the tests of the PostgreSQL store see and do past the store, and the
 * clients they do it with.
 *
 * A witness asks the server by way of whoever started it: what it sees is what is there.
 */
#ifndef HF_TEST_PG_WITNESS_H
#define HF_TEST_PG_WITNESS_H

#include "lib/rivals.h"

/* Skips the whole program if there is no server, or no store for it. */
void witness_start(void);

/* The server's URL with what comes behind a "?"; through the pooler if there is to be one.
 * In static memory, until the next call but three. */
const char *witness_url(const char *params);
const char *witness_pooler(const char *params);

/* The first field of the first row that a question is answered; "" if there is none.  Until
 * the next call. */
const char *witness_ask(const char *format, ...) __attribute__((format(printf, 1, 2)));
long        witness_number(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How many hold and wait for a name; until so many do, 10 s at most. */
size_t witness_holders(const char *name);
size_t witness_waiters(const char *name);
void   witness_await(const char *name, size_t holders, size_t waiters);

/* Nobody is there any more: no row may be left, but of sessions whose owners could not say
 * that they leave. */
void witness_empty(void);

/* Tell whoever started the server to do something; the test fails if he cannot. */
const char *witness_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- Clients ---------------------------------------------------------------------- */

/* `ttl_ms`: of the session. */
void actor_open(struct actor *actor, int ttl_ms, const char *name);

/* Begin to wait, and be seen in a line in which `waiters` wait then. */
void actor_queue(struct actor *actor, size_t waiters);

void rival_start(struct rival *rival, int ttl_ms, const char *name,
                 const struct actor *others, size_t count);

#endif
