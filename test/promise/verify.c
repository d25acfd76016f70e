/* verify.c - VERIFY of our own place by its id and of any holder by its token; BREAK and
 * ASK by token; DIAGNOSE. */
/* one thread */
#include "lib/promise.h"

#include "holdfast.h"

static void verify_of_the_own_place(void **state)
{
    struct player  a;
    struct request request;

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "own", MUTEX, &request);
    assert_int_equal(verify(&a, "own", id), 0);
    assert_int_equal(verify(&a, "own", id), 0); /* any number of times */
    assert_int_equal(verify(&a, "own", id + 1), HF_ELOST);
    assert_int_equal(leave(&a, "own", id), 0);
    assert_int_equal(verify(&a, "own", id), HF_ELOST);
    player_close(&a);
}

static void verify_of_a_waiter_fails_and_changes_nothing(void **state)
{
    struct player  a, b;
    struct request held, waits;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "own waiter", MUTEX, &held);
    uint64_t next = enter(&b, "own waiter", MUTEX, &waits);
    assert_int_equal(verify(&b, "own waiter", next), HF_ELOST);
    assert_int_equal(leave(&a, "own waiter", id), 0);
    assert_true(wait_for_turn(&b, "own waiter", &waits, 20000));
    assert_int_equal(verify(&b, "own waiter", next), 0);
    assert_int_equal(leave(&b, "own waiter", next), 0);
    player_close(&a);
    player_close(&b);
}

static void verify_after_a_break_fails(void **state)
{
    struct player  a, b;
    struct request request;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "broken", MUTEX, &request);
    uint64_t token = token_of(&request);
    assert_int_equal(take_away(&b, "broken", place_of(&request)), 0);
    assert_int_equal(verify(&a, "broken", id), HF_ELOST);
    assert_int_equal(verify_token(&b, "broken", token), HF_ELOST);
    assert_int_equal(leave(&a, "broken", id), HF_ELOST); /* S8 */

    uint64_t again = enter(&a, "broken", MUTEX, &request);
    assert_int_equal(verify(&a, "broken", again), 0);
    assert_int_equal(verify(&a, "broken", id), HF_ELOST);
    assert_int_equal(verify_token(&b, "broken", token), HF_ELOST);
    assert_int_equal(leave(&a, "broken", again), 0);
    player_close(&a);
    player_close(&b);
}

static void verify_by_token(void **state)
{
    struct player  a, b;
    struct request held, waits;

    (void)state;
    player_open(&a);
    player_open(&b);
    assert_int_equal(verify_token(&b, "token", 1), HF_ELOST);
    uint64_t id = enter(&a, "token", MUTEX, &held);
    uint64_t token = token_of(&held);
    assert_int_equal(verify_token(&a, "token", token), 0);
    assert_int_equal(verify_token(&b, "token", token), 0);
    assert_int_equal(verify_token(&b, "token", token + 1000), HF_ELOST);
    assert_int_equal(verify_token(&b, "another name", token), HF_ELOST);

    /* A waiter does not hold. */
    uint64_t next = enter(&b, "token", MUTEX, &waits);
    uint64_t later = token_of(&waits);
    assert_int_equal(verify_token(&a, "token", later), HF_ELOST);
    assert_int_equal(verify_token(&b, "token", later), HF_ELOST);
    assert_int_equal(leave(&a, "token", id), 0);
    assert_int_equal(verify_token(&a, "token", token), HF_ELOST);
    assert_true(wait_for_turn(&b, "token", &waits, 20000));
    assert_int_equal(verify_token(&a, "token", later), 0);
    assert_int_equal(leave(&b, "token", next), 0);
    player_close(&a);
    player_close(&b);
}

static void verify_by_token_of_several_holders(void **state)
{
    struct player  a, b, c;
    struct request one, two, three;

    (void)state;
    player_open(&a);
    player_open(&b);
    player_open(&c);
    uint64_t first = enter(&a, "many", semaphore(2, 1), &one);
    uint64_t second = enter(&b, "many", semaphore(2, 1), &two);
    uint64_t third = enter(&c, "many", semaphore(2, 1), &three);
    assert_int_equal(verify_token(&c, "many", token_of(&one)), 0);
    assert_int_equal(verify_token(&c, "many", token_of(&two)), 0);
    assert_int_equal(verify_token(&c, "many", token_of(&three)), HF_ELOST);
    assert_int_equal(leave(&a, "many", first), 0);
    assert_int_equal(verify_token(&b, "many", token_of(&two)), 0);
    assert_int_equal(leave(&b, "many", second), 0);
    assert_int_equal(leave(&c, "many", third), 0);
    player_close(&a);
    player_close(&b);
    player_close(&c);
}

static void verify_after_the_session_ended_fails(void **state)
{
    struct player  a, b;
    struct request request;

    (void)state;
    player_open(&a);
    player_open(&b);
    enter(&a, "ended", MUTEX, &request);
    uint64_t token = token_of(&request);
    assert_int_equal(verify_token(&b, "ended", token), 0);
    player_close(&a);
    hf_time end = hf_now() + 20 * HF_SEC; /* a server may take long to notice */
    int     r;
    while ((r = verify_token(&b, "ended", token)) == 0 && hf_now() < end)
        player_turn(&b, 1);
    assert_int_equal(r, HF_ELOST);
    player_close(&b);
}

static void break_and_ask_by_an_unknown_token_fail(void **state)
{
    struct player  a, b;
    struct request request;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t       id = enter(&a, "sure", MUTEX, &request);
    uint64_t       token = token_of(&request);
    struct request wrong = { .req = {
                                 .op = HF_ASK, .name = "sure", .token = token + 1 } };
    assert_int_equal(player_run(&b, &wrong), HF_ENOTFOUND);
    wrong.req.op = HF_BREAK;
    assert_int_equal(player_run(&b, &wrong), HF_ENOTFOUND);
    assert_int_equal(verify(&a, "sure", id), 0);
    struct request right = { .req = { .op = HF_ASK, .name = "sure", .token = token } };
    assert_int_equal(player_run(&b, &right), 0);
    right.req.op = HF_BREAK;
    assert_int_equal(player_run(&b, &right), 0);
    assert_int_equal(verify(&a, "sure", id), HF_ELOST);
    player_close(&a);
    player_close(&b);
}

static void diagnose_reports_store_and_queue(void **state)
{
    struct player  a;
    struct request request;
    struct request all = { .req = { .op = HF_DIAGNOSE } };
    struct request one = { .req = { .op = HF_DIAGNOSE, .name = "examined" } };

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "examined", MUTEX, &request);
    assert_int_equal(player_run(&a, &all), 0);
    assert_true(all.req.findings > 0);
    assert_int_equal(player_run(&a, &one), 0);
    assert_true(one.req.findings > all.req.findings);
    assert_int_equal(leave(&a, "examined", id), 0);
    player_close(&a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verify_of_the_own_place),
        cmocka_unit_test(verify_of_a_waiter_fails_and_changes_nothing),
        cmocka_unit_test(verify_after_a_break_fails),
        cmocka_unit_test(verify_by_token),
        cmocka_unit_test(verify_by_token_of_several_holders),
        cmocka_unit_test(verify_after_the_session_ended_fails),
        cmocka_unit_test(break_and_ask_by_an_unknown_token_fail),
        cmocka_unit_test(diagnose_reports_store_and_queue),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
