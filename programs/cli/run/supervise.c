/* supervise.c - see supervise.h. */
#include "run/supervise.h"

#include "clock.h"
#include "complain.h"
#include "guard/settle.h"
#include "run/also_flock.h"
#include "run/messages.h"
#include "run/status.h"
#include "session.h"

#include <assert.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A guardian that was told LOST needs much less time to end the tree. */
#define HANG_NS (500 * NS_PER_MS)

/* ---- States ----------------------------------------------------------------- */

static void move(struct supervisor *s, enum supervised to)
{
    static const bool arrow[][GONE + 1] = {
        [GUARDED] = { [ENDING] = true, [STUCK] = true, [ORPHANED] = true, [GONE] = true },
        [ENDING] = { [ENDING] = true, [STUCK] = true, [ORPHANED] = true, [GONE] = true },
        [STUCK] = { [ORPHANED] = true, [GONE] = true },
        [ORPHANED] = { [GONE] = true },
        [GONE] = { false },
    };

    if (s->state == ORPHANED && to != GONE)
        return; /* old news of a guardian that we have given up */
    assert(arrow[s->state][to]);
    s->state = to;
}

static void blame(struct supervisor *s, enum end_cause cause)
{
    if (cause > s->cause)
        s->cause = cause;
}

static void reach_fate(struct supervisor *s, enum command_fate fate)
{
    if (fate > s->fate)
        s->fate = fate;
}

/* The tree is being killed: a command that obeyed has left something. */
static void kill_begins(struct supervisor *s, enum supervised state, enum end_cause cause)
{
    if (s->fate == FATE_OBEYED)
        s->fate = FATE_EXITED;
    blame(s, cause);
    move(s, state);
}

static void tell_guardian(struct supervisor *s, enum guard_order_kind kind, int value,
                          int64_t deadline)
{
    if (s->state == GUARDED && guard_tell(s->guard, kind, value, deadline) < 0)
        kill_begins(s, ORPHANED, BY_GUARDIAN);
}

static void pass_on(struct supervisor *s, int signal)
{
    tell_guardian(s, GUARD_SIGNAL, signal, 0);
}

/* ---- The lock -------------------------------------------------------------- */

/* The file of --also-flock stays locked as long as our place is kept, and is the first to
 * be closed. */
static int list_lifelines(struct supervisor *s, int list[GUARD_FDS_MAX])
{
    int file = also_flock_fd() >= 0;

    list[0] = also_flock_fd();
    int count = hf_lifeline(s->client, list + file, GUARD_FDS_MAX - file);
    return file + (count > 0 ? count : 0);
}

static void start_command(struct supervisor *s)
{
    struct guard_order go;

    s->deadline = session_deadline(s->lock);
    memset(&go, 0, sizeof go);
    go.kind = GUARD_GO;
    go.lifelines = list_lifelines(s, go.lifeline);
    go.deadline = s->deadline;
    go.hold_until = s->hold_until;
    go.token = hf_token(s->lock);
    go.slot = hf_slot(s->lock);
    if (guard_go(s->guard, &go) < 0)
        kill_begins(s, ORPHANED, BY_GUARDIAN);
}

/* The lock may be lost by now: a message about the grant blocks while stderr is full. */
static void start_if_held(struct supervisor *s)
{
    hf_process(s->client);
    if (hf_state(s->lock) == HF_HELD) {
        start_command(s);
    } else {
        blame(s, BY_LOSS);
        move(s, GONE);
        status_lost();
    }
}

static void lock_was_lost(struct supervisor *s)
{
    status_lost();
    blame(s, BY_LOSS);
    if (s->state == STUCK)
        return; /* the guardian kills the tree already */
    s->give_up_at = clock_boot_ns() + HANG_NS;
    tell_guardian(s, GUARD_LOST, 0, 0);
    if (s->state == GUARDED)
        kill_begins(s, ENDING, BY_LOSS);
}

