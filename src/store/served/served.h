/* served.h - shared by the stores whose server decides who is granted: Redis, PostgreSQL.
 *
 *   store.c    connects remote/task.h with the verbs below
 *   session.c  which session is ours, and its session key
 *   place.c    places we have or want; messages about them
 *   call.c     a call of the server           answer.c  how a place stands
 *   verbs.c    ENTER, DOWNGRADE, LEAVE; BREAK, ASK; VERIFY
 *   watch.c    WATCH                          watch_store.c  WATCH_STORE
 *   list.c     LIST, DIAGNOSE                 history.c HISTORY
 *
 * Such a server keeps count of a line and grants a place when it fits.  Unasked, it
 * sends a message to the session of a place that is granted, taken away or asked for,
 * and to each session that watches a line that has changed.  A store of this kind
 * embeds struct hf_served first and provides the ops: how to call its server.
 *
 * The way of a request, ENTER for example:
 *
 *   remote/task.c  begins it          store.c    begin_task()
 *   verbs.c        hf_served_enter()  ops        begin(), add_...(), send()
 *   the store      gets the answer    call.c     hf_served_answered()
 *   verbs.c        on_entered()       answer.c   hf_served_shown()
 *   remote/task.c  hf_task_finish(), which calls done()
 */
#ifndef HF_SERVED_H
#define HF_SERVED_H

#include "store/findings.h"
#include "store/remote/task.h"

#define HF_SERVED_SID          16 /* hexadecimal digits */
#define HF_SERVED_SECRET_STOCK 32 /* grant secrets drawn at once */

struct hf_served;
struct hf_served_task;

/* ---- place.c ------------------------------------------------------------------ */

/* The server's last answer about a place.  If `notified` is above `read`, there is more to
 * learn. */
struct hf_served_place {
    struct hf_served_place *next;  /* of its bucket */
    struct hf_served_task  *watch; /* WATCHes that wait for a message, by next_watch */
    uint64_t                id;
    struct hf_shape         shape;
    uint64_t                seq;     /* also its token; 0: not answered yet */
    bool                    granted; /* by an answer or by a message */
    bool                    away;    /* taken from us: we have read so */
    bool                    doubted; /* taken from us, says a message; not read yet */
    bool                    leaving; /* LEAVE was called */
    bool                    safe;    /* enough replicas have the grant */
    int                     slot;
    int64_t                 since;
    uint64_t                ahead;        /* places, while it waits */
    char                   *asked;        /* why somebody asks for it, or NULL */
    uint64_t                notified;     /* number of reasons to read it, so far */
    uint64_t                read;         /* `notified` when the last read was sent */
    uint64_t                version;      /* the store's own */
    uint64_t                grant_secret; /* a message that grants it must contain this */
    char                   *note;
    char                    name[];
};

struct hf_served_place *hf_served_place_new(struct hf_served    *served,
                                            const struct hf_req *req);
struct hf_served_place *hf_served_place_find(const struct hf_served *served, uint64_t id);
void                    hf_served_place_drop(struct hf_served *served, uint64_t id);
void                    hf_served_places_drop(struct hf_served *served);

/* Its grant secret as the server keeps it. */
#define HF_SERVED_GRANT_SECRET 17
void hf_served_grant_secret(const struct hf_served_place *place,
                            char                          ret[HF_SERVED_GRANT_SECRET]);

/* Something may have happened to the place: its WATCHes read it. */
void hf_served_place_notify(struct hf_served_place *place);

/* Messages may have been missed: every waiter reads its place again. */
void hf_served_reread_all(struct hf_served *served);

/* Data were lost: a message sent before the loss no longer grants a place, even if it is
 * still on its way; another client may have the place.  If it overtook the answer to its
 * ENTER, the place may be lost, and ENTER will be called again. */
void hf_served_forget_overtaking(struct hf_served *served);

/* Handle a message.  False: it is none of these:
 *
 *     g <id> <slot> <since> <grant secret>   the place is granted
 *     b <id>   it was taken away             a <id>   somebody asks for it
 *     c <name> a line has changed            s        so have lines of the store we watch
 *     e        somebody has ended our session
 *
 * Any client that may publish can forge a message, even one that cannot touch our
 * data.  So a message alone only makes the owner read its place.  The exception is a
 * grant with the grant secret: a random number, drawn for each place, that ENTER gives
 * to the server as sixteen hexadecimal digits.  The server keeps it where only clients
 * can read it that could change the place as well, and sends it once, with the grant.
 * An eavesdropper learns it too late: a place that is granted ignores such a message.
 * After lost data nothing can be read, and a place that was taken away, says a message, is not
 * reclaimed.  So with Redis, `first_id` is random: a forger cannot name a place. */
