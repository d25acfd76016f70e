/* supervise.h - from GO to the command's end: one loop over the store, the
 * guardian, signals and the terminal. */
#ifndef SUPERVISE_H
#define SUPERVISE_H

#include "guard.h"
#include "options.h"
#include "requests.h"
#include "terminal.h"
#include "will.h"

#include <holdfast.h>

struct supervisor {
    const struct args    *args;
    const struct signals *signals;
    struct hf_client     *client;
    struct hf_lock       *lock;
    struct guard         *guard;
    struct will          *will;
    struct requests      *requests;
    bool                  keep_stdio; /* they are needed again */
    struct terminal       terminal;
    pid_t                 command; /* its pid and process group; 0: not started */
    int                   status;  /* its wait status, once it exited */
    bool                  exited;
    int                   exec_error; /* errno, if it could not be started */
    sigset_t              passed;     /* signals sent to us and passed on to it */
    int64_t               hold_until; /* --hold-at-least, CLOCK_BOOTTIME ns */
    int64_t               deadline;   /* as last told to the guardian */
    int64_t               give_up_at; /* when a guardian told LOST must be done */
    bool                  lost;       /* the lock was lost while the command ran */
    bool                  asked;      /* it had to end, for the deadline came near */
    bool                  overdue;    /* it had to end, for --max-run was over */
    bool                  obeyed;     /* it was asked to end, and then ended itself */
    bool                  orphaned;   /* the guardian was killed, or hung */
    bool                  bereft;     /* the outer guardian was killed */
    bool                  stuck;      /* some of the command could not be ended */
    bool                  gone;       /* nothing of the command is left */
};

/* Have the guardian start the command, and see it to its end: afterwards
 * nothing of it is left, whatever happened.  The guardian is still to be dismissed. */
void supervise(struct supervisor *s);

#endif
