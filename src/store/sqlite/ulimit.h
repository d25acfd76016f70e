/* ulimit.h - a limit for the size of files is an error, not the end of the program. */
#ifndef HF_SQLITE_ULIMIT_H
#define HF_SQLITE_ULIMIT_H

#include <signal.h>
#include <stdbool.h>

/* Around whatever may write to a file. */
struct hf_sq_ulimit {
    bool     works;   /* there is one */
    bool     pending; /* somebody else's signal was, before */
    sigset_t before;
};

void hf_sq_ulimit_begin(struct hf_sq_ulimit *limit);
void hf_sq_ulimit_end(const struct hf_sq_ulimit *limit);

/* In between: has the limit been met?  SQLite may have forgotten errno. */
bool hf_sq_ulimit_hit(void);

#endif
