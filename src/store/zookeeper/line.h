/* line.h - the upper half of the ZooKeeper store: watches, lines, tickets.
 * See inner.h for the whole. */
#ifndef HF_ZK_LINE_H
#define HF_ZK_LINE_H

#include "store/zookeeper/link.h"

/* Which of the HF_ZK_BUCKETS a text belongs to. */
size_t hf_zk_hash(const char *text, size_t size);

/* ---- watched.c --------------------------------------------------------------------- */

enum hf_zk_watched_kind {
    HF_ZK_WATCHED_DATA,     /* a node that is there: changed or deleted */
    HF_ZK_WATCHED_CHILDREN, /* a folder: or, if it is not there, until it is made */
};

/* What a listener hears. */
enum hf_zk_news {
    HF_ZK_NEWS_ARMED,   /* from now on nothing is missed */
    HF_ZK_NEWS_READ,    /* zk->seen has what was read, and the watch goes on */
    HF_ZK_NEWS_CHANGED, /* the watch is used up: listen again */
    HF_ZK_NEWS_GONE,    /* deleted, or was not there: used up, too */
    HF_ZK_NEWS_HIDDEN,  /* we may not read it, and shall hear nothing: used up */
};

struct hf_zk_watched;

struct hf_zk_listener {
    void (*on_news)(struct hf_zk *zk, struct hf_zk_listener *listener,
                    enum hf_zk_news news);
    void                  *data;
    struct hf_zk_watched  *watched; /* NULL: does not listen */
    struct hf_zk_listener *next;
};

#define HF_ZK_AGAIN (200 * HF_MS) /* after so long, what could not be watched */

struct hf_zk_watched_paths {
    struct hf_zk_watched *bucket[HF_ZK_BUCKETS];
    size_t                count;
    struct hf_zk_watched *queued; /* to be armed */
    hf_time               again;  /* not before then */
};

/* What a listener is told of; lent for the time of on_news. */
struct hf_zk_seen {
    const char       *path; /* not ARMED, READ */
    bool              gap;  /* ARMED: it may have changed since `as_of` without news */
    struct hf_zk_stat stat; /* READ, and what follows */
    struct hf_zk_text text;
};

#define HF_ZK_ITS_END INT64_MAX

/* Listen to a node that was there once.  That it was deleted meanwhile is told as news; so is
 * that it changed since the zxid `as_of`, but for what zk->seen.gap tells.  HF_ZK_ITS_END:
 * nothing but its end counts.  0 or HF_ENOMEM. */
int hf_zk_listen(struct hf_zk *zk, struct hf_zk_listener *listener, const char *path,
                 int64_t as_of);

#define HF_ZK_STAMP_NONE 1 /* of a folder that is not there */

/* Listen to a folder that had this stamp, its pzxid; 0: as it is now.  0, HF_ENOMEM, or 1: it
 * has changed since, as we know already, and nobody listens. */
int hf_zk_listen_folder(struct hf_zk *zk, struct hf_zk_listener *listener,
                        const char *path, uint64_t stamp);

/* No more.  `goes`: the node is about to go by our own hand, so that the watch
 * ends by itself.  A listener that does not listen is left alone. */
void hf_zk_unlisten(struct hf_zk *zk, struct hf_zk_listener *listener, bool goes);

/* What it listens to. */
const char *hf_zk_listener_path(const struct hf_zk_listener *listener);
/* Would it have heard by now? */
bool hf_zk_is_armed(const struct hf_zk_listener *listener);

/* Read what it listens to, if that is armed: READ is told, GONE or HIDDEN.  Has that been? */
void hf_zk_read_watched(struct hf_zk *zk, const struct hf_zk_listener *listener);
bool hf_zk_is_read(const struct hf_zk_listener *listener);

void hf_zk_watched_event(struct hf_zk *zk, int32_t type, struct hf_zk_text path);
void hf_zk_watched_flush(struct hf_zk *zk);   /* arm what is queued */
void hf_zk_watched_restore(struct hf_zk *zk); /* on a new connection */
void hf_zk_watched_drop(struct hf_zk *zk);    /* the session is gone */

/* ---- line.c ------------------------------------------------------------------------ */

