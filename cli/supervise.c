/* supervise.c - see supervise.h. */
#include "supervise.h"

#include "cli.h"
#include "clock.h"
#include "reach.h"
#include "session.h"
#include "settle.h"
#include "status.h"

#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A guardian that was told LOST has ended the tree long before that. */
#define HANG_NS (500 * NS_PER_MS)

/* One that is ending the tree listens to nobody: its mailbox would only fill. */
static bool listens(const struct supervisor *s)
{
    return !s->stuck && !s->bereft;
}

static void pass_on(struct supervisor *s, int signal)
{
    if (listens(s) && guard_tell(s->guard, GUARD_SIGNAL, signal, 0) < 0)
        s->orphaned = true;
}

/* ---- The lock -------------------------------------------------------------- */

static void start_command(struct supervisor *s)
{
    struct guard_order go;

    s->deadline = session_deadline(s->lock);
    memset(&go, 0, sizeof go);
    int lifelines = hf_lifeline(s->client, go.lifeline, GUARD_FDS_MAX);
    go.kind = GUARD_GO;
    go.lifelines = lifelines > 0 ? lifelines : 0;
    go.deadline = s->deadline;
    go.hold_until = s->hold_until;
    go.token = hf_token(s->lock);
    go.slot = hf_slot(s->lock);
    if (guard_go(s->guard, &go) < 0)
        s->orphaned = true;
}

/* Who told the user of the grant may have waited long, for a stderr that was full. */
static void start_if_held(struct supervisor *s)
{
    hf_process(s->client);
    if (hf_state(s->lock) == HF_HELD) {
        start_command(s);
    } else {
        s->lost = s->gone = true;
        status_lost();
    }
}

static void look_at_lock(struct supervisor *s)
{
    hf_process(s->client);
    will_hand_over(s->will);
    if (s->lost)
        return;
    if (hf_state(s->lock) != HF_HELD) {
        s->lost = true;
        status_lost();
        if (s->stuck)
            return; /* it does what can be done */
        s->give_up_at = clock_boot_ns() + HANG_NS;
        if (guard_tell(s->guard, GUARD_LOST, 0, 0) < 0)
            s->orphaned = true;
        return;
    }
    int64_t deadline = session_deadline(s->lock);
    if (listens(s) && session_deadline_moved(s->deadline, deadline)) {
        s->deadline = deadline;
        if (guard_tell(s->guard, GUARD_DEADLINE, 0, deadline) < 0)
            s->orphaned = true;
    }
}

/* The command decides: it ends when it sees fit, or does not. */
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

/* Stop as the user, or the terminal, wants it; then go on together. */
static void pause_with_command(struct supervisor *s, int signal)
{
    bool stopped = signals_stop_self(signal);

    if (!stopped && signal != SIGTSTP)
        pass_on(s, SIGHUP); /* nobody will ever give it a terminal */
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

/* Said at once: it may take long, and others may have the lock already. */
static void say_stuck(struct supervisor *s, const struct tree_member *member, int count)
{
    const char *name = hf_name(s->lock);
    char        who[TREE_NAMES_MAX];

    tree_names(who, member, count);
    if (s->lost)
        complain("\"%s\" was lost, but %s cannot be ended", name, who);
    else
        complain("%s cannot be ended: keeping \"%s\" until it is gone", who, name);
    s->stuck = true;
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
        s->lost = true;
    status_turn(s->lock);
}

/* Told even with -q: while the lock is kept nobody else can run. */
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

static void take_news(struct supervisor *s, const struct guard_news *news)
{
    switch (news->kind) {
    case GUARD_STARTED:
        s->command = news->value;
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
        s->status = news->value;
        s->exited = true;
        s->obeyed = (s->asked || s->overdue) && WIFEXITED(s->status);
        break;
    case GUARD_REMAIN:
        say_remain(s, news);
        break;
    case GUARD_ASKED:
        s->asked = true;
        break;
    case GUARD_OVERDUE:
        s->overdue = true;
        break;
    case GUARD_EXPIRED:
        s->lost = true;
        status_lost();
        break;
    case GUARD_BEREFT:
        s->bereft = true;
        break;
    case GUARD_STUCK:
        s->give_up_at = 0; /* it does what can be done */
        say_stuck(s, news->member, news->value);
        break;
    case GUARD_BORN:
        break; /* guard.c heard it */
    case GUARD_GONE:
        s->gone = true;
        break;
    }
}

static void look_at_guardian(struct supervisor *s)
{
    struct guard_news news;
    int               r;

    while (!s->gone && (r = guard_hear(s->guard, &news)) != 0) {
        if (r < 0) {
            s->orphaned = true;
            break;
        }
        take_news(s, &news);
    }
}

static int patience_ms(const struct supervisor *s)
{
    int timeout =
        clock_sooner(hf_timeout_ms(s->client), s->lost ? -1 : reach_timeout_ms());

    return s->lost && (timeout < 0 || timeout > 50) ? 50 : timeout;
}

void supervise(struct supervisor *s)
{
    struct tree_stuck stuck = { .tell = stuck_after_take_over,
                                .meanwhile = keep_meanwhile,
                                .data = s };

    sigemptyset(&s->passed);
    start_if_held(s);
    while (!s->gone && !s->orphaned) {
        struct pollfd on[] = {
            { .fd = hf_fd(s->client), .events = POLLIN },
            { .fd = s->signals->fd, .events = POLLIN },
            { .fd = s->guard->link, .events = POLLIN },
            status_poll(),
        };
        poll(on, 4, patience_ms(s));
        look_at_lock(s);
        status_turn(s->lock);
        if (!s->lost)
            reach_show(s->lock);
        look_at_requests(s);
        look_at_guardian(s);
        look_at_signals(s);
        if (s->lost && s->give_up_at != 0 && clock_boot_ns() > s->give_up_at)
            s->orphaned = true;
    }
    if (!s->gone && !s->exited)
        s->status = SIGKILL; /* unless we reap it, and learn how it ended */
    if (!s->gone)
        guard_take_over(s->guard, s->command, &s->status, &stuck);
    terminal_take_back(&s->terminal, WIFSIGNALED(s->status));
}
