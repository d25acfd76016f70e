/* prom.c - metrics as text. */
/* one thread */
#include "prom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *text;

static FILE *begin(void)
{
    static size_t size;

    return open_memstream(&text, &size);
}

static void expect(FILE *out, const char *wanted)
{
    fclose(out);
    assert_string_equal(text, wanted);
    free(text);
}

static void test_values_with_and_without_labels(void **state)
{
    FILE *out = begin();

    (void)state;
    prom_head(out, "x_total", "counter", "How often.");
    prom_count(out, "x_total", NULL, UINT64_MAX);
    prom_value(out, "x",
               (struct prom_label[]){ { "a", "1" }, { "b", "zwei \xe6\x9d\xb1" }, { 0 } },
               0.25);
    prom_value(out, "y", NULL, 1e300 * 1e300);
    expect(out, "# HELP x_total How often.\n"
                "# TYPE x_total counter\n"
                "x_total 18446744073709551615\n"
                "x{a=\"1\",b=\"zwei \xe6\x9d\xb1\"} 0.25\n"
                "y +Inf\n");
}

static void test_labels_are_escaped(void **state)
{
    FILE *out = begin();

    (void)state;
    prom_count(out, "x",
               (struct prom_label[]){ { "a", "\"} 1\nx{\\\x1b\xe2\x80\xae\xff" }, { 0 } },
               7);
    expect(out, "x{a=\"\\\"} 1\\\\nx{\\\\\\\\\\\\u001b\\\\u202e?\"} 7\n");
}

/* A hidden character, and its escaped form. */
static void test_different_names_stay_different_series(void **state)
{
    FILE *out = begin();

    (void)state;
    prom_count(out, "x", (struct prom_label[]){ { "a", "\xe2\x80\xae" }, { 0 } }, 1);
    prom_count(out, "x", (struct prom_label[]){ { "a", "\\u202e" }, { 0 } }, 2);
    expect(out, "x{a=\"\\\\u202e\"} 1\nx{a=\"\\\\\\\\u202e\"} 2\n");
}

static const char *line_of(const char *start)
{
    const char *at = strstr(text, start);

    assert_non_null(at);
    return at + strlen(start);
}

static void test_buckets_of_a_histogram_add_up(void **state)
{
    struct hf_histogram histogram = { .count = 10, .total_us = 1500000 };
    FILE               *out = begin();

    (void)state;
    histogram.bucket[0] = 1;
    histogram.bucket[4] = 2;
    histogram.bucket[20] = 3;
    histogram.bucket[HF_BUCKETS - 1] = 4;
    prom_histogram(out, "x_seconds", (struct prom_label[]){ { "a", "b" }, { 0 } },
                   &histogram);
    fclose(out);
    assert_int_equal(atoi(line_of("x_seconds_bucket{a=\"b\",le=\"0.000016\"} ")), 3);
    assert_int_equal(atoi(line_of("x_seconds_bucket{a=\"b\",le=\"0.524288\"} ")), 3);
    assert_int_equal(atoi(line_of("x_seconds_bucket{a=\"b\",le=\"1.048576\"} ")), 6);
    assert_int_equal(atoi(line_of("x_seconds_bucket{a=\"b\",le=\"68719.476736\"} ")), 6);
    assert_int_equal(atoi(line_of("x_seconds_bucket{a=\"b\",le=\"+Inf\"} ")), 10);
    assert_string_equal(line_of("le=\"+Inf\"} 10\n"),
                        "x_seconds_sum{a=\"b\"} 1.5\nx_seconds_count{a=\"b\"} 10\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_with_and_without_labels),
        cmocka_unit_test(test_labels_are_escaped),
        cmocka_unit_test(test_different_names_stay_different_series),
        cmocka_unit_test(test_buckets_of_a_histogram_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
