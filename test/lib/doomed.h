/* doomed.h - a holder whose session can be made to end without a word.
 *
 * Where other processes reach the store, it is a process, and is killed.  Where
 * not, it is a session of this process with a short lease that nobody drives.
 */
#ifndef HF_TEST_DOOMED_H
#define HF_TEST_DOOMED_H

#include "lib/recipe.h"

#include <sys/types.h>

struct doomed {
    pid_t             pid; /* 0: it is in this process */
    int               ear; /* what the process tells: a byte for every step */
    struct hf_client *client;
    struct hf_lock   *lock;
};

/* How a doomed holder makes its lock. */
typedef int doomed_make(struct hf_client *client, const char *name, struct hf_lock **ret);

/* Is the store within this process only? */
bool recipe_is_local(void);

/* Make a lock in a session of its own and hold it. */
void doomed_hold(struct doomed *doomed, doomed_make *make, const char *name);

/* End the session without a word, and wait until `count` places are left in the
 * line of `name`. */
void doomed_kill(struct doomed *doomed, struct hf_client *witness, const char *name,
                 size_t count);

/* Run `body` in a child process, which is killed if this one dies.  It must use
 * HF_NO_KEEPER: a forked child starts no threads.  Its result is the child's exit
 * status; what it writes to `mouth` can be read from *ear. */
pid_t recipe_fork(int (*body)(const char *name, int mouth), const char *name, int *ear);

/* The next byte from a child; the test fails if none comes in 10 s. */
char recipe_hear(int ear);

/* Wait for the end of a child; it must have exited by itself. */
int recipe_reap(pid_t pid, int ear);

#endif
