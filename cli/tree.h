/* tree.h - all processes below this one, and how to end them.
 *
 * As a child subreaper (prctl(2)) a process inherits every orphan below it, so
 * neither a double fork nor setsid() leads out of its tree.
 */
#ifndef TREE_H
#define TREE_H

#include <sys/types.h>

/* Send a signal to every process below this one (0: to none, only count).
 * Returns how many there are, zombies left out; -1 if /proc cannot be read. */
int tree_signal(int signal);

/* SIGKILL everything below this process, over and over, and reap it, until
 * nothing is left.  If `child` is among those reaped, *status is its status.
 * SIGCHLD must be blocked. */
void tree_end(pid_t child, int *status);

#endif