/* What became of a place since it was listed, as far as we heard. */
enum hf_zk_fate {
    HF_ZK_STANDS,
    HF_ZK_GONE,
    HF_ZK_GHOST, /* its node has gone, but it may have become lighter under another name */
};

/* One child of a folder, as last listed. */
struct hf_zk_place {
    const char          *name; /* in line->text */
    struct hf_zk_child   child;
    uint64_t             seq;
    enum hf_zk_fate      state;
    struct hf_zk_ticket *ticket; /* STANDS, and it is ours */
    struct hf_zk_ear    *ear;    /* STANDS, and we listen to it */
};

/* Listens to a place for all of our waiters behind it. */
struct hf_zk_ear {
    struct hf_zk_listener listener;
    struct hf_zk_line    *line;
    uint64_t              seq;
    struct hf_zk_ear     *next; /* in line->ears */
};

/* A listing in flight. */
struct hf_zk_listing {
    struct hf_zk_call  call;
    struct hf_zk_line *line;
    struct hf_zk_task *tasks;
};

struct hf_zk_line {
    struct hf_zk_line   *next; /* in its bucket */
    char                *name;
    char                *folder; /* full path */
    size_t               users;  /* tasks, tickets, listings queued or in flight, marks */
    unsigned             marks;  /* of survey.c, which is a user while there are any */
    struct hf_zk_ticket *tickets;
    size_t               standing; /* of those: THERE or UNSURE */

    /* The last listing: places sorted by seq. */
    struct hf_zk_place *place;
    size_t              count, room;
    char               *text;
    size_t              text_room;
    size_t              head;  /* the first that is not gone */
    bool                stale; /* something has changed since */
    uint32_t           *slot;  /* of a semaphore: those taken */
    size_t              slots, slot_room;
    uint64_t            stamp;

    struct hf_zk_ear     *ears;
    struct hf_zk_listener listener; /* to the folder: hears every place */
    bool                  hidden;   /* a place ahead of one of ours could not be read */

    struct hf_zk_listing first;                  /* so that one can always be sent */
    struct hf_zk_task   *wanting, *wanting_last; /* want a listing sent from now on */
    size_t               flying;                 /* listings */
    bool                 queued;                 /* in zk->to_list */
    struct hf_zk_line   *next_to_list;
};

struct hf_zk_line *hf_zk_line_get(struct hf_zk *zk,
                                  const char   *name); /* NULL: no memory */
void               hf_zk_line_put(struct hf_zk *zk, struct hf_zk_line *line);

/* Call `task->on_list` with a listing made after now. */
void hf_zk_line_list(struct hf_zk *zk, struct hf_zk_line *line, struct hf_zk_task *task);
/* Have one made for our waiters in the line, unless one is on its way. */
void hf_zk_line_refresh(struct hf_zk *zk, struct hf_zk_line *line);
/* What was listed is not to be believed. */
void hf_zk_line_forget(struct hf_zk *zk, struct hf_zk_line *line);
/* Send the listings that are wanted; or, when the connection broke, say so. */
void hf_zk_lines_flush(struct hf_zk *zk);
void hf_zk_lines_fail(struct hf_zk *zk);

/* Index of the place `seq`; line->count: it is not there. */
size_t hf_zk_line_find(const struct hf_zk_line *line, uint64_t seq);
/* Index of our node in the last listing, found by its id; line->count: it is not there. */
size_t hf_zk_line_own(const struct hf_zk_line *line, const struct hf_zk_ticket *ticket);

/* The node of a place has gone: tell our waiters that may depend on it. */
void hf_zk_line_ended(struct hf_zk *zk, struct hf_zk_line *line, size_t index);

/* Listen to the end of a place: 0 or HF_ENOMEM.  To the folder, as it is listed: also 1, it
 * has changed since.  Stop that. */
int  hf_zk_line_hear(struct hf_zk *zk, struct hf_zk_line *line, size_t index);
int  hf_zk_line_hear_all(struct hf_zk *zk, struct hf_zk_line *line);
void hf_zk_ears_drop(struct hf_zk *zk, struct hf_zk_line *line);
/* A listing was taken in: whose are they now? */
void hf_zk_ears_match(struct hf_zk *zk, struct hf_zk_line *line);