static void look_at_lock(struct supervisor *s)
{
    hf_process(s->client);
    guard_key_send(s->key);
    if (s->cause == BY_LOSS)
        return;
    if (hf_state(s->lock) != HF_HELD) {
        lock_was_lost(s);
        return;
    }
    int64_t deadline = session_deadline(s->lock);
    if (s->state == GUARDED && session_deadline_moved(s->deadline, deadline)) {
        s->deadline = deadline;
        tell_guardian(s, GUARD_DEADLINE, 0, deadline);
    }
}

/* The command decides whether it ends. */
static void look_at_requests(struct supervisor *s)
{
    if (!requests_next(s->requests))
        return;
    if (s->args->on_ask != 0)
        pass_on(s, s->args->on_ask);
    else if (!s->args->quiet)
        requests_say(s->requests, hf_name(s->lock), "");
}

/* ---- Stopping and going on --------------------------------------------------- */

/* Stop, as the user or the terminal wants, and continue together with the command. */
static void pause_with_command(struct supervisor *s, int signal)
{
    bool stopped = signals_stop_self(signal);

    if (!stopped && signal != SIGTSTP)
        pass_on(s, SIGHUP); /* it will never get the terminal */
    if (s->terminal.wanted || signal != SIGTSTP)
        terminal_lend(&s->terminal, s->command);
    pass_on(s, SIGCONT);
}

static void command_stopped(struct supervisor *s, int signal)
{
    if (signal == SIGTTIN || signal == SIGTTOU) {
        if (terminal_lend(&s->terminal, s->command))
            pass_on(s, SIGCONT);
        else
            pause_with_command(s, signal);
    } else if (s->terminal.lent) {
        /* Ctrl-Z went to the command alone.  Stop the rest of the job too; our
         * own SIGTSTP comes back to us as if it had been typed. */
        terminal_take_back(&s->terminal, true);
        kill(0, SIGTSTP);
    }
}

static void look_at_signals(struct supervisor *s)
{
    int signal;

    while ((signal = signals_next(s->signals)) != 0) {
        sigaddset(&s->passed, signal);
        pass_on(s, signal);
        if (signal == SIGTSTP)
            pause_with_command(s, SIGTSTP);
    }
}

/* ---- The guardian ------------------------------------------------------------ */

/* The user is told at once: it may take long, and others may have the lock already. */
static void say_stuck(struct supervisor *s, const struct tree_member *member, int count)
{
    const char *name = hf_name(s->lock);
    char        who[TREE_NAMES_MAX];

    tree_names(who, member, count);
    reach_fate(s, FATE_STUCK);
    if (s->cause == BY_LOSS)
        complain("\"%s\" was lost, but %s cannot be ended", name, who);
    else
        complain("%s cannot be ended: keeping \"%s\" until it is gone", who, name);
}

static void stuck_after_take_over(void *data)
{
    struct supervisor *s = data;
    struct tree_member member[TREE_MEMBERS_MAX];
    int                count = guard_members(s->guard, member);

    if (count > 0)
        say_stuck(s, member, count);
}

/* The lock is kept until all is gone, and has to be renewed until then. */
static void keep_meanwhile(void *data)
{
    struct supervisor *s = data;

    hf_process(s->client);
    if (hf_state(s->lock) != HF_HELD)
        blame(s, BY_LOSS);
    status_turn(s->lock);
}

/* Even with -q: while the lock is kept nobody else can run. */
static void say_remain(const struct supervisor *s, const struct guard_news *news)
{
    char who[TREE_NAMES_MAX];

    tree_names(who, news->member, news->value);
    if (s->args->leftovers == LEFTOVERS_WAIT)
        complain(
            "the command has ended, but left %s running: keeping \"%s\" until none is "
            "left; see --leftovers",
            who, hf_name(s->lock));
    else if (!s->args->quiet)
        complain("the command has ended: ending what it left: %s", who);
}

