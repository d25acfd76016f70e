/* peer.h - other sessions: how they are told, how we hear, and how their death is noticed. */
#ifndef HF_SQLITE_PEER_H
#define HF_SQLITE_PEER_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_sq;
struct hf_sq_peer;

/* The session `sid` is told about a ticket, by its seq. */
struct hf_sq_news {
    uint64_t sid;
    uint64_t about;
};

/* ---- fifo.c ------------------------------------------------------------------- */

int  hf_sq_fifo_make(struct hf_sq *sq);
void hf_sq_fifo_close(struct hf_sq *sq);
void hf_sq_fifo_drain(struct hf_sq *sq);

/* Has ours still its name? */
bool hf_sq_fifo_is_named(const struct hf_sq *sq);

/* Open another session's for writing; -1 if it is dead.  Put 8 bytes in one; SIGPIPE: it is. */
int  hf_sq_fifo_open(struct hf_sq *sq, uint64_t sid);
void hf_sq_fifo_write(int fd, uint64_t about);

/* False: nobody reads it, or it is gone. */
bool hf_sq_fifo_is_read(struct hf_sq *sq, uint64_t sid);

/* End another's session, behind the gate: its FIFO loses its name, and it is told. */
int hf_sq_fifo_end(struct hf_sq *sq, uint64_t sid);

/* Remove what dead sessions left, or only count it.  Returns how many there were, of `all`. */
size_t hf_sq_fifo_clean(struct hf_sq *sq, bool only_count, size_t *all);

/* ---- peer.c ------------------------------------------------------------------- */

/* Note that somebody is to be told; tell_all(), which commit() calls, does it. */
int  hf_sq_tell(struct hf_sq *sq, uint64_t sid, uint64_t about);
void hf_sq_tell_all(struct hf_sq *sq);

/* Notice the death of a session, for as long as a watch waits for it. */
int     hf_sq_peer_need(struct hf_sq *sq, uint64_t sid);
void    hf_sq_peer_gone(struct hf_sq *sq, uint64_t sid); /* its FIFO said so */
void    hf_sq_peers_check(struct hf_sq *sq);
hf_time hf_sq_peers_wake(const struct hf_sq *sq);
void    hf_sq_peers_close(struct hf_sq *sq);

#endif
