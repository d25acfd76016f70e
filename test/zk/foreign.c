/* foreign.c - places and other nodes that somebody else made, of a kind that we would not:
 * they count for what they are, whatever they are called.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 --jvm=-Djute.maxbuffer=50000000 */
#include "lib/promise.h"
#include "lib/witness.h"

#include <stdio.h>
#include <string.h>

#define LIMIT_MS 30000
#define QUIET_MS 300

static struct zkraw other; /* whoever makes them */

static void open_player(struct player *player)
{
    static char url[64];
    struct ask  nothing;

    snprintf(url, sizeof url, "zk://%s?session=30s", witness_server());
    promise_use(url);
    player_open(player);
    list(player, "nothing", &nothing); /* connected */
}

/* Nothing is too long to be waited for. */
static void a_long_name_is_waited_for(void **state)
{
    static const size_t lengths[] = { 100, 1100, 1125, 1130, 3000 };
    struct player       a;
    struct ask          view, found;
    char                name[32], folder[40], path[4000];

    (void)state;
    open_player(&a);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        snprintf(name, sizeof name, "long-%zu", lengths[i]);
        snprintf(folder, sizeof folder, "/%s", name);
        assert_int_equal(witness_create(folder), 0);
        int n = snprintf(path, sizeof path, "%s/", folder);
        memset(path + n, 'a', lengths[i]);
        snprintf(path + n + lengths[i], sizeof path - (size_t)n - lengths[i],
                 "-lock-0000000000");
        assert_int_equal(witness_create_in(&other, path, "x", WITNESS_EPHEMERAL), 0);
        uint64_t id = enter(&a, name, MUTEX, &view);
        assert_false(is_granted(&view));
        assert_false(wait_for_turn(&a, name, &view, QUIET_MS));
        assert_int_equal(list(&a, name, &found), 0);
        assert_int_equal(found.count, 2); /* and is read, too */
        assert_int_equal(witness_delete_in(&other, path), 0);
        assert_int_equal(look(&a, name, id, &view), 0);
        assert_true(is_granted(&view));
        assert_int_equal(leave(&a, name, id), 0);
    }
    player_close(&a);
}

/* A writer of Curator's that becomes a reader makes its new place with the number of the
 * old one, and then deletes that: whichever comes first by name. */
static void two_places_with_one_number(void **state)
{
    static const char *const ids[2] = { "00000000-2222-4333-8444-555555555555",
                                        "ffffffff-1111-4333-8444-555555555555" };
    struct player            a;
    struct ask               view, watching;
    char                     name[24], folder[32], writer[128], reader[128];

    (void)state;
    open_player(&a);
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "twins-%d", i);
        snprintf(folder, sizeof folder, "/%s", name);
        snprintf(writer, sizeof writer, "%s/_c_%s-__WRIT__0000000000", folder, ids[i]);
        snprintf(reader, sizeof reader, "%s/_c_%s-__READ__0000000000", folder,
                 ids[1 - i]);
        assert_int_equal(witness_create(folder), 0);
        assert_int_equal(witness_create_in(&other, writer, "", WITNESS_EPHEMERAL), 0);
        assert_int_equal(witness_create_in(&other, reader, "", WITNESS_EPHEMERAL), 0);
        uint64_t id = enter(&a, name, READER, &view);
        assert_false(is_granted(&view));
        watch(&a, name, &view, &watching);
        assert_false(player_await(&a, &watching, QUIET_MS)); /* it listens by now */
        assert_int_equal(witness_delete_in(&other, writer), 0);
        assert_true(player_await(&a, &watching, LIMIT_MS));
        assert_int_equal(look(&a, name, id, &view), 0);
        assert_true(is_granted(&view));
        assert_int_equal(leave(&a, name, id), 0);
        assert_int_equal(witness_delete_in(&other, reader), 0);
    }
    player_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_name_is_waited_for),
        cmocka_unit_test(two_places_with_one_number),
    };

    assert_true(zkraw_open(&other, witness_server(), 30000));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    zkraw_close(&other);
    return failed;
}
