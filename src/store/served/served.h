/* served.h - what stores share whose server decides who is granted.
 *
 *   store.c    what requests at work (remote/task.h) need of such a store
 *   place.c    places we have, or have asked for
 *   watch.c    WATCH                       answer.c  what ENTER, READ and AMEND are answered
 *   verb.c     what the other verbs have in common
 *
 * Such a server keeps count of a line and grants a place when it fits.  It tells the
 * place's session, unasked: that it is granted, that somebody took it away, that somebody
 * asks for it; and whoever said he watches a line, that it changed.  A store of this kind
 * embeds struct hf_served first and brings the ops: how a verb is put to its server.
 */
#ifndef HF_SERVED_H
#define HF_SERVED_H

#include "store/findings.h"
#include "store/remote/task.h"

#define HF_SERVED_BUCKETS 1024 /* of places */

struct hf_served;
struct hf_served_task;

/* ---- place.c ----------------------------------------------------------------------------- */

struct hf_served_place {
    struct hf_served_place *next;  /* of its bucket */
    struct hf_served_task  *watch; /* those that wait for news of it, by next_watch */
    uint64_t                id;
    struct hf_shape         shape;
    uint64_t                seq;     /* also its token; 0: not answered yet */
    bool                    granted; /* by an answer or by a message */
    bool                    told;    /* ... by a message, nothing read since */
    bool                    away;    /* somebody took it: the server's record says so */
    bool                    doubted; /* a message says that somebody took it */
    bool                    leaving;
    bool                    safe; /* enough replicas know that it is granted */
    int                     slot;
    int64_t                 since;
    uint64_t                news;    /* messages about it */
    uint64_t                read;    /* ... that its owner has read of */
    uint64_t                asks;    /* messages that somebody asks for it, not read of */
    uint64_t                version; /* the store's: what it last heard of it */
    uint64_t                secret;  /* what a message that grants it must know */
    char                   *note;
    char                    name[];
};

struct hf_served_place *hf_served_place_new(struct hf_served    *served,
                                            const struct hf_req *req);
struct hf_served_place *hf_served_place_find(const struct hf_served *served, uint64_t id);
void                    hf_served_place_drop(struct hf_served *served, uint64_t id);
void                    hf_served_places_drop(struct hf_served *served);

/* There is news of it: what waits for that is answered. */
void hf_served_place_news(struct hf_served_place *place);

/* Something may have been missed: whoever waits for news looks for himself. */
void hf_served_news_all(struct hf_served *served);

/* It is granted: the server's record, or a message that knew the secret, says so. */
void hf_served_granted(struct hf_served_place *place, int slot, int64_t since);

/* A message: "g <id> <slot> <since> <secret>" granted, "b <id>" taken away, "a <id>" asked
 * for, "c <name>" a line has changed.  False: it is none.
 *
 * Anybody may have sent it who may send messages at all, though he must not touch our
 * data.  So a message alone only makes its owner look.  What grants, without a look, is
 * the secret: a random number, another for each place, that ENTER gives to the server
 * (sixteen hexadecimal digits), which keeps it where only those can read it who might
 * change the record as well, and tells it once, in the message that the place is granted.
 * Whoever listens learns it too late: the place is granted then, or its owner is about to
 * read that it is, and of one that is granted no such message tells anything more. */
bool hf_served_message(struct hf_served *served, const char *text);

/* ---- Tasks ------------------------------------------------------------------------------- */

/* A store embeds it first in a task of its own. */
struct hf_served_task {
    struct hf_task          base;
    struct hf_served_task  *next_watch; /* of the same place */
    struct hf_served_place *place;      /* whose watch it is */
    bool                    flying;     /* the server is being asked */
    bool                    outside;    /* a watch of a whole line */
    bool                    fired; /* ... that is over, once the server has answered */
    hf_time                 due;   /* ... at the latest then; 0: no such time */
    uint64_t                news;  /* of the place, when the server was asked */
    uint64_t                asks;
    int                     script; /* the store's: what was asked */
    void                   *more;   /* the store's */
};

static inline struct hf_served *hf_served_of(const struct hf_served_task *task)
{
    return (struct hf_served *)task->base.remote;
}

/* ---- verb.c: what verbs have in common, whatever the server ------------------------------- */

/* For an answer to come: what news of the place it will have taken into account. */
void hf_served_remember_news(struct hf_served_task *task);

/* ENTER: have a place to be asked for.  False: there is no memory, the task is gone. */
bool hf_served_enter(struct hf_served_task *task);
/* It was refused: those there are of another kind, or else too many wait. */
void hf_served_not_entered(struct hf_served_task *task, bool mismatch);

