/* restart.c - the server is killed or ended, and started again, with its data or without,
 * while a lock is held and waited for.
 *
 * The holder keeps it or knows that it is lost; never two holders, though somebody asks
 * all the time; tokens rise; who waits gets it in the end.
 */
/* needs: standalone */
#include "lib/actor.h"
#include "lib/promise.h"
#include "lib/witness.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TTL_MS 900

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

/* One for each case: when that fails, its rival lives on. */
static struct stage *stage_new(const char *name)
{
    struct stage *stage = calloc(1, sizeof *stage);

    assert_non_null(stage);
    for (size_t i = 0; i < 2; i++)
        actor_open(&stage->actor[i], witness_server(), TTL_MS, name);
    check_token(actor_take(&stage->actor[0]));
    actor_queue(&stage->actor[1], 1);
    rival_start(&stage->rival, witness_server(), TTL_MS, name, stage->actor, 2);
    poll(NULL, 0, 50);
    return stage;
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
    free(stage);
    witness_empty();
}

/* It has them all only when it has written them once anew. */
static void keep_data(bool keep)
{
    static const char ready[] = "aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0";
    hf_time           end = hf_now() + ACTOR_LIMIT_MS * HF_MS;

    witness_do("CONFIG SET appendonly %s appendfsync always", keep ? "yes" : "no");
    witness_do("CONFIG REWRITE");
    while (strstr(witness_ask("INFO persistence"), ready) == NULL) {
        assert_true(hf_now() < end);
        poll(NULL, 0, 5);
    }
}

/* Back before the lease is over: it is kept. */
static void restart_soon(const char *name, const char *how, bool persistent)
{
    keep_data(persistent);
    struct stage *stage = stage_new(name);
    witness_tell("%s 1", how);
    watch_them(stage, 50);
    witness_tell("start 1");
    watch_them(stage, TTL_MS + 200);
    stage_close(stage, true);
    keep_data(false);
}

/* Back when it is over: the holder knew in time. */
static void restart_late(const char *name, bool persistent)
{
    keep_data(persistent);
    struct stage *stage = stage_new(name);
    witness_tell("kill 1");
    watch_them(stage, TTL_MS + 100);
    assert_int_equal(hf_state(stage->actor[0].lock), HF_LOST);
    witness_tell("start 1");
    watch_them(stage, TTL_MS / 2);
    stage_close(stage, false);
    keep_data(false);
}

static void killed_without_data(void **state)
{
    (void)state;
    restart_soon("killed", "kill", false);
}

static void killed_with_data(void **state)
{
    (void)state;
    restart_soon("killed-aof", "kill", true);
}

static void ended_without_data(void **state)
{
    (void)state;
    restart_soon("ended", "stop", false);
}

static void ended_with_data(void **state)
{
    (void)state;
    restart_soon("ended-aof", "stop", true);
}

static void late_without_data(void **state)
{
    (void)state;
    restart_late("late", false);
}

static void late_with_data(void **state)
{
    (void)state;
    restart_late("late-aof", true);
}

/* A newcomer meets a server that has forgotten everything, before the holder is back. */
static void newcomer_first(void **state)
{
    static struct actor holder, late;

    (void)state;
    actor_open(&holder, witness_server(), 2 * TTL_MS, "newcomer");
    check_token(actor_take(&holder));
    witness_tell("kill 1");
    witness_tell("start 1");
    actor_open(&late, witness_server(), 500, "newcomer");
    hf_time end = hf_now() + 2 * TTL_MS * HF_MS;
    while (hf_now() < end) {
        if (hf_acquire(late.lock, 20) == 0 && actor_has(&holder) && actor_has(&late))
            fail_msg("two holders");
        if (hf_state(late.lock) == HF_HELD)
            actor_give(&late);
    }
    int r = hf_release(holder.lock);
    assert_true(r == 0 || r == HF_ELOST);
    check_token(actor_take(&late));
    actor_give(&late);
    actor_close(&holder);
    actor_close(&late);
    witness_empty();
}

/* Again and again, while the lock goes round: it never stops for good. */
static void again_and_again(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open(&a, witness_server(), 500, "again");
    actor_open(&b, witness_server(), 500, "again");
    for (int i = 0; i < 3; i++) {
        check_token(actor_take(&a));
        actor_queue(&b, 1);
        witness_tell("restart 1");
        int r = hf_release(a.lock);
        assert_true(r == 0 || r == HF_ELOST);
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
        cmocka_unit_test(killed_without_data), cmocka_unit_test(killed_with_data),
        cmocka_unit_test(ended_without_data),  cmocka_unit_test(ended_with_data),
        cmocka_unit_test(late_without_data),   cmocka_unit_test(late_with_data),
        cmocka_unit_test(newcomer_first),      cmocka_unit_test(again_and_again),
    };

    witness_server();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
