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
    HF_ZK_NEWS_ARMED,   /* from now on nothing is missed; zk->seen has what was read */
    HF_ZK_NEWS_CHANGED, /* the watch is used up: listen again */
    HF_ZK_NEWS_GONE,    /* deleted, or was not there: used up, too */
    HF_ZK_NEWS_HIDDEN,  /* we may not read it, and shall hear nothing: used up */
};

struct hf_zk_watched;
struct hf_zk_line;
struct hf_zk_place;

struct hf_zk_listener {
    void (*on_news)(struct hf_zk *zk, struct hf_zk_listener *listener,
                    enum hf_zk_news news);
    void                  *data;
    uint64_t               seq;     /* of a WATCH: which place it is about */
    struct hf_zk_watched  *watched; /* NULL: does not listen */
    struct hf_zk_listener *next;
};

struct hf_zk_watched_paths {
    struct hf_zk_watched *bucket[HF_ZK_BUCKETS];
    size_t                count;
    unsigned              restoring; /* messages to restore them that are unanswered */
    hf_time               again;     /* try those that failed then */
    struct hf_zk_watched *queued;    /* to be armed together */
    int64_t               as_of; /* ... as of the latest zxid that one of them named */
};

/* The node as it was when its path was armed; lent for the time of on_news. */
struct hf_zk_seen {
    struct hf_zk_stat stat;
    struct hf_zk_text text;  /* DATA */
    bool              there; /* it was read; of a folder: and is there */
    int64_t           as_of; /* not read: it may have changed before this zxid */
    const char       *path;  /* of a watch that is used up: what it watched */
};

/* Listen to a path.  0 or HF_ENOMEM.  The listener must not be listening. */
int hf_zk_listen(struct hf_zk *zk, struct hf_zk_listener *listener,
                 enum hf_zk_watched_kind kind, const char *path);

/* Listen to a node that was there at `zxid`.  That it was deleted since is told as news; that
 * it changed is told only from zk->seen.as_of on, which comes with ARMED, and is later if
 * others named later ones: all of one turn cost one call.  Nothing is read.  If we may not
 * read the node, nothing is ever heard. */
int  hf_zk_listen_as_of(struct hf_zk *zk, struct hf_zk_listener *listener,
                        const char *path, int64_t zxid);
void hf_zk_watched_flush(struct hf_zk *zk); /* make that call */

/* One that joined others at a path was not told what was read when it was armed: read it
 * again. */
void hf_zk_reread(struct hf_zk *zk, struct hf_zk_listener *listener);
/* The same if it was never read: it may be hidden. */
void hf_zk_read_blind(struct hf_zk *zk, struct hf_zk_listener *listener);

/* The same for a place in line, anybody's. */
int hf_zk_listen_place(struct hf_zk *zk, struct hf_zk_listener *listener,
                       const struct hf_zk_line *line, const struct hf_zk_place *place);

/* No more.  `goes`: the node is about to go by our own hand, so that the watch
 * ends by itself.  A listener that does not listen is left alone. */
void hf_zk_unlisten(struct hf_zk *zk, struct hf_zk_listener *listener, bool goes);

/* What it listens to; NULL: nothing. */
const char *hf_zk_listener_path(const struct hf_zk_listener *listener);

/* Would it have heard by now?  Not while watches are being restored. */
bool hf_zk_is_armed(const struct hf_zk *zk, const struct hf_zk_listener *listener);

/* Has it joined others at a path that is armed already?  Then it hears no ARMED.  Of a
 * folder it can have the stamp, which compares with line->stamp. */
bool     hf_zk_has_joined(const struct hf_zk_listener *listener);
uint64_t hf_zk_watched_stamp(const struct hf_zk_listener *listener);

void hf_zk_watched_event(struct hf_zk *zk, int32_t type, struct hf_zk_text path);
void hf_zk_watched_restore(struct hf_zk *zk); /* on a new connection */
void hf_zk_watched_restored(struct hf_zk *zk);
void hf_zk_watched_run(struct hf_zk *zk);
void hf_zk_watched_drop(struct hf_zk *zk); /* the session is gone */

/* ---- line.c ------------------------------------------------------------------------ */

/* One child of a folder, as last listed. */
struct hf_zk_place {
    const char          *name; /* in line->text */
    struct hf_zk_child   child;
    uint64_t             seq;
    struct hf_zk_ticket *ticket; /* if it is ours */
    bool                 gone;   /* since it was listed */
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
    size_t               users;  /* tasks and tickets */
    unsigned             marks;  /* of survey.c, which is a user while there are any */
    struct hf_zk_ticket *tickets;

    /* The last listing: places sorted by seq. */
    struct hf_zk_place *place;
    size_t              count, room;
    char               *text;
    size_t              text_room;
    size_t              head; /* the first that is not gone */
    bool      plain;       /* mutexes all, of different numbers: nobody can join ahead */
    bool      shared;      /* readers and writers all, of different numbers */
    bool      writer_gone; /* since then, perhaps: it may have become a reader */
    uint32_t *slot;        /* of a semaphore: those taken, sorted */
    size_t    slots, slot_room;
    uint64_t  stamp;

    struct hf_zk_listing first;                  /* so that one can always be sent */
    struct hf_zk_task   *wanting, *wanting_last; /* want a listing sent from now on */
    bool                 queued;                 /* in zk->to_list */
    bool                 refreshing;             /* WATCHes wait for a listing */
    bool                 unlisted;               /* and it was lost with its connection */
    bool                 hidden; /* a place ahead of one of ours could not be read */
    struct hf_zk_line   *next_to_list;
};

