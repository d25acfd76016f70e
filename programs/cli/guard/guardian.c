/* guardian.c - the guardian's own life; see guard.h.
 *
 *     WAITING --go--> GUARDING --command and its tree gone by themselves--> GONE
 *        |                |                                                 ^  |
 *        |                | end of file, outer dead, lost, deadline         |  |
 *        |                v                                                 |  |
 *        |              ENDING: SIGKILL until nothing is left --------------+  |
 *        |                                                                     |
 *        +--- dismissed: exit;  end of file: end the session, then exit --------+
 *
 * In ENDING the guardian reads no more orders: none would matter.  End of file means that
 * holdfast is dead.  While it is only stopped the session is not ended, whatever else
 * happens.
 */
#include "guard/guardian.h"

#include "clock.h"
#include "guard/cgroup.h"
#include "guard/settle.h"
#include "guard/tree.h"
#include "proc.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long leftovers may take to end before the user is told. */
#define PATIENCE_NS (400 * NS_PER_MS)

/* The kernel sends it when our parent has died; from others it means nothing. */
#define PARENT_SIGNAL SIGTERM

struct guardian {
    const struct guard_plan  *plan;
    const struct cgroup_name *group;
    pid_t                     parent;  /* holdfast, or the outer guardian */
    int                       link;    /* to holdfast */
    int                       signals; /* a signalfd: a child, or our parent, has ended */
    int             report; /* tells whether exec() succeeded; -1: that is known */
    int             cgroup;
    struct kept_key key;
    pid_t           child; /* 0: not started, or reaped */
    bool            started;
    bool            gone; /* nothing of the tree is left */
    int64_t         hold_until;
    struct timer    timer;
};

/* --hold-at-least also counts if holdfast is dead: a job that was started must not be
 * started again too soon. */
