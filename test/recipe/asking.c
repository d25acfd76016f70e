/* asking.c - asking a holder to release; following a place; full queues; statistics. */
#include "lib/recipe.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static bool readable(int fd)
{
    struct pollfd poller = { .fd = fd, .events = POLLIN };

    return poll(&poller, 1, 0) == 1;
}

struct events {
    atomic_int      asks, places;
    char            reason[64];
    _Atomic int64_t ahead;
};

static void on_ask(struct hf_lock *lock, const char *reason, void *data)
{
    struct events *events = data;

    (void)lock;
    snprintf(events->reason, sizeof events->reason, "%s", reason);
    events->asks++;
}

static void on_place(struct hf_lock *lock, int64_t ahead, void *data)
{
    struct events *events = data;

    (void)lock;
    events->ahead = ahead;
    events->places++;
}

static struct hf_client *open_with_callbacks(struct events *events)
{
    struct hf_options options = HF_OPTIONS_INIT;

    options.on_ask = on_ask;
    options.on_place = on_place;
    options.data = events;
    return recipe_open_with(&options);
}

static void await(atomic_int *counter, int value)
{
    int64_t end = recipe_ms() + 10000;

    while (*counter < value && recipe_ms() < end)
        poll(NULL, 0, 1);
    assert_int_equal(*counter, value);
}

static void test_a_holder_is_asked(void **state)
{
    const char       *name = recipe_name();
    struct events     events = { .asks = 0 };
    struct hf_client *a = open_with_callbacks(&events), *b = recipe_open();
    struct hf_lock   *lock = recipe_mutex(a, name);
    char              reason[16];

    (void)state;
    assert_int_equal(hf_ask(b, name, "why", RECIPE_LIMIT_MS), HF_ENOTFOUND);
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    int fd = hf_ask_fd(lock);
    assert_true(fd >= 0);
    assert_false(readable(fd));
    assert_false(hf_asked(lock, NULL, 0));
    assert_int_equal(hf_ask(b, name, "we must reboot", RECIPE_LIMIT_MS), 1);
    await(&events.asks, 1);
    assert_string_equal(events.reason, "we must reboot");
    assert_true(readable(fd));
    assert_true(hf_asked(lock, reason, sizeof reason));
    assert_string_equal(reason, "we must reboot");
    assert_int_equal(hf_state(lock), HF_HELD); /* the holder decides */
    assert_int_equal(hf_ask(b, name, NULL, RECIPE_LIMIT_MS), 1);
    await(&events.asks, 2);
    assert_int_equal(hf_release(lock), 0);
    assert_false(readable(fd));
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    assert_false(hf_asked(lock, NULL, 0)); /* a new grant */
    hf_close(a);
    hf_close(b);
}

static void release_when_asked(struct hf_lock *lock, const char *reason, void *data)
{
    (void)reason;
    (void)data;
    (void)hf_release_start(lock);
}

static void test_a_holder_releases_when_asked(void **state)
{
    const char       *name = recipe_name();
    struct hf_options options = HF_OPTIONS_INIT;

    (void)state;
    options.on_ask = release_when_asked;
    struct hf_client *a = recipe_open_with(&options), *b = recipe_open();
    struct hf_lock   *holder = recipe_mutex(a, name), *wanting = recipe_mutex(b, name);
    assert_int_equal(hf_acquire_start(holder, -1),
                     0); /* so that any thread may release it */
    recipe_await(holder, HF_HELD);
    recipe_await_line(b, name,
                      1); /* connecting may take longer than the time limit below */
    assert_int_equal(hf_acquire(wanting, 30), HF_ETIMEOUT);
    recipe_await(wanting, HF_IDLE);
    assert_int_equal(hf_ask(b, name, "please", RECIPE_LIMIT_MS), 1);
    assert_int_equal(hf_acquire(wanting, 5000), 0);
    recipe_await(holder, HF_IDLE);
    assert_int_equal(hf_why(holder), 0);
    hf_close(a);
    hf_close(b);
}

