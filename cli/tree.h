/* tree.h - all processes below one, and how to end them.
 *
 * As a child subreaper (prctl(2)) a process inherits every orphan below it, so
 * neither a double fork nor setsid() leads out of its tree.
 */
#ifndef TREE_H
#define TREE_H

#include "clock.h"

#include <stddef.h>
#include <sys/types.h>

/* Send a signal to every process below `root` (0: to none, only count).
 * Returns how many there are, zombies left out; -1 if /proc cannot be read. */
int tree_signal(pid_t root, int signal);

/* The first of those below `root`, by pid.  Returns how many there are in all; -1 if /proc
 * cannot be read. */
#define TREE_MEMBERS_MAX 6
struct tree_member {
    pid_t pid;
    uid_t uid;
    char  name[16];
};
int tree_members(pid_t root, struct tree_member out[TREE_MEMBERS_MAX]);

/* The same of several roots, at the price of one: all processes as they were at one moment.
 * NULL: /proc cannot be read, or there is no memory. */
struct census;
struct census *census_take(void);
void           census_free(struct census *census);
int            census_members(struct census *census, pid_t root,
                              struct tree_member out[TREE_MEMBERS_MAX]);

/* "gpg-agent (pid 4711), sleep (pid 4712) and 3 more", of what that returned. */
#define TREE_NAMES_MAX 400
const char *tree_names(char out[TREE_NAMES_MAX], const struct tree_member *member,
                       int count);

/* A child of `pid` by its name, or 0. */
pid_t tree_child(pid_t pid, const char *name);

/* The parent of `pid`, and the name of `pid` itself; 0: it is not known. */
pid_t tree_parent(pid_t pid, char name[16]);

/* Processes that SIGKILL has not ended after this time are told of. */
#define TREE_STUCK_NS (400 * NS_PER_MS)

/* Whom to tell that some of a tree does not end: it may belong to another user,
 * or hang in the kernel. */
struct tree_stuck {
    void (*tell)(void *data);
    void (*meanwhile)(void *data); /* what must go on in the same thread; NULL: nothing */
    void *data;
};

/* `meanwhile` is called as often as this, or more often. */
#define TREE_MEANWHILE_NS (64 * NS_PER_MS)

/* SIGKILL everything below this process, over and over, and reap it, until
 * nothing is left.  If `child` is among those reaped, *status is its status.
 * What is still there after a moment is told once, unless `stuck` is NULL.
 * SIGCHLD must be blocked. */
void tree_end(pid_t child, int *status, const struct tree_stuck *stuck);

#endif
