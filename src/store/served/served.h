/* served.h - what the stores share whose server decides who is granted: Redis, PostgreSQL.
 *
 *   store.c    what requests at work (remote/task.h) need of such a store
 *   session.c  which session is ours, and its will
 *   place.c    places we have or want, and what messages say of them
 *   call.c     a call of the server           answer.c  how a place stands
 *   verbs.c    ENTER, AMEND, LEAVE; BREAK, ASK; PROVE
 *   watch.c    WATCH                          survey.c  SURVEY
 *   list.c     LIST, EXAMINE                  history.c HISTORY
 *
 * Such a server keeps count of a line and grants a place when it fits.  It sends a message to
 * the place's session, unasked: the place is granted, somebody took it away, somebody asks
 * for it; and to each session that watches a line: the line has changed.  A store of this
 * kind embeds struct hf_served first and brings the ops: how its server is called.
 *
 * The way of a request, of ENTER for example:
 *
 *   remote/task.c  begins it          store.c    begin_task()
 *   verbs.c        hf_served_enter()  ops        begin(), add_...(), send()
 *   the store      takes an answer    call.c     hf_served_answered()
 *   verbs.c        on_entered()       answer.c   hf_served_shown()
 *   remote/task.c  hf_task_finish(), which calls done()
 */
#ifndef HF_SERVED_H
#define HF_SERVED_H

#include "store/findings.h"
#include "store/remote/task.h"

#define HF_SERVED_BUCKETS 1024 /* of places */
#define HF_SERVED_SID     16   /* hexadecimal digits */
#define HF_SERVED_SECRETS 32   /* drawn at once */

struct hf_served;
struct hf_served_task;

/* ---- place.c -------------------------------------------------------------------- */

/* What we know of it is what the server said last; but for `news`, which says that there is
 * more to know. */