bool hf_served_message(struct hf_served *served, const char *text);

/* ---- Tasks -------------------------------------------------------------------- */

typedef void hf_served_on_answer(struct hf_served_task *task, int code,
                                 const void *reply);

/* A store embeds it first in a task of its own. */
struct hf_served_task {
    struct hf_task          base;
    struct hf_served_task  *next_watch;   /* of the same place */
    struct hf_served_place *place;        /* a WATCH waits for messages about it */
    hf_served_on_answer    *on_answer;    /* the verb's */
    bool                    flying;       /* a call is in flight */
    uint64_t                session;      /* the session of that call */
    bool                    watches_line; /* the server will tell us of the next change */
    hf_time                 due;          /* ... but stop waiting then; 0: no such time */
    uint64_t                notified;     /* of the place, when the call was sent */
    struct hf_served_entries *entries;    /* HISTORY: received so far */
};

static inline struct hf_served *hf_served_of(const struct hf_served_task *task)
{
    return (struct hf_served *)task->base.remote;
}

/* ---- The server ------------------------------------------------------------------
 *
 * A verb is one call of the server:
 *
 *     ops->begin(task);                          which session, which place, which line
 *     ops->add_number(served, weight);           further arguments
 *     hf_served_send(task, on_answer);
 *
 * The store passes the answer to hf_served_answered(), with the kind of answer that it
 * is.  If the verb can use it, on_answer() gets it, and reads its parts with
 * ops->number() and ops->text(): first a code, then what depends on the code and the
 * verb. */

/* The first number of an answer; the server's functions use the same. */
enum hf_served_code {
    HF_SERVED_DONE,
    HF_SERVED_EPOCH, /* data were lost: say hello again, call again */
    HF_SERVED_GONE,  /* no such session */
    HF_SERVED_STALE, /* the session has a newer connection than this one */
    HF_SERVED_MISMATCH,
    HF_SERVED_FULL,
    HF_SERVED_NOWHERE, /* no such place */
    HF_SERVED_VERSION, /* another version of Holdfast wrote the data */
};

/* The meaning of an error reply. */
enum hf_served_fault {
    HF_SERVED_FINE,    /* it is no error */
    HF_SERVED_AGAIN,   /* nothing was done: call again */
    HF_SERVED_DOWN,    /* this server cannot serve us now: reconnect */
    HF_SERVED_MISSING, /* the function or script is not there */
    HF_SERVED_OTHER,   /* another version: HF_EUNSUPPORTED to hello, else HF_ESTORE */
    HF_SERVED_DENIED,  /* password, permission: HF_EDENIED */
    HF_SERVED_FAILED,  /* anything else: HF_ESTORE */
};

struct hf_served_ops {
    size_t task_size;                               /* of the store's own tasks */
    void (*free_task)(struct hf_served_task *task); /* free its own part; NULL: none */

    /* Begin a call, with the session, the place and the line of the request as this
     * verb's function takes them; further arguments follow.  begin_read: call the
     * function that reads our own place, for WATCH and VERIFY; it takes no further
     * arguments. */
    void (*begin)(struct hf_served_task *task);
    void (*begin_read)(struct hf_served_task *task);
    void (*add_number)(struct hf_served *served, uint64_t number);
    void (*add_text)(struct hf_served *served, const char *text);
    void (*add_note)(struct hf_served *served, const char *text); /* NULL: "" */
    void (*add_seq)(struct hf_served *served, uint64_t seq);
    void (*add_wish)(struct hf_served    *served,
                     const struct hf_req *req); /* ENTER's: shape, only_free, limit */
    void (*send)(struct hf_served_task *task);

    /* The parts of an answer; 0 and NULL where there is none. */
    int64_t (*number)(const void *reply, size_t index);
    const char *(*text)(const void *reply, size_t index);

    /* LIST is answered: fill hf_served_places(), then call hf_served_listed(). */
    hf_served_on_answer *list;

    /* DIAGNOSE: call the server, then hf_served_findings(). */
    void (*diagnose)(struct hf_served_task *task);

    /* WATCH_STORE is answered: the changed line of that index, lent for the call; NULL:
     * there are no more. */
    const char *(*changed)(const void *reply, size_t index);

