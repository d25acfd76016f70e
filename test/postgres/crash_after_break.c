/* crash_after_break.c - the server crashes right after a place was broken, and our user
 * has synchronous_commit off: grants that followed are not lost.
 *
 * Here the server writes an asynchronous commit to disk so late that the crash always
 * comes first.  The client that loses the place polls, as behind a pooler, so it mostly
 * has not noticed before the crash.
 */
/* needs: standalone --setting wal_writer_delay=10s */
#include "lib/promise.h"
#include "lib/server_postgres.h"

#define TTL_MS 3000

static void set_synchronous_commit(const char *value)
{
    server_tell("sql ALTER ROLE tester SET synchronous_commit = %s", value);
}

/* With the settings of the user. */
static void break_first(const char *name)
{
    assert_int_equal(
        postgres_number("SET synchronous_commit = off; SELECT holdfast.break_place('%s', "
                        "(SELECT min(seq) FROM holdfast.every_place WHERE name = '%s' "
                        "AND state = 'g'))",
                        name, name),
        0);
}

/* Close a client that has reconnected after the crash.  Before that it could not say
 * bye, and after the last client nobody would be left to expire its session. */
static void close_when_connected(struct actor *actor)
{
    struct hf_report *report;

    int r = hf_inspect(actor->client, "nothing", ACTOR_LIMIT_MS, &report);
    if (r != 0)
        fail_msg("inspect: %s: %s", hf_errname(r), hf_errmsg(actor->client));
    hf_report_free(report);
    actor_close(actor);
}

static void a_crash_does_not_undo_a_break(void **state)
{
    static struct actor one, other;

    (void)state;
    set_synchronous_commit("off");
    actor_open_url(&one, server_url("ttl=3s&polling=yes"), "broken");
    actor_open(&other, TTL_MS, "broken");
    for (int i = 0; i < 3; i++) {
        actor_take(&one);
        actor_queue(&other, 1);
        break_first("broken");
        actor_await(&other, HF_HELD);
        server_tell("restart");
        actor_await(&one, HF_LOST);
        assert_int_equal(server_holders("broken"), 1);
        assert_int_equal(actor_release(&one), HF_ELOST);
        assert_int_equal(hf_check(other.lock, ACTOR_LIMIT_MS), 0);
        actor_give(&other);
        server_await("broken", 0, 0);
    }
    close_when_connected(&one);
    close_when_connected(&other);
    set_synchronous_commit("on");
}

/* ---- Slots ----------------------------------------------------------------------------- */

static void open_slot(struct actor *actor, const char *params)
{
    struct hf_options options = HF_OPTIONS_INIT;

    assert_int_equal(hf_open(server_url(params), &options, &actor->client), 0);
    assert_int_equal(hf_semaphore(actor->client, "slots", 2, 1, &actor->lock), 0);
}

static void a_crash_gives_no_slot_out_twice(void **state)
{
    static struct actor one, two, third;

    (void)state;
    set_synchronous_commit("off");
    open_slot(&one, "ttl=3s&polling=yes");
    open_slot(&two, "ttl=3s");
    open_slot(&third, "ttl=3s");
    actor_take(&one);
    actor_take(&two);
    actor_start(&third);
    server_await("slots", 2, 1);
    break_first("slots");
    actor_await(&third, HF_HELD);
    server_tell("restart");
    assert_int_equal(
        postgres_number("SELECT slot FROM holdfast.every_place WHERE state = 'g' AND "
                        "seq = %llu",
                        (unsigned long long)hf_token(third.lock)),
        hf_slot(third.lock));
    assert_int_not_equal(hf_slot(third.lock), hf_slot(two.lock));
    server_await("slots", 2, 0);
    actor_await(&one, HF_LOST);
    (void)actor_release(&one);
    actor_give(&two);
    actor_give(&third);
    close_when_connected(&one);
    close_when_connected(&two);
    close_when_connected(&third);
    set_synchronous_commit("on");
    server_expect_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_does_not_undo_a_break),
        cmocka_unit_test(a_crash_gives_no_slot_out_twice),
    };

    server_find();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
