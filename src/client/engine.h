/* engine.h - one session and the locks wanted in it, without threads or a clock.
 *
 * An engine connects holds to a store: it sends the request that each hold needs, hands
 * the answers back, and turns times into events.  It never waits: a thread that has
 * something to do calls hf_engine_turn() (see drive/drive.h).
 *
 * Happy path: hf_job_want() -> ENTER -> granted -> on_change(HELD) -> WATCH on
 * our own place -> hf_job_drop() -> LEAVE -> on_change(IDLE).
 *
 * Failures: a request that fails is sent again, after a pause, as long as the
 * hold needs it; while the link is down nothing is sent; when the session dies, or its
 * deadline passes, every lock that was held is lost.
 */
#ifndef HF_ENGINE_H
#define HF_ENGINE_H

#include "core/hold.h"
#include "core/retry.h"
#include "holdfast.h"
#include "store/store.h"

/* How long a caller that asks only once waits for an unreachable store. */
#define HF_ABSENCE (1 * HF_SEC)

struct hf_engine {
    struct hf_store *store; /* lent; must outlive the engine */
    uint64_t         ids;   /* given out so far */
    uint64_t         seed;
    hf_time          now;     /* of the current turn */
    hf_time          soonest; /* no timer of any job or query is before this */
    struct hf_job   *jobs;    /* in the order in which they were wanted */
    struct hf_job  **last_job;
    struct hf_job   *dirty; /* jobs whose request in flight may not be the one needed */
    struct hf_job  **last_dirty;
    struct hf_query *queries;
    unsigned         losses;   /* sessions that died */
    unsigned         connects; /* times that the store was reached */

    /* To measure how long the store takes to answer.  NULL: do not measure. */
    hf_time (*clock)(void);
    struct hf_histogram round_trip;

    /* Called from turn() when the link comes up, before any request is sent. */
    void (*on_up)(void *data);
    void *on_up_data;
};

/* A hold, and the one request it has in flight. */
struct hf_job {
    struct hf_hold     hold;
    struct hf_engine  *engine;
    const char        *name;         /* lent as long as the job exists */
    const char        *note;         /* lent while not idle */
    hf_time            deadline;     /* of the wait */
    hf_time            again;        /* send nothing before: pause after a failure */
    hf_time            absent_since; /* see hf_engine_store_absent() */
    struct hf_retry    retry;
    struct hf_req      req;
    bool               flying;    /* the store has req */
    bool               canceling; /* and was asked to cancel it */
    bool               is_dirty;
    uint64_t           entered; /* id of the last ENTER that was submitted */
    uint32_t           limit;   /* of waiters; see struct hf_req */
    uint64_t           group;   /* entered together with others; see struct hf_req */
    bool               follow;  /* report every change of `ahead`; see struct hf_req */
    struct hf_standing known;   /* how our place stands, by the last answer */
    unsigned           asks;    /* how often somebody asked for it while we held it */
    char               ask[HF_ERRMSG_MAX];    /* the last reason */
    char               errmsg[HF_ERRMSG_MAX]; /* of the last failure */
    int                failure;               /* its code; 0 after an answer */

    /* Called from turn(), want(), drop() and downgrade() after every change of
     * hold.state, `known.ahead` and `asks`, after a downgrade, and when the store has
     * completed the last request of an idle job. */
    void (*on_change)(struct hf_job *job);

    struct hf_job *next, **prev, *next_dirty;
};

/* A request that belongs to no hold: LIST, BREAK, a WATCH by an outsider.  Like a job
 * it lives in the engine, and on_done() runs in the thread that turns it.  A caller
 * that wants to block until the answer is there uses struct hf_sync_query, which embeds
 * one of these. */
struct hf_query {
    struct hf_req     req; /* op and arguments set by the caller */
    struct hf_engine *engine;
    hf_time           after; /* do not send it before */
    hf_time           deadline;
    bool              once;         /* do not wait for an unreachable store */
    hf_time           absent_since; /* see hf_engine_store_absent() */
    bool              flying;
    bool              over; /* timed out or stopped: waits only for its done() */

    /* Called once, from turn(), with the result in req.status, HF_ETIMEOUT and HF_EDOWN
     * included.  From then on the query is the caller's again. */
    void (*on_done)(struct hf_query *query);

    struct hf_query *next;
};

void hf_engine_init(struct hf_engine *engine, struct hf_store *store, uint64_t seed);

/* Process the store, let timers fire, send the requests that are needed, until nothing
 * more can be done without waiting. */
void hf_engine_turn(struct hf_engine *engine, hf_time now, bool readable);

/* When turn() must be called at the latest. */
hf_time hf_engine_wake(const struct hf_engine *engine);

/* `job` is the caller's memory; set name, on_change and note itself. */
void hf_job_init(struct hf_job *job, struct hf_engine *engine, const char *name,
                 const struct hf_shape *shape);

/* Only when hf_job_quiet(): idle, and no request is in flight. */
void hf_job_finish(struct hf_job *job);
bool hf_job_quiet(const struct hf_job *job);

/* Acquire the lock until `deadline`; `once`: do not queue.  Only when idle. */
void hf_job_want(struct hf_job *job, bool once, hf_time deadline);

/* Give it up, for the reason `why` (0: it is released). */
void hf_job_drop(struct hf_job *job, int why);

/* Hold less from now on.  Only while held. */
void hf_job_downgrade(struct hf_job *job, const struct hf_shape *shape);

/* Start a query; set req, on_done, after, deadline. */
void hf_query_start(struct hf_query *query, struct hf_engine *engine);

/* End it early: on_done() is called, at the latest from the next turn. */
void hf_query_stop(struct hf_query *query);

/* Count something that took that long. */
void hf_histogram_add(struct hf_histogram *histogram, hf_time took);

/* ---- Between engine.c, job.c and query.c ------------------------------------------- */

/* Submit a request; note that one was answered, before anything else. */
void hf_engine_submit(struct hf_engine *engine, struct hf_req *req);
void hf_engine_answered(struct hf_engine *engine, const struct hf_req *req);

/* Should a request that is sent only once be given up?  Yes, if all servers have been
 * absent for HF_ABSENCE: before that they may be starting.  `since` remembers the begin
 * of the absence; it starts as 0.  If not, *next becomes no later than the next time to
 * ask. */
bool hf_engine_store_absent(const struct hf_engine *engine, hf_time *since,
                            hf_time *next);

/* Step the hold and mark the job dirty; calls on_change if its state moved. */
void hf_job_step(struct hf_job *job, const struct hf_event *event);

/* Have it reconciled before the turn is over. */
void hf_job_mark_dirty(struct hf_job *job);

/* Make the request in flight the one that is needed. */
void hf_job_reconcile(struct hf_job *job);

/* Let its timers fire; returns the next one, or HF_NEVER. */
hf_time hf_job_check_time(struct hf_job *job);

/* Send the queries that were not sent yet, if the link is up. */
void hf_queries_send(struct hf_engine *engine);

/* End the queries whose time is over; returns the next deadline, or HF_NEVER. */
hf_time hf_queries_check_time(struct hf_engine *engine);

#endif
