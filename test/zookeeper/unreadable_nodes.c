/* unreadable_nodes.c - waiting for holders whose nodes we may not read: another identity
 * created them, in a folder that both may use.  The waiter listens to the folder
 * instead.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/clients.h"
#include "lib/fixture.h"
#include "lib/witness.h"

#include <stdio.h>
#include <string.h>

#define LIMIT_MS 30000

enum { GET_CHILDREN2 = 12 }; /* opcode */

static void open_as(struct player *player, const char *user, const char *address)
{
    char server[96];

    snprintf(server, sizeof server, "%s:secret@%s", user, address);
    player_connect(player, server);
}

static void change_folder(const char *path)
{
    assert_int_equal(witness_create_in(&foreign, path, "", WITNESS_EPHEMERAL), 0);
    assert_int_equal(witness_delete_in(&foreign, path), 0);
}

/* The waiter listens to the folder on behalf of two holders, and lists it after every
 * change. */
static void two_unreadable_holders_of_a_semaphore(void **state)
{
    struct player  ana, ben;
    struct request held[2], view, watching;
    uint64_t       id[2];

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
        change_folder("/two/other");
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

/* The first holder leaves before the waiter has noticed that its node is unreadable, the
 * next one after that. */
static void unreadable_holder_leaves_at_once(void **state)
{
    struct player  ana, ben;
    struct request held, view;

    (void)state;
    assert_int_equal(witness_create("/soon"), 0);
    open_as(&ana, "ana", witness_server());
    open_as(&ben, "ben", witness_server());
    for (int times = 0; times < 2; times++) {
        struct request watching;
        uint64_t       id = enter(&ana, "soon", MUTEX, &held);
        uint64_t       mine = enter(&ben, "soon", MUTEX, &view);
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

/* The place just ahead leaves, unreadable or not.  The second ahead is unreadable in any
 * case, and the waiter listened to it before it knew that. */
static void second_ahead_is_unreadable(void **state)
{
    struct player  ana, ben;
    struct request held[2], view, watching;

    (void)state;
    assert_int_equal(witness_create("/second"), 0);
    assert_int_equal(witness_create("/second-rw"), 0);
    open_as(&ana, "ana", witness_server());
    open_as(&ben, "ben", witness_server());
    for (int times = 0; times < 4; times++) {
        const char     *name = times < 2 ? "second" : "second-rw";
        struct hf_shape shape = times < 2 ? MUTEX : WRITER;
        struct player  *just_ahead = times % 2 == 0 ? &ana : &ben;
        uint64_t        second_ahead_id = enter(&ana, name, shape, &held[0]);
        uint64_t        just_ahead_id = enter(just_ahead, name, shape, &held[1]);
        uint64_t        mine = enter(&ben, name, times < 2 ? MUTEX : READER, &view);
        watch(&ben, name, &view, &watching);
        assert_false(player_await(&ben, &watching, 200));
        assert_int_equal(leave(just_ahead, name, just_ahead_id), 0);
        assert_false(player_await(&ben, &watching, 10));
        assert_int_equal(leave(&ana, name, second_ahead_id), 0);
        assert_true(player_await(&ben, &watching, LIMIT_MS));
        assert_int_equal(look(&ben, name, mine, &view), 0);
        assert_true(is_granted(&view));
        assert_int_equal(leave(&ben, name, mine), 0);
    }
    player_close(&ana);
    player_close(&ben);
}

/* The folder changes, and the connection breaks while the waiter lists it. */
static void connection_breaks_during_the_listing(void **state)
{
    struct player  ana, ben;
    struct request held, view, watching;

    (void)state;
    assert_int_equal(witness_create("/looks"), 0);
    open_as(&ana, "ana", witness_server());
    open_as(&ben, "ben", zkproxy_address(proxy));
    uint64_t id = enter(&ana, "looks", MUTEX, &held);
    uint64_t mine = enter(&ben, "looks", MUTEX, &view);
    assert_false(is_granted(&view));
    watch(&ben, "looks", &view, &watching);
    assert_false(player_await(&ben, &watching, 300)); /* it is listening by now */
    zkproxy_rule(proxy,
                 &(struct zkproxy_rule){ ZKPROXY_DROP_BEFORE, GET_CHILDREN2, 1, 0 });
    change_folder("/looks/other");
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

/* The folder changes, and cannot be listed any more: the waiter gets an error. */
static void listing_fails(void **state)
{
    static char    path[8100];
    struct player  ana, ben;
    struct request held, view, watching;

    (void)state;
    assert_int_equal(witness_create("/lot"), 0);
    open_as(&ana, "ana", witness_server());
    open_as(&ben, "ben", witness_server());
    uint64_t id = enter(&ana, "lot", MUTEX, &held);
    uint64_t mine = enter(&ben, "lot", MUTEX, &view);
    watch(&ben, "lot", &view, &watching);
    assert_false(player_await(&ben, &watching, 300)); /* it is listening by now */
    for (int i = 0; i < 2150; i++) {                  /* more than 16 MB of names */
        int n = snprintf(path, sizeof path, "/lot/%d-", i);
        memset(path + n, 'n', 8000 - (size_t)n);
        assert_int_equal(zkraw_create(&foreign, path), 0);
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
        cmocka_unit_test(two_unreadable_holders_of_a_semaphore),
        cmocka_unit_test(unreadable_holder_leaves_at_once),
        cmocka_unit_test(second_ahead_is_unreadable),
        cmocka_unit_test(connection_breaks_during_the_listing),
        cmocka_unit_test(listing_fails),
    };

    return cmocka_run_group_tests(tests, start_both, stop_both);
}
