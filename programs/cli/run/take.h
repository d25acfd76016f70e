/* take.h - acquires the lock that a command line describes. */
#ifndef TAKE_H
#define TAKE_H

#include "cli_options.h"
#include "guard/guard_key.h"
#include "guard/session_guardian.h"
#include "signal_fd.h"

#include <holdfast.h>

struct taking {
    const struct args    *args;
    const struct signals *signals;
    struct hf_client     *client;
    struct guard_key     *key; /* for the guardian; NULL: none */
    struct session_guardian
                   *guardian;     /* of `hold`, to be told what is held; NULL: none */
    bool            owned;        /* stdin is our owner's: if it ends, so does the wait */
    int64_t         give_up_at;   /* with -w: when; CLOCK_BOOTTIME ns */
    struct hf_lock *lock;         /* out */
    int             code;         /* out: the exit code, if it is not held */
    int             signal;       /* out: what ended the wait, or 0 */
    bool            stdin_closed; /* out: that ended it */
    bool            file_busy;    /* out: the file of --also-flock was not locked */
};

/* Make the lock that args describe and wait for it.  False: it is not held, and
 * the user was told why.  A signal ends the wait: the queue is left at once.  SIGTSTP
 * only interrupts it: the queue is joined again when we are continued.  In any case the
 * lock is the caller's to free. */
bool take(struct taking *taking);

/* ---- take_failed.c ---- */

/* Tell the user why the lock that `taking` describes was not acquired; HF_E....  Returns
 * the exit code. */
int take_failed(const struct taking *taking, int why);

/* The same with these words. */
int take_failed_because(int why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
