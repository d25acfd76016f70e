/* view_board.c - all lines of a store: what is on the board, what hurts most, what happened. */
/* one thread */
#include "view/board.c"
#include "view/changes.c"
#include "view/clock.c"
#include "view/json.c"
#include "view/past.c"
#include "view/place.c"
#include "view/text.c"
#include "view/text_shown.c"

#include "lib/lines.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SECOND 1000000

static void take(struct board *board, const char *name, uint64_t first, size_t count)
{
    assert_true(
        board_take(board, name, lines_mutex(name, first, count), 10 * SECOND, NULL));
}

static void test_lines_come_and_go(void **state)
{
    struct board board = { 0 };

    (void)state;
    take(&board, "b", 10, 1);
    take(&board, "c", 20, 3);
    take(&board, "a", 30, 2);
    assert_int_equal(board.count, 3);
    assert_string_equal(board.line[0]->name, "a");
    assert_string_equal(board.line[2]->name, "c");
    assert_int_equal(board.holders, 3);
    assert_int_equal(board.waiters, 3);
    const struct board_line *c = board_find(&board, "c");
    assert_int_equal(c->waiters, 2);
    assert_int_equal(c->holder->token, 20);
    assert_int_equal(c->waits_since, SECOND);

    take(&board, "c", 21, 1); /* it looks different */
    take(&board, "a", 0, 0);  /* nobody is in it */
    take(&board, "d", 0, 0);  /* nor ever was */
    assert_int_equal(board.count, 2);
    assert_int_equal(board.holders, 2);
    assert_int_equal(board.waiters, 0);
    assert_null(board_find(&board, "a"));
    assert_int_equal(board_find(&board, "c")->holder->token, 21);
    board_finish(&board);
}

static void test_many_lines_stay_sorted(void **state)
{
    struct board board = { 0 };
    char         name[16];

    (void)state;
    for (unsigned i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "%03u", i * 7 % 500);
        take(&board, name, i + 1, 1);
    }
    assert_int_equal(board.count, 500);
    for (unsigned i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "%03u", i);
        assert_string_equal(board.line[i]->name, name);
        assert_ptr_equal(board_find(&board, name), board.line[i]);
    }
    board_finish(&board);
}

/* Waiters times the longest wait; then those that are waited for, then by name. */
static void test_what_hurts_most_is_first(void **state)
{
    struct board             board = { 0 };
    const struct board_line *row[5];
    struct hf_ticket         place[2] = { lines_place(1), lines_place(2) };

    (void)state;
    take(&board, "quiet", 10, 1);
    take(&board, "calm", 20, 1);
    take(&board, "five", 30, 6);
    place[1].since = 9 * SECOND; /* waits for a second only */
    assert_true(board_take(&board, "one", lines_report("one", place, 2), 0, NULL));
    place[1].since = 99 * SECOND; /* by a clock that is ahead of ours */
    assert_true(board_take(&board, "ahead", lines_report("ahead", place, 2), 0, NULL));
    board_sort(&board, 10 * SECOND, row);
    assert_string_equal(row[0]->name, "five");
    assert_string_equal(row[1]->name, "one");
    assert_string_equal(row[2]->name, "ahead");
    assert_string_equal(row[3]->name, "calm");
    assert_string_equal(row[4]->name, "quiet");
    assert_true(board_pain(row[0], 10 * SECOND) == 5.0 * 9 * SECOND);
    assert_true(board_pain(row[2], 10 * SECOND) == 0);
    board_finish(&board);
}

static void test_leases_are_refreshed(void **state)
{
    struct board     board = { 0 };
    struct hf_ticket place[2] = { lines_place(1), lines_place(2) };

    (void)state;
    place[0].left = 9 * SECOND;
    place[1].left = 0; /* not known */
    assert_true(board_take(&board, "a", lines_report("a", place, 2), 10, NULL));
    const struct board_line *line = board_find(&board, "a");
    assert_int_equal(board_left_ms(line, 0), 9000);
    assert_int_equal(board_left_ms(line, 1), -1);
    place[0].left = 15 * SECOND;
    struct hf_report *all = lines_report("a", place, 1); /* the second has gone */
    board_refresh(&board, all, 20);
    hf_report_free(all);
    assert_int_equal(board_left_ms(line, 0), 15000);
    assert_int_equal(board_left_ms(line, 1), -1);
    assert_int_equal(line->seen, 20);
    board_finish(&board);
}

/* After a pause every line is told again; those that are not are gone. */
static void test_a_sweep(void **state)
{
    struct board board = { 0 };
    struct past  past;

    (void)state;
    assert_true(past_init(&past, 8));
    take(&board, "a", 10, 2);
    take(&board, "b", 20, 1);
    take(&board, "c", 30, 1);
    uint64_t then = board.version;
    take(&board, "b", 20, 1);
    board_sweep(&board, then, 50, &past);
    assert_int_equal(board.count, 1);
    assert_non_null(board_find(&board, "b"));
    assert_int_equal(board.holders, 1);
    assert_int_equal(board.waiters, 0);
    assert_int_equal(past.count, 3); /* c and a were released, a was left */
    board_finish(&board);
    past_finish(&past);
}

static void test_changes_are_remembered(void **state)
{
    static const char *const what[] = { "granted", "entered", "released", "granted" };
    struct board             board = { 0 };
    struct past              past;

    (void)state;
    assert_true(past_init(&past, 8));
    assert_true(board_take(&board, "a", lines_mutex("a", 1, 2), 5, &past));
    assert_true(board_take(&board, "a", lines_mutex("a", 2, 1), 6, &past));
    struct hf_ticket place = lines_place(7);
    assert_true(board_take(&board, "b", lines_report("b", &place, 0), 7, &past));
    assert_int_equal(past.count, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_string_equal(past_get(&past, i + 1)->what, what[i]);
    assert_int_equal(past_get(&past, 4)->token, 2);
    assert_int_equal(past_get(&past, 4)->time, 6);
    assert_string_equal(past_get(&past, 4)->owner, "ana@db2:7");
    board_finish(&board);
    past_finish(&past);
}

static size_t resident_kib(void)
{
    char   line[200];
    size_t kib = 0;
    FILE  *file = fopen("/proc/self/status", "r");

    assert_non_null(file);
    while (kib == 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtoul(line + 6, NULL, 10);
    fclose(file);
    return kib;
}

/* The past lives on between the lines, in the same heap. */
static void test_memory_goes_back(void **state)
{
    const unsigned lines = 20000;
    struct board   board = { 0 };
    struct past    past;
    char           name[16];

    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they have heaps of their own */
#endif
    assert_true(past_init(&past, 100));
    size_t before = resident_kib();
    for (unsigned i = 0; i < 2 * lines; i++) {
        snprintf(name, sizeof name, "lock-%05u", i % lines);
        assert_true(board_take(&board, name, lines_mutex(name, i + 1, i < lines ? 1 : 0),
                               5, &past));
        if (i == lines - 1) {
            board_trim(&board);
            assert_in_range(resident_kib() - before, lines / 2, SIZE_MAX);
        }
    }
    assert_int_equal(board.count, 0);
    board_trim(&board);
    assert_in_range(resident_kib(), 0, before + 2000);
    board_finish(&board);
    past_finish(&past);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_come_and_go),
        cmocka_unit_test(test_many_lines_stay_sorted),
        cmocka_unit_test(test_what_hurts_most_is_first),
        cmocka_unit_test(test_leases_are_refreshed),
        cmocka_unit_test(test_a_sweep),
        cmocka_unit_test(test_changes_are_remembered),
        cmocka_unit_test(test_memory_goes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
