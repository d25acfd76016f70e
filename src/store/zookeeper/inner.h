/* inner.h - what the files of the ZooKeeper store share.
 *
 *   store.c    open, close, process: puts the rest together
 *
 *   Below, in link.h
 *   address.c  the URL: servers, chroot, options
 *   link.c     a session on a connection; one server after another: store/remote/dial.h
 *   frames.c   what a server says, frame by frame
 *   call.c     one call on the wire and its answer
 *   will.c     a session that is another's, taken over to be ended
 *   beat.c     pings, heartbeats by quorum, the deadline
 *   wire.c     ZooKeeper's messages, as bytes
 *   names.c    what the nodes of a lock are called
 *
 *   In the middle, in line.h
 *   watched.c  watched paths, and who listens to them
 *   set_watches.c  arming them, by one call for all
 *   line.c     a lock's folder, as last listed
 *   listing.c  one listing for all tasks that want one
 *   ticket.c   our own places, found again by their id
 *   decide.c   what a waiter does next: pure
 *   standing.c how a place stands, which a task is answered
 *
 *   The verbs, each in the file of its name; LIST, BREAK and ASK in others.c
 *   enter.c watch.c leave.c amend.c prove.c examine.c survey.c
 *
 *   What the verbs use
 *   chroot.c   the node that all locks are below
 *   search.c   what became of a place whose answer was lost
 *   group.c    ENTERs that belong together, in one step
 *   slot.c     slot numbers of semaphores
 *   self.c     listening to our own node
 *   wait.c     waiting in line
 *   since.c    since when a place is held
 *   gather.c   places with what is in them, for list, break, ask and prove
 *   items.c    what was gathered: sorted, put together, searched
 *   compare.c  nodes that only the server in use shows
 *   probe.c    a question to a server on a connection of its own, for examine
 *
 * A task is one request of the caller's while we work on it.  It may take several
 * calls; each call's answer comes to a function that goes on from there.  When
 * the connection breaks, every call in flight is answered with
 * HF_ZK_CONNECTION_LOSS: the server may have done what it was told, or not.
 */
#ifndef HF_ZK_INNER_H
#define HF_ZK_INNER_H

#include "store/remote/task.h"
#include "store/zookeeper/line.h"
#include "store/zookeeper/survey.h"

/* ---- tasks: store.c ---------------------------------------------------------------- */

struct hf_zk_task {
    struct hf_task        base;
    struct hf_zk_task    *next_wanting;
    struct hf_zk_line    *line;
    struct hf_zk_ticket  *ticket;
    struct hf_zk_call     call[4];
    int                   step;
    int                   error; /* of a call, until the others are answered */
    int                   folder_error;
    unsigned              tries;
    struct hf_zk_listener listener; /* of a WATCH from outside: to the folder */
    void                 *more;     /* of LIST, BREAK, ASK, PROVE, EXAMINE */
    void (*free_more)(void *more);
    void (*on_list)(struct hf_zk *zk, struct hf_zk_task *task, int error);
    void (*on_found)(struct hf_zk *zk, struct hf_zk_task *task); /* or not, by search.c */
    void (*on_deleted)(struct hf_zk *zk, struct hf_zk_task *task, int error);
    const char *deleted; /* the path of the place */

    struct hf_zk_group *group; /* NULL: it is by itself */
    struct hf_zk_task  *next_mate;
    bool                arrived; /* about to make its node, and waits for the others */
    size_t              mates;   /* whose nodes its MULTI makes, its own included */
};

