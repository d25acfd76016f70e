/* retry.c - back-off. */
/* one thread */
#include "core/retry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define LEAST (10 * HF_MS)
#define MOST  HF_SEC

/* The delay of the n-th failure in a row, before jitter. */
static hf_time full(unsigned tries)
{
    hf_time delay = LEAST;

    while (tries-- > 0 && delay < MOST)
        delay *= 2;
    return delay < MOST ? delay : MOST;
}

static void test_delays_double_up_to_the_maximum_with_jitter_of_half(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct hf_retry retry;
        hf_retry_init(&retry, LEAST, MOST, seed);
        for (unsigned tries = 0; tries < 20; tries++) {
            hf_time delay = hf_retry_next(&retry);
            assert_true(delay >= full(tries) / 2 && delay <= full(tries));
        }
    }
}

static void test_the_whole_range_is_used(void **state)
{
    hf_time least = HF_NEVER, most = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct hf_retry retry;
        hf_retry_init(&retry, LEAST, MOST, seed);
        hf_time delay = hf_retry_next(&retry);
        least = delay < least ? delay : least;
        most = delay > most ? delay : most;
    }
    assert_true(least < LEAST / 2 + LEAST / 50);
    assert_true(most > LEAST - LEAST / 50);
}

static void test_the_same_seed_gives_the_same_delays(void **state)
{
    struct hf_retry a, b, c;
    int             different = 0;

    (void)state;
    hf_retry_init(&a, LEAST, MOST, 7);
    hf_retry_init(&b, LEAST, MOST, 7);
    hf_retry_init(&c, LEAST, MOST, 8);
    for (int i = 0; i < 20; i++) {
        hf_time delay = hf_retry_next(&a);
        assert_int_equal(delay, hf_retry_next(&b));
        different += delay != hf_retry_next(&c);
    }
    assert_true(different >= 19);
}

static void test_success_starts_over(void **state)
{
    struct hf_retry retry;

    (void)state;
    hf_retry_init(&retry, LEAST, MOST, 1);
    for (int i = 0; i < 10; i++)
        hf_retry_next(&retry);
    assert_true(hf_retry_next(&retry) >= MOST / 2);
    hf_retry_reset(&retry);
    assert_true(hf_retry_next(&retry) <= LEAST);
}

static void test_minimum_and_maximum_may_be_equal(void **state)
{
    struct hf_retry retry;

    (void)state;
    hf_retry_init(&retry, 1, 1, 1);
    for (int i = 0; i < 100; i++)
        assert_int_equal(hf_retry_next(&retry), 1);
}

static void test_no_number_of_failures_overflows(void **state)
{
    struct hf_retry retry;

    (void)state;
    hf_retry_init(&retry, 1, HF_NEVER, 1);
    for (int i = 0; i < 1000; i++) {
        hf_time delay = hf_retry_next(&retry);
        assert_true(delay > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delays_double_up_to_the_maximum_with_jitter_of_half),
        cmocka_unit_test(test_the_whole_range_is_used),
        cmocka_unit_test(test_the_same_seed_gives_the_same_delays),
        cmocka_unit_test(test_success_starts_over),
        cmocka_unit_test(test_minimum_and_maximum_may_be_equal),
        cmocka_unit_test(test_no_number_of_failures_overflows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
