/* mutex_threads.c - a mutex, and several threads of one program. */
#include "lib/recipe.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

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

struct second {
    struct hf_lock *lock;
    atomic_bool     inside; /* the first thread holds the lock */
    atomic_int      result;
    bool            overlap;
};

static void *acquire_and_look(void *data)
{
    struct second *second = data;

    second->result = hf_acquire(second->lock, 10000);
    second->overlap = second->inside;
    return (void *)(intptr_t)hf_release(second->lock);
}

static void test_only_the_outermost_release_lets_another_thread_in(void **state)
{
    struct hf_client *client = recipe_open();
    struct second second = { .lock = recipe_mutex(client, recipe_name()), .result = 1 };
    pthread_t     thread;
    void         *released;

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(hf_acquire(second.lock, RECIPE_LIMIT_MS), 0);
    second.inside = true;
    assert_int_equal(pthread_create(&thread, NULL, acquire_and_look, &second), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hf_release(second.lock), 0);
        poll(NULL, 0, 20); /* time enough for a wrong grant */
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

struct crowd {
    struct hf_lock *lock;
    long            counter; /* guarded by the lock alone */
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

static void test_another_thread_cancels_a_wait(void **state)
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
    assert_int_equal(hf_cancel(first), 0); /* a held lock stays held */
    assert_int_equal(hf_state(first), HF_HELD);
    assert_int_equal(hf_release(first), 0);
    hf_close(a);
    hf_close(b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_the_holding_thread_releases),
        cmocka_unit_test(test_only_the_outermost_release_lets_another_thread_in),
        cmocka_unit_test(test_threads_share_a_handle),
        cmocka_unit_test(test_threads_with_handles_of_their_own),
        cmocka_unit_test(test_another_thread_cancels_a_wait),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
