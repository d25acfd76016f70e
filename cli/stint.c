/* stint.c - see stint.h. */
#include "stint.h"

#include "cli.h"
#include "clock.h"
#include "linger.h"
#include "metrics.h"
#include "redact.h"
#include "session.h"
#include "status.h"
#include "supervise.h"
#include "take.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND_MAX 512 /* more than the library keeps */

static int say_exec_error(const char *command, int error)
{
    bool is_path = strchr(command, '/') != NULL;

    if (error == ENOENT && is_path && access(command, F_OK) == 0) {
        complain("%s: the interpreter named in its first line was not found", command);
        return EXIT_CANNOT_RUN;
    }
    if (error == ENOENT) {
        complain("%s: command not found%s", command,
                 is_path ? "" : "; give its path if it is not in PATH");
        return EXIT_NOT_FOUND;
    }
    if (error == EACCES)
        complain("%s: not executable; try chmod +x", command);
    else
        complain("%s: cannot be run: %s", command, strerror(error));
    return EXIT_CANNOT_RUN;
}

/* The first three mean "end" to everybody.  Of the others, which may be a daemon's
 * "read your files again", those that the command died of. */
static bool is_stop(const struct supervisor *s)
{
    return sigismember(&s->passed, SIGTERM) == 1 ||
           sigismember(&s->passed, SIGINT) == 1 ||
           sigismember(&s->passed, SIGQUIT) == 1 ||
           (WIFSIGNALED(s->status) && sigismember(&s->passed, WTERMSIG(s->status)) == 1);
}

/* --signal INT is no interrupt: only what the user sent, or the command did itself. */
static bool died_of_interrupt(const struct supervisor *s)
{
    return WIFSIGNALED(s->status) && WTERMSIG(s->status) == SIGINT &&
           (!s->overdue || sigismember(&s->passed, SIGINT) == 1);
}

/* What became of the command, when more than its own end counts. */
static const char *fate(const struct supervisor *s)
{
    if (s->command == 0)
        return "the command was not started";
    if (s->stuck)
        return "not all of the command could be ended, and it ran on until now";
    if (s->obeyed && !s->lost && !s->orphaned)
        return "the command was asked to end, and did";
    if (s->exited && WIFEXITED(s->status))
        return "what was left of the command was ended";
    return "the command was ended";
}

/* STINT_ENDED: there was none. */
static enum stint_end say_loss(const struct supervisor *s, bool found_lost)
{
    const char *name = s->args->operand[0];

    if (s->lost)
        complain("\"%s\" was lost: %s; others may have started", name, fate(s));
    else if (found_lost)
        complain("\"%s\" was lost before the command ended by itself; others may have "
                 "started",
                 name);
    else if (s->asked)
        complain("\"%s\": the store did not answer in time: %s", name, fate(s));
    else if (s->orphaned || s->bereft)
        complain("the guardian was killed: %s", fate(s));
    else
        return STINT_ENDED;
    return !s->lost && !found_lost && !s->asked ? STINT_ORPHANED : STINT_LOST;
}

/* Did the command run to its end under the lock, as far as we know? */
static bool ran_guarded(const struct supervisor *s)
{
    return s->exec_error == 0 && !s->lost && !s->asked && !s->orphaned && !s->bereft;
}

/* Who stops the command does not want to wait either. */
static struct lingered hold_at_least(struct supervisor *s)
{
    if (!ran_guarded(s) || is_stop(s) || died_of_interrupt(s) ||
        clock_boot_ns() >= s->hold_until)
        return (struct lingered){ 0 };
    return linger(s);
}

/* The command and all of it is gone: give the lock back and see how it went.  Only who has
 * given it back, or found it lost, needs no guardian any more. */
static void conclude(struct stint *stint, struct supervisor *s, bool outlived)
{
    bool by_signal = WIFSIGNALED(s->status);
    int  r = hf_release(s->lock);

    if (r == 0 || r == HF_ELOST)
        guard_dismiss(s->guard);
    status_released(r);
    stint->code = by_signal ? 128 + WTERMSIG(s->status) : WEXITSTATUS(s->status);
    if (s->exec_error != 0) {
        stint->end = STINT_FAILED;
        stint->code = say_exec_error(s->args->command[0], s->exec_error);
    } else if ((stint->end = say_loss(s, r == HF_ELOST && !outlived)) != STINT_ENDED) {
        stint->code = EXIT_LOST;
    } else {
        if (s->overdue)
            stint->code = EXIT_OVERDUE;
        if (r == HF_ELOST)
            complain(
                "\"%s\" was lost after the command had ended; others may have started",
                hf_name(s->lock));
        else if (r < 0)
            session_failed(s->client, r); /* the command's own end counts for more */
    }
    stint->interrupted = stint->end == STINT_ENDED && died_of_interrupt(s);
    stint->stop = stint->interrupted || is_stop(s);
    stint->lent = s->terminal.wanted;
}

