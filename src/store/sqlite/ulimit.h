/* ulimit.h - signals that a write may raise do not reach the program.
 *
 * A write past the limit for the size of files (setrlimit(2)) raises SIGXFSZ, one to a FIFO whose
 * reader has died SIGPIPE; both end a program that has not said otherwise.  Handlers are not ours
 * to set.  But the signal comes to the thread that writes alone: there it is blocked while we
 * work and taken back afterwards, and what is left is an error, EFBIG or EPIPE.
 */
#ifndef HF_SQLITE_ULIMIT_H
#define HF_SQLITE_ULIMIT_H

#include <signal.h>
#include <stdbool.h>

struct hf_sq_mute {
    int      signal;  /* 0: none is muted */
    bool     pending; /* somebody else's was, before */
    sigset_t before;
};

/* Around whatever may write to a file: SIGXFSZ, if there is a limit.  Around news: SIGPIPE. */
void hf_sq_mute_ulimit(struct hf_sq_mute *mute);
void hf_sq_mute_pipe(struct hf_sq_mute *mute);
void hf_sq_unmute(const struct hf_sq_mute *mute);

/* In between: has the limit been met?  SQLite may have forgotten errno. */
bool hf_sq_ulimit_hit(void);

#endif
