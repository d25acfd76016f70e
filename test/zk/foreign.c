/* foreign.c - places and other nodes that somebody else made, of a kind that we would not:
 * they count for what they are, whatever they are called.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/connected.h"
#include "lib/witness.h"
#include "lib/zkproxy.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define LIMIT_MS 30000
#define QUIET_MS 300

static struct zkraw other; /* whoever makes them */

static long peak_kb(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* What we need to know of it does not grow with the number in it. */
static void a_slot_that_is_far_out(void **state)
{
    struct player a;
    struct ask    view;

    (void)state;
    open_connected(&a, witness_server());
    assert_int_equal(witness_create("/far"), 0);
    assert_int_equal(witness_create("/far/slot-4294967294"), 0);
    assert_int_equal(witness_create("/far/slot-1"), 0);
    long     before = peak_kb();
    uint64_t id[2];
    for (int i = 0; i < 2; i++) { /* 1 is taken by whoever made it */
        id[i] = enter(&a, "far", semaphore(3, 1), &view);
        assert_int_equal(slot_of(&view), 2 * i);
    }
    assert_true(peak_kb() - before < 100 * 1024);
    for (int i = 0; i < 2; i++)
        assert_int_equal(leave(&a, "far", id[i]), 0);
    player_close(&a);
}

/* More than 16 MB of names: an error that says so, and the connection is as good as
 * before. */
static void a_listing_that_is_too_long(void **state)
{
    static char     url[64], path[8100];
    struct zkproxy *proxy = zkproxy_start(witness_server());
    struct player   a;
    struct ask      view = { .req = { .op = HF_ENTER, .name = "lot", .id = 77 } };

    (void)state;
    snprintf(url, sizeof url, "zk://%s?session=30s", zkproxy_address(proxy));
    promise_use(url);
    player_open(&a);
    assert_int_equal(length(&a, "lot"), 0);
    assert_int_equal(witness_create("/lot"), 0);
    for (int i = 0; i < 2150; i++) {
        int n = snprintf(path, sizeof path, "/lot/%d-", i);
        memset(path + n, 'n', 8000 - (size_t)n);
        assert_int_equal(zkraw_create(&other, path), 0);
        if (i % 50 == 0)
            player_turn(&a, 0); /* it must not lose its server meanwhile */
    }
    view.req.shape = MUTEX;
    assert_int_equal(player_run(&a, &view), HF_ESTORE);
    assert_non_null(strstr(a.store->errmsg, "16 MB"));
    assert_int_equal(leave(&a, "lot", 77), 0);
    uint64_t id = enter(&a, "little", MUTEX, &view);
    assert_true(is_granted(&view));
    assert_int_equal(leave(&a, "little", id), 0);
    assert_int_equal(zkproxy_connections(proxy), 1);
    player_close(&a);
    zkproxy_stop(proxy);
}

/* Nothing is too long to be waited for. */
static void a_long_name_is_waited_for(void **state)
{
    static const size_t lengths[] = { 100, 1100, 1125, 1130, 3000 };
    struct player       a;
    struct ask          view, found;
    char                name[32], folder[40], path[4000];

    (void)state;
    open_connected(&a, witness_server());
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
    open_connected(&a, witness_server());
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

/* The same of mutexes: the one that is listened to goes last. */
static void two_mutexes_with_one_number(void **state)
{
    static const char *const paths[2] = { "/same/a-lock-0000000000",
                                          "/same/b-lock-0000000000" };
    struct player            a;
    struct ask               view;

    (void)state;
    open_connected(&a, witness_server());
    assert_int_equal(witness_create("/same"), 0);
    for (int last = 0; last < 2; last++) {
        for (int i = 0; i < 2; i++)
            assert_int_equal(witness_create_in(&other, paths[i], "", WITNESS_EPHEMERAL),
                             0);
        uint64_t id = enter(&a, "same", MUTEX, &view);
        assert_false(wait_for_turn(&a, "same", &view, QUIET_MS)); /* it listens by now */
        assert_int_equal(witness_delete_in(&other, paths[1 - last]), 0);
        assert_false(wait_for_turn(&a, "same", &view, QUIET_MS));
        assert_int_equal(witness_delete_in(&other, paths[last]), 0);
        assert_true(wait_for_turn(&a, "same", &view, LIMIT_MS));
        assert_int_equal(leave(&a, "same", id), 0);
    }
    player_close(&a);
}

/* Another program may delete the empty folder, make it anew and queue in it in one
 * transaction.  Its place then has the number that would have been our next. */
static void a_folder_made_anew_in_one_step(void **state)
{
    enum { TURNS = 8 };
    struct player a;
    struct ask    view;

    (void)state;
    open_connected(&a, witness_server());
    assert_int_equal(witness_create("/anew"), 0);
    for (int i = 0; i < TURNS; i++)
        assert_int_equal(leave(&a, "anew", enter(&a, "anew", MUTEX, &view)), 0);
    witness_make_anew(&other, "/anew", "another-lock-", TURNS - 1);
    uint64_t id = enter(&a, "anew", MUTEX, &view);
    assert_false(is_granted(&view));
    assert_int_equal(leave(&a, "anew", id), 0);
    assert_int_equal(witness_count("/anew"), 1);
    player_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_that_is_far_out),
        cmocka_unit_test(a_listing_that_is_too_long),
        cmocka_unit_test(a_long_name_is_waited_for),
        cmocka_unit_test(two_places_with_one_number),
        cmocka_unit_test(two_mutexes_with_one_number),
        cmocka_unit_test(a_folder_made_anew_in_one_step),
    };

    assert_true(zkraw_open(&other, witness_server(), 30000));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    zkraw_close(&other);
    return failed;
}
