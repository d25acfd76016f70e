/* pair.c - two that take turns: whoever comes back listens to the other in the flight of its
 * create, before it knows that it is there.  And whatever comes otherwise than foreseen.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=60000 */
#include "lib/promise.h"
#include "lib/proxied.h"
#include "lib/witness.h"

#include <stdio.h>

#define LIMIT_MS 30000
#define TURNS    4 /* from then on it is foreseen */

enum { CHILDREN2 = 12, SET_WATCHES = 101 };

/* `me` goes through the proxy; `other` is there whenever it comes back. */
struct pair {
    const char   *name;
    struct player me, other;
    struct ask    view, watching, held;
    uint64_t      id, others; /* of the tickets */
};

static void open_at(struct player *player, const char *address)
{
    static char url[64];

    snprintf(url, sizeof url, "zk://%s?session=60s", address);
    promise_use(url);
    player_open_for(player, 60000);
}

static void settle(struct pair *pair)
{
    struct ask nothing;

    for (int i = 0; i < 3; i++)
        assert_int_equal(list(&pair->me, "nothing", &nothing), 0);
}

static void come_back(struct pair *pair)
{
    pair->id = enter(&pair->me, pair->name, MUTEX, &pair->view);
    assert_false(is_granted(&pair->view));
    assert_int_equal(pair->view.req.ahead, 1);
}

static bool is_over(struct pair *pair, int ms)
{
    return player_await(&pair->me, &pair->watching, ms);
}

static bool look_again(struct pair *pair)
{
    assert_int_equal(look(&pair->me, pair->name, pair->id, &pair->view), 0);
    return is_granted(&pair->view);
}

/* The other gives it to us, and queues behind us. */
static void swap(struct pair *pair)
{
    assert_int_equal(leave(&pair->other, pair->name, pair->others), 0);
    pair->others = enter(&pair->other, pair->name, MUTEX, &pair->held);
    assert_true(wait_for_turn(&pair->me, pair->name, &pair->view, LIMIT_MS));
    assert_int_equal(leave(&pair->me, pair->name, pair->id), 0);
    assert_true(wait_for_turn(&pair->other, pair->name, &pair->held, LIMIT_MS));
}

static void pair_open(struct pair *pair, const char *name)
{
    char folder[64];

    pair->name = name;
    snprintf(folder, sizeof folder, "/%s", name);
    witness_create(folder);
    open_at(&pair->me, zkproxy_address(proxy));
    open_at(&pair->other, witness_server());
    pair->others = enter(&pair->other, name, MUTEX, &pair->held);
    for (int i = 0; i < TURNS; i++) {
        come_back(pair);
        swap(pair);
    }
}

/* We wait as long as the other has it, and then it is ours. */
static void have_it_after(struct pair *pair)
{
    watch(&pair->me, pair->name, &pair->view, &pair->watching);
    assert_false(is_over(pair, 20));
    assert_int_equal(leave(&pair->other, pair->name, pair->others), 0);
    assert_true(is_over(pair, LIMIT_MS));
    assert_true(look_again(pair));
}

static void pair_close(struct pair *pair)
{
    player_close(&pair->me);
    player_close(&pair->other);
    assert_int_equal(witness_await_watches(0), 0);
}

/* ---- As foreseen --------------------------------------------------------------------------- */

static void four_requests(void **state)
{
    struct pair pair = { 0 };

    (void)state;
    pair_open(&pair, "four");
    uint64_t up = zkproxy_packets(proxy, ZKPROXY_UP);
    come_back(&pair);
    watch(&pair.me, pair.name, &pair.view, &pair.watching);
    assert_false(is_over(&pair, 20));
    assert_int_equal(zkproxy_packets(proxy, ZKPROXY_UP), up + 3);
    assert_int_equal(leave(&pair.other, pair.name, pair.others), 0);
    assert_true(is_over(&pair, LIMIT_MS));
    assert_true(look_again(&pair));
    assert_int_equal(leave(&pair.me, pair.name, pair.id), 0);
    assert_int_equal(zkproxy_packets(proxy, ZKPROXY_UP), up + 4);
    pair_close(&pair);
}

/* The event comes before anybody has asked for it. */
static void gone_before_it_is_watched(void **state)
{
    struct pair pair = { 0 };

    (void)state;
    pair_open(&pair, "before");
    come_back(&pair);
    assert_int_equal(leave(&pair.other, pair.name, pair.others), 0);
    settle(&pair);
    uint64_t up = zkproxy_packets(proxy, ZKPROXY_UP);
    watch(&pair.me, pair.name, &pair.view, &pair.watching);
    assert_true(is_over(&pair, LIMIT_MS));
    assert_true(look_again(&pair));
    assert_int_equal(zkproxy_packets(proxy, ZKPROXY_UP), up);
    pair_close(&pair);
}

/* An event that comes as early, but the other is still there. */
static void changed_before_it_is_watched(void **state)
{
    struct pair pair = { 0 };

    (void)state;
    pair_open(&pair, "changed");
    come_back(&pair);
    uint64_t seq = my_ticket(&pair.held)->seq;
    assert_int_equal(ask_for(&pair.other, pair.name, seq, "please"), 0);
    settle(&pair);
    assert_false(look_again(&pair));
    have_it_after(&pair);
    pair_close(&pair);
}

