/* main.c - holdfast-bench: how fast a store is with locks, measured where it is used;
 * `holdfast bench` starts it.  The store is that of HOLDFAST_URL. */
#include "bench.h"

#include "complain.h"
#include "text.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define CLIENTS 4
#define TIME_MS 3000

/* ---- Options ---------------------------------------------------------------------- */

static int bad_value(const char *option, const char *value, const char *want)
{
    complain("--%s \"%s\" is not %s", option, value, want);
    return EXIT_USAGE;
}

static int take_clients(const char *value, int *ret)
{
    uint64_t number;

    if (!text_parse_number(value, 2, BENCH_CLIENTS_MAX, &number))
        return bad_value("clients", value, "a number from 2 to 64");
    *ret = (int)number;
    return 0;
}

static int take_time(const char *value, int64_t *ret)
{
    int64_t ms = text_parse_duration(value);

    if (ms < 0)
        return bad_value("time", value, "a time such as 10, 2.5, 500ms, 2m or 1h");
    if (ms == 0)
        return bad_value("time", value, "a time above 0");
    if (ms > BENCH_TIME_MAX_MS)
        return bad_value("time", value, "a time of 60s at most");
    *ret = ms;
    return 0;
}

static int print_usage(FILE *out, int code)
{
    fputs("usage: holdfast-bench [--clients N] [--time TIME] [--json] [NAME]\n"
          "`holdfast help bench` tells more.\n",
          out);
    return code;
}

/* -1, or an exit code: there is nothing more to do. */
static int read_options(int argc, char **argv, struct bench *bench)
{
    static const struct option options[] = {
        { "clients", required_argument, NULL, 'c' },
        { "time", required_argument, NULL, 't' },
        { "json", no_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int code = 0;

    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (option == 'c')
            code = take_clients(optarg, &bench->clients);
        else if (option == 't')
            code = take_time(optarg, &bench->time_ms);
        else if (option == 'j')
            bench->json = true;
        else if (option == 'h')
            return print_usage(stdout, 0);
        else
            return print_usage(stderr, EXIT_USAGE);
        if (code != 0)
            return code;
    }
    if (argc - optind > 1)
        return print_usage(stderr, EXIT_USAGE);
    bench->name = optind < argc ? argv[optind] : BENCH_NAME;
    return -1;
}

/* ---- Measuring -------------------------------------------------------------------- */

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

    if (!bench->json)
        show_head(bench);
    for (int i = BENCH_FREE; i <= BENCH_HANDOVER && bench->end == BENCH_BY_TIME; i++) {
        struct bench_result *result = &results[count++];
        scenario_run(bench, (enum bench_scenario)i, result);
        if (!bench->json)
            show_result(result);
    }
    if (bench->json)
        show_json(bench, results, count);
    else
        show_meaning(bench, results, count);
}

int main(int argc, char **argv)
{
    static struct bench bench = { .clients = CLIENTS, .time_ms = TIME_MS };
    struct signals      signals;

    bench.signals = &signals;
    bench.code = read_options(argc, argv, &bench);
    if (bench.code >= 0)
        return bench.code;
    if (signals_init(&signals) < 0)
        return complain_errno("signalfd");
    bench.code = make_note(&bench);
    if (bench.code == 0)
        bench.code = queue_check(&bench);
    if (bench.code == 0)
        bench.code = refuse_memory(&bench);
    if (bench.code == 0)
        measure_all(&bench);
    free(bench.where);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain("cannot write to stdout");
        return bench.code != 0 ? bench.code : EXIT_INTERNAL;
    }
    if (bench.signal != 0)
        signals_die(bench.signal);
    return bench.code;
}
