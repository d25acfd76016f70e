/* guard.c - holdfast's end of the guardian; see guard.h. */
#include "guard/guard.h"

#include "clock.h"
#include "guard/cgroup.h"
#include "guard/guardian.h"
#include "guard/settle.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* End all that a dead guardian left to this process. */
static void end_orphans(const struct cgroup_name *name, pid_t command, int *status,
                        const struct tree_stuck *stuck)
{
    int group = cgroup_find(name);

    if (group >= 0)
        cgroup_kill(group);
    tree_end(command, status, stuck);
    cgroup_drop(group, name);
}

/* ---- The outer guardian ------------------------------------------------------- */

/* What holdfast asks of it.  These are queued, and tell who sent them. */
#define WAKE_GUARDIAN SIGRTMIN
#define KILL_GUARDIAN (SIGRTMIN + 1)

/* False: it cannot wait for signals, or the guardian has ended. */
static bool relay_signal(pid_t holdfast, pid_t guardian)
{
    sigset_t  wanted;
    siginfo_t info;

    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    sigaddset(&wanted, WAKE_GUARDIAN);
    sigaddset(&wanted, KILL_GUARDIAN);
    int signal = sigwaitinfo(&wanted, &info);
    if (signal < 0)
        return errno == EINTR;
    if (signal != SIGCHLD && info.si_pid == holdfast)
        kill(guardian, signal == KILL_GUARDIAN ? SIGKILL : SIGCONT);
    return waitid(P_PID, (id_t)guardian, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
}

/* A guardian exits with 0 when all is done, or nothing was started. */
static bool was_killed(pid_t guardian)
{
    int status = 0;

    while (waitpid(guardian, &status, 0) < 0)
        if (errno != EINTR)
            return true;
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static _Noreturn void outer_live(const struct guard_plan  *plan,
                                 const struct cgroup_name *group, int link)
{
    pid_t self = getpid();
    int   status = 0;

    settle_apart(GUARD_OUTER_NAME);
    settle_guardian(plan);
    pid_t guardian = fork();
    if (guardian == 0)
        guardian_live(plan, group, link, self);
    close(link); /* holdfast must see the end of the guardian, not ours */
    settle_stdio(STDIN_FILENO, STDERR_FILENO);
    while (guardian > 0 && relay_signal(plan->holder, guardian))
        continue;
    if (guardian > 0 && was_killed(guardian))
        end_orphans(group, 0, &status, NULL);
    _exit(0);
}

/* ---- The start ---------------------------------------------------------------- */

static bool have_children(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

const char *guard_missing_call(void)
{
    struct itimerspec never = { 0 };
    int               reaper, timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    const char       *missing = NULL;

    if (timer < 0 || timerfd_settime(timer, 0, &never, NULL) < 0)
        missing = "timerfd";
    else if (poll(NULL, 0, 0) < 0)
        missing = "poll";
    else if (syscall(SYS_getdents64, -1, NULL, 0) < 0 && errno != EBADF)
        missing = "getdents64";
    else if (waitpid(-1, NULL, WNOHANG) < 0 && errno != ECHILD)
        missing = "wait4";
    else if (kill(getpid(), 0) < 0)
        missing = "kill";
    else if (prctl(PR_GET_CHILD_SUBREAPER, &reaper) < 0)
        missing = "prctl";
    if (timer >= 0)
        close(timer);
    return missing;
}

/* When we are killed, the kernel closes our highest descriptor first.  Closing some of a
 * store's descriptors takes long: inotify waits for a grace period, tens of milliseconds,
 * or seconds on a busy machine.  The guardian must notice our death before that. */
static int raise_fd(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 900);

    if (high < 0)
        return fd;
    close(fd);
    return high;
}

pid_t guard_fork(int *link)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    pid_t pid = fork();
    if (pid < 0) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        errno = error;
        return -1;
    }
    setpgid(pid, 0); /* settle_apart() does so, too, but may be scheduled late */
    close(ends[pid == 0 ? 0 : 1]);
    *link = pid == 0 ? ends[1] : raise_fd(ends[0]);
    return pid;
}

int guard_start(const struct guard_plan *plan, struct guard *ret)
{
    struct cgroup_name group;
    int                link;
    pid_t              self = getpid();
    bool               outer = self == 1 || have_children();

    if (cgroup_choose_name(&group) < 0)
        return -1;
    if (!outer)
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t pid = guard_fork(&link);
    if (pid == 0 && outer)
        outer_live(plan, &group, link);
    if (pid == 0)
        guardian_live(plan, &group, link, self);
    if (pid < 0)
        return -1;
    *ret = (struct guard){ .pid = pid, .link = link, .outer = outer, .group = group };
    return 0;
}

/* -1: it could not be sent.  A dead guardian is no failure here: what it said last may
 * still be unread. */
static int send_message(struct guard *guard, const struct msghdr *msg, int flags)
{
    ssize_t n = sendmsg(guard->link, msg, flags | MSG_NOSIGNAL);

    return n < 0 && errno != EPIPE && errno != ECONNRESET ? -1 : 0;
}

