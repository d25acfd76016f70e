/* s2_once.c - ENTER, LEAVE and AMEND may be repeated after a lost answer. */
/* one thread */
#include "lib/promise.h"

#include "holdfast.h"

static struct ask again(struct player *player, const struct ask *first)
{
    struct ask ask = { .req = first->req };

    ask.req.status = 1;
    assert_int_equal(player_run(player, &ask), 0);
    return ask;
}

static void enter_takes_one_place(void **state)
{
    struct player a, b;
    struct ask    first, second;

    (void)state;
    player_open(&a);
    player_open(&b);
    enter(&a, "one_place", MUTEX, &first);
    enter(&b, "one_place", MUTEX, &second);

    struct ask repeat = again(&a, &first);
    assert_true(is_granted(&repeat));
    assert_true(token_of(&repeat) == token_of(&first));

    repeat = again(&b, &second);
    assert_false(is_granted(&repeat));
    assert_true(token_of(&repeat) == token_of(&second));
    assert_int_equal(length(&a, "one_place"), 2);
    player_close(&a);
    player_close(&b);
}

static void a_try_too(void **state)
{
    struct player a;
    struct ask    first;

    (void)state;
    player_open(&a);
    enter(&a, "a_try", CLAIM, &first);
    assert_true(is_granted(&first));
    struct ask repeat = again(&a, &first);
    assert_true(is_granted(&repeat));
    assert_true(token_of(&repeat) == token_of(&first));
    assert_int_equal(length(&a, "a_try"), 1);
    player_close(&a);
}

static void the_slot_stays(void **state)
{
    struct player a;
    struct ask    one, two;

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "slot_stays", semaphore(2, 1), &one);
    enter(&a, "slot_stays", semaphore(2, 1), &two);
    assert_int_equal(slot_of(&one), 0);
    assert_int_equal(slot_of(&two), 1);
    struct ask repeat = again(&a, &two);
    assert_int_equal(slot_of(&repeat), 1);

    assert_int_equal(leave(&a, "slot_stays", id), 0);
    enter(&a, "slot_stays", semaphore(2, 1), &one);
    assert_int_equal(slot_of(&one), 0);
    player_close(&a);
}

static void leave_is_no_error(void **state)
{
    struct player a;
    struct ask    ask;

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "leave", MUTEX, &ask);
    assert_int_equal(leave(&a, "leave", id), 0);
    assert_int_equal(leave(&a, "leave", id), 0);
    assert_int_equal(length(&a, "leave"), 0);
    assert_int_equal(leave(&a, "leave", ++a.ids), 0); /* its ENTER never came */
    player_close(&a);
}

/* A late repeat of LEAVE must not take away what was entered since. */
static void leave_hits_only_its_own(void **state)
{
    struct player a;
    struct ask    ask;

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "only_own", MUTEX, &ask);
    assert_int_equal(leave(&a, "only_own", id), 0);
    enter(&a, "only_own", MUTEX, &ask);
    assert_int_equal(leave(&a, "only_own", id), 0);
    assert_int_equal(length(&a, "only_own"), 1);
    player_close(&a);
}

/* Taken away: a repeat must not come in by the back door. */
static void what_was_taken_stays_away(void **state)
{
    struct player a, b;
    struct ask    ask;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "stays_away", MUTEX, &ask);
    assert_int_equal(take_away(&b, "stays_away", place_of(&ask)), 0);
    struct ask repeat = again(&a, &ask);
    assert_false(has_place(&repeat));
    assert_int_equal(length(&a, "stays_away"), 0);
    assert_int_equal(leave(&a, "stays_away", id), HF_ELOST);
    assert_int_equal(leave(&a, "stays_away", id), HF_ELOST);
    player_close(&a);
    player_close(&b);
}

/* ---- AMEND ----------------------------------------------------------------------- */

static void amend_keeps_the_place(void **state)
{
    struct player a, b;
    struct ask    held, waits, amended, all;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "amend", WRITER, &held);
    enter(&b, "amend", READER, &waits);
    assert_int_equal(amend(&a, "amend", id, READER, &amended), 0);
    struct ask repeat = again(&a, &amended);
    assert_true(is_granted(&repeat));
    assert_true(token_of(&repeat) == token_of(&held));
    assert_int_equal(weight_of(&repeat), 1);
    assert_int_equal(list(&b, "amend", &all), 0);
    assert_int_equal(all.count, 2);
    assert_true(all.seen[0].token == token_of(&held));
    assert_int_equal(all.seen[0].shape.weight, 1);
    assert_int_equal(leave(&a, "amend", id), 0);
    player_close(&a);
    player_close(&b);
}

/* A late repeat of an earlier AMEND must not make it grow again. */
static void amend_never_adds(void **state)
{
    struct player a, b;
    struct ask    held, more, less, other;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "never_adds", semaphore(5, 5), &held);
    assert_int_equal(amend(&a, "never_adds", id, semaphore(5, 3), &more), 0);
    assert_int_equal(amend(&a, "never_adds", id, semaphore(5, 1), &less), 0);
    struct ask repeat = again(&a, &more);
    assert_int_equal(weight_of(&repeat), 1);
    enter(&b, "never_adds", semaphore(5, 4), &other);
    assert_true(is_granted(&other));
    player_close(&a);
    player_close(&b);
}

/* Neither what was taken nor what was given up comes back by it. */
static void amend_takes_no_place(void **state)
{
    struct player a, b;
    struct ask    held, amended;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "no_place", WRITER, &held);
    assert_int_equal(amend(&a, "no_place", id, READER, &amended), 0);
    assert_int_equal(take_away(&b, "no_place", place_of(&held)), 0);
    struct ask repeat = again(&a, &amended);
    assert_false(has_place(&repeat));
    assert_int_equal(length(&b, "no_place"), 0);
    assert_int_equal(leave(&a, "no_place", id), HF_ELOST);

    id = enter(&a, "no_place", WRITER, &held);
    assert_int_equal(leave(&a, "no_place", id), 0);
    assert_int_equal(amend(&a, "no_place", id, READER, &amended), 0);
    assert_false(has_place(&amended));
    assert_int_equal(length(&b, "no_place"), 0);
    player_close(&a);
    player_close(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enter_takes_one_place),
        cmocka_unit_test(a_try_too),
        cmocka_unit_test(the_slot_stays),
        cmocka_unit_test(leave_is_no_error),
        cmocka_unit_test(leave_hits_only_its_own),
        cmocka_unit_test(what_was_taken_stays_away),
        cmocka_unit_test(amend_keeps_the_place),
        cmocka_unit_test(amend_never_adds),
        cmocka_unit_test(amend_takes_no_place),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
