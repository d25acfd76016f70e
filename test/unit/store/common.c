/* common.c - when a WATCH of our own place is answered. */
/* one thread */
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct hf_standing unknown = { .state = HF_STAND_UNKNOWN, .slot = -1 };
static const struct hf_standing none = { .state = HF_STAND_NONE, .slot = -1 };
static const struct hf_standing second = { HF_STAND_WAITS, 7, 1, -1, 1, NULL };
static const struct hf_standing third = { HF_STAND_WAITS, 7, 1, -1, 2, NULL };
static const struct hf_standing holds = { HF_STAND_HOLDS, 7, 1, -1, 0, NULL };
static const struct hf_standing asked = { HF_STAND_HOLDS, 7, 1, -1, 0, "please" };
static const struct hf_standing again = { HF_STAND_HOLDS, 7, 1, -1, 0, "now" };

static bool differs(const struct hf_standing *now, const struct hf_standing *known,
                    bool follow)
{
    struct hf_req watch = { .op = HF_WATCH, .id = 1, .standing = *known };

    watch.follow = follow;
    return hf_standing_differs(now, &watch);
}

static void test_every_pair_of_known_and_present(void **state)
{
    const struct hf_standing *all[] = { &none, &second, &third, &holds, &asked, &again };
    const size_t              count = sizeof all / sizeof *all;

    (void)state;
    for (size_t now = 0; now < count; now++)
        for (size_t known = 0; known < count; known++) {
            bool both_wait = (now == 1 || now == 2) && (known == 1 || known == 2);
            assert_int_equal(differs(all[now], all[known], true), now != known);
            assert_int_equal(differs(all[now], all[known], false),
                             now != known && !both_wait);
        }
}

static void test_a_watch_that_knows_nothing_is_answered(void **state)
{
    (void)state;
    assert_true(differs(&none, &unknown, false));
    assert_true(differs(&second, &unknown, false));
    assert_true(differs(&holds, &unknown, false));
}

/* Otherwise the rest would wake the caller again and again. */
static void test_a_long_reason_is_compared_as_far_as_it_is_kept(void **state)
{
    char               text[300], kept[HF_ERRMSG_MAX];
    struct hf_standing now = holds, known = holds;

    (void)state;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    memset(kept, 'x', sizeof kept);
    kept[sizeof kept - 1] = '\0';
    now.asked = text;
    known.asked = kept;
    assert_false(differs(&now, &known, false));
    kept[sizeof kept - 2] = 'y';
    assert_true(differs(&now, &known, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pair_of_known_and_present),
        cmocka_unit_test(test_a_watch_that_knows_nothing_is_answered),
        cmocka_unit_test(test_a_long_reason_is_compared_as_far_as_it_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