/* Never waits: a guardian whose socket is full does not listen any more. */
static int send_order(struct guard *guard, const struct guard_order *order)
{
    char          control[CMSG_SPACE(sizeof(int) * GUARD_FDS_MAX)] = { 0 };
    struct iovec  iov = { .iov_base = (void *)order, .iov_len = sizeof *order };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    size_t        size = sizeof(int) * (size_t)order->lifelines;

    assert(order->lifelines >= 0 && order->lifelines <= GUARD_FDS_MAX);
    if (size > 0) {
        msg.msg_control = control;
        msg.msg_controllen = CMSG_SPACE(size);
        struct cmsghdr *header = CMSG_FIRSTHDR(&msg);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(header), order->lifeline, size);
    }
    return send_message(guard, &msg, MSG_DONTWAIT);
}

int guard_go(struct guard *guard, const struct guard_order *go)
{
    assert(go->kind == GUARD_GO);
    return send_order(guard, go);
}

static struct guard_order make_order(enum guard_order_kind kind)
{
    struct guard_order order;

    memset(&order, 0, sizeof order); /* padding is sent, too */
    order.kind = kind;
    return order;
}

int guard_tell(struct guard *guard, enum guard_order_kind kind, int value,
               int64_t deadline)
{
    struct guard_order order = make_order(kind);

    order.value = value;
    order.deadline = deadline;
    return send_order(guard, &order);
}

int guard_tell_key(struct guard *guard, const void *key, size_t size)
{
    struct guard_order order = make_order(GUARD_KEY);
    struct iovec       iov[] = { { .iov_base = &order, .iov_len = sizeof order },
                                 { .iov_base = (void *)key, .iov_len = size } };
    struct msghdr      msg = { .msg_iov = iov, .msg_iovlen = 2 };

    assert(size > 0 && size <= GUARD_KEY_MAX);
    return send_message(guard, &msg, MSG_DONTWAIT);
}

int guard_hear(struct guard *guard, struct guard_news *ret)
{
    struct iovec  iov = { .iov_base = ret, .iov_len = sizeof *ret };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    ssize_t       n = recvmsg(guard->link, &msg, MSG_DONTWAIT);

    /* ECONNRESET: it ended without having read our last order.  The kernel says so once,
     * before what the guardian said last. */
    if (n < 0 && errno == ECONNRESET)
        n = recvmsg(guard->link, &msg, MSG_DONTWAIT);
    if (n == (ssize_t)sizeof *ret)
        return 1;
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

/* 1: it has ended, 0: not yet.  signals_next() reaps it, too. */
static int has_ended(struct guard *guard)
{
    if (guard->pid > 0 && waitpid(guard->pid, NULL, WNOHANG) != 0)
        guard->pid = 0;
    return guard->pid == 0;
}

/* Have the outer guardian signal the guardian, once somebody who has stopped one of them
 * is overruled. */
static void ask_guardians(struct guard *guard, int signal)
{
    if (has_ended(guard))
        return;
    kill(guard->pid, SIGCONT);
    if (guard->outer)
        kill(guard->pid, signal);
}

/* If the link just closed, the guardian would think that we are dead.  So this waits
 * until the order is sent: a guardian that is not stopped reads it. */
void guard_dismiss(struct guard *guard)
{
    struct guard_order order = make_order(GUARD_DISMISS);
    struct iovec       iov = { .iov_base = &order, .iov_len = sizeof order };
    struct msghdr      msg = { .msg_iov = &iov, .msg_iovlen = 1 };

    if (guard->link < 0 || guard->dismissed)
        return;
    guard->dismissed = true;
    ask_guardians(guard, WAKE_GUARDIAN);
    send_message(guard, &msg, 0);
}

void guard_finish(struct guard *guard)
{
    guard_dismiss(guard);
    if (guard->link >= 0)
        close(guard->link);
    guard->link = -1;
    while (guard->pid > 0 && waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    guard->pid = 0;
}

/* ---- Taking over ------------------------------------------------------------- */

/* When the guardian is dead the outer one ends the tree, and then exits.  If it was
 * killed, too, only the control group still tells which processes are the tree. */
static void leave_it_to_outer(struct guard *guard, const struct tree_stuck *stuck)
{
    struct timespec pause = { .tv_nsec = 1000000 };
    int64_t         tell_at = clock_boot_ns() + TREE_STUCK_NS;

    ask_guardians(guard, KILL_GUARDIAN);
    while (!has_ended(guard)) {
        nanosleep(&pause, NULL);
        if (2 * pause.tv_nsec <= TREE_MEANWHILE_NS)
            pause.tv_nsec *= 2;
        if (stuck->meanwhile != NULL)
            stuck->meanwhile(stuck->data);
        if (clock_boot_ns() >= tell_at) {
            tell_at = INT64_MAX;
            stuck->tell(stuck->data);
        }
    }
    int group = cgroup_find(&guard->group);
    if (group >= 0)
        cgroup_kill(group);
    cgroup_drop(group, &guard->group);
}

int guard_members(const struct guard *guard, struct tree_member out[TREE_MEMBERS_MAX])
{
    return tree_members(guard->outer ? guard->pid : getpid(), out);
}

void guard_take_over(struct guard *guard, pid_t command, int *status,
                     const struct tree_stuck *stuck)
{
    if (guard->outer) {
        leave_it_to_outer(guard, stuck);
    } else {
        if (!has_ended(guard))
            kill(guard->pid, SIGKILL);
        end_orphans(&guard->group, command, status, stuck);
        guard->pid = 0; /* it was below us, too, and was reaped */
    }
    guard_finish(guard);
}
