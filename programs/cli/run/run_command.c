/* run_command.c - run and try: a command under a lock; see run_command.h. */
#include "run/run_command.h"

#include "clock.h"
#include "complain.h"
#include "redact.h"
#include "run/also_flock.h"
#include "run/metrics.h"
#include "run/status.h"
#include "run/take.h"
#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define COMMAND_MAX 512 /* more than the library keeps */

/* A user who stops the command does not want to wait either. */
static struct lingered hold_at_least(struct supervisor *s)
{
    if (!outcome_ran_guarded(s) || outcome_was_stopped(s) ||
        clock_boot_ns() >= s->hold_until)
        return (struct lingered){ 0 };
    return linger(s);
}

/* Give the lock back and see how it went; the file's lock first, as it was taken last.
 * While the lock may still be held, the guardian is needed: it ends the session if we are
 * killed. */
static void conclude(struct command_run *run, struct supervisor *s,
                     struct lingered lingered)
{
    also_flock_release();
    int r = hf_release(s->lock);

    if (r == 0 || r == HF_ELOST)
        guard_dismiss(s->guard);
    status_released(r);
    run->out = outcome_tell(s, r, lingered.outlived);
    if (lingered.signal !=
        0) { /* the command's exit code stands; Ctrl-C stops a script */
        run->out.stop = true;
        run->out.interrupted = lingered.signal == SIGINT;
        run->out.lent =
            false; /* we had the terminal back: our whole job got the signal */
    }
}

static void run_held(struct command_run *run, const struct taking *taking,
                     struct requests *requests)
{
    struct supervisor s = {
        .args = run->args,
        .signals = run->signals,
        .client = taking->client,
        .lock = taking->lock,
        .guard = taking->key->guard,
        .key = taking->key,
        .requests = requests,
        .keep_stdio = run->repeats,
        .terminal = TERMINAL_INIT,
    };

    if (run->repeats && !run->args->quiet)
        complain("elected: leading \"%s\", token %" PRIu64, hf_name(s.lock),
                 hf_token(s.lock));
    int64_t begin = clock_boot_ns();
    s.hold_until = begin + s.args->hold_at_least_ms * NS_PER_MS;
    supervise(&s);
    if (s.cause == BY_MAX_RUN && outcome_ran_guarded(&s))
        complain("--max-run is over: %s", outcome_fate(&s));
    struct lingered lingered = hold_at_least(&s);
    run->held_ns = clock_boot_ns() - begin;
    conclude(run, &s, lingered);
    terminal_finish(&s.terminal);
}

static void run_guarded(struct command_run *run, struct guard *guard)
{
    char *const          *command = run->args->command;
    char                  whole[COMMAND_MAX], redacted[COMMAND_MAX];
    struct requests       requests = { 0 };
    struct guard_key      key = { .guard = guard };
    struct session_holder holder = { .to_owner = whole,
                                     .to_all = redact_program(command),
                                     .requests = &requests,
                                     .key = &key };
    struct taking taking = { .args = run->args, .signals = run->signals, .key = &key };

    redact_urls(whole, sizeof whole, command);
    redact_command(redacted, sizeof redacted, command);
    if (run->args->show_command)
        holder.to_all = redacted;
    run->out.code = session_open_to_hold(run->args, &holder, &taking.client);
    if (run->out.code != 0) {
        metrics_ended(NULL, NULL, run->out.code);
        return;
    }
    metrics_waiting(taking.client);
    if (take(&taking)) {
        metrics_held(taking.client, taking.lock);
        run_held(run, &taking, &requests);
    } else {
        run->out.code = taking.code;
        run->out.stop = taking.signal != 0;
        run->out.interrupted = taking.signal == SIGINT;
    }
    metrics_ended(taking.client, taking.lock, run->out.code);
    hf_lock_free(taking.lock);
    hf_close(taking.client);
    guard_key_forget(&key);
}

void run_command(struct command_run *run)
{
    const struct args *args = run->args;
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
         .signals = run->signals,
         .status_fd = status_fd(),
    };

    run->out.end = RUN_REFUSED;
    session_load(args);
    const char *missing = guard_missing_call();
    if (missing != NULL) {
        status_failed(HF_EUNSUPPORTED, "a system call is missing");
        complain("%s: this kernel or sandbox refuses the system call: %s; without it a "
                 "command cannot be ended",
                 missing, strerror(errno));
        run->out.code = EXIT_INTERNAL;
    } else if (guard_start(&plan, &guard) < 0) {
        status_failed(HF_ENOMEM, "cannot start the guardian");
        run->out.code = complain_errno("cannot start the guardian");
    } else {
        run_guarded(run, &guard);
        guard_finish(&guard);
    }
}

/* A shell stops its script only if the program that it ran dies of SIGINT itself.  If the
 * command had the terminal, the rest of our job got no SIGINT. */
int run_command_exit(const struct command_run *run)
{
    status_finish();
    if (!run->out.interrupted)
        return run->out.code;
    if (run->out.lent)
        kill(0, SIGINT);
    signals_die(SIGINT);
}

int run_main(const struct args *args)
{
    struct signals     signals;
    struct command_run run = { .args = args, .signals = &signals };

    int code = status_open(args);
    if (code == 0)
        code = metrics_open(args);
    if (code == 0)
        code = also_flock_open(args);
    if (code != 0)
        return code;
    if (signals_init(&signals) < 0)
        return complain_errno("signalfd");
    run_command(&run);
    return run_command_exit(&run);
}
