/* inner.h - what the files of the ZooKeeper store share.
 *
 *   store.c    open, close, submit, cancel, process: brings the rest together
 *   address.c  the URL: servers, chroot, options
 *   link.c     a connection and the session on it; every server in turn
 *   call.c     one request on the wire and its answer
 *   beat.c     pings, heartbeats by quorum, the deadline
 *   watch.c    watched paths and who listens, across connections
 *   line.c     a lock's folder, as last listed
 *   listing.c  one listing for many askers
 *   ticket.c   our own places, found again by their id
 *   answer.c   what a line looks like to an asker
 *   enter.c leave.c look.c vigil.c amend.c list.c reach.c prove.c: the verbs
 *   gather.c   places with what is in them, for list, reach and prove
 *   slot.c     slot numbers of semaphores
 *   examine.c  what doctor tells
 *
 * A task is one request of the caller's while we work on it.  It may take several
 * calls; each call's answer comes to a function that goes on from there.  When
 * the connection breaks, every call in flight is answered with
 * HF_ZK_CONNECTION_LOSS, and what was asked may or may not have been done.
 */
#ifndef HF_ZK_INNER_H
#define HF_ZK_INNER_H

#include "core/lease.h"
#include "core/retry.h"
#include "net/resolve.h"
#include "net/stream.h"
#include "net/tls.h"
#include "store/requests.h"
#include "store/store.h"
#include "store/zookeeper/names.h"
#include "store/zookeeper/wire.h"

#define HF_ZK_SERVERS      32
#define HF_ZK_CHROOT       256
#define HF_ZK_PATH_MAX     (HF_ZK_CHROOT + HF_ZK_FOLDER_MAX + HF_ZK_CHILD_MAX + 2)
#define HF_ZK_BUCKETS      4096
#define HF_ZK_SEQUENCE_END INT32_MAX /* the server's counter gets stuck there */

struct hf_zk;
struct hf_zk_task;
struct hf_zk_ticket;

/* ---- address.c -------------------------------------------------------------------- */

struct hf_zk_server {
    char host[256];
    char port[6];
};

struct hf_zk_config {
    struct hf_zk_server server[HF_ZK_SERVERS];
    size_t              servers;
    char                chroot[HF_ZK_CHROOT]; /* "" or "/a/b" */
    int                 session_ms;           /* as asked for */
    enum hf_zk_style    style;                /* of new places */
    bool                secure;
    char               *auth; /* "user:password", or NULL */
    char               *acl;  /* "creator", "open", or "scheme:id,..." */
};

int  hf_zk_config_init(struct hf_zk_config *ret, const struct hf_config *config,
                       char *errmsg);
void hf_zk_config_finish(struct hf_zk_config *config);

/* ---- call.c ------------------------------------------------------------------------ */

struct hf_zk_reply {
    int                 error; /* enum hf_zk_error */
    struct hf_zk_reader body;
};

typedef void hf_zk_on_reply(struct hf_zk *zk, void *data, struct hf_zk_reply *reply);

/* Part of whoever makes the call; must stay in place until it is answered. */
struct hf_zk_call {
    int32_t            xid;
    enum hf_zk_opcode  opcode;
    hf_time            sent;
    hf_zk_on_reply    *on_reply;
    void              *data;
    struct hf_zk_call *next;
    bool               flying;
};

struct hf_zk_calls {
    struct hf_zk_call  *first, *last;
    struct hf_zk_writer out;
    int32_t             xid;
    uint64_t            made; /* ever */
};

/* Begin a message, and end it; what it says is put to zk->calls.out between. */
size_t hf_zk_call_begin(struct hf_zk *zk, struct hf_zk_call *call,
                        enum hf_zk_opcode opcode, hf_zk_on_reply *on_reply, void *data);
void   hf_zk_call_end(struct hf_zk *zk, size_t begin);

void hf_zk_call_create(struct hf_zk *zk, struct hf_zk_call *call, const char *path,
                       const char *text, enum hf_zk_mode mode, hf_zk_on_reply *on_reply,
                       void *data);
void hf_zk_call_delete(struct hf_zk *zk, struct hf_zk_call *call, const char *path,
                       int32_t version, hf_zk_on_reply *on_reply, void *data);
/* GET_DATA, GET_CHILDREN2, EXISTS, SYNC and the like: a path and maybe a watch. */
void hf_zk_call_get(struct hf_zk *zk, struct hf_zk_call *call, enum hf_zk_opcode opcode,
                    const char *path, bool watch, hf_zk_on_reply *on_reply, void *data);
