/* hold_ways.c - the state machine: why it ends, what it holds, whom it watches. */
/* one thread */
#include "lib/happen.h"

#include "holdfast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct hf_shape mutex = { .weight = 1, .capacity = 1 };
static const struct hf_shape writer = { .weight = HF_ALL, .capacity = HF_ALL };
static const struct hf_shape reader = { .weight = 1, .capacity = HF_ALL };
static const struct hf_shape claim = { .weight = 1, .capacity = 1, .claim = true };
static const struct hf_shape other = { .weight = 1, .capacity = 2 };

static uint64_t ids;

/* ---- Why it ended ----------------------------------------------------------------- */

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

static void test_why_it_ended(void **state)
{
    (void)state;
    assert_int_equal(WHY(mutex, true, ABSENT), HF_EBUSY);
    assert_int_equal(WHY(mutex, true, BEHIND, LEFT), HF_EBUSY);
    assert_int_equal(WHY(mutex, false, STRANGE, LEFT), HF_EMISMATCH);
    assert_int_equal(WHY(mutex, false, FAILED, LEFT), HF_ESTORE);
    assert_int_equal(WHY(mutex, false, BEHIND, DROP, LEFT), HF_ECANCELED);
    assert_int_equal(WHY(mutex, false, BEHIND, DROP, GONE), HF_ECANCELED);
    assert_int_equal(WHY(mutex, false, FITS, GONE, DROP), HF_ELOST);
    assert_int_equal(WHY(mutex, false, FITS, EXPIRED, DROP, LEFT), HF_ELOST);
    assert_int_equal(WHY(claim, false, ABSENT, WOKEN, EMPTY, FITS, GONE, DROP), HF_ELOST);
}

static struct hf_hold released(void)
{
    struct hf_hold hold;

    hf_hold_init(&hold, &mutex, &ids);
    step(&hold, WANT);
    step(&hold, FITS);
    hf_hold_step(&hold, &(struct hf_event){ .what = HF_DROP, .why = 0 });
    return hold;
}

static void test_a_release_is_good_only_if_the_store_says_so(void **state)
{
    (void)state;
    struct hf_hold hold = released();
    step(&hold, DOWN); /* not known: asked again */
    step(&hold, LEFT);
    assert_int_equal(hold.why, 0);

    hold = released();
    hf_hold_step(&hold, &(struct hf_event){ .what = HF_LEFT, .why = HF_ELOST });
    assert_int_equal(hold.why, HF_ELOST);

    hold = released();
    step(&hold, GONE);
    assert_int_equal(hold.why, HF_ELOST);
}

static void test_a_stranger_seen_by_a_claim_that_was_refused(void **state)
{
    struct hf_hold  hold;
    struct hf_event event = seen(&other, NULL);

    (void)state;
    hf_hold_init(&hold, &claim, &ids);
    step(&hold, WANT);
    hf_hold_step(&hold, &event);
    assert_int_equal(hold.state, HF_HOLD_IDLE);
    assert_int_equal(hold.why, HF_EMISMATCH);
}

/* ---- Holding less ------------------------------------------------------------------ */

static struct hf_hold held_as(const struct hf_shape *shape)
{
    struct hf_hold hold;

    hf_hold_init(&hold, shape, &ids);
    step(&hold, WANT);
    step(&hold, FITS);
    return hold;
}

static void lessen_to(struct hf_hold *hold, uint32_t weight)
{
    hf_hold_step(hold,
                 &(struct hf_event){ .what = HF_LESSEN,
                                     .shape = { weight, hold->shape.capacity, false } });
}

static void amended_to(struct hf_hold *hold, uint32_t weight)
{
    struct hf_shape shape = { weight, hold->shape.capacity, false };
    struct hf_event event = seen(NULL, &shape);

    hf_hold_step(hold, &event);
}

static void test_less_is_held_only_as_long_as_it_is_held(void **state)
{
    struct hf_hold hold = held_as(&writer);

    (void)state;
    assert_int_equal(hf_hold_shape(&hold)->weight, HF_ALL);
    step(&hold, LESSEN);
    assert_int_equal(hf_hold_shape(&hold)->weight, 1); /* what AMEND has to say */
    step(&hold, LESSER);
    assert_int_equal(hf_hold_shape(&hold)->weight, 1);
    assert_int_equal(hold.token, 70);
    hf_hold_step(&hold, &(struct hf_event){ .what = HF_DROP });
    step(&hold, LEFT);
    assert_int_equal(hold.why, 0);
    step(&hold, WANT);
    assert_int_equal(hf_hold_shape(&hold)->weight, HF_ALL);
    step(&hold, FITS);
    assert_int_equal(hf_hold_needs(&hold), HF_WATCH); /* nothing is left to amend */
}

