/* clock.c - the clock and the arithmetic of timeouts. */
/* one thread */
#include "base/clock.h"

#include "lib/time_space.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void test_now_is_the_boot_time_clock(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t before = read_ns(CLOCK_BOOTTIME);
        hf_time now = hf_now();
        int64_t after = read_ns(CLOCK_BOOTTIME);
        assert_true(before <= now && now <= after);
    }
}

static int is_ahead(void)
{
    return hf_now() - read_ns(CLOCK_MONOTONIC) > 900 * HF_SEC;
}

static void test_now_counts_the_time_that_the_machine_is_suspended(void **state)
{
    int r = time_space_run(is_ahead);

    (void)state;
    if (r < 0)
        skip(); /* only root may make a time namespace */
    assert_int_equal(r, 1);
}

static void test_wall_is_the_time_of_day_in_microseconds(void **state)
{
    int64_t before = read_ns(CLOCK_REALTIME) / 1000;
    int64_t wall = hf_wall_us();
    int64_t after = read_ns(CLOCK_REALTIME) / 1000;

    (void)state;
    assert_true(before <= wall && wall <= after);
}

static void test_a_time_limit_is_added_or_means_never(void **state)
{
    (void)state;
    assert_int_equal(hf_after_ms(5, 0), 5);
    assert_int_equal(hf_after_ms(5, 1), 5 + HF_MS);
    assert_int_equal(hf_after_ms(5, -1), HF_NEVER);
    assert_int_equal(hf_after_ms(5, INT64_MIN), HF_NEVER);
}

static void test_after_does_not_overflow(void **state)
{
    int64_t most = (HF_NEVER - 7) / HF_MS;

    (void)state;
    assert_int_equal(hf_after_ms(7, most), 7 + most * HF_MS);
    assert_int_equal(hf_after_ms(7, most + 1), HF_NEVER);
    assert_int_equal(hf_after_ms(7, INT64_MAX), HF_NEVER);
    assert_int_equal(hf_after_ms(HF_NEVER, 0), HF_NEVER);
    assert_int_equal(hf_after_ms(HF_NEVER, 1), HF_NEVER);
}

static void test_poll_timeouts_are_rounded_up(void **state)
{
    (void)state;
    assert_int_equal(hf_poll_ms(10, 10), 0);
    assert_int_equal(hf_poll_ms(10, 9), 0);
    assert_int_equal(hf_poll_ms(10, 0), 0);
    assert_int_equal(hf_poll_ms(10, 11), 1);
    assert_int_equal(hf_poll_ms(10, 10 + HF_MS), 1);
    assert_int_equal(hf_poll_ms(10, 11 + HF_MS), 2);
}

static void test_poll_of_never_and_of_very_late(void **state)
{
    (void)state;
    assert_int_equal(hf_poll_ms(0, HF_NEVER), -1);
    assert_int_equal(hf_poll_ms(0, HF_NEVER - 1), INT_MAX);
    assert_int_equal(hf_poll_ms(0, INT_MAX * HF_MS), INT_MAX);
    assert_int_equal(hf_poll_ms(0, (INT_MAX - 1) * HF_MS), INT_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_now_is_the_boot_time_clock),
        cmocka_unit_test(test_now_counts_the_time_that_the_machine_is_suspended),
        cmocka_unit_test(test_wall_is_the_time_of_day_in_microseconds),
        cmocka_unit_test(test_a_time_limit_is_added_or_means_never),
        cmocka_unit_test(test_after_does_not_overflow),
        cmocka_unit_test(test_poll_timeouts_are_rounded_up),
        cmocka_unit_test(test_poll_of_never_and_of_very_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