static void wait_until(int64_t when)
{
    struct timespec at = { .tv_sec = when / NS_PER_SEC, .tv_nsec = when % NS_PER_SEC };

    while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

/* holdfast is dead, and nothing of the tree is left, or was ever started.  If the lease
 * ends before --hold-at-least, it ends the session: that is later than we would. */
static _Noreturn void exit_and_end_session(struct guardian *g)
{
    assert(g->gone || !g->started);
    if (g->timer.deadline < g->hold_until)
        _exit(0);
    wait_until(g->hold_until);
    kept_key_end_session(&g->key, g->timer.deadline);
    _exit(0); /* only now the lifeline's descriptors are closed */
}

static bool hear_order(struct guardian *g);

static _Noreturn void gone(struct guardian *g)
{
    link_tell(g->link, GUARD_GONE, 0);
    cgroup_drop(g->cgroup, g->group); /* after GONE: the lock need not wait for this */
    signal(SIGCHLD, SIG_IGN); /* what --leftovers leave lets go is not ours to reap */
    g->gone = true;
    for (;;)
        hear_order(g);
}

static void tell_stuck(void *data)
{
    const struct guardian *g = data;

    link_tell_who(g->link, GUARD_STUCK);
}

static _Noreturn void end_tree(struct guardian *g)
{
    struct tree_stuck stuck = { .tell = tell_stuck, .data = g };
    int               status = 0;

    if (g->child > 0)
        kill(-g->child, SIGKILL);
    if (g->cgroup >= 0)
        cgroup_kill(g->cgroup);
    tree_end(g->child, &status, &stuck);
    if (g->child > 0)
        link_tell(g->link, GUARD_EXITED, status);
    gone(g);
}

/* To the command's group; once another process may have that number, to each that is
 * left. */
static void signal_command(struct guardian *g, int signal)
{
    if (g->child > 0)
        kill(-g->child, signal);
    else if (g->started)
        tree_signal(getpid(), 0, signal);
}

/* Also to those that have left the group, as children of timeout(1) and setsid(1) do: the
 * lock is kept until they have ended. */
static void signal_tree(struct guardian *g, int signal)
{
    signal_command(g, signal);
    if (g->child > 0 && g->plan->leftovers != LEFTOVERS_LEAVE)
        tree_signal(getpid(), g->child, signal);
}

static void ask_to_end(struct guardian *g)
{
    signal_tree(g, g->plan->signal);
    signal_tree(g, SIGCONT); /* a stopped process cannot obey */
}

/* SIGTERM is meant for all of a job.  The others are, as at a terminal, for the
 * foreground. */
static void pass_on(struct guardian *g, int signal)
{
    if (signal == SIGTERM)
        signal_tree(g, signal);
    else
        signal_command(g, signal);
}

/* ... and kill what has not after --grace. */
static void ask_then_kill(struct guardian *g)
{
    int64_t kill_at = clock_boot_ns() + g->plan->grace_ns;

    ask_to_end(g);
    g->timer.end_at = kill_at < g->timer.end_at ? kill_at : g->timer.end_at;
}

static void start_guarding(struct guardian *g, const struct guard_order *go)
{
    assert(!g->started);
    if (link_has_ended(g->link))
        return; /* GO was its last order: end of file comes next */

    if (go->deadline != INT64_MAX)
        settle_in_memory();
    if (clock_boot_ns() >= go->deadline) { /* holdfast, or we, were stopped */
        link_tell(g->link, GUARD_EXPIRED, 0);
        gone(g);
    }
    g->cgroup = cgroup_make(g->group);
    if (g->cgroup < 0 && !proc_is_ours())
        link_tell(g->link, GUARD_BLIND, 0);
    g->child = child_start(g->plan, go, g->cgroup, &g->report);
    if (g->child < 0) {
        link_tell(g->link, GUARD_FAILED, errno);
        gone(g);
    }
    g->started = true;
    g->hold_until = go->hold_until;
    settle_stdio(STDIN_FILENO, STDERR_FILENO);
    link_tell(g->link, GUARD_STARTED, (int)g->child);
    if (g->plan->max_run_ns > 0)
        g->timer.stop_at = clock_boot_ns() + g->plan->max_run_ns;
    timer_set_deadline(&g->timer, go->deadline, g->plan->grace_ns);
    cgroup_sweep(g->cgroup);
}

/* After GONE there is nothing left to be signalled or ended. */
static void obey(struct guardian *g, const struct guard_order *order)
{
    switch (order->kind) {
    case GUARD_GO:
        start_guarding(g, order);
        break;
    case GUARD_DEADLINE:
        timer_set_deadline(&g->timer, order->deadline, g->plan->grace_ns);
        break;
    case GUARD_SIGNAL:
        if (!g->gone)
            pass_on(g, order->value);
        break;
    case GUARD_LOST:
        if (!g->gone)
            end_tree(g);
        break;
    case GUARD_KEY:         /* guard_link.c has stored it */
        settle_in_memory(); /* there will be a deadline; at present nobody waits for us */
        break;
    case GUARD_DISMISS:
        _exit(0);
    }
}

/* False: there is none at present. */
static bool hear_order(struct guardian *g)
{
    struct guard_order order;

    switch (link_hear(g->link, g->gone, &order, &g->key)) {
    case LINK_SILENT:
        return false;
    case LINK_ORDER:
        obey(g, &order);
        return true;
    case LINK_ENDED:
        break;
    }
    if (g->started && !g->gone)
        end_tree(g);
    exit_and_end_session(g);
}

static void look_at_report(struct guardian *g)
{
    int     error;
    ssize_t n = read(g->report, &error, sizeof error);

    if (n == (ssize_t)sizeof error) {
        link_tell(g->link, GUARD_FAILED, error);
        g->hold_until = 0; /* nothing was started */
    }
    close(g->report);
    g->report = -1;
}

/* The link shows the death of holdfast, too; that of an outer guardian shows only
 * here. */
static void look_at_parent(struct guardian *g)
{
    if (getppid() == g->parent)
        return;
    if (!g->started && link_has_ended(g->link))
        return; /* end of file comes next */
    if (!g->started)
        _exit(0);
    link_tell(g->link, GUARD_OUTER_DEAD, 0);
    end_tree(g);
}

/* The command has just ended, but not all that it started. */
static void see_to_leftovers(struct guardian *g)
{
    switch (g->plan->leftovers) {
    case LEFTOVERS_LEAVE:
        cgroup_empty(g->cgroup);
        gone(g);
    case LEFTOVERS_END:
        link_tell_who(g->link, GUARD_LEFTOVERS);
        ask_then_kill(g);
        break;
    case LEFTOVERS_WAIT:
        g->timer.tell_at = clock_boot_ns() + PATIENCE_NS;
        break;
    }
    leftovers_announce();
    timer_set(&g->timer);
}

static void reap_children(struct guardian *g)
{
    pid_t pid;
    int   status;
    bool  ended = false;

    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid != g->child)
            continue;
        if (WIFSTOPPED(status)) {
            link_tell(g->link, GUARD_STOPPED, WSTOPSIG(status));
            continue;
        }
        if (g->report >= 0)
            look_at_report(g); /* it may have come meanwhile */
        g->child = 0;
        ended = true;
        link_tell(g->link, GUARD_EXITED, status);
    }
    if (g->started && pid < 0 && errno == ECHILD)
        gone(g);
    if (ended)
        see_to_leftovers(g);
}

