/* server.h - the server under test: its data, read without Holdfast; commands to stop or
 * restart it; and clients of it.
 *
 * For tests that have a Redis, PostgreSQL or MariaDB server of their own, see test/server.
 * What only one of them has is in server_redis.h and the like.
 */
#ifndef HF_TEST_SERVER_H
#define HF_TEST_SERVER_H

#include "lib/actors.h"

/* Find the server by the environment: "redis", "postgres" or "mariadb".  Skips the whole program if
 * there is no server, or no store for it. */
const char *server_find(void);

/* host:port of the server. */
const char *server_address(void);

/* Its URL, with these parameters (after "?"); the same by way of another host:port.  In
 * static memory, until the next call but three. */
const char *server_url(const char *params);
const char *server_url_at(const char *address, const char *params);

/* How many hold and wait for a lock; wait until there are so many, 10 s at most. */
size_t server_holders(const char *name);
size_t server_waiters(const char *name);
void   server_await(const char *name, size_t holders, size_t waiters);

/* When all clients have closed: no place, queue or watch may be left.  (A session may, if
 * its owner could not end it; it expires.) */
void server_expect_empty(void);

/* Send a command to the program that started the server: "freeze", "thaw", "kill",
 * "stop", "start", "restart" and others, see test/server.  The test fails if the command
 * does.  Its answer, until the next call. */
const char *server_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- Clients ---------------------------------------------------------------------- */

/* `ttl_ms`: of the session; `address`: of a proxy before the server. */
void actor_open(struct actor *actor, int ttl_ms, const char *name);
void actor_open_at(struct actor *actor, const char *address, int ttl_ms,
                   const char *name);

/* Begin to wait; return when `waiters` wait in the queue. */
void actor_queue(struct actor *actor, size_t waiters);

void rival_start(struct rival *rival, int ttl_ms, const char *name, struct actor *others,
                 size_t count);
void rival_start_at(struct rival *rival, const char *address, int ttl_ms,
                    const char *name, struct actor *others, size_t count);

/* ---- A row for each store ------------------------------------------------------ */

struct server_kind {
    const char *name, *control; /* HF_..._CTL */

    /* `address` NULL: the server's. */
    void (*write_url)(char *url, size_t size, const char *address, const char *params);
    const char *(*server)(void);
    size_t (*holders)(const char *name);
    size_t (*waiters)(const char *name);
    const char *(*leftovers)(void); /* data that should be gone; NULL: none */
};

extern const struct server_kind server_kind_redis, server_kind_postgres,
    server_kind_mariadb;

#endif
