/* deleted_nodes.c - nodes and folders that others delete, empty folders that the server
 * removes, and nodes in a folder that are not ours.
 */
/* needs: standalone --tick 200 --container-check 100 --config maxSessionTimeout=60000 */
#include "lib/clients.h"
#include "lib/promise.h"
#include "lib/witness.h"
#include "lib/zkproxy.h"

#include "store/zookeeper/line/names.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

/* So long a session that the heartbeat, every 8 s, does not notice any of this. */
#define LONG     "?session=60s"
#define AT_ONCE  (5000 * HF_MS)
#define LIMIT_MS 30000

static char server[64];

static void open_long(struct actor *actor, const char *name)
{
    actor_open_zk(actor, server, name);
}

/* Delete the `nth` place in line. */
static void delete_nth(const char *folder, size_t nth)
{
    struct witness seen;
    char           path[160];
    const char    *number[WITNESS_MAX];

    witness_look(folder, &seen);
    assert_true(nth < seen.count);
    for (size_t i = 0; i < seen.count; i++) { /* by number: names begin with a uuid */
        size_t at = i;
        for (; at > 0 && strcmp(number[at - 1] + strlen(number[at - 1]) - 10,
                                seen.name[i] + strlen(seen.name[i]) - 10) > 0;
             at--)
            number[at] = number[at - 1];
        number[at] = seen.name[i];
    }
    snprintf(path, sizeof path, "%s/%s", folder, number[nth]);
    assert_int_equal(witness_delete(path), 0);
}

/* ---- Our own place ------------------------------------------------------------------ */

static void holder_is_notified_at_once(void **state)
{
    struct actor a;

    (void)state;
    open_long(&a, "holder");
    for (int times = 0; times < 3; times++) {
        actor_take(&a);
        assert_int_equal(witness_await_watches(1), 1);
        hf_time start = hf_now();
        delete_nth("/holder", 0);
        actor_await(&a, HF_LOST);
        assert_true(hf_now() - start < AT_ONCE);
        assert_int_equal(hf_release(a.lock), HF_ELOST);
    }
    actor_close(&a);
    assert_int_equal(witness_count("/holder"), 0);
}

/* A waiter listens to its own node. */
static void waiter_queues_again(void **state)
{
    struct actor a, b, c;

    (void)state;
    open_long(&a, "waiter");
    open_long(&b, "waiter");
    open_long(&c, "waiter");
    actor_take(&a);
    actor_queue_zk(&b, 2);
    actor_queue_zk(&c, 3);
    /* each watches its own node, b and c that of a, c that of b */
    assert_int_equal(witness_await_watches(6), 6);
    delete_nth("/waiter", 1);
    witness_await("/waiter", 3);
    assert_int_equal(hf_state(b.lock), HF_WAITING);
    actor_give(&a);
    actor_await(&c, HF_HELD); /* b queued again, behind c */
    assert_int_equal(hf_state(b.lock), HF_WAITING);
    actor_give(&c);
    actor_await(&b, HF_HELD);
    actor_give(&b);
    actor_close(&a);
    actor_close(&b);
    actor_close(&c);
    assert_int_equal(witness_count("/waiter"), 0);
}

/* A waiter whose place is deleted together with the place ahead is not granted the lock.
 */
