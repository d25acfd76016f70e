/* scenarios_semaphore.c - the field's scenarios for semaphores. */
#include "lib/doomed.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static struct hf_lock *semaphore(struct hf_client *client, const char *name, uint32_t n,
                                 uint32_t weight)
{
    struct hf_lock *lock = NULL;

    assert_int_equal(hf_semaphore(client, name, n, weight, &lock), 0);
    return lock;
}

static void test_no_more_than_there_are_slots(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open();
    struct hf_lock   *lock[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        lock[i] = semaphore(client, name, 3, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(hf_acquire(lock[i], RECIPE_LIMIT_MS), 0);
    int64_t start = recipe_ms();
    assert_int_equal(hf_acquire(lock[3], 50), HF_ETIMEOUT);
    assert_in_range(recipe_ms() - start, 49, 1000);
    recipe_await(lock[3], HF_IDLE);
    assert_int_equal(hf_release(lock[1]), 0);
    assert_int_equal(hf_acquire(lock[3], RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire(lock[1], 0), HF_EBUSY);
    hf_close(client);
}

static void test_get_participant_nodes(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open();
    struct hf_report *report = NULL;

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(hf_acquire(semaphore(client, name, 3, 1), RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_inspect(client, name, 1000, &report), 0);
    assert_int_equal(report->count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(report->entry[i]->held);
        assert_string_equal(report->entry[i]->kind, "semaphore");
        assert_int_equal(report->entry[i]->capacity, 3);
    }
    hf_report_free(report);
    hf_close(client);
}

static void test_client_close(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *lock[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(hf_acquire(semaphore(a, name, 4, 1), RECIPE_LIMIT_MS), 0);
    for (int i = 0; i < 4; i++) {
        lock[i] = semaphore(b, name, 4, 1);
        assert_int_equal(hf_acquire_start(lock[i], -1), 0);
    }
    recipe_await_line(b, name, 8);
    hf_close(a);
    for (int i = 0; i < 4; i++)
        recipe_await(lock[i], HF_HELD);
    recipe_await_line(b, name, 4);
    hf_close(b);
}

static void test_handle_session_loss(void **state)
{
    const char   *name = recipe_name();
    struct doomed doomed;

    (void)state;
    doomed_hold(&doomed, hf_mutex, name); /* a semaphore of one, to all others */
    struct hf_client *client = recipe_open();
    struct hf_lock   *lock = semaphore(client, name, 1, 1);
    assert_int_equal(hf_acquire_start(lock, -1), 0);
    recipe_await_line(client, name, 2);
    doomed_kill(&doomed, client, name, 1);
    recipe_await(lock, HF_HELD);
    hf_close(client);
}

/* ---- Crowds --------------------------------------------------------------------- */

#define MEMBERS 10

struct pool {
    const char     *name;
    uint32_t        capacity;
    struct hf_lock *shared; /* or each has a client of its own */
    int             turns;
    bool            heavy; /* random weights */
    atomic_uint     inside, most;
    atomic_int      gathered; /* those that stay until `meet` are in */
    int             meet;
};

struct member {
    struct pool *pool;
    unsigned     seed;
};

/* Stay until the room was full once: it must come to that. */
static bool linger(struct pool *pool)
{
    int64_t end = recipe_ms() + 10000;

    pool->gathered++;
    while (pool->gathered < pool->meet && recipe_ms() < end)
        poll(NULL, 0, 1);
    return pool->gathered >= pool->meet;
}

static const char *stay(struct pool *pool, struct hf_lock *lock, uint32_t weight)
{
    if (hf_acquire(lock, 20000) != 0)
        return "acquire failed";
    unsigned now = atomic_fetch_add(&pool->inside, weight) + weight;
    unsigned most = pool->most;
    while (now > most && !atomic_compare_exchange_weak(&pool->most, &most, now))
        ;
    bool met = pool->meet == 0 || linger(pool);
    atomic_fetch_sub(&pool->inside, weight);
    if (hf_release(lock) != 0)
        return "release failed";
    return met ? NULL : "never so many at once";
}

static void *take_part(void *data)
{
    struct member    *me = data;
    struct pool      *pool = me->pool;
    struct hf_client *client = NULL;
    const char       *fault = NULL;

    if (pool->shared == NULL && hf_open(recipe_url(), NULL, &client) != 0)
        return "no client";
    for (int i = 0; i < pool->turns && fault == NULL; i++) {
        uint32_t weight =
            pool->heavy ? 1 + (uint32_t)rand_r(&me->seed) % pool->capacity : 1;
        struct hf_lock *lock = pool->shared;
        if (lock == NULL &&
            hf_semaphore(client, pool->name, pool->capacity, weight, &lock) != 0)
            fault = "no lock";
        else
            fault = stay(pool, lock, weight);
        if (pool->shared == NULL)
            hf_lock_free(lock);
    }
    hf_close(client);
    return (void *)fault;
}

static void run_pool(struct pool *pool)
{
    struct member member[MEMBERS];
    pthread_t     thread[MEMBERS];

    for (unsigned i = 0; i < MEMBERS; i++) {
        member[i] = (struct member){ pool, i + 1 };
        assert_int_equal(pthread_create(&thread[i], NULL, take_part, &member[i]), 0);
    }
    for (int i = 0; i < MEMBERS; i++) {
        void *fault;
        pthread_join(thread[i], &fault);
        if (fault != NULL)
            fail_msg("%s", (const char *)fault);
    }
    assert_int_equal(pool->inside, 0);
}

static void test_max_per_session(void **state)
{
    struct pool pool = {
        .name = recipe_name(), .capacity = 6, .turns = 30, .heavy = true
    };

    (void)state;
    run_pool(&pool);
    assert_in_range(pool.most, 1, 6);
}

/* Ten sessions, five permits: five are in at once, and never six. */
static void test_release_1_at_a_time(void **state)
{
    struct pool pool = { .name = recipe_name(), .capacity = 5, .turns = 1, .meet = 5 };

    (void)state;
    run_pool(&pool);
    assert_int_equal(pool.most, 5);
    assert_int_equal(pool.gathered, MEMBERS);
}

static void test_threads_take_turns_with_one_slot(void **state)
{
    struct hf_client *client = recipe_open();
    struct pool       pool = { .capacity = 1, .turns = 10 };

    (void)state;
    pool.shared = semaphore(client, recipe_name(), 1, 1);
    int64_t start = recipe_ms();
    run_pool(&pool);
    assert_int_equal(pool.most, 1);
    assert_true(recipe_ms() - start < 10000);
    hf_close(client);
}

/* ---- Chunks ----------------------------------------------------------------------- */

#define WAITERS 100
#define PERMITS 11

static size_t count_held(struct hf_lock **lock, size_t from, size_t to)
{
    size_t held = 0;

    for (size_t i = from; i < to; i++)
        held += hf_state(lock[i]) == HF_HELD;
    return held;
}

/* However many go at once, as many come in, in order, and never more. */
static void test_release_in_chunks(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open();
    struct hf_lock   *lock[WAITERS];
    unsigned          seed = 7;

    (void)state;
    for (size_t i = 0; i < WAITERS; i++) {
        lock[i] = semaphore(client, name, PERMITS, 1);
        assert_int_equal(hf_acquire_start(lock[i], -1), 0);
        recipe_await_line(client, name, i + 1);
    }
    for (size_t gone = 0; gone < WAITERS;) {
        size_t end = gone + PERMITS < WAITERS ? gone + PERMITS : WAITERS;
        for (size_t i = gone; i < end; i++)
            recipe_await(lock[i], HF_HELD);
        assert_int_equal(count_held(lock, end, WAITERS), 0);
        for (size_t n = 1 + (size_t)rand_r(&seed) % (end - gone); n > 0; n--)
            assert_int_equal(hf_release(lock[gone++]), 0);
    }
    recipe_await_line(client, name, 0);
    hf_close(client);
}

/* ---- Nothing left behind ------------------------------------------------------------ */

static void test_no_orphaned_nodes(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open();
    struct hf_lock   *held = semaphore(client, name, 1, 1),
                   *next = semaphore(client, name, 1, 1);
    struct hf_report *report = NULL;

    (void)state;
    assert_int_equal(hf_acquire(held, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(next, -1), 0);
    recipe_await_line(client, name, 2);
    assert_int_equal(hf_inspect(client, name, 1000, &report), 0);
    assert_int_equal(hf_break(client, name, report->entry[1]->token, RECIPE_LIMIT_MS), 0);
    hf_report_free(report);
    recipe_await_line(client, name, 2); /* it has queued again */
    assert_int_equal(hf_release(held), 0);
    recipe_await(next, HF_HELD);
    assert_int_equal(hf_release(next), 0);
    recipe_await_line(client, name, 0);
    hf_close(client);
}

static void test_acquire_after_cancelled(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open();
    struct hf_lock   *held = semaphore(client, name, 1, 1),
                   *next = semaphore(client, name, 1, 1);

    (void)state;
    assert_int_equal(hf_acquire(held, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(next, -1), 0);
    recipe_await_line(client, name, 2);
    assert_int_equal(hf_cancel(next), 0);
    recipe_await(next, HF_IDLE);
    recipe_await_line(client, name, 1); /* it left no place */
    assert_int_equal(hf_release(held), 0);
    assert_int_equal(hf_acquire(next, RECIPE_LIMIT_MS), 0);
    hf_close(client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_more_than_there_are_slots),
        cmocka_unit_test(test_get_participant_nodes),
        cmocka_unit_test(test_client_close),
        cmocka_unit_test(test_handle_session_loss),
        cmocka_unit_test(test_max_per_session),
        cmocka_unit_test(test_release_1_at_a_time),
        cmocka_unit_test(test_threads_take_turns_with_one_slot),
        cmocka_unit_test(test_release_in_chunks),
        cmocka_unit_test(test_no_orphaned_nodes),
        cmocka_unit_test(test_acquire_after_cancelled),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
