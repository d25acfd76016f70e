/* history.h - what happened in the store: keeping entries, HISTORY, and WATCH_STORE.
 *
 * The store keeps the last HF_SQ_KEPT entries, or as many as ?history=N says.  That
 * number is in the header of PATH-live, which every writer reads anyway.  A client that
 * changes a line also adds rows to the table `past`, in the same transaction: both become
 * visible, or neither.
 *
 * WATCH_STORE asks which lines have changed:
 *
 *               log watched                    something changed
 *     OFF --------------------------------> ON ------------------> WATCH_STORE answered
 *      ^    WATCH_STORE answered: all       ^                             |
 *      |                                    +-----------------------------+
 *      +--- canceled; files lost; no WATCH_STORE came for 30 seconds
 *
 * Every change of a line is written to the log, and inotify wakes us then.  The history
 * tells which lines changed.  So other clients need not know of a store watch, and it
 * writes nothing.
 */
#ifndef HF_SQLITE_HISTORY_H
#define HF_SQLITE_HISTORY_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_config;
struct hf_req;
struct hf_sq;

/* ---- history.c, inside a transaction ----------------------------------------- */

/* Add an entry: HF_HISTORY_... to a place.  Call it while the row exists, and after
 * changing it.  For a place that waits, an end is recorded as LEFT. */
int hf_sq_history_add(struct hf_sq *sq, const char *line, uint64_t seq, char what,
                      const char *reason);

/* The same for all places of a session: they are lost. */
int hf_sq_history_add_loss(struct hf_sq *sq, uint64_t sid);

/* ---- history.c, outside ------------------------------------------------------ */

int hf_sq_history(struct hf_sq *sq, struct hf_req *req);

/* Read ?history=N into sq->keep; set that in the store, once it is open. */
int hf_sq_history_read(struct hf_sq *sq, const struct hf_config *config);
int hf_sq_history_set(struct hf_sq *sq);

/* ---- watch_store.c ----------------------------------------------------------- */

struct hf_sq_watch_store {
    bool on;
    bool absent;      /* there was no store when the last WATCH_STORE came */
    bool unknown;     /* something changed, and we do not know what */
    bool unexplained; /* the database was written to, and the history does not say why */
    bool canceled;    /* some WATCH_STORE was, whether it waits or not */
    struct hf_req *req;     /* that waits, or NULL */
    int            inotify; /* -1: not available; then we check once a second */

    hf_time  next_check;   /* in any case */
    int      sweeps;       /* how often to look for dead places yet */
    uint64_t last;         /* the last history entry that was reported */
    unsigned data_version; /* of the database, as last reported */

    const char **answer; /* lent out */
    size_t       answer_room;
};

/* Start a WATCH_STORE.  True: it waits; else it is answered with *status. */
bool hf_sq_watch_store(struct hf_sq *sq, struct hf_req *req, int *status);

/* If one was canceled, stop watching. */
void hf_sq_watch_store_end_canceled(struct hf_sq *sq);

/* The connection is over.  A WATCH_STORE that waits starts over with the next one. */
void hf_sq_watch_store_lost(struct hf_sq *sq);

/* Have hf_sq_log_written() called once when the log is written to from now on.
 * WATCHes use it, too. */
void hf_sq_log_listen(struct hf_sq *sq);
void hf_sq_log_written(struct hf_sq *sq);

/* store_watch.next_check has come: check now. */
void hf_sq_watch_store_run(struct hf_sq *sq);

/* Lines may have changed, and the history does not say so: touch PATH-live, and store
 * watches then report that all lines may have changed. */
void hf_sq_watch_store_touch(const struct hf_sq *sq);

#endif
