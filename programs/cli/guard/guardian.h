/* guardian.h - the inside of the guardians: their ends of the link, their timer, and how
 * the command is started.  guard.h tells what they are for. */
#ifndef GUARDIAN_H
#define GUARDIAN_H

#include "guard/guard.h"
#include "guard/guard_key.h"
#include "guardian_word.h"

/* The guardian's own life, below `parent`; guardian.c. */
_Noreturn void guardian_live(const struct guard_plan  *plan,
                             const struct cgroup_name *group, int link, pid_t parent);

/* ---- guard_link.c: the guardians' end of the link to holdfast ---- */

void link_tell(int link, enum guard_news_kind kind, int value);

/* Tell which processes are below us, if there are any. */
void link_tell_who(int link, enum guard_news_kind kind);

enum link_heard {
    LINK_SILENT, /* nothing now */
    LINK_ORDER,
    LINK_ENDED, /* holdfast is dead */
};

/* The next order; `wait` for it.  The descriptors that come with GO stay open, a session
 * key is put into `key`. */
enum link_heard link_hear(int link, bool wait, struct guard_order *ret,
                          struct kept_key *key);

/* Is holdfast dead?  Orders that it sent may still be unread. */
bool link_has_ended(int link);

/* The next packet of libholdfast, for `holdfast guardian`; waits for it.  True: it is a
 * session key, which is put into `key`, or none if it is too long.  False: `ret->kind`
 * is what the program said last. */
bool link_hear_program(int link, struct hf_guardian_word *ret, struct kept_key *key);

/* ---- timer.c: the times that the guardian has to keep; CLOCK_BOOTTIME ns ---- */

/* INT64_MAX: never, or done. */
struct timer {
    int     fd;       /* readable when the next of them has come */
    int64_t deadline; /* the lock is surely held until then */
    int64_t ask_at;   /* when to send --signal: the deadline is near */
    int64_t stop_at;  /* when --max-run is over */
    int64_t end_at;   /* when to kill what is left */
    int64_t tell_at;  /* when to report leftovers */
};

/* With none of the times set.  0, or -1 and errno. */
int timer_open(struct timer *timer);

/* Call this after a change of the times. */
void timer_set(struct timer *timer);

/* Set another deadline; the command gets `grace_ns` before it. */
void timer_set_deadline(struct timer *timer, int64_t deadline, int64_t grace_ns);

/* ---- child.c: starts the command, as if holdfast had not been there ---- */

/* Fork and execute the command in a process group of its own, in the control group
 * `cgroup` unless that is -1.  Returns its pid, or -1 and errno.  *report becomes
 * readable when exec() has succeeded (end of file) or failed (an int, the errno).
 *
 * The command inherits the session's lifeline, if there is one.  So if holdfast and the
 * guardian are killed at once, processes that the command started keep the lock until the
 * last of them is gone, as under flock(1); -o closes it, as flock's -o does.  With
 * --leftovers leave they inherit nothing, since they must not keep the lock. */
pid_t child_start(const struct guard_plan *plan, const struct guard_order *go, int cgroup,
                  int *report);

#endif
