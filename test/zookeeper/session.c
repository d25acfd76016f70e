/* session.c - a session that expires while a client waits or holds a lock, and one that
 * only moves to a new connection. */
/* needs: standalone --tick 200 */
#include "lib/clients.h"
#include "lib/fixture.h"
#include "lib/promise.h"
#include "lib/witness.h"

#include <poll.h>
#include <stdio.h>

#define LIMIT_MS 30000
#define WAITERS  20
#define WAIT_MS  6000 /* longer than a session takes to expire */

enum { GET_DATA = 4, SET_WATCHES = 101 };

/* With a session of 2 s. */
static void open_broken(struct actor *actor, const char *name)
{
    char address[64];

    snprintf(address, sizeof address, "%s?session=2s", zkproxy_address(proxy));
    actor_open_zk(actor, address, name);
}

static void open_other(struct actor *actor, const char *name)
{
    actor_open_zk(actor, witness_server(), name);
}

/* ---- Waiting ------------------------------------------------------------------------ */

/* The session expires while the client is cut off; the client queues again, and gets the
 * lock. */
static void waiter_queues_again_after_its_session_expired(void **state)
{
    struct actor a, b;

    (void)state;
    open_broken(&a, "waits");
    open_other(&b, "waits");
    assert_int_equal(hf_acquire(b.lock, LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(a.lock, LIMIT_MS), 0);
    witness_await(actor_folder(&a), 2);
    zkproxy_freeze(proxy, ZKPROXY_BOTH);
    witness_await(actor_folder(&a), 1);
    assert_int_equal(hf_state(a.lock), HF_WAITING);
    zkproxy_thaw(proxy);
    witness_await(actor_folder(&a), 2);
    assert_int_equal(hf_state(a.lock), HF_WAITING);
    assert_int_equal(hf_release(b.lock), 0);
    lock_await(a.lock, HF_HELD);
    assert_int_equal(a.lost, 0);
    assert_int_equal(hf_release(a.lock), 0);
    actor_close(&a);
    actor_close(&b);
    assert_int_equal(witness_count("/waits"), 0);
}

/* The time limit of the acquire keeps running. */
static void time_limit_spans_an_expired_session(void **state)
{
    struct actor a, b;

    (void)state;
    open_broken(&a, "time");
    open_other(&b, "time");
    assert_int_equal(hf_acquire(b.lock, LIMIT_MS), 0);
    hf_time start = hf_now();
    assert_int_equal(hf_acquire_start(a.lock, WAIT_MS), 0);
    witness_await(actor_folder(&a), 2);
    zkproxy_freeze(proxy, ZKPROXY_BOTH);
    witness_await(actor_folder(&a), 1);
    zkproxy_thaw(proxy);
    witness_await(actor_folder(&a), 2);
    hf_time again = hf_now();
    assert_true(again - start > 1500 * HF_MS);
    lock_await(a.lock, HF_IDLE);
    assert_int_equal(hf_why(a.lock), HF_ETIMEOUT);
    assert_true(hf_now() - start >= WAIT_MS * HF_MS);
    assert_true(hf_now() - again <
                WAIT_MS * HF_MS - 500 * HF_MS); /* it did not start again */
    witness_await(actor_folder(&a), 1);         /* and leaves no node */
    assert_int_equal(hf_release(b.lock), 0);
    actor_close(&a);
    actor_close(&b);
}

/* ---- Holding ------------------------------------------------------------------------ */

/* Wait until `next` holds it; from then on `old` has no time left by its own clock.
 * Returns by how much `old` stopped earlier. */
static hf_time watch_over(const struct actor *old, const struct actor *next)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS, over = 0;

    while (hf_state(next->lock) != HF_HELD && hf_now() < end) {
        if (over == 0 && hf_left_ms(old->lock) <= 0)
            over = hf_now();
        poll(NULL, 0, 1);
    }
    assert_true(hf_left_ms(old->lock) <= 0);
    assert_int_equal(hf_state(next->lock), HF_HELD);
    return over == 0 ? 0 : hf_now() - over;
}