static void test_every_holder_is_asked_and_no_waiter(void **state)
{
    const char       *name = recipe_name();
    struct events     events = { .asks = 0 };
    struct hf_client *a = open_with_callbacks(&events), *b = recipe_open();
    struct hf_lock   *lock[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(hf_semaphore(a, name, 2, 1, &lock[i]), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(hf_acquire_start(lock[i], -1), 0);
    recipe_await_line(b, name, 3);
    int64_t end = recipe_ms() + 10000;
    int     held = 0;
    while (held < 2 && recipe_ms() < end) {
        held = 0;
        for (int i = 0; i < 3; i++)
            held += hf_state(lock[i]) == HF_HELD;
    }
    assert_int_equal(hf_ask(b, name, "x", RECIPE_LIMIT_MS), 2);
    await(&events.asks, 2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(hf_asked(lock[i], NULL, 0), hf_state(lock[i]) == HF_HELD);
    hf_close(a);
    hf_close(b);
}

static void test_a_waiter_follows_its_place(void **state)
{
    const char       *name = recipe_name();
    struct events     events = { .places = 0 };
    struct hf_client *a = recipe_open(), *b = open_with_callbacks(&events);
    struct hf_lock   *first = recipe_mutex(a, name), *second = recipe_mutex(a, name);
    struct hf_lock   *third = recipe_mutex(a, name), *mine = recipe_mutex(b, name);

    (void)state;
    assert_int_equal(hf_set_follow(mine, true), 0);
    assert_int_equal(hf_ahead(mine), -1);
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(second, -1), 0);
    recipe_await_line(a, name, 2);
    assert_int_equal(hf_acquire_start(third, -1), 0);
    recipe_await_line(a, name, 3);
    assert_int_equal(hf_acquire_start(mine, -1), 0);
    assert_int_equal(hf_set_follow(mine, false), HF_ESTATE);
    await(&events.places, 1);
    assert_int_equal(events.ahead, 3);
    assert_int_equal(hf_cancel(second), 0);
    await(&events.places, 2);
    assert_int_equal(events.ahead, 2);
    assert_int_equal(hf_ahead(mine), 2);
    assert_int_equal(hf_release(first), 0);
    await(&events.places, 3);
    assert_int_equal(events.ahead, 1);
    recipe_await(third, HF_HELD);
    assert_int_equal(hf_release(third), 0);
    recipe_await(mine, HF_HELD);
    assert_int_equal(hf_ahead(mine), 0);
    hf_close(a);
    hf_close(b);
}

static void test_a_full_queue_refuses(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *held = recipe_mutex(a, name), *waiting = recipe_mutex(a, name);
    struct hf_lock   *late = recipe_mutex(b, name);

    (void)state;
    assert_int_equal(hf_set_max_waiters(late, 1), 0);
    assert_int_equal(hf_acquire(held, RECIPE_LIMIT_MS), 0);
    recipe_await_line(b, name,
                      1); /* connecting may take longer than the time limit below */
    assert_int_equal(hf_acquire(late, 20), HF_ETIMEOUT); /* one may wait */
    assert_int_equal(hf_acquire_start(waiting, -1), 0);
    recipe_await_line(a, name, 2);
    assert_int_equal(hf_acquire(late, 10000), HF_EFULL);
    assert_true(hf_err_retryable(HF_EFULL));
    assert_true(strlen(hf_errmsg(b)) > 0);
    recipe_await_line(a, name, 2);
    assert_int_equal(hf_cancel(waiting), 0);
    recipe_await_line(a, name, 1);
    assert_int_equal(hf_release(held), 0);
    assert_int_equal(hf_acquire(late, RECIPE_LIMIT_MS), 0);
    hf_close(a);
    hf_close(b);
}

static void test_statistics_count_every_call(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *lock = recipe_mutex(a, name), *rival = recipe_mutex(b, name);
    struct hf_stats   stats;

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
        assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0); /* nested: not counted */
        assert_int_equal(hf_release(lock), 0);
        assert_int_equal(hf_release(lock), 0);
    }
    assert_int_equal(hf_acquire(rival, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire(lock, 0), HF_EBUSY);
    assert_int_equal(hf_acquire(lock, 30), HF_ETIMEOUT);
    recipe_await(lock, HF_IDLE);
    assert_int_equal(hf_acquire_start(lock, -1), 0);
    recipe_await_line(a, name, 2);
    assert_int_equal(hf_cancel(lock), 0);
    recipe_await(lock, HF_IDLE);
    assert_int_equal(hf_release(rival), 0);
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    poll(NULL, 0, 20);
    assert_int_equal(hf_break(b, name, hf_token(lock), RECIPE_LIMIT_MS), 0);
    recipe_await(lock, HF_LOST);
    assert_int_equal(hf_release(lock), HF_ELOST);

    hf_get_stats(lock, &stats, sizeof stats);
    assert_int_equal(stats.acquired, 4);
    assert_int_equal(stats.released, 3);
    assert_int_equal(stats.lost, 1);
    assert_int_equal(stats.broken, 1);
    assert_true(stats.least_left > 0); /* INT64_MAX where there is no lease */
    assert_int_equal(stats.busy, 1);
    assert_int_equal(stats.timeouts, 1);
    assert_int_equal(stats.canceled, 1);
    assert_int_equal(stats.failed, 0);
    assert_int_equal(stats.wait.count, 4);
    assert_int_equal(stats.hold.count, 4);
    assert_int_equal(recipe_sum(&stats.wait), 4);
    assert_int_equal(recipe_sum(&stats.hold), 4);
    assert_true(stats.hold.max_us >= 19000 && stats.hold.total_us >= stats.hold.max_us);
    hf_close(a);
    hf_close(b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_holder_is_asked),
        cmocka_unit_test(test_a_holder_releases_when_asked),
        cmocka_unit_test(test_every_holder_is_asked_and_no_waiter),
        cmocka_unit_test(test_a_waiter_follows_its_place),
        cmocka_unit_test(test_a_full_queue_refuses),
        cmocka_unit_test(test_statistics_count_every_call),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