struct hf_served_place {
    struct hf_served_place *next;  /* of its bucket */
    struct hf_served_task  *watch; /* those at rest until there is news, by next_watch */
    uint64_t                id;
    struct hf_shape         shape;
    uint64_t                seq;     /* also its token; 0: not answered yet */
    bool                    granted; /* by an answer or by a message */
    bool                    away;    /* somebody took it: the server's record says so */
    bool                    doubted; /* a message said so, and nothing was read since */
    bool                    leaving; /* LEAVE was called */
    bool                    safe;    /* enough replicas know that it is granted */
    int                     slot;
    int64_t                 since;
    uint64_t                ahead;   /* places, while it waits */
    char                   *asked;   /* why somebody asks for it, or NULL */
    uint64_t                news;    /* reasons to read it, counted */
    uint64_t                read;    /* ... so many of them were read */
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

/* Its secret as the server keeps it. */
#define HF_SERVED_SECRET 17
void hf_served_place_secret(const struct hf_served_place *place,
                            char                          ret[HF_SERVED_SECRET]);

/* There is news of it: a WATCH of it reads. */
void hf_served_place_news(struct hf_served_place *place);

/* Something may have been missed: whoever waits for news is woken, and reads. */
void hf_served_news_all(struct hf_served *served);

/* A message: "g <id> <slot> <since> <secret>" granted, "b <id>" taken away, "a <id>"
 * asked for, "c <name>" a line has changed, "s" some have, and we survey them, "e" somebody
 * has ended our session.  False: it is none.
 *
 * Anybody who may send messages can have sent it, even a client that cannot touch our data.
 * So a message alone only makes the owner of a place read.  What grants, without that, is
 * the secret: a random number, another for each place, which ENTER gives to the server as
 * sixteen hexadecimal digits.  The server keeps it where only those can read it who could
 * change the record as well, and tells it once, in the message that the place is granted.
 * An eavesdropper learns it too late: by then the place is granted, or its owner is about
 * to read that it is, and a place that is granted ignores such a message. */
bool hf_served_message(struct hf_served *served, const char *text);

/* ---- Tasks ---------------------------------------------------------------------- */

typedef void hf_served_on_answer(struct hf_served_task *task, int code,
                                 const void *reply);

/* A store embeds it first in a task of its own. */
struct hf_served_task {
    struct hf_task          base;
    struct hf_served_task  *next_watch; /* of the same place */
    struct hf_served_place *place;      /* at which it rests */
    hf_served_on_answer    *on_answer;  /* what the verb does with the answer */
    bool                    flying;     /* a call of it is under way */
    uint64_t                session;    /* which of ours that call is for */
    bool                    outside;    /* WATCH: the server is to tell of the line */
    hf_time                 due;        /* ... at the latest then; 0: no such time */
    uint64_t                news;       /* of the place, when the call was sent */
    struct hf_served_past  *past;       /* HISTORY: what has been told so far */
};

static inline struct hf_served *hf_served_of(const struct hf_served_task *task)
{
    return (struct hf_served *)task->base.remote;
}

/* ---- The server ---------------------------------------------------------------------------
 *
 * A verb is one call of the server:
 *
 *     ops->begin(task);                          which session, which place, which line
 *     ops->add_number(served, weight);           what else it takes
 *     hf_served_send(task, on_answer);
 *
 * The answer comes to the store, which says what kind of answer it is
 * (hf_served_answered()).  One that the verb can use is given to on_answer(), and its
 * parts are read by ops->number() and ops->text(): the first is a code, the others
 * depend on it and on the verb. */

/* What a server answers first; the numbers are those of its functions. */
enum hf_served_code {
    HF_SERVED_DONE,
    HF_SERVED_EPOCH, /* data were lost: say hello again, call again */
    HF_SERVED_GONE,  /* no such session */
    HF_SERVED_STALE, /* a newer connection than this one */
    HF_SERVED_MISMATCH,
    HF_SERVED_FULL,
    HF_SERVED_NOWHERE, /* no such place */
    HF_SERVED_VERSION, /* the data are another version's */
};

/* What an answer that is an error means. */
enum hf_served_fault {
    HF_SERVED_FINE,    /* it is none */
    HF_SERVED_AGAIN,   /* nothing was done: call again */
    HF_SERVED_DOWN,    /* this server cannot serve now: connect anew */
    HF_SERVED_MISSING, /* what was to be called is not there */
    HF_SERVED_OTHER,   /* another version: HF_EUNSUPPORTED to hello, else HF_ESTORE */
    HF_SERVED_DENIED,  /* password, permission: HF_EDENIED */
    HF_SERVED_FAILED,  /* anything else: HF_ESTORE */
};

struct hf_served_ops {
    size_t task_size;                               /* of the store's own tasks */
    void (*free_task)(struct hf_served_task *task); /* what it has more; NULL: nothing */

    /* A call: our session, the place and the line of the request, as the server wants them
     * for this verb.  Then what else it takes.  begin_read: of the function that tells how
     * the own place stands, which WATCH and PROVE call, and which takes no more. */
    void (*begin)(struct hf_served_task *task);
    void (*begin_read)(struct hf_served_task *task);
    void (*add_number)(struct hf_served *served, uint64_t number);
    void (*add_text)(struct hf_served *served, const char *text);
    void (*add_note)(struct hf_served *served,
                     const char       *text); /* anybody's; NULL: "" */
    void (*add_seq)(struct hf_served *served, uint64_t seq);
    void (*add_wish)(struct hf_served    *served,
                     const struct hf_req *req); /* ENTER's: shape, only_free, limit */
    void (*send)(struct hf_served_task *task);

    /* The parts of an answer; 0 and NULL where there is none. */
    int64_t (*number)(const void *reply, size_t index);
    const char *(*text)(const void *reply, size_t index);

    /* LIST is answered: make tickets of it, in hf_served_tickets(), then
     * hf_served_listed(). */
    hf_served_on_answer *list;

    /* EXAMINE: call, then hf_served_findings(). */
    void (*examine)(struct hf_served_task *task);

    /* SURVEY is answered: the name of that index, lent for the call; NULL: so many there
     * are. */
    const char *(*changed)(const void *reply, size_t index);

    /* SURVEY is answered, and nothing has changed: when it is to be asked again at the
     * latest; HF_NEVER: no such time. */
    hf_time (*survey_until)(struct hf_served *served, const void *reply);

