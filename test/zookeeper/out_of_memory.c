/* out_of_memory.c - memory runs out while a client waits: it may get an error, or be
 * notified late, but is not granted a lock that another holds. */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/clients.h"
#include "lib/no_memory.h"
#include "lib/witness.h"

#include <stdio.h>
#include <string.h>

#define LIMIT_MS 30000

static void open_as(struct player *player, const char *user)
{
    char server[96];

    snprintf(server, sizeof server, "%s:secret@%s", user, witness_server());
    player_connect(player, server);
}

/* The WATCH goes on, or ends without a grant; a look afterwards shows that the lock is not
 * ours. */
static void still_waits(struct player *player, const char *name, uint64_t id,
                        struct request *view, const struct request *watching)
{
    bool over = false;

    no_memory = true;
    for (int turns = 0; turns < 300 && !over; turns++)
        over = player_await(player, watching, 1);
    no_memory = false;
    assert_false(over && watching->req.status == 0 && has_place(watching) &&
                 is_granted(watching));
    assert_int_equal(look(player, name, id, view), 0);
    assert_false(is_granted(view));
}

/* The WATCH ends, or a new one does. */
static bool gets_its_turn(struct player *player, const char *name, struct request *view,
                          const struct request *watching)
{
    if (watching->answers == 0)
        return player_await(player, watching, LIMIT_MS) && is_granted(watching);
    return wait_for_turn(player, name, view, LIMIT_MS);
}

/* An ASK changes the node of the holder. */
static void node_ahead_changes_without_memory(void **state)
{
    struct player  ana, ben;
    struct request held, view, watching, nothing;

    (void)state;
    assert_int_equal(witness_create("/changes"), 0);
    open_as(&ana, "ana");
    open_as(&ben, "ana");
    uint64_t id = enter(&ana, "changes", MUTEX, &held);
    uint64_t mine = enter(&ben, "changes", MUTEX, &view);
    assert_false(is_granted(&view));
    watch(&ben, "changes", &view, &watching);
    for (int times = 0; times < 3; times++) /* it is listening by now */
        assert_int_equal(list(&ben, "nothing", &nothing), 0);
    assert_int_equal(ask_for(&ana, "changes", place_of(&held), "please"), 0);
    still_waits(&ben, "changes", mine, &view, &watching);
    assert_int_equal(leave(&ana, "changes", id), 0);
    assert_true(gets_its_turn(&ben, "changes", &view, &watching));
    player_close(&ana);
    player_close(&ben);
}

/* The waiter may not read the holder's node, and is about to listen to the folder. */
static void node_ahead_is_unreadable_without_memory(void **state)
{
    struct player  ana, ben;
    struct request held, view, watching;

    (void)state;
    assert_int_equal(witness_create("/unreadable"), 0);
    open_as(&ana, "ana");
    open_as(&ben, "ben");
    uint64_t id = enter(&ana, "unreadable", MUTEX, &held);
    uint64_t mine = enter(&ben, "unreadable", MUTEX, &view);
    assert_false(is_granted(&view));
    watch(&ben, "unreadable", &view, &watching);
    player_turn(&ben, 0); /* SET_WATCHES is sent */
    still_waits(&ben, "unreadable", mine, &view, &watching);
    assert_int_equal(leave(&ana, "unreadable", id), 0);
    assert_true(gets_its_turn(&ben, "unreadable", &view, &watching));
    player_close(&ana);
    player_close(&ben);
}

/* Whichever allocation fails: the place is created or not, and can be left. */
static void enter_with_each_allocation_failing(void **state)
{
    struct player ana;
    bool          struck = true;

    (void)state;
    assert_int_equal(witness_create("/enters"), 0);
    open_as(&ana, "ana");
    for (unsigned which = 1; struck; which++) {
        struct request entering = { .req = { .op = HF_ENTER,
                                             .name = "enters",
                                             .id = ++ana.ids,
                                             .shape = MUTEX,
                                             .note = "a note" } };
        fail_nth = which;
        int r = player_run(&ana, &entering);
        struck = fail_nth == 0;
        fail_nth = 0;
        assert_true(r == 0 || r == HF_ENOMEM || r == HF_EDOWN);
        assert_int_equal(leave(&ana, "enters", entering.req.id), 0);
        assert_int_equal(witness_count("/enters"), 0);
    }
    player_close(&ana);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_ahead_changes_without_memory),
        cmocka_unit_test(node_ahead_is_unreadable_without_memory),
        cmocka_unit_test(enter_with_each_allocation_failing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
