/* random.c - the generators. */
/* one thread */
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_the_sequence_is_splitmix64(void **state)
{
    /* The published values for this seed. */
    static const uint64_t expected[] = { 6457827717110365317u, 3203168211198807973u,
                                         9817491932198370423u, 4593380528125082431u,
                                         16408922859458223821u };
    uint64_t              seed = 1234567;

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_true(hf_random_next(&seed) == expected[i]);
}

static void test_kernel_numbers_use_all_bits_and_do_not_repeat(void **state)
{
    uint64_t seen[64], any = 0, every = UINT64_MAX;

    (void)state;
    for (size_t i = 0; i < 64; i++) {
        seen[i] = hf_random();
        any |= seen[i];
        every &= seen[i];
        for (size_t j = 0; j < i; j++)
            assert_true(seen[i] != seen[j]);
    }
    /* The chance that a bit is the same in all 64 numbers is 2^-63. */
    assert_true(any == UINT64_MAX && every == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_sequence_is_splitmix64),
        cmocka_unit_test(test_kernel_numbers_use_all_bits_and_do_not_repeat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
