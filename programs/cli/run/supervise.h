/* supervise.h - from GO to the end of the command: one loop over the store, the guardian,
 * signals and the terminal.
 *
 *     GUARDED --------------------------- ends by itself --------------> GONE
 *       |  |                                                              ^
 *       |  +--- lost, expired, outer dead -> ENDING ----------------------+
 *       |  |                                |  |                          |
 *       |  +--- cannot be killed -----------|--+--> STUCK ----------------+
 *       |                                   |         |                   |
 *       +------ guardian dead, or hangs ----+---------+--> ORPHANED ------+
 *
 *     state      who ends the tree                        the guardian is told
 *     GUARDED    it ends by itself, or when it is asked   deadlines, signals, LOST
 *     ENDING     the guardian kills it                    nothing: it does not listen
 *     STUCK      the guardian kills it, but some of it    nothing
 *                does not die; the lock is kept
 *     ORPHANED   this process does, after the loop        nothing
 *     GONE       nothing of it is left
 *
 * A guardian hangs if it does not read what it is told, or does not say GONE or STUCK
 * soon after LOST.  What it said before it died still counts: an ORPHANED tree may be
 * GONE.
 */
#ifndef SUPERVISE_H
#define SUPERVISE_H

#include "cli_options.h"
#include "guard/guard.h"
#include "guard/guard_key.h"
#include "run/messages.h"
#include "run/terminal.h"

#include <holdfast.h>

enum supervised { GUARDED, ENDING, STUCK, ORPHANED, GONE };

/* Why the command had to end.  Of several causes the last of this list counts. */
enum end_cause {
    BY_ITSELF,
    BY_MAX_RUN,  /* --max-run was over: it was asked to end */
    BY_GUARDIAN, /* a guardian was killed, or hung */
    BY_DEADLINE, /* the store did not answer in time: it was asked to end */
    BY_LOSS,     /* the lock was lost while it ran */
};

/* The fate of the command.  It only moves down this list. */
enum command_fate {
    FATE_NOT_STARTED,
    FATE_STARTED, /* it runs; afterwards: a signal ended it */
    FATE_EXITED,  /* it exited by itself; what it left may have been killed */
    FATE_OBEYED,  /* it was asked to end, and exited */
    FATE_STUCK,   /* some of it could not be killed at once */
};

struct supervisor {
    const struct args    *args;
    const struct signals *signals;
    struct hf_client     *client;
    struct hf_lock       *lock;
    struct guard         *guard;
    struct guard_key     *key;
    struct requests      *requests;
    bool                  keep_stdio; /* another run needs stdin and stdout */
    struct terminal       terminal;
    int64_t               hold_until; /* --hold-at-least, CLOCK_BOOTTIME ns */

    enum supervised   state;
    enum end_cause    cause;
    enum command_fate fate;
    pid_t             command;    /* its pid and process group; 0: not started */
    int               status;     /* its wait status; SIGKILL if that is not known */
    int               exec_error; /* errno, if it could not be executed */
    sigset_t          passed;     /* signals sent to us and passed on to it */
    int64_t           deadline;   /* as last told to the guardian */
    int64_t           give_up_at; /* when a guardian that was told LOST hangs; 0: never */
};

/* Have the guardian start the command, and see it to its end: afterwards nothing of it is
 * left, and the state is GONE.  The guardian is still to be dismissed. */
void supervise(struct supervisor *s);

/* ---- hold_at_least.c: the lock is kept for a while after the end of the command ---- */

/* Machines whose clocks differ start the same job at different times.  A job that is over
 * before the last of them has asked would be run again. */
struct lingered {
    bool outlived; /* the lock was surely ours when the command had ended */
    int  signal;   /* what ended the wait early; 0: nothing did */
};

/* Nothing of the command is left: keep the lock until s->hold_until, a signal, or its
 * loss. */
struct lingered linger(struct supervisor *s);

#endif