    /* WATCH_STORE is answered, and nothing has changed: when to ask again at the latest;
     * HF_NEVER: wait for the message. */
    hf_time (*store_watch_until)(struct hf_served *served, const void *reply);

    /* HISTORY is answered, or a piece of it: call hf_served_history_add() for each entry,
     * then hf_served_history_piece(). */
    hf_served_on_answer *history;

    /* session_gone: the session is dead, begin another one.  session_again: data were
     * lost, say hello again; NULL: never needed.  renew: renew it now; false: that
     * broke the link, and all tasks without a call in flight have ended. */
    void (*session_gone)(struct hf_served *served);
    void (*session_again)(struct hf_served *served);
    bool (*renew)(struct hf_served *served);

    /* If the store `confirms`: the last answer was a grant or a BREAK.  Make sure that enough
     * replicas have it.  Set `safe`, then hf_served_show(); or end the BREAK.  NULL: never. */
    void (*confirm)(struct hf_served_task *task);

    /* A line is watched: when to stop waiting for a message; 0: no such time. */
    hf_time (*watch_until)(struct hf_served *served, const void *reply);

    /* A WATCH or WATCH_STORE is about to wait for messages.  `at_once`: for a grant or
     * a change of a line, which should arrive at once.  NULL: messages come anyway. */
    void (*want_messages)(struct hf_served *served, bool at_once);

    /* Renew after so many microseconds: a blocker may be dead by then.  NULL: no. */
    void (*renew_in)(struct hf_served *served, int64_t us);

    /* The server may take a holder for a waiter: see docs/internals/postgres.md. */
    bool waiter_may_hold;
};

struct hf_served_watch_store {
    struct hf_served_task *task; /* the WATCH_STORE in progress, or NULL */
    uint64_t seen; /* we know all changes up to this; 0: the server logs none for us */
    bool     rung; /* something has changed, or may have */
    hf_time  due;  /* ask again then; without a task: have the server forget us */
    struct hf_req lapse; /* ... by this request */
    bool          lapsing;
    const char  **name; /* lines that the answer names */
    size_t        room;
};

struct hf_served {
    union { /* the same by two names */
        struct hf_store  base;
        struct hf_remote remote;
    };
    const struct hf_served_ops *ops;
    struct hf_remote_ops        remote_ops;             /* ours, for remote/task.h */
    char                        sid[HF_SERVED_SID + 1]; /* of our session */
    bool                        fresh; /* the server does not know the session yet */
    bool     only_ends; /* opened to end the session of a session key: see session.c */
    uint64_t session;   /* its number: how many were lost before */
    uint64_t token;     /* highest seen */
    uint64_t first_id; /* the number of our id 0 on the server; see hf_served_message() */
    struct hf_served_place     **place; /* by id % buckets */
    size_t                       buckets;
    unsigned                     places;
    uint64_t                     secret[HF_SERVED_SECRET_STOCK]; /* for the next places */
    unsigned                     secrets;                        /* left of them */
    bool                         confirms;     /* grants and breaks wait for replicas */
    size_t                       line_watches; /* tasks with watches_line */
    struct hf_place             *listed;       /* of the LIST being answered */
    size_t                       listed_room;
    struct hf_served_watch_store watch;
};

void hf_served_init(struct hf_served *served, const struct hf_served_ops *ops,
                    struct hf_dial *dial);
void hf_served_finish(struct hf_served *served); /* no call may be in flight */

/* ---- session.c ---------------------------------------------------------------- */

/* Use a new session from now on. */
void hf_served_start_afresh(struct hf_served *served);

/* For open(): a new session, or the one that config->key names. */
int hf_served_take_session(struct hf_served *served, const struct hf_config *config,
                           char *errmsg);

/* For struct hf_store_impl. */
int hf_served_session_key(struct hf_store *store, void *ret);

/* The session that the key names is gone: there is nothing left to do. */
void hf_served_ended(struct hf_served *served);

static inline bool hf_served_is_over(const struct hf_served *served)
{
    return served->only_ends && served->base.link == HF_LINK_LOST;
}

/* The connection broke: fail all tasks but those with a call in flight, which will be
 * answered by NULL. */
void hf_served_tasks_fail(struct hf_served *served);

/* A renewal sent at that time was answered: move the deadline. */
void hf_served_extend(struct hf_served *served, hf_time sent, hf_time ttl);

/* ---- call.c ------------------------------------------------------------------- */

void hf_served_send(struct hf_served_task *task, hf_served_on_answer *on_answer);

