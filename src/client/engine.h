/* engine.h - one session and the wishes in it, without threads or a clock.
 *
 * An engine brings holds and a store together: it sends the request each hold
 * needs, hands the answers back, and turns times into events.  It never waits:
 * whoever drives it calls hf_engine_turn() when there is something to do.
 *
 * Happy path: hf_job_want() -> ENTER -> granted -> on_change(HELD) -> WATCH on
 * the own ticket -> hf_job_drop() -> LEAVE -> on_change(IDLE).
 *
 * Failures: a request that fails is sent again, after a pause, as long as the
 * hold wants it; a link that goes down stops sending until it is up again; a
 * session that dies, or its deadline, ends what is held.
 */
#ifndef HF_ENGINE_H
#define HF_ENGINE_H

#include "core/hold.h"
#include "core/retry.h"
#include "store/store.h"

/* So long a store that is not there may take to be, for who asks once. */
#define HF_ABSENCE (1 * HF_SEC)

struct hf_engine {
    struct hf_store  *store; /* lent; must outlive the engine */
    uint64_t          ids;   /* given out so far */
    uint64_t          seed;
    hf_time           now;     /* of the current turn */
    hf_time           soonest; /* no timer of any job or errand is before this */
    struct hf_job    *jobs;    /* who wished last comes last */
    struct hf_job   **last_job;
    struct hf_job    *dirty; /* those whose request may not be the one needed */
    struct hf_job   **last_dirty;
    struct hf_errand *errands;
    unsigned          losses;   /* sessions that died */
    unsigned          connects; /* times that the store was reached */

    /* How long the store takes to answer.  NULL: that is not measured. */
    hf_time (*clock)(void);
    struct hf_histogram round_trip;

    /* Called from turn() when the link is up, before anything is asked of the store. */
    void (*on_up)(void *data);
    void *on_up_data;
};

/* A hold, and the one request it has in flight. */
struct hf_job {
    struct hf_hold    hold;
    struct hf_engine *engine;
    const char       *name;     /* lent as long as the job is there */
    const char       *note;     /* lent while not idle */
    hf_time           deadline; /* of the wait */
    hf_time           again;    /* nothing is sent before: pause after a failure */
    hf_time           missed;   /* see hf_engine_in_vain() */
    struct hf_retry   retry;
    struct hf_req     req;
    bool              flying;    /* req is the store's */
    bool              canceling; /* and was canceled: only its end is awaited */
    bool              is_dirty;
    uint64_t          entered; /* id of the last ENTER that the store was given */
    uint32_t          limit;   /* of waiters; see struct hf_req */
    uint64_t          group;   /* entered together with others; see there */
    bool              follow;  /* hear how many are ahead while we wait; likewise */
    struct hf_standing
             known; /* how our place stands, as last heard; refused: see there */
    unsigned asks;  /* how often we were asked for it since we hold it */
    char     ask[HF_ERRMSG_MAX];    /* and why */
    char     errmsg[HF_ERRMSG_MAX]; /* about the last failure */
    int      failure;               /* its code, if no answer came since */

    /* Called from turn(), want(), drop() and lessen() after every change of
     * hold.state, of `known.ahead` and `asks`, when a hold was lessened, and when the
     * store has let go of the last request of an idle job. */
    void (*on_change)(struct hf_job *job);

    struct hf_job *next, **prev, *next_dirty;
};

/* A request that belongs to no hold: LIST, BREAK, or a WATCH from outside. */
struct hf_errand {
    struct hf_req     req; /* op and arguments set by the caller */
    struct hf_engine *engine;
    hf_time           after; /* not to be sent before */
    hf_time           deadline;
    bool              once;   /* not for a store that is not there */
    hf_time           missed; /* see hf_engine_in_vain() */
    bool              flying;
    bool              over; /* timed out or called off: only its end is awaited */

    /* Called once, from turn(): req.status tells how it went, HF_ETIMEOUT and
     * HF_EDOWN included.  The errand is the caller's again. */
    void (*on_done)(struct hf_errand *errand);

    struct hf_errand *next;
};

void hf_engine_init(struct hf_engine *engine, struct hf_store *store, uint64_t seed);

/* Process the store, let timers fire, send what is needed, until nothing more
 * can be done without waiting. */
void hf_engine_turn(struct hf_engine *engine, hf_time now, bool readable);

/* Put a request to the store; and hear that it is answered, before all else. */
void hf_engine_submit(struct hf_engine *engine, struct hf_req *req);
void hf_engine_answered(struct hf_engine *engine, const struct hf_req *req);

/* When turn() must be called at the latest. */
hf_time hf_engine_wake(const struct hf_engine *engine);

/* `job` is the caller's memory; set name, on_change and note itself. */
void hf_job_init(struct hf_job *job, struct hf_engine *engine, const char *name,
                 const struct hf_shape *shape);

/* Only when hf_job_quiet(): idle, and the store knows nothing of it. */
void hf_job_finish(struct hf_job *job);
bool hf_job_quiet(const struct hf_job *job);

/* Wish for it until `deadline`; `once`: do not queue.  Only when idle. */
void hf_job_want(struct hf_job *job, bool once, hf_time deadline);

/* Wish for it no longer, for the reason `why` (0: it is released). */
void hf_job_drop(struct hf_job *job, int why);

/* Hold less from now on.  Only while held. */
void hf_job_lessen(struct hf_job *job, const struct hf_shape *shape);

/* Start an errand; set req, on_done, after, deadline. */
void hf_errand_start(struct hf_errand *errand, struct hf_engine *engine);

/* End it early: on_done() comes, at the latest from the next turn. */
void hf_errand_stop(struct hf_errand *errand);

#endif
