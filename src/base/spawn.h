/* spawn.h - starts a program that is not our child.
 *
 * fork() and posix_spawn() would show in a program that knows nothing of us: its handler
 * of SIGCHLD is called, its wait() finds a process that it never started, its atfork
 * handlers run.  None of that happens here.  The process that becomes the program is the
 * child of one in the middle, which ends at once and of which the kernel tells nobody but
 * us:
 *
 *     we ---clone--> middle ---clone--> the program
 *      ^               |
 *      +--- waitpid ---+  exit signal 0: no SIGCHLD, and no plain wait() sees it
 *
 * The program's parent is then whoever takes in orphans.  That is us after all if we are
 * process 1 or a subreaper.
 *
 * Both use our memory while we stand still (CLONE_VM, CLONE_VFORK), so that it takes as
 * long in a large process as in a small one.
 */
#ifndef HF_SPAWN_H
#define HF_SPAWN_H

/* Start `path` in a session of its own, with all signals blocked.  `fd` is its stdin,
 * /dev/null its stdout and stderr.  It has copies of all other descriptors that exec() does
 * not close.  *pidfd is the program, to be closed by the caller; -1 on a kernel that is too
 * old.
 *
 * 0, or an errno: also that of exec(). */
int hf_spawn_apart(const char *path, char *const *argv, char *const *environment, int fd,
                   int *pidfd);

#endif
