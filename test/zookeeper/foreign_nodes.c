/* foreign_nodes.c - places and other nodes that other programs made, with names that
 * Holdfast would never use: they count all the same.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/clients.h"
#include "lib/fixture.h"
#include "lib/witness.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define LIMIT_MS 30000
#define QUIET_MS 300

static long peak_kb(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* The memory for a slot does not depend on its number. */
static void huge_slot_number_costs_no_memory(void **state)
{
    struct player  a;
    struct request view;

    (void)state;
    player_connect(&a, witness_server());
    assert_int_equal(witness_create("/far"), 0);
    assert_int_equal(witness_create("/far/slot-4294967294"), 0);
    assert_int_equal(witness_create("/far/slot-1"), 0);
    long     before = peak_kb();
    uint64_t id[2];
    for (int i = 0; i < 2; i++) { /* slot 1 is taken */
        id[i] = enter(&a, "far", semaphore(3, 1), &view);
        assert_int_equal(slot_of(&view), 2 * i);
    }
    assert_true(peak_kb() - before < 100 * 1024);
    for (int i = 0; i < 2; i++)
        assert_int_equal(leave(&a, "far", id[i]), 0);
    player_close(&a);
}

/* More than 16 MB of names: the error says so, and the connection stays. */
static void listing_over_16_mb_is_an_error(void **state)
{
    static char    path[8100];
    struct player  a;
    struct request view = { .req = { .op = HF_ENTER, .name = "lot", .id = 77 } };

    (void)state;
    player_connect(&a, zkproxy_address(proxy));
    assert_int_equal(length(&a, "lot"), 0);
    assert_int_equal(witness_create("/lot"), 0);
    for (int i = 0; i < 2150; i++) {
        int n = snprintf(path, sizeof path, "/lot/%d-", i);
        memset(path + n, 'n', 8000 - (size_t)n);
        assert_int_equal(zkraw_create(&foreign, path), 0);
        if (i % 50 == 0)
            player_turn(&a, 0); /* it must keep its connection */
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
}

/* A waiter can wait for a node with a very long name. */
static void waiter_waits_for_a_very_long_name(void **state)
{
    static const size_t lengths[] = { 100, 1100, 1125, 1130, 3000 };
    struct player       a;
    struct request      view, found;
    char                name[32], folder[40], path[4000];

    (void)state;
    player_connect(&a, witness_server());
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        snprintf(name, sizeof name, "long-%zu", lengths[i]);
        snprintf(folder, sizeof folder, "/%s", name);
        assert_int_equal(witness_create(folder), 0);
        int n = snprintf(path, sizeof path, "%s/", folder);
        memset(path + n, 'a', lengths[i]);
        snprintf(path + n + lengths[i], sizeof path - (size_t)n - lengths[i],
                 "-lock-0000000000");
        assert_int_equal(witness_create_in(&foreign, path, "x", WITNESS_EPHEMERAL), 0);
        uint64_t id = enter(&a, name, MUTEX, &view);
        assert_false(is_granted(&view));
        assert_false(wait_for_turn(&a, name, &view, QUIET_MS));
        assert_int_equal(list(&a, name, &found), 0);
        assert_int_equal(found.count, 2); /* LIST reads it, too */
        assert_int_equal(witness_delete_in(&foreign, path), 0);
        assert_int_equal(look(&a, name, id, &view), 0);
        assert_true(is_granted(&view));
        assert_int_equal(leave(&a, name, id), 0);
    }
    player_close(&a);
}

/* When Curator's writer becomes a reader, it creates a new node with the old number and
 * then deletes the old node: whichever of the two names sorts first. */