/* LEAVE: the place, if we have it; and once that is done: had somebody taken it? */
struct hf_served_place *hf_served_leave(struct hf_served_task *task);
void                    hf_served_left(struct hf_served_task *task, bool lost);

/* BREAK, ASK, PROVE by token: was there such a place? */
void hf_served_reached(struct hf_served_task *task, bool found);

/* A renewal that was sent then was answered. */
void hf_served_extend(struct hf_served *served, hf_time sent, hf_time ttl);

/* ---- answer.c ---------------------------------------------------------------------------- */

/* What the server says of a place. */
struct hf_served_answer {
    char     state; /* g granted, w waiting, r refused: not in line, - there is none */
    uint64_t stamp;
    uint64_t seq;
    int      slot;
    int64_t  since;
    uint32_t weight;
    uint64_t ahead;
    uint64_t nearest;  /* w, r: seq of one that is in the way */
    int64_t  patience; /* w, r: microseconds until it is worth to look again; 0: never */
    const char *asked;
};

/* Take note of it; the place, or NULL if there is none (any more). */
struct hf_served_place *hf_served_take(struct hf_served_task         *task,
                                       const struct hf_served_answer *answer);
/* Answer the request by it, having taken note. */
void hf_served_show(struct hf_served_task *task, const struct hf_served_answer *answer);
/* ... by what is known of the place already: that it is granted. */
void hf_served_show_place(struct hf_served_task        *task,
                          const struct hf_served_place *place);

/* By name and seq. */
void hf_served_sort(struct hf_ticket *ticket, size_t count);

/* Room for so many of them, ours until the next call; NULL: no memory. */
struct hf_ticket *hf_served_tickets(struct hf_served *served, size_t count);

/* LIST: answer by these, sorted. */
void hf_served_list(struct hf_served_task *task, struct hf_ticket *ticket, size_t count,
                    uint64_t stamp);

/* PROVE of the own place: answer by its state, which must be granted if we believe that it
 * is.  If it is not, its holder hears of it as by any other way. */
void hf_served_proven(struct hf_served_task *task, char state);

/* EXAMINE: answer by these, and clear them. */
void hf_served_findings(struct hf_served_task *task, struct hf_finding_list *list);

/* Answer READ by what a message said, if that is all there is to know: to have a lock alone
 * means that nobody is ahead.  False: the server has to be asked. */
bool hf_served_show_known(struct hf_served_task *task);

/* ---- watch.c ----------------------------------------------------------------------------- */

void hf_served_watch(struct hf_served *served, struct hf_served_task *task);

/* The server knows that we watch, and knows of no change so far; or it does. */
void hf_served_watching(struct hf_served_task *task, bool changed);

/* What it waits for has happened. */
void hf_served_watch_fire(struct hf_served_task *task);

/* A line has changed; NULL: any may have. */
void hf_served_changed(struct hf_served *served, const char *name);

/* For task.c: it waits no longer. */
void hf_served_watch_end(struct hf_served_task *task);

void    hf_served_watches_run(struct hf_served *served);
hf_time hf_served_watches_wake(const struct hf_served *served);

/* ---- store.c ----------------------------------------------------------------------------- */

struct hf_served_ops {
    /* Begin a request; WATCH is hf_served_watch(). */
    void (*verb[HF_EXAMINE + 1])(struct hf_served *served, struct hf_served_task *task);

    /* Tell the server that we want to hear of changes of a line. */
    void (*watch_line)(struct hf_served *served, struct hf_served_task *task);

    /* Look again in so many microseconds. */
    void (*look_in)(struct hf_served *served, int64_t us);
};

struct hf_served {
    union { /* the same by two names */
        struct hf_store  base;
        struct hf_remote remote;
    };
    const struct hf_served_ops *ops;
    uint64_t                    token; /* highest seen */
    struct hf_served_place     *place[HF_SERVED_BUCKETS];
    unsigned                    places;
    size_t                      outsiders; /* tasks that watch a line */
    struct hf_ticket           *ticket;    /* of the LIST being answered */
    size_t                      ticket_room;
};

void hf_served_init(struct hf_served *served, const struct hf_served_ops *ops,
                    const struct hf_remote_ops *remote_ops);
/* Nothing flies any more. */
void hf_served_finish(struct hf_served *served);

/* For the store's struct hf_remote_ops. */
void hf_served_begin(struct hf_task *task);
void hf_served_end_watch(struct hf_task *task);
void hf_served_end_task(struct hf_task *task);
bool hf_served_may_have(const struct hf_remote *remote, uint64_t id);
void hf_served_lose(struct hf_remote *remote);

/* The connection broke.  Those that fly are left to end by the answer that there is none. */
void hf_served_tasks_fail(struct hf_served *served);

#endif
