/* idle_waiters.c - a waiter sends nothing while enough of the places that it hears keep
 * it out; and it keeps hearing them, whatever other waiters of its session do. */
/* needs: standalone --tick 200 --config maxSessionTimeout=60000 */
#include "lib/clients.h"
#include "lib/fixture.h"
#include "lib/witness.h"

#include <stdio.h>

#define LIMIT_MS 30000

/* GET_DATA, GET_CHILDREN2, REMOVE_WATCHES, SET_WATCHES: the requests that a waiter may
 * send. */
static unsigned count_requests(void)
{
    static const int opcodes[] = { 4, 12, 18, 101 };
    uint64_t         sum = 0;

    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
        sum += zkproxy_requests(proxy, opcodes[i]);
    return (unsigned)sum;
}

/* Twelve are ahead, and four may hold the semaphore.  The first nine leave one by one.
 * The waiter listens to the nearest eight, and too few of these are left only when the
 * last of the nine goes.  Then one listing shows that it is granted, and which slots are
 * free. */
static void semaphore_waiter_sends_nothing_until_it_is_granted(void **state)
{
    enum { AHEAD = 12, CAPACITY = 4 };
    struct player  a, b;
    struct request held, view, watching;
    uint64_t       id[AHEAD];

    (void)state;
    player_open_60s(&a, witness_server());
    player_open_60s(&b, zkproxy_address(proxy));
    for (int i = 0; i < AHEAD; i++)
        id[i] = enter(&a, "sleeps-on", semaphore(CAPACITY, 1), &held);
    enter(&b, "sleeps-on", semaphore(CAPACITY, 1), &view);
    assert_int_equal(ahead_of(&view), AHEAD);
    unsigned before = count_requests();
    watch(&b, "sleeps-on", &view, &watching);
    for (int i = 0; i <= AHEAD - CAPACITY; i++) {
        player_turn(&b, 5);
        assert_int_equal(watching.answers, 0);
        assert_int_equal(leave(&a, "sleeps-on", id[i]), 0);
    }
    assert_true(player_await(&b, &watching, LIMIT_MS));
    assert_true(is_granted(&watching));
    assert_int_equal(slot_of(&watching), 0);
    unsigned sum = count_requests() - before;
    print_message("# %u requests while nine leave\n", sum);
    assert_true(
        sum <=
        2 + CAPACITY); /* on a slow machine the waiter reads the places ahead once */
    player_close(&a);
    player_close(&b);
}

/* One of two waiters of a session follows how many are ahead, and so listens to the
 * folder.  When it gives up, the other one is still notified. */
static void waiter_is_notified_after_a_follower_gave_up(void **state)
{
    struct player  a, b;
    struct request held, view[2], watching[2];

    (void)state;
    player_open_60s(&a, witness_server());
    player_open_60s(&b, witness_server());
    uint64_t id = enter(&a, "follows", MUTEX, &held);
    enter(&b, "follows", MUTEX, &view[0]);
    uint64_t last = enter(&b, "follows", MUTEX, &view[1]);
    follow(&b, "follows", &view[1], &watching[1]);
    assert_false(player_await(&b, &watching[1], 20));
    watch(&b, "follows", &view[0], &watching[0]);
    assert_false(player_await(&b, &watching[0], 20));
    b.store->impl->cancel(b.store, &watching[1].req);
    assert_true(player_await(&b, &watching[1], LIMIT_MS));
    assert_int_equal(leave(&b, "follows", last), 0);
    assert_int_equal(leave(&a, "follows", id), 0);
    assert_true(player_await(&b, &watching[0], LIMIT_MS));
    assert_true(is_granted(&watching[0]));
    player_close(&a);
    player_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(semaphore_waiter_sends_nothing_until_it_is_granted),
        cmocka_unit_test(waiter_is_notified_after_a_follower_gave_up),
    };

    return cmocka_run_group_tests(tests, start_proxy, stop_proxy);
}
