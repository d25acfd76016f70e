/* mutex.c - acquiring, waiting and releasing in one thread; mutex_threads.c has
 * several. */
#include "lib/killed_holder.h"

#include <string.h>

static void test_acquire_and_release(void **state)
{
    struct hf_client *client = recipe_open();
    struct hf_lock   *lock = recipe_mutex(client, recipe_name());

    (void)state;
    assert_int_equal(hf_state(lock), HF_IDLE);
    assert_int_equal(hf_token(lock), 0);
    assert_int_equal(hf_left_ms(lock), 0);
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_state(lock), HF_HELD);
    assert_true(hf_token(lock) > 0);
    assert_true(hf_left_ms(lock) > 0);
    assert_int_equal(hf_release(lock), 0);
    assert_int_equal(hf_state(lock), HF_IDLE);
    assert_int_equal(hf_token(lock), 0);
    hf_lock_free(lock);
    hf_close(client);
}

static void test_release_without_holding_is_refused(void **state)
{
    struct hf_client *client = recipe_open();
    struct hf_lock   *lock = recipe_mutex(client, recipe_name());

    (void)state;
    assert_int_equal(hf_release(lock), HF_ESTATE);
    assert_non_null(strstr(hf_errmsg(client), hf_name(lock)));
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_release(lock), 0);
    assert_int_equal(hf_release(lock), HF_ESTATE);
    hf_close(client); /* frees the lock, too */
}

static void test_a_try_of_a_held_lock_is_busy(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *first = recipe_mutex(a, name), *second = recipe_mutex(b, name);

    (void)state;
    assert_int_equal(hf_acquire(first, 0), 0);
    assert_int_equal(hf_acquire(second, 0), HF_EBUSY);
    assert_true(hf_err_retryable(HF_EBUSY));
    assert_int_equal(hf_state(second), HF_IDLE);
    recipe_await_line(b, name, 1); /* it never queued */
    assert_int_equal(hf_release(first), 0);
    assert_int_equal(hf_acquire(second, 0), 0);
    assert_int_equal(hf_release(second), 0);
    hf_close(a);
    hf_close(b);
}

static void test_a_wait_ends_at_its_time_limit(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *first = recipe_mutex(a, name), *second = recipe_mutex(b, name);

    (void)state;
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);
    recipe_await_line(b, name, 1); /* connected */
    int64_t start = recipe_ms();
    assert_int_equal(hf_acquire(second, 100), HF_ETIMEOUT);
    int64_t took = recipe_ms() - start;
    assert_in_range(took, 99, 1000);
    recipe_await(second, HF_IDLE);
    recipe_await_line(b, name, 1);
    assert_int_equal(hf_release(first), 0);
    assert_int_equal(hf_acquire(second, RECIPE_LIMIT_MS), 0);
    hf_close(a);
    hf_close(b);
}

static void test_tokens_rise(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *lock[] = { recipe_mutex(a, name), recipe_mutex(b, name) };
    uint64_t          last = 0;

    (void)state;
    for (int i = 0; i < 50; i++) {
        assert_int_equal(hf_acquire(lock[i % 2], RECIPE_LIMIT_MS), 0);
        assert_true(hf_token(lock[i % 2]) > last);
        last = hf_token(lock[i % 2]);
        assert_int_equal(hf_release(lock[i % 2]), 0);
    }
    hf_close(a);
    hf_close(b);
}

static void test_reentrant_for_the_holding_thread(void **state)
{
    struct hf_client *client = recipe_open();
    struct hf_lock   *lock = recipe_mutex(client, recipe_name());

    (void)state;
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    uint64_t token = hf_token(lock);
    assert_int_equal(hf_acquire(lock, 0), 0);
    assert_int_equal(hf_acquire(lock, -1), 0);
    assert_int_equal(hf_token(lock), token);
    assert_int_equal(hf_release(lock), 0);
    assert_int_equal(hf_release(lock), 0);
    assert_int_equal(hf_state(lock), HF_HELD);
    assert_int_equal(hf_release(lock), 0);
    assert_int_equal(hf_state(lock), HF_IDLE);
    hf_close(client);
}

