/* run.c - run and try: a command under a lock. */
#include "options.h"

#include "cli.h"
#include "metrics.h"
#include "status.h"
#include "stint.h"

int run_main(const struct args *args)
{
    struct signals signals;
    struct stint   stint = { .args = args, .signals = &signals };

    int code = status_open(args);
    if (code == 0)
        code = metrics_open(args);
    if (code != 0)
        return code;
    if (signals_init(&signals) < 0)
        return complain_errno("signalfd");
    stint_serve(&stint);
    return stint_exit(&stint);
}
