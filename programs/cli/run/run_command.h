/* run_command.h - the run of a command under a lock, from the start of the guardian to
 * the end of all that the command started.  `run` has one, `elect` one after the other.
 *
 * Each has a guardian and a session of its own: the guardian must be forked while the
 * store is closed, and a session that lost its place is not used again.
 */
#ifndef RUN_COMMAND_H
#define RUN_COMMAND_H

#include "cli_options.h"
#include "run/outcome.h"
#include "signal_fd.h"

struct command_run {
    const struct args    *args;
    const struct signals *signals;
    bool                  repeats; /* others may follow: say so when it begins, and
                                      keep stdin and stdout for them */

    /* Out.  The user was told what went wrong. */
    struct outcome out;
    int64_t        held_ns; /* how long the command had the lock */
};

void run_command(struct command_run *run);

/* The exit code, after the last; does not return if SIGINT ended it. */
int run_command_exit(const struct command_run *run);

#endif
