/* wake.h - how sessions wake each other, and how they notice that one died. */
#ifndef HF_SQLITE_WAKE_H
#define HF_SQLITE_WAKE_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_sq;
struct hf_sq_peer;

/* The number of an epoll event; larger ones are sessions. */
enum hf_sq_event { HF_SQ_EVENT_FIFO = 1, HF_SQ_EVENT_INOTIFY, HF_SQ_EVENT_WRITTEN };

/* Wake the session `sid`: something happened to its place `seq`. */
struct hf_sq_wakeup {
    uint64_t sid;
    uint64_t seq;
};

/* ---- fifo.c ------------------------------------------------------------------ */

/* Our own FIFO: drain() reads the wake-ups in it; is_named() asks whether it still has
 * its name, which it loses when a session key ends our session. */
int  hf_sq_fifo_make(struct hf_sq *sq);
void hf_sq_fifo_close(struct hf_sq *sq);
void hf_sq_fifo_drain(struct hf_sq *sq);
bool hf_sq_fifo_is_named(const struct hf_sq *sq);

/* Open another session's FIFO for writing; -1 if that session is dead.  Write a
 * wake-up to it, which raises SIGPIPE if the session has died since. */
int  hf_sq_fifo_open(struct hf_sq *sq, uint64_t sid);
void hf_sq_fifo_write(int fd, uint64_t seq);

/* False: no process reads it, or it is gone. */
bool hf_sq_fifo_is_read(struct hf_sq *sq, uint64_t sid);

/* End another session, under the write lock: remove the name of its FIFO, and wake it. */
int hf_sq_fifo_end(struct hf_sq *sq, uint64_t sid);

/* Remove stale FIFOs, which dead sessions left, or only count them.  Returns their
 * number; *all: of all FIFOs. */
size_t hf_sq_fifo_clean(struct hf_sq *sq, bool only_count, size_t *all);

/* ---- peer.c ------------------------------------------------------------------ */

/* Note a wake-up; send() sends all that were noted.  commit() calls it. */
int  hf_sq_wake_add(struct hf_sq *sq, uint64_t sid, uint64_t seq);
void hf_sq_wake_send(struct hf_sq *sq);

/* Notice the death of a session, for as long as a WATCH waits for it. */
int     hf_sq_peer_watch(struct hf_sq *sq, uint64_t sid);
void    hf_sq_peer_gone(struct hf_sq *sq,
                        uint64_t      sid); /* its FIFO has no reader any more */
void    hf_sq_peers_check(struct hf_sq *sq);
hf_time hf_sq_peers_next_check(const struct hf_sq *sq);
void    hf_sq_peers_close(struct hf_sq *sq);

#endif
