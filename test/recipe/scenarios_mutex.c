/* scenarios_mutex.c - the field's scenarios for a mutex; see docs/internals/scenarios.md. */
#include "lib/doomed.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

/* ---- Reentrancy ----------------------------------------------------------------- */

struct second {
    struct hf_lock *lock;
    atomic_bool     inside; /* the first thread, as it says itself */
    atomic_int      result;
    bool            overlap;
};

static void *take_after(void *data)
{
    struct second *second = data;

    second->result = hf_acquire(second->lock, 10000);
    second->overlap = second->inside;
    return (void *)(intptr_t)hf_release(second->lock);
}

/* The second thread must not get it while the first is still one deep. */
static void test_reentrant_2_threads(void **state)
{
    struct hf_client *client = recipe_open();
    struct second second = { .lock = recipe_mutex(client, recipe_name()), .result = 1 };
    pthread_t     thread;
    void         *released;

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(hf_acquire(second.lock, RECIPE_LIMIT_MS), 0);
    second.inside = true;
    assert_int_equal(pthread_create(&thread, NULL, take_after, &second), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hf_release(second.lock), 0);
        poll(NULL, 0, 20); /* time enough for it to do wrong */
        assert_int_equal(second.result, 1);
    }
    second.inside = false;
    assert_int_equal(hf_release(second.lock), 0);
    pthread_join(thread, &released);
    assert_int_equal(second.result, 0);
    assert_false(second.overlap);
    assert_int_equal((intptr_t)released, 0);
    hf_close(client);
}

/* ---- Two sessions ---------------------------------------------------------------- */

static void test_2_clients(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *first = recipe_mutex(a, name), *second = recipe_mutex(b, name);

    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);
        assert_int_equal(hf_acquire_start(second, -1), 0);
        recipe_await_line(a, name, 2);
        assert_int_equal(hf_state(second), HF_WAITING);
        assert_int_equal(hf_release(first), 0);
        recipe_await(second, HF_HELD);
        assert_int_equal(hf_acquire(first, 0), HF_EBUSY);
        assert_int_equal(hf_release(second), 0);
    }
    hf_close(a);
    hf_close(b);
}

static void test_killed_session(void **state)
{
    const char   *name = recipe_name();
    struct doomed doomed;

    (void)state;
    doomed_hold(&doomed, hf_mutex, name);
    struct hf_client *client = recipe_open();
    struct hf_lock   *waiter = recipe_mutex(client, name);
    assert_int_equal(hf_acquire_start(waiter, -1), 0);
    recipe_await_line(client, name, 2);
    assert_int_equal(hf_state(waiter), HF_WAITING);
    doomed_kill(&doomed, client, name, 1);
    recipe_await(waiter, HF_HELD);
    hf_close(client);
}

/* A holder that lost its session must not believe itself again: not by taking the
 * lock once more, not by reading under it. */
static void test_killed_session_is_not_reentrant(void **state)
{
    const char *name = recipe_name();

    (void)state;
    if (!recipe_is_local())
        skip(); /* there the holder is dead, and can believe nothing */
    struct doomed   doomed;
    struct hf_lock *reader;
    doomed_hold(&doomed, hf_writer, name);
    assert_int_equal(hf_reader(doomed.client, name, &reader), 0);
    struct hf_client *client = recipe_open();
    recipe_await_line(client, name, 0);
    assert_int_equal(hf_left_ms(doomed.lock), 0);
    assert_int_equal(hf_process(doomed.client), 0);
    assert_int_equal(hf_state(doomed.lock), HF_LOST);
    assert_int_equal(hf_acquire(doomed.lock, 0), HF_ELOST);

    struct hf_lock *rival;
    assert_int_equal(hf_writer(client, name, &rival), 0);
    assert_int_equal(hf_acquire(rival, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire(reader, 0), HF_EBUSY);
    assert_int_equal(hf_release(doomed.lock), HF_ELOST);
    assert_int_equal(hf_state(rival), HF_HELD);
    hf_close(doomed.client);
    hf_close(client);
}

/* ---- Asking ------------------------------------------------------------------------ */

static void give_up(struct hf_lock *lock, const char *reason, void *data)
{
    (void)reason;
    (void)data;
    (void)hf_release_start(lock);
}

static void test_revoking(void **state)
{
    const char       *name = recipe_name();
    struct hf_options options = HF_OPTIONS_INIT;

    (void)state;
    options.on_ask = give_up;
    struct hf_client *a = recipe_open_with(&options), *b = recipe_open();
    struct hf_lock   *holder = recipe_mutex(a, name), *wanting = recipe_mutex(b, name);
    assert_int_equal(hf_acquire_start(holder, -1),
                     0); /* so that any thread may give it */
    recipe_await(holder, HF_HELD);
    recipe_await_line(b, name, 1); /* connected: that may take longer than what follows */
    assert_int_equal(hf_acquire(wanting, 30), HF_ETIMEOUT);
    recipe_await(wanting, HF_IDLE);
    assert_int_equal(hf_ask(b, name, "please", RECIPE_LIMIT_MS), 1);
    assert_int_equal(hf_acquire(wanting, 5000), 0);
    recipe_await(holder, HF_IDLE);
    assert_int_equal(hf_why(holder), 0);
    hf_close(a);
    hf_close(b);
}

/* ---- Handles ---------------------------------------------------------------------- */

/* Curator's own: each is a place of its own, and the second waits for the first. */
static void test_two_handles_same_name_same_session(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open();
    struct hf_lock   *first = recipe_mutex(client, name),
                   *second = recipe_mutex(client, name);

    (void)state;
    assert_int_equal(hf_acquire_start(first, -1), 0);
    recipe_await(first, HF_HELD);
    uint64_t token = hf_token(first);
    assert_int_equal(hf_acquire_start(second, -1), 0);
    recipe_await_line(client, name, 2);
    assert_int_equal(hf_release(second), HF_ESTATE);
    assert_int_equal(hf_state(second), HF_WAITING);
    assert_int_equal(hf_cancel(second), 0);
    recipe_await(second, HF_IDLE);
    assert_int_equal(hf_state(first), HF_HELD);
    assert_int_equal(hf_token(first), token);
    assert_int_equal(hf_acquire_start(second, -1), 0);
    recipe_await_line(client, name, 2);
    hf_lock_free(first); /* gives up its own place only */
    recipe_await(second, HF_HELD);
    assert_true(hf_token(second) > token);
    recipe_await_line(client, name, 1);
    hf_close(client);
}

/* A try leaves nothing behind, however often. */
static void test_failed_tries_leave_nothing(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *held = recipe_mutex(a, name), *lock = recipe_mutex(b, name);
    uint64_t          token;

    (void)state;
    assert_int_equal(hf_acquire(held, RECIPE_LIMIT_MS), 0);
    token = hf_token(held);
    for (int i = 0; i < 200; i++)
        assert_int_equal(hf_acquire(lock, 0), HF_EBUSY);
    recipe_await_line(a, name, 1);
    assert_int_equal(hf_token(held), token);
    assert_int_equal(hf_release(held), 0);
    recipe_await_line(a, name, 0);
    hf_close(a);
    hf_close(b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reentrant_2_threads),
        cmocka_unit_test(test_2_clients),
        cmocka_unit_test(test_killed_session),
        cmocka_unit_test(test_killed_session_is_not_reentrant),
        cmocka_unit_test(test_revoking),
        cmocka_unit_test(test_two_handles_same_name_same_session),
        cmocka_unit_test(test_failed_tries_leave_nothing),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