static void no_grant_without_a_place(void **state)
{
    struct actor b, c;
    struct zkraw raw;
    char         name[32], ahead[160], own[160];
    unsigned     in_time = 0;

    (void)state;
    for (int times = 0; times < 60; times++) {
        struct witness seen;
        snprintf(name, sizeof name, "race-%d", times);
        open_long(&b, name);
        open_long(&c, name);
        snprintf(ahead, sizeof ahead, "/%s", name);
        assert_true(zkraw_open(&raw, witness_server(), 4000));
        assert_int_equal(witness_create_in(&raw, ahead, "", WITNESS_PLAIN), 0);
        snprintf(ahead, sizeof ahead, "/%s/lock-", name);
        assert_int_equal(witness_create_in(&raw, ahead, "", WITNESS_SEQUENCE), 0);
        actor_queue_zk(&b, 2);
        witness_look(actor_folder(&b), &seen);
        snprintf(own, sizeof own, "/%s/%s", name, seen.name[0]); /* "_c_" < "lock-" */
        snprintf(ahead, sizeof ahead, "/%s/%s", name, seen.name[1]);
        actor_queue_zk(&c, 3);
        if (times % 3 > 0) /* otherwise before it listens */
            assert_int_equal(witness_await_watches(5), 5);
        assert_int_equal(witness_delete_in(&raw, own), 0);
        assert_int_equal(witness_delete_in(&raw, ahead), 0);
        actor_await(&c, HF_HELD);
        poll(NULL, 0, 5);
        in_time += b.held != 0;
        assert_int_equal(hf_state(b.lock), HF_WAITING);
        actor_give(&c);
        actor_await(&b, HF_HELD);
        actor_give(&b);
        zkraw_close(&raw);
        actor_close(&b);
        actor_close(&c);
    }
    assert_int_equal(in_time, 0);
}

/* Neither its number nor its name alone makes a place ours. */
static void place_of_another_client_is_not_adopted(void **state)
{
    struct zkproxy *proxy = zkproxy_start(witness_server());
    struct player   a, b;
    struct request  request;
    struct zkraw    raw;
    struct witness  seen;
    char            url[64], path[160];

    (void)state;
    snprintf(url, sizeof url, "zk://%s", zkproxy_address(proxy));
    promise_use(url);
    player_open(&a);
    snprintf(url, sizeof url, "zk://%s", witness_server());
    promise_use(url);
    player_open(&b);
    enter(&b, "others", MUTEX, &request); /* creates the folder */
    leave(&b, "others", request.req.id);
    uint64_t id = enter(&a, "others", MUTEX, &request);
    witness_look("/others", &seen);
    char *uuid = seen.name[0] + 3;
    assert_int_equal(leave(&a, "others", id), 0);

    /* Use the same id again, as a store may that has forgotten it.  The server never gets
     * our create, and somebody else creates a node with our name. */
    request = (struct request){
        .req = { .op = HF_ENTER, .name = "others", .id = id, .shape = MUTEX }
    };
    zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_DROP_BEFORE, 15, 1, -1 });
    assert_int_equal(player_run(&a, &request), HF_EDOWN);
    assert_true(zkraw_open(&raw, witness_server(), 4000));
    snprintf(path, sizeof path, "/others/_c_%.*s-lock-", HF_ZK_UUID, uuid);
    assert_int_equal(witness_create_in(&raw, path, "", WITNESS_SEQUENCE), 0);
    zkproxy_refuse(proxy, 0);
    int r;
    while ((r = player_run(&a, &request)) == HF_EDOWN)
        continue;
    assert_int_equal(r, 0);
    assert_false(is_granted(&request));
    assert_int_equal(witness_count("/others"), 2);
    zkraw_close(&raw); /* which deletes its node */
    assert_true(wait_for_turn(&a, "others", &request, LIMIT_MS));
    assert_int_equal(leave(&a, "others", id), 0);
    assert_int_equal(witness_count("/others"), 0);
    player_close(&a);
    player_close(&b);
    zkproxy_stop(proxy);
}

/* ---- Folders ------------------------------------------------------------------------ */

