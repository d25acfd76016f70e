/* report.c - a snapshot of lines, judged and copied out for the user. */
/* one thread */
#include "client/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct hf_shape reader = { .weight = 1, .capacity = HF_ALL };
static const struct hf_shape writer = { .weight = HF_ALL, .capacity = HF_ALL };

static struct hf_ticket place(const char *line, uint64_t seq, struct hf_shape shape)
{
    return (struct hf_ticket){ .seq = seq,
                               .token = 100 + seq,
                               .shape = shape,
                               .slot = -1,
                               .since = 1000,
                               .line = line,
                               .note = "user=ana pid=7" };
}

static struct hf_report *report_of(const struct hf_ticket *ticket, size_t count)
{
    struct hf_report *report = NULL;
    struct hf_line    line = { .ticket = ticket, .count = count };

    assert_int_equal(hf_report_new(&line, 42, &report), 0);
    assert_int_equal(report->count, count);
    return report;
}

/* Each line is judged by itself, also where several stand in one report. */
static void test_who_holds(void **state)
{
    const struct hf_ticket ticket[] = { place("a", 1, reader), place("a", 2, reader),
                                        place("a", 3, writer), place("a", 4, reader),
                                        place("b", 5, writer) };
    const bool             held[] = { true, true, false, false, true };
    struct hf_report      *report = report_of(ticket, COUNT(ticket));

    (void)state;
    for (size_t i = 0; i < COUNT(ticket); i++)
        assert_int_equal(report->entry[i]->held, held[i]);
    assert_string_equal(report->entry[4]->name, "b");
    assert_string_equal(report->entry[4]->user, "ana");
    assert_int_equal(report->entry[4]->pid, 7);
    assert_int_equal(hf_report_stamp(report), 42);
    hf_report_free(report);
}

/* Somebody may act under it: it is in the way, and says that it makes no sense. */
static void test_a_strange_place(void **state)
{
    const struct hf_ticket ticket[] = { place("a", 1, hf_shape_read(-1, 7, false)),
                                        place("a", 2, reader) };
    struct hf_report      *report = report_of(ticket, COUNT(ticket));

    (void)state;
    assert_true(report->entry[0]->held);
    assert_string_equal(report->entry[0]->kind, "unknown");
    assert_int_equal(report->entry[0]->weight, 0);
    assert_int_equal(report->entry[0]->capacity, 0);
    assert_false(report->entry[1]->held);
    hf_report_free(report);
}

static void test_what_is_the_same(void **state)
{
    const struct hf_ticket ticket[] = { place("a", 1, writer), place("a", 2, writer) };
    struct hf_report      *two = report_of(ticket, 2), *again = report_of(ticket, 2);
    struct hf_report *first = report_of(ticket, 1), *second = report_of(ticket + 1, 1);

    (void)state;
    assert_true(hf_report_same(two, again));
    assert_false(hf_report_same(two, first));
    assert_false(hf_report_same(first, second));
    hf_report_free(two);
    assert_ptr_equal(hf_report_share(again), again);
    hf_report_free(again); /* there is an owner left */
    assert_int_equal(again->entry[0]->token, 101);
    hf_report_free(again);
    hf_report_free(first);
    hf_report_free(second);
    hf_report_free(NULL);
}

/* A store that does not know since when a place is held says when it queued. */
static void test_since_when_it_is_held(void **state)
{
    const struct hf_ticket ticket[] = { place("a", 1, writer), place("a", 2, writer) };
    struct hf_report *before = report_of(ticket, 2), *after = report_of(ticket + 1, 1);
    struct hf_report *later = report_of(ticket + 1, 1);

    (void)state;
    hf_report_date(after, before, 5000);
    assert_int_equal(after->entry[0]->since, 5000); /* it waited then */
    hf_report_date(later, after, 9000);
    assert_int_equal(later->entry[0]->since, 5000); /* and holds it since */
    hf_report_free(before);
    hf_report_free(after);
    hf_report_free(later);
}

/* Of so many readers each would be compared with all ahead of it, and with all of the look
 * before: minutes, where once through takes a moment.  The runner's time limit decides. */
static void test_a_long_line_is_walked_once(void **state)
{
    const size_t      count = 300000;
    struct hf_ticket *ticket = calloc(count, sizeof *ticket);

    (void)state;
    assert_non_null(ticket);
    for (size_t i = 0; i < count; i++)
        ticket[i] = place("a", i + 1, reader);
    struct hf_report *before = report_of(ticket, count - 1);
    struct hf_report *after = report_of(ticket + 1, count - 1);
    hf_report_date(after, before, 5000);
    for (size_t i = 0; i < count - 1; i++)
        assert_true(after->entry[i]->held && after->entry[i]->since == 1000);
    hf_report_free(before);
    hf_report_free(after);
    free(ticket);
}

/* Somebody else wrote there: tokens need not rise. */
static void test_tokens_out_of_order(void **state)
{
    struct hf_ticket ticket[] = { place("a", 1, writer), place("a", 2, reader),
                                  place("a", 3, reader) };

    (void)state;
    ticket[1].token = 900;
    struct hf_report *before = report_of(ticket, 3), *after = report_of(ticket + 1, 2);
    hf_report_date(after, before, 5000);
    assert_int_equal(after->entry[0]->since, 5000);
    assert_int_equal(after->entry[1]->since, 5000);
    hf_report_free(before);
    hf_report_free(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_holds),
        cmocka_unit_test(test_a_strange_place),
        cmocka_unit_test(test_what_is_the_same),
        cmocka_unit_test(test_since_when_it_is_held),
        cmocka_unit_test(test_a_long_line_is_walked_once),
        cmocka_unit_test(test_tokens_out_of_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
