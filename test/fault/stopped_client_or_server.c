/* stopped_client_or_server.c - a client is stopped for longer than its ttl, requests
 * arrive too late, and a server is stopped.
 *
 * The next waiter gets the lock when the ttl is over, and not before.  A client that
 * was stopped knows at once that it is too late, and its earlier requests change
 * nothing.
 */
/* needs redis: standalone */
/* needs postgres: standalone */
/* needs mariadb: standalone */
#include "lib/promise.h"
#include "lib/server.h"
#include "lib/tcpproxy.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static const struct row {
    const char *store;
    int         ttl_ms, long_ms; /* of sessions; the second if nothing may be lost */
    int         ends_ms;         /* by when others have expired a stopped session */
    const char *subscribe;       /* marks the connection for messages */
} rows[] = {
    { "redis", 800, 800, 800 + 400, "SUBSCRIBE" },
    /* Others count from when they last saw it renewed. */
    { "postgres", 1200, 2400, 2 * 1200 + 800, NULL },
    { "mariadb", 1200, 2400, 2 * 1200 + 800, NULL },
};
static const struct row *row;

/* The state of the other process, in shared memory. */
static struct shown {
    _Atomic hf_time acted;    /* when it last started work under the lock */
    _Atomic hf_time deadline; /* that it last knew */
    _Atomic int     state, released;
    atomic_bool     give, end;
} * shown;

static const char *url_here(void)
{
    char params[32];

    snprintf(params, sizeof params, "ttl=%dms", row->ttl_ms);
    return server_url(params);
}

/* ---- The other process ------------------------------------------------------------- */

static void turn(struct hf_client *client)
{
    struct pollfd pfd = { .fd = hf_fd(client), .events = POLLIN };
    int           wait = hf_timeout_ms(client);

    poll(&pfd, 1, wait < 0 || wait > 2 ? 2 : wait);
    must(hf_process(client) == 0);
}

/* It takes the time before it checks how much is left.  So the time it records was
 * before the deadline. */
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

/* Acquires the lock, and holds it until `give` is set. */
static void puppet(const char *name, struct child *parent)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;
    struct hf_lock   *lock = NULL;
    bool              announced = false;

    options.flags = HF_NO_KEEPER;
    must(hf_open(url_here(), &options, &client) == 0);
    must(hf_mutex(client, name, &lock) == 0);
    must(hf_acquire_start(lock, ACTOR_LIMIT_MS) == 0);
    while (!shown->end) {
        turn(client);
        show(lock);
        if (!announced && hf_state(lock) == HF_HELD) {
            child_say(parent);
            announced = true;
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
    server_expect_empty();
}

/* ---- Stopped clients ---------------------------------------------------------------- */

static void test_a_stopped_holder_finds_that_it_lost_the_lock(void **state)
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
    assert_int_equal(server_holders("pause"), 1);
    actor_give(&next);
    actor_close(&next);
    finish(&child);
}

/* The lock is granted to it while it is stopped: the next waits for a ttl, not for
 * ever. */
static void test_a_stopped_waiter_does_not_block_the_next(void **state)
{
    struct child        child;
    static struct actor first, next;

    (void)state;
    actor_open(&first, row->ttl_ms, "pause");
    actor_take(&first);
    start(&child); /* it does not use the client of this process */
    server_await("pause", 1, 1);
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
    server_await("pause", 1, 1); /* it queues again */
    actor_give(&next);
    assert_true(child_hear(&child, ACTOR_LIMIT_MS));
    actor_close(&first);
    actor_close(&next);
    finish(&child);
}

/* ---- Late requests -------------------------------------------------------------------- */

static void test_a_late_release_changes_nothing(void **state)
{
    struct tcpproxy    *proxy = tcpproxy_start(server_address(), row->subscribe);
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
    server_await("late", 1, 0);
    actor_give(&b);
    actor_take(&a);
    actor_give(&a);
    actor_close(&a);
    actor_close(&b);
    tcpproxy_stop(proxy);
    server_expect_empty();
}

/* It was sent on a connection that the client gave up: only the repeat on the newer
 * connection takes effect. */
static void test_a_late_enter_changes_nothing(void **state)
{
    struct tcpproxy    *proxy = tcpproxy_start(server_address(), row->subscribe);
    static struct actor a, b;

    (void)state;
    actor_open_at(&a, tcpproxy_address(proxy), 3 * row->ttl_ms, "late");
    actor_open(&b, row->ttl_ms, "late");
    actor_take(&a);
    actor_give(&a);
    tcpproxy_strand(proxy, true);
    actor_start(&a);
    actor_await(&a, HF_HELD); /* by another connection */
    actor_give(&a);
    server_await("late", 0, 0);
    tcpproxy_strand(proxy, false);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(actor_acquire(&b, 0), 0);
        actor_give(&b);
        poll(NULL, 0, 5);
    }
    server_await("late", 0, 0);
    actor_close(&a);
    actor_close(&b);
    tcpproxy_stop(proxy);
    server_expect_empty();
}

/* ---- A stopped server ------------------------------------------------------------------ */

static void test_a_short_stop_of_the_server_loses_no_lock(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open(&a, row->long_ms, "short");
    actor_open(&b, row->long_ms, "short");
    actor_take(&a);
    actor_queue(&b, 1);
    for (int i = 0; i < 2; i++) {
        poll(NULL, 0, row->long_ms / 2); /* renewed */
        server_tell("freeze");
        poll(NULL, 0, row->long_ms / 4);
        server_tell("thaw");
        assert_int_equal(hf_state(b.lock), HF_WAITING);
    }
    poll(NULL, 0, row->long_ms);
    assert_true(actor_has(&a));
    actor_give(&a);
    actor_await(&b, HF_HELD);
    actor_give(&b);
    actor_close(&a);
    actor_close(&b);
    server_expect_empty();
}

static void test_a_long_stop_of_the_server_ends_the_lock_by_the_deadline(void **state)
{
    static struct actor a, b;
    static struct rival rival;

    (void)state;
    actors_write();
    actor_open(&a, row->ttl_ms, "long");
    actor_open(&b, row->ttl_ms, "long");
    uint64_t token = actor_take(&a);
    actor_queue(&b, 1);
    rival_start(&rival, row->ttl_ms, "long", &a, 1);
    server_tell("freeze");
    hf_time frozen = hf_now();
    poll(NULL, 0, row->ttl_ms + 100);
    assert_int_equal(hf_state(a.lock), HF_LOST);
    assert_true(a.lost <= frozen + row->ttl_ms * HF_MS);
    poll(NULL, 0, row->ttl_ms / 2);
    server_tell("thaw");
    assert_int_equal(actor_release(&a), HF_ELOST);
    actor_await(&b, HF_HELD);
    assert_true(hf_token(b.lock) > token);
    actor_give(&b);
    rival_stop(&rival);
    actor_take(&a);
    actor_give(&a);
    actor_close(&a);
    actor_close(&b);
    server_expect_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stopped_holder_finds_that_it_lost_the_lock),
        cmocka_unit_test(test_a_stopped_waiter_does_not_block_the_next),
        cmocka_unit_test(test_a_late_release_changes_nothing),
        cmocka_unit_test(test_a_late_enter_changes_nothing),
        cmocka_unit_test(test_a_short_stop_of_the_server_loses_no_lock),
        cmocka_unit_test(test_a_long_stop_of_the_server_ends_the_lock_by_the_deadline),
    };

    const char *store = server_find();

    for (row = rows; strcmp(row->store, store) != 0; row++)
        continue;
    shown = mmap(NULL, sizeof *shown, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                 -1, 0);
    return shown == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
