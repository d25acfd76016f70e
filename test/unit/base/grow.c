/* grow.c - arrays that grow as they are filled. */
/* one thread */
#include "base/grow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_elements_are_kept_and_moves_are_few(void **state)
{
    size_t room = 0, moves = 0;
    int   *array = NULL;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        size_t before = room;
        array = hf_grow(array, &room, (size_t)i + 1, sizeof *array);
        assert_non_null(array);
        assert_true(room > (size_t)i);
        moves += room != before;
        array[i] = i;
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(array[i], i);
    assert_true(moves < 12);
    free(array);
}

static void test_growth_by_more_than_double(void **state)
{
    size_t room = 0;
    char  *array = hf_grow(NULL, &room, 100000, 1);

    (void)state;
    assert_non_null(array);
    assert_true(room >= 100000);
    array[99999] = 1;
    free(array);
}

static void test_a_failed_allocation_changes_nothing(void **state)
{
    size_t room = 0;
    int   *array = hf_grow(NULL, &room, 1, sizeof *array);
    size_t before = room;

    (void)state;
    assert_non_null(array);
    array[0] = 7;
    assert_null(hf_grow(array, &room, SIZE_MAX / 2, sizeof *array));
    assert_int_equal(room, before);
    assert_int_equal(array[0], 7);
    free(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_are_kept_and_moves_are_few),
        cmocka_unit_test(test_growth_by_more_than_double),
        cmocka_unit_test(test_a_failed_allocation_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
