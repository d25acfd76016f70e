/* hold.h - one lock that somebody wants, from wanting it to having left.
 *
 * Pure: no I/O, no clock, no allocation.  A hold gets events and says which request
 * should be in flight now.  The engine makes it so:
 *
 *     hf_hold_step(hold, &event);
 *     need = hf_hold_needs(hold);        HF_NOTHING when it is at rest
 *
 *               gone, NONE
 *            +----------------+
 *            v                |
 *     IDLE --> ENTERING --WAITS--> WAITING
 *      ^ want |  |  ^ |               |
 *      |      |  |  | +--busy--> OUTSIDE (a claim)
 *      |      |  |  +--changed----+   |
 *      | drop |  | HOLDS              | HOLDS
 *     left    |  +---> HELD <---------+
 *      |      v        |  \
 *     LEAVING <--drop--+   +--NONE, gone, expired--> LOST --drop--> LEAVING or IDLE
 *
 *     state     request            moves on by
 *     IDLE      none               WANT
 *     ENTERING  ENTER              STANDING, FAILED (HF_EBUSY: refused), DROP
 *     WAITING   WATCH, own place   STANDING, FAILED, DROP
 *     OUTSIDE   WATCH, the line    CHANGED, FAILED, DROP (there is no place to leave)
 *     HELD      WATCH, own place   STANDING, DROP, GONE, EXPIRED
 *       downgrade DOWNGRADE        STANDING (of the new weight, or LOST)
 *     LEAVING   LEAVE              LEFT
 *     LOST      none               DROP
 *
 * GONE, the death of the session, may come in any state.
 *
 * A lost connection is not an event.  The request in flight fails with
 * HF_EDOWN, the state stays the same, and so the same request is needed again
 * when the link is up.
 */
#ifndef HF_HOLD_H
#define HF_HOLD_H

#include "core/line.h"

/* The verbs of a store; see store/store.h. */
enum hf_op {
    HF_NOTHING,
    HF_ENTER,
    HF_WATCH,
    HF_LEAVE,
    HF_LIST,
    HF_BREAK,
    HF_DOWNGRADE,
    HF_ASK,
    HF_VERIFY,
    HF_DIAGNOSE,
    HF_WATCH_STORE,
    HF_HISTORY,
};

/* The standing of a place, by the answer of the store. */
enum hf_stand {
    HF_STAND_UNKNOWN, /* only in a WATCH: the caller knows nothing */
    HF_STAND_NONE,    /* the place does not exist (any more) */
    HF_STAND_WAITS,
    HF_STAND_HOLDS,
};

struct hf_standing {
    enum hf_stand state;
    uint64_t      token;  /* WAITS, HOLDS: never 0 */
    uint32_t      weight; /* WAITS, HOLDS: its present weight */
    int           slot;   /* HOLDS, of a semaphore: 0 .. capacity-1; else -1 */
    uint64_t      ahead;  /* WAITS: places ahead, holders included; else 0 */
    const char   *asked;  /* HOLDS: why somebody asks for it, or NULL; lent */
};

enum hf_hold_state {
    HF_HOLD_IDLE,
    HF_HOLD_ENTERING,
    HF_HOLD_WAITING,
    HF_HOLD_OUTSIDE,
    HF_HOLD_HELD,
    HF_HOLD_LEAVING,
    HF_HOLD_LOST,
};

enum hf_event_kind {
    HF_WANT,      /* the caller wants the lock */
    HF_STANDING,  /* ENTER, DOWNGRADE or WATCH by id was answered: `standing` */
    HF_CHANGED,   /* OUTSIDE: the WATCH of the line completed */
    HF_FAILED,    /* the request in flight failed: `why` */
    HF_DROP,      /* release, timeout or cancel: `why`, 0 for a release */
    HF_LEFT,      /* LEAVE was answered: `why` is HF_ELOST if it was lost before */
    HF_GONE,      /* the session died, and with it its places */
    HF_EXPIRED,   /* the deadline passed: we may hold no longer */
    HF_HOLD_LESS, /* the caller downgrades: `shape` */
};

struct hf_event {
    enum hf_event_kind what;
    struct hf_standing standing; /* STANDING */
    bool               once;     /* WANT: do not wait */
    struct hf_shape    shape;    /* HOLD_LESS */
    int                why;      /* FAILED, DROP, LEFT */
};

struct hf_hold {
    enum hf_hold_state state;
    struct hf_shape    shape;
    uint64_t          *ids;       /* the session's counter of ids given out; lent */
    uint64_t           id;        /* changes with every place taken */
    bool               once;      /* a try: do not queue */
    bool               away;      /* LOST: our place no longer exists */
    bool               downgrade; /* HELD: DOWNGRADE to `lesser` is to be sent */
    struct hf_shape    lesser;
    uint64_t           token; /* 0 unless held */
    int                slot;  /* -1 unless held */
    int                why;   /* why it ended: 0, HF_ETIMEOUT, HF_ELOST... */
};

void hf_hold_init(struct hf_hold *hold, const struct hf_shape *shape, uint64_t *ids);

void       hf_hold_step(struct hf_hold *hold, const struct hf_event *event);
enum hf_op hf_hold_needs(const struct hf_hold *hold);

/* The shape of the place, or the one that it is downgraded to. */
const struct hf_shape *hf_hold_shape(const struct hf_hold *hold);

/* May ENTER take a place only if that is granted at once? */
bool hf_hold_only_free(const struct hf_hold *hold);

#endif
