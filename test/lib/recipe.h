/* recipe.h - helps tests that use the library as its users do.
 *
 * Each program runs on any store: its URL is argv[1] or $HF_TEST_URL.  Every test has
 * lock names of its own, so that tests do not disturb each other in one store.
 */
#ifndef HF_TEST_RECIPE_H
#define HF_TEST_RECIPE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast.h"

/* For calls that must succeed, also on a busy machine; the first one waits for the
 * connection. */
#define RECIPE_LIMIT_MS 20000

/* Take the store's URL from the command line; call first in main(). */
void recipe_init(int argc, char **argv);

const char *recipe_url(void);

/* Clients on the store under test; the test fails if that fails. */
struct hf_client *recipe_open(void);
struct hf_client *recipe_open_with(const struct hf_options *options);

/* A new name, valid until the fourth call after. */
const char *recipe_name(void);

/* A lock in `client`. */
struct hf_lock *recipe_mutex(struct hf_client *client, const char *name);
struct hf_lock *recipe_reader(struct hf_client *client, const char *name);
struct hf_lock *recipe_writer(struct hf_client *client, const char *name);

/* Milliseconds on a clock that only goes forward. */
int64_t recipe_ms(void);

/* Wait until hf_state(lock) is `state`, 10 s at most. */
void recipe_await(struct hf_lock *lock, enum hf_state state);

/* Wait until `count` places are in the queue of `name`, 10 s at most. */
void recipe_await_line(struct hf_client *client, const char *name, size_t count);

/* The finding of that name; there must be one. */
const struct hf_finding *recipe_finding(const struct hf_findings *findings,
                                        const char               *about);

/* The counts of all buckets. */
uint64_t recipe_sum(const struct hf_histogram *histogram);

#endif
