/* witness.h - the server under test, past the store: what is there, and what is done to it;
 * and clients of it.
 *
 * For tests that have a Redis or PostgreSQL server of their own, see test/server.  A witness
 * asks with code that is not Holdfast's: what it sees is what is there.  What one store alone
 * has is in witness_redis.h and witness_postgres.h.
 */
#ifndef HF_TEST_WITNESS_H
#define HF_TEST_WITNESS_H

#include "lib/rivals.h"

/* The store under test, "redis" or "postgres", by the environment.  Skips the whole program if
 * there is no server, or no store for it. */
const char *witness_start(void);

/* host:port of the server. */
const char *witness_server(void);

/* Its URL with what comes behind a "?"; the same by way of another host:port.  In static
 * memory, until the next call but three. */
const char *witness_url(const char *params);
const char *witness_url_at(const char *address, const char *params);

/* How many hold and wait for a name; until so many do, 10 s at most. */
size_t witness_holders(const char *name);
size_t witness_waiters(const char *name);
void   witness_await(const char *name, size_t holders, size_t waiters);

/* Nobody is there any more: no place, line or watch may be left.  (A session may, if its
 * owner could not say that it leaves; somebody will find that it has ended.) */
void witness_empty(void);

/* Tell whoever started the server to do something, "freeze", "thaw", "kill", "stop", "start",
 * "restart" or what else he can; the test fails if he cannot.  What he says, until the next
 * call. */
const char *witness_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- Clients ---------------------------------------------------------------------- */

/* `ttl_ms`: of the session; by way of `address` if not of the server itself. */
void actor_open(struct actor *actor, int ttl_ms, const char *name);
void actor_open_at(struct actor *actor, const char *address, int ttl_ms,
                   const char *name);

/* Begin to wait, and be seen in a line in which `waiters` wait then. */
void actor_queue(struct actor *actor, size_t waiters);

void rival_start(struct rival *rival, int ttl_ms, const char *name,
                 const struct actor *others, size_t count);
void rival_start_at(struct rival *rival, const char *address, int ttl_ms,
                    const char *name, const struct actor *others, size_t count);

/* ---- A row for each store ----------------------------------------------------------- */

struct witness_store {
    const char *name, *control; /* HF_..._CTL */

    /* `address` NULL: the server's. */
    void (*write_url)(char *url, size_t size, const char *address, const char *params);
    const char *(*server)(void);
    size_t (*holders)(const char *name);
    size_t (*waiters)(const char *name);
    const char *(*litter)(void); /* what is left behind; NULL: nothing */
};

extern const struct witness_store witness_redis, witness_postgres;

#endif
