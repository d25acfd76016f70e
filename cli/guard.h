/* guard.h - the guardian: a second, tiny process that outlives the first.
 *
 *     holdfast run ---- socket ---- guardian ---- command ---- all it starts
 *
 * The guardian starts the command and sees its whole tree to the end.  It is
 * forked before the store is opened: one thread, no database, nothing that can
 * hang.  It has copies of the descriptors that keep the session alive
 * (hf_lifeline), and closes them only when the tree is gone; so nobody else is
 * granted the lock while any of the tree still runs.  The command inherits copies,
 * too (child.h): they count when both holdfast and the guardian were killed.  The
 * guardian ends the tree
 *
 *     at once    when the socket says that holdfast died, or the lock is lost
 *     in time    when the deadline it was last told comes near, even if
 *                holdfast is stopped or hangs: first --signal, then SIGKILL
 *
 * Where a server keeps the session there is nothing to hold open: it waits for the lease.
 * So the guardian has the session's will as well, and executes it when holdfast died and
 * nothing of the tree is left.  A holdfast that has given the lock back dismisses it.
 *
 * If the guardian is killed, holdfast inherits the tree and ends it.  But holdfast may
 * have other children: those it had before (`x & exec holdfast run`) and, if it is
 * process 1, everybody's orphans.  Nothing tells them from the tree.  So the process
 * that inherits from the guardian must have no other children; if holdfast has some, a
 * process that does nothing else stands in between, the outer guardian:
 *
 *     holdfast run -+-- outer guardian ---- guardian ---- command ---- ...
 *                   +-- x
 *
 * If that one is killed, the guardian ends the tree.
 */
#ifndef GUARD_H
#define GUARD_H

#include "leftovers.h"
#include "signals.h"
#include "tree.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How they show in ps(1): `pkill holdfast` must not end them together with holdfast. */
#define GUARD_NAME       "hf-guardian"
#define GUARD_OUTER_NAME "hf-outer"

#define GUARD_FDS_MAX  8
#define GUARD_WILL_MAX 8192 /* the lease ends a session whose URL is longer than that */

/* What the guardian knows from the start; lent for its life. */
struct guard_plan {
    const char           *name;
    pid_t                 holder; /* who has the lock */
    const char           *url;    /* as given; NULL: that of the environment */
    char *const          *command;
    int                   signal; /* to ask the command to end */
    int64_t               grace_ns;
    int64_t               max_run_ns; /* --max-run; 0: none */
    enum leftovers        leftovers;
    bool                  close; /* the command inherits no lifeline */
    int                   nice;  /* what the command must have again */
    const struct signals *signals;
    int                   status_fd; /* its reader must see our end; 0: none */
};

enum guard_order_kind {
    GUARD_GO,       /* start the command; descriptors come along */
    GUARD_DEADLINE, /* the lock is surely held until `deadline` */
    GUARD_SIGNAL,   /* pass `value` on to the command */
    GUARD_LOST,     /* the lock is lost: end everything */
    GUARD_WILL,     /* the session's will; its bytes come along */
    GUARD_DISMISS,  /* all is done: leave, and execute nothing */
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
    GUARD_BORN,    /* by the outer guardian: `value` is the guardian's pid */
    GUARD_STARTED, /* `value`: pid and process group of the command */
    GUARD_FAILED,  /* it could not be executed; `value`: errno */
    GUARD_STOPPED, /* `value`: by which signal */
    GUARD_EXITED,  /* `value`: its wait status */
    GUARD_REMAIN,  /* it exited a while ago, `value` descendants still run */
    GUARD_ASKED,   /* the deadline is near: the command was asked to end */
    GUARD_OVERDUE, /* --max-run is over: the command was asked to end */
    GUARD_EXPIRED, /* the deadline passed */
    GUARD_BEREFT,  /* the outer guardian was killed: the tree is being ended */
    GUARD_STUCK,   /* `value` of the tree do not end */
    GUARD_GONE,    /* nothing is left of it; nothing comes after this, and the guardian
                      stays until it is dismissed */
};

struct guard_news {
    enum guard_news_kind kind;
    int                  value;
    struct tree_member   member[TREE_MEMBERS_MAX]; /* REMAIN, STUCK */
};

/* holdfast's end. */
struct guard {
    pid_t pid;      /* our child: the guardian or the outer one; 0: reaped */
    pid_t guardian; /* 0: not known yet */
    int   link;     /* poll for input */
    bool  outer;    /* there is an outer guardian */
    bool  dismissed;
};

/* As fork(); *link: our end of a socket between the two. */
pid_t guard_fork(int *link);

/* 0, or -1 and errno. */
int guard_start(const struct guard_plan *plan, struct guard *ret);

/* -1: the guardian does not listen. */
int guard_go(struct guard *guard, const struct guard_order *go);
int guard_tell(struct guard *guard, enum guard_order_kind kind, int value,
               int64_t deadline);
int guard_tell_will(struct guard *guard, const void *will, size_t size);

/* 1 and some news; 0: none now; -1: the guardian is gone. */
int guard_hear(struct guard *guard, struct guard_news *ret);

/* Dismiss a guardian that was not told to GO, or has said GONE.  Once the lock is given
 * back, or the session closed: until then it is needed, should we be killed. */
void guard_dismiss(struct guard *guard);

/* The same, if that was not done yet, and wait for its end. */
void guard_finish(struct guard *guard);

/* End the guardian, if there still is one, and see that the tree is ended.
 * `command` is the command's pid, 0 if unknown. */
void guard_take_over(struct guard *guard, pid_t command, int *status,
                     const struct tree_stuck *stuck);

/* Who is left of the tree after that began; as tree_members(). */
int guard_members(const struct guard *guard, struct tree_member out[TREE_MEMBERS_MAX]);

/* The guardian's own life, below `parent`; guardian.c. */
_Noreturn void guardian_live(const struct guard_plan *plan, int link, pid_t parent);

/* The outer guardian's; outer.c. */
_Noreturn void outer_live(const struct guard_plan *plan, int link);

/* End all that a dead guardian left to us. */
void guard_end_tree(pid_t guardian, pid_t command, int *status,
                    const struct tree_stuck *stuck);

#endif
