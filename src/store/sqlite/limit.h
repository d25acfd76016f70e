/* limit.h - a limit for the size of files is an error, not the end of the program. */
#ifndef HF_SQLITE_LIMIT_H
#define HF_SQLITE_LIMIT_H

#include <signal.h>
#include <stdbool.h>

/* Around whatever may write to a file. */
struct hf_sq_limit {
    bool     works;   /* there is one */
    bool     pending; /* somebody else's signal was, before */
    sigset_t before;
};

void hf_sq_limit_begin(struct hf_sq_limit *limit);
void hf_sq_limit_end(const struct hf_sq_limit *limit);

/* In between: has the limit been met?  SQLite may have forgotten errno. */
bool hf_sq_limit_hit(void);

#endif
