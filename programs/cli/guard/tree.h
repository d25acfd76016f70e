/* tree.h - all processes below one, and how to end them.
 *
 * As a child subreaper (prctl(2)) a process inherits every orphan below it, so
 * neither a double fork nor setsid() leads out of its tree.
 *
 * Only /proc tells which processes there are.  If it is missing, or shows another PID
 * namespace, nothing is found and nothing is signalled.
 */
#ifndef TREE_H
#define TREE_H

#include "clock.h"

#include <stddef.h>
#include <sys/types.h>

/* Send a signal to every process below `root`, except those in process group `except`.
 * On Linux before 5.3 only children of this process get it.  Returns how many processes
 * there are, zombies left out; -1 if /proc does not show them. */
int tree_signal(pid_t root, pid_t except, int signal);

/* The first of those below `root`, by pid.  Returns how many there are in all; -1 if
 * /proc does not show them. */
#define TREE_MEMBERS_MAX 6
struct tree_member {
    pid_t pid;
    uid_t uid;
    char  name[16];
};
int tree_members(pid_t root, struct tree_member out[TREE_MEMBERS_MAX]);

/* The same for several roots, with one pass over /proc: all processes at one moment.
 * NULL: /proc does not show them, or there is no memory. */
struct snapshot;
struct snapshot *snapshot_take(void);
void             snapshot_free(struct snapshot *snapshot);
int              snapshot_members(struct snapshot *snapshot, pid_t root,
                                  struct tree_member out[TREE_MEMBERS_MAX]);

/* "gpg-agent (pid 4711), sleep (pid 4712) and 3 more": the result of the above as
 * text. */
#define TREE_NAMES_MAX 400
const char *tree_names(char out[TREE_NAMES_MAX], const struct tree_member *member,
                       int count);

/* A child of `pid` by its name, or 0. */
pid_t tree_child(pid_t pid, const char *name);

/* The parent of `pid`, and the name of `pid` itself; 0: it is not known. */
pid_t tree_parent(pid_t pid, char name[16]);

/* Processes that survive SIGKILL for this long are reported. */
#define TREE_STUCK_NS (400 * NS_PER_MS)

/* Called if some of a tree does not die: it may belong to another user, or hang in the
 * kernel. */
struct tree_stuck {
    void (*tell)(void *data);
    void (*meanwhile)(
        void *data); /* work that must go on in the same thread; NULL: none */
    void *data;
};

/* `meanwhile` is called as often as this, or more often. */
#define TREE_MEANWHILE_NS (64 * NS_PER_MS)

/* SIGKILL everything below this process, again and again, and reap it, until nothing is
 * left.  If `child` is reaped, *status is its status.  Calls stuck->tell() once if
 * something is still there after TREE_STUCK_NS, unless `stuck` is NULL.  SIGCHLD must be
 * blocked. */
void tree_end(pid_t child, int *status, const struct tree_stuck *stuck);

#endif
