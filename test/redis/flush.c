/* flush.c - the server's data go while a lock is held: all of them, or a part, or the
 * scripts.
 *
 * The holder keeps it, and nobody else is granted meanwhile; or it is lost within one
 * renewal.  Never two holders; the next token is higher than all before; who waits gets
 * it in the end.
 */
/* needs: standalone */
#include "lib/actor.h"
#include "lib/promise.h"
#include "lib/tcpproxy.h"
#include "lib/witness.h"
#include "store/redis/inner.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define TTL_MS 800

static uint64_t highest; /* token of all the tests */

static void check_token(uint64_t token)
{
    assert_true(token > highest);
    highest = token;
}

/* One holds, one waits, one tries all the time. */
struct stage {
    struct actor actor[3]; /* holder, waiter, and a latecomer */
    struct rival rival;
    char         name[32];
    hf_time      struck;
};

/* One for each case: when that fails, its rival lives on. */
static struct stage *stage_new(const char *name)
{
    struct stage *stage = calloc(1, sizeof *stage);

    assert_non_null(stage);
    snprintf(stage->name, sizeof stage->name, "flush-%s", name);
    for (size_t i = 0; i < 3; i++)
        actor_open(&stage->actor[i], witness_server(), TTL_MS, stage->name);
    check_token(actor_take(&stage->actor[0]));
    actor_queue(&stage->actor[1], 1);
    rival_start(&stage->rival, witness_server(), TTL_MS, stage->name, stage->actor, 3);
    poll(NULL, 0, 50);
    return stage;
}

/* The holder has it until it lets go, or knows that it was lost within one renewal. */
static void see_it_through(struct stage *stage)
{
    struct actor *holder = &stage->actor[0], *waiter = &stage->actor[1];
    hf_time       end = stage->struck + (TTL_MS + TTL_MS / 2) * HF_MS;

    while (hf_now() < end && hf_state(holder->lock) == HF_HELD) {
        if (hf_state(waiter->lock) != HF_WAITING)
            fail_msg("the waiter's state is %d", hf_state(waiter->lock));
        poll(NULL, 0, 2);
    }
    if (hf_state(holder->lock) == HF_HELD) {
        actor_give(holder);
    } else {
        assert_true(holder->lost - stage->struck < (TTL_MS / 3 + 300) * HF_MS);
        assert_int_equal(hf_release(holder->lock), HF_ELOST);
    }
    actor_await(waiter, HF_HELD);
    check_token(hf_token(waiter->lock));
    actor_give(waiter);
}

static void stage_close(struct stage *stage)
{
    rival_stop(&stage->rival);
    if (stage->rival.last > highest)
        highest = stage->rival.last;
    for (size_t i = 0; i < 3; i++)
        actor_close(&stage->actor[i]);
    free(stage);
    witness_empty();
}

static void strike_and_see(const char *name, const char *first, const char *second)
{
    struct stage *stage = stage_new(name);

    stage->struck = hf_now();
    witness_ask("%s", first);
    if (second != NULL)
        witness_ask("%s", second);
    see_it_through(stage);
    check_token(actor_take(&stage->actor[2]));
    actor_give(&stage->actor[2]);
    stage_close(stage);
}

static void all_data(void **state)
{
    (void)state;
    strike_and_see("all", "FLUSHALL", NULL);
}

static void scripts_only(void **state)
{
    (void)state;
    strike_and_see("scripts", "SCRIPT FLUSH", NULL);
}

static void data_and_scripts(void **state)
{
    (void)state;
    strike_and_see("both", "SCRIPT FLUSH", "FLUSHALL");
}

static void data_twice(void **state)
{
    (void)state;
    strike_and_see("twice", "FLUSHALL", "FLUSHALL");
}

static void the_hash_only(void **state)
{
    (void)state;
    strike_and_see("hash", "DEL {holdfast}:state", NULL);
}

static void the_order_only(void **state)
{
    (void)state;
    strike_and_see("order", "DEL {holdfast}:order", NULL);
}

