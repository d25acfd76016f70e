/* inner.h - what the files of the ZooKeeper store share.
 *
 *   store.c    open, close, submit, cancel, process: brings the rest together
 *   address.c  the URL: servers, chroot, options
 *   link.c     a session on a connection; every server in turn: store/remote/dial.h
 *   frames.c   what a server says: greeting, answers, events
 *   chroot.c   the node that all locks are below
 *   call.c     one request on the wire and its answer
 *   beat.c     pings, heartbeats by quorum, the deadline
 *   watch.c    watched paths and who listens, across connections
 *   restore.c  the same when connections and sessions come and go
 *   line.c     a lock's folder, as last listed
 *   listing.c  one listing for many askers
 *   ticket.c   our own places, found again by their id
 *   answer.c   what a line looks like to an asker
 *   claim.c    claims, which all have one name
 *   enter.c leave.c look.c vigil.c amend.c list.c reach.c prove.c: the verbs
 *   date.c     since when a place is held
 *   named.c    waiting for places that are named, or for any change
 *   hidden.c   waiting for a place that we may not read
 *   gather.c   places with what is in them, for list, reach and prove
 *   group.c    ENTERs that belong together, in one step
 *   slot.c     slot numbers of semaphores
 *   examine.c  what doctor tells, with the rest of examine.h
 *
 * A task is one request of the caller's while we work on it.  It may take several
 * calls; each call's answer comes to a function that goes on from there.  When
 * the connection breaks, every call in flight is answered with
 * HF_ZK_CONNECTION_LOSS, and what was asked may or may not have been done.
 */
#ifndef HF_ZK_INNER_H
#define HF_ZK_INNER_H

#include "store/remote/task.h"
#include "store/zookeeper/line.h"

/* ---- tasks: store.c ---------------------------------------------------------------- */

struct hf_zk_task {
    struct hf_task         base;
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
    uint64_t claim; /* which claim it is about: its seq */
    void (*on_claim)(struct hf_zk *zk, struct hf_zk_task *task, int error);

    struct hf_zk_group *group; /* NULL: it is by itself */
    struct hf_zk_task  *next_mate;
    bool                arrived; /* and waits for the others */
    int32_t             part;    /* of the MULTI in flight; -1: none */
};

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

/* claim.c: read the claim before a listing, so that its seq is known. */
void hf_zk_claim_look(struct hf_zk *zk, struct hf_zk_task *task);
/* Delete this claim and no other, then go on with ZooKeeper's error. */
void hf_zk_claim_delete(struct hf_zk *zk, struct hf_zk_task *task, uint64_t seq,
                        void (*then)(struct hf_zk *zk, struct hf_zk_task *task,
                                     int error));

/* enter.c: what making a node consists of: the folder, if need be; the path, `ret` having
 * HF_ZK_PATH_MAX bytes; how that went; the listing behind it.  All of it. */
void hf_zk_enter_folder(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_enter_path(struct hf_zk *zk, const struct hf_zk_task *task, char *ret);
void hf_zk_enter_made(struct hf_zk *zk, struct hf_zk_task *task, struct hf_zk_text path,
                      const struct hf_zk_stat *stat);
void hf_zk_enter_failed(struct hf_zk *zk, struct hf_zk_task *task, int error);
void hf_zk_enter_list(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_enter_alone(struct hf_zk *zk, struct hf_zk_task *task);

/* group.c: an ENTER begins; is about to make its node; ends. */
void hf_zk_group_join(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_group_arrive(struct hf_zk_task *task);
void hf_zk_group_leave(struct hf_zk *zk, struct hf_zk_task *task, int status);
/* Has one of its group failed?  Then base.errmsg says why. */
int hf_zk_group_failed(struct hf_zk *zk, const struct hf_zk_task *task);
/* Send what is complete; the connection broke. */
void hf_zk_groups_run(struct hf_zk *zk);
void hf_zk_groups_fail(struct hf_zk *zk);

/* gather.c: one child of a folder with what is in it; strings are its own. */
struct hf_zk_item {
    char              *line; /* the lock's name */
    char              *name; /* of the child */
    struct hf_zk_child child;
    uint64_t           seq, token;
    int64_t            since; /* us since 1970 */
    int32_t            version;
    int                slot;
    bool               there;  /* it still was when it was read */
    bool               hidden; /* we may not read it */
    char              *note;   /* its data, or the part of it that is the note */
    char              *text;   /* all its data */
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

/* hidden.c: listen to the folder instead of a place in it.  0 or HF_ENOMEM. */
int hf_zk_hidden_near(struct hf_zk *zk, struct hf_zk_ticket *ticket);
int hf_zk_hidden_named(struct hf_zk *zk, struct hf_zk_task *task,
                       struct hf_zk_listener *listener);

/* vigil.c */
void    hf_zk_vigil_look(struct hf_zk *zk, struct hf_zk_ticket *ticket);
void    hf_zk_vigil_end(struct hf_zk *zk, struct hf_zk_task *task);
void    hf_zk_vigils_run(struct hf_zk *zk);
void    hf_zk_vigils_resume(struct hf_zk *zk); /* on a new connection */
hf_time hf_zk_vigils_wake(const struct hf_zk *zk);

/* named.c: a WATCH that is no vigil in a line of mutexes; the end of any. */
void hf_zk_watch_named(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_watch_folder(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_vigil_cancel(struct hf_task *task);
/* Listen to a place in line, anybody's.  0 or HF_ENOMEM. */
int hf_zk_listen_place(struct hf_zk *zk, struct hf_zk_listener *listener,
                       const struct hf_zk_line *line, const struct hf_zk_place *place);

/* date.c: it is held from now on. */
void hf_zk_date_begin(struct hf_zk *zk, struct hf_zk_ticket *ticket);
/* The own node was read: write down since when it is held, if that is not there. */
void hf_zk_date(struct hf_zk *zk, struct hf_zk_ticket *ticket);
/* Since when any node is held: us since 1970. */
int64_t hf_zk_dated(const char *text, const struct hf_zk_stat *stat);

/* chroot.c: make it, if that is wanted; why it is missing, as the status of whoever needs
 * it. */
void hf_zk_chroot_make(struct hf_zk *zk);
int  hf_zk_chroot_fail(struct hf_zk *zk);

/* word.c: questions to servers outside of the session. */
void    hf_zk_words_run(struct hf_zk *zk);
hf_time hf_zk_words_wake(const struct hf_zk *zk);

struct hf_zk_word;

struct hf_zk {
    union { /* the same by two names */
        struct hf_store  base;
        struct hf_remote remote;
    };
    struct hf_zk_config  config;
    struct hf_tls       *tls;
    uint64_t             salt[2];
    int                  chroot_error; /* why it could not be made */
    struct hf_dial       dial;
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
    struct hf_zk_group  *groups;
    struct hf_zk_word   *words;    /* asked, not answered */
    struct hf_ticket    *snapshot; /* of the answer being given */
    size_t               snapshot_room;
};

#endif
