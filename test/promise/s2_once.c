/* s2_once.c - ENTER, LEAVE and DOWNGRADE may be repeated after a lost answer. */
/* one thread */
#include "lib/promise.h"

#include "holdfast.h"

static struct request again(struct player *player, const struct request *first)
{
    struct request request = { .req = first->req };

    request.req.status = 1;
    assert_int_equal(player_run(player, &request), 0);
    return request;
}

static void a_repeated_enter_takes_one_place(void **state)
{
    struct player  a, b;
    struct request first, second;

    (void)state;
    player_open(&a);
    player_open(&b);
    enter(&a, "one_place", MUTEX, &first);
    enter(&b, "one_place", MUTEX, &second);

    struct request repeat = again(&a, &first);
    assert_true(is_granted(&repeat));
    assert_true(token_of(&repeat) == token_of(&first));

    repeat = again(&b, &second);
    assert_false(is_granted(&repeat));
    assert_true(token_of(&repeat) == token_of(&second));
    assert_int_equal(length(&a, "one_place"), 2);
    player_close(&a);
    player_close(&b);
}

static void a_repeated_try_takes_one_place(void **state)
{
    struct player  a;
    struct request first;

    (void)state;
    player_open(&a);
    enter(&a, "a_try", CLAIM, &first);
    assert_true(is_granted(&first));
    struct request repeat = again(&a, &first);
    assert_true(is_granted(&repeat));
    assert_true(token_of(&repeat) == token_of(&first));
    assert_int_equal(length(&a, "a_try"), 1);
    player_close(&a);
}

static void a_repeated_enter_keeps_its_slot(void **state)
{
    struct player  a;
    struct request one, two;

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "slot_stays", semaphore(2, 1), &one);
    enter(&a, "slot_stays", semaphore(2, 1), &two);
    assert_int_equal(slot_of(&one), 0);
    assert_int_equal(slot_of(&two), 1);
    struct request repeat = again(&a, &two);
    assert_int_equal(slot_of(&repeat), 1);

    assert_int_equal(leave(&a, "slot_stays", id), 0);
    enter(&a, "slot_stays", semaphore(2, 1), &one);
    assert_int_equal(slot_of(&one), 0);
    player_close(&a);
}

static void a_repeated_leave_is_no_error(void **state)
{
    struct player  a;
    struct request request;

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "leave", MUTEX, &request);
    assert_int_equal(leave(&a, "leave", id), 0);
    assert_int_equal(leave(&a, "leave", id), 0);
    assert_int_equal(length(&a, "leave"), 0);
    assert_int_equal(leave(&a, "leave", ++a.ids), 0); /* its ENTER never arrived */
    player_close(&a);
}

static void a_repeated_leave_does_not_hit_a_new_place(void **state)
{
    struct player  a;
    struct request request;

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "only_own", MUTEX, &request);
    assert_int_equal(leave(&a, "only_own", id), 0);
    enter(&a, "only_own", MUTEX, &request);
    assert_int_equal(leave(&a, "only_own", id), 0);
    assert_int_equal(length(&a, "only_own"), 1);
    player_close(&a);
}

static void a_repeated_enter_does_not_bring_a_broken_place_back(void **state)
{
    struct player  a, b;
    struct request request;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "stays_away", MUTEX, &request);
    assert_int_equal(take_away(&b, "stays_away", place_of(&request)), 0);
    struct request repeat = again(&a, &request);
    assert_false(has_place(&repeat));
    assert_int_equal(length(&a, "stays_away"), 0);
    assert_int_equal(leave(&a, "stays_away", id), HF_ELOST);
    assert_int_equal(leave(&a, "stays_away", id), HF_ELOST);
    player_close(&a);
    player_close(&b);
}

/* ---- DOWNGRADE ----------------------------------------------------------------- */

static void a_repeated_downgrade_keeps_the_place(void **state)
{
    struct player  a, b;
    struct request held, waits, amended, all;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "amend", WRITER, &held);
    enter(&b, "amend", READER, &waits);
    assert_int_equal(downgrade(&a, "amend", id, READER, &amended), 0);
    struct request repeat = again(&a, &amended);
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

static void a_late_downgrade_does_not_add_weight(void **state)
{
    struct player  a, b;
    struct request held, more, less, other;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "never_adds", semaphore(5, 5), &held);
    assert_int_equal(downgrade(&a, "never_adds", id, semaphore(5, 3), &more), 0);
    assert_int_equal(downgrade(&a, "never_adds", id, semaphore(5, 1), &less), 0);
    struct request repeat = again(&a, &more);
    assert_int_equal(weight_of(&repeat), 1);
    enter(&b, "never_adds", semaphore(5, 4), &other);
    assert_true(is_granted(&other));
    player_close(&a);
    player_close(&b);
}

/* Neither a broken place nor one that was left. */
static void a_downgrade_does_not_bring_a_place_back(void **state)
{
    struct player  a, b;
    struct request held, amended;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "no_place", WRITER, &held);
    assert_int_equal(downgrade(&a, "no_place", id, READER, &amended), 0);
    assert_int_equal(take_away(&b, "no_place", place_of(&held)), 0);
    struct request repeat = again(&a, &amended);
    assert_false(has_place(&repeat));
    assert_int_equal(length(&b, "no_place"), 0);
    assert_int_equal(leave(&a, "no_place", id), HF_ELOST);

    id = enter(&a, "no_place", WRITER, &held);
    assert_int_equal(leave(&a, "no_place", id), 0);
    assert_int_equal(downgrade(&a, "no_place", id, READER, &amended), 0);
    assert_false(has_place(&amended));
    assert_int_equal(length(&b, "no_place"), 0);
    player_close(&a);
    player_close(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_repeated_enter_takes_one_place),
        cmocka_unit_test(a_repeated_try_takes_one_place),
        cmocka_unit_test(a_repeated_enter_keeps_its_slot),
        cmocka_unit_test(a_repeated_leave_is_no_error),
        cmocka_unit_test(a_repeated_leave_does_not_hit_a_new_place),
        cmocka_unit_test(a_repeated_enter_does_not_bring_a_broken_place_back),
        cmocka_unit_test(a_repeated_downgrade_keeps_the_place),
        cmocka_unit_test(a_late_downgrade_does_not_add_weight),
        cmocka_unit_test(a_downgrade_does_not_bring_a_place_back),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