static void reader_and_writer_with_one_number(void **state)
{
    static const char *const ids[2] = { "00000000-2222-4333-8444-555555555555",
                                        "ffffffff-1111-4333-8444-555555555555" };
    struct player            a;
    struct request           view, watching;
    char                     name[24], folder[32], writer[128], reader[128];

    (void)state;
    player_connect(&a, witness_server());
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "twins-%d", i);
        snprintf(folder, sizeof folder, "/%s", name);
        snprintf(writer, sizeof writer, "%s/_c_%s-__WRIT__0000000000", folder, ids[i]);
        snprintf(reader, sizeof reader, "%s/_c_%s-__READ__0000000000", folder,
                 ids[1 - i]);
        assert_int_equal(witness_create(folder), 0);
        assert_int_equal(witness_create_in(&foreign, writer, "", WITNESS_EPHEMERAL), 0);
        assert_int_equal(witness_create_in(&foreign, reader, "", WITNESS_EPHEMERAL), 0);
        uint64_t id = enter(&a, name, READER, &view);
        assert_false(is_granted(&view));
        watch(&a, name, &view, &watching);
        assert_false(player_await(&a, &watching, QUIET_MS)); /* it is listening by now */
        assert_int_equal(witness_delete_in(&foreign, writer), 0);
        assert_true(player_await(&a, &watching, LIMIT_MS));
        assert_int_equal(look(&a, name, id, &view), 0);
        assert_true(is_granted(&view));
        assert_int_equal(leave(&a, name, id), 0);
        assert_int_equal(witness_delete_in(&foreign, reader), 0);
    }
    player_close(&a);
}

/* The same with mutexes: the node that we listen to goes last. */
static void two_mutexes_with_one_number_both_block(void **state)
{
    static const char *const paths[2] = { "/same/a-lock-0000000000",
                                          "/same/b-lock-0000000000" };
    struct player            a;
    struct request           view;

    (void)state;
    player_connect(&a, witness_server());
    assert_int_equal(witness_create("/same"), 0);
    for (int last = 0; last < 2; last++) {
        for (int i = 0; i < 2; i++)
            assert_int_equal(witness_create_in(&foreign, paths[i], "", WITNESS_EPHEMERAL),
                             0);
        uint64_t id = enter(&a, "same", MUTEX, &view);
        assert_false(
            wait_for_turn(&a, "same", &view, QUIET_MS)); /* it is listening by now */
        assert_int_equal(witness_delete_in(&foreign, paths[1 - last]), 0);
        assert_false(wait_for_turn(&a, "same", &view, QUIET_MS));
        assert_int_equal(witness_delete_in(&foreign, paths[last]), 0);
        assert_true(wait_for_turn(&a, "same", &view, LIMIT_MS));
        assert_int_equal(leave(&a, "same", id), 0);
    }
    player_close(&a);
}

/* In one transaction another program deletes the empty folder, creates it again and
 * queues in it.  Its place then has the number that would have been our next. */
static void folder_recreated_in_one_transaction(void **state)
{
    enum { TURNS = 8 };
    struct player  a;
    struct request view;

    (void)state;
    player_connect(&a, witness_server());
    assert_int_equal(witness_create("/anew"), 0);
    for (int i = 0; i < TURNS; i++)
        assert_int_equal(leave(&a, "anew", enter(&a, "anew", MUTEX, &view)), 0);
    witness_recreate(&foreign, "/anew", "another-lock-", TURNS - 1);
    uint64_t id = enter(&a, "anew", MUTEX, &view);
    assert_false(is_granted(&view));
    assert_int_equal(leave(&a, "anew", id), 0);
    assert_int_equal(witness_count("/anew"), 1);
    player_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(huge_slot_number_costs_no_memory),
        cmocka_unit_test(listing_over_16_mb_is_an_error),
        cmocka_unit_test(waiter_waits_for_a_very_long_name),
        cmocka_unit_test(reader_and_writer_with_one_number),
        cmocka_unit_test(two_mutexes_with_one_number_both_block),
        cmocka_unit_test(folder_recreated_in_one_transaction),
    };

    return cmocka_run_group_tests(tests, start_both, stop_both);
}