static void test_freeing_and_closing_release(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *first = recipe_mutex(a, name), *second = recipe_mutex(b, name);

    (void)state;
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);
    hf_lock_free(first);
    assert_int_equal(hf_acquire(second, 5000), 0);
    hf_close(b);
    first = recipe_mutex(a, name);
    assert_int_equal(hf_acquire(first, 5000), 0);
    hf_close(a);
    hf_lock_free(NULL);
    hf_close(NULL);
}

static void test_bad_names_are_refused(void **state)
{
    struct hf_client *client = recipe_open();
    struct hf_lock   *lock = NULL;
    char              longest[257];
    const char *bad[] = { "", "a/b", "..", "a..b", ".", "a\nb", "\xff", "\x7f", longest };

    (void)state;
    memset(longest, 'x', 256);
    longest[256] = '\0';
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(hf_mutex(client, bad[i], &lock), HF_EINVAL);
        assert_null(lock);
        assert_non_null(strstr(hf_errmsg(client), "name"));
    }
    longest[255] = '\0';
    assert_int_equal(hf_mutex(client, longest, &lock), 0);
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_release(lock), 0);
    hf_close(client);
}

static void test_a_dead_holder_is_succeeded_by_the_waiter(void **state)
{
    const char          *name = recipe_name();
    struct killed_holder dying;

    (void)state;
    killed_holder_hold(&dying, hf_mutex, name);
    struct hf_client *client = recipe_open();
    struct hf_lock   *waiter = recipe_mutex(client, name);
    assert_int_equal(hf_acquire_start(waiter, -1), 0);
    recipe_await_line(client, name, 2);
    assert_int_equal(hf_state(waiter), HF_WAITING);
    killed_holder_kill(&dying, client, name, 1);
    recipe_await(waiter, HF_HELD);
    hf_close(client);
}

/* The handle of a lost session can neither be acquired again nor nest a reader: both
 * would act on a lock that somebody else may hold. */
static void test_a_lost_session_does_not_get_its_lock_back(void **state)
{
    const char *name = recipe_name();

    (void)state;
    if (!recipe_is_local())
        skip(); /* there the holder is killed, and has no handle left */
    struct killed_holder dying;
    struct hf_lock      *reader;
    killed_holder_hold(&dying, hf_writer, name);
    assert_int_equal(hf_reader(dying.client, name, &reader), 0);
    struct hf_client *client = recipe_open();
    recipe_await_line(client, name, 0);
    assert_int_equal(hf_left_ms(dying.lock), 0);
    assert_int_equal(hf_process(dying.client), 0);
    assert_int_equal(hf_state(dying.lock), HF_LOST);
    assert_int_equal(hf_acquire(dying.lock, 0), HF_ELOST);

    struct hf_lock *rival;
    assert_int_equal(hf_writer(client, name, &rival), 0);
    assert_int_equal(hf_acquire(rival, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire(reader, 0), HF_EBUSY);
    assert_int_equal(hf_release(dying.lock), HF_ELOST);
    assert_int_equal(hf_state(rival), HF_HELD);
    hf_close(dying.client);
    hf_close(client);
}

/* Each handle has a place of its own, and the second waits for the first. */
static void test_two_handles_of_one_client_queue_for_each_other(void **state)
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
    hf_lock_free(first); /* removes its own place only */
    recipe_await(second, HF_HELD);
    assert_true(hf_token(second) > token);
    recipe_await_line(client, name, 1);
    hf_close(client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acquire_and_release),
        cmocka_unit_test(test_release_without_holding_is_refused),
        cmocka_unit_test(test_a_try_of_a_held_lock_is_busy),
        cmocka_unit_test(test_a_wait_ends_at_its_time_limit),
        cmocka_unit_test(test_tokens_rise),
        cmocka_unit_test(test_reentrant_for_the_holding_thread),
        cmocka_unit_test(test_freeing_and_closing_release),
        cmocka_unit_test(test_bad_names_are_refused),
        cmocka_unit_test(test_a_dead_holder_is_succeeded_by_the_waiter),
        cmocka_unit_test(test_a_lost_session_does_not_get_its_lock_back),
        cmocka_unit_test(test_two_handles_of_one_client_queue_for_each_other),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
