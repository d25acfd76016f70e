/* requests_per_acquire.c - a waiter in a queue of mutexes sends five requests, none of
 * them between the release ahead and the grant.  Whatever happens in between, it
 * overtakes nobody and does not sleep too long.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=60000 */
#include "lib/clients.h"
#include "lib/fixture.h"
#include "lib/witness.h"

#include <stdio.h>

#define LIMIT_MS 30000

enum { DELETE = 2, GET_DATA = 4, CHILDREN2 = 12, CREATE2 = 15, SET_WATCHES = 101 };

/* Three in a queue: the first holds the lock, unless another client came before. */
struct queue {
    struct player  player[3];
    struct request view[3], watching;
    uint64_t       id[3];
    const char    *name;
    uint64_t       before[SET_WATCHES + 1]; /* requests, by opcode */
};

static void queue_open_as(struct queue *queue, const char *name,
                          const struct hf_shape *shape)
{
    char folder[64];

    queue->name = name;
    for (int opcode = 0; opcode <= SET_WATCHES; opcode++)
        queue->before[opcode] = zkproxy_requests(proxy, opcode);
    snprintf(folder, sizeof folder, "/%s", name);
    witness_create(folder);
    for (int i = 0; i < 3; i++) {
        player_open_60s(&queue->player[i],
                        i == 2 ? zkproxy_address(proxy) : witness_server());
        queue->id[i] = enter(&queue->player[i], name, shape[i], &queue->view[i]);
    }
}

static void queue_open(struct queue *queue, const char *name)
{
    queue_open_as(queue, name, (struct hf_shape[]){ MUTEX, MUTEX, MUTEX });
}

static void queue_leave(struct queue *queue, int which)
{
    assert_int_equal(leave(&queue->player[which], queue->name, queue->id[which]), 0);
}

static void queue_watch(struct queue *queue)
{
    watch(&queue->player[2], queue->name, &queue->view[2], &queue->watching);
}

static bool is_over(struct queue *queue, int ms)
{
    return player_await(&queue->player[2], &queue->watching, ms);
}

/* Was the WATCH answered with the lock?  Does a new look at it show the lock? */
static bool queue_holds(const struct queue *queue)
{
    return queue->watching.answers == 1 && is_granted(&queue->watching);
}

static bool queue_look(struct queue *queue)
{
    assert_int_equal(look(&queue->player[2], queue->name, queue->id[2], &queue->view[2]),
                     0);
    return is_granted(&queue->view[2]);
}

static void queue_close(struct queue *queue)
{
    for (int i = 0; i < 3; i++)
        player_close(&queue->player[i]);
}

/* How many requests of one kind were sent since the queue was opened; wait until it is so
 * many. */
static unsigned count(struct queue *queue, int opcode)
{
    return (unsigned)(zkproxy_requests(proxy, opcode) - queue->before[opcode]);
}

static void await_count(struct queue *queue, int opcode, unsigned wanted)
{
    for (int turns = 0; turns < 3000 && count(queue, opcode) < wanted; turns++)
        player_turn(&queue->player[2], 1);
    assert_int_equal(count(queue, opcode), wanted);
}

static void settle(struct queue *queue)
{
    struct request nothing;

    assert_int_equal(list(&queue->player[2], "nothing", &nothing), 0);
}

/* ---- Counting requests -------------------------------------------------------------- */

static void five_requests(void **state)
{
    struct queue   queue = { 0 };
    struct player  early;
    struct request held;
    hf_time        began = hf_now();

    (void)state;
    player_open_60s(&early, witness_server());
    uint64_t id = enter(&early, "five", MUTEX, &held);
    queue_open(&queue, "five");
    assert_int_equal(count(&queue, CREATE2), 1);
    assert_int_equal(count(&queue, CHILDREN2), 1);
    queue_watch(&queue);
    await_count(&queue, SET_WATCHES, 1);
    assert_int_equal(leave(&early, "five", id), 0);
    queue_leave(&queue, 0); /* the second ahead: the waiter lists */
    await_count(&queue, CHILDREN2, 2);
    assert_false(is_over(&queue, 20));
    uint64_t up = zkproxy_packets(proxy, ZKPROXY_UP);
    queue_leave(&queue, 1);
    assert_true(is_over(&queue, LIMIT_MS));
    assert_true(queue_holds(&queue));
    assert_int_equal(zkproxy_packets(proxy, ZKPROXY_UP), up); /* the event was enough */
    queue_leave(&queue, 2);
    assert_int_equal(count(&queue, DELETE), 1);
    if (hf_now() - began <
        100 * HF_MS) /* a slow machine has had time for one more read */
        assert_int_equal(count(&queue, GET_DATA), 0);
    assert_int_equal(count(&queue, SET_WATCHES), 1);
    player_close(&early);
    queue_close(&queue);
}

