/* past.h - what happened in the store: HISTORY, and writing it down.
 *
 * It is kept only if somebody wanted that: `kept` in the head of PATH-live tells.  Then whoever
 * changes a line writes a record in the same transaction.
 */
#ifndef HF_SQLITE_PAST_H
#define HF_SQLITE_PAST_H

#include <stdint.h>

#define HF_SQ_KEPT_MAX 100000

struct hf_config;
struct hf_req;
struct hf_sq;

/* ---- past.c: inside a transaction ----------------------------------------------- */

/* Something happens to a ticket, HF_PAST_...; call it while the row is there.  What an end or
 * a beginning means for one that is not granted is found out here. */
int hf_sq_record(struct hf_sq *sq, const char *line, uint64_t seq, char what,
                 const char *reason);

/* All tickets of a session are lost. */
int hf_sq_record_loss(struct hf_sq *sq, uint64_t sid);

/* A ticket is about to go.  If those ahead of it are dead, it may be a holder without that
 * being written down: that is done first. */
int hf_sq_settle(struct hf_sq *sq, const char *line, uint64_t seq);

/* ---- history.c ------------------------------------------------------------------ */

int hf_sq_history(struct hf_sq *sq, struct hf_req *req);

/* ?history=N of the URL, into sq->keep; and into the store, when it is open. */
int hf_sq_history_read(struct hf_sq *sq, const struct hf_config *config);
int hf_sq_history_set(struct hf_sq *sq);

#endif
