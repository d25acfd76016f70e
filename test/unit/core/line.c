/* line.c - the rule of exclusion, compared with its definition on every small line.
 */
/* one thread */
#include "core/line.h"
#include "holdfast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define LONGEST 5

/* ---- The rule, as a store calls it --------------------------------------------- */

struct judged {
    enum hf_verdict verdict;
    bool            granted;
    /* Of `ahead`: the run of places to watch; one of them must leave first. */
    size_t first, count;
};

static int next_ahead(void *from, struct hf_shape *ret)
{
    struct hf_line *rest = from;

    if (rest->count == 0)
        return 0;
    *ret = rest->place[--rest->count].shape;
    return 1;
}

static struct judged judge(const struct hf_line *ahead, const struct hf_shape *mine)
{
    struct hf_line     rest = *ahead;
    struct hf_blockers who;
    struct judged      judged;

    assert_int_equal(hf_line_walk(mine, next_ahead, &rest, &judged.verdict, &who), 0);
    assert_int_equal(who.count, ahead->count - rest.count);
    judged.granted = judged.verdict == HF_PASSES;
    judged.first = rest.count;
    judged.count = who.alone ? 1 : who.count;
    return judged;
}

/* ---- The definition, as naive as possible --------------------------------------- */

/* Do we fit, together with the places of `ahead` whose bit is set? */
static bool fit(const struct hf_line *ahead, unsigned set, const struct hf_shape *mine)
{
    uint64_t sum = mine->weight;

    for (size_t i = 0; i < ahead->count; i++)
        if (set & 1u << i)
            sum += ahead->place[i].shape.weight;
    return sum <= mine->capacity;
}

static unsigned run(size_t first, size_t count)
{
    return ((1u << count) - 1) << first;
}

/* The nearest place of another kind, or `count`. */
static size_t nearest_stranger(const struct hf_line *ahead, const struct hf_shape *mine)
{
    for (size_t i = ahead->count; i-- > 0;) {
        const struct hf_shape *other = &ahead->place[i].shape;
        if (other->capacity != mine->capacity || other->claim != mine->claim)
            return i;
    }
    return ahead->count;
}

static void check_watch_set(const struct hf_line *ahead, const struct hf_shape *mine,
                            const struct judged *verdict)
{
    unsigned watched = run(verdict->first, verdict->count);
    unsigned all = run(0, ahead->count);

    assert_true(verdict->count >= 1);
    assert_true(verdict->first + verdict->count <= ahead->count);
    /* Enough: while all of them stay, we do not fit. */
    for (unsigned stays = 0; stays <= all; stays++)
        if ((stays & watched) == watched)
            assert_false(fit(ahead, stays, mine));
    /* Not fewer: without the far end of the run, all others could leave, and we would
     * sleep although we fit. */
    assert_true(fit(ahead, run(verdict->first + 1, verdict->count - 1), mine));
    /* Nearest: the places between the run and us do not keep us out. */
    size_t after = verdict->first + verdict->count;
    assert_true(fit(ahead, run(after, ahead->count - after), mine));
}

/* Summing from the head gives the same answer. */
static void check_sum(const struct hf_line *ahead, const struct hf_shape *mine)
{
    struct hf_sum sum = { 0 };

    for (size_t i = 0; i < ahead->count; i++)
        hf_sum_next(&sum, &ahead->place[i].shape);
    assert_int_equal(hf_sum_next(&sum, mine), judge(ahead, mine).granted);
}

static void check(const struct hf_line *ahead, const struct hf_shape *mine)
{
    check_sum(ahead, mine);
    struct judged verdict = judge(ahead, mine);
    size_t        stranger = nearest_stranger(ahead, mine);
    size_t        nearer = stranger < ahead->count ? ahead->count - stranger - 1 : 0;

    if (stranger == ahead->count) {
        assert_true(verdict.granted || verdict.verdict == HF_BLOCKED);
        assert_int_equal(verdict.granted, fit(ahead, run(0, ahead->count), mine));
        if (!verdict.granted)
            check_watch_set(ahead, mine, &verdict);
    } else if (fit(ahead, run(stranger + 1, nearer), mine)) {
        assert_int_equal(verdict.verdict, HF_MISMATCHED);
        assert_int_equal(verdict.first, stranger);
        assert_int_equal(verdict.count, 1);
    } else { /* kept out by nearer places: the other kind is not seen yet */
        assert_int_equal(verdict.verdict, HF_BLOCKED);
        check_watch_set(ahead, mine, &verdict);
        assert_true(verdict.first > stranger);
    }
}