/* The command is not asked to end for that: in an empty chroot there is no /proc. */
static void say_blind(const struct supervisor *s)
{
    if (!s->args->quiet)
        complain("/proc does not show the processes of this PID namespace: one that "
                 "leaves the command's process group cannot be ended, and keeps \"%s\" "
                 "until it ends; mount /proc there, as `unshare --mount-proc` does",
                 hf_name(s->lock));
}

static void command_exited(struct supervisor *s, int status)
{
    bool asked = s->cause == BY_MAX_RUN || s->cause == BY_DEADLINE;

    s->status = status;
    if (WIFEXITED(status))
        reach_fate(s, asked && s->state == GUARDED ? FATE_OBEYED : FATE_EXITED);
}

static void take_news(struct supervisor *s, const struct guard_news *news)
{
    switch (news->kind) {
    case GUARD_STARTED:
        s->command = news->value;
        reach_fate(s, FATE_STARTED);
        if (!s->keep_stdio)
            settle_stdio(STDIN_FILENO, STDOUT_FILENO); /* stderr is ours, too */
        break;
    case GUARD_FAILED:
        s->exec_error = news->value;
        break;
    case GUARD_STOPPED:
        command_stopped(s, news->value);
        break;
    case GUARD_EXITED:
        command_exited(s, news->value);
        break;
    case GUARD_LEFTOVERS:
        say_remain(s, news);
        break;
    case GUARD_ASKED:
        blame(s, BY_DEADLINE);
        break;
    case GUARD_OVERDUE:
        blame(s, BY_MAX_RUN);
        break;
    case GUARD_EXPIRED:
        kill_begins(s, ENDING, BY_LOSS);
        status_lost();
        break;
    case GUARD_OUTER_DEAD:
        kill_begins(s, ENDING, BY_GUARDIAN);
        break;
    case GUARD_STUCK:
        s->give_up_at = 0;
        move(s, STUCK);
        say_stuck(s, news->member, news->value);
        break;
    case GUARD_BLIND:
        say_blind(s);
        break;
    case GUARD_GONE:
        move(s, GONE);
        break;
    }
}

static void look_at_guardian(struct supervisor *s)
{
    struct guard_news news;
    int               r = 1;

    while (s->state != GONE && (r = guard_hear(s->guard, &news)) > 0)
        take_news(s, &news);
    bool hangs = s->give_up_at != 0 && clock_boot_ns() > s->give_up_at;
    if (s->state != GONE && (r < 0 || hangs))
        kill_begins(s, ORPHANED, BY_GUARDIAN);
}

static int patience_ms(const struct supervisor *s)
{
    bool lost = s->cause == BY_LOSS;
    int  timeout =
        clock_sooner(hf_timeout_ms(s->client), lost ? -1 : store_message_timeout_ms());

    return lost ? clock_sooner(timeout, 50) : timeout;
}

/* The guardian cannot do it any more: this process inherits the tree, and kills it. */
static void take_over(struct supervisor *s)
{
    struct tree_stuck stuck = { .tell = stuck_after_take_over,
                                .meanwhile = keep_meanwhile,
                                .data = s };

    assert(s->state == ORPHANED);
    guard_take_over(s->guard, s->command, &s->status, &stuck);
    move(s, GONE);
}

void supervise(struct supervisor *s)
{
    assert(s->state == GUARDED);
    s->status = SIGKILL; /* unless we learn how it ended */
    sigemptyset(&s->passed);
    start_if_held(s);
    while (s->state != GONE && s->state != ORPHANED) {
        struct pollfd on[] = {
            { .fd = hf_fd(s->client), .events = POLLIN },
            { .fd = s->signals->fd, .events = POLLIN },
            { .fd = s->guard->link, .events = POLLIN },
            status_poll(),
        };
        poll(on, 4, patience_ms(s));
        look_at_lock(s);
        status_turn(s->lock);
        if (s->cause != BY_LOSS)
            store_message_show(s->lock);
        look_at_requests(s);
        look_at_guardian(s);
        look_at_signals(s);
    }
    if (s->state == ORPHANED)
        take_over(s);
    terminal_take_back(&s->terminal, WIFSIGNALED(s->status));
}
