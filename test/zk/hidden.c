/* hidden.c - waiting for holders whose nodes we may not read: another identity made them,
 * in a folder that both may use.  Their folder is listened to instead.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/connected.h"
#include "lib/witness.h"
#include "lib/zkproxy.h"

#include <stdio.h>
#include <string.h>

#define LIMIT_MS 30000

enum { GET_CHILDREN2 = 12 }; /* opcode */

static struct zkproxy *proxy;
static struct zkraw    other; /* somebody who comes and goes */

static void open_as(struct player *player, const char *user, const char *address)
{
    char server[96];

    snprintf(server, sizeof server, "%s:secret@%s", user, address);
    open_connected(player, server);
}

static void stir(const char *path)
{
    assert_int_equal(witness_create_in(&other, path, "", WITNESS_EPHEMERAL), 0);
    assert_int_equal(witness_delete_in(&other, path), 0);
}

/* One folder is listened to for the sake of two holders, and listed after every change. */
static void two_holders_of_a_semaphore(void **state)
{
    struct player ana, ben;
    struct ask    held[2], view, watching;
    uint64_t      id[2];

    (void)state;
    assert_int_equal(witness_create("/two"), 0);
    open_as(&ana, "ana", witness_server());
    open_as(&ben, "ben", witness_server());
    for (int i = 0; i < 2; i++)
        id[i] = enter(&ana, "two", semaphore(2, 1), &held[i]);
    uint64_t mine = enter(&ben, "two", semaphore(2, 1), &view);
    assert_false(is_granted(&view));
    watch(&ben, "two", &view, &watching);
    for (int times = 0; times < 60; times++) { /* at different moments of its listing */
        stir("/two/other");
        for (int i = 0; i < times / 3; i++)
            player_turn(&ben, 1);
        assert_int_equal(watching.answers, 0);
    }
    assert_int_equal(leave(&ana, "two", id[1]), 0);
    assert_true(player_await(&ben, &watching, LIMIT_MS));
    assert_true(is_granted(&watching));
    assert_int_equal(leave(&ben, "two", mine), 0);
    assert_int_equal(leave(&ana, "two", id[0]), 0);
    player_close(&ana);
    player_close(&ben);
}

/* The holder goes before anybody has noticed that it cannot be read; and the next one, when
 * it is known. */
static void a_holder_that_goes_soon(void **state)
{
    struct player ana, ben;
    struct ask    held, view;

    (void)state;
    assert_int_equal(witness_create("/soon"), 0);
    open_as(&ana, "ana", witness_server());
    open_as(&ben, "ben", witness_server());
    for (int times = 0; times < 2; times++) {
        struct ask watching;
        uint64_t   id = enter(&ana, "soon", MUTEX, &held);
        uint64_t   mine = enter(&ben, "soon", MUTEX, &view);
        watch(&ben, "soon", &view, &watching);
        assert_false(player_await(&ben, &watching, 10));
        assert_int_equal(leave(&ana, "soon", id), 0);
        assert_true(player_await(&ben, &watching, 1000));
        assert_int_equal(look(&ben, "soon", mine, &view), 0);
        assert_true(is_granted(&view));
        assert_int_equal(leave(&ben, "soon", mine), 0);
    }
    player_close(&ana);
    player_close(&ben);
}

/* The one just ahead goes, who is hidden or not; the second ahead is hidden in any case, and
 * was listened to before anybody knew. */
