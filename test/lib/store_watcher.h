/* store_watcher.h - the last report of a store watch, for tests.
 *
 *     store_watcher_start(&seen, client, prefix);    returns after the first round
 *     store_watcher_await(&seen, name, 1, 0);        one holder, no waiter
 *     store_watcher_stop(&seen);
 */
#ifndef HF_TEST_STORE_WATCHER_H
#define HF_TEST_STORE_WATCHER_H

#include "holdfast.h"

#include <pthread.h>

#define STORE_WATCHER_LINES 8

struct store_watcher {
    struct hf_store_watch *watch;
    pthread_mutex_t        mutex;
    const char            *prefix; /* of the names to keep */
    char                   name[STORE_WATCHER_LINES][64];
    size_t                 held[STORE_WATCHER_LINES], waiting[STORE_WATCHER_LINES];
    unsigned               told[STORE_WATCHER_LINES]; /* reports of it */
    size_t                 count;
    unsigned               looks;
};

void store_watcher_start(struct store_watcher *seen, struct hf_client *client,
                         const char *prefix);
void store_watcher_stop(struct store_watcher *seen);

/* Was that its last report?  A lock without a report has neither. */
bool store_watcher_sees(struct store_watcher *seen, const char *name, size_t held,
                        size_t waiting);

/* Wait until it is, 20 s at most. */
void store_watcher_await(struct store_watcher *seen, const char *name, size_t held,
                         size_t waiting);

#endif