/* After a while a waiter reads the place ahead, to see whether it is readable. */
static void one_more_read_after_a_long_wait(void **state)
{
    struct queue queue = { 0 };

    (void)state;
    queue_open(&queue, "six");
    queue_watch(&queue);
    await_count(&queue, GET_DATA, 1);
    assert_false(is_over(&queue, 300));
    assert_int_equal(count(&queue, GET_DATA), 1);
    queue_leave(&queue, 1);
    queue_leave(&queue, 0);
    assert_true(is_over(&queue, LIMIT_MS));
    assert_true(queue_look(&queue));
    queue_close(&queue);
}

/* ---- Events at bad moments ---------------------------------------------------------- */

/* The place just ahead leaves: the waiter listens to the second ahead already. */
static void place_just_ahead_gives_up(void **state)
{
    struct queue queue = { 0 };

    (void)state;
    queue_open(&queue, "gives-up");
    queue_watch(&queue);
    await_count(&queue, SET_WATCHES, 1);
    queue_leave(&queue, 1);
    assert_false(is_over(&queue, 20));
    assert_int_equal(count(&queue, SET_WATCHES), 1);
    queue_leave(&queue, 0);
    assert_true(is_over(&queue, LIMIT_MS));
    assert_true(queue_look(&queue));
    queue_close(&queue);
}

/* They leave after the listing, before the watches are set. */
static void places_ahead_leave_before_they_are_watched(void **state)
{
    struct queue queue = { 0 };

    (void)state;
    for (int gone = 1; gone <= 3; gone++) { /* bits */
        queue = (struct queue){ 0 };
        queue_open(&queue, gone == 1 ? "before-1" : gone == 2 ? "before-2" : "before-3");
        for (int i = 0; i < 2; i++)
            if ((gone & 1 << i) != 0)
                queue_leave(&queue, i);
        queue_watch(&queue);
        if (gone != 3)
            assert_false(is_over(&queue, 20));
        for (int i = 0; i < 2; i++)
            if ((gone & 1 << i) == 0)
                queue_leave(&queue, i);
        assert_true(is_over(&queue, LIMIT_MS));
        assert_true(queue_look(&queue));
        queue_close(&queue);
    }
}

/* Somebody deletes our own place before its watch is set, or after. */
static void own_place_is_deleted(void **state)
{
    (void)state;
    for (int watched = 0; watched < 2; watched++) {
        struct queue queue = { 0 };
        queue_open(&queue, watched ? "away-after" : "away-before");
        if (watched) {
            queue_watch(&queue);
            await_count(&queue, SET_WATCHES, 1);
            settle(&queue);
        }
        assert_int_equal(take_away(&queue.player[0], queue.name,
                                   place_of(&queue.view[2])),
                         0);
        if (!watched)
            queue_watch(&queue);
        queue_leave(&queue, 0);
        queue_leave(&queue, 1);
        assert_true(is_over(&queue, LIMIT_MS));
        assert_false(queue_look(&queue));
        assert_false(has_place(&queue.view[2]));
        queue_close(&queue);
    }
}

/* Somebody asks for our place before its watch is set: we are notified when we hold it. */
static void ask_before_the_watch_is_set(void **state)
{
    struct queue queue = { 0 };

    (void)state;
    queue_open(&queue, "asked");
    assert_int_equal(ask_for(&queue.player[0], queue.name, place_of(&queue.view[2]),
                             "please"),
                     0);
    queue_watch(&queue);
    await_count(&queue, GET_DATA, 1); /* it changed, so the waiter reads it */
    settle(&queue);
    queue_leave(&queue, 0);
    queue_leave(&queue, 1);
    assert_true(is_over(&queue, LIMIT_MS));
    assert_true(queue_look(&queue));
    assert_non_null(asked_of(&queue.view[2]));
    queue_close(&queue);
}

/* The connection breaks before or after the server gets SET_WATCHES. */
static void connection_breaks_at_set_watches(void **state)
{
    (void)state;
    for (int after = 0; after < 2; after++) {
        struct queue queue = { 0 };
        queue_open(&queue, after ? "breaks-after" : "breaks-before");
        zkproxy_rule(proxy, &(struct zkproxy_rule){ after ? ZKPROXY_DROP_AFTER
                                                          : ZKPROXY_DROP_BEFORE,
                                                    SET_WATCHES, 1, 0 });
        queue_watch(&queue);
        for (int turns = 0; turns < 3000 && !zkproxy_has_struck(proxy); turns++)
            player_turn(&queue.player[2], 1);
        assert_true(zkproxy_has_struck(proxy));
        queue_leave(&queue, 0);
        queue_leave(&queue, 1);
        assert_true(is_over(&queue, LIMIT_MS));
        assert_true(queue_look(&queue) || wait_for_turn(&queue.player[2], queue.name,
                                                        &queue.view[2], LIMIT_MS));
        queue_close(&queue);
    }
}

