/* alone.c - whoever has a line to himself does not list it: a create and a delete are a turn.
 * And whoever else comes, in whatever way, is seen.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=60000 */
#include "lib/promise.h"
#include "lib/proxied.h"
#include "lib/witness.h"

#include <stdio.h>

#define LIMIT_MS 30000
#define TURNS    4 /* from then on nothing is listed */

enum { DELETE = 2, CHILDREN2 = 12, CREATE2 = 15 };

static void open_as(struct player *player, const char *user, const char *address)
{
    static char url[96];

    snprintf(url, sizeof url, "zk://%s%s?session=60s", user, address);
    promise_use(url);
    player_open_for(player, 60000);
}

static void one_turn(struct player *player, const char *name, struct hf_shape shape)
{
    struct ask view;
    uint64_t   id = enter(player, name, shape, &view);

    assert_true(is_granted(&view));
    assert_int_equal(view.count, 1);
    assert_int_equal(leave(player, name, id), 0);
}

/* `me` goes through the proxy, and has had the line to itself so often. */
static void open_alone(struct player *me, const char *name, struct hf_shape shape)
{
    char folder[64];

    snprintf(folder, sizeof folder, "/%s", name);
    witness_create(folder);
    open_as(me, "", zkproxy_address(proxy));
    for (int i = 0; i < TURNS; i++)
        one_turn(me, name, shape);
    uint64_t listed = zkproxy_requests(proxy, CHILDREN2);
    one_turn(me, name, shape);
    assert_int_equal(zkproxy_requests(proxy, CHILDREN2), listed);
}

/* Somebody else has it.  We see him, wait, and get it after him. */
static void behind(struct player *me, struct player *other, const char *name,
                   uint64_t others)
{
    struct ask view;
    uint64_t   id = enter(me, name, MUTEX, &view);

    assert_false(is_granted(&view));
    assert_int_equal(leave(other, name, others), 0);
    assert_true(wait_for_turn(me, name, &view, LIMIT_MS));
    assert_int_equal(leave(me, name, id), 0);
}

/* ---- What it costs ---------------------------------------------------------------------- */

static void two_requests(void **state)
{
    struct player me;

    (void)state;
    open_alone(&me, "two", MUTEX);
    uint64_t up = zkproxy_packets(proxy, ZKPROXY_UP);
    for (int i = 0; i < 10; i++)
        one_turn(&me, "two", MUTEX);
    assert_int_equal(zkproxy_packets(proxy, ZKPROXY_UP), up + 20);
    player_close(&me);
}

/* Readers and writers as well.  Semaphores have slots, which are nodes, and claims no
 * numbers: these are listed. */
static void other_kinds(void **state)
{
    struct player me;

    (void)state;
    open_alone(&me, "kinds", WRITER);
    one_turn(&me, "kinds", READER);
    uint64_t listed = zkproxy_requests(proxy, CHILDREN2);
    one_turn(&me, "kinds", semaphore(2, 1));
    assert_int_equal(zkproxy_requests(proxy, CHILDREN2), listed + 1);
    one_turn(&me, "kinds", CLAIM);
    assert_true(zkproxy_requests(proxy, CHILDREN2) > listed + 1);
    player_close(&me);
}

/* The release is not awaited. */
static void while_it_leaves(void **state)
{
    struct player me;
    struct ask    view = { 0 }, leaving = { .req = { .op = HF_LEAVE, .name = "leaves" } };

    (void)state;
    open_alone(&me, "leaves", MUTEX);
    uint64_t id = enter(&me, "leaves", MUTEX, &view);
    uint64_t up = zkproxy_packets(proxy, ZKPROXY_UP);
    leaving.req.id = id;
    player_submit(&me, &leaving);
    enter(&me, "leaves", MUTEX, &view);
    assert_true(is_granted(&view));
    assert_int_equal(leaving.answers, 1);
    assert_int_equal(leaving.req.status, 0);
    assert_int_equal(zkproxy_packets(proxy, ZKPROXY_UP), up + 2);
    player_close(&me);
}

/* A holder of the same session keeps us out. */
static void behind_ourselves(void **state)
{
    struct player me;
    struct ask    view;

    (void)state;
    open_alone(&me, "ourselves", MUTEX);
    uint64_t id = enter(&me, "ourselves", MUTEX, &view);
    assert_true(is_granted(&view));
    behind(&me, &me, "ourselves", id);
    player_close(&me);
}

/* ---- Others ------------------------------------------------------------------------------ */

static void somebody_came(void **state)
{
    struct player me, other;
    struct ask    held;

    (void)state;
    open_as(&other, "", witness_server());
    open_alone(&me, "came", MUTEX);
    one_turn(&other, "came", MUTEX); /* and went */
    one_turn(&me, "came", MUTEX);
    for (int i = 0; i < TURNS * 2; i++)
        one_turn(&me, "came", MUTEX);
    uint64_t id = enter(&other, "came", MUTEX, &held);
    behind(&me, &other, "came", id);
    player_close(&me);
    player_close(&other);
}

