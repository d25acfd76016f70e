/* locks.c - all lines of a store: what is on the locks, what hurts most, what happened. */
/* one thread */
#include "view/locks.c"
#include "view/changes.c"
#include "view/clock.c"
#include "view/history.c"
#include "view/json.c"
#include "view/place.c"
#include "view/text.c"
#include "view/text_shown.c"

#include "lib/sample_reports.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SECOND 1000000

static void take(struct locks *locks, const char *name, uint64_t first, size_t count)
{
    assert_true(
        locks_update(locks, name, sample_mutexes(name, first, count), 10 * SECOND, NULL));
}

static void test_locks_appear_and_disappear(void **state)
{
    struct locks locks = { 0 };

    (void)state;
    take(&locks, "b", 10, 1);
    take(&locks, "c", 20, 3);
    take(&locks, "a", 30, 2);
    assert_int_equal(locks.count, 3);
    assert_string_equal(locks.lock[0]->name, "a");
    assert_string_equal(locks.lock[2]->name, "c");
    assert_int_equal(locks.holders, 3);
    assert_int_equal(locks.waiters, 3);
    const struct lock *c = locks_find(&locks, "c");
    assert_int_equal(c->waiters, 2);
    assert_int_equal(c->holder->token, 20);
    assert_int_equal(c->waits_since, SECOND);

    take(&locks, "c", 21, 1); /* it looks different */
    take(&locks, "a", 0, 0);  /* nobody is in it */
    take(&locks, "d", 0, 0);  /* nor ever was */
    assert_int_equal(locks.count, 2);
    assert_int_equal(locks.holders, 2);
    assert_int_equal(locks.waiters, 0);
    assert_null(locks_find(&locks, "a"));
    assert_int_equal(locks_find(&locks, "c")->holder->token, 21);
    locks_finish(&locks);
}

static void test_many_locks_stay_sorted(void **state)
{
    struct locks locks = { 0 };
    char         name[16];

    (void)state;
    for (unsigned i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "%03u", i * 7 % 500);
        take(&locks, name, i + 1, 1);
    }
    assert_int_equal(locks.count, 500);
    for (unsigned i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "%03u", i);
        assert_string_equal(locks.lock[i]->name, name);
        assert_ptr_equal(locks_find(&locks, name), locks.lock[i]);
    }
    locks_finish(&locks);
}

/* By waiters times the longest wait, then locks with waiters, then by name. */
static void test_the_worst_waits_are_first(void **state)
{
    struct locks       locks = { 0 };
    const struct lock *row[5];
    struct hf_place    place[2] = { sample_place(1), sample_place(2) };

    (void)state;
    take(&locks, "quiet", 10, 1);
    take(&locks, "calm", 20, 1);
    take(&locks, "five", 30, 6);
    place[1].since = 9 * SECOND; /* waits for a second only */
    assert_true(locks_update(&locks, "one", sample_report("one", place, 2), 0, NULL));
    place[1].since = 99 * SECOND; /* by a clock that is ahead of ours */
    assert_true(locks_update(&locks, "ahead", sample_report("ahead", place, 2), 0, NULL));
    locks_sort(&locks, 10 * SECOND, row);
    assert_string_equal(row[0]->name, "five");
    assert_string_equal(row[1]->name, "one");
    assert_string_equal(row[2]->name, "ahead");
    assert_string_equal(row[3]->name, "calm");
    assert_string_equal(row[4]->name, "quiet");
    assert_true(lock_contention(row[0], 10 * SECOND) == 5.0 * 9 * SECOND);
    assert_true(lock_contention(row[2], 10 * SECOND) == 0);
    locks_finish(&locks);
}

