/* watch.h - WATCHes that wait: what they wait for, and what wakes them. */
#ifndef HF_SQLITE_WATCH_H
#define HF_SQLITE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_req;
struct hf_sq;
struct hf_sq_own;

/* A place whose end the WATCH waits for, and its session. */
struct hf_sq_tie {
    uint64_t seq;
    uint64_t sid;
};

struct hf_sq_ties {
    struct hf_sq_tie *tie;
    size_t            count, room;
};

/* A WATCH that waits. */
struct hf_sq_watch {
    struct hf_req      *req;  /* NULL: none waits */
    struct hf_sq_own   *own;  /* NULL: the caller has no place in the line */
    struct hf_sq_ties   ties; /* it is retried when one of these places ends */
    struct hf_sq_watch *next, **prev;
};

/* Start a WATCH.  True: it waits; else it is answered with *status. */
bool hf_sq_watch(struct hf_sq *sq, struct hf_req *req, int *status);

/* Start a WATCH without touching a file: the caller holds the lock, knows how its
 * place stands, and was not woken since.  False: hf_sq_watch() is needed. */
bool hf_sq_watch_idle(struct hf_sq *sq, struct hf_req *req);

/* End a canceled WATCH if it waits; end all; answer the WATCH of a place that is gone. */
bool hf_sq_watch_cancel(struct hf_sq *sq, struct hf_req *req);
void hf_sq_watches_drop(struct hf_sq *sq);
void hf_sq_watch_gone(struct hf_sq *sq, struct hf_sq_own *own);

/* A wake-up about our place `seq` came; 0: about any of them.  HF_SQ_ENDED, which no
 * place has: our session was ended by its session key. */
#define HF_SQ_ENDED ((uint64_t)INT64_MAX)
void hf_sq_woken(struct hf_sq *sq, uint64_t seq);

/* The log was written to, or sq->line_check has come: retry WATCHes of whole lines.
 * False: there are none. */
bool hf_sq_watches_recheck(struct hf_sq *sq);

/* The session `sid` may have died or lost a place: retry the WATCHes that waited for
 * that.  True if any still waits for it. */
bool hf_sq_watches_check(struct hf_sq *sq, uint64_t sid);

#endif
