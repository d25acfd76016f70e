/* killed_holder.h - a holder that dies without a goodbye to the store.
 *
 * If processes share the store, it is a child process that is killed.  If not, it is a
 * client of this process with a short lease that is not renewed.
 */
#ifndef HF_TEST_KILLED_HOLDER_H
#define HF_TEST_KILLED_HOLDER_H

#include "lib/recipe.h"

#include <sys/types.h>

struct killed_holder {
    pid_t             pid; /* 0: in this process */
    int               ear; /* a pipe: the process writes a byte for every step */
    struct hf_client *client;
    struct hf_lock   *lock;
};

/* How the holder makes its lock. */
typedef int killed_holder_make(struct hf_client *client, const char *name,
                               struct hf_lock **ret);

/* Is the store in the memory of this process? */
bool recipe_is_local(void);

/* Acquire a lock in a session of its own. */
void killed_holder_hold(struct killed_holder *dying, killed_holder_make *make,
                        const char *name);

/* Kill it, and wait until `count` places are left in the queue of `name`. */
void killed_holder_kill(struct killed_holder *dying, struct hf_client *witness,
                        const char *name, size_t count);

/* Run `body` in a child process, which dies with this one.  It must use HF_NO_KEEPER, for
 * a forked child starts no threads.  Its result is the exit status; read from *ear what
 * it writes to `mouth`. */
pid_t recipe_fork(int (*body)(const char *name, int mouth), const char *name, int *ear);

/* The next byte from a child; the test fails if none comes within 10 s. */
char recipe_hear(int ear);

/* Wait until a child exits by itself; its exit status. */
int recipe_reap(pid_t pid, int ear);

#endif
