/* companions.c - a node slot-N or `claim` goes with its place, however the place ended and
 * whatever was lost meanwhile: a slot that stays while its client lives is one that nobody
 * else ever gets.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=60000 */
#include "lib/clients.h"
#include "lib/fixture.h"
#include "lib/witness.h"

#include <stdio.h>
#include <string.h>

#define LIMIT_MS 30000

enum { DELETE = 2, GET_DATA = 4, MULTI = 14 };

/* The path of the only place in a folder; until the next call. */
static const char *place_in(const char *folder)
{
    static char    path[2 * WITNESS_NAME];
    struct witness seen;
    const char    *place = NULL;

    witness_look(folder, &seen);
    for (size_t i = 0; i < seen.count; i++)
        if (strncmp(seen.name[i], "_c_", 3) == 0) {
            assert_null(place);
            place = seen.name[i];
        }
    assert_non_null(place);
    snprintf(path, sizeof path, "%s/%s", folder, place);
    return path;
}

/* Nothing is left in the folder, while the client lives. */
static void await_empty(struct player *player, const char *folder)
{
    for (int i = 0; i < LIMIT_MS / 10 && witness_count(folder) > 0; i++)
        player_turn(player, 10);
    assert_int_equal(witness_count(folder), 0);
}

/* An ENTER that is to be granted, until the fault at its `opcode`. */
static void enter_until_struck(struct player *player, const char *name,
                               enum zkproxy_fault fault, int32_t opcode,
                               struct request *ret)
{
    zkproxy_rule(proxy, &(struct zkproxy_rule){ fault, opcode, 1, 0 });
    *ret = (struct request){ .req = { .op = HF_ENTER,
                                      .name = name,
                                      .id = ++player->ids,
                                      .shape = semaphore(2, 1) } };
    player_submit(player, ret);
    for (int i = 0; i < LIMIT_MS && !zkproxy_has_struck(proxy); i++)
        player_turn(player, 1);
    assert_true(zkproxy_has_struck(proxy));
    assert_int_equal(ret->answers, 0);
}

/* Somebody breaks the place while its owner takes a slot. */
static void place_broken_before_it_has_a_slot(void **state)
{
    struct player  owner, breaker;
    struct request mine, seen;

    (void)state;
    player_open_60s(&owner, zkproxy_address(proxy));
    player_open_60s(&breaker, witness_server());
    assert_int_equal(leave(&owner, "before", ++owner.ids), 0); /* it is connected */
    enter_until_struck(&owner, "before", ZKPROXY_FREEZE_BEFORE, MULTI, &mine);
    assert_int_equal(list(&breaker, "before", &seen), 0);
    assert_int_equal(seen.count, 1);
    assert_int_equal(take_away(&breaker, "before", place_listed(&seen.seen[0])), 0);
    zkproxy_thaw(proxy);
    assert_true(player_await(&owner, &mine, LIMIT_MS));
    assert_int_equal(mine.req.status, 0);
    assert_false(has_place(&mine));
    await_empty(&owner, "/before");
    player_close(&owner);
    player_close(&breaker);
}

/* It has its slot, but never heard of it, and then its place is gone: as when BREAK looked
 * before there was a slot. */
static void place_deleted_while_the_slot_is_unknown(void **state)
{
    struct player  owner;
    struct request mine;

    (void)state;
    player_open_60s(&owner, zkproxy_address(proxy));
    assert_int_equal(leave(&owner, "unknown", ++owner.ids), 0);
    enter_until_struck(&owner, "unknown", ZKPROXY_FREEZE_AFTER, MULTI, &mine);
    assert_int_equal(witness_count("/unknown"), 2);
    assert_int_equal(witness_delete(place_in("/unknown")), 0);
    zkproxy_drop(proxy);
    zkproxy_thaw(proxy);
    assert_true(player_await(&owner, &mine, LIMIT_MS));
    assert_int_equal(mine.req.status, HF_EDOWN);
    mine.answers = 0;
    while (player_run(&owner, &mine) == HF_EDOWN)
        mine.answers = 0;
    assert_int_equal(mine.req.status, 0);
    assert_true(is_granted(&mine));
    for (int i = 0; i < LIMIT_MS / 10 && witness_count("/unknown") > 2; i++)
        player_turn(&owner, 10);
    assert_int_equal(witness_count("/unknown"), 2);
    assert_int_equal(leave(&owner, "unknown", mine.req.id), 0);
    await_empty(&owner, "/unknown");
    player_close(&owner);
}

/* The connection breaks while the owner of a deleted place deletes its companion. */
static void companion_goes_after_a_lost_connection(void **state)
{
    static const int32_t lost[] = { GET_DATA, DELETE };
    struct player        owner;
    struct request       mine, watching;
    char                 name[16], folder[32];

    (void)state;
    player_open_60s(&owner, zkproxy_address(proxy));
    for (unsigned i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "lost-%u", i);
        snprintf(folder, sizeof folder, "/%s", name);
        enter(&owner, name, i & 1 ? CLAIM : semaphore(2, 1), &mine);
        watch(&owner, name, &mine, &watching);
        assert_int_equal(witness_count(folder), 2);
        zkproxy_rule(proxy, &(struct zkproxy_rule){ i & 2 ? ZKPROXY_DROP_AFTER
                                                          : ZKPROXY_DROP_BEFORE,
                                                    lost[i / 4], 1, 0 });
        assert_int_equal(witness_delete(place_in(folder)), 0);
        await_empty(&owner, folder);
        assert_true(zkproxy_has_struck(proxy));
        end_watch(&owner, &watching);
        assert_int_equal(leave(&owner, name, mine.req.id), HF_ELOST);
    }
    player_close(&owner);
}

/* The owner leaves, but its request is lost; meanwhile somebody deletes the place. */
static void companion_goes_after_a_lost_release(void **state)
{
    struct player  owner;
    struct request mine, left;
    char           name[16], folder[32];

    (void)state;
    player_open_60s(&owner, zkproxy_address(proxy));
    for (int claims = 0; claims < 2; claims++) {
        snprintf(name, sizeof name, "left-%d", claims);
        snprintf(folder, sizeof folder, "/%s", name);
        enter(&owner, name, claims ? CLAIM : semaphore(2, 1), &mine);
        zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_DROP_BEFORE, MULTI, 1, -1 });
        left = (struct request){ .req = {
                                     .op = HF_LEAVE, .name = name, .id = mine.req.id } };
        assert_int_equal(player_run(&owner, &left), HF_EDOWN);
        assert_int_equal(witness_delete(place_in(folder)), 0);
        zkproxy_refuse(proxy, 0);
        (void)leave(&owner, name, mine.req.id);
        await_empty(&owner, folder);
    }
    player_close(&owner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(place_broken_before_it_has_a_slot),
        cmocka_unit_test(place_deleted_while_the_slot_is_unknown),
        cmocka_unit_test(companion_goes_after_a_lost_connection),
        cmocka_unit_test(companion_goes_after_a_lost_release),
    };

    return cmocka_run_group_tests(tests, start_proxy, stop_proxy);
}