/* The holder is LOST by its own clock, before any other client can hold the lock. */
static void holder_stops_before_the_next_one_holds(void **state)
{
    struct actor a, b;

    (void)state;
    for (int times = 0; times < 2; times++) {
        open_broken(&a, "holds");
        open_other(&b, "holds");
        assert_int_equal(hf_acquire(a.lock, LIMIT_MS), 0);
        assert_int_equal(hf_acquire_start(b.lock, LIMIT_MS), 0);
        witness_await(actor_folder(&a), 2);
        poll(NULL, 0, times * 210); /* at different moments between two heartbeats */
        zkproxy_freeze(proxy, times % 2 ? ZKPROXY_BOTH : ZKPROXY_UP);
        hf_time margin = watch_over(&a, &b);
        print_message("# lost %.0f ms before the next held it\n",
                      (double)margin / (double)HF_MS);
        lock_await(a.lock, HF_LOST);
        zkproxy_thaw(proxy);
        assert_int_equal(hf_release(a.lock), HF_ELOST);
        assert_int_equal(hf_state(b.lock), HF_HELD);
        assert_int_equal(hf_release(b.lock), 0);
        assert_int_equal(hf_acquire(a.lock, LIMIT_MS), 0); /* in a new session */
        assert_int_equal(hf_release(a.lock), 0);
        actor_close(&a);
        actor_close(&b);
    }
}

/* ---- Another connection ------------------------------------------------------------- */

struct crowd {
    struct actor    a, b;
    struct hf_lock *mine[WAITERS], *other[WAITERS];
};

/* `a` holds one lock and waits for many, which `b` holds. */
static void crowd_open(struct crowd *crowd, const char *name)
{
    char text[32];

    open_broken(&crowd->a, name);
    open_other(&crowd->b, name);
    assert_int_equal(hf_acquire(crowd->a.lock, LIMIT_MS), 0);
    long watches = 1;
    for (int i = 0; i < WAITERS; i++) {
        snprintf(text, sizeof text, "%s-%d", name, i);
        assert_int_equal(hf_mutex(crowd->a.client, text, &crowd->mine[i]), 0);
        assert_int_equal(hf_mutex(crowd->b.client, text, &crowd->other[i]), 0);
        assert_int_equal(hf_set_any_thread(crowd->mine[i], true), 0);
        assert_int_equal(hf_acquire(crowd->other[i], LIMIT_MS), 0);
        assert_int_equal(hf_acquire_start(crowd->mine[i], LIMIT_MS), 0);
        watches += 3; /* the holder watches its node, the waiter that and its own */
    }
    assert_int_equal(witness_await_watches(watches), watches);
}

static void crowd_close(struct crowd *crowd)
{
    for (int i = 0; i < WAITERS; i++) {
        hf_lock_free(crowd->mine[i]);
        hf_lock_free(crowd->other[i]);
    }
    actor_close(&crowd->a);
    actor_close(&crowd->b);
}

static void await_restored(uint64_t before)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;

    while (zkproxy_requests(proxy, SET_WATCHES) == before && hf_now() < end)
        poll(NULL, 0, 1);
    assert_true(zkproxy_requests(proxy, SET_WATCHES) > before);
}

/* Waiters read the places ahead after 100 ms, a holder its own place: wait until they
 * have. */
static uint64_t reads_when_quiet(void)
{
    hf_time  end = hf_now() + LIMIT_MS * HF_MS, quiet = hf_now();
    uint64_t reads = zkproxy_requests(proxy, GET_DATA);

    while (hf_now() < end && hf_now() - quiet < 500 * HF_MS) {
        poll(NULL, 0, 1);
        if (zkproxy_requests(proxy, GET_DATA) != reads) {
            reads = zkproxy_requests(proxy, GET_DATA);
            quiet = hf_now();
        }
    }
    return reads;
}

