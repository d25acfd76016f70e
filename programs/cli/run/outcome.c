/* outcome.c - see outcome.h. */
#include "run/outcome.h"

#include "complain.h"
#include "session.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int say_exec_error(const char *command, int error)
{
    bool        is_path = strchr(command, '/') != NULL;
    struct stat what;

    if (error == ENOENT && is_path && access(command, F_OK) == 0) {
        complain("%s: the interpreter named in its first line was not found", command);
        return EXIT_CANNOT_RUN;
    }
    if (error == ENOENT) {
        complain("%s: command not found%s", command,
                 is_path ? "" : "; give its path if it is not in PATH");
        return EXIT_NOT_FOUND;
    }
    if (error == EACCES && stat(command, &what) == 0 && S_ISDIR(what.st_mode))
        complain("%s: this is a folder, not a program", command);
    else if (error == EACCES)
        complain("%s: not executable; try chmod +x", command);
    else
        complain("%s: cannot be run: %s", command, strerror(error));
    return EXIT_CANNOT_RUN;
}

/* The first three mean "end" to everybody.  The others may mean "read your files again"
 * to a daemon: they count if the command died of them. */
static bool was_told_to_stop(const struct supervisor *s)
{
    return sigismember(&s->passed, SIGTERM) == 1 ||
           sigismember(&s->passed, SIGINT) == 1 ||
           sigismember(&s->passed, SIGQUIT) == 1 ||
           (WIFSIGNALED(s->status) && sigismember(&s->passed, WTERMSIG(s->status)) == 1);
}

/* With --signal INT the guardian sends it at the end of --max-run: that is no
 * interrupt. */
static bool died_of_interrupt(const struct supervisor *s)
{
    return WIFSIGNALED(s->status) && WTERMSIG(s->status) == SIGINT &&
           (s->cause != BY_MAX_RUN || sigismember(&s->passed, SIGINT) == 1);
}

bool outcome_was_stopped(const struct supervisor *s)
{
    return was_told_to_stop(s) || died_of_interrupt(s);
}

bool outcome_ran_guarded(const struct supervisor *s)
{
    return s->exec_error == 0 && (s->cause == BY_ITSELF || s->cause == BY_MAX_RUN);
}

const char *outcome_fate(const struct supervisor *s)
{
    static const char *const text[] = {
        [FATE_NOT_STARTED] = "the command was not started",
        [FATE_STARTED] = "the command was ended",
        [FATE_EXITED] = "what was left of the command was ended",
        [FATE_OBEYED] = "the command was asked to end, and did",
        [FATE_STUCK] = "some of its processes could not be ended, and ran on until now",
    };

    return text[s->fate];
}

/* `found_lost`: the store says so now, and it may have been lost while the command
 * ran. */
static enum run_end say_loss(const struct supervisor *s, bool found_lost)
{
    const char *name = s->args->operand[0], *fate = outcome_fate(s);

    if (s->cause == BY_LOSS) {
        complain("\"%s\" was lost: %s; others may have started", name, fate);
    } else if (found_lost) {
        complain("\"%s\" was lost before the command ended by itself; others may have "
                 "started",
                 name);
    } else if (s->cause == BY_DEADLINE) {
        complain("\"%s\": the store did not answer in time: %s", name, fate);
    } else if (s->cause == BY_GUARDIAN) {
        complain("the guardian was killed: %s", fate);
        return RUN_ORPHANED;
    } else {
        return RUN_ENDED;
    }
    return RUN_LOST;
}

/* The exit code of the command counts for more than a release that failed. */
static int end_under_lock(const struct supervisor *s, int released)
{
    if (released == HF_ELOST)
        complain("\"%s\" was lost after the command had ended; others may have started",
                 hf_name(s->lock));
    else if (released < 0)
        complain_failure(s->client, released);
    if (s->cause == BY_MAX_RUN)
        return EXIT_OVERDUE;
    return WIFSIGNALED(s->status) ? 128 + WTERMSIG(s->status) : WEXITSTATUS(s->status);
}

struct outcome outcome_tell(const struct supervisor *s, int released, bool outlived)
{
    struct outcome out = { .lent = s->terminal.wanted };

    if (s->exec_error != 0) {
        out.end = RUN_FAILED;
        out.code = say_exec_error(s->args->command[0], s->exec_error);
    } else {
        out.end = say_loss(s, released == HF_ELOST && !outlived);
        out.code = out.end == RUN_ENDED ? end_under_lock(s, released) : EXIT_LOST;
    }
    out.interrupted = out.end == RUN_ENDED && died_of_interrupt(s);
    out.stop = out.interrupted || was_told_to_stop(s);
    return out;
}
