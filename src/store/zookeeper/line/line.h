/* line.h - the queue of one lock in ZooKeeper: its folder, as last listed.
 *
 *   names.c     what nodes are called
 *   names_own.c what ours are called
 *   line.c      the folder, and the places in it that we listen to
 *   listing.c   one listing for all tasks that want one
 *   own.c       our own places, found again by their id (own.h)
 *   companion.c the node slot-N or `claim` of a place
 *   recover.c   finds out what became of a place whose answer was lost
 *   slot.c      slot numbers of semaphores
 *   standing.c  how a place stands, as tasks are answered
 *   since.c     since when a place has been held
 *   chroot.c    the node below which all locks are
 */
#ifndef HF_ZK_LINE_H
#define HF_ZK_LINE_H

#include "store/zookeeper/line/names.h"
#include "store/zookeeper/watches/watches.h"
#include "store/zookeeper/wire/link.h"

#define HF_ZK_PATH_MAX     (HF_ZK_CHROOT + HF_ZK_FOLDER_MAX + HF_ZK_CHILD_MAX + 2)
#define HF_ZK_SEQUENCE_END INT32_MAX /* the server's counter stops there */

struct hf_zk_task;
struct hf_zk_own;

/* ---- line.c ------------------------------------------------------------------------- */

/* A place since it was listed, as far as we heard. */
enum hf_zk_fate {
    HF_ZK_STANDS,
    HF_ZK_GONE,
    HF_ZK_GHOST, /* its node is gone, but it may have been downgraded: decide.c */
};

/* One child of a folder, as last listed. */
struct hf_zk_place {
    const char                  *name; /* in line->text */
    struct hf_zk_child           child;
    uint64_t                     seq;
    enum hf_zk_fate              state;
    struct hf_zk_own            *own;      /* STANDS, and it is ours */
    struct hf_zk_place_listener *listener; /* STANDS, and we listen to it */
};

/* Listens to a place for all of our waiters behind it. */
struct hf_zk_place_listener {
    struct hf_zk_listener        base;
    struct hf_zk_line           *line;
    uint64_t                     seq;
    struct hf_zk_place_listener *next; /* in line->listeners */
};

/* A listing in flight. */
struct hf_zk_listing {
    struct hf_zk_call  call;
    struct hf_zk_line *line;
    struct hf_zk_task *tasks;
};

struct hf_zk_line {
    struct hf_zk_line *next; /* in its bucket */
    char              *name;
    char              *folder;    /* full path */
    size_t             users;     /* tasks, own places, listings, and watch_store.c */
    unsigned           flags;     /* of watch_store.c, a user while any is set */
    struct hf_zk_own  *own;       /* our places */
    size_t             own_count; /* of those: THERE or UNSURE */

    /* The last listing: places sorted by seq. */
    struct hf_zk_place *place;
    size_t              count, room;
    char               *text;
    size_t              text_room;
    size_t              head;  /* the first that is not GONE */
    bool                stale; /* something has changed since */
    uint32_t           *slot;  /* of a semaphore: those taken */
    size_t              slots, slot_room;
    uint64_t            stamp;   /* pzxid of the folder */
    uint64_t            written; /* its mzxid; UINT64_MAX: there is no folder */

    struct hf_zk_place_listener *listeners;
    struct hf_zk_listener        folder_listener; /* hears of every place */
    bool unreadable; /* a place ahead of one of ours could not be read */

    struct hf_zk_listing first;                /* so that one can always be sent */
    struct hf_zk_task *wanting, *wanting_last; /* want a listing that is yet to be sent */
    size_t             flying;                 /* listings in flight */
    bool               queued;                 /* in zk->to_list */
    struct hf_zk_line *next_to_list;
};

/* Get the line of that name, and become a user of it (NULL: no memory); stop using it. */
struct hf_zk_line *hf_zk_line_get(struct hf_zk *zk, const char *name);
void               hf_zk_line_put(struct hf_zk *zk, struct hf_zk_line *line);

/* Full path of a child of ours; `ret` has HF_ZK_PATH_MAX bytes. */
void hf_zk_path(const struct hf_zk_line *line, const char *child, char *ret);
/* The same for any child; its name may have any length.  To be freed; NULL: no memory. */
char *hf_zk_path_new(const struct hf_zk_line *line, const char *child);

/* Index of the place `seq`; line->count: it is not there. */
size_t hf_zk_line_find(const struct hf_zk_line *line, uint64_t seq);
/* Index of our node in the last listing, found by its id; line->count: it is not there. */
size_t hf_zk_line_find_own(const struct hf_zk_line *line, const struct hf_zk_own *own);