static void watches_survive_a_new_connection(void **state)
{
    struct crowd crowd;

    (void)state;
    uint64_t before = zkproxy_requests(proxy, GET_DATA);
    crowd_open(&crowd, "keeps");
    long     watches = witness_watches();
    uint64_t reads = reads_when_quiet();
    assert_true(reads >= before + WAITERS);
    for (uint64_t times = 1; times <= 3; times++) {
        uint64_t sets = zkproxy_requests(proxy, SET_WATCHES);
        zkproxy_drop(proxy);
        await_restored(sets);
        assert_int_equal(witness_await_watches(watches), watches);
        assert_int_equal(zkproxy_requests(proxy, SET_WATCHES), sets + 1);
    }
    assert_int_equal(zkproxy_requests(proxy, GET_DATA), reads);
    assert_int_equal(hf_state(crowd.a.lock), HF_HELD);
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(hf_state(crowd.mine[i]), HF_WAITING);
        assert_int_equal(hf_release(crowd.other[i]), 0);
        lock_await(crowd.mine[i], HF_HELD);
    }
    assert_int_equal(hf_release(crowd.a.lock), 0);
    assert_int_equal(crowd.a.lost, 0);
    crowd_close(&crowd);
}

/* Events that the client missed without a connection reach it on the next one. */
static void missed_event_arrives_on_the_next_connection(void **state)
{
    struct crowd   crowd;
    struct witness seen;
    char           path[160];

    (void)state;
    crowd_open(&crowd, "missed");
    witness_look("/missed", &seen);
    assert_int_equal(seen.count, 1);
    zkproxy_refuse(proxy, -1);
    zkproxy_drop(proxy);
    snprintf(path, sizeof path, "/missed/%s", seen.name[0]);
    assert_int_equal(witness_delete(path), 0);
    for (int i = 0; i < WAITERS; i += 2)
        assert_int_equal(hf_release(crowd.other[i]), 0);
    zkproxy_refuse(proxy, 0);
    hf_time start = hf_now();
    lock_await(crowd.a.lock, HF_LOST);
    for (int i = 0; i < WAITERS; i += 2)
        lock_await(crowd.mine[i], HF_HELD);
    /* Not because of a periodic request. */
    assert_true(hf_now() - start < 5000 * HF_MS);
    for (int i = 1; i < WAITERS; i += 2)
        assert_int_equal(hf_state(crowd.mine[i]), HF_WAITING);
    assert_int_equal(hf_release(crowd.a.lock), HF_ELOST);
    crowd_close(&crowd);
}

/* ---- Requests that are repeated at once --------------------------------------------- */

static unsigned answers;

static struct player stubborn;

static void repeat_request(struct hf_req *req)
{
    answers++;
    request_answered(req);
    if (req->status == HF_EDOWN && answers < 100)
        stubborn.store->impl->submit(stubborn.store, req);
}

static void request_is_repeated_from_done(void **state)
{
    struct request held, again;
    char           url[64];

    (void)state;
    snprintf(url, sizeof url, "zk://%s?session=2s", zkproxy_address(proxy));
    promise_use(url);
    player_open(&stubborn);
    uint64_t id = enter(&stubborn, "again", MUTEX, &held);
    to_look(&again, "again", id);
    again.req.done = repeat_request;
    zkproxy_freeze(proxy, ZKPROXY_BOTH);
    stubborn.store->impl->submit(stubborn.store, &again.req);
    witness_await("/again", 0);
    zkproxy_thaw(proxy);
    hf_time end = hf_now() + LIMIT_MS * HF_MS;
    while ((answers == 0 || again.req.status == HF_EDOWN) && hf_now() < end)
        player_turn(&stubborn, 10);
    assert_int_equal(again.req.status, 0);
    assert_false(has_place(&again));
    assert_int_equal(stubborn.lost, 1);
    assert_true(answers <= 4);
    player_close(&stubborn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiter_queues_again_after_its_session_expired),
        cmocka_unit_test(time_limit_spans_an_expired_session),
        cmocka_unit_test(holder_stops_before_the_next_one_holds),
        cmocka_unit_test(watches_survive_a_new_connection),
        cmocka_unit_test(missed_event_arrives_on_the_next_connection),
        cmocka_unit_test(request_is_repeated_from_done),
    };

    return cmocka_run_group_tests(tests, start_proxy, stop_proxy);
}
