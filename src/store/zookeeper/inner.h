/* inner.h - the ZooKeeper store, its tasks and its verbs.
 *
 *   store.c         open, close, process: puts the rest together
 *   session_key.c   ends a session from another process
 *
 *   The verbs, each in the file of its name; LIST, BREAK and ASK in others.c
 *   enter.c  watch.c  leave.c  downgrade.c  verify.c
 *   group.c         ENTERs that belong together, in one step
 *
 *   Rooms, each with a header that lists its files; one uses those above it
 *   wire/           messages, calls, the session and its heartbeat
 *   watches/        watched paths
 *   line/           the queue of a lock, and our places in it
 *   wait/           what a waiter does
 *   inspect/        LIST's scan, DIAGNOSE, WATCH_STORE
 *
 * A task is one request of the caller's while we work on it.  It may take several calls;
 * the function that gets an answer makes the next call.
 */
#ifndef HF_ZK_INNER_H
#define HF_ZK_INNER_H

#include "store/remote/task.h"
#include "store/zookeeper/inspect/inspect.h"
#include "store/zookeeper/line/line.h"
#include "store/zookeeper/line/own.h"
#include "store/zookeeper/wait/wait.h"

struct hf_zk {
    union { /* the same by two names */
        struct hf_store  base;
        struct hf_remote remote;
    };
    struct hf_zk_config        config;
    struct hf_tls             *tls;
    uint64_t                   salt[2];
    int                        chroot_error; /* why it could not be created */
    struct hf_dial             dial;
    struct hf_zk_link          link;
    struct hf_zk_calls         calls;
    struct hf_zk_beat          beat;
    struct hf_zk_watched_paths watched;
    struct hf_zk_compare       compare;
    struct hf_zk_seen          seen;
    struct hf_zk_store_watch   store_watch;
    struct hf_zk_line         *line[HF_ZK_BUCKETS];
    struct hf_zk_line         *to_list; /* lines with a listing to send */
    struct hf_zk_own          *own[HF_ZK_BUCKETS];
    size_t                     own_count; /* THERE or UNSURE */
    size_t                     own_bytes; /* of the paths of those that are not TAKEN */
    struct hf_zk_companion    *orphans;   /* companions of places that are gone */
    struct hf_zk_timers        to_listen; /* own_node.c */
    struct hf_zk_timers        to_read;   /* wait.c */
    struct hf_zk_group        *groups;
    struct hf_zk_probe        *probes; /* in flight */
};

/* ---- Tasks: store.c ----------------------------------------------------------------- */

struct hf_zk_task {
    struct hf_task        base;
    struct hf_zk_task    *next_wanting; /* in line->wanting */
    struct hf_zk_line    *line;
    struct hf_zk_own     *own;
    struct hf_zk_call     call[4];
    int                   step;
    int                   error; /* of a call, until the others are answered */
    int                   folder_error;
    unsigned              tries;
    struct hf_zk_listener listener; /* of a WATCH from outside: to the folder */
    void                 *more;     /* of LIST, BREAK, ASK, VERIFY, DIAGNOSE */
    void (*free_more)(void *more);
    void (*on_list)(struct hf_zk *zk, struct hf_zk_task *task, int error);
    void (*on_recovered)(struct hf_zk *zk, struct hf_zk_task *task);
    void (*on_deleted)(struct hf_zk *zk, struct hf_zk_task *task, int error);
    const char               *deleted; /* the path of the place */
    const struct hf_zk_entry *broken;  /* of BREAK: the place */

    struct hf_zk_group *group; /* NULL: it is in no group */
    struct hf_zk_task  *next_in_group;
    bool                arrived; /* ready to create its node, and waits for the others */
    size_t made_together;        /* how many nodes its MULTI creates, for it and others */
};

/* Zeros of `size` bytes as task->more.  NULL: no memory, and the task has failed. */
void *hf_zk_task_more(struct hf_zk_task *task, size_t size,
                      void (*free_more)(void *more));

/* Is this an error, other than that there is no such node?  Then the task has failed. */
bool hf_zk_task_failed(struct hf_zk *zk, struct hf_zk_task *task, int error,
                       const char *what, const char *path);

/* ---- Verbs: each starts a task while the link is up --------------------------------- */

void hf_zk_enter(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_watch(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_leave(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_downgrade(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_list(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_break(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_ask(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_verify(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_diagnose(struct hf_zk *zk, struct hf_zk_task *task);

/* enter.c: create the nodes of `count` tasks, linked by next_in_group, in one step. */
void hf_zk_enter_make(struct hf_zk *zk, struct hf_zk_task *first, size_t count);

/* watch.c: a WATCH ends; is canceled. */
void hf_zk_watch_end(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_watch_cancel(struct hf_task *task);

/* leave.c: delete a place and its companion (NULL: none), by call[0], then go on with
 * ZooKeeper's error.  `path` is lent until then. */
void hf_zk_place_delete(struct hf_zk *zk, struct hf_zk_task *task, const char *path,
                        const char *companion,
                        void (*then)(struct hf_zk *zk, struct hf_zk_task *task,
                                     int error));

/* group.c: an ENTER joins its group; ends. */
void hf_zk_group_join(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_group_leave(struct hf_zk *zk, struct hf_zk_task *task, int status);
/* All tasks of its group fail because this one could not create its node. */
void hf_zk_group_blame(struct hf_zk *zk, struct hf_zk_task *task);
/* Has one of its group failed?  Then base.errmsg says why. */
int hf_zk_group_failed(struct hf_zk *zk, const struct hf_zk_task *task);
/* Send the complete groups; fail all, after the connection broke. */
void hf_zk_groups_run(struct hf_zk *zk);
void hf_zk_groups_fail(struct hf_zk *zk);

#endif
