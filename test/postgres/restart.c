/* restart.c - the server crashes or is ended, and is started again, while a lock is held and
 * waited for.
 *
 * What was granted is kept; the holder keeps the lock, or knows in time that it is lost;
 * never two holders, though somebody asks all the time; tokens rise; who waits gets it in
 * the end.  What is committed asynchronously is written down so late that a crash is
 * always sooner.
 */
/* needs: standalone --setting wal_writer_delay=10s */
#include "lib/promise.h"
#include "lib/witness.h"

#include <poll.h>

#define TTL_MS   3000 /* a busy machine is back before */
#define LATE_MS  1000 /* of those who are to be late */
#define SLACK_MS 1000

static uint64_t highest; /* token of all the tests */

static void check_token(uint64_t token)
{
    assert_true(token > highest);
    highest = token;
}

struct stage {
    struct actor actor[2]; /* holder and waiter */
    struct rival rival;
};

static void stage_open(struct stage *stage, const char *name, int ttl_ms)
{
    for (size_t i = 0; i < 2; i++)
        actor_open(&stage->actor[i], ttl_ms, name);
    check_token(actor_take(&stage->actor[0]));
    actor_queue(&stage->actor[1], 1);
    rival_start(&stage->rival, ttl_ms, name, stage->actor, 2);
    poll(NULL, 0, 50);
}

/* As long as the holder has it, the waiter waits. */
static void watch_them(struct stage *stage, int ms)
{
    hf_time end = hf_now() + ms * HF_MS;

    while (hf_now() < end) {
        if (actor_has(&stage->actor[1]) && actor_has(&stage->actor[0]))
            fail_msg("two holders");
        poll(NULL, 0, 2);
    }
}

/* Released or lost: then the waiter is next, and after it anybody. */
static void stage_close(struct stage *stage, bool kept)
{
    int r = hf_release(stage->actor[0].lock);

    print_message("# %s\n", r == 0 ? "kept" : hf_errname(r));
    assert_int_equal(r, kept ? 0 : HF_ELOST);
    actor_await(&stage->actor[1], HF_HELD);
    check_token(hf_token(stage->actor[1].lock));
    actor_give(&stage->actor[1]);
    check_token(actor_take(&stage->actor[0]));
    actor_give(&stage->actor[0]);
    rival_stop(&stage->rival);
    if (stage->rival.last > highest)
        highest = stage->rival.last;
    for (size_t i = 0; i < 2; i++)
        actor_close(&stage->actor[i]);
    witness_empty();
}

/* Back before the lease is over: it is kept. */
static void restart_soon(const char *name, const char *how)
{
    static struct stage stage;

    stage_open(&stage, name, TTL_MS);
    witness_tell("%s", how);
    watch_them(&stage, TTL_MS / 2);
    assert_int_equal(hf_state(stage.actor[1].lock), HF_WAITING);
    stage_close(&stage, true);
}

static void crashed(void **state)
{
    (void)state;
    restart_soon("crashed", "restart immediate");
}

static void ended(void **state)
{
    (void)state;
    restart_soon("ended", "restart fast");
}

/* Back when it is over: the holder knew in time. */
static void late(void **state)
{
    static struct stage stage;

    (void)state;
    stage_open(&stage, "late", LATE_MS);
    witness_tell("kill");
    watch_them(&stage, LATE_MS + 100);
    assert_int_equal(hf_state(stage.actor[0].lock), HF_LOST);
    witness_tell("start");
    watch_them(&stage, LATE_MS / 2);
    stage_close(&stage, false);
}

/* A release that the crash has undone is done again by whoever released. */
static void a_release_is_forgotten(void **state)
{
    static struct actor a, b;
    size_t              forgotten = 0;

    (void)state;
    actor_open(&a, TTL_MS, "forgotten");
    actor_open(&b, TTL_MS, "forgotten");
    for (int i = 0; i < 3; i++) {
        check_token(actor_take(&a));
        actor_give(&a);
        witness_await("forgotten", 0, 0);
        witness_tell("restart");
        hf_time back = hf_now();
        forgotten += witness_holders("forgotten"); /* unless it is back already */
        check_token(actor_take(&b));
        assert_true(hf_now() < back + (TTL_MS + SLACK_MS) * HF_MS);
        actor_give(&b);
    }
    print_message("# %zu of 3 releases were seen to be undone\n", forgotten);
    actor_close(&a);
    actor_close(&b);
    witness_empty();
}

/* ... or if he is gone, by others, when they have seen nothing of him for his ttl. */
static void so_is_a_farewell(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open(&b, LATE_MS, "farewell");
    actor_open(&a, LATE_MS, "farewell");
    check_token(actor_take(&a));
    actor_close(&a);
    witness_tell("restart");
    hf_time back = hf_now();
    check_token(actor_take(&b));
    assert_true(hf_now() < back + (2 * LATE_MS + SLACK_MS) * HF_MS);
    actor_give(&b);
    actor_close(&b);
    witness_empty();
}

/* What was granted by somebody's release is not forgotten with the release alone: either
 * both are there or none. */
static void a_grant_is_forgotten(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open(&a, TTL_MS, "grant");
    actor_open(&b, TTL_MS, "grant");
    for (int i = 0; i < 3; i++) {
        check_token(actor_take(&a));
        actor_queue(&b, 1);
        actor_give(&a);
        witness_tell("restart");
        hf_time back = hf_now();
        actor_await(&b, HF_HELD);
        assert_true(hf_now() < back + (TTL_MS + SLACK_MS) * HF_MS);
        witness_await("grant", 1, 0);
        assert_int_equal(hf_check(b.lock, ACTOR_LIMIT_MS), 0);
        check_token(hf_token(b.lock));
        actor_give(&b);
    }
    actor_close(&a);
    actor_close(&b);
    witness_empty();
}

/* Again and again, while the lock goes round: it never stops for good. */
static void again_and_again(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open(&a, TTL_MS, "again");
    actor_open(&b, TTL_MS, "again");
    for (int i = 0; i < 4; i++) {
        check_token(actor_take(&a));
        actor_queue(&b, 1);
        witness_tell("restart");
        actor_give(&a);
        actor_await(&b, HF_HELD);
        check_token(hf_token(b.lock));
        actor_give(&b);
    }
    actor_close(&a);
    actor_close(&b);
    witness_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crashed),
        cmocka_unit_test(ended),
        cmocka_unit_test(late),
        cmocka_unit_test(a_release_is_forgotten),
        cmocka_unit_test(so_is_a_farewell),
        cmocka_unit_test(a_grant_is_forgotten),
        cmocka_unit_test(again_and_again),
    };

    witness_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
