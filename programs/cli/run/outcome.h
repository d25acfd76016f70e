/* outcome.h - how the run of a command ended: what the user is told, and the exit code.
 *
 * The exit codes of `run` for a lock that was held are chosen here; take_failed.c has
 * those for one that never was.
 */
#ifndef OUTCOME_H
#define OUTCOME_H

#include "run/supervise.h"

enum run_end {
    RUN_REFUSED,  /* the lock was never held */
    RUN_FAILED,   /* it was, but the command could not be executed */
    RUN_ENDED,    /* the command ended by itself, or because of --max-run */
    RUN_LOST,     /* the lock was lost: the command was ended */
    RUN_ORPHANED, /* the guardian was killed: the command was ended */
};

struct outcome {
    enum run_end end;
    int          code;        /* to exit with */
    bool         stop;        /* the user wants no other run */
    bool         interrupted; /* SIGINT ended it */
    bool         lent;        /* the command had the terminal */
};

/* The command and all that it started are gone: did the command run to its end under the
 * lock, as far as we know? */
bool outcome_ran_guarded(const struct supervisor *s);

/* Did the user, or the command itself, stop it by a signal? */
bool outcome_was_stopped(const struct supervisor *s);

/* The fate of the command, as the end of a sentence. */
const char *outcome_fate(const struct supervisor *s);

/* Tell the user what went wrong, and find the exit code.  `released` is the result of
 * hf_release(); `outlived`: the lock was surely ours when the command had ended. */
struct outcome outcome_tell(const struct supervisor *s, int released, bool outlived);

#endif