/* The node of a place is gone: review our waiters that may depend on it. */
void hf_zk_line_place_ended(struct hf_zk *zk, struct hf_zk_line *line, size_t index);

/* Listen for the end of a place: 0 or HF_ENOMEM. */
int hf_zk_line_listen_to(struct hf_zk *zk, struct hf_zk_line *line, size_t index);
/* Listen to the folder: 0, HF_ENOMEM, or 1: it has changed since it was listed. */
int hf_zk_line_listen_to_folder(struct hf_zk *zk, struct hf_zk_line *line);
/* Stop listening to places and folder. */
void hf_zk_line_unlisten(struct hf_zk *zk, struct hf_zk_line *line);
/* After a listing: give each listener its place again, or free it. */
void hf_zk_line_match_listeners(struct hf_zk *zk, struct hf_zk_line *line);

/* ---- listing.c ---------------------------------------------------------------------- */

/* Call `task->on_list` with a listing that is sent after this call. */
void hf_zk_line_list(struct hf_zk *zk, struct hf_zk_line *line, struct hf_zk_task *task);
/* List the line for our waiters in it, unless a listing is in flight. */
void hf_zk_line_refresh(struct hf_zk *zk, struct hf_zk_line *line);
/* The last listing was wrong: forget it. */
void hf_zk_line_forget(struct hf_zk *zk, struct hf_zk_line *line);
/* Send the queued listings; or fail them, after the connection broke. */
void hf_zk_lines_flush(struct hf_zk *zk);
void hf_zk_lines_fail(struct hf_zk *zk);

/* ---- recover.c, slot.c -------------------------------------------------------------- */

/* Find out what became of a place that is UNSURE, then go on. */
void hf_zk_recover(struct hf_zk *zk, struct hf_zk_task *task,
                   void (*then)(struct hf_zk *zk, struct hf_zk_task *task));

/* Take a slot for the granted place, then answer. */
void hf_zk_slot_take(struct hf_zk *zk, struct hf_zk_task *task);

/* ---- standing.c --------------------------------------------------------------------- */

/* How it stands, if it is there: it WAITS or HOLDS.  Strings are lent. */
struct hf_standing hf_zk_standing(const struct hf_zk_own *own, enum hf_stand state);

/* Answer that the task's place is in this state, after taking a slot if it needs one. */
void hf_zk_answer(struct hf_zk *zk, struct hf_zk_task *task, enum hf_stand state);
/* Answer from the listing that was just taken in; list the line first. */
void hf_zk_answer_listed(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_list_and_answer(struct hf_zk *zk, struct hf_zk_task *task);

/* Why a place cannot wait in this line: returns HF_E..., and sets base.errmsg. */
int hf_zk_refusal(struct hf_zk *zk, const struct hf_zk_line *line,
                  enum hf_verdict verdict);

/* Have our places more bytes of paths than one session may have?  HF_EFULL, with
 * base.errmsg; or 0. */
int hf_zk_session_full(struct hf_zk *zk);

/* End a BREAK, ASK or VERIFY with ZooKeeper's error; with `gone` if the place was not
 * there. */
void hf_zk_answer_done(struct hf_zk *zk, struct hf_zk_task *task, int error, int gone,
                       const char *what);

/* How many of the first `end` places wait; and the verdict on a place that would stand
 * next. */
size_t hf_zk_line_waiting(const struct hf_zk_line *line, size_t end,
                          const struct hf_shape *shape, enum hf_verdict *verdict);

/* ---- since.c ------------------------------------------------------------------------ */

/* Did it wait for long?  Then its node must be read, to write down since when it is held.
 */
bool hf_zk_since_is_due(const struct hf_zk_own *own);
/* The own node was read: write down since when it is held, if that is missing. */
void hf_zk_since_write(struct hf_zk *zk, struct hf_zk_own *own);
/* Since when any node is held: us since 1970. */
int64_t hf_zk_since_read(const char *text, const struct hf_zk_stat *stat);

/* ---- chroot.c ----------------------------------------------------------------------- */

/* Its path, "/" without one. */
const char *hf_zk_root(const struct hf_zk *zk);
/* Create it, if zk->config.init says so. */
void hf_zk_chroot_make(struct hf_zk *zk);
/* Why it is missing, as the status of the task that needs it. */
int hf_zk_chroot_fail(struct hf_zk *zk);

#endif
