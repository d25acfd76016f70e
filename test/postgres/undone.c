/* undone.c - a crash undoes what was committed asynchronously: releases, and farewells.
 *
 * Such a commit is written to disk so late here that a crash always comes first.  The client
 * that made it makes it again, or others do without it.  A grant that came with it is there as
 * a whole or not at all.
 */
/* needs: standalone --setting wal_writer_delay=10s */
#include "lib/promise.h"
#include "lib/trio.h"

#define TTL_MS   3000 /* a busy machine is back before */
#define SHORT_MS 1000
#define SLACK_MS 1000

/* A release that the crash has undone is done again by whoever released. */
static void test_a_release_that_is_undone_is_done_again(void **state)
{
    static struct actor a, b;
    size_t              forgotten = 0;

    (void)state;
    actor_open(&a, TTL_MS, "forgotten");
    actor_open(&b, TTL_MS, "forgotten");
    for (int i = 0; i < 3; i++) {
        trio_token(actor_take(&a));
        actor_give(&a);
        witness_await("forgotten", 0, 0);
        witness_tell("restart");
        hf_time back = hf_now();
        forgotten += witness_holders("forgotten"); /* unless it is back already */
        trio_token(actor_take(&b));
        assert_true(hf_now() < back + (TTL_MS + SLACK_MS) * HF_MS);
        actor_give(&b);
    }
    print_message("# %zu of 3 releases were seen to be undone\n", forgotten);
    actor_close(&a);
    actor_close(&b);
    witness_empty();
}

/* ... or if he is gone, by others, when they have seen nothing of him for his ttl. */
static void test_a_farewell_that_is_undone_is_not_missed(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open(&b, SHORT_MS, "farewell");
    actor_open(&a, SHORT_MS, "farewell");
    trio_token(actor_take(&a));
    actor_close(&a);
    witness_tell("restart");
    hf_time back = hf_now();
    trio_token(actor_take(&b));
    assert_true(hf_now() < back + (2 * SHORT_MS + SLACK_MS) * HF_MS);
    actor_give(&b);
    actor_close(&b);
    witness_empty();
}

/* What was granted by somebody's release is not forgotten with the release alone: either
 * both are there or none. */
static void test_a_release_and_its_grant_are_undone_together(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open(&a, TTL_MS, "grant");
    actor_open(&b, TTL_MS, "grant");
    for (int i = 0; i < 3; i++) {
        trio_token(actor_take(&a));
        actor_queue(&b, 1);
        actor_give(&a);
        witness_tell("restart");
        hf_time back = hf_now();
        actor_await(&b, HF_HELD);
        assert_true(hf_now() < back + (TTL_MS + SLACK_MS) * HF_MS);
        witness_await("grant", 1, 0);
        assert_int_equal(hf_check(b.lock, ACTOR_LIMIT_MS), 0);
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
        cmocka_unit_test(test_a_release_that_is_undone_is_done_again),
        cmocka_unit_test(test_a_farewell_that_is_undone_is_not_missed),
        cmocka_unit_test(test_a_release_and_its_grant_are_undone_together),
    };

    witness_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