/* A second wish to hold less, while the first is on its way. */
static void test_the_least_asked_for_counts(void **state)
{
    const struct hf_shape five = { 5, 5, false };
    struct hf_hold        hold = held_as(&five);

    (void)state;
    lessen_to(&hold, 3);
    lessen_to(&hold, 2);
    amended_to(&hold, 3);
    assert_int_equal(hf_hold_needs(&hold), HF_AMEND);
    assert_int_equal(hf_hold_shape(&hold)->weight, 2);
    amended_to(&hold, 2);
    assert_int_equal(hf_hold_needs(&hold), HF_WATCH);
}

static void lessen_wrongly(const void *data)
{
    const struct hf_shape *shape = data;
    struct hf_hold         hold = held_as(&other);

    hf_hold_step(&hold, &(struct hf_event){ .what = HF_LESSEN, .shape = *shape });
}

static void test_more_or_of_another_kind_is_no_lessening(void **state)
{
    const struct hf_shape wrong[] = {
        { 2, 2, false }, { 0, 2, false }, { 1, 1, false }, { 1, 2, true }
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_true(aborts(lessen_wrongly, &wrong[i]));
}

/* ---- Whom it watches ---------------------------------------------------------------- */

static struct hf_hold behind(size_t count, uint32_t capacity)
{
    struct hf_ticket ticket[HF_WATCH_MAX + 2];
    struct hf_shape  shape = { .weight = 1, .capacity = capacity };
    struct hf_hold   hold;

    for (size_t i = 0; i <= count; i++)
        ticket[i] = (struct hf_ticket){ .seq = 100 + i, .token = i + 1, .shape = shape };
    hf_hold_init(&hold, &shape, &ids);
    step(&hold, WANT);
    hf_hold_step(&hold, &(struct hf_event){ .what = HF_LINE,
                                            .line = { ticket, count + 1 },
                                            .me = count });
    return hold;
}

static void test_waiting_watches_what_the_judge_names(void **state)
{
    (void)state;
    struct hf_hold hold = behind(5, 3);
    assert_int_equal(hold.state, HF_HOLD_WAITING);
    assert_int_equal(hold.seq, 105);
    assert_int_equal(hold.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(hold.watch[i], 102 + i);
}

static void test_too_many_to_name_means_any_change(void **state)
{
    (void)state;
    struct hf_hold hold = behind(HF_WATCH_MAX, HF_WATCH_MAX);
    assert_int_equal(hold.count, HF_WATCH_MAX);
    hold = behind(HF_WATCH_MAX + 1, HF_WATCH_MAX + 1);
    assert_int_equal(hold.state, HF_HOLD_WAITING);
    assert_int_equal(hold.count, 0);
}

/* Who wants to know its place is woken by any change, whoever is in the way. */
static void test_following_watches_for_any_change(void **state)
{
    struct hf_hold  hold;
    struct hf_event event = seen(&reader, &writer);

    (void)state;
    hf_hold_init(&hold, &writer, &ids);
    hold.follow = true;
    step(&hold, WANT);
    hf_hold_step(&hold, &event);
    assert_int_equal(hf_hold_needs(&hold), HF_WATCH);
    assert_int_equal(hold.count, 0);
    step(&hold, WOKEN);
    step(&hold, FITS);
    assert_int_equal(hold.count, 1); /* a holder watches its own ticket, as ever */
}

static void test_holding_watches_the_own_ticket(void **state)
{
    struct hf_hold hold = behind(2, 3);

    (void)state;
    assert_int_equal(hold.state, HF_HOLD_HELD);
    assert_int_equal(hold.count, 1);
    assert_int_equal(hold.watch[0], hold.seq);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_why_it_ended),
        cmocka_unit_test(test_a_release_is_good_only_if_the_store_says_so),
        cmocka_unit_test(test_a_stranger_seen_by_a_claim_that_was_refused),
        cmocka_unit_test(test_less_is_held_only_as_long_as_it_is_held),
        cmocka_unit_test(test_the_least_asked_for_counts),
        cmocka_unit_test(test_more_or_of_another_kind_is_no_lessening),
        cmocka_unit_test(test_waiting_watches_what_the_judge_names),
        cmocka_unit_test(test_too_many_to_name_means_any_change),
        cmocka_unit_test(test_following_watches_for_any_change),
        cmocka_unit_test(test_holding_watches_the_own_ticket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