/* Full path of a child of ours; `ret` has HF_ZK_PATH_MAX bytes. */
void hf_zk_path(const struct hf_zk_line *line, const char *child, char *ret);
/* The same of anybody's, whose name may be of any length.  To be freed; NULL: no memory. */
char *hf_zk_path_new(const struct hf_zk_line *line, const char *child);

/* ---- ticket.c ---------------------------------------------------------------------- */

/* Where the node of a ticket is, as far as we know.
 *
 *     from      to        when
 *     NOWHERE   THERE     it was made
 *               UNSURE    the answer to its create was lost
 *               AWAY      an AMEND has searched for it in vain
 *     UNSURE    THERE     a search has found it; or the AMEND was answered
 *               NOWHERE   it was searched for in vain
 *     THERE     AWAY      somebody took it away
 *               UNSURE    an AMEND is sent; the answer to its LEAVE, or about its slot, was
 *                         lost
 */
enum hf_zk_where {
    HF_ZK_NOWHERE, /* not created yet */
    HF_ZK_UNSURE,  /* something was sent that may have changed that */
    HF_ZK_THERE,
    HF_ZK_AWAY, /* was there, and is not any more */
};

/* Something is to be done for a ticket a little later.  All timers in one list have the same
 * delay, so the first is due first. */
struct hf_zk_timer {
    struct hf_zk_ticket *ticket;
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
/* Stop the first that is due, and return it; NULL: none is.  When the first will be. */
struct hf_zk_timer *hf_zk_timer_take(struct hf_zk_timers *list, hf_time now);
hf_time             hf_zk_timers_wake(const struct hf_zk_timers *list);

/* wait.c draws them. */
enum hf_zk_wait { HF_ZK_AWAKE, HF_ZK_ASLEEP, HF_ZK_LISTING };

struct hf_zk_ticket {
    struct hf_zk_ticket *next;                   /* in its bucket */
    struct hf_zk_ticket *line_next, **line_prev; /* in line->tickets */
    struct hf_zk_line   *line;
    uint64_t             id;
    char                 uuid[HF_ZK_UUID + 1];
    enum hf_zk_where     where;
    struct hf_shape      shape;
    char                *path; /* when THERE */
    uint64_t             seq, token;
    int64_t              number; /* in its name */
    int64_t              ctime;  /* when it was made, by the server; ms since 1970 */
    hf_time              made_at, held_at; /* by our clock; 0: not yet */
    int                  slot;
    int                  slot_tried; /* UNSURE: whether it is ours; -1: none */
    char                *asked;      /* why somebody wants it */

    struct hf_zk_listener self;      /* to the own node */
    bool                  unread;    /* that is to be read, for it may have changed */
    bool                  hidden;    /* and cannot be */
    struct hf_zk_timer    to_listen; /* a holder, a little later */

