/* s1_order.c - no place ever becomes visible ahead of one already seen. */
#include "lib/promise.h"

#include <pthread.h>
#include <stdatomic.h>

static void places_are_in_the_order_of_enter(void **state)
{
    struct player  a, b;
    struct request first, second, third;

    (void)state;
    player_open(&a);
    player_open(&b);
    enter(&a, "in_order", MUTEX, &first);
    enter(&b, "in_order", MUTEX, &second);
    enter(&a, "in_order", MUTEX, &third);
    assert_true(is_granted(&first));
    assert_false(is_granted(&second));
    assert_false(is_granted(&third));
    assert_true(token_of(&first) < token_of(&second));
    assert_true(token_of(&second) < token_of(&third));
    player_close(&a);
    player_close(&b);
}

static void two_sessions_list_the_same_order(void **state)
{
    struct player  a, b;
    struct request mine, by_a, by_b;

    (void)state;
    player_open(&a);
    player_open(&b);
    for (int i = 0; i < 3; i++) {
        enter(&a, "same", semaphore(4, 1), &mine);
        enter(&b, "same", semaphore(4, 1), &mine);
    }
    assert_int_equal(list(&a, "same", &by_a), 0);
    assert_int_equal(list(&b, "same", &by_b), 0);
    assert_int_equal(by_a.count, 6);
    assert_int_equal(by_b.count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_true(by_a.seen[i].seq == by_b.seen[i].seq);
        assert_string_equal(by_a.seen[i].line, "same");
        assert_string_equal(by_a.seen[i].note, "a note");
        if (i > 0)
            assert_true(by_a.seen[i - 1].seq < by_a.seen[i].seq);
    }
    player_close(&a);
    player_close(&b);
}

static void places_behind_do_not_matter(void **state)
{
    struct player  a, b;
    struct request request, last;

    (void)state;
    player_open(&a);
    player_open(&b);
    for (int i = 0; i < 5; i++)
        enter(&a, "matters", READER, &request);
    enter(&b, "matters", WRITER, &last);
    assert_false(is_granted(&last));
    assert_int_equal(ahead_of(&last), 5);

    uint64_t reader = enter(&a, "matters", READER, &request);
    assert_false(is_granted(&request));
    assert_int_equal(look(&a, "matters", reader, &request), 0);
    assert_false(is_granted(&request));
    assert_int_equal(look(&a, "matters", 1, &request), 0);
    assert_true(is_granted(&request));
    player_close(&a);
    player_close(&b);
}

/* ---- Under load ---------------------------------------------------------------- */

#define RUNNERS   4
#define SIGHTINGS 100

static atomic_bool enough;

static void *come_and_go(void *data)
{
    struct player  player;
    struct request request;

    (void)data;
    player_open(&player);
    while (!atomic_load(&enough)) {
        uint64_t id = enter(&player, "load", semaphore(2, 1), &request);
        must(leave(&player, "load", id) == 0);
    }
    player_close(&player);
    return NULL;
}

static bool knows(const struct request *view, uint64_t seq)
{
    for (size_t i = 0; i < view->count; i++)
        if (view->seen[i].seq == seq)
            return true;
    return false;
}

/* Every new place must have a higher seq than all that were listed before. */
static void no_place_appears_ahead_of_one_already_listed(void **state)
{
    pthread_t      thread[RUNNERS];
    struct player  observer;
    struct request before = { 0 }, now;
    uint64_t       highest = 0;
    int            sightings = 0;
    bool           slipped_in = false;

    (void)state;
    player_open(&observer);
    for (int i = 0; i < RUNNERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, come_and_go, NULL), 0);
    hf_time end = hf_now() + 20 * HF_SEC;
    while (sightings < SIGHTINGS && hf_now() < end) {
        assert_int_equal(list(&observer, "load", &now), 0);
        for (size_t i = 0; i < now.count; i++)
            slipped_in |= !knows(&before, now.seen[i].seq) && now.seen[i].seq <= highest;
        if (now.count > 0 && now.seen[now.count - 1].seq > highest) {
            highest = now.seen[now.count - 1].seq;
            sightings++;
        }
        before = now;
    }
    atomic_store(&enough, true);
    for (int i = 0; i < RUNNERS; i++)
        pthread_join(thread[i], NULL);
    assert_false(slipped_in);
    assert_int_equal(sightings, SIGHTINGS);
    assert_int_equal(list(&observer, "load", &now), 0);
    assert_int_equal(now.count, 0);
    player_close(&observer);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_in_the_order_of_enter),
        cmocka_unit_test(two_sessions_list_the_same_order),
        cmocka_unit_test(places_behind_do_not_matter),
        cmocka_unit_test(no_place_appears_ahead_of_one_already_listed),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
