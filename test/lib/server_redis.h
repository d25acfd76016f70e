/* server_redis.h - a Redis server under test: see server.h. */
#ifndef HF_TEST_SERVER_REDIS_H
#define HF_TEST_SERVER_REDIS_H

#include "lib/server.h"

/* The address of another server: "REPLICA", "SENTINELS".  Skips the whole program if
 * there is none. */
const char *redis_other(const char *which);

/* The namespace to read, which actors use, too: "holdfast" at first. */
void redis_use(const char *prefix);

/* Send a command to server 1, or to the nth, as one types it: words, "quoted" where need
 * be.  Returns the raw answer, until the next call. */
const char *redis_ask(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *redis_ask_of(int nth, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same where the answer is a number, and where it must be OK. */
long redis_number(const char *format, ...) __attribute__((format(printf, 1, 2)));
void redis_do(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How often a command was called, by clients and scripts. */
long redis_calls(const char *command);

/* How many sessions there are, expired ones that nobody has swept included. */
long redis_sessions(void);

/* Wait until the server has run long enough to tell a restart by its age. */
void redis_settle(int ttl_ms);

#endif