/* Nobody comes while we come and go; but somebody was there before. */
static void somebody_stays(void **state)
{
    struct player me, other;
    struct ask    view;

    (void)state;
    open_as(&other, "", witness_server());
    open_alone(&me, "stays", MUTEX);
    uint64_t others = enter(&other, "stays", MUTEX, &view);
    for (int i = 0; i < TURNS * 2; i++) {
        uint64_t id = enter(&me, "stays", MUTEX, &view);
        assert_false(is_granted(&view));
        assert_int_equal(leave(&me, "stays", id), 0);
    }
    behind(&me, &other, "stays", others);
    player_close(&me);
    player_close(&other);
}

/* We may list him, but not read him. */
static void somebody_hidden_came(void **state)
{
    struct player me, other;
    struct ask    held;

    (void)state;
    open_as(&other, "ana:secret@", witness_server());
    open_alone(&me, "hidden", MUTEX);
    uint64_t id = enter(&other, "hidden", MUTEX, &held);
    behind(&me, &other, "hidden", id);
    player_close(&me);
    player_close(&other);
}

/* The folder is swept away, and in a new one somebody else holds the lock, so that our next
 * number is the one that we expect. */
static void in_another_folder(void **state)
{
    struct player me, other;
    struct ask    held;
    uint64_t      id = 0;

    (void)state;
    open_as(&other, "", witness_server());
    open_alone(&me, "another", MUTEX);
    assert_int_equal(witness_delete("/another"), 0);
    assert_int_equal(witness_create("/another"), 0);
    for (int i = 0; i < TURNS; i++)
        one_turn(&other, "another", MUTEX);
    id = enter(&other, "another", MUTEX, &held);
    assert_int_equal(my_ticket(&held)->seq, TURNS + 1); /* as our last one */
    behind(&me, &other, "another", id);
    player_close(&me);
    player_close(&other);
}

/* The delete was lost with its connection, and so our node may still be there. */
static void the_delete_was_lost(void **state)
{
    struct player me;
    struct ask    view, leaving = { .req = { .op = HF_LEAVE, .name = "lost" } };

    (void)state;
    open_alone(&me, "lost", MUTEX);
    leaving.req.id = enter(&me, "lost", MUTEX, &view);
    zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_DROP_BEFORE, DELETE, 1, 0 });
    assert_int_equal(player_run(&me, &leaving), HF_EDOWN);
    enter(&me, "lost", MUTEX, &view);
    assert_false(is_granted(&view));
    assert_int_equal(leave(&me, "lost", leaving.req.id), 0);
    assert_true(wait_for_turn(&me, "lost", &view, LIMIT_MS));
    player_close(&me);
}

/* The create was lost, done or not. */
static void the_create_was_lost(void **state)
{
    static const enum zkproxy_fault faults[] = { ZKPROXY_DROP_BEFORE,
                                                 ZKPROXY_DROP_AFTER };
    struct player                   me;
    struct ask                      view;

    (void)state;
    open_alone(&me, "again", MUTEX);
    for (int i = 0; i < 2; i++) {
        zkproxy_rule(proxy, &(struct zkproxy_rule){ faults[i], CREATE2, 1, 0 });
        uint64_t id = enter(&me, "again", MUTEX, &view);
        assert_true(zkproxy_has_struck(proxy));
        assert_true(is_granted(&view));
        assert_int_equal(witness_count("/again"), 1);
        assert_int_equal(leave(&me, "again", id), 0);
        for (int turns = 0; turns < TURNS; turns++)
            one_turn(&me, "again", MUTEX);
    }
    player_close(&me);
}

/* The folder is gone. */
static void the_folder_is_gone(void **state)
{
    struct player me;

    (void)state;
    open_alone(&me, "swept", MUTEX);
    assert_int_equal(witness_delete("/swept"), 0);
    for (int i = 0; i < TURNS; i++)
        one_turn(&me, "swept", MUTEX);
    player_close(&me);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_requests),        cmocka_unit_test(other_kinds),
        cmocka_unit_test(while_it_leaves),     cmocka_unit_test(behind_ourselves),
        cmocka_unit_test(somebody_came),       cmocka_unit_test(somebody_hidden_came),
        cmocka_unit_test(somebody_stays),      cmocka_unit_test(in_another_folder),
        cmocka_unit_test(the_delete_was_lost), cmocka_unit_test(the_create_was_lost),
        cmocka_unit_test(the_folder_is_gone),
    };

    witness_server();
    return cmocka_run_group_tests(tests, start_proxy, stop_proxy);
}
