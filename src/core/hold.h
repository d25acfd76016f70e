/* hold.h - one wish for one lock, from wanting it to having left.
 *
 * Pure: no I/O, no clock, no allocation.  A hold is told what happened and
 * says which request should be in flight now.  Its driver makes it so:
 *
 *     hf_hold_step(hold, &event);
 *     need = hf_hold_needs(hold);        HF_NOTHING when it is at rest
 *
 *             refused, gone, woken (no place taken)
 *                 +---------------------+
 *                 v                     |
 *     IDLE --> ENTERING --line----> WAITING <--line-- LOOKING
 *      ^  want  |   |                   |               ^ |
 *      |        |   | fits              +----woken------+ | fits
 *      |  drop  |   v                                     |
 *    left       |  HELD <---------------------------------+
 *      |        v   |  \
 *     LEAVING <-----+   +--gone, expired--> LOST --drop--> LEAVING or IDLE
 *
 *     state     request        moves on by
 *     IDLE      none           WANT
 *     ENTERING  ENTER          LINE (granted, not yet, refused), FAILED, DROP
 *     WAITING   WATCH ahead    WOKEN, FAILED, DROP
 *     LOOKING   READ           LINE, FAILED, DROP
 *     HELD      WATCH own      DROP, GONE, EXPIRED
 *        in doubt READ         LINE (still there, or LOST)
 *        to lessen AMEND       LINE (of the new shape, or LOST)
 *     LEAVING   LEAVE          LEFT
 *     LOST      none           DROP
 *
 * GONE, the death of the session, may come in any state.
 *
 * A lost connection is not an event.  The request in flight fails with
 * HF_EDOWN, the state is what it was, and so the same request is wanted again
 * when the link is up.
 */
#ifndef HF_HOLD_H
#define HF_HOLD_H

#include "core/line.h"

/* What is asked of a store; see store/store.h. */
enum hf_op {
    HF_NOTHING,
    HF_ENTER,
    HF_READ,
    HF_WATCH,
    HF_LEAVE,
    HF_LIST,
    HF_BREAK,
    HF_AMEND,
    HF_ASK,
    HF_PROVE,
    HF_EXAMINE,
    HF_SURVEY,
    HF_HISTORY,
};

enum hf_hold_state {
    HF_HOLD_IDLE,
    HF_HOLD_ENTERING,
    HF_HOLD_WAITING,
    HF_HOLD_LOOKING,
    HF_HOLD_HELD,
    HF_HOLD_LEAVING,
    HF_HOLD_LOST,
};

enum hf_happening {
    HF_WANT,    /* the caller wants the lock */
    HF_LINE,    /* ENTER or READ answered */
    HF_WOKEN,   /* WATCH completed */
    HF_FAILED,  /* the request in flight failed: `why` */
    HF_DROP,    /* release, timeout or cancel: `why`, 0 for a release */
    HF_LEFT,    /* LEAVE answered: `why` is HF_ELOST if it was no longer ours */
    HF_GONE,    /* the session died, and its tickets with it */
    HF_EXPIRED, /* the deadline passed: we may hold no longer */
    HF_LESSEN,  /* the caller wants to hold less: `shape` */
};

struct hf_event {
    enum hf_happening what;
    struct hf_line    line;  /* LINE */
    size_t            me;    /* LINE: our index; line.count when we are not in it */
    bool              once;  /* WANT: do not wait */
    struct hf_shape   shape; /* LESSEN */
    int               why;   /* FAILED, DROP, LEFT */
};

#define HF_WATCH_MAX 32

struct hf_hold {
    enum hf_hold_state state;
    struct hf_shape    shape;
    uint64_t          *ids;    /* the session's counter of ids given out; lent */
    uint64_t           id;     /* changes with every place taken */
    bool               once;   /* a try: refused means done */
    bool               doubt;  /* HELD: the own ticket may be gone, look */
    bool               away;   /* LOST: our ticket is known to be gone */
    bool               lessen; /* HELD: to be amended to `lesser` */
    bool               follow; /* while waiting, look at every change of the line */
    struct hf_shape    lesser;
    uint64_t           seq;
    uint64_t           token; /* 0 unless held */
    int                slot;  /* -1 unless held */
    int                why;   /* why it ended: 0, HF_ETIMEOUT, HF_ELOST... */
    uint64_t           watch[HF_WATCH_MAX];
    size_t             count; /* 0 while waiting: any change */
};

void hf_hold_init(struct hf_hold *hold, const struct hf_shape *shape, uint64_t *ids);

void       hf_hold_step(struct hf_hold *hold, const struct hf_event *event);
enum hf_op hf_hold_needs(const struct hf_hold *hold);

/* What the ticket weighs now, or should as soon as it is amended. */
const struct hf_shape *hf_hold_shape(const struct hf_hold *hold);

/* May ENTER take a place only if that is granted at once? */
bool hf_hold_only_free(const struct hf_hold *hold);

/* Is it settled, as far as the caller is concerned: not on its way anywhere? */
bool hf_hold_at_rest(const struct hf_hold *hold);

#endif
