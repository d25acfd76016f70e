/* line.h - the places of a line: reading and writing their rows, granting, and sweeping.
 *
 * A row is only a note.  A place is alive as long as its liveness lock in PATH-live is
 * held (live.h); the first session that meets a row without one removes it.
 */
#ifndef HF_SQLITE_LINE_H
#define HF_SQLITE_LINE_H

#include "core/line.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_req;
struct hf_sq;
struct hf_sq_own;
struct hf_sq_ties;

struct hf_sq_row {
    uint64_t        seq;
    uint64_t        sid;
    struct hf_shape shape;
    int64_t         queued;
    int64_t         granted; /* 0: not yet */
    int             slot;
    bool            seen_alive; /* its liveness lock was, while we read the line */
};

struct hf_sq_rows {
    struct hf_sq_row *row;
    size_t            count, room;
};

/* The running total of a line; dead places count until somebody meets them.  See
 * place.c. */
struct hf_sq_total {
    bool             open;
    bool             changed; /* and not written yet */
    uint64_t         places, waits, weight;
    struct hf_sq_row last; /* seq is 0 if it is not known, or the line is empty */
};

/* ---- rows.c: reading --------------------------------------------------------- */

void hf_sq_row_read(sqlite3_stmt *query, struct hf_sq_row *ret);
int  hf_sq_rows_add(struct hf_sq *sq, struct hf_sq_rows *rows,
                    const struct hf_sq_row *row);

/* Is the place alive? */
bool hf_sq_is_alive(const struct hf_sq *sq, uint64_t seq);

/* Read the row of one place: 1 if it is there, 0 if not. */
int hf_sq_row_find(struct hf_sq *sq, const char *line, uint64_t seq,
                   struct hf_sq_row *ret);

/* How many places are ahead, dead ones included. */
int hf_sq_count_ahead(struct hf_sq *sq, const char *line, uint64_t seq, uint64_t *ret);

/* Read the line: living places into sq->rows, dead ones into sq->dead; and its stamp. */
int hf_sq_rows_all(struct hf_sq *sq, const char *line, uint64_t *stamp);

/* Does a place of that shape pass those ahead of `before`?  sq->rows then has the
 * living places that decide this, the nearest first; sq->dead has dead ones that were
 * in the way. */
struct hf_sq_view {
    enum hf_verdict verdict;
    bool            one_blocker; /* the last of sq->rows blocks by itself */
};
int hf_sq_judge(struct hf_sq *sq, const char *line, uint64_t before,
                const struct hf_shape *shape, struct hf_sq_view *ret);

/* The error if the place cannot even wait in this line, as it is of another kind; else
 * 0. */
int hf_sq_mismatch(struct hf_sq *sq, const char *line, const struct hf_sq_view *view);

/* Wait for the end of one more place; have `own` wait for its blockers in sq->rows. */
int hf_sq_tie(struct hf_sq *sq, struct hf_sq_ties *ties, const struct hf_sq_row *row);
int hf_sq_tie_blockers(struct hf_sq *sq, struct hf_sq_own *own,
                       const struct hf_sq_view *view);

/* ---- list.c: what LIST and others lend out ----------------------------------- */

struct hf_sq_text {
    struct hf_sq_text *next;
    char               text[];
};

/* Copy a string that an answer lends out.  NULL: no memory. */
const char *hf_sq_keep_text(struct hf_sq *sq, const unsigned char *text);
void        hf_sq_forget_texts(struct hf_sq *sq);

/* hf_req.stamp of a line: start with 0, then add its living places one by one. */
uint64_t hf_sq_stamp(uint64_t stamp, const struct hf_sq_row *row);

/* ---- place.c: writing, inside a transaction ---------------------------------- */

int hf_sq_place_add(struct hf_sq *sq, const struct hf_req *req,
                    const struct hf_sq_row *row);
int hf_sq_place_grant(struct hf_sq *sq, const char *line, const struct hf_sq_row *row);
int hf_sq_place_downgrade(struct hf_sq *sq, const char *line, const struct hf_sq_row *row,
                          uint32_t weight);

/* HF_ECORRUPT, and a message: a row was read, but no statement finds it by its number. */
int hf_sq_place_damaged(struct hf_sq *sq, const char *line);

/* 1 if it was there. */
int hf_sq_place_remove(struct hf_sq *sq, const char *line, uint64_t seq);

/* Read the running total of a line into sq->total; write it if it changed. */
int hf_sq_total_open(struct hf_sq *sq, const char *line);
int hf_sq_total_close(struct hf_sq *sq, const char *line);

/* Remove all places of a session, and grant what fits then. */
int hf_sq_places_remove_all(struct hf_sq *sq, uint64_t sid);

/* ---- grant.c: inside a transaction ------------------------------------------- */

/* The place `seq` was removed, or weighs less now: grant the places that fit, and wake
 * them. */
int hf_sq_fill_room(struct hf_sq *sq, const char *line, uint64_t seq);

/* Remove the places in sq->dead from the line. */
int hf_sq_sweep(struct hf_sq *sq, const char *line);

/* Wake the places behind `seq` that it may have blocked.  Works outside a transaction,
 * too. */
int hf_sq_wake_followers(struct hf_sq *sq, const char *line, uint64_t seq);

/* The lowest slot that none of sq->rows has. */
int hf_sq_free_slot(struct hf_sq *sq, int *ret);

/* ---- sweep.c: inside a transaction, but for the last ------------------------- */

/* 1 if `limit` places or more wait in the line.  Dead ones are removed first. */
int hf_sq_is_full(struct hf_sq *sq, const char *line, uint64_t limit);

/* Remove every dead place of the store. */
int hf_sq_sweep_all(struct hf_sq *sq);

/* Remove the dead places of one line, or of all (NULL), in a transaction of its own,
 * which is begun only if there are any. */
int hf_sq_sweep_now(struct hf_sq *sq, const char *line);

#endif