static void the_second_ahead(void **state)
{
    struct player ana, ben;
    struct ask    held[2], view, watching;

    (void)state;
    assert_int_equal(witness_create("/second"), 0);
    assert_int_equal(witness_create("/second-rw"), 0);
    open_as(&ana, "ana", witness_server());
    open_as(&ben, "ben", witness_server());
    for (int times = 0; times < 4; times++) {
        const char     *name = times < 2 ? "second" : "second-rw";
        struct hf_shape shape = times < 2 ? MUTEX : WRITER;
        struct player  *near = times % 2 == 0 ? &ana : &ben;
        uint64_t        far_id = enter(&ana, name, shape, &held[0]);
        uint64_t        near_id = enter(near, name, shape, &held[1]);
        uint64_t        mine = enter(&ben, name, times < 2 ? MUTEX : READER, &view);
        watch(&ben, name, &view, &watching);
        assert_false(player_await(&ben, &watching, 200));
        assert_int_equal(leave(near, name, near_id), 0);
        assert_false(player_await(&ben, &watching, 10));
        assert_int_equal(leave(&ana, name, far_id), 0);
        assert_true(player_await(&ben, &watching, LIMIT_MS));
        assert_int_equal(look(&ben, name, mine, &view), 0);
        assert_true(is_granted(&view));
        assert_int_equal(leave(&ben, name, mine), 0);
    }
    player_close(&ana);
    player_close(&ben);
}

/* The folder changed, and the connection breaks while we look at it. */
static void connection_lost_while_it_looks(void **state)
{
    struct player ana, ben;
    struct ask    held, view, watching;

    (void)state;
    assert_int_equal(witness_create("/looks"), 0);
    open_as(&ana, "ana", witness_server());
    open_as(&ben, "ben", zkproxy_address(proxy));
    uint64_t id = enter(&ana, "looks", MUTEX, &held);
    uint64_t mine = enter(&ben, "looks", MUTEX, &view);
    assert_false(is_granted(&view));
    watch(&ben, "looks", &view, &watching);
    assert_false(player_await(&ben, &watching, 300)); /* it listens by now */
    zkproxy_rule(proxy,
                 &(struct zkproxy_rule){ ZKPROXY_DROP_BEFORE, GET_CHILDREN2, 1, 0 });
    stir("/looks/other");
    for (int turns = 0; turns < 3000 && !zkproxy_has_struck(proxy); turns++)
        player_turn(&ben, 1);
    assert_true(zkproxy_has_struck(proxy));
    assert_int_equal(leave(&ana, "looks", id), 0);
    assert_true(player_await(&ben, &watching, LIMIT_MS));
    assert_int_equal(look(&ben, "looks", mine, &view), 0);
    assert_true(is_granted(&view));
    assert_int_equal(leave(&ben, "looks", mine), 0);
    player_close(&ana);
    player_close(&ben);
}

/* The folder changed, and cannot be listed any more: whoever waits is told so. */
static void a_listing_that_cannot_be_had(void **state)
{
    static char   path[8100];
    struct player ana, ben;
    struct ask    held, view, watching;

    (void)state;
    assert_int_equal(witness_create("/lot"), 0);
    open_as(&ana, "ana", witness_server());
    open_as(&ben, "ben", witness_server());
    uint64_t id = enter(&ana, "lot", MUTEX, &held);
    uint64_t mine = enter(&ben, "lot", MUTEX, &view);
    watch(&ben, "lot", &view, &watching);
    assert_false(player_await(&ben, &watching, 300)); /* it listens by now */
    for (int i = 0; i < 2150; i++) {                  /* more than 16 MB of names */
        int n = snprintf(path, sizeof path, "/lot/%d-", i);
        memset(path + n, 'n', 8000 - (size_t)n);
        assert_int_equal(zkraw_create(&other, path), 0);
    }
    assert_true(player_await(&ben, &watching, LIMIT_MS));
    assert_int_equal(look(&ben, "lot", mine, &view), HF_ESTORE);
    assert_int_equal(leave(&ben, "lot", mine), 0);
    assert_int_equal(leave(&ana, "lot", id), 0);
    player_close(&ana);
    player_close(&ben);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_holders_of_a_semaphore),
        cmocka_unit_test(a_holder_that_goes_soon),
        cmocka_unit_test(the_second_ahead),
        cmocka_unit_test(connection_lost_while_it_looks),
        cmocka_unit_test(a_listing_that_cannot_be_had),
    };

    proxy = zkproxy_start(witness_server());
    assert_true(zkraw_open(&other, witness_server(), 30000));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    zkraw_close(&other);
    zkproxy_stop(proxy);
    return failed;
}
