/* prom.c - see prom.h. */
#include "prom.h"

#include "text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The part of a histogram that is shown: 16 us to 19 h.  The bounds must never change, or
 * Prometheus could not add histograms up. */
#define FIRST_BUCKET 4
#define LAST_BUCKET  36

static_assert(LAST_BUCKET < HF_BUCKETS - 1, "the last bucket has no upper bound");

void prom_head(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_clean(FILE *out, const char *clean)
{
    for (; *clean != '\0'; clean++)
        if (*clean == '"' || *clean == '\\')
            fprintf(out, "\\%c", *clean);
        else
            fputc(*clean, out);
}

/* A backslash is doubled before the text is cleaned: a hidden character and its escaped spelling
 * are two names, and must not become one series.  No memory: an empty value is well-formed, too. */
static void put_label(FILE *out, const char *comma, const struct prom_label *label)
{
    size_t length = strlen(label->value), size = TEXT_CLEAN_FACTOR * 2 * length + 1;
    char  *doubled = malloc(2 * length + 1), *clean = malloc(size), *to = doubled;

    fprintf(out, "%s%s=\"", comma, label->name);
    if (clean != NULL && doubled != NULL) {
        for (const char *c = label->value; *c != '\0'; c++) {
            if (*c == '\\')
                *to++ = '\\';
            *to++ = *c;
        }
        *to = '\0';
        text_clean(clean, size, doubled);
        put_clean(out, clean);
    }
    fputc('"', out);
    free(clean);
    free(doubled);
}

/* `le` NULL: it is no bucket. */
static void put_labels(FILE *out, const struct prom_label *labels, const char *le)
{
    const char *comma = "{";

    for (; labels != NULL && labels->name != NULL; labels++, comma = ",")
        put_label(out, comma, labels);
    if (le != NULL) {
        put_label(out, comma, &(struct prom_label){ "le", le });
        comma = ",";
    }
    if (*comma == ',')
        fputc('}', out);
}

void prom_value(FILE *out, const char *name, const struct prom_label *labels,
                double value)
{
    fputs(name, out);
    put_labels(out, labels, NULL);
    if (isnan(value))
        fputs(" NaN\n", out);
    else if (isinf(value))
        fputs(value > 0 ? " +Inf\n" : " -Inf\n", out);
    else
        fprintf(out, " %.15g\n", value);
}

void prom_count(FILE *out, const char *name, const struct prom_label *labels,
                uint64_t value)
{
    fputs(name, out);
    put_labels(out, labels, NULL);
    fprintf(out, " %" PRIu64 "\n", value);
}

/* Microseconds as seconds, without trailing zeros. */
static void put_seconds(char text[32], uint64_t us)
{
    int length = snprintf(text, 32, "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);

    while (text[length - 1] == '0')
        length--;
    if (text[length - 1] == '.')
        length--;
    text[length] = '\0';
}

static void put_bucket(FILE *out, const char *name, const struct prom_label *labels,
                       const char *le, uint64_t count)
{
    fprintf(out, "%s_bucket", name);
    put_labels(out, labels, le);
    fprintf(out, " %" PRIu64 "\n", count);
}

void prom_histogram(FILE *out, const char *name, const struct prom_label *labels,
                    const struct hf_histogram *histogram)
{
    uint64_t sum = 0;
    char     text[32];

    for (unsigned i = 0; i <= LAST_BUCKET; i++) {
        sum += histogram->bucket[i];
        if (i < FIRST_BUCKET)
            continue;
        put_seconds(text, (uint64_t)1 << i);
        put_bucket(out, name, labels, text, sum);
    }
    put_bucket(out, name, labels, "+Inf", histogram->count);
    put_seconds(text, histogram->total_us);
    fprintf(out, "%s_sum", name);
    put_labels(out, labels, NULL);
    fprintf(out, " %s\n%s_count", text, name);
    put_labels(out, labels, NULL);
    fprintf(out, " %" PRIu64 "\n", histogram->count);
}
