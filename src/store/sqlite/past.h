/* past.h - what happened in the store: HISTORY, and writing it down.
 *
 * It is kept only if somebody wanted that, by ?history=N.  Then whoever changes a line makes
 * records, and writes them when he commits.  They stand in PATH-live, the last ones right
 * behind the head: there they cost no more than the head that is written anyway, where a row
 * of the database would cost some pages of its log.  When they are too many to stand there,
 * they are moved to a ring of bytes.
 *
 *      0      96                      4096                                  4096 + size
 *     | head | records 43 44 45 |    | ... record 42 |   record 17 | ... |
 *                                                     ^
 *                                                     end % size
 *
 * A record ends with its length, so they are found from the last one backwards.  Each has its
 * number and a check: what was overwritten or torn is seen, and is the end of what is kept.
 */
#ifndef HF_SQLITE_PAST_H
#define HF_SQLITE_PAST_H

#include "store/sqlite/live.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HF_SQ_RECORD \
    512 /* bytes for each on the average; if they are longer, fewer are kept */

struct hf_config;
struct hf_past;
struct hf_req;
struct hf_sq;
struct hf_sq_own;
struct hf_sq_row;

struct hf_sq_records {
    char  *bytes; /* those of this transaction, but for their numbers */
    size_t size, room;
    bool   is_read;                        /* what follows is what is there */
    _Alignas(8) char recent[HF_SQ_RECENT]; /* those right behind the head */
};

/* ---- past.c: inside a transaction ----------------------------------------------- */

/* Something happens to a ticket, HF_PAST_...; call it while the row is there.  What an end
 * means for one that is not granted is found out here. */
int hf_sq_record(struct hf_sq *sq, const char *line, uint64_t seq, char what,
                 const char *reason);

/* A ticket is new; a ticket of ours is given up. */
int hf_sq_record_leave(struct hf_sq *sq, const struct hf_sq_own *own);
int hf_sq_record_new(struct hf_sq *sq, const char *line, const struct hf_sq_row *row,
                     const char *note);

/* All tickets of a session are lost. */
int hf_sq_record_loss(struct hf_sq *sq, uint64_t sid);

/* A ticket is about to go.  If those ahead of it are dead, it may be a holder without that
 * being written down: that is done first. */
int hf_sq_settle(struct hf_sq *sq, const char *line, uint64_t seq);

/* ---- ring.c --------------------------------------------------------------------- */

/* Add one to sq->records. */
int hf_sq_records_add(struct hf_sq *sq, const struct hf_past *past);

/* Add them to those right behind the head, and count them in sq->head; both are written
 * next.  Before, those that are there may have to be moved.  False: there are none, or there
 * is no room on the disk; that keeps nobody from a lock. */
void hf_sq_records_make_room(struct hf_sq *sq);
bool hf_sq_records_take(struct hf_sq *sq);

/* Behind the gate: read what is right behind the head. */
bool hf_sq_records_load(struct hf_sq *sq);

/* Then, with or without it: those of a line, or of all, with numbers above `after`, into
 * sq->past, oldest first. */
int hf_sq_ring_read(struct hf_sq *sq, const char *line, uint64_t after, size_t *count);

/* Have a ring for `keep` records, with the last of those that there are; behind the gate. */
int hf_sq_ring_resize(struct hf_sq *sq, uint64_t keep);

/* ---- history.c ------------------------------------------------------------------ */

int hf_sq_history(struct hf_sq *sq, struct hf_req *req);

/* ?history=N of the URL, into sq->keep; and into the store, when it is open. */
int hf_sq_history_read(struct hf_sq *sq, const struct hf_config *config);
int hf_sq_history_set(struct hf_sq *sq);

#endif