/* Before the holder has noticed, somebody comes who never saw the data. */
static void somebody_new(void **state)
{
    struct stage       *stage = stage_new("new");
    static struct actor late;

    (void)state;
    stage->struck = hf_now();
    witness_do("FLUSHALL");
    actor_open(&late, witness_server(), TTL_MS, stage->name);
    for (int i = 0; i < 20; i++) {
        int r = hf_acquire(late.lock, 0);
        if (r == 0 && actor_has(&stage->actor[0]) && actor_has(&late))
            fail_msg("two holders");
        if (r == 0)
            actor_give(&late);
    }
    see_it_through(stage);
    check_token(actor_take(&late));
    actor_give(&late);
    actor_close(&late);
    stage_close(stage);
}

/* Alone with the holder: nobody else is there to see that data are missing, and the
 * newcomer has a shorter lease than the holder. */
static void somebody_new_and_hasty(void **state)
{
    static struct actor holder, late;

    (void)state;
    actor_open(&holder, witness_server(), 3 * TTL_MS, "flush-hasty");
    check_token(actor_take(&holder));
    witness_do("FLUSHALL");
    actor_open(&late, witness_server(), 500, "flush-hasty");
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

/* Scripts go again and again while the lock goes round. */
static void scripts_in_mid_flight(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open(&a, witness_server(), TTL_MS, "flush-flight");
    actor_open(&b, witness_server(), TTL_MS, "flush-flight");
    for (int i = 0; i < 30; i++) {
        check_token(actor_take(&a));
        assert_int_equal(hf_acquire_start(b.lock, ACTOR_LIMIT_MS), 0);
        witness_do("SCRIPT FLUSH");
        actor_give(&a);
        actor_await(&b, HF_HELD);
        check_token(hf_token(b.lock));
        witness_do("SCRIPT FLUSH");
        actor_give(&b);
    }
    actor_close(&a);
    actor_close(&b);
    witness_empty();
}

/* The name of the script by which places are put down again. */
static const char *mend(void)
{
    static struct hf_redis redis;

    assert_int_equal(hf_redis_scripts_init(&redis), 0);
    return redis.sha[HF_REDIS_MEND];
}

/* Hello is answered, so the new epoch is known; but the connection breaks before the lock is
 * put down again. */
static void cut_off_in_between(void **state)
{
    static struct actor holder, late;
    struct tcpproxy    *proxy = tcpproxy_start(witness_server(), mend());
    hf_time             end = hf_now() + ACTOR_LIMIT_MS * HF_MS;

    (void)state;
    actor_open(&holder, tcpproxy_address(proxy), 4 * TTL_MS, "flush-cut");
    check_token(actor_take(&holder));
    tcpproxy_hold(proxy, TCPPROXY_UP, TCPPROXY_MARKED);
    witness_do("FLUSHALL");
    while (tcpproxy_open(proxy, TCPPROXY_MARKED) == 0 && hf_now() < end)
        poll(NULL, 0, 1);
    assert_int_equal(witness_holders("flush-cut"), 0);
    tcpproxy_drop(proxy, TCPPROXY_MARKED);
    tcpproxy_hold(proxy, TCPPROXY_UP, TCPPROXY_NOBODY);
    witness_await("flush-cut", 1, 0);
    actor_open(&late, witness_server(), 4 * TTL_MS, "flush-cut");
    assert_int_equal(hf_acquire(late.lock, 0), HF_EBUSY);
    actor_give(&holder);
    check_token(actor_take(&late));
    actor_give(&late);
    actor_close(&holder);
    actor_close(&late);
    tcpproxy_stop(proxy);
    witness_empty();
}

/* Nothing is held: the data of those who wait for nothing go, and all goes on. */
static void nothing_held(void **state)
{
    static struct actor a;

    (void)state;
    actor_open(&a, witness_server(), TTL_MS, "flush-idle");
    check_token(actor_take(&a));
    actor_give(&a);
    for (int i = 0; i < 2; i++) {
        witness_do("FLUSHALL");
        check_token(actor_take(&a));
        actor_give(&a);
    }
    actor_close(&a);
    witness_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_data),
        cmocka_unit_test(scripts_only),
        cmocka_unit_test(data_and_scripts),
        cmocka_unit_test(data_twice),
        cmocka_unit_test(the_hash_only),
        cmocka_unit_test(the_order_only),
        cmocka_unit_test(somebody_new),
        cmocka_unit_test(somebody_new_and_hasty),
        cmocka_unit_test(scripts_in_mid_flight),
        cmocka_unit_test(cut_off_in_between),
        cmocka_unit_test(nothing_held),
    };

    witness_server();
    witness_settle(TTL_MS); /* now nobody would think that it was just started */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