void hf_zk_call_set(struct hf_zk *zk, struct hf_zk_call *call, const char *path,
                    const char *text, size_t size, int32_t version,
                    hf_zk_on_reply *on_reply, void *data);

/* The parts of a MULTI, between its begin and end. */
void hf_zk_multi_create(struct hf_zk *zk, const char *path, const char *text,
                        enum hf_zk_mode mode);
void hf_zk_multi_delete(struct hf_zk *zk, const char *path);
void hf_zk_multi_check(struct hf_zk *zk, const char *path);
void hf_zk_multi_end(struct hf_zk *zk);

/* Of the answer to a MULTI that failed: the error of its part `index`. */
int hf_zk_multi_error(const struct hf_zk_reply *reply, size_t index);

/* Take the answer to the oldest call, `frame` without its length.  False: it makes
 * no sense. */
bool hf_zk_calls_answer(struct hf_zk *zk, struct hf_zk_reader frame, hf_time answered);

/* The connection broke: answer them all so. */
void hf_zk_calls_fail(struct hf_zk *zk);

/* What the caller should be told about an error of ZooKeeper's: HF_E..., and the
 * message in base.errmsg. */
int hf_zk_fault(struct hf_zk *zk, int error, const char *what, const char *path);

/* ---- link.c ------------------------------------------------------------------------ */

enum hf_zk_phase {
    HF_ZK_RESTING,   /* until `due` */
    HF_ZK_RESOLVING, /* a server's name */
    HF_ZK_REACHING,  /* the stream is not open yet */
    HF_ZK_GREETING,  /* connect request sent */
    HF_ZK_READY,
};

struct hf_zk_link {
    enum hf_zk_phase   phase;
    struct hf_stream   stream;
    struct hf_resolve *resolve;
    struct hf_address  address[HF_RESOLVE_MAX];
    int                addresses, next_address;
    size_t             next_server; /* to be tried */
    size_t             server;      /* being tried, or in use */
    size_t             tried;       /* in a row, without success */
    size_t             order[HF_ZK_SERVERS];
    struct hf_retry    retry;
    hf_time            due;     /* RESTING: try then; else give up then */
    hf_time            greeted; /* when the connect request was sent */
    unsigned           polled;  /* what epoll was told to look for */
    unsigned char     *in;      /* a frame and more */
    size_t             used, room;
    bool               refused; /* it makes no sense to try again soon */

    int64_t           session; /* 0: none */
    unsigned char     password[16];
    int64_t           zxid; /* highest seen */
    hf_time           timeout;
    uint64_t          sessions; /* had so far */
    struct hf_zk_call auth;
};

void hf_zk_link_init(struct hf_zk *zk, uint64_t seed);
void hf_zk_link_finish(struct hf_zk *zk);

/* Connect, read, notice time passing. */
void    hf_zk_link_run(struct hf_zk *zk);
void    hf_zk_link_flush(struct hf_zk *zk);
hf_time hf_zk_link_wake(const struct hf_zk *zk);

/* Give the connection up; `why` as a clause about the server. */
void hf_zk_link_break(struct hf_zk *zk, const char *why);

/* Our session is dead: all that was in it is gone. */
void hf_zk_link_lose(struct hf_zk *zk);

/* "host:port" of the server in use or last tried. */
const char *hf_zk_link_server(const struct hf_zk *zk, char *ret, size_t size);

/* ---- beat.c ------------------------------------------------------------------------ */

#define HF_ZK_BEAT_CHECKS 64 /* places proven by one heartbeat */

struct hf_zk_beat {
    struct hf_lease_quorum lease;
    struct hf_zk_call      call;
    struct hf_zk_call      kick;
    uint64_t               checked[HF_ZK_BEAT_CHECKS]; /* ids */
    size_t                 checks;
    uint64_t               after; /* id of the last one checked: go on there */
    hf_time                wrote; /* when the last committed write was sent */
    hf_time                tried; /* last heartbeat sent */
    hf_time                spoke; /* last anything sent */
    hf_time                heard; /* last anything received */
    hf_time                kicked;
    hf_time                pinged; /* 0: no ping in flight */
};

void    hf_zk_beat_start(struct hf_zk *zk, hf_time sent, hf_time answered, bool fresh);
void    hf_zk_beat_run(struct hf_zk *zk);
hf_time hf_zk_beat_wake(const struct hf_zk *zk);
void hf_zk_beat_heard(struct hf_zk *zk, hf_time sent, hf_time answered, bool committed);
void hf_zk_beat_pong(struct hf_zk *zk, hf_time answered);

/* ---- watch.c ----------------------------------------------------------------------- */

