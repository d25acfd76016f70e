/* claim.c - a claim is a place and the node `claim`: both come and go together.  And what
 * happens if somebody deletes one of them, or if another claims just then.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/connected.h"
#include "lib/witness.h"
#include "lib/zkproxy.h"

#include <stdio.h>
#include <string.h>

#define LIMIT_MS 30000
#define QUIET_MS 300

enum { MULTI = 14 }; /* opcode */

static struct zkproxy *proxy;
static struct zkraw    other; /* another program, or a person */

/* The path of the claim's place in a folder; until the next call. */
static const char *place_in(const char *folder)
{
    static char    path[128];
    struct witness seen;

    witness_look(folder, &seen);
    for (size_t i = 0; i < seen.count; i++)
        if (strstr(seen.name[i], "-claim-") != NULL) {
            snprintf(path, sizeof path, "%s/%.80s", folder, seen.name[i]);
            return path;
        }
    fail_msg("no place in %s", folder);
    return NULL;
}

/* An ENTER that has found the line free: what makes the nodes is kept from the server. */
static uint64_t enter_half(struct player *player, const char *name, struct ask *ret)
{
    *ret = (struct ask){ .req = { .op = HF_ENTER,
                                  .name = name,
                                  .id = ++player->ids,
                                  .shape = CLAIM,
                                  .only_free = true } };
    zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_FREEZE_BEFORE, MULTI, 1, 0 });
    player_submit(player, ret);
    for (int turns = 0; turns < 3000 && !zkproxy_has_struck(proxy); turns++)
        player_turn(player, 1);
    assert_true(zkproxy_has_struck(proxy));
    return player->ids;
}

static void both_come_and_go(void **state)
{
    struct player a, b;
    struct ask    mine;

    (void)state;
    open_connected(&a, zkproxy_address(proxy));
    open_connected(&b, zkproxy_address(proxy));
    uint64_t id = enter(&a, "both", CLAIM, &mine);
    assert_true(is_granted(&mine));
    assert_int_equal(slot_of(&mine), -1);
    assert_int_equal(witness_count("/both"), 2);
    assert_int_equal(length(&b, "both"), 1);
    assert_int_equal(leave(&a, "both", id), 0);
    assert_int_equal(witness_count("/both"), 0);

    id = enter(&a, "both", CLAIM, &mine);
    assert_int_equal(take_away(&b, "both", place_of(&mine)), 0);
    assert_int_equal(witness_count("/both"), 0);
    assert_int_equal(leave(&a, "both", id), HF_ELOST);

    enter(&a, "both", CLAIM, &mine);
    player_close(&a);
    witness_await("/both", 0);
    player_close(&b);
}

/* Somebody asks for it while it is held. */
static void one_that_is_asked_for_is_left(void **state)
{
    struct player a, b;
    struct ask    mine;

    (void)state;
    open_connected(&a, zkproxy_address(proxy));
    open_connected(&b, zkproxy_address(proxy));
    uint64_t id = enter(&a, "asked", CLAIM, &mine);
    assert_int_equal(ask_for(&b, "asked", place_of(&mine), "why"), 0);
    assert_int_equal(look(&a, "asked", id, &mine), 0);
    assert_true(is_granted(&mine));
    assert_int_equal(leave(&a, "asked", id), 0);
    assert_int_equal(witness_count("/asked"), 0);
    player_close(&a);
    player_close(&b);
}

/* Two claims that both found it free: one of them makes nothing. */
static void the_second_of_two_makes_nothing(void **state)
{
    struct player a, b;
    struct ask    late, mine;

    (void)state;
    open_connected(&a, zkproxy_address(proxy));
    open_connected(&b, witness_server()); /* past the proxy */
    assert_int_equal(witness_create("/two"), 0);
    enter_half(&a, "two", &late);
    uint64_t id = enter(&b, "two", CLAIM, &mine);
    assert_true(is_granted(&mine));
    zkproxy_thaw(proxy);
    assert_true(player_await(&a, &late, LIMIT_MS));
    assert_true(is_refused(&late));
    assert_int_equal(witness_count("/two"), 2);
    assert_int_equal(prove(&b, "two", id), 0);
    assert_int_equal(leave(&b, "two", id), 0);
    assert_int_equal(witness_count("/two"), 0);
    player_close(&a);
    player_close(&b);
}

/* A mutex comes first: the claim stands behind it, and the mutex is held as before. */
static void a_mutex_comes_first(void **state)
{
    struct player a, b;
    struct ask    late, mine;

    (void)state;
    open_connected(&a, zkproxy_address(proxy));
    open_connected(&b, witness_server());
    assert_int_equal(witness_create("/first"), 0);
    uint64_t claims = enter_half(&a, "first", &late);
    uint64_t id = enter(&b, "first", MUTEX, &mine);
    assert_true(is_granted(&mine));
    zkproxy_thaw(proxy);
    assert_true(player_await(&a, &late, LIMIT_MS));
    assert_false(is_granted(&late));
    assert_int_equal(prove(&b, "first", id), 0);
    assert_int_equal(leave(&a, "first", claims), 0);
    assert_int_equal(witness_count("/first"), 1);
    assert_int_equal(leave(&b, "first", id), 0);
    player_close(&a);
    player_close(&b);
}

