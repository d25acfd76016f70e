/* guard.c - holdfast's end of the guardian; see guard.h. */
#include "guard.h"

#include "cgroup.h"
#include "tree.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* `sleep 9 & exec holdfast run ...` leaves us with a child that is not ours to
 * end. */
static bool have_children(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* When we are killed the kernel closes our highest descriptor first, and some of
 * the store's take it long: inotify waits for a grace period, tens of
 * milliseconds, seconds on a busy machine.  The guardian must hear before. */
static int raise_fd(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 900);

    if (high < 0)
        return fd;
    close(fd);
    return high;
}

int guard_start(const struct guard_plan *plan, struct guard *ret)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;

    ret->alone = !have_children();
    if (ret->alone)
        prctl(PR_SET_CHILD_SUBREAPER, 1);

    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        guardian_live(plan, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return -1;
    }
    ret->pid = pid;
    ret->link = raise_fd(ends[0]);
    return 0;
}

/* Never waits: a guardian whose mailbox is full does not listen any more.  One
 * that is gone is no failure here: its last words may still be unread. */
static int send_order(struct guard *guard, const struct guard_order *order,
                      const int *fds, int count)
{
    char          control[CMSG_SPACE(sizeof(int) * GUARD_FDS_MAX)] = { 0 };
    struct iovec  iov = { .iov_base = (void *)order, .iov_len = sizeof *order };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    size_t        size = sizeof(int) * (size_t)count;

    assert(count >= 0 && count <= GUARD_FDS_MAX);
    if (count > 0) {
        msg.msg_control = control;
        msg.msg_controllen = CMSG_SPACE(size);
        struct cmsghdr *header = CMSG_FIRSTHDR(&msg);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(header), fds, size);
    }
    ssize_t n = sendmsg(guard->link, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    return n < 0 && errno == EAGAIN ? -1 : 0;
}

int guard_go(struct guard *guard, const struct guard_order *go, const int *fds, int count)
{
    assert(go->kind == GUARD_GO);
    return send_order(guard, go, fds, count);
}

int guard_tell(struct guard *guard, enum guard_order_kind kind, int value,
               int64_t deadline)
{
    struct guard_order order;

    memset(&order, 0, sizeof order); /* padding travels too */
    order.kind = kind;
    order.value = value;
    order.deadline = deadline;
    return send_order(guard, &order, NULL, 0);
}

int guard_hear(struct guard *guard, struct guard_news *ret)
{
    ssize_t n = recv(guard->link, ret, sizeof *ret, MSG_DONTWAIT);

    /* It ended without having read our last order: that is told once, before
     * its own last words. */
    if (n < 0 && errno == ECONNRESET)
        n = recv(guard->link, ret, sizeof *ret, MSG_DONTWAIT);
    if (n == (ssize_t)sizeof *ret)
        return 1;
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static void reap_guardian(struct guard *guard)
{
    if (guard->pid <= 0)
        return;
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    guard->pid = 0;
}

void guard_finish(struct guard *guard)
{
    if (guard->link >= 0)
        close(guard->link);
    guard->link = -1;
    reap_guardian(guard);
}

/* We are no subreaper then: what the command left behind is out of our sight.
 * The kernel ends the command itself when its guardian dies. */
static void end_group(pid_t command)
{
    for (int i = 0; i < 1000 && command > 0; i++) {
        if (kill(-command, SIGKILL) < 0 && errno == ESRCH)
            break;
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
}

void guard_take_over(struct guard *guard, pid_t command, int *status)
{
    pid_t pid = guard->pid;
    int   group = cgroup_find(pid);

    if (group >= 0)
        cgroup_kill(group);
    if (guard->alone) {
        tree_end(command, status); /* the guardian is part of it */
        guard->pid = 0;
    } else {
        kill(pid, SIGKILL);
        reap_guardian(guard);
        end_group(command);
    }
    cgroup_drop(group, pid);
    guard_finish(guard);
}