/* The command is over, and its exit code stands.  But Ctrl-C stops a script. */
static void stop_waiting(struct stint *stint, int signal)
{
    stint->stop = true;
    stint->interrupted = signal == SIGINT;
    stint->lent = false; /* we had the terminal back: our whole job has heard it */
}

static void serve_held(struct stint *stint, const struct taking *taking,
                       struct requests *requests)
{
    struct supervisor s = {
        .args = stint->args,
        .signals = stint->signals,
        .client = taking->client,
        .lock = taking->lock,
        .guard = taking->will->guard,
        .will = taking->will,
        .requests = requests,
        .keep_stdio = stint->repeats,
        .terminal = TERMINAL_INIT,
    };

    if (stint->repeats && !stint->args->quiet)
        complain("elected: leading \"%s\", token %" PRIu64, hf_name(s.lock),
                 hf_token(s.lock));
    int64_t begin = clock_boot_ns();
    s.hold_until = begin + s.args->hold_at_least_ms * NS_PER_MS;
    supervise(&s);
    if (s.overdue && ran_guarded(&s))
        complain("--max-run is over: %s", fate(&s));
    struct lingered lingered = hold_at_least(&s);
    stint->served_ns = clock_boot_ns() - begin;
    conclude(stint, &s, lingered.outlived);
    if (lingered.signal != 0)
        stop_waiting(stint, lingered.signal);
    terminal_finish(&s.terminal);
}

static void serve_guarded(struct stint *stint, struct guard *guard)
{
    char *const          *command = stint->args->command;
    char                  whole[COMMAND_MAX], redacted[COMMAND_MAX];
    struct requests       requests = { 0 };
    struct will           will = { .guard = guard };
    struct session_holder holder = { .to_owner = whole,
                                     .to_all = redact_program(command),
                                     .requests = &requests,
                                     .will = &will };
    struct taking         taking = { .args = stint->args,
                                     .signals = stint->signals,
                                     .will = &will };

    redact_urls(whole, sizeof whole, command);
    redact_command(redacted, sizeof redacted, command);
    if (stint->args->show_command)
        holder.to_all = redacted;
    stint->code = session_open_to_hold(stint->args, &holder, &taking.client);
    if (stint->code != 0) {
        metrics_ended(NULL, NULL, stint->code);
        return;
    }
    metrics_waiting(taking.client);
    if (take(&taking)) {
        metrics_held(taking.client, taking.lock);
        serve_held(stint, &taking, &requests);
    } else {
        stint->code = taking.code;
        stint->stop = taking.signal != 0;
        stint->interrupted = taking.signal == SIGINT;
    }
    metrics_ended(taking.client, taking.lock, stint->code);
    hf_lock_free(taking.lock);
    hf_close(taking.client);
    will_forget(&will);
}

void stint_serve(struct stint *stint)
{
    const struct args *args = stint->args;
    struct guard       guard;
    struct guard_plan  plan = {
         .name = args->operand[0],
         .holder = getpid(),
         .url = args->url,
         .command = args->command,
         .signal = args->signal,
         .grace_ns = args->grace_ms * NS_PER_MS,
         .max_run_ns = args->max_run_ms * NS_PER_MS,
         .leftovers = args->leftovers,
         .close = args->close || args->leftovers == LEFTOVERS_LEAVE,
         .nice = getpriority(PRIO_PROCESS, 0),
         .signals = stint->signals,
         .status_fd = status_fd(),
    };

    stint->end = STINT_REFUSED;
    session_load(args);
    if (guard_start(&plan, &guard) < 0) {
        status_failed(HF_ENOMEM, "the guardian cannot be started");
        stint->code = complain_errno("starting the guardian");
    } else {
        serve_guarded(stint, &guard);
        guard_finish(&guard);
    }
}

/* A shell stops its script only if what it ran dies of SIGINT itself.  If the
 * terminal was lent, the rest of our job has not even heard of it. */
int stint_exit(const struct stint *stint)
{
    status_finish();
    if (!stint->interrupted)
        return stint->code;
    if (stint->lent)
        kill(0, SIGINT);
    signals_die(SIGINT);
}