/* Somebody deletes both, and another claims it: that one is left alone. */
static void another_is_left_alone(void **state)
{
    struct player a;
    struct ask    mine;

    (void)state;
    open_connected(&a, zkproxy_address(proxy));
    for (int times = 0; times < 2; times++) {
        uint64_t   id = enter(&a, "alone", CLAIM, &mine);
        struct ask left = { .req = { .op = HF_LEAVE, .name = "alone", .id = id } };
        if (times == 1) { /* the delete is under way */
            zkproxy_rule(proxy,
                         &(struct zkproxy_rule){ ZKPROXY_FREEZE_BEFORE, MULTI, 1, 0 });
            player_submit(&a, &left);
            for (int turns = 0; turns < 3000 && !zkproxy_has_struck(proxy); turns++)
                player_turn(&a, 1);
            assert_true(zkproxy_has_struck(proxy));
        }
        assert_int_equal(witness_delete_in(&other, place_in("/alone")), 0);
        int32_t error = witness_delete_in(&other, "/alone/claim");
        assert_true(error == 0 || error == -101); /* a was quicker */
        assert_int_equal(witness_create_in(&other, "/alone/x-claim-", "",
                                           WITNESS_SEQUENCE),
                         0);
        assert_int_equal(witness_create_in(&other, "/alone/claim", "x",
                                           WITNESS_EPHEMERAL),
                         0);
        zkproxy_thaw(proxy);
        if (times == 1)
            assert_true(player_await(&a, &left, LIMIT_MS));
        assert_int_equal(times == 1 ? left.req.status : leave(&a, "alone", id), HF_ELOST);
        assert_int_equal(witness_count("/alone"), 2);
        assert_int_equal(witness_delete_in(&other, place_in("/alone")), 0);
        assert_int_equal(witness_delete_in(&other, "/alone/claim"), 0);
    }
    player_close(&a);
}

/* Its place alone is deleted: the holder takes `claim` away, and then the next gets it. */
static void without_its_place(void **state)
{
    struct player a, b;
    struct ask    mine, watching, late;

    (void)state;
    open_connected(&a, zkproxy_address(proxy));
    open_connected(&b, zkproxy_address(proxy));
    uint64_t id = enter(&a, "place", CLAIM, &mine);
    watch(&a, "place", &mine, &watching);
    assert_int_equal(witness_delete_in(&other, place_in("/place")), 0);
    assert_true(player_await(&a, &watching, LIMIT_MS));
    assert_int_equal(prove(&a, "place", id), HF_ELOST);
    for (int turns = 0; turns < 3000 && witness_count("/place") > 0; turns++)
        player_turn(&a, 1);
    assert_int_equal(leave(&a, "place", id), HF_ELOST);
    uint64_t next = enter(&b, "place", CLAIM, &late);
    assert_true(is_granted(&late));
    assert_int_equal(leave(&b, "place", next), 0);
    assert_int_equal(witness_count("/place"), 0);
    player_close(&a);
    player_close(&b);
}

/* `claim` alone is deleted: it is held as before. */
static void without_its_claim(void **state)
{
    struct player a, b;
    struct ask    mine, late;

    (void)state;
    open_connected(&a, zkproxy_address(proxy));
    open_connected(&b, zkproxy_address(proxy));
    uint64_t id = enter(&a, "slot", CLAIM, &mine);
    assert_int_equal(witness_delete_in(&other, "/slot/claim"), 0);
    assert_int_equal(prove(&a, "slot", id), 0);
    enter(&b, "slot", CLAIM, &late);
    assert_true(is_refused(&late));
    assert_int_equal(leave(&a, "slot", id), 0);
    uint64_t next = enter(&b, "slot", CLAIM, &late);
    assert_true(is_granted(&late));
    assert_int_equal(leave(&b, "slot", next), 0);
    assert_int_equal(witness_count("/slot"), 0);
    player_close(&a);
    player_close(&b);
}

/* A `claim` that has no place is in everybody's way, is seen, and can be broken. */
static void a_claim_without_any_place(void **state)
{
    struct player a;
    struct ask    view, watching, found;

    (void)state;
    open_connected(&a, zkproxy_address(proxy));
    assert_int_equal(witness_create("/bare"), 0);
    for (int times = 0; times < 2; times++) {
        assert_int_equal(witness_create_in(&other, "/bare/claim", "note",
                                           WITNESS_EPHEMERAL),
                         0);
        view = (struct ask){
            .req = { .op = HF_ENTER, .name = "bare", .id = ++a.ids, .shape = MUTEX }
        };
        assert_int_equal(player_run(&a, &view), HF_EMISMATCH);
        assert_int_equal(witness_count("/bare"), 1);
        enter(&a, "bare", CLAIM, &view);
        assert_true(is_refused(&view));
        assert_int_equal(list(&a, "bare", &found), 0);
        assert_int_equal(found.count, 1);
        assert_true(found.seen[0].shape.claim);
        assert_int_equal(prove_token(&a, "bare", found.seen[0].token), 0);
        watch_place(&a, "bare", NULL, place_listed(&found.seen[0]), &watching);
        assert_false(player_await(&a, &watching, QUIET_MS));
        if (times == 0)
            assert_int_equal(witness_delete_in(&other, "/bare/claim"), 0);
        else
            assert_int_equal(take_away(&a, "bare", place_listed(&found.seen[0])), 0);
        assert_true(player_await(&a, &watching, LIMIT_MS));
        assert_int_equal(witness_count("/bare"), 0);
    }
    player_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_come_and_go),
        cmocka_unit_test(one_that_is_asked_for_is_left),
        cmocka_unit_test(the_second_of_two_makes_nothing),
        cmocka_unit_test(a_mutex_comes_first),
        cmocka_unit_test(another_is_left_alone),
        cmocka_unit_test(without_its_place),
        cmocka_unit_test(without_its_claim),
        cmocka_unit_test(a_claim_without_any_place),
    };

    proxy = zkproxy_start(witness_server());
    assert_true(zkraw_open(&other, witness_server(), 30000));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    zkraw_close(&other);
    zkproxy_stop(proxy);
    return failed;
}