static void folder_is_deleted(void **state)
{
    struct actor a, b, c;

    (void)state;
    open_long(&a, "folder");
    open_long(&b, "folder");
    open_long(&c, "folder");
    actor_take(&a);
    actor_queue_zk(&b, 2);
    actor_queue_zk(&c, 3);
    assert_int_equal(witness_await_watches(6), 6);
    witness_delete_all("/folder");
    actor_await(&a, HF_LOST);
    /* One of the others gets it, and then the other one. */
    hf_time end = hf_now() + LIMIT_MS * HF_MS;
    while (hf_state(b.lock) != HF_HELD && hf_state(c.lock) != HF_HELD && hf_now() < end)
        poll(NULL, 0, 1);
    struct actor *first = hf_state(b.lock) == HF_HELD ? &b : &c;
    struct actor *second = first == &b ? &c : &b;
    witness_await("/folder", 2);
    assert_int_equal(hf_state(second->lock), HF_WAITING);
    actor_give(first);
    actor_await(second, HF_HELD);
    actor_give(second);
    assert_int_equal(hf_release(a.lock), HF_ELOST);
    actor_close(&a);
    actor_close(&b);
    actor_close(&c);
}

/* The server removes empty folders at any time, also between two of our steps. */
static void empty_folders_are_removed_at_any_time(void **state)
{
    enum { CREATE_CONTAINER = 19, LINES = 20 };
    struct zkproxy *proxy = zkproxy_start(witness_server());
    struct actor    a[LINES];
    char            name[32];

    (void)state;
    for (int i = 0; i < LINES; i++) {
        snprintf(name, sizeof name, "swept-%d", i);
        actor_open_zk(&a[i], zkproxy_address(proxy), name);
    }
    for (int times = 0; times < 25; times++) {
        for (int i = 0; i < LINES; i++)
            assert_int_equal(hf_acquire_start(a[i].lock, LIMIT_MS), 0);
        for (int i = 0; i < LINES; i++) {
            actor_await(&a[i], HF_HELD);
            actor_give(&a[i]);
        }
        poll(NULL, 0, 17 * times % 120);
    }
    uint64_t made = zkproxy_requests(proxy, CREATE_CONTAINER);
    print_message("# folders were made %u times\n", (unsigned)made);
    assert_true(made > 2 * (uint64_t)LINES);
    for (int i = 0; i < LINES; i++)
        actor_close(&a[i]);
    zkproxy_stop(proxy);
}

/* ---- Nodes that are not ours -------------------------------------------------------- */

/* The server shows a new node before the client that made it has its answer. */
static void await_ahead(const struct actor *actor, int64_t count)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;

    while (hf_ahead(actor->lock) == -1 && hf_now() < end)
        poll(NULL, 0, 1);
    assert_int_equal(hf_ahead(actor->lock), count);
}

static void foreign_nodes_do_not_count(void **state)
{
    static const char *const names[] = { "0",        "config", "lock-x",     "-x",
                                         "lock-123", "slot-",  "0000000000x" };
    enum { COUNT = sizeof names / sizeof *names };
    struct actor a, b;
    char         path[64];

    (void)state;
    assert_int_equal(witness_create("/foreign"), 0);
    for (int i = 0; i < COUNT; i++) {
        snprintf(path, sizeof path, "/foreign/%s", names[i]);
        assert_int_equal(witness_create(path), 0);
    }
    open_long(&a, "foreign");
    open_long(&b, "foreign");
    for (int times = 0; times < 3; times++) {
        actor_take(&a);
        actor_queue_zk(&b, COUNT + 2);
        await_ahead(&b, 1);
        actor_give(&a);
        actor_await(&b, HF_HELD);
        actor_give(&b);
    }
    assert_int_equal(witness_count("/foreign"), COUNT);
    actor_close(&a);
    actor_close(&b);
    witness_delete_all("/foreign");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holder_is_notified_at_once),
        cmocka_unit_test(waiter_queues_again),
        cmocka_unit_test(no_grant_without_a_place),
        cmocka_unit_test(place_of_another_client_is_not_adopted),
        cmocka_unit_test(folder_is_deleted),
        cmocka_unit_test(empty_folders_are_removed_at_any_time),
        cmocka_unit_test(foreign_nodes_do_not_count),
    };

    snprintf(server, sizeof server, "%s" LONG, witness_server());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
