/* restart.c - the server crashes or is ended, and is started again, with its data or without,
 * while a lock is held and waited for.
 *
 * The holder keeps it, or knows in time that it is lost.  There are never two holders, though
 * somebody asks all the time.  Tokens rise.  The waiter gets it in the end.
 */
/* needs redis: standalone */
/* needs redis: standalone --aof */
/* needs postgres: standalone --setting wal_writer_delay=10s */
#include "lib/promise.h"
#include "lib/trio.h"

#include <string.h>

static const struct row {
    const char *store;
    int         soon_ms, late_ms; /* ttl of those for whom it is back soon, and late */
} rows[] = {
    { "redis", 900, 900 }, { "postgres", 3000, 1000 }, /* a busy machine is back before */
};
static const struct row *row;

/* Back before the lease is over: it is kept. */
static void is_back_soon(const char *name, const char *how)
{
    struct trio *trio = trio_new(name, row->soon_ms);

    witness_tell("%s", how);
    trio_watch(trio, 50);
    witness_tell("start");
    trio_watch(trio, row->soon_ms + 200);
    trio_end(trio, true);
}

static void test_a_crash_loses_no_lock(void **state)
{
    (void)state;
    is_back_soon("crashed", "kill");
}

static void test_an_end_loses_no_lock(void **state)
{
    (void)state;
    is_back_soon("ended", "stop");
}

static void test_of_a_long_absence_the_holder_knows_in_time(void **state)
{
    struct trio *trio = trio_new("late", row->late_ms);

    (void)state;
    witness_tell("kill");
    trio_watch(trio, row->late_ms + 100);
    assert_int_equal(hf_state(trio->holder->lock), HF_LOST);
    witness_tell("start");
    trio_watch(trio, row->late_ms / 2);
    trio_end(trio, false);
}

/* It may have forgotten everything, and the newcomer is there before the holder is back. */
static void test_a_newcomer_gets_nothing_that_is_held(void **state)
{
    static struct actor holder;

    (void)state;
    actor_open(&holder, 2 * row->late_ms, "newcomer");
    trio_token(actor_take(&holder));
    witness_tell("restart");
    trio_newcomer(&holder, "newcomer", 2 * row->late_ms);
}

static void test_again_and_again_while_the_lock_goes_round(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open(&a, row->soon_ms, "again");
    actor_open(&b, row->soon_ms, "again");
    for (int i = 0; i < 3; i++) {
        trio_token(actor_take(&a));
        actor_queue(&b, 1);
        witness_tell("restart");
        int r = hf_release(a.lock);
        assert_true(r == 0 || r == HF_ELOST);
        actor_await(&b, HF_HELD);
        trio_token(hf_token(b.lock));
        actor_give(&b);
    }
    actor_close(&a);
    actor_close(&b);
    witness_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_crash_loses_no_lock),
        cmocka_unit_test(test_an_end_loses_no_lock),
        cmocka_unit_test(test_of_a_long_absence_the_holder_knows_in_time),
        cmocka_unit_test(test_a_newcomer_gets_nothing_that_is_held),
        cmocka_unit_test(test_again_and_again_while_the_lock_goes_round),
    };
    const char *store = witness_start();

    for (row = rows; strcmp(row->store, store) != 0; row++)
        continue;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
