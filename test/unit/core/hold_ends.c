/* hold_ends.c - the state machine: why a hold ends, and its weight. */
/* one thread */
#include "lib/hold_events.h"

#include "holdfast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct hf_shape mutex = { .weight = 1, .capacity = 1 };
static const struct hf_shape writer = { .weight = HF_ALL, .capacity = HF_ALL };
static const struct hf_shape claim = { .weight = 1, .capacity = 1, .claim = true };
static const struct hf_shape other = { .weight = 1, .capacity = 2 };

static uint64_t ids;

/* ---- Reasons ----------------------------------------------------------------------- */

static int why_after(const struct hf_shape *shape, bool once, const int *path)
{
    struct hf_hold hold;

    hf_hold_init(&hold, shape, &ids);
    hf_hold_step(&hold, &(struct hf_event){ .what = HF_WANT, .once = once });
    for (; *path != EVENTS; path++)
        step(&hold, *path);
    assert_int_equal(hold.state, HF_HOLD_IDLE);
    return hold.why;
}

#define WHY(shape, once, ...) \
    why_after(&(shape), once, (const int[]){ __VA_ARGS__, EVENTS })

static void test_the_reason_of_every_end(void **state)
{
    (void)state;
    assert_int_equal(WHY(mutex, true, BUSY), HF_EBUSY);
    assert_int_equal(WHY(mutex, true, WAITS, LEFT), HF_EBUSY);
    assert_int_equal(WHY(claim, true, BUSY), HF_EBUSY);
    assert_int_equal(WHY(mutex, false, FAILED, LEFT), HF_ESTORE);
    assert_int_equal(WHY(mutex, false, WAITS, DROP, LEFT), HF_ECANCELED);
    assert_int_equal(WHY(mutex, false, WAITS, DROP, GONE), HF_ECANCELED);
    assert_int_equal(WHY(mutex, false, HOLDS, GONE, DROP), HF_ELOST);
    assert_int_equal(WHY(mutex, false, HOLDS, EXPIRED, DROP, LEFT), HF_ELOST);
    assert_int_equal(WHY(claim, false, BUSY, CHANGED, BUSY, DROP), HF_ECANCELED);
    assert_int_equal(WHY(claim, false, BUSY, CHANGED, HOLDS, GONE, DROP), HF_ELOST);
}

static struct hf_hold released(void)
{
    struct hf_hold hold;

    hf_hold_init(&hold, &mutex, &ids);
    step(&hold, WANT);
    step(&hold, HOLDS);
    hf_hold_step(&hold, &(struct hf_event){ .what = HF_DROP, .why = 0 });
    return hold;
}

static void test_a_release_succeeds_only_if_the_store_says_so(void **state)
{
    (void)state;
    struct hf_hold hold = released();
    step(&hold, DOWN); /* unknown: LEAVE is sent again */
    step(&hold, LEFT);
    assert_int_equal(hold.why, 0);

    hold = released();
    hf_hold_step(&hold, &(struct hf_event){ .what = HF_LEFT, .why = HF_ELOST });
    assert_int_equal(hold.why, HF_ELOST);

    hold = released();
    step(&hold, GONE);
    assert_int_equal(hold.why, HF_ELOST);
}

/* ---- Downgrading ------------------------------------------------------------------- */

static struct hf_hold held_as(const struct hf_shape *shape)
{
    struct hf_hold hold;

    hf_hold_init(&hold, shape, &ids);
    step(&hold, WANT);
    step(&hold, HOLDS);
    return hold;
}

static void downgrade_to(struct hf_hold *hold, uint32_t weight)
{
    hf_hold_step(hold,
                 &(struct hf_event){ .what = HF_HOLD_LESS,
                                     .shape = { weight, hold->shape.capacity, false } });
}

static void downgraded_to(struct hf_hold *hold, uint32_t weight)
{
    struct hf_event event = granted(weight);

    hf_hold_step(hold, &event);
}

static void test_a_downgrade_lasts_until_the_release(void **state)
{
    struct hf_hold hold = held_as(&writer);

    (void)state;
    assert_int_equal(hf_hold_shape(&hold)->weight, HF_ALL);
    step(&hold, DOWNGRADE);
    assert_int_equal(hf_hold_shape(&hold)->weight, 1); /* for the DOWNGRADE */
    step(&hold, LESSER);
    assert_int_equal(hf_hold_shape(&hold)->weight, 1);
    assert_int_equal(hold.token, 70);
    hf_hold_step(&hold, &(struct hf_event){ .what = HF_DROP });
    step(&hold, LEFT);
    assert_int_equal(hold.why, 0);
    step(&hold, WANT);
    assert_int_equal(hf_hold_shape(&hold)->weight, HF_ALL);
    step(&hold, HOLDS);
    assert_int_equal(hf_hold_needs(&hold), HF_WATCH); /* no DOWNGRADE is left */
}

/* While that is in flight. */
static void test_a_second_downgrade_follows_the_first(void **state)
{
    const struct hf_shape five = { 5, 5, false };
    struct hf_hold        hold = held_as(&five);

    (void)state;
    downgrade_to(&hold, 3);
    downgrade_to(&hold, 2);
    downgraded_to(&hold, 3);
    assert_int_equal(hf_hold_needs(&hold), HF_DOWNGRADE);
    assert_int_equal(hf_hold_shape(&hold)->weight, 2);
    downgraded_to(&hold, 2);
    assert_int_equal(hf_hold_needs(&hold), HF_WATCH);
}

static void downgrade_wrongly(const void *data)
{
    const struct hf_shape *shape = data;
    struct hf_hold         hold = held_as(&other);

    hf_hold_step(&hold, &(struct hf_event){ .what = HF_HOLD_LESS, .shape = *shape });
}

static void test_more_weight_or_another_kind_is_no_downgrade(void **state)
{
    const struct hf_shape wrong[] = {
        { 2, 2, false }, { 0, 2, false }, { 1, 1, false }, { 1, 2, true }
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_true(aborts(downgrade_wrongly, &wrong[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_reason_of_every_end),
        cmocka_unit_test(test_a_release_succeeds_only_if_the_store_says_so),
        cmocka_unit_test(test_a_downgrade_lasts_until_the_release),
        cmocka_unit_test(test_a_second_downgrade_follows_the_first),
        cmocka_unit_test(test_more_weight_or_another_kind_is_no_downgrade),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
