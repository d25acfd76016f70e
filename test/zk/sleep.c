/* sleep.c - whoever waits sends nothing while enough of those that it hears keep it out, and hears
 * on whatever others of its session do.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=60000 */
#include "lib/promise.h"
#include "lib/witness.h"
#include "lib/zkproxy.h"

#include <stdio.h>

#define LIMIT_MS 30000

static struct zkproxy *proxy;

static void open_at(struct player *player, const char *address)
{
    static char url[64];

    snprintf(url, sizeof url, "zk://%s?session=60s", address);
    promise_use(url);
    player_open_for(player, 60000);
}

/* GET_DATA, GET_CHILDREN2, REMOVE_WATCHES, SET_WATCHES: what waiting may ask for. */
static unsigned count_requests(void)
{
    static const int opcodes[] = { 4, 12, 18, 101 };
    uint64_t         sum = 0;

    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
        sum += zkproxy_requests(proxy, opcodes[i]);
    return (unsigned)sum;
}

/* Twelve are ahead, and four may hold it.  The first nine leave, one by one: of the eight
 * nearest, who are listened to, too few are left only when the last of those nine goes.  Then
 * one listing shows that it is granted, and which slots are free. */
static void a_semaphore_sleeps_on(void **state)
{
    enum { AHEAD = 12, CAPACITY = 4 };
    struct player a, b;
    struct ask    held, view, watching;
    uint64_t      id[AHEAD];

    (void)state;
    open_at(&a, witness_server());
    open_at(&b, zkproxy_address(proxy));
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
    assert_true(sum <= 2 + CAPACITY); /* on a slow machine those ahead are read once */
    player_close(&a);
    player_close(&b);
}

/* One of two in a session follows how many are ahead, and so hears all that happens in the
 * folder; when it gives up, the other hears on. */
static void one_follows_and_gives_up(void **state)
{
    struct player a, b;
    struct ask    held, view[2], watching[2];

    (void)state;
    open_at(&a, witness_server());
    open_at(&b, witness_server());
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
        cmocka_unit_test(a_semaphore_sleeps_on),
        cmocka_unit_test(one_follows_and_gives_up),
    };

    proxy = zkproxy_start(witness_server());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    zkproxy_stop(proxy);
    return failed;
}