enum hf_zk_watch_kind {
    HF_ZK_WATCH_DATA,     /* a node that is there: changed or deleted */
    HF_ZK_WATCH_CHILDREN, /* a folder: or, if it is not there, until it is made */
};

/* What a listener hears. */
enum hf_zk_news {
    HF_ZK_NEWS_ARMED,   /* from now on nothing is missed; zk->seen has what was read */
    HF_ZK_NEWS_CHANGED, /* the watch is used up: listen again */
    HF_ZK_NEWS_GONE,    /* deleted, or was not there: used up, too */
};

struct hf_zk_watch;

struct hf_zk_listener {
    void (*on_news)(struct hf_zk *zk, struct hf_zk_listener *listener,
                    enum hf_zk_news news);
    void                  *data;
    struct hf_zk_watch    *watch; /* NULL: does not listen */
    struct hf_zk_listener *next;
};

struct hf_zk_watches {
    struct hf_zk_watch *bucket[HF_ZK_BUCKETS];
    size_t              count;
    unsigned            restoring; /* messages to restore them that are unanswered */
};

/* The node as it was when a watch was armed; lent for the time of on_news. */
struct hf_zk_seen {
    struct hf_zk_stat stat;
    struct hf_zk_text text;  /* DATA */
    bool              there; /* CHILDREN: is the folder there? */
};

/* Listen to a path.  0 or HF_ENOMEM.  The listener must not be listening. */
int hf_zk_listen(struct hf_zk *zk, struct hf_zk_listener *listener,
                 enum hf_zk_watch_kind kind, const char *path);

/* No more.  `goes`: the node is about to go by our own hand, so that the watch
 * ends by itself.  A listener that does not listen is left alone. */
void hf_zk_unlisten(struct hf_zk *zk, struct hf_zk_listener *listener, bool goes);

/* Would it have heard by now?  Not while watches are being restored. */
bool hf_zk_is_armed(const struct hf_zk *zk, const struct hf_zk_listener *listener);

void hf_zk_watches_event(struct hf_zk *zk, int32_t type, struct hf_zk_text path);
void hf_zk_watches_restore(struct hf_zk *zk); /* on a new connection */
void hf_zk_watches_restored(struct hf_zk *zk);
void hf_zk_watches_drop(struct hf_zk *zk); /* the session is gone */

/* ---- line.c ------------------------------------------------------------------------ */

/* One child of a folder, as last listed. */
struct hf_zk_place {
    const char          *name; /* in line->text */
    struct hf_zk_child   child;
    uint64_t             seq;
    struct hf_zk_ticket *ticket; /* if it is ours */
    bool                 gone;   /* since it was listed */
};

struct hf_zk_line {
    struct hf_zk_line   *next; /* in its bucket */
    char                *name;
    char                *folder; /* full path */
    size_t               users;  /* tasks and tickets */
    struct hf_zk_ticket *tickets;

    /* The last listing: places sorted by seq. */
    struct hf_zk_place *place;
    size_t              count, room;
    char               *text;
    size_t              text_room;
    size_t              head;  /* the first that is not gone */
    bool                plain; /* mutexes all, so that nobody can join ahead */
    uint64_t           *slots; /* of a semaphore: a bit for each one taken */
    size_t              slot_words;
    size_t              foreign;
    uint64_t            stamp;
    uint64_t            claim; /* czxid of the claim as last read: its seq */

    struct hf_zk_task *asking, *asking_last; /* want a listing sent from now on */
    bool               queued;               /* in zk->listing */
    bool               refreshing;           /* vigils wait for a listing */
    struct hf_zk_line *next_listing;
};

struct hf_zk_line *hf_zk_line_get(struct hf_zk *zk,
                                  const char   *name); /* NULL: no memory */
void               hf_zk_line_put(struct hf_zk *zk, struct hf_zk_line *line);

/* Call `task->on_list` with a listing made after now. */
void hf_zk_line_ask(struct hf_zk *zk, struct hf_zk_line *line, struct hf_zk_task *task);
/* Have the vigils of this line looked after with a new listing. */
void hf_zk_line_refresh(struct hf_zk *zk, struct hf_zk_line *line);
/* Send the listings asked for; or, when the connection broke, say so. */
void hf_zk_lines_flush(struct hf_zk *zk);
void hf_zk_lines_fail(struct hf_zk *zk);

/* Index of the place `seq`; line->count: it is not there. */
size_t hf_zk_line_find(const struct hf_zk_line *line, uint64_t seq);
/* The nearest place before `index` that is not gone; line->count: none. */
size_t hf_zk_line_before(const struct hf_zk_line *line, size_t index);
/* A place has gone: look after those it may concern. */
void hf_zk_line_gone(struct hf_zk *zk, struct hf_zk_line *line, size_t index);

