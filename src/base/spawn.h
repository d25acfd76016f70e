/* spawn.h - starts a program that is not a child of this process.
 *
 * fork() and posix_spawn() have side effects on a program that does not expect them:
 * its handler of SIGCHLD is called, its wait() finds a process that it never started,
 * its atfork handlers run.  None of that happens here.  The new program is the child of
 * a process in the middle, which ends at once, and only we notice:
 *
 *     we ---clone--> middle ---clone--> the program
 *      ^               |
 *      +--- waitpid ---+  exit signal 0: no SIGCHLD, and no plain wait() sees it
 *
 * Then the parent of the program is the process that adopts orphans.  If we are process
 * 1 or a subreaper, it is this process after all.
 *
 * Both run in our memory while the calling thread stands still (CLONE_VM, CLONE_VFORK),
 * so that it is as fast in a large process as in a small one.
 */
#ifndef HF_SPAWN_H
#define HF_SPAWN_H

/* Start `path` in a session of its own, with all signals blocked.  `fd` is its stdin,
 * /dev/null its stdout and stderr.  It inherits all other descriptors that exec() does
 * not close.  *pidfd refers to the program, and the caller closes it; -1 if the kernel
 * is too old.
 *
 * Returns 0 or an errno, also that of exec(). */
int hf_spawn_apart(const char *path, char *const *argv, char *const *environment, int fd,
                   int *pidfd);

#endif
