/* crash_undoes_release.c - a crash undoes asynchronous commits: a release, or a bye.
 *
 * Here the server writes such a commit to disk so late that the crash always comes
 * first.  The client repeats the release; if it is gone, its session expires.  A
 * release and the grant that follows are undone together or not at all.
 */
/* needs: standalone --setting wal_writer_delay=10s */
#include "lib/promise.h"
#include "lib/three_clients.h"

#define TTL_MS   3000 /* a restart takes less, even on a busy machine */
#define SHORT_MS 1000
#define SLACK_MS 1000

static void test_a_client_repeats_a_release_that_was_undone(void **state)
{
    static struct actor a, b;
    size_t              forgotten = 0;

    (void)state;
    actor_open(&a, TTL_MS, "forgotten");
    actor_open(&b, TTL_MS, "forgotten");
    for (int i = 0; i < 3; i++) {
        three_clients_token(actor_take(&a));
        actor_give(&a);
        server_await("forgotten", 0, 0);
        server_tell("restart");
        hf_time back = hf_now();
        forgotten += server_holders("forgotten"); /* 0 if the client is back already */
        three_clients_token(actor_take(&b));
        assert_true(hf_now() < back + (TTL_MS + SLACK_MS) * HF_MS);
        actor_give(&b);
    }
    print_message("# %zu of 3 releases were seen to be undone\n", forgotten);
    actor_close(&a);
    actor_close(&b);
    server_expect_empty();
}

static void test_a_session_whose_bye_was_undone_expires(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open(&b, SHORT_MS, "farewell");
    actor_open(&a, SHORT_MS, "farewell");
    three_clients_token(actor_take(&a));
    actor_close(&a);
    server_tell("restart");
    hf_time back = hf_now();
    three_clients_token(actor_take(&b));
    assert_true(hf_now() < back + (2 * SHORT_MS + SLACK_MS) * HF_MS);
    actor_give(&b);
    actor_close(&b);
    server_expect_empty();
}

static void test_a_release_and_its_grant_are_undone_together(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open(&a, TTL_MS, "grant");
    actor_open(&b, TTL_MS, "grant");
    for (int i = 0; i < 3; i++) {
        three_clients_token(actor_take(&a));
        actor_queue(&b, 1);
        actor_give(&a);
        server_tell("restart");
        hf_time back = hf_now();
        actor_await(&b, HF_HELD);
        assert_true(hf_now() < back + (TTL_MS + SLACK_MS) * HF_MS);
        server_await("grant", 1, 0);
        assert_int_equal(hf_check(b.lock, ACTOR_LIMIT_MS), 0);
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
        cmocka_unit_test(test_a_client_repeats_a_release_that_was_undone),
        cmocka_unit_test(test_a_session_whose_bye_was_undone_expires),
        cmocka_unit_test(test_a_release_and_its_grant_are_undone_together),
    };

    server_find();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
