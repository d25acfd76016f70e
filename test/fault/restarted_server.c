/* restarted_server.c - the server crashes or is shut down, and is started again, with
 * its data or without, while a lock has a holder and a waiter.
 *
 * The holder keeps it, or knows by its deadline that it is lost.  There are never two
 * holders, though another client keeps trying.  Tokens rise.  The waiter gets it in the
 * end.
 */
/* needs redis: standalone */
/* needs redis: standalone --aof */
/* needs postgres: standalone --setting wal_writer_delay=10s */
/* needs mariadb: standalone */
#include "lib/promise.h"
#include "lib/three_clients.h"

#include <string.h>

static const struct row {
    const char *store;
    int soon_ms, late_ms; /* ttl, if the server is back before it ends, and after */
} rows[] = {
    { "redis", 900, 900 },
    { "postgres", 3000, 1000 }, /* enough on a busy machine */
    { "mariadb", 6000, 1000 },  /* it starts in a second */
};
static const struct row *row;

/* If the server is back before the lease ends, the lock is kept. */
static void is_back_soon(const char *name, const char *how)
{
    struct three_clients *three = three_clients_new(name, row->soon_ms);

    server_tell("%s", how);
    three_clients_watch(three, 50);
    server_tell("start");
    three_clients_watch(three, row->soon_ms + 200);
    three_clients_end(three, true);
}

static void test_a_crash_loses_no_lock(void **state)
{
    (void)state;
    is_back_soon("crashed", "kill");
}

static void test_a_shutdown_loses_no_lock(void **state)
{
    (void)state;
    is_back_soon("ended", "stop");
}

static void test_a_holder_knows_of_a_long_absence_by_its_deadline(void **state)
{
    struct three_clients *three = three_clients_new("late", row->late_ms);

    (void)state;
    server_tell("kill");
    three_clients_watch(three, row->late_ms + 100);
    assert_int_equal(hf_state(three->holder->lock), HF_LOST);
    server_tell("start");
    three_clients_watch(three, row->late_ms / 2);
    three_clients_end(three, false);
}

/* The server may have lost all data, and the new client comes before the holder
 * reconnects. */
static void test_a_new_client_does_not_get_a_held_lock(void **state)
{
    static struct actor holder;

    (void)state;
    actors_write();
    actor_open(&holder, 2 * row->late_ms, "newcomer");
    three_clients_token(actor_take(&holder));
    server_tell("restart");
    three_clients_newcomer(&holder, "newcomer", 2 * row->late_ms);
}

static void test_restarts_while_the_lock_changes_hands(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open(&a, row->soon_ms, "again");
    actor_open(&b, row->soon_ms, "again");
    for (int i = 0; i < 3; i++) {
        three_clients_token(actor_take(&a));
        actor_queue(&b, 1);
        server_tell("restart");
        int r = actor_release(&a);
        assert_true(r == 0 || r == HF_ELOST);
        actor_await(&b, HF_HELD);
        three_clients_token(hf_token(b.lock));
        actor_give(&b);
    }
    actor_close(&a);
    actor_close(&b);
    server_expect_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_crash_loses_no_lock),
        cmocka_unit_test(test_a_shutdown_loses_no_lock),
        cmocka_unit_test(test_a_holder_knows_of_a_long_absence_by_its_deadline),
        cmocka_unit_test(test_a_new_client_does_not_get_a_held_lock),
        cmocka_unit_test(test_restarts_while_the_lock_changes_hands),
    };
    const char *store = server_find();

    for (row = rows; strcmp(row->store, store) != 0; row++)
        continue;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