/* Full path of a child; `ret` has HF_ZK_PATH_MAX bytes. */
void hf_zk_path(const struct hf_zk_line *line, const char *child, char *ret);

/* ---- ticket.c ---------------------------------------------------------------------- */

enum hf_zk_where {
    HF_ZK_NOWHERE, /* not created yet */
    HF_ZK_UNSURE,  /* asked for, and the answer was lost */
    HF_ZK_THERE,
    HF_ZK_AWAY, /* was there, and is not any more */
};

struct hf_zk_ticket {
    struct hf_zk_ticket  *next;   /* in its bucket */
    struct hf_zk_ticket  *beside; /* in its line */
    struct hf_zk         *zk;
    struct hf_zk_line    *line;
    uint64_t              id;
    char                  uuid[HF_ZK_UUID + 1];
    enum hf_zk_where      where;
    bool                  leaving; /* a delete was sent, and the answer was lost */
    bool                  moving;  /* it is being given another name */
    struct hf_shape       shape;
    char                 *path; /* when THERE */
    uint64_t              seq, token;
    int64_t               number; /* in its name */
    int                   slot;
    int                   slot_tried;
    bool                  slot_unsure; /* asked for slot_tried, and the answer was lost */
    char                 *asked;       /* why somebody wants it */
    bool                  told;        /* and the caller knows */
    struct hf_zk_listener own;         /* to the own node */
    struct hf_zk_listener near;        /* to one ahead, while waiting */
    uint64_t              near_seq;    /* which */
    bool                  doubt;       /* others ahead may have gone, too: list */
    struct hf_zk_task    *vigil;       /* the WATCH that waits here */
    hf_time               arm_at;      /* listen to the own node then; 0: no */
    struct hf_zk_ticket  *next_arm, **prev_arm;
};

struct hf_zk_ticket *hf_zk_ticket_find(const struct hf_zk *zk, uint64_t id);
struct hf_zk_ticket *hf_zk_ticket_new(struct hf_zk *zk, const struct hf_req *req);
void                 hf_zk_ticket_free(struct hf_zk *zk, struct hf_zk_ticket *ticket);
void                 hf_zk_tickets_drop(struct hf_zk *zk); /* the session is gone */

/* It is there, under this name (of `size` bytes), with this stat.  0, or
 * HF_ENOMEM, HF_ELOST if it is not ours after all. */
int hf_zk_ticket_found(struct hf_zk *zk, struct hf_zk_ticket *ticket, const char *name,
                       size_t size, const struct hf_zk_stat *stat);
/* Any state but THERE. */
void hf_zk_ticket_set(struct hf_zk *zk, struct hf_zk_ticket *ticket,
                      enum hf_zk_where where);
/* Do not listen to the own node later. */
void hf_zk_ticket_disarm(struct hf_zk *zk, struct hf_zk_ticket *ticket);
/* Listen to nothing any more; `goes` as of hf_zk_unlisten(). */
void hf_zk_ticket_quiet(struct hf_zk *zk, struct hf_zk_ticket *ticket, bool goes);
/* It is not there any more, by no doing of ours. */
void hf_zk_ticket_away(struct hf_zk *zk, struct hf_zk_ticket *ticket);

/* ---- answer.c ---------------------------------------------------------------------- */

/* The line as the ticket sees it, its place last if it has one; from the last
 * listing.  0 or HF_ENOMEM. */
int hf_zk_answer(struct hf_zk *zk, struct hf_req *req, struct hf_zk_line *line,
                 struct hf_zk_ticket *ticket, const struct hf_shape *shape);

/* Would it pass, as the line was last listed? */
bool hf_zk_granted(const struct hf_zk_line *line, const struct hf_zk_ticket *ticket);

/* What a place weighs to somebody who is of the shape `mine`. */
struct hf_shape hf_zk_shape_to(const struct hf_zk_child *child,
                               const struct hf_shape    *mine);

/* How many wait of the first `end` places, and whether `shape` would be granted at
 * once if it stood next. */
size_t hf_zk_line_waiting(const struct hf_zk_line *line, size_t end,
                          const struct hf_shape *shape, bool *free_for);

/* ---- tasks: store.c ---------------------------------------------------------------- */

