/* pause.c - a client that is stopped for longer than its ttl, requests that arrive when
 * their time is over, and a server that is stopped.
 *
 * The next gets the lock when the ttl is over, and not before.  A client that was stopped knows
 * at once that its time is over, and nothing that it asked before changes anything.
 */
/* needs redis: standalone */
/* needs postgres: standalone */
#include "lib/promise.h"
#include "lib/tcpproxy.h"
#include "lib/witness.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static const struct row {
    const char *store;
    int         ttl_ms, long_ms; /* of sessions; the second where nothing is to be lost */
    int         ends_ms; /* when a session that was stopped has ended for others */
    const char *news;    /* what marks a connection by which messages come */
} rows[] = {
    { "redis", 800, 800, 800 + 400, "SUBSCRIBE" },
    /* Others go by when they last saw it renew. */
    { "postgres", 1200, 2400, 2 * 1200 + 800, NULL },
};
static const struct row *row;

/* What the other process shows of itself. */
static struct shown {
    _Atomic hf_time acted;    /* when it last began something under the lock */
    _Atomic hf_time deadline; /* as it last knew it */
    _Atomic int     state, released;
    atomic_bool     give, end;
} * shown;

static const char *url_here(void)
{
    char params[32];

    snprintf(params, sizeof params, "ttl=%dms", row->ttl_ms);
    return witness_url(params);
}

/* ---- The other process ------------------------------------------------------------- */

static void turn(struct hf_client *client)
{
    struct pollfd pfd = { .fd = hf_fd(client), .events = POLLIN };
    int           wait = hf_timeout_ms(client);

    poll(&pfd, 1, wait < 0 || wait > 2 ? 2 : wait);
    must(hf_process(client) == 0);
}

/* Whatever it does under the lock it does before it looks how much time is left; so what
 * it writes down began in time, or it was not the lock's owner any more. */
static void show(struct hf_lock *lock)
{
    hf_time now = hf_now();
    int64_t left = hf_left_ms(lock);

    shown->state = hf_state(lock);
    if (hf_state(lock) == HF_HELD && left > 0) {
        shown->acted = now;
        shown->deadline = now + left * HF_MS;
    }
}

/* Wants the lock, and has it until told to give it back. */
static void puppet(const char *name, struct child *parent)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;
    struct hf_lock   *lock = NULL;
    bool              told = false;

    options.flags = HF_NO_KEEPER;
    must(hf_open(url_here(), &options, &client) == 0);
    must(hf_mutex(client, name, &lock) == 0);
    must(hf_acquire_start(lock, ACTOR_LIMIT_MS) == 0);
    while (!shown->end) {
        turn(client);
        show(lock);
        if (!told && hf_state(lock) == HF_HELD) {
            child_say(parent);
            told = true;
        }
        if (shown->give) {
            shown->released = hf_release(lock);
            shown->give = false;
        }
    }
    hf_lock_free(lock);
    hf_close(client);
}

static void holder(struct child *parent)
{
    puppet("pause", parent);
}

static void start(struct child *child)
{
    shown->acted = shown->deadline = 0;
    shown->state = -1;
    shown->give = shown->end = false;
    shown->released = 1;
    child_start(child, holder);
}

static void until_shown(int state)
{
    hf_time end = hf_now() + ACTOR_LIMIT_MS * HF_MS;

    while (shown->state != state && hf_now() < end)
        poll(NULL, 0, 1);
    assert_int_equal(shown->state, state);
}

static void finish(struct child *child)
{
    shown->end = true;
    assert_int_equal(child_status(child), 0);
    witness_empty();
}

/* ---- Stopped clients ---------------------------------------------------------------- */

static void test_a_holder_that_is_stopped_knows_that_it_lost(void **state)
{
    struct child        child;
    static struct actor next;

    (void)state;
    start(&child);
    assert_true(child_hear(&child, ACTOR_LIMIT_MS));
    actor_open(&next, row->ttl_ms, "pause");
    actor_queue(&next, 1);
    poll(NULL, 0, row->ttl_ms); /* renewed by now */
    assert_int_equal(hf_state(next.lock), HF_WAITING);
    kill(child.pid, SIGSTOP);
    hf_time stopped = hf_now();
    actor_await(&next, HF_HELD);
    assert_true(next.held > shown->deadline);
    assert_true(next.held < stopped + row->ends_ms * HF_MS);
    hf_time acted = shown->acted;
    kill(child.pid, SIGCONT);
    until_shown(HF_LOST);
    assert_int_equal(shown->acted, acted);
    shown->give = true;
    while (shown->give)
        poll(NULL, 0, 1);
    assert_int_equal(shown->released, HF_ELOST);
    assert_int_equal(hf_check(next.lock, ACTOR_LIMIT_MS), 0);
    assert_int_equal(witness_holders("pause"), 1);
    actor_give(&next);
    actor_close(&next);
    finish(&child);
}

/* Its turn comes while it is stopped: the one behind waits for a ttl, not for ever. */
static void test_a_waiter_that_is_stopped_holds_up_nobody(void **state)
{
    struct child        child;
    static struct actor first, next;

    (void)state;
    actor_open(&first, row->ttl_ms, "pause");
    actor_take(&first);
    start(&child); /* does not use what this process has opened */
    witness_await("pause", 1, 1);
    actor_open(&next, row->ttl_ms, "pause");
    actor_queue(&next, 2);
    kill(child.pid, SIGSTOP);
    hf_time stopped = hf_now();
    actor_give(&first);
    actor_await(&next, HF_HELD);
    assert_true(next.held < stopped + row->ends_ms * HF_MS);
    kill(child.pid, SIGCONT);
    poll(NULL, 0, row->ttl_ms / 2);
    assert_int_equal(shown->acted, 0);
    assert_true(actor_has(&next));
    witness_await("pause", 1, 1); /* it queues again */
    actor_give(&next);
    assert_true(child_hear(&child, ACTOR_LIMIT_MS));
    actor_close(&first);
    actor_close(&next);
    finish(&child);
}

