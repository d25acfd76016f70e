/* prom.h - writes metrics in Prometheus' text format, version 0.0.4.
 *
 *     prom_head(out, "holdfast_waiters", "gauge", "Clients that wait.");
 *     prom_count(out, "holdfast_waiters", NULL, 3);
 *     prom_count(out, "holdfast_waiters_of", (struct prom_label[]){ { "lock", name },
 *                { NULL, NULL } }, 3);
 *
 * All values of one name follow right after its head.  Base units only: seconds, bytes.
 */
#ifndef PROM_H
#define PROM_H

#include <holdfast.h>

#include <stdint.h>
#include <stdio.h>

#define PROM_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* A list of labels ends with a name of NULL.  The value may be any text: it is cleaned
 * (text_clean()) and escaped. */
struct prom_label {
    const char *name;
    const char *value;
};

/* `type` is "counter", "gauge" or "histogram"; `help` is not escaped. */
void prom_head(FILE *out, const char *name, const char *type, const char *help);

/* One value; `labels` NULL: it has none. */
void prom_value(FILE *out, const char *name, const struct prom_label *labels,
                double value);

/* The same for a counter: exact, however large. */
void prom_count(FILE *out, const char *name, const struct prom_label *labels,
                uint64_t value);

/* All lines of one histogram of type "histogram", in seconds. */
void prom_histogram(FILE *out, const char *name, const struct prom_label *labels,
                    const struct hf_histogram *histogram);

#endif
