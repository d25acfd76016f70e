/* guard.h - the guardian: a second, tiny process that outlives the first.
 *
 *     holdfast run ---- socket ---- guardian ---- command ---- all it starts
 *
 * The guardian starts the command and sees its whole tree to the end.  It is
 * forked before the store is opened: one thread, no database, nothing that can
 * hang.  It has copies of the descriptors that keep the session alive
 * (hf_lifeline), and closes them only when the tree is gone; so nobody else is
 * granted the lock while any of the tree still runs.  The command inherits copies,
 * too (child.c): they count when both holdfast and the guardian were killed.  The
 * guardian ends the tree
 *
 *     at once    when the socket says that holdfast died, or the lock is lost
 *     in time    when the deadline it was last told comes near, even if
 *                holdfast is stopped or hangs: first --signal, then SIGKILL
 *
 * A server has no such descriptors: it keeps a dead session until the lease is over.  So
 * the guardian has the session key as well, and ends the session by it when holdfast died
 * and nothing of the tree is left.  When holdfast has released the lock it dismisses the
 * guardian.
 *
 * If the guardian is killed, holdfast inherits the tree and ends it.  But holdfast may
 * have other children: those it had before (`x & exec holdfast run`) and, if it is
 * process 1, everybody's orphans.  Nothing tells these from the tree.  So the process
 * that inherits from the guardian must have no other children.  If holdfast has some, a
 * process that does nothing else stands in between, the outer guardian:
 *
 *     holdfast run -+-- outer guardian ---- guardian ---- command ---- ...
 *                   +-- x
 *
 * If the outer guardian is killed, the guardian ends the tree.  The guardian is its child:
 * holdfast has it wake or kill the guardian, since a process may only be sure of the pids
 * of its own children.
 */
#ifndef GUARD_H
#define GUARD_H

#include "guard/cgroup.h"
#include "guard/tree.h"
#include "run/leftovers.h"
#include "signal_fd.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Their names in ps(1): `pkill holdfast` must not end them together with holdfast. */
#define GUARD_NAME       "hf-guardian"
#define GUARD_OUTER_NAME "hf-outer"

#define GUARD_FDS_MAX 8
#define GUARD_KEY_MAX 8192 /* a session with a longer key ends with its lease */

/* The guardian knows this from the start; lent for its life. */
struct guard_plan {
    const char           *name;
    pid_t                 holder; /* the process that has the lock */
    const char           *url;    /* as given; NULL: that of the environment */
    char *const          *command;
    int                   signal; /* to ask the command to end */
    int64_t               grace_ns;
    int64_t               max_run_ns; /* --max-run; 0: none */
    enum leftovers        leftovers;
    bool                  close; /* the command inherits no lifeline */
    int                   nice;  /* to be restored for the command */
    const struct signals *signals;
    int status_fd; /* to be closed: its reader must see the end of holdfast; 0: none */
};

enum guard_order_kind {
    GUARD_GO,       /* start the command; descriptors come along */
    GUARD_DEADLINE, /* the lock is surely held until `deadline` */
    GUARD_SIGNAL,   /* pass `value` on to the command */
    GUARD_LOST,     /* the lock is lost: end everything */
    GUARD_KEY,      /* the session key; its bytes come along */
    GUARD_DISMISS,  /* all is done: exit, and leave the session alone */
};

struct guard_order {
    enum guard_order_kind kind;
    int                   value;
    int64_t               deadline; /* GO, DEADLINE: CLOCK_BOOTTIME ns; INT64_MAX: none */
    int64_t               hold_until; /* GO: the lock is kept until then; 0: no need */
    uint64_t              token;      /* GO */
    int                   slot;       /* GO; -1: none */
    int                   lifeline[GUARD_FDS_MAX]; /* GO: as numbered in this process */
    int                   lifelines;               /* how many there are */
};

enum guard_news_kind {
    GUARD_STARTED,    /* `value`: pid and process group of the command */
    GUARD_FAILED,     /* it could not be executed; `value`: errno */
    GUARD_STOPPED,    /* `value`: the signal that stopped it */
    GUARD_EXITED,     /* `value`: its wait status */
    GUARD_LEFTOVERS,  /* it exited a while ago, and `value` descendants still run */
    GUARD_ASKED,      /* the deadline is near: the command was asked to end */
    GUARD_OVERDUE,    /* --max-run is over: the command was asked to end */
    GUARD_EXPIRED,    /* the deadline passed */
    GUARD_OUTER_DEAD, /* the outer guardian was killed: the tree is being ended */
    GUARD_STUCK,      /* `value` processes of the tree do not die */
    GUARD_BLIND, /* it sees no processes below it, and has no control group for them */
    GUARD_GONE, /* nothing of it is left.  This is the last news; the guardian stays until
                         it is dismissed */
};

struct guard_news {
    enum guard_news_kind kind;
    int                  value;
    struct tree_member   member[TREE_MEMBERS_MAX]; /* LEFTOVERS, STUCK */
};

/* holdfast's end. */
struct guard {
    pid_t              pid;   /* our child: the guardian or the outer one; 0: reaped */
    int                link;  /* poll for input */
    bool               outer; /* there is an outer guardian */
    bool               dismissed;
    struct cgroup_name group; /* of the command, if the guardian may make one */
};

/* As fork(); *link: our end of a socket between the two. */
pid_t guard_fork(int *link);

/* A system call without which a command could not be ended, and which this kernel or
 * sandbox refuses; NULL: there are all. */
const char *guard_missing_call(void);

/* 0, or -1 and errno. */
int guard_start(const struct guard_plan *plan, struct guard *ret);

/* -1: the guardian does not listen. */
int guard_go(struct guard *guard, const struct guard_order *go);
int guard_tell(struct guard *guard, enum guard_order_kind kind, int value,
               int64_t deadline);
int guard_tell_key(struct guard *guard, const void *key, size_t size);

/* 1 and some news; 0: none now; -1: the guardian is gone. */
int guard_hear(struct guard *guard, struct guard_news *ret);

/* Dismiss a guardian that was not told to GO, or has said GONE.  Call this when the lock
 * is released or the session closed: until then the guardian is needed, should we be
 * killed. */
void guard_dismiss(struct guard *guard);

/* The same, unless that was done, and wait until the guardian has exited. */
void guard_finish(struct guard *guard);

/* Kill the guardian, if it still lives, and end the tree.  `command` is the command's
 * pid, 0 if unknown. */
void guard_take_over(struct guard *guard, pid_t command, int *status,
                     const struct tree_stuck *stuck);

/* The processes that are left of the tree after that began; as tree_members(). */
int guard_members(const struct guard *guard, struct tree_member out[TREE_MEMBERS_MAX]);

#endif