/* ---- Readers and writers ------------------------------------------------------------ */

/* A writer is downgraded.  Its new node has the old number, and a listing shows the new
 * node before we hear that the old one is gone. */
static void downgraded_writer_is_not_overtaken(void **state)
{
    struct player  a, b;
    struct request held, view, watching, other;

    (void)state;
    player_open_60s(&a, witness_server());
    player_open_60s(&b, zkproxy_address(proxy));
    uint64_t id = enter(&a, "became", WRITER, &held);
    uint64_t mine = enter(&b, "became", WRITER, &view);
    other = (struct request){
        .req = { .op = HF_ENTER, .name = "became", .id = ++b.ids, .shape = READER }
    };
    zkproxy_freeze(proxy, ZKPROXY_UP);
    player_submit(&b, &other); /* create and listing */
    player_turn(&b, 0);
    watch(&b, "became", &view, &watching);
    player_turn(&b, 0);
    assert_int_equal(downgrade(&a, "became", id, READER, &held), 0);
    zkproxy_thaw(proxy);
    assert_true(player_await(&b, &other, LIMIT_MS));
    player_await(&b, &watching, 50);
    assert_int_equal(look(&b, "became", mine, &view), 0);
    assert_false(is_granted(&view));
    assert_int_equal(leave(&a, "became", id), 0);
    assert_true(player_await(&b, &watching, LIMIT_MS));
    assert_true(wait_for_turn(&b, "became", &view, LIMIT_MS));
    player_close(&a);
    player_close(&b);
}

/* The end of a writer grants the readers behind it, and the end of the last reader the
 * writer behind: nobody lists. */
static void readers_and_writers_are_granted_without_a_listing(void **state)
{
    struct queue queue = { 0 };

    (void)state;
    for (int writer = 0; writer < 2; writer++) {
        queue = (struct queue){ 0 };
        queue_open_as(&queue, writer ? "last-writes" : "last-reads",
                      (struct hf_shape[]){ writer ? READER : WRITER, READER,
                                           writer ? WRITER : READER });
        queue_watch(&queue);
        await_count(&queue, SET_WATCHES, 1);
        settle(&queue);
        queue_leave(&queue, 1);
        assert_false(is_over(&queue, 20));
        uint64_t up = zkproxy_packets(proxy, ZKPROXY_UP);
        queue_leave(&queue, 0);
        assert_true(is_over(&queue, LIMIT_MS));
        assert_true(queue_holds(&queue));
        assert_int_equal(zkproxy_packets(proxy, ZKPROXY_UP), up);
        queue_close(&queue);
    }
}

/* The watches of two places of one session are set as of the later one.  A change to the
 * earlier one before that is noticed as soon as it has been held for a moment. */
static void missed_ask_is_read_by_the_holder(void **state)
{
    struct player  a, b;
    struct request held, first, second, watching[2];

    (void)state;
    player_open_60s(&a, witness_server());
    player_open_60s(&b, witness_server());
    uint64_t id = enter(&a, "between", MUTEX, &held);
    uint64_t mine = enter(&b, "between", MUTEX, &first);
    assert_int_equal(ask_for(&a, "between", place_of(&first), "please"), 0);
    enter(&b, "between", MUTEX, &second);
    watch(&b, "between", &first, &watching[0]);
    watch(&b, "between", &second, &watching[1]);
    assert_false(player_await(&b, &watching[0], 20));
    assert_int_equal(leave(&a, "between", id), 0);
    assert_true(player_await(&b, &watching[0], LIMIT_MS));
    assert_int_equal(look(&b, "between", mine, &first), 0);
    assert_true(is_granted(&first));
    while (asked_of(&first) == NULL) { /* it may have been notified already */
        watch(&b, "between", &first, &watching[0]);
        assert_true(player_await(&b, &watching[0], LIMIT_MS));
        assert_int_equal(look(&b, "between", mine, &first), 0);
    }
    assert_string_equal(asked_of(&first), "please");
    player_close(&a);
    player_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_requests),
        cmocka_unit_test(one_more_read_after_a_long_wait),
        cmocka_unit_test(place_just_ahead_gives_up),
        cmocka_unit_test(places_ahead_leave_before_they_are_watched),
        cmocka_unit_test(own_place_is_deleted),
        cmocka_unit_test(ask_before_the_watch_is_set),
        cmocka_unit_test(connection_breaks_at_set_watches),
        cmocka_unit_test(downgraded_writer_is_not_overtaken),
        cmocka_unit_test(readers_and_writers_are_granted_without_a_listing),
        cmocka_unit_test(missed_ask_is_read_by_the_holder),
    };

    return cmocka_run_group_tests(tests, start_proxy, stop_proxy);
}
