/* broken_release.c - S8 when two things come together: somebody breaks a place, and the answer
 * to its owner's LEAVE is lost.  The owner finds no node, and must not take that for its own
 * work.  BREAK writes to the folder, so that the owner can tell.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/clients.h"
#include "lib/fixture.h"
#include "lib/witness.h"

#include <stdio.h>
#include <string.h>

enum { DELETE = 2, MULTI = 14 };

/* The owner, behind the proxy; the next in line; and somebody who breaks places. */
struct trio {
    struct player  owner, next, breaker;
    struct request mine, theirs;
    const char    *name;
    int32_t        deletes_by; /* the opcode of LEAVE */
};

/* The owner holds the lock, and the next one waits. */
static void trio_open(struct trio *trio, const char *name, struct hf_shape shape)
{
    *trio = (struct trio){ .name = name };
    trio->deletes_by = shape.claim || shape.capacity > 1 ? MULTI : DELETE;
    player_connect(&trio->owner, zkproxy_address(proxy));
    player_connect(&trio->next, witness_server());
    player_connect(&trio->breaker, witness_server());
    enter(&trio->owner, name, shape, &trio->mine);
    assert_true(is_granted(&trio->mine));
    if (!shape.claim)
        enter(&trio->next, name, shape, &trio->theirs);
}

static void trio_close(struct trio *trio)
{
    zkproxy_rule(proxy, NULL);
    player_close(&trio->owner);
    player_close(&trio->next);
    player_close(&trio->breaker);
}

/* The owner releases it; the request, or the answer, is lost.  Until leave_again() it has no
 * connection. */
static void leave_unanswered(struct trio *trio, enum zkproxy_fault fault)
{
    struct request left = {
        .req = { .op = HF_LEAVE, .name = trio->name, .id = trio->mine.req.id }
    };

    zkproxy_rule(proxy, &(struct zkproxy_rule){ fault, DELETE, 1, -1 });
    assert_int_equal(player_run(&trio->owner, &left), HF_EDOWN);
    assert_true(zkproxy_has_struck(proxy));
}

/* The same of a place that somebody has broken, after zkproxy_freeze(): the owner has not heard
 * of that. */
static void leave_unheard(struct trio *trio)
{
    struct request left = {
        .req = { .op = HF_LEAVE, .name = trio->name, .id = trio->mine.req.id }
    };
    uint64_t before = zkproxy_requests(proxy, trio->deletes_by);

    player_submit(&trio->owner, &left);
    for (int i = 0; i < 30000 && zkproxy_requests(proxy, trio->deletes_by) == before; i++)
        player_turn(&trio->owner, 1);
    assert_int_equal(left.answers, 0);
    zkproxy_refuse(proxy, -1);
    zkproxy_drop(proxy);
    zkproxy_thaw(proxy);
    assert_true(player_await(&trio->owner, &left, 30000));
    assert_int_equal(left.req.status, HF_EDOWN);
}

/* It is connected again, and repeats the release: what is the answer, and the next one? */
static int leave_again(struct trio *trio)
{
    zkproxy_refuse(proxy, 0);
    int status = leave(&trio->owner, trio->name, trio->mine.req.id);
    assert_int_equal(leave(&trio->owner, trio->name, trio->mine.req.id), status);
    return status;
}

/* Submit it, again if the store is not connected yet, until the proxy has frozen one of its
 * calls. */
static void submit_until_struck(struct player *player, struct request *request)
{
    player_submit(player, request);
    for (int i = 0; i < 30000 && !zkproxy_has_struck(proxy); i++) {
        player_turn(player, 1);
        if (request->answers > 0 && request->req.status == HF_EDOWN) {
            request->answers = 0;
            player_submit(player, request);
        }
    }
    assert_true(zkproxy_has_struck(proxy));
    assert_int_equal(request->answers, 0);
}

/* ---- Broken -------------------------------------------------------------------------- */

static void check_broken(const char *name, struct hf_shape shape)
{
    struct trio trio;

    trio_open(&trio, name, shape);
    zkproxy_freeze(proxy, ZKPROXY_DOWN);
    assert_int_equal(take_away(&trio.breaker, name, place_of(&trio.mine)), 0);
    if (shape.claim)
        enter(&trio.next, name, shape, &trio.theirs);
    else
        assert_int_equal(look(&trio.next, name, trio.theirs.req.id, &trio.theirs), 0);
    assert_true(is_granted(&trio.theirs));
    leave_unheard(&trio);
    assert_int_equal(leave_again(&trio), HF_ELOST);
    assert_int_equal(look(&trio.next, name, trio.theirs.req.id, &trio.theirs), 0);
    assert_true(is_granted(&trio.theirs));
    assert_int_equal(leave(&trio.next, name, trio.theirs.req.id), 0);
    trio_close(&trio);
}

static void release_of_a_broken_mutex_fails(void **state)
{
    (void)state;
    check_broken("mutex", MUTEX);
}

static void release_of_a_broken_slot_fails(void **state)
{
    (void)state;
    check_broken("slot", semaphore(2, 2));
}

static void release_of_a_broken_claim_fails(void **state)
{
    (void)state;
    check_broken("claim", CLAIM);
}