/* ---- Every line ----------------------------------------------------------------- */

/* Call check() for all lines of `kinds`, up to LONGEST, and every kind of new place. */
static size_t check_all(const struct hf_shape *kinds, size_t count)
{
    size_t lines = 0;

    for (size_t length = 0; length <= LONGEST; length++) {
        size_t variants = 1;
        for (size_t i = 0; i <= length; i++)
            variants *= count;
        for (size_t v = 0; v < variants; v++, lines++) {
            struct hf_place place[LONGEST + 1];
            size_t          rest = v;
            for (size_t i = 0; i <= length; i++, rest /= count)
                place[i] =
                    (struct hf_place){ .seq = i + 1, .shape = kinds[rest % count] };
            struct hf_line line = { place, length };
            check(&line, &place[length].shape);
        }
    }
    return lines;
}

static void test_every_line_of_mutexes(void **state)
{
    static const struct hf_shape kinds[] = { { 1, 1, false } };

    (void)state;
    assert_int_equal(check_all(kinds, 1), LONGEST + 1);
}

static void test_readers_and_writers(void **state)
{
    static const struct hf_shape kinds[] = { { 1, HF_ALL, false },
                                             { HF_ALL, HF_ALL, false } };

    (void)state;
    check_all(kinds, 2);
}

static void test_semaphores_of_every_small_capacity_and_weight(void **state)
{
    (void)state;
    for (uint32_t capacity = 1; capacity <= 6; capacity++) {
        struct hf_shape kinds[6];
        for (uint32_t weight = 1; weight <= capacity; weight++)
            kinds[weight - 1] = (struct hf_shape){ weight, capacity, false };
        check_all(kinds, capacity);
    }
}

static void test_weights_near_the_limit_do_not_overflow(void **state)
{
    static const struct hf_shape kinds[] = {
        { 1, HF_ALL - 1, false },
        { HF_ALL / 2, HF_ALL - 1, false },
        { HF_ALL - 1, HF_ALL - 1, false },
    };

    (void)state;
    check_all(kinds, 3);
}

static void test_kinds_that_do_not_go_together(void **state)
{
    static const struct hf_shape kinds[] = {
        { 1, 1, false }, { 1, 1, true },       { 1, 2, false },
        { 2, 2, false }, { 1, HF_ALL, false }, { HF_ALL, HF_ALL, false },
    };

    (void)state;
    check_all(kinds, 6);
}

/* ---- The rest --------------------------------------------------------------------- */

static int fail_to_read(void *from, struct hf_shape *ret)
{
    (void)from;
    (void)ret;
    return HF_EDOWN;
}

static void test_a_line_that_cannot_be_read(void **state)
{
    struct hf_shape mine = { 1, 1, false };
    enum hf_verdict verdict;

    (void)state;
    assert_int_equal(hf_line_walk(&mine, fail_to_read, NULL, &verdict, NULL), HF_EDOWN);
}

static void test_verdicts_as_codes(void **state)
{
    (void)state;
    assert_int_equal(hf_verdict_status(HF_PASSES), 0);
    assert_int_equal(hf_verdict_status(HF_BLOCKED), 0);
    assert_int_equal(hf_verdict_status(HF_MISMATCHED), HF_EMISMATCH);
    assert_int_equal(hf_verdict_status(HF_BARRED), HF_ECORRUPT);
}

