/* bench.c - bench: how fast a store is with locks, measured where it stands. */
#include "bench.h"

#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define CLIENTS 4
#define TIME_MS 3000

/* Nobody else has this note, wherever they are. */
static int make_note(struct bench *bench)
{
    uint64_t number;

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return complain_errno("getrandom");
    snprintf(bench->note, sizeof bench->note, "bench %016" PRIx64, number);
    return 0;
}

/* Clients in processes of their own would not see each other there. */
static int refuse_memory(const struct bench *bench)
{
    if (strncmp(bench->where, "memory:", 7) != 0)
        return 0;
    complain("a store in the memory of one process cannot be shared: there is nothing to "
             "measure");
    return EXIT_USAGE;
}

static void measure_all(struct bench *bench)
{
    static struct bench_result results[BENCH_HANDOVER + 1];
    size_t                     count = 0;

    if (!bench->args->json)
        bench_show_head(bench);
    for (int i = BENCH_FREE; i <= BENCH_HANDOVER && bench->end == BENCH_BY_TIME; i++) {
        struct bench_result *result = &results[count++];
        bench_run(bench, (enum bench_scenario)i, result);
        if (!bench->args->json)
            bench_show(result);
    }
    if (bench->args->json)
        bench_json(bench, results, count);
    else
        bench_show_meaning(bench, results, count);
}

int bench_main(const struct args *args)
{
    static struct bench bench; /* with its tallies it is too large for a stack */
    struct signals      signals;
    const char         *name = args->operand[0];

    bench = (struct bench){ .args = args,
                            .name = name != NULL ? name : BENCH_NAME,
                            .signals = &signals,
                            .clients = args->clients > 0 ? (int)args->clients : CLIENTS,
                            .time_ms = args->time_ms > 0 ? args->time_ms : TIME_MS };
    if (signals_init(&signals) < 0)
        return complain_errno("signalfd");
    bench.code = make_note(&bench);
    if (bench.code == 0)
        bench.code = bench_line_free(&bench);
    if (bench.code == 0)
        bench.code = refuse_memory(&bench);
    if (bench.code == 0)
        measure_all(&bench);
    free(bench.where);
    if (bench.signal != 0 && fflush(stdout) == 0)
        signals_die(bench.signal);
    return bench.code;
}