static void test_leases_are_refreshed(void **state)
{
    struct locks    locks = { 0 };
    struct hf_place place[2] = { sample_place(1), sample_place(2) };

    (void)state;
    place[0].left = 9 * SECOND;
    place[1].left = 0; /* not known */
    assert_true(locks_update(&locks, "a", sample_report("a", place, 2), 10, NULL));
    const struct lock *line = locks_find(&locks, "a");
    assert_int_equal(lock_left_ms(line, 0), 9000);
    assert_int_equal(lock_left_ms(line, 1), -1);
    place[0].left = 15 * SECOND;
    struct hf_report *all = sample_report("a", place, 1); /* the second has gone */
    locks_refresh_leases(&locks, all, 20);
    hf_report_free(all);
    assert_int_equal(lock_left_ms(line, 0), 15000);
    assert_int_equal(lock_left_ms(line, 1), -1);
    assert_int_equal(line->seen, 20);
    locks_finish(&locks);
}

/* After a pause every lock is reported again. */
static void test_locks_that_are_not_reported_again_are_removed(void **state)
{
    struct locks   locks = { 0 };
    struct history history;

    (void)state;
    assert_true(history_init(&history, 8));
    take(&locks, "a", 10, 2);
    take(&locks, "b", 20, 1);
    take(&locks, "c", 30, 1);
    uint64_t then = locks.version;
    take(&locks, "b", 20, 1);
    locks_remove_unseen(&locks, then, 50, &history);
    assert_int_equal(locks.count, 1);
    assert_non_null(locks_find(&locks, "b"));
    assert_int_equal(locks.holders, 1);
    assert_int_equal(locks.waiters, 0);
    assert_int_equal(history.count, 3); /* c and a were released, a was left */
    locks_finish(&locks);
    history_finish(&history);
}

static void test_changes_are_recorded(void **state)
{
    static const char *const what[] = { "granted", "entered", "released", "granted" };
    struct locks             locks = { 0 };
    struct history           history;

    (void)state;
    assert_true(history_init(&history, 8));
    assert_true(locks_update(&locks, "a", sample_mutexes("a", 1, 2), 5, &history));
    assert_true(locks_update(&locks, "a", sample_mutexes("a", 2, 1), 6, &history));
    struct hf_place place = sample_place(7);
    assert_true(locks_update(&locks, "b", sample_report("b", &place, 0), 7, &history));
    assert_int_equal(history.count, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_string_equal(history_get(&history, i + 1)->what, what[i]);
    assert_int_equal(history_get(&history, 4)->token, 2);
    assert_int_equal(history_get(&history, 4)->time, 6);
    assert_string_equal(history_get(&history, 4)->owner, "ana@db2:7");
    locks_finish(&locks);
    history_finish(&history);
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

/* The history lives on between the lines, in the same heap. */
static void test_memory_is_returned(void **state)
{
    const unsigned lines = 20000;
    struct locks   locks = { 0 };
    struct history history;
    char           name[16];

    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they have heaps of their own */
#endif
    assert_true(history_init(&history, 100));
    size_t before = resident_kib();
    for (unsigned i = 0; i < 2 * lines; i++) {
        snprintf(name, sizeof name, "lock-%05u", i % lines);
        assert_true(locks_update(&locks, name,
                                 sample_mutexes(name, i + 1, i < lines ? 1 : 0), 5,
                                 &history));
        if (i == lines - 1) {
            locks_trim(&locks);
            assert_in_range(resident_kib() - before, lines / 2, SIZE_MAX);
        }
    }
    assert_int_equal(locks.count, 0);
    locks_trim(&locks);
    assert_in_range(resident_kib(), 0, before + 2000);
    locks_finish(&locks);
    history_finish(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_locks_appear_and_disappear),
        cmocka_unit_test(test_many_locks_stay_sorted),
        cmocka_unit_test(test_the_worst_waits_are_first),
        cmocka_unit_test(test_leases_are_refreshed),
        cmocka_unit_test(test_locks_that_are_not_reported_again_are_removed),
        cmocka_unit_test(test_changes_are_recorded),
        cmocka_unit_test(test_memory_is_returned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
