/* elect.c - elect: a command that runs where the leader is.
 *
 * One term after the other, until the command ends by itself.  Between two terms
 * there is a short pause, which grows while they fail quickly: neither a command
 * that cannot work nor a store that is away should keep the machine busy.
 */
#include "options.h"

#include "cli.h"
#include "clock.h"
#include "term.h"

#include <poll.h>

#define SHORTEST_NS (100 * NS_PER_MS)
#define LONGEST_NS  (30 * NS_PER_SEC)
#define QUICK_NS    (5 * NS_PER_SEC)

/* `led`: we led in this term or an earlier one.  A store that was there then will be
 * back; a store that never was there is more likely misspelt. */
static bool goes_on(const struct term *term, bool led)
{
    if (term->stop)
        return false;
    switch (term->end) {
    case TERM_REFUSED:
        return led && term->code == EXIT_UNAVAILABLE;
    case TERM_ENDED:
        return term->args->again;
    case TERM_LOST:
    case TERM_ORPHANED:
        return true;
    case TERM_FAILED:
        break;
    }
    return false;
}

static int64_t next_pause(const struct term *term, int64_t last)
{
    if (term->code == 0 || term->served_ns >= QUICK_NS)
        return SHORTEST_NS;
    return 2 * last < LONGEST_NS ? 2 * last : LONGEST_NS;
}

static void say_again(const struct term *term, int64_t pause)
{
    const char *name = term->args->operand[0];
    double      seconds = (double)pause / (double)NS_PER_SEC;

    if (term->args->quiet)
        return;
    if (term->end == TERM_ENDED)
        complain("the command ended with %d; taking part in \"%s\" again in %.1f s",
                 term->code, name, seconds);
    else
        complain("taking part in \"%s\" again in %.1f s", name, seconds);
}

/* False: a signal says not to go on. */
static bool rest(struct term *term, int64_t pause)
{
    int64_t until = clock_boot_ns() + pause, left;

    while ((left = until - clock_boot_ns()) > 0) {
        struct pollfd on = { .fd = term->signals->fd, .events = POLLIN };
        poll(&on, 1, (int)(left / NS_PER_MS + 1));
        int signal = signals_end(term->signals);
        if (signal != 0) {
            term->code = 128 + signal;
            term->interrupted = signal == SIGINT;
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
    if (signals_init(&signals) < 0)
        return complain_errno("signalfd");
    later.wait_ms = -1;
    for (;;) {
        struct term term = { .args = led ? &later : args,
                             .signals = &signals,
                             .repeats = true };
        term_serve(&term);
        led = led || term.end != TERM_REFUSED;
        if (!goes_on(&term, led))
            return term_exit(&term);
        pause = next_pause(&term, pause);
        say_again(&term, pause);
        if (!rest(&term, pause))
            return term_exit(&term);
    }
}
