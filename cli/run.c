/* run.c - run and try: a command under a lock. */
#include "options.h"

#include "cli.h"
#include "clock.h"
#include "guard.h"
#include "redact.h"
#include "session.h"
#include "supervise.h"
#include "take.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND_COLUMNS 80

/* Inside a run that holds NAME, waiting for NAME is waiting for ourselves. */
static bool would_wait_for_itself(const struct args *args)
{
    const char *held = getenv("HOLDFAST_HELD"), *name = args->operand[0];
    bool        shares = args->shared || args->slots > 1;

    if (held == NULL || shares || args->wait_ms >= 0)
        return false;
    for (size_t length; *held != '\0'; held += length) {
        held += *held == '/';
        length = strcspn(held, "/");
        if (length == strlen(name) && strncmp(held, name, length) == 0)
            return true;
    }
    return false;
}

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

static int say_lost(const struct args *args)
{
    complain("\"%s\" was lost: the command was ended, others may have started",
             args->operand[0]);
    return EXIT_LOST;
}

/* A shell stops its script only if what it ran dies of SIGINT itself.  If the
 * terminal was lent, the rest of our job has not even heard of it. */
static _Noreturn void die_of_interrupt(bool was_lent)
{
    if (was_lent)
        kill(0, SIGINT);
    signals_die(SIGINT);
}

/* The command and all of it is gone: give the lock back and say how it went. */
static int conclude(struct supervisor *s)
{
    bool interrupted = WIFSIGNALED(s->status) && WTERMSIG(s->status) == SIGINT;
    int  r = hf_release(s->lock);
    int  code =
        WIFSIGNALED(s->status) ? 128 + WTERMSIG(s->status) : WEXITSTATUS(s->status);

    if (s->exec_error != 0)
        code = say_exec_error(s->args->command[0], s->exec_error);
    else if (s->lost || r == HF_ELOST)
        code = say_lost(s->args);
    else if (s->orphaned) {
        complain("the guardian was killed: the command was ended");
        code = EXIT_LOST;
    } else if (r < 0)
        session_failed(s->client, r); /* the command's own end counts for more */

    hf_lock_free(s->lock);
    hf_close(s->client);
    if (interrupted && code == 128 + SIGINT)
        die_of_interrupt(s->terminal.wanted);
    return code;
}

static int run_guarded(const struct args *args, const struct signals *signals,
                       struct guard *guard)
{
    char          text[4 * COMMAND_COLUMNS + 1];
    struct taking taking = { .args = args, .signals = signals };

    redact_command(text, sizeof text, args->command, COMMAND_COLUMNS);
    int code = session_open(args, text, &taking.client);
    if (code != 0) {
        guard_finish(guard);
        return code;
    }
    if (!take(&taking)) {
        guard_finish(guard);
        hf_lock_free(taking.lock);
        hf_close(taking.client);
        if (taking.signal == SIGINT)
            signals_die(SIGINT);
        return taking.code;
    }
    struct supervisor s = {
        .args = args,
        .signals = signals,
        .client = taking.client,
        .lock = taking.lock,
        .guard = guard,
        .terminal = TERMINAL_INIT,
    };
    supervise(&s);
    return conclude(&s);
}

int run_main(const struct args *args)
{
    struct signals signals;
    struct guard   guard;

    if (would_wait_for_itself(args)) {
        complain(
            "\"%s\" is already held by a `holdfast run` around this one, which would "
            "wait for itself; use another name, -n or -w",
            args->operand[0]);
        return EXIT_USAGE;
    }
    if (signals_init(&signals) < 0)
        return complain_errno("signalfd");

    struct guard_plan plan = {
        .name = args->operand[0],
        .command = args->command,
        .signal = args->signal,
        .grace_ns = args->grace_ms * NS_PER_MS,
        .nice = getpriority(PRIO_PROCESS, 0),
        .signals = &signals,
    };
    if (guard_start(&plan, &guard) < 0)
        return complain_errno("starting the guardian");
    return run_guarded(args, &signals, &guard);
}
