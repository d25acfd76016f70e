/* verify.c - a lock is held or not by one rule: what the grant, LIST and PROVE say is the same,
 * also where places of several kinds are in one folder.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/connected.h"
#include "lib/witness.h"

#include <stdio.h>

#define STRANGER "_c_00000000-0000-4000-8000-000000000001-"

static struct zkraw other; /* another program */

/* Another program makes a place whose name ends so. */
static void queue_stranger(const char *name, const char *kind)
{
    char path[160];

    snprintf(path, sizeof path, "/%s/" STRANGER "%s", name, kind);
    assert_int_equal(witness_create_in(&other, path, "", WITNESS_SEQUENCE), 0);
}

/* Of the places in a line exactly the first is held: by the rule, and by PROVE. */
static void check_first_holds(struct player *player, const char *name, size_t places)
{
    struct ask found;

    assert_int_equal(list(player, name, &found), 0);
    assert_int_equal(found.count, places);
    for (size_t i = 0; i < found.count; i++) {
        assert_int_equal(is_held(&found, i), i == 0);
        assert_int_equal(prove_token(player, name, found.seen[i].token),
                         i == 0 ? 0 : HF_ELOST);
    }
}

/* Of a lock that is held, places of other kinds come behind the holder, one at a time. */
static void hold_before(const char *what, struct hf_shape shape,
                        const char *const kinds[static 4])
{
    struct player a, b;
    struct ask    mine;
    char          name[32];

    open_connected(&a, witness_server());
    open_connected(&b, witness_server());
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s before %d", what, i);
        uint64_t id = enter(&a, name, shape, &mine);
        assert_true(is_granted(&mine));
        check_first_holds(&b, name, 1);
        queue_stranger(name, kinds[i]);
        check_first_holds(&b, name, 2);
        assert_int_equal(prove_token(&b, name, token_of(&mine)), 0);
        assert_int_equal(prove(&a, name, id), 0);
        assert_int_equal(leave(&a, name, id), 0);
        check_first_holds(&b, name, 1);
    }
    player_close(&a);
    player_close(&b);
}

static void a_claim_beside_other_kinds(void **state)
{
    (void)state;
    hold_before("claim", CLAIM,
                (const char *[4]){ "lock-", "__READ__", "__WRIT__", "sem-3-1-" });
}

static void other_kinds_behind_a_mutex(void **state)
{
    (void)state;
    hold_before("mutex", MUTEX,
                (const char *[4]){ "__READ__", "__WRIT__", "sem-3-1-", "sem-5-5-" });
}

/* None of those behind the first is held: not even one that is of the first one's kind, and
 * would fit, if another kind stands between them. */
static void one_kind_behind_another(void **state)
{
    static const char *const kinds[] = { "sem-3-1-", "lock-", "sem-3-1-", "__READ__",
                                         "sem-3-1-" };
    struct player            a;

    (void)state;
    open_connected(&a, witness_server());
    assert_int_equal(witness_create("/between"), 0);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        queue_stranger("between", kinds[i]);
        check_first_holds(&a, "between", i + 1);
    }
    player_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_beside_other_kinds),
        cmocka_unit_test(other_kinds_behind_a_mutex),
        cmocka_unit_test(one_kind_behind_another),
    };

    assert_true(zkraw_open(&other, witness_server(), 30000));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    zkraw_close(&other);
    return failed;
}
