/* elect.c - elect: a command that runs where the leader is.
 *
 * One stint after the other, until the command ends by itself.  Between two stints
 * there is a short pause, which grows while they fail quickly: neither a command
 * that cannot work nor a store that is away should keep the machine busy.
 */
#include "options.h"

#include "cli.h"
#include "clock.h"
#include "metrics.h"
#include "status.h"
#include "stint.h"

#include <poll.h>

#define SHORTEST_NS (100 * NS_PER_MS)
#define LONGEST_NS  (30 * NS_PER_SEC)
#define QUICK_NS    (5 * NS_PER_SEC)

/* `led`: we led in this stint or an earlier one.  A store that was there then will be
 * back; a store that never was there is more likely misspelt. */
static bool goes_on(const struct stint *stint, bool led)
{
    if (stint->stop)
        return false;
    switch (stint->end) {
    case STINT_REFUSED:
        return led && stint->code == EXIT_UNAVAILABLE;
    case STINT_ENDED:
        return stint->args->again;
    case STINT_LOST:
    case STINT_ORPHANED:
        return true;
    case STINT_FAILED:
        break;
    }
    return false;
}

static int64_t next_pause(const struct stint *stint, int64_t last)
{
    if (stint->code == 0 || stint->served_ns >= QUICK_NS)
        return SHORTEST_NS;
    return 2 * last < LONGEST_NS ? 2 * last : LONGEST_NS;
}

static void say_again(const struct stint *stint, int64_t pause)
{
    const char *name = stint->args->operand[0];
    double      seconds = (double)pause / (double)NS_PER_SEC;

    if (stint->args->quiet)
        return;
    if (stint->end == STINT_ENDED)
        complain("the command ended with %d; taking part in \"%s\" again in %.1f s",
                 stint->code, name, seconds);
    else
        complain("taking part in \"%s\" again in %.1f s", name, seconds);
}

/* False: a signal says not to go on. */
static bool rest_between(struct stint *stint, int64_t pause)
{
    int64_t until = clock_boot_ns() + pause, left;

    while ((left = until - clock_boot_ns()) > 0) {
        struct pollfd on[] = { { .fd = stint->signals->fd, .events = POLLIN },
                               status_poll() };
        poll(on, 2, (int)(left / NS_PER_MS + 1));
        status_turn(NULL);
        int signal = signals_end(stint->signals);
        if (signal != 0) {
            stint->code = 128 + signal;
            stint->interrupted = signal == SIGINT;
            return false;
        }
    }
    return true;
}

int elect_main(const struct args *args)
{
    struct signals signals;
    struct args    later = *args; /* -w is about the first election */
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
        struct stint stint = { .args = led ? &later : args,
                               .signals = &signals,
                               .repeats = true };
        stint_serve(&stint);
        led = led || stint.end != STINT_REFUSED;
        if (!goes_on(&stint, led))
            return stint_exit(&stint);
        pause = next_pause(&stint, pause);
        say_again(&stint, pause);
        if (!rest_between(&stint, pause))
            return stint_exit(&stint);
    }
}