    struct hf_zk_task *watch; /* the WATCH that waits here */
    enum hf_zk_wait    wait;
    bool               by_folder; /* not AWAKE: listens to the folder */
    struct hf_zk_timer to_read;   /* a waiter: what it depends on, a little later */
};

struct hf_zk_ticket *hf_zk_ticket_find(const struct hf_zk *zk, uint64_t id);
struct hf_zk_ticket *hf_zk_ticket_new(struct hf_zk *zk, const struct hf_req *req);
void                 hf_zk_ticket_free(struct hf_zk *zk, struct hf_zk_ticket *ticket);
void                 hf_zk_tickets_drop(struct hf_zk *zk); /* the session is gone */

/* It is there, by this path, with this stat.  0; or HF_ENOMEM, HF_ELOST if it is not ours
 * after all: then nothing is changed. */
int  hf_zk_ticket_found(struct hf_zk *zk, struct hf_zk_ticket *ticket,
                        struct hf_zk_text path, const struct hf_zk_stat *stat);
void hf_zk_ticket_set(struct hf_zk *zk, struct hf_zk_ticket *ticket,
                      enum hf_zk_where where);
/* The answer to something that we sent about it was lost. */
void hf_zk_ticket_unsure(struct hf_zk *zk, struct hf_zk_ticket *ticket);
/* The path of the node that goes with its place, a slot or `claim`; false: there is none.
 * `ret` has HF_ZK_PATH_MAX bytes. */
bool hf_zk_ticket_beside(const struct hf_zk_ticket *ticket, char *ret);
/* Is that node, a slot or `claim`, of the place with this uuid? */
bool hf_zk_is_uuid_read(struct hf_zk_reply *reply, const char *uuid);
/* Listen to nothing any more; `goes` as of hf_zk_unlisten(). */
void hf_zk_ticket_quiet(struct hf_zk *zk, struct hf_zk_ticket *ticket, bool goes);
/* By our own doing it is gone, or about to go: tell our waiters behind it. */
void hf_zk_ticket_step_aside(struct hf_zk *zk, struct hf_zk_ticket *ticket);
/* If its node is not in the listing just taken in, somebody took it away. */
void hf_zk_ticket_confirm(struct hf_zk *zk, struct hf_zk_ticket *ticket);
/* Its index in the last listing; line->count: it is not there. */
size_t hf_zk_ticket_index(const struct hf_zk_ticket *ticket);
/* It is not there any more, by no doing of ours. */
void hf_zk_ticket_away(struct hf_zk *zk, struct hf_zk_ticket *ticket);

/* ---- decide.c ---------------------------------------------------------------------- */

/* What a place is to do next. */
enum hf_zk_step {
    HF_ZK_PASS,   /* it holds, if it is still there */
    HF_ZK_REFUSE, /* it cannot wait in this line: hf_zk_judge() says why */
    HF_ZK_SLEEP,
    HF_ZK_LIST,
    HF_ZK_LISTEN, /* to those of hf_zk_choose() */
};

#define HF_ZK_CHOOSE_MAX 64

struct hf_zk_waiter {
    const struct hf_zk_line *line;
    size_t                   me; /* its index in the last listing */
    const struct hf_shape   *mine;
    bool                     hears_all; /* it listens to the folder */
};

enum hf_zk_step hf_zk_decide(const struct hf_zk_waiter *who);
/* Which places to listen to; 0: too many, so that the folder is to be listened to. */
size_t hf_zk_choose(const struct hf_zk_waiter *who, size_t ret[HF_ZK_CHOOSE_MAX]);
/* Those that it hears, the nearest first, that are enough to keep it out. */
size_t hf_zk_depends(const struct hf_zk_waiter *who, size_t ret[HF_ZK_CHOOSE_MAX]);

/* The rule, by all that may be ahead of it. */
enum hf_verdict hf_zk_judge(const struct hf_zk_line *line, size_t me,
                            const struct hf_shape *mine);
/* What a place weighs to somebody who is of the shape `mine`. */
struct hf_shape hf_zk_shape_to(const struct hf_zk_child *child,
                               const struct hf_shape    *mine);

/* Its node has gone. */
void hf_zk_place_end(struct hf_zk_place *place);

/* ---- standing.c -------------------------------------------------------------------- */

/* How it stands, if it is there: it WAITS or HOLDS.  Strings are lent. */
struct hf_standing hf_zk_standing(const struct hf_zk_ticket *ticket, enum hf_stand state);

/* Answer the task that its ticket stands so, with a slot if it needs one; by a listing that
 * was just taken in; by a listing from now. */
void hf_zk_answer(struct hf_zk *zk, struct hf_zk_task *task, enum hf_stand state);
void hf_zk_answer_listed(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_look(struct hf_zk *zk, struct hf_zk_task *task);

/* Why a place cannot wait in this line: HF_E..., and the message in base.errmsg. */
int hf_zk_refusal(struct hf_zk *zk, const struct hf_zk_line *line,
                  enum hf_verdict verdict);

/* End a BREAK, ASK or PROVE with ZooKeeper's error; `gone`: if the place was not there. */
void hf_zk_answer_done(struct hf_zk *zk, struct hf_zk_task *task, int error, int gone,
                       const char *what);

/* How many wait of the first `end` places, and what the rule says of one that stands next. */
size_t hf_zk_line_waiting(const struct hf_zk_line *line, size_t end,
                          const struct hf_shape *shape, enum hf_verdict *verdict);

#endif
