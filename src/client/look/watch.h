/* watch.h - following one lock, or all locks of a store, without blocking.
 *
 * Callbacks are queued like all others: see client/callback.h.
 */
#ifndef HF_WATCH_H
#define HF_WATCH_H

#include "client/client.h"

/* ---- Lock watch --------------------------------------------------------------------
 *
 *     LIST -> on_report -> WATCH -> LIST -> on_report, if it differs...
 */

struct hf_lock_watch {
    struct hf_query   query; /* first; belongs to the thread that turns the engine */
    struct hf_client *client;
    char             *name;
    struct hf_report *seen; /* the last report; belongs to that thread, too */

    /* `report` is lent for the call. */
    void (*on_report)(struct hf_lock_watch *watch, const struct hf_report *report);
    void *data;

    bool                  started, stopped; /* with the mutex */
    bool                  in_pending;
    struct hf_lock_watch *next;
};

/* With the mutex held.  After stop() no callback is called any more, except one that is
 * already running; the watch frees itself. */
int  hf_lock_watch_start(struct hf_client *client, const char *name,
                         void (*on_report)(struct hf_lock_watch   *watch,
                                          const struct hf_report *report),
                         void *data, struct hf_lock_watch **ret);
void hf_lock_watch_stop(struct hf_lock_watch *watch);

/* Hand those that start or stop to the engine, with the mutex held. */
void hf_lock_watches_collect(struct hf_client *client);

/* When the store is closed: free those that are left. */
void hf_lock_watches_drop(struct hf_client *client);

/* ---- Store watch: hf_store_watch_new() in holdfast.h ---------------------------------
 *
 *                      all changed, or too many
 *                +-----------------------------------+
 *                |                                   v
 *     --> WATCH_STORE --> LIST each that changed   LIST all
 *            ^            (a few at a time)          |
 *            |                 |                     |
 *            +----- pause -----+---------------------+
 *                         end of a round
 *
 * The first WATCH_STORE answers at once, and comes before the first LIST, so that no
 * change between the two is missed.  If this client had a store watch before, the store
 * may still remember what that one saw, and would not answer: then LIST comes first.  A
 * store that cannot do WATCH_STORE is listed once a second.
 */

/* Start new ones, stop those that are freed; with the mutex held. */
void hf_store_watches_collect(struct hf_client *client);

/* When the store is closed: free those that are left. */
void hf_store_watches_drop(struct hf_client *client);

struct hf_client *hf_store_watch_client(const struct hf_store_watch *watch);

/* Call on_queue, or on_round if `line` is NULL.  The report becomes the user's. */
void hf_store_watch_call(struct hf_store_watch *watch, const char *name,
                         struct hf_report *line);

/* ---- The lines that a store watch has seen ---------------------------------------- */

#define HF_SEEN_BUCKETS 1024

struct hf_last_seen {
    struct hf_seen_line *lines[HF_SEEN_BUCKETS];
    uint64_t             round; /* listings of all lines so far */

    /* Called for a line that differs.  Takes the report over, unless it fails. */
    int (*on_differs)(const char *name, struct hf_report *report, void *data);
    void *data;
};

void hf_last_seen_finish(struct hf_last_seen *seen);

/* Compare and remember one line.  Takes the report over. */
int hf_last_seen_update(struct hf_last_seen *seen, const char *name,
                        struct hf_report *report);

/* The same with the places of all lines, sorted by name: lines that are not among them
 * are empty. */
int hf_last_seen_update_all(struct hf_last_seen *seen, const struct hf_line *all,
                            uint64_t stamp);

#endif
