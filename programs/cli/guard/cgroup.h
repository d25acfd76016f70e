/* cgroup.h - a control group for the command, where we may make one.
 *
 * The kernel then ends all of it at once: not even a command that forks as fast
 * as it can escapes.  Without the right to make one, or on a kernel older than
 * 5.14, everything works without it.
 */
#ifndef CGROUP_H
#define CGROUP_H

#include <sys/types.h>

/* Make the group of guardian `pid`.  A descriptor of its folder, or -1. */
int cgroup_make(pid_t pid);

/* Open the group of another guardian; -1 if there is none. */
int cgroup_find(pid_t pid);

/* As fork(), of a process with one thread.  The child begins in the group if possible. */
pid_t cgroup_fork(int group);

/* SIGKILL everything in it. */
void cgroup_kill(int group);

/* Move all of its processes into the group around it. */
void cgroup_empty(int group);

/* Remove groups beside it whose guardians are dead; -1 is fine. */
void cgroup_sweep(int group);

/* Remove it, once it is empty, and close the descriptor; -1 is fine. */
void cgroup_drop(int group, pid_t pid);

#endif