/* For the store: it has sent another call, such as WAIT; its answer goes to ..._failed(). */
void hf_served_sent(struct hf_served_task *task);

/* For the store: a call is answered; NULL: the connection broke before. */
void hf_served_answered(struct hf_served_task *task, enum hf_served_fault fault,
                        const void *reply);

/* The same for a call whose answer is not for on_answer().  True: it was an error or
 * NULL, and the task has ended. */
bool hf_served_failed(struct hf_served_task *task, enum hf_served_fault fault,
                      const void *reply);

/* ---- answer.c ----------------------------------------------------------------- */

/* The server's answer about a place. */
struct hf_served_answer {
    char        state; /* g granted, w waiting, r refused: not in line, - there is none */
    uint64_t    seq;   /* r: of a place that blocks it, 0 if that is not known */
    int         slot;
    int64_t     since;
    uint32_t    weight; /* 0: as requested */
    uint64_t    ahead;  /* w */
    const char *asked;
    int64_t     patience; /* w, r: microseconds until a renewal may help; 0: never */
};

struct hf_served_answer hf_served_parse(const struct hf_served *served,
                                        const void             *reply);

/* Store such an answer at the place, then hf_served_show(). */
hf_served_on_answer hf_served_shown;

/* Read our own place, then hf_served_shown().  A message that arrives while the call is
 * in flight makes `notified` differ from `read` again. */
void hf_served_read(struct hf_served_task *task, const struct hf_served_place *place);

/* How a place stands, as far as we know; NULL: there is none. */
struct hf_standing hf_served_standing(const struct hf_served_place *place);

/* Answer the request with that; a WATCH may have to wait on. */
void hf_served_show(struct hf_served_task *task);

/* The place is granted, but replicas still have to confirm it. */
static inline bool hf_served_is_unsafe(const struct hf_served       *served,
                                       const struct hf_served_place *place)
{
    return served->confirms && place->granted && !place->safe;
}

/* ---- The verbs ---------------------------------------------------------------- */

void hf_served_enter(struct hf_served_task *task);
void hf_served_downgrade(struct hf_served_task *task);
void hf_served_leave(struct hf_served_task *task);
void hf_served_watch(struct hf_served_task *task);
void hf_served_anybody(struct hf_served_task *task); /* BREAK, ASK */
void hf_served_verify(struct hf_served_task *task);
void hf_served_list(struct hf_served_task *task);
void hf_served_watch_store(struct hf_served_task *task);
void hf_served_history(struct hf_served_task *task);

/* LIST.  Room for `count` places, valid until the next call; NULL: no memory.  Sort by
 * name and seq.  Answer with the first `count` places, which it sorts. */
struct hf_place *hf_served_places(struct hf_served *served, size_t count);
void             hf_served_sort(struct hf_place *place, size_t count);
void hf_served_listed(struct hf_served_task *task, size_t count, uint64_t stamp);

/* DIAGNOSE: answer with these findings, and clear the list. */
void hf_served_findings(struct hf_served_task *task, struct hf_finding_list *list);

/* HISTORY.  Add a copy of an entry; false: no memory.  A piece is complete: the numbers
 * of the newest entry in the store, and of the last one that this piece covers. */
bool hf_served_history_add(struct hf_served_task       *task,
                           const struct hf_history_row *entry);
void hf_served_history_piece(struct hf_served_task *task, uint64_t newest, uint64_t seen);
void hf_served_entries_free(struct hf_served_entries *entries);

/* ---- watch_store.c ------------------------------------------------------------ */

/* A line has changed, or may have without a message. */
void hf_served_watch_store_ring(struct hf_served *served);

/* For store.c and watch.c: it is canceled; it ends; it may be time for a call. */
void    hf_served_watch_store_cancel(struct hf_served_task *task);
void    hf_served_watch_store_ended(struct hf_served_task *task);
void    hf_served_watch_store_run(struct hf_served *served);
hf_time hf_served_watch_store_wake(const struct hf_served *served);

/* ---- watch.c ------------------------------------------------------------------ */

/* The WATCH of a place: answer it, call the server, or wait for a message. */
void hf_served_watch_place(struct hf_served_task *task);

/* A line has changed; NULL: any may have. */
void hf_served_changed(struct hf_served *served, const char *name);

/* For store.c: the task ends. */
void hf_served_watch_end(struct hf_served_task *task);

void    hf_served_watches_run(struct hf_served *served);
hf_time hf_served_watches_wake(const struct hf_served *served);

#endif
