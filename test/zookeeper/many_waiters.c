/* many_waiters.c - thousands of waiters in one client: they are granted in order, across
 * new connections, and the cost of each does not grow with their number.
 *
 * HF_ZK_MANY: how many (4000).
 */
/* needs: standalone --tick 2000 --jvm=-Xmx512m */
#include "lib/fixture.h"
#include "lib/promise.h"
#include "lib/witness.h"

#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define LIMIT_MS 120000

enum { CHILDREN2 = 12, SET_WATCHES = 101 };

static size_t many = 4000;

/* A client that the test drives, with its locks and the order in which it got them. */
struct crowd {
    struct hf_client *client;
    struct hf_lock  **lock;
    size_t            count, granted, ended;
    struct hf_lock  **order;
};

static void on_state(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    struct crowd *crowd = data;

    (void)why;
    if (state == HF_HELD)
        crowd->order[crowd->granted++] = lock;
    if (state == HF_IDLE)
        crowd->ended++;
}

static void turn(struct crowd *crowd, int ms)
{
    struct pollfd pfd = { .fd = hf_fd(crowd->client), .events = POLLIN };
    int           wait = hf_timeout_ms(crowd->client);

    poll(&pfd, 1, wait < 0 || wait > ms ? ms : wait);
    assert_int_equal(hf_process(crowd->client), 0);
}

/* `name` NULL: each lock has a name of its own. */
static void crowd_open(struct crowd *crowd, const char *address, size_t count,
                       const char *name)
{
    struct hf_options options = HF_OPTIONS_INIT;
    char              text[64];

    *crowd = (struct crowd){ .count = count };
    crowd->lock = calloc(count, sizeof(struct hf_lock *));
    crowd->order = calloc(count, sizeof(struct hf_lock *));
    assert_non_null(crowd->lock);
    assert_non_null(crowd->order);
    options.flags = HF_NO_KEEPER;
    options.on_state = on_state;
    options.data = crowd;
    snprintf(text, sizeof text, "zk://%s?session=30s", address);
    assert_int_equal(hf_open(text, &options, &crowd->client), 0);
    for (size_t i = 0; i < count; i++) {
        snprintf(text, sizeof text, "many-%zu", i);
        assert_int_equal(hf_mutex(crowd->client, name != NULL ? name : text,
                                  &crowd->lock[i]),
                         0);
        assert_int_equal(hf_set_any_thread(crowd->lock[i], true), 0);
    }
}

static void crowd_close(struct crowd *crowd)
{
    for (size_t i = 0; i < crowd->count; i++)
        hf_lock_free(crowd->lock[i]);
    hf_close(crowd->client);
    free(crowd->lock);
    free(crowd->order);
}

static void want_all(struct crowd *crowd)
{
    for (size_t i = 0; i < crowd->count; i++)
        assert_int_equal(hf_acquire_start(crowd->lock[i], -1), 0);
}

/* Drive it until it holds so many. */
static void await_granted(struct crowd *crowd, size_t count)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;

    while (crowd->granted < count && hf_now() < end)
        turn(crowd, 100);
    assert_int_equal(crowd->granted, count);
}

static void await_queued(struct crowd *crowd, int64_t ahead)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;

    while (hf_ahead(crowd->lock[crowd->count - 1]) != ahead && hf_now() < end)
        turn(crowd, 100);
    assert_int_equal(hf_ahead(crowd->lock[crowd->count - 1]), ahead);
}

/* Release each lock when it is granted, until all have been. */
static void drain(struct crowd *crowd)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;
    size_t  released = 0;

    while (crowd->ended < crowd->count && hf_now() < end) {
        for (; released < crowd->granted; released++)
            assert_int_equal(hf_release_start(crowd->order[released]), 0);
        turn(crowd, 100);
    }
    assert_int_equal(crowd->ended, crowd->count);
}

