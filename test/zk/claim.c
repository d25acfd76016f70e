/* claim.c - a claim that is taken away and claimed by somebody else while its holder does
 * not look: all claims of a lock have one name, so the holder must not take the other's
 * for its own.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/promise.h"
#include "lib/witness.h"
#include "lib/zkproxy.h"

#include <stdio.h>

#define LIMIT_MS 30000

enum { DELETE = 2, SET_DATA = 5 }; /* opcodes */

static struct zkproxy *proxy;
static struct zkraw    other; /* whoever claims it next */
static char            url[64];

static void open_player(struct player *player)
{
    struct ask nothing;

    promise_use(url);
    player_open(player);
    list(player, "nothing", &nothing); /* connected */
}

/* `path` is now somebody else's. */
static void replace(const char *path)
{
    assert_int_equal(witness_delete_in(&other, path), 0);
    assert_int_equal(witness_create_in(&other, path, "next", WITNESS_EPHEMERAL), 0);
}

static void check_others(const char *folder, const char *path)
{
    assert_int_equal(witness_count(folder), 1);
    assert_int_equal(witness_delete_in(&other, path), 0);
}

static void leaving_does_not_take_it(void **state)
{
    struct player a;
    struct ask    mine;

    (void)state;
    open_player(&a);
    for (int times = 0; times < 5; times++) {
        uint64_t id = enter(&a, "leave", CLAIM, &mine);
        assert_true(is_granted(&mine));
        replace("/leave/claim");
        assert_int_equal(leave(&a, "leave", id), HF_ELOST);
        assert_int_equal(leave(&a, "leave", id), HF_ELOST); /* as often as it is asked */
        check_others("/leave", "/leave/claim");
    }
    player_close(&a);
}

/* It changes hands while our request is on its way. */
static void leaving_at_the_last_moment_does_not_take_it(void **state)
{
    static const int32_t moments[] = { SET_DATA, DELETE };
    struct player        a;
    struct ask           mine;

    (void)state;
    open_player(&a);
    for (int i = 0; i < 2; i++) {
        uint64_t   id = enter(&a, "last", CLAIM, &mine);
        struct ask left = { .req = { .op = HF_LEAVE, .name = "last", .id = id } };
        zkproxy_rule(proxy,
                     &(struct zkproxy_rule){ ZKPROXY_FREEZE_BEFORE, moments[i], 1, 0 });
        player_submit(&a, &left);
        for (int turns = 0; turns < 3000 && !zkproxy_has_struck(proxy); turns++)
            player_turn(&a, 1);
        assert_true(zkproxy_has_struck(proxy));
        replace("/last/claim");
        zkproxy_thaw(proxy);
        assert_true(player_await(&a, &left, LIMIT_MS));
        assert_int_equal(left.req.status, HF_ELOST);
        check_others("/last", "/last/claim");
    }
    player_close(&a);
}

static void watching_tells_that_it_is_gone(void **state)
{
    struct player a;
    struct ask    mine, watching;

    (void)state;
    open_player(&a);
    uint64_t id = enter(&a, "watch", CLAIM, &mine);
    replace("/watch/claim");
    watch(&a, "watch", &mine, &watching);
    assert_true(player_await(&a, &watching, LIMIT_MS));
    assert_int_equal(look(&a, "watch", id, &mine), 0);
    assert_false(is_granted(&mine));
    assert_int_equal(leave(&a, "watch", id), HF_ELOST);
    check_others("/watch", "/watch/claim");
    player_close(&a);
}

static void it_is_not_proven_by_the_others(void **state)
{
    struct player a;
    struct ask    mine;

    (void)state;
    open_player(&a);
    uint64_t   id = enter(&a, "prove", CLAIM, &mine);
    struct ask proof = { .req = { .op = HF_PROVE, .name = "prove", .id = id } };
    assert_int_equal(player_run(&a, &proof), 0);
    replace("/prove/claim");
    assert_int_equal(player_run(&a, &proof), HF_ELOST);
    assert_int_equal(leave(&a, "prove", id), HF_ELOST);
    check_others("/prove", "/prove/claim");
    player_close(&a);
}

/* Somebody asked for it: that is no change of hands. */
static void one_that_is_asked_for_is_left(void **state)
{
    struct player a, b;
    struct ask    mine;

    (void)state;
    open_player(&a);
    open_player(&b);
    for (int times = 0; times < 3; times++) {
        uint64_t id = enter(&a, "asked", CLAIM, &mine);
        for (int i = 0; i < times; i++)
            assert_int_equal(ask_for(&b, "asked", my_ticket(&mine)->seq, "why"), 0);
        assert_int_equal(leave(&a, "asked", id), 0);
        assert_int_equal(witness_count("/asked"), 0);
    }
    player_close(&a);
    player_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaving_does_not_take_it),
        cmocka_unit_test(leaving_at_the_last_moment_does_not_take_it),
        cmocka_unit_test(watching_tells_that_it_is_gone),
        cmocka_unit_test(it_is_not_proven_by_the_others),
        cmocka_unit_test(one_that_is_asked_for_is_left),
    };

    proxy = zkproxy_start(witness_server());
    assert_true(zkraw_open(&other, witness_server(), 30000));
    snprintf(url, sizeof url, "zk://%s?session=30s", zkproxy_address(proxy));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    zkraw_close(&other);
    zkproxy_stop(proxy);
    return failed;
}