static void test_kinds_and_slots(void **state)
{
    static const struct {
        struct hf_shape shape;
        const char     *kind;
        bool            slots;
    } all[] = {
        { { 1, 1, false }, "mutex", false },
        { { 1, 1, true }, "claim", false },
        { { 1, 2, false }, "semaphore", true },
        { { 7, 7, false }, "semaphore", true },
        { { 1, HF_ALL, false }, "reader", false },
        { { HF_ALL, HF_ALL, false }, "writer", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_string_equal(hf_shape_kind(&all[i].shape), all[i].kind);
        assert_int_equal(hf_shape_has_slots(&all[i].shape), all[i].slots);
    }
    assert_true(hf_shape_agrees(&all[4].shape, &all[5].shape));
    assert_false(hf_shape_agrees(&all[0].shape, &all[1].shape));
    assert_false(hf_shape_agrees(&all[0].shape, &all[2].shape));
    assert_false(hf_shape_agrees(&all[2].shape, &all[3].shape));
}

/* ---- Shapes from a store ----------------------------------------------------------- */

static void test_shapes_that_make_no_sense(void **state)
{
    static const struct {
        int64_t weight, capacity;
        bool    claim;
    } all[] = {
        { 0, 1, false },         { 2, 1, false },
        { 0, 0, false },         { -1, 1, false },
        { 1, -1, false },        { 1, 0, false },
        { INT64_MIN, 1, false }, { 1, INT64_MAX, false },
        { 7, HF_ALL, false },    { 1, (int64_t)HF_ALL + 1, false },
        { 1, 2, true },          { 2, 2, true },
        { 1, HF_ALL, true },     { (int64_t)HF_ALL + 2, (int64_t)HF_ALL + 2, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct hf_shape invalid =
            hf_shape_read(all[i].weight, all[i].capacity, all[i].claim);
        assert_true(hf_shape_invalid(&invalid));
        assert_string_equal(hf_shape_kind(&invalid), "unknown");
        assert_false(hf_shape_has_slots(&invalid));
        assert_false(hf_shape_agrees(&invalid, &invalid));
    }
    struct hf_shape claim = hf_shape_read(1, 1, true);
    struct hf_shape writer = hf_shape_read(HF_ALL, HF_ALL, false);
    struct hf_shape heavy = hf_shape_read(3, 5, false);
    assert_string_equal(hf_shape_kind(&claim), "claim");
    assert_string_equal(hf_shape_kind(&writer), "writer");
    assert_true(heavy.weight == 3 && heavy.capacity == 5);
}

/* Nobody gets past it, and it holds when it is the first, whoever comes behind. */
static void test_nobody_gets_past_an_invalid_place(void **state)
{
    const struct hf_shape kinds[] = {
        { 1, 1, false },           { 1, 1, true },  { 1, HF_ALL, false },
        { HF_ALL, HF_ALL, false }, { 2, 5, false }, { 0, 0, false },
    };
    struct hf_place place[2] = {
        { .seq = 1, .shape = hf_shape_read(0, 1, false) },
        { .seq = 2, .shape = { 1, HF_ALL, false } },
    };
    const struct hf_line nobody = { place, 0 }, one = { place, 1 }, two = { place, 2 };

    (void)state;
    assert_true(judge(&nobody, &place[0].shape).granted);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct judged verdict = judge(&one, &kinds[i]);
        assert_int_equal(verdict.verdict, HF_BARRED);
        assert_int_equal(verdict.first, 0);
        assert_false(judge(&two, &kinds[i]).granted);
    }
    const struct hf_line behind = { place + 1, 1 };
    assert_false(judge(&behind, &place[0].shape).granted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_line_of_mutexes),
        cmocka_unit_test(test_readers_and_writers),
        cmocka_unit_test(test_semaphores_of_every_small_capacity_and_weight),
        cmocka_unit_test(test_weights_near_the_limit_do_not_overflow),
        cmocka_unit_test(test_kinds_that_do_not_go_together),
        cmocka_unit_test(test_a_line_that_cannot_be_read),
        cmocka_unit_test(test_verdicts_as_codes),
        cmocka_unit_test(test_kinds_and_slots),
        cmocka_unit_test(test_shapes_that_make_no_sense),
        cmocka_unit_test(test_nobody_gets_past_an_invalid_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
