/* witness.h - what the tests of the Redis store see and do past the store.
 *
 * A witness asks the server itself, with code that is not Holdfast's: what it sees is what
 * is there.
 */
#ifndef HF_TEST_REDIS_WITNESS_H
#define HF_TEST_REDIS_WITNESS_H

#include <stddef.h>

/* The server under test, from HF_REDIS_ADDRESS.  Skips the whole program if there is none,
 * or no store for it. */
const char *witness_server(void);

/* Another one: "REPLICA", "SENTINELS". */
const char *witness_other(const char *which);

/* The namespace that is looked at and that actors use: "holdfast" at first. */
void        witness_use(const char *prefix);
const char *witness_prefix(void);

/* Ask server 1, or the nth, a command as it is typed: words, "quoted" where need be.
 * Returns what it answers, as it was sent, until the next call. */
const char *witness_ask(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *witness_ask_of(int nth, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same where the answer is a number, and where it must be OK. */
long witness_number(const char *format, ...) __attribute__((format(printf, 1, 2)));
void witness_do(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How many hold and wait for a name; until so many do, 10 s at most. */
size_t witness_holders(const char *name);
size_t witness_waiters(const char *name);
void   witness_await(const char *name, size_t holders, size_t waiters);

/* How often a command was called, by anybody, scripts too. */
long witness_calls(const char *command);

/* Nobody is there any more: no place, line or watch may be left.  (A session may, if its
 * owner could not say that it leaves; somebody will find that it has ended.) */
void witness_empty(void);

/* How many sessions there are, those included that have ended and nobody found out. */
long witness_sessions(void);

/* Wait until the server has run so long that it can be seen to be new. */
void witness_settle(int ttl_ms);

/* Tell whoever started the servers to do something; the test fails if he cannot. */
const char *witness_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
