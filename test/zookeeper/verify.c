/* verify.c - the grant, LIST and VERIFY apply one rule, also when places of several kinds
 * are in one folder. */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/clients.h"
#include "lib/fixture.h"
#include "lib/witness.h"

#include <stdio.h>

#define FOREIGN "_c_00000000-0000-4000-8000-000000000001-"

/* Another program creates a place of this kind. */
static void queue_foreign_place(const char *name, const char *kind)
{
    char path[160];

    snprintf(path, sizeof path, "/%s/" FOREIGN "%s", name, kind);
    assert_int_equal(witness_create_in(&foreign, path, "", WITNESS_SEQUENCE), 0);
}

/* Exactly the first place in the line is held, by the rule and by VERIFY. */
static void check_first_holds(struct player *player, const char *name, size_t places)
{
    struct request found;

    assert_int_equal(list(player, name, &found), 0);
    assert_int_equal(found.count, places);
    for (size_t i = 0; i < found.count; i++) {
        assert_int_equal(is_held(&found, i), i == 0);
        assert_int_equal(verify_token(player, name, found.seen[i].token),
                         i == 0 ? 0 : HF_ELOST);
    }
}

/* Behind the holder, add places of other kinds, one at a time. */
static void hold_before(const char *what, struct hf_shape shape,
                        const char *const kinds[static 4])
{
    struct player  a, b;
    struct request mine;
    char           name[32];

    player_connect(&a, witness_server());
    player_connect(&b, witness_server());
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s before %d", what, i);
        uint64_t id = enter(&a, name, shape, &mine);
        assert_true(is_granted(&mine));
        check_first_holds(&b, name, 1);
        queue_foreign_place(name, kinds[i]);
        check_first_holds(&b, name, 2);
        assert_int_equal(verify_token(&b, name, token_of(&mine)), 0);
        assert_int_equal(verify(&a, name, id), 0);
        assert_int_equal(leave(&a, name, id), 0);
        check_first_holds(&b, name, 1);
    }
    player_close(&a);
    player_close(&b);
}

static void claim_stays_held_before_other_kinds(void **state)
{
    (void)state;
    hold_before("claim", CLAIM,
                (const char *[4]){ "lock-", "__READ__", "__WRIT__", "sem-3-1-" });
}

static void mutex_stays_held_before_other_kinds(void **state)
{
    (void)state;
    hold_before("mutex", MUTEX,
                (const char *[4]){ "__READ__", "__WRIT__", "sem-3-1-", "sem-5-5-" });
}

/* No place behind the first is held, not even one of the first one's kind that would fit,
 * if another kind stands between them. */
static void only_the_first_of_mixed_kinds_is_held(void **state)
{
    static const char *const kinds[] = { "sem-3-1-", "lock-", "sem-3-1-", "__READ__",
                                         "sem-3-1-" };
    struct player            a;

    (void)state;
    player_connect(&a, witness_server());
    assert_int_equal(witness_create("/between"), 0);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        queue_foreign_place("between", kinds[i]);
        check_first_holds(&a, "between", i + 1);
    }
    player_close(&a);
}

/* Curator's Revoker writes its own text over all data of a node. */
static void check_revoked(const char *params, const char *name)
{
    static char    url[96];
    struct player  a, b;
    struct request mine, found;
    struct witness seen;
    char           path[160];

    snprintf(url, sizeof url, "zk://%s?session=30s%s", witness_server(), params);
    player_connect_url(&a, url);
    player_connect(&b, witness_server());
    uint64_t id = enter(&a, name, WRITER, &mine);
    uint64_t token = token_of(&mine);
    assert_int_equal(downgrade(&a, name, id, READER, &mine), 0);
    assert_true(token_of(&mine) == token);
    snprintf(path, sizeof path, "/%s", name);
    witness_look(path, &seen);
    assert_int_equal(seen.count, 1);
    snprintf(path, sizeof path, "/%s/%s", name, seen.name[0]);
    assert_int_equal(witness_write_in(&foreign, path, "__REVOKE__"), 0);

    assert_int_equal(verify_token(&b, name, token), 0);
    assert_int_equal(list(&b, name, &found), 0);
    assert_int_equal(found.count, 1);
    assert_true(found.seen[0].token == token);
    watch(&a, name, &mine, &found);
    assert_true(player_await(&a, &found, 10000));
    assert_true(take_news(&mine, &found));
    assert_string_equal(asked_of(&mine), "");
    assert_int_equal(take_away(&b, name, token), 0);
    assert_int_equal(leave(&a, name, id), HF_ELOST);
    player_close(&a);
    player_close(&b);
}

static void revoked_reader_keeps_the_token_of_the_writer(void **state)
{
    (void)state;
    check_revoked("", "revoked");
    check_revoked("&style=kazoo", "revoked-kazoo");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_stays_held_before_other_kinds),
        cmocka_unit_test(mutex_stays_held_before_other_kinds),
        cmocka_unit_test(only_the_first_of_mixed_kinds_is_held),
        cmocka_unit_test(revoked_reader_keeps_the_token_of_the_writer),
    };

    return cmocka_run_group_tests(tests, start_foreign, stop_foreign);
}
