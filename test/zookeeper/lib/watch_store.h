/* watch_store.h - a player that sends WATCH_STORE. */
#ifndef HF_TEST_ZK_WATCH_STORE_H
#define HF_TEST_ZK_WATCH_STORE_H

#include "lib/promise.h"

#define LIMIT_MS      20000
#define WATCHER_NAMES 300

/* A player, and the last answer to its WATCH_STORE. */
struct watcher {
    struct player player;
    struct hf_req req;
    unsigned      answers;
    char          name[WATCHER_NAMES][64];
    size_t        count;
};

/* Open it at this URL, and let it send its first WATCH_STORE and a LIST. */
void watcher_open(struct watcher *watcher, const char *url);

/* Send a WATCH_STORE; is it answered within `ms`?  Cancel it; send it and wait for the
 * answer. */
void watcher_start(struct watcher *watcher);
bool watcher_await(struct watcher *watcher, int ms);
void watcher_cancel(struct watcher *watcher);
void watcher_look(struct watcher *watcher);

/* These lines are reported, by one answer or several, perhaps with earlier ones. */
void watcher_assert_told(struct watcher *watcher, const char *names);

#endif
