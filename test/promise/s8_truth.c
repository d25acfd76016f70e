/* s8_truth.c - LEAVE answers 0 only if the place was ours to the end. */
#include "lib/promise.h"

#include "holdfast.h"

#include <pthread.h>

static void kept_to_the_end(void **state)
{
    struct player a;
    struct ask    ask;

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "kept", MUTEX, &ask);
    assert_int_equal(leave(&a, "kept", id), 0);
    player_close(&a);
}

static void taken_from_a_holder(void **state)
{
    struct player a, b, c;
    struct ask    held, waits;

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
    assert_int_equal(look(&b, "holder", next, &waits), 0); /* untouched by that */
    assert_true(is_granted(&waits));
    assert_int_equal(leave(&b, "holder", next), 0);
    player_close(&a);
    player_close(&b);
    player_close(&c);
}

static void taken_from_a_waiter(void **state)
{
    struct player a, b;
    struct ask    held, waits;

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

static void from_ourselves(void **state)
{
    struct player a;
    struct ask    ask;

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "ourselves", MUTEX, &ask);
    assert_int_equal(take_away(&a, "ourselves", place_of(&ask)), 0);
    assert_int_equal(leave(&a, "ourselves", id), HF_ELOST);
    player_close(&a);
}

/* By its number, and by no other: whoever came since is safe. */
static void only_the_place_named(void **state)
{
    struct player a;
    struct ask    ask;

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "named", MUTEX, &ask);
    uint64_t old = place_of(&ask);
    assert_int_equal(leave(&a, "named", id), 0);
    id = enter(&a, "named", MUTEX, &ask);
    assert_int_equal(take_away(&a, "named", old), HF_ENOTFOUND);
    assert_int_equal(take_away(&a, "unnamed", place_of(&ask)), HF_ENOTFOUND);
    assert_int_equal(leave(&a, "named", id), 0);
    player_close(&a);
}

/* Made smaller, asked for, and still ours to the end; or not. */
static void through_amend_and_ask(void **state)
{
    struct player a, b;
    struct ask    ask;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "through", WRITER, &ask);
    assert_int_equal(ask_for(&b, "through", place_of(&ask), "please"), 0);
    assert_int_equal(amend(&a, "through", id, READER, &ask), 0);
    assert_int_equal(leave(&a, "through", id), 0);

    id = enter(&a, "through", WRITER, &ask);
    assert_int_equal(take_away(&b, "through", place_of(&ask)), 0);
    assert_int_equal(amend(&a, "through", id, READER, &ask), 0);
    assert_false(has_place(&ask));
    assert_int_equal(leave(&a, "through", id), HF_ELOST);
    player_close(&a);
    player_close(&b);
}

/* ---- Exclusion ------------------------------------------------------------------------ */

#define RUNNERS 4
#define ROUNDS  40

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int             inside, turns;

static void *take_turns(void *data)
{
    struct player player;
    struct ask    ask;

    (void)data;
    player_open(&player);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t id = enter(&player, "exclusion", MUTEX, &ask);
        must(wait_for_turn(&player, "exclusion", &ask, 20000));
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

static void never_two_at_a_time(void **state)
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
        cmocka_unit_test(kept_to_the_end),       cmocka_unit_test(taken_from_a_holder),
        cmocka_unit_test(taken_from_a_waiter),   cmocka_unit_test(from_ourselves),
        cmocka_unit_test(through_amend_and_ask), cmocka_unit_test(only_the_place_named),
        cmocka_unit_test(never_two_at_a_time),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
