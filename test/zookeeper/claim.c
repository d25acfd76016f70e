/* claim.c - a claim has two nodes, a place and `claim`, which are created and deleted
 * together; and what happens if somebody deletes one of them, or another client claims
 * at the same time.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/clients.h"
#include "lib/fixture.h"
#include "lib/witness.h"

#include <stdio.h>
#include <string.h>

#define LIMIT_MS 30000
#define QUIET_MS 300

enum { MULTI = 14 }; /* opcode */

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

/* Start an ENTER that has found the line free, and hold back its MULTI. */
static uint64_t enter_half(struct player *player, const char *name, struct request *ret)
{
    *ret = (struct request){ .req = { .op = HF_ENTER,
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

static void both_nodes_are_created_and_deleted_together(void **state)
{
    struct player  a, b;
    struct request mine;

    (void)state;
    player_connect(&a, zkproxy_address(proxy));
    player_connect(&b, zkproxy_address(proxy));
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

/* Another client asks for it while it is held. */
static void claim_can_be_left_after_an_ask(void **state)
{
    struct player  a, b;
    struct request mine;

    (void)state;
    player_connect(&a, zkproxy_address(proxy));
    player_connect(&b, zkproxy_address(proxy));
    uint64_t id = enter(&a, "asked", CLAIM, &mine);
    assert_int_equal(ask_for(&b, "asked", place_of(&mine), "why"), 0);
    assert_int_equal(look(&a, "asked", id, &mine), 0);
    assert_true(is_granted(&mine));
    assert_int_equal(leave(&a, "asked", id), 0);
    assert_int_equal(witness_count("/asked"), 0);
    player_close(&a);
    player_close(&b);
}

/* Two claims both found the lock free: one of them creates nothing. */
static void second_of_two_claims_creates_nothing(void **state)
{
    struct player  a, b;
    struct request late, mine;

    (void)state;
    player_connect(&a, zkproxy_address(proxy));
    player_connect(&b, witness_server()); /* not through the proxy */
    assert_int_equal(witness_create("/two"), 0);
    enter_half(&a, "two", &late);
    uint64_t id = enter(&b, "two", CLAIM, &mine);
    assert_true(is_granted(&mine));
    zkproxy_thaw(proxy);
    assert_true(player_await(&a, &late, LIMIT_MS));
    assert_true(is_refused(&late));
    assert_int_equal(witness_count("/two"), 2);
    assert_int_equal(verify(&b, "two", id), 0);
    assert_int_equal(leave(&b, "two", id), 0);
    assert_int_equal(witness_count("/two"), 0);
    player_close(&a);
    player_close(&b);
}

/* A mutex comes first: the claim stands behind it, and the mutex is still held. */
static void claim_behind_a_mutex_is_not_granted(void **state)
{
    struct player  a, b;
    struct request late, mine;

    (void)state;
    player_connect(&a, zkproxy_address(proxy));
    player_connect(&b, witness_server());
    assert_int_equal(witness_create("/first"), 0);
    uint64_t claims = enter_half(&a, "first", &late);
    uint64_t id = enter(&b, "first", MUTEX, &mine);
    assert_true(is_granted(&mine));
    zkproxy_thaw(proxy);
    assert_true(player_await(&a, &late, LIMIT_MS));
    assert_false(is_granted(&late));
    assert_int_equal(verify(&b, "first", id), 0);
    assert_int_equal(leave(&a, "first", claims), 0);
    assert_int_equal(witness_count("/first"), 1);
    assert_int_equal(leave(&b, "first", id), 0);
    player_close(&a);
    player_close(&b);
}

/* Somebody deletes both nodes, and another client claims: that claim must stay. */
static void claim_of_another_client_is_not_deleted(void **state)
{
    struct player  a;
    struct request mine;

    (void)state;
    player_connect(&a, zkproxy_address(proxy));
    for (int times = 0; times < 2; times++) {
        uint64_t       id = enter(&a, "another", CLAIM, &mine);
        struct request left = { .req = { .op = HF_LEAVE, .name = "another", .id = id } };
        if (times == 1) { /* the delete is in flight */
            zkproxy_rule(proxy,
                         &(struct zkproxy_rule){ ZKPROXY_FREEZE_BEFORE, MULTI, 1, 0 });
            player_submit(&a, &left);
            for (int turns = 0; turns < 3000 && !zkproxy_has_struck(proxy); turns++)
                player_turn(&a, 1);
            assert_true(zkproxy_has_struck(proxy));
        }
        assert_int_equal(witness_delete_in(&foreign, place_in("/another")), 0);
        int32_t error = witness_delete_in(&foreign, "/another/claim");
        assert_true(error == 0 || error == -101); /* `a` was quicker */
        assert_int_equal(witness_create_in(&foreign, "/another/x-claim-", "",
                                           WITNESS_SEQUENCE),
                         0);
        assert_int_equal(witness_create_in(&foreign, "/another/claim", "x",
                                           WITNESS_EPHEMERAL),
                         0);
        zkproxy_thaw(proxy);
        if (times == 1)
            assert_true(player_await(&a, &left, LIMIT_MS));
        assert_int_equal(times == 1 ? left.req.status : leave(&a, "another", id),
                         HF_ELOST);
        for (int trips = 0; trips < 2;
             trips++) /* time to read `claim`, and to delete it */
            (void)length(&a, "another");
        assert_int_equal(witness_count("/another"), 2);
        assert_int_equal(witness_delete_in(&foreign, place_in("/another")), 0);
        assert_int_equal(witness_delete_in(&foreign, "/another/claim"), 0);
    }
    player_close(&a);
}

/* Somebody deletes its place only: the holder deletes `claim`, and then the next client
 * gets it. */
static void holder_without_its_place_deletes_claim(void **state)
{
    struct player  a, b;
    struct request mine, watching, late;

    (void)state;
    player_connect(&a, zkproxy_address(proxy));
    player_connect(&b, zkproxy_address(proxy));
    uint64_t id = enter(&a, "place", CLAIM, &mine);
    watch(&a, "place", &mine, &watching);
    assert_int_equal(witness_delete_in(&foreign, place_in("/place")), 0);
    assert_true(player_await(&a, &watching, LIMIT_MS));
    assert_int_equal(verify(&a, "place", id), HF_ELOST);
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

/* Somebody deletes `claim` only: the claim is still held. */
static void holder_without_claim_still_holds(void **state)
{
    struct player  a, b;
    struct request mine, late;

    (void)state;
    player_connect(&a, zkproxy_address(proxy));
    player_connect(&b, zkproxy_address(proxy));
    uint64_t id = enter(&a, "slot", CLAIM, &mine);
    assert_int_equal(witness_delete_in(&foreign, "/slot/claim"), 0);
    assert_int_equal(verify(&a, "slot", id), 0);
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

/* A `claim` without a place blocks everybody, is listed, and can be broken. */
static void claim_without_a_place_blocks_and_can_be_broken(void **state)
{
    struct player  a;
    struct request view, watching, found;

    (void)state;
    player_connect(&a, zkproxy_address(proxy));
    assert_int_equal(witness_create("/bare"), 0);
    for (int times = 0; times < 2; times++) {
        assert_int_equal(witness_create_in(&foreign, "/bare/claim", "note",
                                           WITNESS_EPHEMERAL),
                         0);
        view = (struct request){
            .req = { .op = HF_ENTER, .name = "bare", .id = ++a.ids, .shape = MUTEX }
        };
        assert_int_equal(player_run(&a, &view), HF_EMISMATCH);
        assert_int_equal(witness_count("/bare"), 1);
        enter(&a, "bare", CLAIM, &view);
        assert_true(is_refused(&view));
        assert_int_equal(list(&a, "bare", &found), 0);
        assert_int_equal(found.count, 1);
        assert_true(found.seen[0].shape.claim);
        assert_int_equal(verify_token(&a, "bare", found.seen[0].token), 0);
        watch_place(&a, "bare", NULL, place_listed(&found.seen[0]), &watching);
        assert_false(player_await(&a, &watching, QUIET_MS));
        if (times == 0)
            assert_int_equal(witness_delete_in(&foreign, "/bare/claim"), 0);
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
        cmocka_unit_test(both_nodes_are_created_and_deleted_together),
        cmocka_unit_test(claim_can_be_left_after_an_ask),
        cmocka_unit_test(second_of_two_claims_creates_nothing),
        cmocka_unit_test(claim_behind_a_mutex_is_not_granted),
        cmocka_unit_test(claim_of_another_client_is_not_deleted),
        cmocka_unit_test(holder_without_its_place_deletes_claim),
        cmocka_unit_test(holder_without_claim_still_holds),
        cmocka_unit_test(claim_without_a_place_blocks_and_can_be_broken),
    };

    return cmocka_run_group_tests(tests, start_both, stop_both);
}
