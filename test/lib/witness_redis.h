/* witness_redis.h - a Redis server under test, past the store: see witness.h. */
#ifndef HF_TEST_WITNESS_REDIS_H
#define HF_TEST_WITNESS_REDIS_H

#include "lib/witness.h"

/* Another one: "REPLICA", "SENTINELS".  Skips the whole program if there is none. */
const char *redis_other(const char *which);

/* The namespace that is looked at and that actors use: "holdfast" at first. */
void redis_use(const char *prefix);

/* Ask server 1, or the nth, a command as it is typed: words, "quoted" where need be.
 * Returns what it answers, as it was sent, until the next call. */
const char *redis_ask(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *redis_ask_of(int nth, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same where the answer is a number, and where it must be OK. */
long redis_number(const char *format, ...) __attribute__((format(printf, 1, 2)));
void redis_do(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How often a command was called, by anybody, scripts too. */
long redis_calls(const char *command);

/* How many sessions there are, those included that have ended and nobody found out. */
long redis_sessions(void);

/* Wait until the server has run so long that it can be seen to be new. */
void redis_settle(int ttl_ms);

#endif
