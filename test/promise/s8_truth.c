/* s8_truth.c - LEAVE answers 0 only if the place was ours to the end. */
#include "lib/promise.h"

#include "holdfast.h"

#include <pthread.h>

static void leave_of_a_kept_place_succeeds(void **state)
{
    struct player  a;
    struct request request;

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "kept", MUTEX, &request);
    assert_int_equal(leave(&a, "kept", id), 0);
    player_close(&a);
}

static void leave_of_a_broken_holder_fails(void **state)
{
    struct player  a, b, c;
    struct request held, waits;

    (void)state;
    player_open(&a);
    player_open(&b);
    player_open(&c);
    uint64_t id = enter(&a, "holder", MUTEX, &held);
    uint64_t next = enter(&b, "holder", MUTEX, &waits);
    assert_int_equal(take_away(&c, "holder", place_of(&held)), 0);
    assert_int_equal(look(&b, "holder", next, &waits), 0);
    assert_true(is_granted(&waits));
    assert_int_equal(leave(&a, "holder", id), HF_ELOST);
    assert_int_equal(look(&b, "holder", next, &waits),
                     0); /* the successor is untouched */
    assert_true(is_granted(&waits));
    assert_int_equal(leave(&b, "holder", next), 0);
    player_close(&a);
    player_close(&b);
    player_close(&c);
}

static void leave_of_a_broken_waiter_fails(void **state)
{
    struct player  a, b;
    struct request held, waits;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "waiter", MUTEX, &held);
    uint64_t next = enter(&b, "waiter", MUTEX, &waits);
    assert_int_equal(take_away(&a, "waiter", place_of(&waits)), 0);
    assert_int_equal(look(&b, "waiter", next, &waits), 0);
    assert_false(has_place(&waits));
    assert_int_equal(leave(&b, "waiter", next), HF_ELOST);
    assert_int_equal(leave(&a, "waiter", id), 0);
    player_close(&a);
    player_close(&b);
}

static void a_session_may_break_its_own_place(void **state)
{
    struct player  a;
    struct request request;

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "ourselves", MUTEX, &request);
    assert_int_equal(take_away(&a, "ourselves", place_of(&request)), 0);
    assert_int_equal(leave(&a, "ourselves", id), HF_ELOST);
    player_close(&a);
}

/* Not even if the next client claims it before. */
static void leave_of_a_broken_claim_fails(void **state)
{
    struct player  a, b;
    struct request held, theirs;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "claim", CLAIM, &held);
    assert_true(is_granted(&held));
    assert_int_equal(take_away(&b, "claim", place_of(&held)), 0);
    uint64_t next = enter(&b, "claim", CLAIM, &theirs);
    assert_true(is_granted(&theirs));
    assert_int_equal(leave(&a, "claim", id), HF_ELOST);
    assert_int_equal(verify(&b, "claim", next), 0);
    assert_int_equal(leave(&b, "claim", next), 0);
    player_close(&a);
    player_close(&b);
}

/* And none that was entered since. */
static void break_removes_only_that_place(void **state)
{
    struct player  a;
    struct request request;

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "named", MUTEX, &request);
    uint64_t old = place_of(&request);
    assert_int_equal(leave(&a, "named", id), 0);
    id = enter(&a, "named", MUTEX, &request);
    assert_int_equal(take_away(&a, "named", old), HF_ENOTFOUND);
    assert_int_equal(take_away(&a, "unnamed", place_of(&request)), HF_ENOTFOUND);
    assert_int_equal(leave(&a, "named", id), 0);
    player_close(&a);
}

static void downgrade_and_ask_do_not_change_the_answer(void **state)
{
    struct player  a, b;
    struct request request;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "through", WRITER, &request);
    assert_int_equal(ask_for(&b, "through", place_of(&request), "please"), 0);
    assert_int_equal(downgrade(&a, "through", id, READER, &request), 0);
    assert_int_equal(leave(&a, "through", id), 0);

    id = enter(&a, "through", WRITER, &request);
    assert_int_equal(take_away(&b, "through", place_of(&request)), 0);
    assert_int_equal(downgrade(&a, "through", id, READER, &request), 0);
    assert_false(has_place(&request));
    assert_int_equal(leave(&a, "through", id), HF_ELOST);
    player_close(&a);
    player_close(&b);
}

/* ---- Exclusion ----------------------------------------------------------------- */

#define RUNNERS 4
#define ROUNDS  40

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int             inside, turns;

static void *take_turns(void *data)
{
    struct player  player;
    struct request request;

    (void)data;
    player_open(&player);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t id = enter(&player, "exclusion", MUTEX, &request);
        must(wait_for_turn(&player, "exclusion", &request, 20000));
        pthread_mutex_lock(&mutex);
        must(inside == 0);
        inside = 1;
        pthread_mutex_unlock(&mutex);
        pthread_mutex_lock(&mutex);
        inside = 0;
        turns++;
        pthread_mutex_unlock(&mutex);
        must(leave(&player, "exclusion", id) == 0);
    }
    player_close(&player);
    return NULL;
}

static void never_two_hold_at_a_time(void **state)
{
    pthread_t thread[RUNNERS];

    (void)state;
    for (int i = 0; i < RUNNERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, take_turns, NULL), 0);
    for (int i = 0; i < RUNNERS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(turns, RUNNERS * ROUNDS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leave_of_a_kept_place_succeeds),
        cmocka_unit_test(leave_of_a_broken_holder_fails),
        cmocka_unit_test(leave_of_a_broken_waiter_fails),
        cmocka_unit_test(a_session_may_break_its_own_place),
        cmocka_unit_test(downgrade_and_ask_do_not_change_the_answer),
        cmocka_unit_test(leave_of_a_broken_claim_fails),
        cmocka_unit_test(break_removes_only_that_place),
        cmocka_unit_test(never_two_hold_at_a_time),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