/* It has left before we come, and its node is not there. */
static void gone_before_we_come(void **state)
{
    struct pair pair = { 0 };

    (void)state;
    pair_open(&pair, "absent");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(leave(&pair.other, pair.name, pair.others), 0);
        pair.id = enter(&pair.me, pair.name, MUTEX, &pair.view);
        assert_true(is_granted(&pair.view));
        assert_int_equal(leave(&pair.me, pair.name, pair.id), 0);
        pair.others = enter(&pair.other, pair.name, MUTEX, &pair.held);
        assert_true(is_granted(&pair.held));
    }
    pair_close(&pair);
}

/* ---- Otherwise --------------------------------------------------------------------------- */

/* It had another ticket meanwhile. */
static void of_another_name(void **state)
{
    struct pair pair = { 0 };

    (void)state;
    pair_open(&pair, "other");
    come_back(&pair);
    pair.other.ids += 3;
    swap(&pair);
    come_back(&pair); /* behind a name that was not foreseen */
    have_it_after(&pair);
    pair_close(&pair);
}

/* A third is there: our node has another number. */
static void behind_two(void **state)
{
    struct pair   pair = { 0 };
    struct player third;
    struct ask    view;

    (void)state;
    pair_open(&pair, "third");
    open_at(&third, witness_server());
    uint64_t id = enter(&third, pair.name, MUTEX, &view);
    pair.id = enter(&pair.me, pair.name, MUTEX, &pair.view);
    assert_int_equal(pair.view.req.ahead, 2);
    watch(&pair.me, pair.name, &pair.view, &pair.watching);
    assert_int_equal(leave(&pair.other, pair.name, pair.others), 0);
    assert_false(is_over(&pair, 50));
    assert_int_equal(leave(&third, pair.name, id), 0);
    assert_true(is_over(&pair, LIMIT_MS));
    assert_true(look_again(&pair));
    player_close(&third);
    pair_close(&pair);
}

/* Our node is taken away while we wait: whoever is behind us then goes by the other, too. */
static void taken_away(void **state)
{
    struct pair pair = { 0 };

    (void)state;
    pair_open(&pair, "taken");
    come_back(&pair);
    assert_int_equal(take_away(&pair.other, pair.name, my_ticket(&pair.view)->seq), 0);
    assert_int_equal(leave(&pair.other, pair.name, pair.others), 0);
    settle(&pair);
    watch(&pair.me, pair.name, &pair.view, &pair.watching);
    assert_true(is_over(&pair, LIMIT_MS));
    assert_false(look_again(&pair));
    assert_false(is_in_line(&pair.view));
    assert_int_equal(leave(&pair.me, pair.name, pair.id), HF_ELOST);
    pair_close(&pair);
}

/* Somebody asked us for it before we held it. */
static void asked_for(void **state)
{
    struct pair pair = { 0 };

    (void)state;
    pair_open(&pair, "asked");
    come_back(&pair);
    uint64_t seq = my_ticket(&pair.view)->seq;
    assert_int_equal(ask_for(&pair.other, pair.name, seq, "please"), 0);
    assert_int_equal(leave(&pair.other, pair.name, pair.others), 0);
    assert_true(wait_for_turn(&pair.me, pair.name, &pair.view, LIMIT_MS));
    while (my_ticket(&pair.view)->asked == NULL) {
        watch(&pair.me, pair.name, &pair.view, &pair.watching);
        assert_true(is_over(&pair, LIMIT_MS));
        assert_true(look_again(&pair));
    }
    assert_string_equal(my_ticket(&pair.view)->asked, "please");
    pair_close(&pair);
}

/* The connection breaks at any step, and the other leaves meanwhile. */
static void cut_off(void **state)
{
    static const int opcodes[] = { 15, SET_WATCHES, CHILDREN2 };
    struct pair      pair = { 0 };

    (void)state;
    pair_open(&pair, "cut");
    for (int i = 0; i < 6; i++) {
        enum zkproxy_fault fault = i % 2 ? ZKPROXY_DROP_AFTER : ZKPROXY_DROP_BEFORE;
        zkproxy_rule(proxy, &(struct zkproxy_rule){ fault, opcodes[i / 2], 1, 0 });
        come_back(&pair);
        assert_true(zkproxy_has_struck(proxy));
        swap(&pair);
        for (int turns = 0; turns < TURNS; turns++) {
            come_back(&pair);
            if (turns == TURNS - 1)
                zkproxy_drop(proxy);
            swap(&pair);
        }
        for (int turns = 0; turns < TURNS; turns++) {
            come_back(&pair);
            swap(&pair);
        }
    }
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_requests),
        cmocka_unit_test(gone_before_it_is_watched),
        cmocka_unit_test(changed_before_it_is_watched),
        cmocka_unit_test(gone_before_we_come),
        cmocka_unit_test(of_another_name),
        cmocka_unit_test(behind_two),
        cmocka_unit_test(taken_away),
        cmocka_unit_test(asked_for),
        cmocka_unit_test(cut_off),
    };

    witness_server();
    return cmocka_run_group_tests(tests, start_proxy, stop_proxy);
}
