/* guard.h - the guardian: a second, tiny process that outlives the first.
 *
 *     holdfast run ---- socket ---- guardian ---- command ---- all it starts
 *
 * The guardian starts the command and sees its whole tree to the end.  It is
 * forked before the store is opened: one thread, no database, nothing that can
 * hang.  It has copies of the descriptors that keep the session alive
 * (hf_lifeline), and closes them only when the tree is gone; so nobody else is
 * granted the lock while any of the tree still runs.  It ends the tree
 *
 *     at once    when the socket says that holdfast died, or the lock is lost
 *     in time    when the deadline it was last told comes near, even if
 *                holdfast is stopped or hangs: first --signal, then SIGKILL
 *
 * Is the guardian killed, holdfast does the same with what is then its tree.
 */
#ifndef GUARD_H
#define GUARD_H

#include "signals.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define GUARD_FDS_MAX 8

/* What the guardian knows from the start; lent for its life. */
struct guard_plan {
    const char           *name;
    const char           *url; /* as given; NULL: that of the environment */
    char *const          *command;
    int                   signal; /* to ask the command to end */
    int64_t               grace_ns;
    int                   nice; /* what the command must have again */
    const struct signals *signals;
};

enum guard_order_kind {
    GUARD_GO,       /* start the command; descriptors come along */
    GUARD_DEADLINE, /* the lock is surely held until `deadline` */
    GUARD_SIGNAL,   /* pass `value` on to the command */
    GUARD_LOST,     /* the lock is lost: end everything */
};

struct guard_order {
    enum guard_order_kind kind;
    int                   value;
    int64_t               deadline; /* GO, DEADLINE: CLOCK_BOOTTIME ns; INT64_MAX: none */
    uint64_t              token;    /* GO */
    int                   slot;     /* GO; -1: none */
};

enum guard_news_kind {
    GUARD_STARTED, /* `value`: pid and process group of the command */
    GUARD_FAILED,  /* it could not be executed; `value`: errno */
    GUARD_STOPPED, /* `value`: by which signal */
    GUARD_EXITED,  /* `value`: its wait status */
    GUARD_REMAIN,  /* it exited a while ago, `value` descendants still run */
    GUARD_ASKED,   /* the deadline is near: the command was asked to end */
    GUARD_EXPIRED, /* the deadline passed */
    GUARD_GONE,    /* nothing is left of it; nothing comes after this */
};

struct guard_news {
    enum guard_news_kind kind;
    int                  value;
};

/* holdfast's end. */
struct guard {
    pid_t pid;
    int   link;  /* poll for input */
    bool  alone; /* we had no children of our own before */
};

/* 0, or -1 and errno. */
int guard_start(const struct guard_plan *plan, struct guard *ret);

/* -1: the guardian does not listen. */
int guard_go(struct guard *guard, const struct guard_order *go, const int *fds,
             int count);
int guard_tell(struct guard *guard, enum guard_order_kind kind, int value,
               int64_t deadline);

/* 1 and some news; 0: none now; -1: the guardian is gone. */
int guard_hear(struct guard *guard, struct guard_news *ret);

/* Dismiss a guardian that was not told to GO, or has said GONE. */
void guard_finish(struct guard *guard);

/* End the guardian, if there still is one, and the tree ourselves.  `command`
 * is the command's pid, 0 if unknown. */
void guard_take_over(struct guard *guard, pid_t command, int *status);

/* The guardian's own life; guardian.c. */
_Noreturn void guardian_live(const struct guard_plan *plan, int link);

#endif