/* The verbs: start a task while the link is up. */
void hf_zk_enter(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_watch(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_leave(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_amend(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_list(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_break(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_ask(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_prove(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_examine(struct hf_zk *zk, struct hf_zk_task *task);

/* Zeros of `size` bytes as task->more.  NULL: no memory, and the task has failed. */
void *hf_zk_task_more(struct hf_zk_task *task, size_t size,
                      void (*free_more)(void *more));

/* If that is an error other than that there is no such node: the task has failed with it. */
bool hf_zk_task_failed(struct hf_zk *zk, struct hf_zk_task *task, int error,
                       const char *what, const char *path);

/* search.c: find out what became of a ticket that is UNSURE, then go on. */
void hf_zk_search(struct hf_zk *zk, struct hf_zk_task *task,
                  void (*then)(struct hf_zk *zk, struct hf_zk_task *task));

/* leave.c: delete a place with what goes with it (NULL: nothing), by call[0], then go on with
 * ZooKeeper's error.  `path` is lent until then. */
void hf_zk_place_delete(struct hf_zk *zk, struct hf_zk_task *task, const char *path,
                        const char *beside,
                        void (*then)(struct hf_zk *zk, struct hf_zk_task *task,
                                     int error));

/* enter.c: make the nodes of `count` tasks, linked by next_mate, in one step. */
void hf_zk_enter_make(struct hf_zk *zk, struct hf_zk_task *first, size_t count);

/* group.c: an ENTER joins its group; ends. */
void hf_zk_group_join(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_group_leave(struct hf_zk *zk, struct hf_zk_task *task, int status);
/* All of its group fail, for it could not make its node. */
void hf_zk_group_blame(struct hf_zk *zk, struct hf_zk_task *task);
/* Has one of its group failed?  Then base.errmsg says why. */
int hf_zk_group_failed(struct hf_zk *zk, const struct hf_zk_task *task);
/* Send what is complete; the connection broke. */
void hf_zk_groups_run(struct hf_zk *zk);
void hf_zk_groups_fail(struct hf_zk *zk);

/* gather.c: one child of a folder with what is in it; strings are its own. */
struct hf_zk_item {
    char              *line; /* the lock's name */
    char              *path;
    const char        *name; /* of the child: the end of its path */
    struct hf_zk_child child;
    uint64_t           seq, token;
    int64_t            since; /* us since 1970 */
    int                slot;
    const char        *beside; /* the name of the node that goes with it; NULL: none */
    bool               there;  /* it still was when it was read, and is a place */
    bool               hidden; /* we may not read it */
    char              *note;   /* its data, or the part of it that is the note */
    char              *text;   /* all its data */
};

struct hf_zk_items {
    struct hf_zk_item *item;
    size_t             count, room;
    uint64_t           stamp; /* of the last folder */
};

/* Read every place in the task's line, or in all, then go on.  What was found is
 * sorted by name and number. */
void hf_zk_gather(struct hf_zk *zk, struct hf_zk_task *task,
                  void (*then)(struct hf_zk *zk, struct hf_zk_task *task,
                               const struct hf_zk_items *items));

/* items.c: add the node `folder`/`name`, or `folder` if there is no name.  `child` NULL: it
 * is no place.  False: no memory. */
bool hf_zk_items_add(struct hf_zk_items *items, const char *line, const char *folder,
                     struct hf_zk_text name, const struct hf_zk_child *child);
/* Leave out those that are not there, sort the others, give places their slots, and make
 * their shapes agree. */
void hf_zk_items_arrange(struct hf_zk_items *items);
/* The places among them, to be freed; NULL: no memory.  Strings are lent. */
struct hf_ticket *hf_zk_items_tickets(const struct hf_zk_items *items, size_t *count);
/* The place that a BREAK or ASK is about; NULL: it is not there. */
const struct hf_zk_item *hf_zk_items_find(const struct hf_zk_items *items,
                                          const struct hf_req      *req);
void                     hf_zk_items_finish(struct hf_zk_items *items);

/* slot.c: have a slot for the granted ticket, then answer. */
void hf_zk_slot_take(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_slot_path(const struct hf_zk_line *line, int slot, char *ret);

/* watch.c: a WATCH ends; it is canceled. */
void hf_zk_watch_end(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_watch_cancel(struct hf_task *task);

/* wait.c: have a WATCH wait at the task's ticket; that ends.  See anew whether it is over: of
 * one ticket, of all in a line; with a listing just taken in, or one that could not be had. */
void hf_zk_wait(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_wait_end(struct hf_zk *zk, struct hf_zk_ticket *ticket);
void hf_zk_wait_review(struct hf_zk *zk, struct hf_zk_ticket *ticket);
void hf_zk_wait_review_all(struct hf_zk *zk, struct hf_zk_line *line);
void hf_zk_wait_listed(struct hf_zk *zk, struct hf_zk_line *line);
void hf_zk_wait_unlisted(struct hf_zk *zk, struct hf_zk_line *line, int error);
void hf_zk_wait_resume(struct hf_zk *zk); /* on a new connection */
void hf_zk_wait_run(struct hf_zk *zk);
/* A server has shown what is not so: every waiter lists again, on a new connection. */
void hf_zk_wait_forget(struct hf_zk *zk);

/* self.c: listen to the own node; have a holder do that a little later, if it needs to; is
 * it surely there? */
void hf_zk_self_listen(struct hf_zk *zk, struct hf_zk_ticket *ticket);
void hf_zk_self_listen_later(struct hf_zk *zk, struct hf_zk_ticket *ticket);
bool hf_zk_self_is_there(const struct hf_zk *zk, const struct hf_zk_ticket *ticket);
void hf_zk_self_run(struct hf_zk *zk);

/* since.c: did it have to wait for long?  Then its own node is to be read. */
bool hf_zk_since_is_due(const struct hf_zk_ticket *ticket);
/* The own node was read: write down since when it is held, if that is not there. */
void hf_zk_since_write(struct hf_zk *zk, struct hf_zk_ticket *ticket);
/* Since when any node is held: us since 1970. */
int64_t hf_zk_since_read(const char *text, const struct hf_zk_stat *stat);

/* chroot.c: the path of the chroot, "/" without one; make it, if that is wanted; why it is
 * missing, as the status of whoever needs it. */
const char *hf_zk_root(const struct hf_zk *zk);
void        hf_zk_chroot_make(struct hf_zk *zk);
int         hf_zk_chroot_fail(struct hf_zk *zk);

/* compare.c: compare what the server shows with what the leader knows; when to. */
#define HF_ZK_COMPARED 64 /* nodes by one call */

struct hf_zk_compare {
    hf_time           due;
    struct hf_zk_call call;
    int64_t           zxid;  /* of the check */
    size_t            after; /* the last bucket that was compared: go on there */
    char             *path[HF_ZK_COMPARED];
    size_t            count; /* 0: none is under way */
};

void    hf_zk_compare_run(struct hf_zk *zk);
hf_time hf_zk_compare_wake(const struct hf_zk *zk);

/* probe.c: go on with those that are sent; when to. */
void    hf_zk_probes_run(struct hf_zk *zk, bool readable);
hf_time hf_zk_probes_wake(const struct hf_zk *zk);

struct hf_zk_probe;

struct hf_zk {
    union { /* the same by two names */
        struct hf_store  base;
        struct hf_remote remote;
    };
    struct hf_zk_config        config;
    struct hf_tls             *tls;
    uint64_t                   salt[2];
    int                        chroot_error; /* why it could not be made */
    struct hf_dial             dial;
    struct hf_zk_link          link;
    struct hf_zk_calls         calls;
    struct hf_zk_beat          beat;
    struct hf_zk_watched_paths watched;
    struct hf_zk_compare       compare;
    struct hf_zk_seen          seen;
    struct hf_zk_survey        survey;
    struct hf_zk_line         *line[HF_ZK_BUCKETS];
    struct hf_zk_line         *to_list; /* those with a listing to send */
    struct hf_zk_ticket       *ticket[HF_ZK_BUCKETS];
    size_t                     tickets;   /* that are THERE or UNSURE */
    struct hf_zk_timers        to_listen; /* holders, to their own nodes */
    struct hf_zk_timers        to_read;   /* waiters, what they depend on */
    struct hf_zk_group        *groups;
    struct hf_zk_probe        *probes; /* sent, not answered */
};

#endif
