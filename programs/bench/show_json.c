/* show_json.c - the figures of a bench, for scripts: see docs/json.md. */
#include "bench.h"

#include "clock.h"
#include "json.h"

static const char *const scenarios[] = {
    [BENCH_FREE] = "free",
    [BENCH_HANDOVER] = "handover",
};

static const char *const names[][BENCH_WHATS] = {
    [BENCH_FREE] = { "take", "give_back" },
    [BENCH_HANDOVER] = { "handover", "wait" },
};

static const char *const ends[] = {
    [BENCH_BY_TIME] = "time",
    [BENCH_BY_SIGNAL] = "signal",
    [BENCH_BY_COMPANY] = "company",
    [BENCH_BY_ERROR] = "error",
};

static void write_histogram(struct json *json, const char *key,
                            const struct histogram *histogram)
{
    json_open(json, key, '{');
    json_number(json, "count", (int64_t)histogram->count);
    json_number(json, "p50_ns", histogram_percentile(histogram, 50));
    json_number(json, "p90_ns", histogram_percentile(histogram, 90));
    json_number(json, "p99_ns", histogram_percentile(histogram, 99));
    json_number(json, "max_ns", histogram->max);
    json_close(json, '}');
}

static void write_result(struct json *json, const struct bench_result *result)
{
    double seconds = (double)result->ns / (double)NS_PER_SEC;

    json_open(json, NULL, '{');
    json_string(json, "scenario", scenarios[result->scenario]);
    json_number(json, "clients", result->clients);
    json_number(json, "ms", result->ns / NS_PER_MS);
    json_number(json, "turns", (int64_t)result->turns);
    json_number(json, "per_second",
                result->ns > 0 ? (int64_t)((double)result->turns / seconds + 0.5) : 0);
    for (int what = 0; what < BENCH_WHATS; what++)
        write_histogram(json, names[result->scenario][what], &result->histogram[what]);
    json_close(json, '}');
}

void show_json(const struct bench *bench, const struct bench_result *results,
               size_t count)
{
    struct json json = { .out = stdout };

    json_open(&json, NULL, '{');
    json_string(&json, "store", bench->where);
    json_string(&json, "name", bench->name);
    json_string(&json, "ended", ends[bench->end]);
    write_histogram(&json, "round_trip", &bench->trip);
    json_open(&json, "scenarios", '[');
    for (size_t i = 0; i < count; i++)
        write_result(&json, &results[i]);
    json_close(&json, ']');
    json_close(&json, '}');
    putchar('\n');
}
