/* report.c - a list of places becomes a report for the user, with holders marked. */
/* one thread */
#include "client/look/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct hf_shape reader = { .weight = 1, .capacity = HF_ALL };
static const struct hf_shape writer = { .weight = HF_ALL, .capacity = HF_ALL };

static struct hf_place make_place(const char *line, uint64_t seq, struct hf_shape shape)
{
    return (struct hf_place){ .seq = seq,
                              .token = 100 + seq,
                              .shape = shape,
                              .slot = -1,
                              .since = 1000,
                              .line = line,
                              .note = "user=ana pid=7" };
}

static struct hf_report *report_of(const struct hf_place *place, size_t count)
{
    struct hf_report *report = NULL;
    struct hf_line    line = { .place = place, .count = count };

    assert_int_equal(hf_report_new(&line, 42, &report), 0);
    assert_int_equal(report->count, count);
    return report;
}

/* Also if a report has several locks. */
static void test_holders_are_marked_for_each_lock(void **state)
{
    const struct hf_place place[] = {
        make_place("a", 1, reader), make_place("a", 2, reader),
        make_place("a", 3, writer), make_place("a", 4, reader), make_place("b", 5, writer)
    };
    const bool        held[] = { true, true, false, false, true };
    struct hf_report *report = report_of(place, COUNT(place));

    (void)state;
    for (size_t i = 0; i < COUNT(place); i++)
        assert_int_equal(report->entry[i]->held, held[i]);
    assert_string_equal(report->entry[4]->name, "b");
    assert_string_equal(report->entry[4]->user, "ana");
    assert_int_equal(report->entry[4]->pid, 7);
    assert_int_equal(hf_report_stamp(report), 42);
    hf_report_free(report);
}

static void test_an_invalid_place_blocks_and_is_shown(void **state)
{
    const struct hf_place place[] = { make_place("a", 1, hf_shape_read(-1, 7, false)),
                                      make_place("a", 2, reader) };
    struct hf_report     *report = report_of(place, COUNT(place));

    (void)state;
    assert_true(report->entry[0]->held);
    assert_string_equal(report->entry[0]->kind, "unknown");
    assert_int_equal(report->entry[0]->weight, 0);
    assert_int_equal(report->entry[0]->capacity, 0);
    assert_false(report->entry[1]->held);
    hf_report_free(report);
}

static void test_unchanged_reports_are_the_same(void **state)
{
    const struct hf_place place[] = { make_place("a", 1, writer),
                                      make_place("a", 2, writer) };
    struct hf_report     *two = report_of(place, 2), *again = report_of(place, 2);
    struct hf_report     *first = report_of(place, 1), *second = report_of(place + 1, 1);

    (void)state;
    assert_true(hf_report_same(two, again));
    assert_false(hf_report_same(two, first));
    assert_false(hf_report_same(first, second));
    hf_report_free(two);
    assert_ptr_equal(hf_report_share(again), again);
    hf_report_free(again); /* another reference is left */
    assert_int_equal(again->entry[0]->token, 101);
    hf_report_free(again);
    hf_report_free(first);
    hf_report_free(second);
    hf_report_free(NULL);
}

/* If the store knows only when a place was entered, a later report finds the grant. */
static void test_since_is_the_time_of_the_grant(void **state)
{
    const struct hf_place place[] = { make_place("a", 1, writer),
                                      make_place("a", 2, writer) };
    struct hf_report     *before = report_of(place, 2), *after = report_of(place + 1, 1);
    struct hf_report     *later = report_of(place + 1, 1);

    (void)state;
    hf_report_date(after, before, 5000);
    assert_int_equal(after->entry[0]->since, 5000); /* it still waited before */
    hf_report_date(later, after, 9000);
    assert_int_equal(later->entry[0]->since, 5000); /* and has held it since then */
    hf_report_free(before);
    hf_report_free(after);
    hf_report_free(later);
}

/* Comparing each of so many readers with all others would take minutes: the time limit of
 * test/run decides. */
static void test_a_long_line_takes_linear_time(void **state)
{
    const size_t     count = 300000;
    struct hf_place *place = calloc(count, sizeof *place);

    (void)state;
    assert_non_null(place);
    for (size_t i = 0; i < count; i++)
        place[i] = make_place("a", i + 1, reader);
    struct hf_report *before = report_of(place, count - 1);
    struct hf_report *after = report_of(place + 1, count - 1);
    hf_report_date(after, before, 5000);
    for (size_t i = 0; i < count - 1; i++)
        assert_true(after->entry[i]->held && after->entry[i]->since == 1000);
    hf_report_free(before);
    hf_report_free(after);
    free(place);
}

/* If another program wrote there. */
static void test_tokens_may_be_out_of_order(void **state)
{
    struct hf_place place[] = { make_place("a", 1, writer), make_place("a", 2, reader),
                                make_place("a", 3, reader) };

    (void)state;
    place[1].token = 900;
    struct hf_report *before = report_of(place, 3), *after = report_of(place + 1, 2);
    hf_report_date(after, before, 5000);
    assert_int_equal(after->entry[0]->since, 5000);
    assert_int_equal(after->entry[1]->since, 5000);
    hf_report_free(before);
    hf_report_free(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_holders_are_marked_for_each_lock),
        cmocka_unit_test(test_an_invalid_place_blocks_and_is_shown),
        cmocka_unit_test(test_unchanged_reports_are_the_same),
        cmocka_unit_test(test_since_is_the_time_of_the_grant),
        cmocka_unit_test(test_a_long_line_takes_linear_time),
        cmocka_unit_test(test_tokens_may_be_out_of_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
