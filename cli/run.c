/* run.c - run and try: a command under a lock. */
#include "options.h"

#include "cli.h"
#include "term.h"

int run_main(const struct args *args)
{
    struct signals signals;
    struct term    term = { .args = args, .signals = &signals };

    if (signals_init(&signals) < 0)
        return complain_errno("signalfd");
    term_serve(&term);
    return term_exit(&term);
}
