/* mutex.c - taking, waiting, giving back; one thread and many. */
#include "lib/recipe.h"

#include <pthread.h>
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

static void test_release_without_holding(void **state)
{
    struct hf_client *client = recipe_open();
    struct hf_lock   *lock = recipe_mutex(client, recipe_name());

    (void)state;
    assert_int_equal(hf_release(lock), HF_ESTATE);
    assert_non_null(strstr(hf_errmsg(client), hf_name(lock)));
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_release(lock), 0);
    assert_int_equal(hf_release(lock), HF_ESTATE);
    hf_close(client); /* frees the lock too */
}

static void test_try_finds_it_taken(void **state)
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

static void test_timed_wait_ends_in_time(void **state)
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

struct other {
    struct hf_lock *lock;
    int64_t         timeout;
    int             acquired, released;
};

static void *release_only(void *data)
{
    struct other *other = data;

    other->released = hf_release(other->lock);
    return NULL;
}

static void *acquire_only(void *data)
{
    struct other *other = data;

    other->acquired = hf_acquire(other->lock, other->timeout);
    if (other->acquired == 0)
        other->released = hf_release(other->lock);
    return NULL;
}

static void run_thread(void *(*body)(void *), struct other *other)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, body, other), 0);
    pthread_join(thread, NULL);
}

static void test_only_the_holding_thread_releases(void **state)
{
    struct hf_client *client = recipe_open();
    struct hf_lock   *lock = recipe_mutex(client, recipe_name());
    struct other      other = { .lock = lock };

    (void)state;
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    run_thread(release_only, &other);
    assert_int_equal(other.released, HF_EOWNER);
    run_thread(acquire_only, &other);
    assert_int_equal(other.acquired, HF_EBUSY);
    other.timeout = 20;
    run_thread(acquire_only, &other);
    assert_int_equal(other.acquired, HF_ETIMEOUT);
    assert_int_equal(hf_release(lock), 0);

    assert_int_equal(hf_set_any_thread(lock, true), 0);
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_set_any_thread(lock, false), HF_ESTATE);
    assert_int_equal(hf_acquire(lock, 0), HF_EBUSY); /* nothing is reentrant then */
    run_thread(release_only, &other);
    assert_int_equal(other.released, 0);
    hf_close(client);
}

struct crowd {
    struct hf_lock *lock;
    long            counter; /* guarded by nothing else */
    uint64_t        last;
    int             falls;
};

#define ROUNDS 50

static void *count_up(void *data)
{
    struct crowd *crowd = data;

    for (int i = 0; i < ROUNDS; i++) {
        if (hf_acquire(crowd->lock, -1) != 0)
            return "acquire failed";
        long seen = crowd->counter;
        crowd->falls += hf_token(crowd->lock) <= crowd->last;
        crowd->last = hf_token(crowd->lock);
        crowd->counter = seen + 1;
        if (hf_release(crowd->lock) != 0)
            return "release failed";
    }
    return NULL;
}

static void test_threads_share_a_handle(void **state)
{
    struct hf_client *client = recipe_open();
    struct crowd      crowd = { .lock = recipe_mutex(client, recipe_name()) };
    pthread_t         thread[8];

    (void)state;
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, count_up, &crowd), 0);
    for (int i = 0; i < 8; i++) {
        void *fault;
        pthread_join(thread[i], &fault);
        assert_null(fault);
    }
    assert_int_equal(crowd.counter, 8 * ROUNDS);
    assert_int_equal(crowd.falls, 0);
    hf_close(client);
}

struct handles {
    struct hf_client *client;
    const char       *name;
    struct crowd     *crowd;
};

static void *count_up_alone(void *data)
{
    struct handles *handles = data;
    struct hf_lock *lock;

    if (hf_mutex(handles->client, handles->name, &lock) != 0)
        return "no handle";
    for (int i = 0; i < ROUNDS; i++) {
        if (hf_acquire(lock, -1) != 0)
            return "acquire failed";
        long seen = handles->crowd->counter;
        handles->crowd->counter = seen + 1;
        if (hf_release(lock) != 0)
            return "release failed";
    }
    hf_lock_free(lock);
    return NULL;
}

static void test_threads_with_handles_of_their_own(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client[] = { recipe_open(), recipe_open() };
    struct crowd      crowd = { .counter = 0 };
    struct handles    handles[] = { { client[0], name, &crowd },
                                    { client[1], name, &crowd } };
    pthread_t         thread[8];

    (void)state;
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, count_up_alone,
                                        &handles[i % 2]),
                         0);
    for (int i = 0; i < 8; i++) {
        void *fault;
        pthread_join(thread[i], &fault);
        assert_null(fault);
    }
    assert_int_equal(crowd.counter, 8 * ROUNDS);
    recipe_await_line(client[0], name, 0);
    hf_close(client[0]);
    hf_close(client[1]);
}

static void test_cancel_from_another_thread(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *first = recipe_mutex(a, name), *second = recipe_mutex(b, name);
    struct other      other = { .lock = second, .timeout = -1 };
    pthread_t         thread;

    (void)state;
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);
    assert_int_equal(pthread_create(&thread, NULL, acquire_only, &other), 0);
    recipe_await_line(a, name, 2);
    assert_int_equal(hf_cancel(second), 0);
    pthread_join(thread, NULL);
    assert_int_equal(other.acquired, HF_ECANCELED);
    recipe_await_line(a, name, 1);
    assert_int_equal(hf_cancel(first), 0); /* what is held stays held */
    assert_int_equal(hf_state(first), HF_HELD);
    assert_int_equal(hf_release(first), 0);
    hf_close(a);
    hf_close(b);
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

static void test_bad_names(void **state)
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acquire_and_release),
        cmocka_unit_test(test_release_without_holding),
        cmocka_unit_test(test_try_finds_it_taken),
        cmocka_unit_test(test_timed_wait_ends_in_time),
        cmocka_unit_test(test_tokens_rise),
        cmocka_unit_test(test_reentrant_for_the_holding_thread),
        cmocka_unit_test(test_only_the_holding_thread_releases),
        cmocka_unit_test(test_threads_share_a_handle),
        cmocka_unit_test(test_threads_with_handles_of_their_own),
        cmocka_unit_test(test_cancel_from_another_thread),
        cmocka_unit_test(test_freeing_and_closing_release),
        cmocka_unit_test(test_bad_names),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