/* The node goes between the listing that recovers it and its reading. */
static void place_broken_during_recovery(void **state)
{
    enum { GET_DATA = 4 };
    struct trio    trio;
    struct request left;

    (void)state;
    trio_open(&trio, "meanwhile", MUTEX);
    leave_unanswered(&trio, ZKPROXY_DROP_BEFORE);
    zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_FREEZE_BEFORE, GET_DATA, 1, 0 });
    zkproxy_refuse(proxy, 0);
    left = (struct request){
        .req = { .op = HF_LEAVE, .name = trio.name, .id = trio.mine.req.id }
    };
    submit_until_struck(&trio.owner, &left);
    assert_int_equal(take_away(&trio.breaker, trio.name, place_of(&trio.mine)), 0);
    zkproxy_thaw(proxy);
    assert_true(player_await(&trio.owner, &left, 30000));
    assert_int_equal(left.req.status, HF_ELOST);
    trio_close(&trio);
}

/* ---- Not broken ---------------------------------------------------------------------- */

/* A place that was made after the break is not affected by it. */
static void release_after_a_break_is_true(void **state)
{
    struct trio    trio;
    struct request another;

    (void)state;
    for (int after = 0; after < 2; after++) {
        trio_open(&trio, "later", MUTEX);
        assert_int_equal(take_away(&trio.breaker, "later", place_of(&trio.mine)), 0);
        assert_int_equal(leave(&trio.owner, "later", trio.mine.req.id), HF_ELOST);
        assert_int_equal(leave(&trio.next, "later", trio.theirs.req.id), 0);
        enter(&trio.owner, "later", MUTEX, &trio.mine);
        enter(&trio.next, "later", MUTEX, &another);
        leave_unanswered(&trio, after ? ZKPROXY_DROP_AFTER : ZKPROXY_DROP_BEFORE);
        assert_int_equal(leave_again(&trio), 0);
        assert_int_equal(look(&trio.next, "later", another.req.id, &another), 0);
        assert_true(is_granted(&another));
        trio_close(&trio);
    }
}

/* The folder, which would show a break, was removed since, as the server does with empty ones.
 * Nobody can tell. */
static void release_without_its_folder_is_not_proven(void **state)
{
    struct trio trio;

    (void)state;
    for (int again = 0; again < 2; again++) {
        trio_open(&trio, "folder", MUTEX);
        assert_int_equal(leave(&trio.next, "folder", trio.theirs.req.id), 0);
        leave_unanswered(&trio, ZKPROXY_DROP_AFTER);
        assert_int_equal(witness_delete("/folder"), 0);
        if (again == 1)
            enter(&trio.next, "folder", MUTEX, &trio.theirs);
        assert_int_equal(leave_again(&trio), HF_ELOST);
        trio_close(&trio);
    }
}

/* ---- The folder ---------------------------------------------------------------------- */

/* Other programs may keep something in it: kazoo's semaphores their size. */
static void break_keeps_the_data_of_the_folder(void **state)
{
    struct zkraw raw;
    struct trio  trio;
    char         text[16];

    (void)state;
    assert_true(zkraw_open(&raw, witness_server(), 4000));
    assert_int_equal(witness_create_in(&raw, "/kept", "5\n", WITNESS_PLAIN), 0);
    trio_open(&trio, "kept", MUTEX);
    assert_int_equal(take_away(&trio.breaker, "kept", place_of(&trio.mine)), 0);
    assert_int_equal(take_away(&trio.breaker, "kept", place_of(&trio.theirs)), 0);
    assert_int_equal(witness_read_in(&raw, "/kept", text, sizeof text), 2);
    assert_string_equal(text, "5\n");
    zkraw_close(&raw);
    trio_close(&trio);
}

/* Somebody else writes to the folder between its reading and the MULTI. */
static void two_breaks_at_once(void **state)
{
    struct trio    trio;
    struct player  slow;
    struct request broken;

    (void)state;
    trio_open(&trio, "two", MUTEX);
    player_connect(&slow, zkproxy_address(proxy));
    broken = (struct request){ .req = { .op = HF_BREAK, .name = "two" } };
    name_place(&broken.req, place_of(&trio.theirs));
    zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_FREEZE_BEFORE, MULTI, 1, 0 });
    submit_until_struck(&slow, &broken);
    assert_int_equal(take_away(&trio.breaker, "two", place_of(&trio.mine)), 0);
    zkproxy_thaw(proxy);
    assert_true(player_await(&slow, &broken, 30000));
    assert_int_equal(broken.req.status, 0);
    assert_int_equal(witness_count("/two"), 0);
    player_close(&slow);
    trio_close(&trio);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(release_of_a_broken_mutex_fails),
        cmocka_unit_test(release_of_a_broken_slot_fails),
        cmocka_unit_test(release_of_a_broken_claim_fails),
        cmocka_unit_test(place_broken_during_recovery),
        cmocka_unit_test(release_after_a_break_is_true),
        cmocka_unit_test(release_without_its_folder_is_not_proven),
        cmocka_unit_test(break_keeps_the_data_of_the_folder),
        cmocka_unit_test(two_breaks_at_once),
    };

    return cmocka_run_group_tests(tests, start_proxy, stop_proxy);
}
