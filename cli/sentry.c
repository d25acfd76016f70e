/* sentry.c - see sentry.h. */
#include "sentry.h"

#include "clock.h"
#include "link.h"
#include "session.h"
#include "settle.h"
#include "will.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- hold's end ---------------------------------------------------------------- */

static bool stdin_has_another_end(void)
{
    struct stat what;

    return fstat(STDIN_FILENO, &what) == 0 &&
           (S_ISFIFO(what.st_mode) || S_ISSOCK(what.st_mode));
}

static _Noreturn void sentry_live(int link, pid_t parent);

int sentry_start(struct sentry *ret)
{
    int   link;
    pid_t parent = getppid();

    *ret = (struct sentry){ .guard = { .link = -1 } };
    if (!stdin_has_another_end())
        return 0;
    pid_t pid = guard_fork(&link);
    if (pid == 0)
        sentry_live(link, parent);
    if (pid < 0)
        return -1;
    ret->guard = (struct guard){ .pid = pid, .guardian = pid, .link = link };
    return 0;
}

void sentry_tell(struct sentry *sentry, const struct hf_lock *lock)
{
    if (sentry == NULL || sentry->guard.link < 0)
        return;
    int64_t deadline = session_deadline(lock);
    if (!session_deadline_moved(sentry->deadline, deadline))
        return;
    if (guard_tell(&sentry->guard, GUARD_DEADLINE, 0, deadline) == 0)
        sentry->deadline = deadline;
    else if (sentry->deadline == 0)
        guard_finish(&sentry->guard); /* it would not wait for the user */
}

/* ---- The sentry's own life ------------------------------------------------------- */

#define LINK (STDERR_FILENO + 1)

/* Nothing is left open but stdin and the link: who reads what hold writes must see its
 * end. */
static void settle_in(int link)
{
    settle_apart("hf-sentry");
    if (link != LINK && dup3(link, LINK, O_CLOEXEC) < 0)
        _exit(1);
    settle_descriptors(LINK + 1);
    settle_stdio(STDOUT_FILENO, STDERR_FILENO);
}

/* False: hold is dead. */
static bool hear_hold(struct will_kept *will, int64_t *deadline)
{
    struct guard_order order;
    enum link_heard    heard = link_hear(LINK, true, &order, will);

    if (heard == LINK_ORDER && order.kind == GUARD_DISMISS)
        _exit(0);
    if (heard == LINK_ORDER && order.kind == GUARD_DEADLINE)
        *deadline = order.deadline;
    return heard != LINK_ENDED;
}

/* What is written to it is thrown away, as hold did: a full pipe would block the user. */
static bool stdin_has_ended(void)
{
    char    waste[4096];
    ssize_t n = read(STDIN_FILENO, waste, sizeof waste);

    return n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
}

/* -1: not known, or dead. */
static int watch_process(pid_t pid, bool *dead)
{
    int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

    *dead = pid > 0 && fd < 0 && errno == ESRCH;
    return fd;
}

/* False: the deadline came first. */
static bool user_is_gone_before(int64_t deadline, pid_t parent)
{
    bool    ended = false, dead;
    int     process = watch_process(parent, &dead);
    int64_t left;

    while ((!ended || !dead) && (left = deadline - clock_boot_ns()) > 0) {
        struct pollfd on[] = { { .fd = ended ? -1 : STDIN_FILENO, .events = POLLIN },
                               { .fd = dead ? -1 : process, .events = POLLIN } };
        int64_t       ms = left / NS_PER_MS + 1;
        if (poll(on, 2, ms < INT_MAX ? (int)ms : INT_MAX) <= 0)
            continue;
        ended = ended || (on[0].revents != 0 && stdin_has_ended());
        dead = dead || on[1].revents != 0;
    }
    return ended && dead;
}

static _Noreturn void sentry_live(int link, pid_t parent)
{
    struct will_kept will;
    int64_t          deadline = 0;

    settle_in(link);
    if (will_make_room(&will) < 0)
        _exit(1);
    while (hear_hold(&will, &deadline))
        continue;
    bool held = deadline != 0;
    if (will.size > 0 && (!held || user_is_gone_before(deadline, parent)))
        will_execute(&will, deadline);
    _exit(0);
}
