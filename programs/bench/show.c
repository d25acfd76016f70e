/* show.c - the figures of a bench, for people: see bench.h. */
#include "bench.h"

#include "clock.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WIDTH   80
#define BARS    10 /* at most, the last one for what took longer */
#define LENGTH  50 /* of the longest */
#define NS_TEXT 24

static const char *const names[][BENCH_WHATS] = {
    [BENCH_FREE] = { "take", "give back" },
    [BENCH_HANDOVER] = { "hand-over", "wait" },
};

static const char *const units[] = { "ns", "us", "ms", "s" };

/* Turn it into a number below 1000, and return its unit. */
static const char *scale(double *value)
{
    size_t unit = 0;

    while (unit < 3 && *value >= 999.5) {
        *value /= 1000;
        unit++;
    }
    return units[unit];
}

/* "61.2 us", with three digits. */
static const char *show_ns(char out[NS_TEXT], int64_t ns)
{
    double      value = (double)ns;
    const char *unit = scale(&value);
    int         digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;

    snprintf(out, NS_TEXT, "%.*f %s", unit == units[0] ? 0 : digits, value, unit);
    return out;
}

/* The same for a number of two digits. */
static const char *show_round(char out[NS_TEXT], int64_t ns)
{
    double      value = (double)ns;
    const char *unit = scale(&value);

    snprintf(out, NS_TEXT, "%g %s", value, unit);
    return out;
}

static void show_percentiles(const char *what, const struct histogram *histogram)
{
    static const unsigned percents[] = { 50, 90, 99 };
    char                  text[NS_TEXT];

    printf("  %-10s", what);
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++)
        printf("%10s", show_ns(text, histogram_percentile(histogram, percents[i])));
    printf("%10s\n", show_ns(text, histogram->max));
}

/* The bounds of bars: 12 for each power of ten, the E12 series of resistors.  Every
 * second or fourth of them is used if there were too many bars. */
static const int64_t bounds[] = { 10, 12, 15, 18, 22, 27, 33, 39, 47, 56, 68, 82 };
#define BOUNDS (sizeof bounds / sizeof *bounds)

static int64_t bound(size_t i)
{
    int64_t ten = 1;

    for (size_t tens = i / BOUNDS; tens > 0; tens--)
        ten *= 10;
    return bounds[i % BOUNDS] * ten;
}

/* The first one above `ns`, of every `step`. */
static size_t bound_above(int64_t ns, size_t step)
{
    size_t i = 0;

    while (bound(i) <= ns)
        i += step;
    return i;
}

static void show_bar(const char *label, uint64_t count, uint64_t most, uint64_t all)
{
    char bar[LENGTH + 1];
    int  length = (int)((count * LENGTH + most / 2) / most);

    memset(bar, '#', (size_t)length);
    bar[length] = '\0';
    printf("  %-14s %5.1f %%%s%s\n", label, 100 * (double)count / (double)all,
           length > 0 ? "  " : "", bar);
}

/* From p1 to p99; the rest is one bar. */
static void show_bars(const struct histogram *histogram)
{
    int64_t low = histogram_percentile(histogram, 1),
            high = histogram_percentile(histogram, 99);
    uint64_t bar[BARS], most = 1;
    size_t   step = 1, first, count;

    while ((bound_above(high, step) - bound_above(low, step)) / step + 2 > BARS &&
           step < 4)
        step *= 2;
    first = bound_above(low, step);
    count = (bound_above(high, step) - first) / step + 2;
    count = count < BARS ? count : BARS;
    for (size_t i = 0; i < count; i++) {
        int64_t from = i == 0 ? 0 : bound(first + (i - 1) * step);
        int64_t to = i == count - 1 ? INT64_MAX : bound(first + i * step);
        bar[i] = histogram_between(histogram, from, to);
        most = bar[i] > most ? bar[i] : most;
    }
    for (size_t i = 0; i < count; i++) {
        bool last = i == count - 1;
        char label[NS_TEXT + 8], text[NS_TEXT];
        snprintf(label, sizeof label, "%-7s%7s", last ? "longer" : "to",
                 show_round(text, bound(first + (last ? i - 1 : i) * step)));
        show_bar(label, bar[i], most, histogram->count);
    }
}

void show_head(const struct bench *bench)
{
    char line[1024], text[1024];

    snprintf(text, sizeof text, "%s, lock \"%s\"", bench->where, bench->name);
    text_clean(line, sizeof line, text);
    text_cut(line, WIDTH);
    puts(line);
    fflush(stdout);
}

void show_result(const struct bench_result *result)
{
    double seconds = (double)result->ns / (double)NS_PER_SEC;

    putchar('\n');
    if (result->scenario == BENCH_FREE)
        printf("One client takes a free lock and gives it back");
    else
        printf("%d clients hand one lock on to each other", result->clients);
    if (result->turns == 0) {
        printf(": nothing was measured\n");
        return;
    }
    printf(": %.0f times a second\n", (double)result->turns / seconds);
    printf("%22s%10s%10s%10s\n", "p50", "p90", "p99", "max");
    for (int what = 0; what < BENCH_WHATS; what++)
        show_percentiles(names[result->scenario][what], &result->histogram[what]);
    if (result->histogram[0].count == 0)
        return;
    printf("\n  %s, how many took how long:\n", names[result->scenario][0]);
    show_bars(&result->histogram[0]);
    fflush(stdout);
}

static void show_ratio(const char *what, const struct histogram *histogram, int64_t trip)
{
    if (histogram->count > 0 && trip > 0)
        printf("  %-10s%10.1f\n", what,
               (double)histogram_percentile(histogram, 50) / (double)trip);
}

void show_meaning(const struct bench *bench, const struct bench_result *results,
                  size_t count)
{
    int64_t trip = histogram_percentile(&bench->trip, 50);
    char    text[NS_TEXT];

    printf("\nThe store answers a question in %s (p50).  As multiples of that:\n",
           show_ns(text, trip));
    for (size_t i = 0; i < count; i++) {
        int whats = results[i].scenario == BENCH_FREE ? BENCH_WHATS : 1;
        for (int what = 0; what < whats; what++)
            show_ratio(names[results[i].scenario][what], &results[i].histogram[what],
                       trip);
    }
    puts(
        "Near 1 most of the time is the way to the store.  The rest is the store's work\n"
        "and, in a hand-over, the wake-up of another process.");
}
