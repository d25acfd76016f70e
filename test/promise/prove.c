/* prove.c - PROVE: the own place by its id, anybody's grant by its token; and what
 * EXAMINE, BREAK and ASK make of a place. */
/* one thread */
#include "lib/promise.h"

#include "holdfast.h"

static void the_own_place(void **state)
{
    struct player a;
    struct ask    ask;

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "own", MUTEX, &ask);
    assert_int_equal(prove(&a, "own", id), 0);
    assert_int_equal(prove(&a, "own", id), 0); /* as often as one likes */
    assert_int_equal(prove(&a, "own", id + 1), HF_ELOST);
    assert_int_equal(leave(&a, "own", id), 0);
    assert_int_equal(prove(&a, "own", id), HF_ELOST);
    player_close(&a);
}

/* Waiting is not holding, and to ask takes nothing away. */
static void the_own_place_of_a_waiter(void **state)
{
    struct player a, b;
    struct ask    held, waits;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "own waiter", MUTEX, &held);
    uint64_t next = enter(&b, "own waiter", MUTEX, &waits);
    assert_int_equal(prove(&b, "own waiter", next), HF_ELOST);
    assert_int_equal(leave(&a, "own waiter", id), 0);
    assert_true(wait_for_turn(&b, "own waiter", &waits, 20000));
    assert_int_equal(prove(&b, "own waiter", next), 0);
    assert_int_equal(leave(&b, "own waiter", next), 0);
    player_close(&a);
    player_close(&b);
}

static void after_a_break(void **state)
{
    struct player a, b;
    struct ask    ask;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "broken", MUTEX, &ask);
    uint64_t token = token_of(&ask);
    assert_int_equal(take_away(&b, "broken", place_of(&ask)), 0);
    assert_int_equal(prove(&a, "broken", id), HF_ELOST);
    assert_int_equal(prove_token(&b, "broken", token), HF_ELOST);
    assert_int_equal(leave(&a, "broken", id), HF_ELOST); /* S8, though we know */

    uint64_t again = enter(&a, "broken", MUTEX, &ask);
    assert_int_equal(prove(&a, "broken", again), 0);
    assert_int_equal(prove(&a, "broken", id), HF_ELOST);
    assert_int_equal(prove_token(&b, "broken", token), HF_ELOST);
    assert_int_equal(leave(&a, "broken", again), 0);
    player_close(&a);
    player_close(&b);
}

static void by_token(void **state)
{
    struct player a, b;
    struct ask    held, waits;

    (void)state;
    player_open(&a);
    player_open(&b);
    assert_int_equal(prove_token(&b, "token", 1), HF_ELOST);
    uint64_t id = enter(&a, "token", MUTEX, &held);
    uint64_t token = token_of(&held);
    assert_int_equal(prove_token(&a, "token", token), 0);
    assert_int_equal(prove_token(&b, "token", token), 0);
    assert_int_equal(prove_token(&b, "token", token + 1000), HF_ELOST);
    assert_int_equal(prove_token(&b, "another name", token), HF_ELOST);

    /* Waiting is not holding. */
    uint64_t next = enter(&b, "token", MUTEX, &waits);
    uint64_t later = token_of(&waits);
    assert_int_equal(prove_token(&a, "token", later), HF_ELOST);
    assert_int_equal(prove_token(&b, "token", later), HF_ELOST);
    assert_int_equal(leave(&a, "token", id), 0);
    assert_int_equal(prove_token(&a, "token", token), HF_ELOST);
    assert_true(wait_for_turn(&b, "token", &waits, 20000));
    assert_int_equal(prove_token(&a, "token", later), 0);
    assert_int_equal(leave(&b, "token", next), 0);
    player_close(&a);
    player_close(&b);
}

/* Two of three hold, each by its own token. */
static void by_token_of_many(void **state)
{
    struct player a, b, c;
    struct ask    one, two, three;

    (void)state;
    player_open(&a);
    player_open(&b);
    player_open(&c);
    uint64_t first = enter(&a, "many", semaphore(2, 1), &one);
    uint64_t second = enter(&b, "many", semaphore(2, 1), &two);
    uint64_t third = enter(&c, "many", semaphore(2, 1), &three);
    assert_int_equal(prove_token(&c, "many", token_of(&one)), 0);
    assert_int_equal(prove_token(&c, "many", token_of(&two)), 0);
    assert_int_equal(prove_token(&c, "many", token_of(&three)), HF_ELOST);
    assert_int_equal(leave(&a, "many", first), 0);
    assert_int_equal(prove_token(&b, "many", token_of(&two)), 0);
    assert_int_equal(leave(&b, "many", second), 0);
    assert_int_equal(leave(&c, "many", third), 0);
    player_close(&a);
    player_close(&b);
    player_close(&c);
}

/* A session that has ended proves nothing for anybody. */
static void after_the_end_of_the_session(void **state)
{
    struct player a, b;
    struct ask    ask;

    (void)state;
    player_open(&a);
    player_open(&b);
    enter(&a, "ended", MUTEX, &ask);
    uint64_t token = token_of(&ask);
    assert_int_equal(prove_token(&b, "ended", token), 0);
    player_close(&a);
    hf_time end = hf_now() + 20 * HF_SEC; /* a server may take its time to hear of it */
    int     r;
    while ((r = prove_token(&b, "ended", token)) == 0 && hf_now() < end)
        player_turn(&b, 1);
    assert_int_equal(r, HF_ELOST);
    player_close(&b);
}

/* BREAK and ASK find nobody by a token that nobody has. */
static void named_by_token(void **state)
{
    struct player a, b;
    struct ask    ask;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t   id = enter(&a, "sure", MUTEX, &ask);
    uint64_t   token = token_of(&ask);
    struct ask wrong = { .req = { .op = HF_ASK, .name = "sure", .token = token + 1 } };
    assert_int_equal(player_run(&b, &wrong), HF_ENOTFOUND);
    wrong.req.op = HF_BREAK;
    assert_int_equal(player_run(&b, &wrong), HF_ENOTFOUND);
    assert_int_equal(prove(&a, "sure", id), 0);
    struct ask right = { .req = { .op = HF_ASK, .name = "sure", .token = token } };
    assert_int_equal(player_run(&b, &right), 0);
    right.req.op = HF_BREAK;
    assert_int_equal(player_run(&b, &right), 0);
    assert_int_equal(prove(&a, "sure", id), HF_ELOST);
    player_close(&a);
    player_close(&b);
}

static void examine_tells_of_store_and_line(void **state)
{
    struct player a;
    struct ask    ask;
    struct ask    all = { .req = { .op = HF_EXAMINE } };
    struct ask    one = { .req = { .op = HF_EXAMINE, .name = "examined" } };

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "examined", MUTEX, &ask);
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
        cmocka_unit_test(the_own_place),
        cmocka_unit_test(the_own_place_of_a_waiter),
        cmocka_unit_test(after_a_break),
        cmocka_unit_test(by_token),
        cmocka_unit_test(by_token_of_many),
        cmocka_unit_test(after_the_end_of_the_session),
        cmocka_unit_test(named_by_token),
        cmocka_unit_test(examine_tells_of_store_and_line),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
