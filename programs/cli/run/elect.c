/* elect.c - elect: a command that runs where the leader is.
 *
 * One run of the command after the other, until it ends by itself.  Between two runs
 * there is a short pause, which grows while they fail quickly: neither a command that
 * cannot work nor a store that is down should keep the machine busy.
 */
#include "cli_options.h"

#include "clock.h"
#include "complain.h"
#include "run/metrics.h"
#include "run/run_command.h"
#include "run/status.h"

#include <poll.h>

#define SHORTEST_NS (100 * NS_PER_MS)
#define LONGEST_NS  (30 * NS_PER_SEC)
#define QUICK_NS    (5 * NS_PER_SEC)

/* `led`: this process was the leader before.  The store could be reached then, and will
 * be again; the URL of a store that never could is more likely misspelt. */
static bool goes_on(const struct command_run *run, bool led)
{
    if (run->out.stop)
        return false;
    switch (run->out.end) {
    case RUN_REFUSED:
        return led && run->out.code == EXIT_UNAVAILABLE;
    case RUN_ENDED:
        return run->args->again;
    case RUN_LOST:
    case RUN_ORPHANED:
        return true;
    case RUN_FAILED:
        break;
    }
    return false;
}

static int64_t next_pause(const struct command_run *run, int64_t last)
{
    if (run->out.code == 0 || run->held_ns >= QUICK_NS)
        return SHORTEST_NS;
    return 2 * last < LONGEST_NS ? 2 * last : LONGEST_NS;
}

static void say_again(const struct command_run *run, int64_t pause)
{
    const char *name = run->args->operand[0];
    double      seconds = (double)pause / (double)NS_PER_SEC;

    if (run->args->quiet)
        return;
    if (run->out.end == RUN_ENDED)
        complain("the command ended with %d; taking part in \"%s\" again in %.1f s",
                 run->out.code, name, seconds);
    else
        complain("taking part in \"%s\" again in %.1f s", name, seconds);
}

/* False: a signal ended the pause. */
static bool rest_between(struct command_run *run, int64_t pause)
{
    int64_t until = clock_boot_ns() + pause, left;

    while ((left = until - clock_boot_ns()) > 0) {
        struct pollfd on[] = { { .fd = run->signals->fd, .events = POLLIN },
                               status_poll() };
        poll(on, 2, (int)(left / NS_PER_MS + 1));
        status_turn(NULL);
        int signal = signals_end(run->signals);
        if (signal != 0) {
            run->out.code = 128 + signal;
            run->out.interrupted = signal == SIGINT;
            return false;
        }
    }
    return true;
}

int elect_main(const struct args *args)
{
    struct signals signals;
    struct args    later = *args; /* without -w, which limits the first election only */
    bool           led = false;
    int64_t        pause = SHORTEST_NS / 2;

    if (args->observe)
        return observe_main(args);
    int code = status_open(args);
    if (code == 0)
        code = metrics_open(args);
    if (code != 0)
        return code;
    if (signals_init(&signals) < 0)
        return complain_errno("signalfd");
    later.wait_ms = -1;
    for (;;) {
        struct command_run run = { .args = led ? &later : args,
                                   .signals = &signals,
                                   .repeats = true };
        run_command(&run);
        led = led || run.out.end != RUN_REFUSED;
        if (!goes_on(&run, led))
            return run_command_exit(&run);
        pause = next_pause(&run, pause);
        say_again(&run, pause);
        if (!rest_between(&run, pause))
            return run_command_exit(&run);
    }
}