static double cpu_ms(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

/* ---- One queue ---------------------------------------------------------------------- */

/* Returns the CPU time for all of them, in ms. */
static double one_line(size_t count, bool broken)
{
    struct crowd holder, crowd;
    char         name[32];

    snprintf(name, sizeof name, "line-%zu-%d", count, broken);
    crowd_open(&holder, witness_server(), 1, name);
    want_all(&holder);
    await_granted(&holder, 1);
    crowd_open(&crowd, broken ? zkproxy_address(proxy) : witness_server(), count, name);
    size_t  before = mallinfo2().uordblks;
    double  cpu = cpu_ms();
    hf_time start = hf_now();
    want_all(&crowd);
    await_queued(&crowd, (int64_t)count);
    hf_time queued = hf_now();
    size_t  each = (mallinfo2().uordblks - before) / count;
    if (broken)
        zkproxy_drop(proxy);
    assert_int_equal(hf_release_start(holder.lock[0]), 0);
    turn(&holder, 0);
    turn(&holder, 100);
    drain(&crowd);
    cpu = cpu_ms() - cpu;
    print_message(
        "# %zu waiters%s: queued in %.0f ms, drained in %.0f ms, %.1f us of CPU "
        "and %zu bytes each\n",
        count, broken ? ", with a connection that broke" : "",
        (double)(queued - start) / 1e6, (double)(hf_now() - queued) / 1e6,
        cpu * 1e3 / (double)count, each);
    for (size_t i = 0; i < count; i++)
        assert_ptr_equal(crowd.order[i], crowd.lock[i]);
    crowd_close(&crowd);
    crowd_close(&holder);
    snprintf(name, sizeof name, "/line-%zu-%d", count, broken);
    assert_int_equal(witness_count(name), 0);
    return cpu;
}

/* Five times as many cost five times as much, not twenty-five. */
static void cost_per_waiter_does_not_grow(void **state)
{
    (void)state;
    double few = one_line(many / 5, false);
    double all = one_line(many, false);

    assert_true(all / few < 12);
    assert_int_equal(witness_await_watches(0), 0);
}

static void new_connections_keep_the_order(void **state)
{
    (void)state;
    one_line(many, true);
    assert_true(zkproxy_requests(proxy, CHILDREN2) < 50); /* each serves all waiters */
    assert_int_equal(witness_await_watches(0), 0);
}

/* The answers to thousands of creates are lost at once: no node is created twice. */
static void lost_answers_create_no_second_node(void **state)
{
    struct crowd crowd;

    (void)state;
    crowd_open(&crowd, zkproxy_address(proxy), many, "lost");
    want_all(&crowd);
    zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_DROP_AFTER, 15, many / 2, 0 });
    drain(&crowd);
    assert_true(zkproxy_has_struck(proxy));
    crowd_close(&crowd);
    assert_int_equal(witness_count("/lost"), 0);
}

/* ---- Many queues -------------------------------------------------------------------- */

/* Thousands of watches are restored, in messages that the server accepts. */
static void watches_are_restored_in_few_messages(void **state)
{
    struct crowd holder, crowd;
    long         watches = 3 * (long)many;

    (void)state;
    crowd_open(&holder, witness_server(), many, NULL);
    crowd_open(&crowd, zkproxy_address(proxy), many, NULL);
    want_all(&holder);
    await_granted(&holder, many);
    want_all(&crowd);
    hf_time end = hf_now() + LIMIT_MS * HF_MS;
    while (witness_watches() < watches && hf_now() < end) {
        turn(&crowd, 10);
        turn(&holder, 10);
    }
    assert_int_equal(witness_watches(), watches);
    uint64_t sets = zkproxy_requests(proxy, SET_WATCHES);
    assert_true(sets > 0 && sets <= 1 + many / 100); /* many in one message */
    zkproxy_drop(proxy);
    do
        turn(&crowd, 10);
    while (
        (zkproxy_requests(proxy, SET_WATCHES) == sets || witness_watches() < watches) &&
        hf_now() < end);
    print_message("# %zu watches in %u messages\n", 2 * many,
                  (unsigned)(zkproxy_requests(proxy, SET_WATCHES) - sets));
    assert_int_equal(witness_watches(), watches);
    assert_int_equal(crowd.granted, 0);
    for (size_t i = 0; i < many; i++)
        assert_int_equal(hf_release_start(holder.lock[i]), 0);
    while (holder.ended < many && hf_now() < end)
        turn(&holder, 10);
    await_granted(&crowd, many);
    drain(&crowd);
    assert_int_equal(witness_await_watches(0), 0);
    crowd_close(&crowd);
    crowd_close(&holder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cost_per_waiter_does_not_grow, start_proxy,
                                        stop_proxy),
        cmocka_unit_test_setup_teardown(new_connections_keep_the_order, start_proxy,
                                        stop_proxy),
        cmocka_unit_test_setup_teardown(lost_answers_create_no_second_node, start_proxy,
                                        stop_proxy),
        cmocka_unit_test_setup_teardown(watches_are_restored_in_few_messages, start_proxy,
                                        stop_proxy),
    };

    if (getenv("HF_ZK_MANY") != NULL)
        many = strtoul(getenv("HF_ZK_MANY"), NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