static void on_signal(struct guardian *g)
{
    struct signalfd_siginfo info;

    while (read(g->signals, &info, sizeof info) > 0)
        ;
    look_at_parent(g);
    reap_children(g);
}

static void on_time(struct guardian *g)
{
    uint64_t ticks;
    int64_t  now = clock_boot_ns();

    if (read(g->timer.fd, &ticks, sizeof ticks) < 0)
        return; /* the timer was set again meanwhile */
    if (now >= g->timer.deadline) {
        link_tell(g->link, GUARD_EXPIRED, 0);
        end_tree(g);
    }
    if (now >= g->timer.ask_at) {
        g->timer.ask_at = INT64_MAX;
        link_tell(g->link, GUARD_ASKED, 0);
        ask_to_end(g);
    }
    if (now >= g->timer.stop_at) {
        g->timer.stop_at = INT64_MAX;
        link_tell(g->link, GUARD_OVERDUE, 0);
        ask_then_kill(g);
    }
    if (now >= g->timer.end_at)
        end_tree(g);
    if (now >= g->timer.tell_at) {
        g->timer.tell_at = INT64_MAX;
        link_tell_who(g->link, GUARD_LEFTOVERS);
    }
    timer_set(&g->timer);
}

static void settle_in(struct guardian *g)
{
    sigset_t wanted;

    settle_apart(GUARD_NAME);
    settle_guardian(g->plan);
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    sigaddset(&wanted, PARENT_SIGNAL);
    g->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    if (g->signals < 0 || timer_open(&g->timer) < 0 || kept_key_init(&g->key) < 0)
        _exit(1);

    prctl(PR_SET_PDEATHSIG, PARENT_SIGNAL);
    look_at_parent(g); /* it may have died before that */
    settle_urgent(g->plan);
}

_Noreturn void guardian_live(const struct guard_plan  *plan,
                             const struct cgroup_name *group, int link, pid_t parent)
{
    struct guardian g = {
        .plan = plan,
        .group = group,
        .parent = parent,
        .link = link,
        .report = -1,
        .cgroup = -1,
    };

    settle_in(&g);
    for (;;) {
        struct pollfd on[] = {
            { .fd = g.link, .events = POLLIN },
            { .fd = g.timer.fd, .events = POLLIN },
            { .fd = g.report, .events = POLLIN },
            { .fd = g.signals, .events = POLLIN },
        };
        if (poll(on, 4, -1) < 0 && errno != EINTR) {
            if (!g.started)
                _exit(1); /* GO would still start the command */
            end_tree(&g);
        }
        while (hear_order(&g)) /* one may be a later deadline: we may have been stopped */
            continue;
        if (on[1].revents != 0)
            on_time(&g);
        if (on[2].revents != 0)
            look_at_report(&g);
        if (on[3].revents != 0)
            on_signal(&g);
    }
}
