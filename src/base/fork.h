/* fork.h - what a forked child must not keep.
 *
 * A kernel lock belongs to an open file description, and fork() shares those:
 * a child that keeps one keeps its dead parent's locks.  Descriptors on this
 * list are closed in every child, right after fork().
 */
#ifndef HF_FORK_H
#define HF_FORK_H

/* A number that is different in every process of a fork()ed family.  Compare
 * with the one remembered at open to learn whether we are a child. */
unsigned hf_fork_generation(void);

/* Close `fd` in children from now on.  0 or HF_ENOMEM. */
int  hf_fork_guard(int fd);
void hf_fork_unguard(int fd);

#endif
