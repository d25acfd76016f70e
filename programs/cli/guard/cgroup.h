/* cgroup.h - a control group for the command, where we may make one.
 *
 * The kernel then ends all of it at once: not even a command that forks as fast
 * as it can escapes.  Without the right to make one, or on a kernel older than
 * 5.14, everything works without it.
 */
#ifndef CGROUP_H
#define CGROUP_H

#include <sys/types.h>

/* The name of one group, which no other ever has: containers that share a folder of
 * groups use the same pids.  So a process that knows the name, and finds the group, has
 * found the one that its own guardian made. */
struct cgroup_name {
    char text[40]; /* holdfast-PID-RANDOM; PID is for people who look */
};

/* 0, or -1 and errno: there are no random numbers. */
int cgroup_choose_name(struct cgroup_name *ret);

/* Make the group.  A descriptor of its folder, or -1.  It is locked by flock(2) until the
 * last copy of the descriptor is closed: nobody else removes it before. */
int cgroup_make(const struct cgroup_name *name);

/* Open the group that another process of this run has made; -1 if there is none. */
int cgroup_find(const struct cgroup_name *name);

/* As fork(), of a process with one thread.  The child begins in the group if possible. */
pid_t cgroup_fork(int group);

/* SIGKILL everything in it. */
void cgroup_kill(int group);

/* Move all of its processes into the group around it. */
void cgroup_empty(int group);

/* Remove groups beside it that nobody has locked any more; -1 is fine. */
void cgroup_sweep(int group);

/* Remove it, once it is empty, and close the descriptor; -1 is fine. */
void cgroup_drop(int group, const struct cgroup_name *name);

#endif
