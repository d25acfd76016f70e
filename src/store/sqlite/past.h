/* past.h - what happened in the store: writing it down, and HISTORY.
 *
 * The last HF_SQ_KEPT are, or as many as somebody wanted by ?history=N.  The head of PATH-live has
 * that number, which every writer reads anyway.  A client that changes a line then also adds rows to the table
 * `past`, in the same transaction: either both are seen, or neither.
 */
#ifndef HF_SQLITE_PAST_H
#define HF_SQLITE_PAST_H

#include <stddef.h>
#include <stdint.h>

struct hf_config;
struct hf_req;
struct hf_sq;

/* ---- Inside a transaction ------------------------------------------------------- */

/* Something happens to a ticket, HF_PAST_...; call it while the row is there, and after a
 * change of it.  What an end means for one that is not granted is found out here. */
int hf_sq_record(struct hf_sq *sq, const char *line, uint64_t seq, char what,
                 const char *reason);

/* All tickets of a session are lost. */
int hf_sq_record_loss(struct hf_sq *sq, uint64_t sid);

/* ---- HISTORY -------------------------------------------------------------------- */

int hf_sq_history(struct hf_sq *sq, struct hf_req *req);

/* ?history=N of the URL, into sq->keep; and into the store, when it is open. */
int hf_sq_history_read(struct hf_sq *sq, const struct hf_config *config);
int hf_sq_history_set(struct hf_sq *sq);

#endif
