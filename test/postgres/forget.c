/* forget.c - the server crashes right after somebody's place was taken away, and our user has
 * synchronous_commit off: what others were told by then is not forgotten.
 *
 * An asynchronous commit is written to disk so late here that a crash always comes first.  The
 * client that loses the place looks for news only now and then, as behind a pooler, and mostly
 * has not heard of it.
 */
/* needs: standalone --setting wal_writer_delay=10s */
#include "lib/promise.h"
#include "lib/witness_postgres.h"

#define TTL_MS 3000

static void hurry(const char *value)
{
    witness_tell("sql ALTER ROLE tester SET synchronous_commit = %s", value);
}

/* As the user would do it. */
static void break_first(const char *name)
{
    assert_int_equal(
        postgres_number("SET synchronous_commit = off; SELECT holdfast.break_place('%s', "
                        "(SELECT min(seq) FROM holdfast.ticket WHERE name = '%s' "
                        "AND state = 'g'))",
                        name, name),
        0);
}

/* Once it is back after the crash: before that it can say no bye, and when all are gone
 * nobody is left to bury it. */
static void close_when_back(struct actor *actor)
{
    struct hf_report *report;

    int r = hf_inspect(actor->client, "nothing", ACTOR_LIMIT_MS, &report);
    if (r != 0)
        fail_msg("inspect: %s: %s", hf_errname(r), hf_errmsg(actor->client));
    hf_report_free(report);
    actor_close(actor);
}

static void a_break_is_not_forgotten(void **state)
{
    static struct actor one, other;

    (void)state;
    hurry("off");
    actor_open_url(&one, witness_url("ttl=3s&polling=yes"), "broken");
    actor_open(&other, TTL_MS, "broken");
    for (int i = 0; i < 3; i++) {
        actor_take(&one);
        actor_queue(&other, 1);
        break_first("broken");
        actor_await(&other, HF_HELD);
        witness_tell("restart");
        actor_await(&one, HF_LOST);
        assert_int_equal(witness_holders("broken"), 1);
        assert_int_equal(hf_release(one.lock), HF_ELOST);
        assert_int_equal(hf_check(other.lock, ACTOR_LIMIT_MS), 0);
        actor_give(&other);
        witness_await("broken", 0, 0);
    }
    close_when_back(&one);
    close_when_back(&other);
    hurry("on");
}

/* ---- Slots ----------------------------------------------------------------------------- */

static void open_slot(struct actor *actor, const char *params)
{
    struct hf_options options = HF_OPTIONS_INIT;

    assert_int_equal(hf_open(witness_url(params), &options, &actor->client), 0);
    assert_int_equal(hf_semaphore(actor->client, "slots", 2, 1, &actor->lock), 0);
}

static void a_slot_is_not_given_out_twice(void **state)
{
    static struct actor one, two, third;

    (void)state;
    hurry("off");
    open_slot(&one, "ttl=3s&polling=yes");
    open_slot(&two, "ttl=3s");
    open_slot(&third, "ttl=3s");
    actor_take(&one);
    actor_take(&two);
    assert_int_equal(hf_acquire_start(third.lock, ACTOR_LIMIT_MS), 0);
    witness_await("slots", 2, 1);
    break_first("slots");
    actor_await(&third, HF_HELD);
    witness_tell("restart");
    assert_int_equal(
        postgres_number("SELECT slot FROM holdfast.ticket WHERE state = 'g' AND "
                        "seq = %llu",
                        (unsigned long long)hf_token(third.lock)),
        hf_slot(third.lock));
    assert_int_not_equal(hf_slot(third.lock), hf_slot(two.lock));
    witness_await("slots", 2, 0);
    actor_await(&one, HF_LOST);
    (void)hf_release(one.lock);
    actor_give(&two);
    actor_give(&third);
    close_when_back(&one);
    close_when_back(&two);
    close_when_back(&third);
    hurry("on");
    witness_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_break_is_not_forgotten),
        cmocka_unit_test(a_slot_is_not_given_out_twice),
    };

    witness_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