    /* HISTORY is answered, or a piece of it: hf_served_recall() each, then
     * hf_served_recalled(). */
    hf_served_on_answer *history;

    /* session_gone: it is dead, begin another one.  session_again: data were lost, say hello
     * again; NULL: never needed.  renew: renew it now; false: the link broke over it, so all
     * tasks at rest have ended. */
    void (*session_gone)(struct hf_served *served);
    void (*session_again)(struct hf_served *served);
    bool (*renew)(struct hf_served *served);

    /* If the store `confirms`: the last answer said that this place is granted.  Make sure
     * that enough replicas know, mark it `safe`, then hf_served_show().  NULL: never. */
    void (*confirm)(struct hf_served_task *task);

    /* Of a line that is watched: when that ends at the latest; 0: no such time. */
    hf_time (*watch_until)(struct hf_served *served, const void *reply);

    /* A WATCH or SURVEY is about to wait for messages.  `at_once`: it may be granted by one,
     * or watches a line; else it is only asked for.  NULL: they come anyway. */
    void (*want_news)(struct hf_served *served, bool at_once);

    /* Renew in so many microseconds: somebody in the way may be dead then.  NULL: no. */
    void (*renew_in)(struct hf_served *served, int64_t us);

    /* The server may take a holder for a waiter: see docs/internals/postgres.md. */
    bool waiter_may_hold;
};

struct hf_served_survey {
    struct hf_served_task *task; /* the SURVEY at work, or NULL */
    uint64_t      stamp;         /* as far we have seen all; 0: nobody remembers for us */
    bool          rung;          /* there is something to see, or may be */
    hf_time       due;           /* ask again then; without a task: have us forgotten */
    struct hf_req lapse;         /* ... by this */
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
    struct hf_remote_ops        remote_ops;             /* ours, for requests at work */
    char                        sid[HF_SERVED_SID + 1]; /* of our session */
    bool                        fresh; /* ... which the server does not know yet */
    bool                    executes; /* it is the one that a will is of: see session.c */
    uint64_t                session;  /* its number: so many were lost before */
    uint64_t                token;    /* highest seen */
    struct hf_served_place *place[HF_SERVED_BUCKETS];
    unsigned                places;
    uint64_t                secret[HF_SERVED_SECRETS]; /* for the next ones */
    unsigned                secrets;                   /* ... so many are left */
    bool                    confirms;  /* a grant counts once replicas know it */
    size_t                  outsiders; /* tasks that watch a line */
    struct hf_ticket       *ticket;    /* of the LIST being answered */
    size_t                  ticket_room;
    struct hf_served_survey survey;
};

void hf_served_init(struct hf_served *served, const struct hf_served_ops *ops,
                    struct hf_dial *dial);
/* Nothing flies any more. */
void hf_served_finish(struct hf_served *served);

/* ---- session.c ------------------------------------------------------------------ */

/* Another session from now on. */
void hf_served_start_afresh(struct hf_served *served);

/* For open(): a session of our own, or the one that a will is of. */
int hf_served_take_session(struct hf_served *served, const struct hf_config *config,
                           char *errmsg);

/* For struct hf_store_impl. */
int hf_served_will(struct hf_store *store, void *ret);

/* The session that a will is of is dead: nothing is left to do, for good. */
void hf_served_executed(struct hf_served *served);

static inline bool hf_served_is_over(const struct hf_served *served)
{
    return served->executes && served->base.link == HF_LINK_LOST;
}

/* The connection broke.  Those that fly are left to end by the answer that there is none. */
void hf_served_tasks_fail(struct hf_served *served);

/* A renewal that was sent then was answered. */
void hf_served_extend(struct hf_served *served, hf_time sent, hf_time ttl);

/* ---- call.c --------------------------------------------------------------------- */

void hf_served_send(struct hf_served_task *task, hf_served_on_answer *on_answer);

/* For the store: there is an answer; NULL: the connection broke before there was one. */
void hf_served_answered(struct hf_served_task *task, enum hf_served_fault fault,
                        const void *reply);

/* The same for one that on_answer() shall not have.  True: there was none, or it was an
 * error, and the task has ended. */
bool hf_served_failed(struct hf_served_task *task, enum hf_served_fault fault,
                      const void *reply);

/* ---- answer.c ------------------------------------------------------------------- */

/* What the server says of a place. */
struct hf_served_answer {
    char        state; /* g granted, w waiting, r refused: not in line, - there is none */
    uint64_t    seq;   /* r: of a place that is in the way, 0 if that is not known */
    int         slot;
    int64_t     since;
    uint32_t    weight; /* 0: as it was wanted */
    uint64_t    ahead;  /* w */
    const char *asked;
    int64_t     patience; /* w, r: microseconds until it is worth to renew; 0: never */
};

struct hf_served_answer hf_served_parse(const struct hf_served *served,
                                        const void             *reply);

/* Take note of such an answer, and go on by it: hf_served_show(). */
hf_served_on_answer hf_served_shown;

/* Ask the server how the own place stands, then hf_served_shown().  News that comes while
 * the call flies is not read by it: `read` becomes what `news` is now. */
void hf_served_read(struct hf_served_task *task, const struct hf_served_place *place);

/* How a place stands, as far as we know; NULL: there is none. */
struct hf_standing hf_served_standing(const struct hf_served_place *place);

/* Answer by that; a WATCH may have to wait on. */
void hf_served_show(struct hf_served_task *task);

/* It is granted, but that has to be confirmed. */
static inline bool hf_served_is_unsafe(const struct hf_served       *served,
                                       const struct hf_served_place *place)
{
    return served->confirms && place->granted && !place->safe;
}

/* ---- The verbs ------------------------------------------------------------------ */

void hf_served_enter(struct hf_served_task *task);
void hf_served_amend(struct hf_served_task *task);
void hf_served_leave(struct hf_served_task *task);
void hf_served_watch(struct hf_served_task *task);
void hf_served_anybody(struct hf_served_task *task); /* BREAK, ASK */
void hf_served_prove(struct hf_served_task *task);
void hf_served_list(struct hf_served_task *task);
void hf_served_survey(struct hf_served_task *task);
void hf_served_history(struct hf_served_task *task);

/* LIST: room for so many tickets, ours until the next call; NULL: no memory.  By name and
 * seq.  The answer: that many of them, which it sorts. */
struct hf_ticket *hf_served_tickets(struct hf_served *served, size_t count);
void              hf_served_sort(struct hf_ticket *ticket, size_t count);
void hf_served_listed(struct hf_served_task *task, size_t count, uint64_t stamp);

/* EXAMINE: answer by these, and clear them. */
void hf_served_findings(struct hf_served_task *task, struct hf_finding_list *list);

/* HISTORY: one record, of which everything is copied; false: no memory.  All that one
 * answer tells was taken: the store's newest record, and the last that was looked at. */
bool hf_served_recall(struct hf_served_task *task, const struct hf_past *past);
void hf_served_recalled(struct hf_served_task *task, uint64_t newest, uint64_t seen);
void hf_served_past_free(struct hf_served_past *past);

/* ---- survey.c ------------------------------------------------------------------- */

/* Something has changed, or may have without our being told. */
void hf_served_survey_ring(struct hf_served *served);

/* For store.c and watch.c: it is canceled; it ends; it may be time for a call. */
void    hf_served_survey_cancel(struct hf_served_task *task);
void    hf_served_survey_ended(struct hf_served_task *task);
void    hf_served_survey_run(struct hf_served *served);
hf_time hf_served_survey_wake(const struct hf_served *served);

/* ---- watch.c -------------------------------------------------------------------- */

/* The WATCH of a place: answer it, call the server, or let it rest. */
void hf_served_watch_place(struct hf_served_task *task);

/* A line has changed; NULL: any may have. */
void hf_served_changed(struct hf_served *served, const char *name);

/* For store.c: it waits no longer. */
void hf_served_watch_end(struct hf_served_task *task);

void    hf_served_watches_run(struct hf_served *served);
hf_time hf_served_watches_wake(const struct hf_served *served);

#endif
