/* own.h - one of our own places in a ZooKeeper line.
 *
 * Where its node is, as far as we know:
 *
 *     from      to        when
 *     NOWHERE   THERE     it was created
 *               UNSURE    the answer to its create was lost
 *               TAKEN     a DOWNGRADE, or a LEAVE of a lock that was broken, could not
 *                         find it again
 *     UNSURE    THERE     recover.c found it; or the DOWNGRADE was answered
 *               NOWHERE   recover.c did not find it
 *               TAKEN     recover.c found it, and then it was gone
 *     THERE     TAKEN     somebody else deleted it
 *               UNSURE    a DOWNGRADE is sent; the answer to a LEAVE, or about its slot,
 *                         was lost
 */
#ifndef HF_ZK_OWN_H
#define HF_ZK_OWN_H

#include "store/zookeeper/line/line.h"

struct hf_req;

enum hf_zk_where {
    HF_ZK_NOWHERE, /* not created yet */
    HF_ZK_UNSURE,  /* we sent something that may have changed it, and have no answer */
    HF_ZK_THERE,
    HF_ZK_TAKEN, /* was there; somebody deleted it */
};

/* ---- Timers ------------------------------------------------------------------------- */

/* Something to do for a place a little later.  All timers in one list have the same
 * delay, so the first is due first. */
struct hf_zk_timer {
    struct hf_zk_own    *own;
    struct hf_zk_timers *list; /* NULL: it does not run */
    hf_time              at;
    struct hf_zk_timer  *next, **prev;
};

struct hf_zk_timers {
    struct hf_zk_timer *first, **last;
};

/* Start it, unless it runs; stop it, if it does. */
void hf_zk_timer_start(struct hf_zk_timers *list, struct hf_zk_timer *timer, hf_time at);
void hf_zk_timer_stop(struct hf_zk_timer *timer);
/* Stop and return the first timer that is due; NULL: none is. */
struct hf_zk_timer *hf_zk_timer_take(struct hf_zk_timers *list, hf_time now);
hf_time             hf_zk_timers_wake(const struct hf_zk_timers *list);

/* ---- Companions: companion.c -------------------------------------------------------- */

/* The node slot-N or `claim` that belongs to a place. */
struct hf_zk_companion {
    struct hf_zk_call       call;
    struct hf_zk_companion *next;  /* in zk->orphans */
    enum hf_zk_where        where; /* UNSURE: it was sent, and not answered */
    int                     slot;  /* the number N; -1: `claim` */
    char                    uuid[HF_ZK_UUID + 1]; /* its data: that of the place */
    size_t                  room;
    char                    path[];
};

/* ---- Places ------------------------------------------------------------------------- */

/* wait.c draws them. */
enum hf_zk_wait_state { HF_ZK_AWAKE, HF_ZK_ASLEEP, HF_ZK_LISTING };

struct hf_zk_own {
    struct hf_zk_own  *next;                   /* in its bucket */
    struct hf_zk_own  *line_next, **line_prev; /* in line->own */
    struct hf_zk_line *line;
    uint64_t           id;
    char               uuid[HF_ZK_UUID + 1];
    enum hf_zk_where   where;
    size_t             bytes; /* of the paths of its nodes at most; 0: TAKEN */
    struct hf_shape    shape;
    char              *path; /* when THERE */
    uint64_t           seq, token;
    int64_t            number; /* in its name */
    int64_t            ctime;  /* creation by the server's clock; ms since 1970 */
    hf_time            made_at, held_at; /* by our clock; 0: not yet */
    char              *asked;            /* the reason of an ASK */

    struct hf_zk_companion *companion; /* NULL: it needs none yet, or none at all */

    struct hf_zk_listener node_listener; /* to its own node */
    bool                  unread;        /* the node may have changed and must be read */
    bool                  unreadable;    /* we may not read the node */
    struct hf_zk_timer    to_listen;     /* own_node.c: a holder starts to listen */

    struct hf_zk_task    *watch; /* the WATCH that waits here */
    enum hf_zk_wait_state wait;
    bool                  by_folder; /* not AWAKE: it listens to the folder */
    struct hf_zk_timer    to_read;   /* wait.c: a waiter reads the nodes it depends on */
};

struct hf_zk_own *hf_zk_own_find(const struct hf_zk *zk, uint64_t id);
struct hf_zk_own *hf_zk_own_new(struct hf_zk *zk, const struct hf_req *req);
void              hf_zk_own_free(struct hf_zk *zk, struct hf_zk_own *own);
void              hf_zk_own_drop_all(struct hf_zk *zk); /* the session is gone */

/* Its index in the last listing; line->count: it is not there. */
size_t hf_zk_own_index(const struct hf_zk_own *own);

/* Before it is put: false: no memory. */
bool hf_zk_companion_ready(struct hf_zk_own *own);
/* Put its creation into a MULTI: slot-N, or (-1) `claim`.  It is UNSURE until the caller
 * sets `where`, by the answer. */
void hf_zk_companion_put(struct hf_zk *zk, struct hf_zk_own *own, int slot);
/* Its path, if it is THERE, or NULL; the slot, or -1. */
const char *hf_zk_own_companion(const struct hf_zk_own *own);
int         hf_zk_own_slot(const struct hf_zk_own *own);
/* Does the companion that was read belong to the place with this uuid? */
bool hf_zk_is_uuid_read(struct hf_zk_reply *reply, const char *uuid);
/* The place is gone: delete its companion. */
void hf_zk_own_orphan(struct hf_zk *zk, struct hf_zk_own *own);
void hf_zk_orphans_resume(struct hf_zk *zk); /* on a new connection */
void hf_zk_orphans_drop(struct hf_zk *zk);   /* the session is gone */

/* A place that is NOWHERE or TAKEN has no companion. */
void hf_zk_own_set(struct hf_zk *zk, struct hf_zk_own *own, enum hf_zk_where where);
/* Its node exists, with this path and stat.  0; or HF_ENOMEM, HF_ELOST if it is not ours
 * after all: then nothing is changed. */
int hf_zk_own_found(struct hf_zk *zk, struct hf_zk_own *own, struct hf_zk_text path,
                    const struct hf_zk_stat *stat);
/* The answer to a call about it was lost. */
void hf_zk_own_unsure(struct hf_zk *zk, struct hf_zk_own *own);
/* A listing was taken in.  If its node is not there, somebody deleted it. */
void hf_zk_own_confirm(struct hf_zk *zk, struct hf_zk_own *own);
/* Somebody else deleted its node. */
void hf_zk_own_taken(struct hf_zk *zk, struct hf_zk_own *own);
/* We deleted its node, or are about to: review our waiters behind it. */
void hf_zk_own_left_line(struct hf_zk *zk, struct hf_zk_own *own);
/* Stop its listener and timers; `node_deleted` as for hf_zk_unlisten(). */
void hf_zk_own_unlisten(struct hf_zk *zk, struct hf_zk_own *own, bool node_deleted);

#endif
