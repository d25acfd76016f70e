/* semaphore.c - semaphores with many holders and waiters; kinds.c has slots and
 * weights. */
#include "lib/recipe.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static struct hf_lock *semaphore(struct hf_client *client, const char *name, uint32_t n,
                                 uint32_t weight)
{
    struct hf_lock *lock = NULL;

    assert_int_equal(hf_semaphore(client, name, n, weight, &lock), 0);
    return lock;
}

static void test_a_report_shows_kind_and_capacity(void **state)
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

static void test_closing_a_client_frees_all_its_slots(void **state)
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

/* ---- Crowds --------------------------------------------------------------------- */

#define MEMBERS 10

struct pool {
    const char *name;
    uint32_t    capacity;
    int         turns;
    bool        heavy; /* random weights */
    atomic_uint inside, most;
    atomic_int  gathered; /* members that have had the lock */
    int         meet;     /* 0: each releases at once */
};

struct member {
    struct pool *pool;
    unsigned     seed;
};

/* Keep the lock until `meet` members have had it. */
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

    if (hf_open(recipe_url(), NULL, &client) != 0)
        return "no client";
    for (int i = 0; i < pool->turns && fault == NULL; i++) {
        uint32_t weight =
            pool->heavy ? 1 + (uint32_t)rand_r(&me->seed) % pool->capacity : 1;
        struct hf_lock *lock = NULL;
        if (hf_semaphore(client, pool->name, pool->capacity, weight, &lock) != 0)
            fault = "no lock";
        else
            fault = stay(pool, lock, weight);
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

static void test_random_weights_never_exceed_the_capacity(void **state)
{
    struct pool pool = {
        .name = recipe_name(), .capacity = 6, .turns = 30, .heavy = true
    };

    (void)state;
    run_pool(&pool);
    assert_in_range(pool.most, 1, 6);
}

static void test_all_slots_are_used_at_once_and_no_more(void **state)
{
    struct pool pool = { .name = recipe_name(), .capacity = 5, .turns = 1, .meet = 5 };

    (void)state;
    run_pool(&pool);
    assert_int_equal(pool.most, 5);
    assert_int_equal(pool.gathered, MEMBERS);
}

/* ---- Order ------------------------------------------------------------------------ */

#define WAITERS 100
#define PERMITS 11

static size_t count_held(struct hf_lock **lock, size_t from, size_t to)
{
    size_t held = 0;

    for (size_t i = from; i < to; i++)
        held += hf_state(lock[i]) == HF_HELD;
    return held;
}

static void test_freed_slots_go_to_the_next_waiters_in_order(void **state)
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_report_shows_kind_and_capacity),
        cmocka_unit_test(test_closing_a_client_frees_all_its_slots),
        cmocka_unit_test(test_random_weights_never_exceed_the_capacity),
        cmocka_unit_test(test_all_slots_are_used_at_once_and_no_more),
        cmocka_unit_test(test_freed_slots_go_to_the_next_waiters_in_order),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