struct hf_zk_task {
    struct hf_zk          *zk;
    struct hf_req         *req;
    struct hf_zk_task     *next, **prev; /* all of them */
    struct hf_zk_task     *next_asking;
    struct hf_zk_line     *line;
    struct hf_zk_ticket   *ticket;
    struct hf_zk_call      call[4];
    int                    step;
    int                    error; /* of a call, until the others are answered */
    int                    folder_error;
    unsigned               tries;
    struct hf_zk_listener *listener; /* of a WATCH: its own array */
    size_t                 listeners;
    void                  *more; /* of LIST, BREAK, ASK, PROVE, EXAMINE */
    void (*free_more)(void *more);
    void (*on_list)(struct hf_zk *zk, struct hf_zk_task *task, int error);
};

/* Finish it: done() is called, the task is gone. */
void hf_zk_finish(struct hf_zk *zk, struct hf_zk_task *task, int status);
/* The same with base.errmsg set. */
void hf_zk_fail(struct hf_zk *zk, struct hf_zk_task *task, int status, const char *format,
                ...) __attribute__((format(printf, 4, 5)));

/* The verbs: start a task while the link is up. */
void hf_zk_enter(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_look(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_watch(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_leave(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_amend(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_list(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_break(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_ask(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_prove(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_examine(struct hf_zk *zk, struct hf_zk_task *task);

/* look.c: answer with the line as listed, taking a slot first if it needs one. */
void hf_zk_look_answer(struct hf_zk *zk, struct hf_zk_task *task);
/* The name of our node in the last listing; NULL: it is not there. */
const char *hf_zk_find_own(const struct hf_zk_line   *line,
                           const struct hf_zk_ticket *ticket);
/* If our node is not in the listing just taken in, somebody took it away. */
void hf_zk_settle(struct hf_zk *zk, struct hf_zk_ticket *ticket);
/* Find out what became of a ticket that is UNSURE, then go on. */
void hf_zk_search(struct hf_zk *zk, struct hf_zk_task *task,
                  void (*then)(struct hf_zk *zk, struct hf_zk_task *task));

/* enter.c: read the claim before a listing, so that its seq is known. */
void hf_zk_claim_look(struct hf_zk *zk, struct hf_zk_task *task);

/* gather.c: one child of a folder with what is in it; strings are its own. */
struct hf_zk_item {
    char              *line; /* the lock's name */
    char              *name; /* of the child */
    struct hf_zk_child child;
    uint64_t           seq, token;
    int64_t            since; /* us since 1970 */
    int32_t            version;
    int                slot;
    bool               there; /* it still was when it was read */
    char              *note;  /* its data, or the part of it that is the note */
    char              *text;  /* all its data */
};

struct hf_zk_items {
    struct hf_zk_item *item;
    size_t             count;
    uint64_t           stamp; /* of the last folder */
};

/* Read every place in the task's line, or in all, then go on.  What was found is
 * sorted by name and number. */
void hf_zk_gather(struct hf_zk *zk, struct hf_zk_task *task,
                  void (*then)(struct hf_zk *zk, struct hf_zk_task *task,
                               const struct hf_zk_items *items));

/* slot.c: have a slot for the granted ticket, then answer. */
void hf_zk_slot_take(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_slot_path(const struct hf_zk_line *line, int slot, char *ret);

/* vigil.c */
void hf_zk_vigil_look(struct hf_zk *zk, struct hf_zk_ticket *ticket);
void hf_zk_vigil_end(struct hf_zk *zk, struct hf_zk_task *task); /* canceled, finished */
void hf_zk_vigils_run(struct hf_zk *zk);
void hf_zk_vigils_resume(struct hf_zk *zk); /* on a new connection */
hf_time hf_zk_vigils_wake(const struct hf_zk *zk);

struct hf_zk {
    struct hf_store      base;
    struct hf_zk_config  config;
    struct hf_tls       *tls;
    uint64_t             salt[2];
    hf_time              now;
    struct hf_zk_link    link;
    struct hf_zk_calls   calls;
    struct hf_zk_beat    beat;
    struct hf_zk_watches watches;
    struct hf_zk_seen    seen;
    struct hf_zk_line   *line[HF_ZK_BUCKETS];
    struct hf_zk_line   *listing; /* those with a listing to send */
    struct hf_zk_ticket *ticket[HF_ZK_BUCKETS];
    size_t               tickets; /* that are THERE */
    struct hf_zk_ticket *arm_first, **arm_last;
    struct hf_requests   waiting; /* not yet begun */
    struct hf_zk_task   *tasks;
    struct hf_requests   canceled; /* WATCHes that are to end */
    bool                 cancels;  /* some of those waiting are */
    bool                 closing;
    struct hf_ticket    *snapshot; /* of the answer being given */
    size_t               snapshot_room;
};

#endif