struct hf_zk_line *hf_zk_line_get(struct hf_zk *zk,
                                  const char   *name); /* NULL: no memory */
void               hf_zk_line_put(struct hf_zk *zk, struct hf_zk_line *line);

/* Call `task->on_list` with a listing made after now. */
void hf_zk_line_list(struct hf_zk *zk, struct hf_zk_line *line, struct hf_zk_task *task);
/* Have the WATCHes of this line reviewed with a new listing. */
void hf_zk_line_refresh(struct hf_zk *zk, struct hf_zk_line *line);
/* Send the listings that are wanted; or, when the connection broke, say so. */
void hf_zk_lines_flush(struct hf_zk *zk);
void hf_zk_lines_fail(struct hf_zk *zk);

/* Index of the place `seq`; line->count: it is not there. */
size_t hf_zk_line_find(const struct hf_zk_line *line, uint64_t seq);
/* The nearest place before `index` that is not gone; line->count: none. */
size_t hf_zk_line_before(const struct hf_zk_line *line, size_t index);
/* So many of our own places in a row listen to their nodes before they are granted. */
#define HF_ZK_READY_AHEAD 64

/* Index of our node in the last listing, found by its id; line->count: it is not there. */
size_t hf_zk_line_own(const struct hf_zk_line *line, const struct hf_zk_ticket *ticket);

/* A place has gone: review the WATCHes that may depend on it. */
void hf_zk_line_gone(struct hf_zk *zk, struct hf_zk_line *line, size_t index);

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

/* late.c: something is to be done about a ticket, at a time that is the same delay for all
 * in one list. */
struct hf_zk_late {
    struct hf_zk_ticket *ticket;
    struct hf_zk_lates  *list; /* NULL: in none */
    hf_time              at;
    struct hf_zk_late   *next, **prev;
};

struct hf_zk_lates {
    struct hf_zk_late *first, **last;
};

/* Put it at the end, unless it is in the list; take it out, if it is. */
void hf_zk_late_put(struct hf_zk_lates *list, struct hf_zk_late *late, hf_time at);
void hf_zk_late_not(struct hf_zk_late *late);
/* Take the first out whose time has come; NULL: none.  When that will be. */
struct hf_zk_late *hf_zk_late_take(struct hf_zk_lates *list, hf_time now);
hf_time            hf_zk_late_wake(const struct hf_zk_lates *list);

struct hf_zk_ticket {
    struct hf_zk_ticket  *next;                /* in its bucket */
    struct hf_zk_ticket  *beside, **beside_at; /* in its line */
    struct hf_zk_line    *line;
    uint64_t              id;
    char                  uuid[HF_ZK_UUID + 1];
    enum hf_zk_where      where;
    struct hf_shape       shape;
    char                 *path; /* when THERE */
    uint64_t              seq, token;
    size_t                index;  /* in the last listing, if it is there */
    int64_t               number; /* in its name */
    int64_t               ctime;  /* when it was made, by the server; ms since 1970 */
    hf_time               made_at, held_at; /* by our clock; 0: not yet */
    int                   slot;
    int                   slot_tried; /* UNSURE: whether it is ours; -1: none */
    char                 *asked;      /* why somebody wants it */
    bool                  told;       /* and the caller knows */
    bool                  unread; /* its node may have changed before we listened to it */
    struct hf_zk_listener self;   /* to the own node */
    bool                  doubt;  /* others ahead may have gone, too: list */
    struct hf_zk_task    *watch;  /* the WATCH that waits here */
    struct hf_zk_late     late;   /* then listen to the own node */
    struct hf_zk_late     prove;  /* then read the one ahead */
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
/* By our own doing it is gone, or about to go: review the WATCHes of our own behind it,
 * which do not listen to it. */
void hf_zk_ticket_step_aside(struct hf_zk *zk, struct hf_zk_ticket *ticket);
/* If its node is not in the listing just taken in, somebody took it away. */
void hf_zk_ticket_confirm(struct hf_zk *zk, struct hf_zk_ticket *ticket);
/* It is not there any more, by no doing of ours. */
void hf_zk_ticket_away(struct hf_zk *zk, struct hf_zk_ticket *ticket);

/* ---- answer.c ---------------------------------------------------------------------- */

/* The line as the ticket sees it, its place last if it has one; from the last
 * listing.  0 or HF_ENOMEM. */
int hf_zk_answer(struct hf_zk *zk, struct hf_req *req, struct hf_zk_line *line,
                 struct hf_zk_ticket *ticket, const struct hf_shape *shape);

/* End a BREAK, ASK or PROVE with ZooKeeper's error; `gone`: if the place was not there. */
void hf_zk_answer_done(struct hf_zk *zk, struct hf_zk_task *task, int error, int gone,
                       const char *what);

/* Is a place of this shape granted, at that index of the last listing?  1, 0 or HF_ENOMEM. */
int hf_zk_granted(struct hf_zk *zk, const struct hf_zk_line *line, size_t me,
                  const struct hf_shape *shape);
/* Where the ticket stands in the last listing; line->count: nowhere. */
size_t hf_zk_ticket_index(const struct hf_zk_line   *line,
                          const struct hf_zk_ticket *ticket);

/* What a place weighs to somebody who is of the shape `mine`. */
struct hf_shape hf_zk_shape_to(const struct hf_zk_child *child,
                               const struct hf_shape    *mine);

/* How many wait of the first `end` places, and whether `shape` would be granted at
 * once if it stood next. */
size_t hf_zk_line_waiting(const struct hf_zk_line *line, size_t end,
                          const struct hf_shape *shape, bool *free_for);

#endif
