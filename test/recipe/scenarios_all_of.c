/* scenarios_all_of.c - the field's scenarios for several locks as one. */
#include "lib/recipe.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define PARTS 3

struct set {
    char            name[PARTS][64];
    struct hf_lock *part[PARTS], *all;
};

static void open_set(struct set *set, const char *base, struct hf_client *client)
{
    for (size_t i = 0; i < PARTS; i++) {
        snprintf(set->name[i], sizeof set->name[i], "%s-%zu", base, i);
        set->part[i] = recipe_mutex(client, set->name[i]);
    }
    assert_int_equal(hf_all_of(set->part, PARTS, &set->all), 0);
}

/* One cannot be locked at all: those before it are given back, at once, and those
 * after it are never asked for, or, where all are asked for at once, given back too. */
static void test_some_locks_fail_to_lock(void **state)
{
    struct hf_client *client = recipe_open(), *rival = recipe_open();
    struct hf_lock   *strange;
    struct set        set;

    (void)state;
    open_set(&set, recipe_name(), client);
    assert_int_equal(hf_semaphore(rival, set.name[1], 5, 1, &strange), 0);
    assert_int_equal(hf_acquire(strange, RECIPE_LIMIT_MS), 0);
    int64_t start = recipe_ms();
    assert_int_equal(hf_acquire(set.all, 5000), HF_EMISMATCH);
    assert_true(recipe_ms() - start < 1000); /* the first fault is the end of it */
    assert_int_equal(hf_state(set.all), HF_IDLE);
    bool            at_once = strncmp(recipe_url(), "zk", 2) == 0;
    struct hf_stats stats;
    hf_get_stats(set.part[0], &stats, sizeof stats);
    assert_int_equal(stats.acquired, stats.released);
    if (!at_once)
        assert_int_equal(stats.acquired, 1);
    hf_get_stats(set.part[2], &stats, sizeof stats);
    assert_int_equal(stats.acquired, stats.released);
    if (!at_once)
        assert_int_equal(stats.acquired + stats.failed, 0);
    assert_int_equal(hf_acquire(recipe_mutex(rival, set.name[0]), 0), 0);
    assert_int_equal(hf_release(strange), 0);
    hf_close(rival);
    assert_int_equal(hf_acquire(set.all, RECIPE_LIMIT_MS), 0);
    hf_close(client);
}

/* Any one of them lost: the release tells, and the others are free all the same. */
static void test_some_releases_fail(void **state)
{
    struct hf_client *client = recipe_open(), *rival = recipe_open();
    struct set        set;

    (void)state;
    open_set(&set, recipe_name(), client);
    for (size_t lost = 0; lost < PARTS; lost++) {
        assert_int_equal(hf_acquire(set.all, RECIPE_LIMIT_MS), 0);
        assert_int_equal(hf_break(rival, set.name[lost], hf_token(set.part[lost]),
                                  RECIPE_LIMIT_MS),
                         0);
        assert_int_equal(hf_release(set.all), HF_ELOST);
        assert_int_equal(hf_state(set.all), HF_IDLE);
        for (size_t i = 0; i < PARTS; i++)
            recipe_await_line(rival, set.name[i], 0);
    }
    hf_close(client);
    hf_close(rival);
}

struct second {
    struct hf_lock *lock;
    atomic_int      result;
};

static void *take_after(void *data)
{
    struct second *second = data;

    second->result = hf_acquire(second->lock, 10000);
    return (void *)(intptr_t)hf_release(second->lock);
}

/* The mutex's own scenario, for a set. */
static void test_reentrant_2_threads(void **state)
{
    struct hf_client *client = recipe_open();
    struct set        set;
    pthread_t         thread;
    void             *released;

    (void)state;
    open_set(&set, recipe_name(), client);
    struct second second = { .lock = set.all, .result = 1 };
    for (int i = 0; i < 3; i++)
        assert_int_equal(hf_acquire(set.all, RECIPE_LIMIT_MS), 0);
    assert_int_equal(pthread_create(&thread, NULL, take_after, &second), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hf_release(set.all), 0);
        recipe_await_line(client, set.name[0], 1);
        assert_int_equal(second.result, 1);
    }
    assert_int_equal(hf_release(set.all), 0);
    pthread_join(thread, &released);
    assert_int_equal(second.result, 0);
    assert_int_equal((intptr_t)released, 0);
    hf_close(client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_some_locks_fail_to_lock),
        cmocka_unit_test(test_some_releases_fail),
        cmocka_unit_test(test_reentrant_2_threads),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
