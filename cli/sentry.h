/* sentry.h - the second process of hold, for servers that cannot see that hold was killed.
 *
 *     user ---- stdin ---- holdfast hold ---- socket ---- sentry
 *       |                                                   |
 *       +------------------- the same stdin ----------------+
 *
 * The user of `hold` is the process that started it, or whoever has the other end of its
 * stdin.  If hold alone is killed he may still work, and was told until when the lock is
 * surely his.  So the sentry, which has the session's will, executes it only when hold is
 * dead, and its parent is, and stdin has ended.  That stdin has ended is not enough: Node,
 * Java and others close it by themselves when their child is dead.  At the deadline the
 * sentry leaves: the lease ends then.  As long as nothing is held there is nobody to wait
 * for.
 *
 * It is like a guardian with nothing to guard: forked before the store is opened, told by
 * the same orders, and dismissed when the lock is given back.  There is none if stdin is
 * neither a pipe nor a socket: its end would tell nothing.
 */
#ifndef SENTRY_H
#define SENTRY_H

#include "guard.h"

#include <holdfast.h>

/* hold's end. */
struct sentry {
    struct guard guard;    /* its link is -1 if there is none */
    int64_t      deadline; /* as the sentry knows it; 0: nothing is held */
};

/* 0, or -1 and errno: it could not be forked, and there is none. */
int sentry_start(struct sentry *ret);

/* What is held, and until when.  Before the user is told: what the sentry does not know is
 * free for others at once.  NULL: there is none. */
void sentry_tell(struct sentry *sentry, const struct hf_lock *lock);

#endif