/* ---- Late requests -------------------------------------------------------------------- */

static void test_a_release_that_is_late_changes_nothing(void **state)
{
    struct tcpproxy    *proxy = tcpproxy_start(witness_server(), row->news);
    static struct actor a, b;

    (void)state;
    actor_open_at(&a, tcpproxy_address(proxy), row->ttl_ms, "late");
    actor_open(&b, row->ttl_ms, "late");
    actor_take(&a);
    actor_queue(&b, 1);
    tcpproxy_hold(proxy, TCPPROXY_UP, TCPPROXY_ALL);
    hf_time start_of_it = hf_now();
    assert_int_equal(hf_release_start(a.lock), 0);
    actor_await(&b, HF_HELD);
    assert_true(b.held > start_of_it + row->ttl_ms * HF_MS / 2);
    tcpproxy_hold(proxy, TCPPROXY_UP, TCPPROXY_NOBODY);
    poll(NULL, 0, 100);
    assert_int_equal(hf_check(b.lock, ACTOR_LIMIT_MS), 0);
    witness_await("late", 1, 0);
    actor_give(&b);
    actor_take(&a);
    actor_give(&a);
    actor_close(&a);
    actor_close(&b);
    tcpproxy_stop(proxy);
    witness_empty();
}

/* Asked on a connection that was given up: it takes effect by the newer one, or not at
 * all. */
static void test_an_enter_that_is_late_changes_nothing(void **state)
{
    struct tcpproxy    *proxy = tcpproxy_start(witness_server(), row->news);
    static struct actor a, b;

    (void)state;
    actor_open_at(&a, tcpproxy_address(proxy), 3 * row->ttl_ms, "late");
    actor_open(&b, row->ttl_ms, "late");
    actor_take(&a);
    actor_give(&a);
    tcpproxy_strand(proxy, true);
    assert_int_equal(hf_acquire_start(a.lock, ACTOR_LIMIT_MS), 0);
    actor_await(&a, HF_HELD); /* by another connection */
    actor_give(&a);
    witness_await("late", 0, 0);
    tcpproxy_strand(proxy, false);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(hf_acquire(b.lock, 0), 0);
        actor_give(&b);
        poll(NULL, 0, 5);
    }
    witness_await("late", 0, 0);
    actor_close(&a);
    actor_close(&b);
    tcpproxy_stop(proxy);
    witness_empty();
}

/* ---- A stopped server ------------------------------------------------------------------ */

static void test_a_server_that_is_stopped_shortly_loses_no_lock(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open(&a, row->long_ms, "short");
    actor_open(&b, row->long_ms, "short");
    actor_take(&a);
    actor_queue(&b, 1);
    for (int i = 0; i < 2; i++) {
        poll(NULL, 0, row->long_ms / 2); /* renewed */
        witness_tell("freeze");
        poll(NULL, 0, row->long_ms / 4);
        witness_tell("thaw");
        assert_int_equal(hf_state(b.lock), HF_WAITING);
    }
    poll(NULL, 0, row->long_ms);
    assert_true(actor_has(&a));
    actor_give(&a);
    actor_await(&b, HF_HELD);
    actor_give(&b);
    actor_close(&a);
    actor_close(&b);
    witness_empty();
}

static void test_a_server_that_is_stopped_for_long_loses_it_in_time(void **state)
{
    static struct actor a, b;
    static struct rival rival;

    (void)state;
    actor_open(&a, row->ttl_ms, "long");
    actor_open(&b, row->ttl_ms, "long");
    uint64_t token = actor_take(&a);
    actor_queue(&b, 1);
    rival_start(&rival, row->ttl_ms, "long", &a, 1);
    witness_tell("freeze");
    hf_time frozen = hf_now();
    poll(NULL, 0, row->ttl_ms + 100);
    assert_int_equal(hf_state(a.lock), HF_LOST);
    assert_true(a.lost <= frozen + row->ttl_ms * HF_MS);
    poll(NULL, 0, row->ttl_ms / 2);
    witness_tell("thaw");
    assert_int_equal(hf_release(a.lock), HF_ELOST);
    actor_await(&b, HF_HELD);
    assert_true(hf_token(b.lock) > token);
    actor_give(&b);
    rival_stop(&rival);
    actor_take(&a);
    actor_give(&a);
    actor_close(&a);
    actor_close(&b);
    witness_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_holder_that_is_stopped_knows_that_it_lost),
        cmocka_unit_test(test_a_waiter_that_is_stopped_holds_up_nobody),
        cmocka_unit_test(test_a_release_that_is_late_changes_nothing),
        cmocka_unit_test(test_an_enter_that_is_late_changes_nothing),
        cmocka_unit_test(test_a_server_that_is_stopped_shortly_loses_no_lock),
        cmocka_unit_test(test_a_server_that_is_stopped_for_long_loses_it_in_time),
    };

    const char *store = witness_start();

    for (row = rows; strcmp(row->store, store) != 0; row++)
        continue;
    shown = mmap(NULL, sizeof *shown, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                 -1, 0);
    return shown == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
