/* turn.c - what one turn in a line of mutexes asks of the server, request by request: five,
 * none of them between the release ahead and the grant.  And whatever happens while it is
 * asked: nobody is overtaken, and nobody sleeps on.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=60000 */
#include "lib/promise.h"
#include "lib/witness.h"
#include "lib/zkproxy.h"

#include <stdio.h>

#define LIMIT_MS 30000

enum { DELETE = 2, GET_DATA = 4, CHILDREN2 = 12, CREATE2 = 15, SET_WATCHES = 101 };

static struct zkproxy *proxy; /* the last in line goes through it */

/* Three in a line: the first holds the lock, unless somebody came before. */
struct queue {
    struct player player[3];
    struct ask    view[3], watching;
    uint64_t      id[3];
    const char   *name;
    uint64_t      before[SET_WATCHES + 1]; /* requests, by opcode */
};

static void open_at(struct player *player, const char *address)
{
    static char url[64];

    snprintf(url, sizeof url, "zk://%s?session=60s", address);
    promise_use(url);
    player_open_for(player, 60000);
}

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
        open_at(&queue->player[i], i == 2 ? zkproxy_address(proxy) : witness_server());
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

/* What the WATCH was answered; and what a look shows. */
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

/* How many requests of one kind there have been; and until there were so many. */
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
    struct ask nothing;

    assert_int_equal(list(&queue->player[2], "nothing", &nothing), 0);
}

/* ---- One turn ------------------------------------------------------------------------ */

static void five_requests(void **state)
{
    struct queue  queue = { 0 };
    struct player early;
    struct ask    held;

    (void)state;
    open_at(&early, witness_server());
    uint64_t id = enter(&early, "five", MUTEX, &held);
    queue_open(&queue, "five");
    assert_int_equal(count(&queue, CREATE2), 1);
    assert_int_equal(count(&queue, CHILDREN2), 1);
    queue_watch(&queue);
    await_count(&queue, SET_WATCHES, 1);
    assert_int_equal(leave(&early, "five", id), 0);
    queue_leave(&queue, 0); /* the second ahead: who is left? */
    await_count(&queue, CHILDREN2, 2);
    assert_false(is_over(&queue, 20));
    uint64_t up = zkproxy_packets(proxy, ZKPROXY_UP);
    queue_leave(&queue, 1);
    assert_true(is_over(&queue, LIMIT_MS));
    assert_true(queue_holds(&queue));
    assert_int_equal(zkproxy_packets(proxy, ZKPROXY_UP), up); /* the event was enough */
    queue_leave(&queue, 2);
    assert_int_equal(count(&queue, DELETE), 1);
    assert_int_equal(count(&queue, GET_DATA), 0);
    assert_int_equal(count(&queue, SET_WATCHES), 1);
    player_close(&early);
    queue_close(&queue);
}

/* Whoever waits for longer reads the one ahead, in case it cannot be read. */
static void six_if_it_takes_long(void **state)
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

/* ---- What happens in between ------------------------------------------------------------ */

/* The one just ahead gives up: the second ahead is listened to already. */
static void one_gives_up(void **state)
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

/* They have gone after the listing, and before they are watched. */
static void gone_before(void **state)
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

/* Somebody takes our own place away before it is watched, and after. */
static void taken_away(void **state)
{
    (void)state;
    for (int armed = 0; armed < 2; armed++) {
        struct queue queue = { 0 };
        queue_open(&queue, armed ? "away-after" : "away-before");
        if (armed) {
            queue_watch(&queue);
            await_count(&queue, SET_WATCHES, 1);
            settle(&queue);
        }
        assert_int_equal(take_away(&queue.player[0], queue.name,
                                   place_of(&queue.view[2])),
                         0);
        if (!armed)
            queue_watch(&queue);
        queue_leave(&queue, 0);
        queue_leave(&queue, 1);
        assert_true(is_over(&queue, LIMIT_MS));
        assert_false(queue_look(&queue));
        assert_false(has_place(&queue.view[2]));
        queue_close(&queue);
    }
}

/* Somebody asks for our place before it is watched: it is told when it is held. */
static void asked_before(void **state)
{
    struct queue queue = { 0 };

    (void)state;
    queue_open(&queue, "asked");
    assert_int_equal(ask_for(&queue.player[0], queue.name, place_of(&queue.view[2]),
                             "please"),
                     0);
    queue_watch(&queue);
    await_count(&queue, GET_DATA, 1); /* it changed, so it is read */
    settle(&queue);
    queue_leave(&queue, 0);
    queue_leave(&queue, 1);
    assert_true(is_over(&queue, LIMIT_MS));
    assert_true(queue_look(&queue));
    assert_non_null(asked_of(&queue.view[2]));
    queue_close(&queue);
}

/* The connection breaks in front of, or behind, the call that arms. */
static void connection_breaks(void **state)
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

/* ---- Readers and writers ---------------------------------------------------------------- */

/* Its new node has the number of the old one, of whose end we hear when a listing has shown
 * the new one already. */
static void a_writer_became_a_reader(void **state)
{
    struct player a, b;
    struct ask    held, view, watching, other;

    (void)state;
    open_at(&a, witness_server());
    open_at(&b, zkproxy_address(proxy));
    uint64_t id = enter(&a, "became", WRITER, &held);
    uint64_t mine = enter(&b, "became", WRITER, &view);
    other = (struct ask){
        .req = { .op = HF_ENTER, .name = "became", .id = ++b.ids, .shape = READER }
    };
    zkproxy_freeze(proxy, ZKPROXY_UP);
    player_submit(&b, &other); /* create and listing */
    player_turn(&b, 0);
    watch(&b, "became", &view, &watching);
    player_turn(&b, 0);
    assert_int_equal(amend(&a, "became", id, READER, &held), 0);
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

/* Readers behind a writer are granted by its end, and a writer behind readers by that of the
 * last: nobody lists. */
static void readers_and_writers(void **state)
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

/* Two of one session are armed as of the later one: what happened to the earlier before that
 * is heard as soon as it has been held for a moment. */
static void asked_between(void **state)
{
    struct player a, b;
    struct ask    held, first, second, watching[2];

    (void)state;
    open_at(&a, witness_server());
    open_at(&b, witness_server());
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
    while (asked_of(&first) == NULL) { /* it may have been told already */
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
        cmocka_unit_test(five_requests),       cmocka_unit_test(six_if_it_takes_long),
        cmocka_unit_test(one_gives_up),        cmocka_unit_test(gone_before),
        cmocka_unit_test(taken_away),          cmocka_unit_test(asked_before),
        cmocka_unit_test(connection_breaks),   cmocka_unit_test(a_writer_became_a_reader),
        cmocka_unit_test(readers_and_writers), cmocka_unit_test(asked_between),
    };

    proxy = zkproxy_start(witness_server());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    zkproxy_stop(proxy);
    return failed;
}
