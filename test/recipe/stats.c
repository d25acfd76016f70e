/* stats.c - statistics add up at any moment. */
#include "lib/recipe.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 4
#define TURNS   250 /* of each */

struct worker {
    struct hf_lock *lock;
    pthread_t       thread;
    atomic_int     *left; /* workers that are not done */
};

static void *take_turns(void *data)
{
    struct worker *worker = data;
    int            failures = 0;

    for (int i = 0; i < TURNS; i++)
        failures += hf_acquire(worker->lock, RECIPE_LIMIT_MS) != 0 ||
                    hf_release(worker->lock) != 0;
    atomic_fetch_sub(worker->left, 1);
    return failures == 0 ? data : NULL;
}

/* The sum over all locks, each read at one moment. */
static uint64_t scrape(const struct worker *workers)
{
    uint64_t acquired = 0;

    for (size_t i = 0; i < THREADS; i++) {
        struct hf_stats stats;
        hf_get_stats(workers[i].lock, &stats, sizeof stats);
        assert_int_equal(stats.wait.count, stats.acquired);
        assert_int_equal(recipe_sum(&stats.wait), stats.acquired);
        assert_int_equal(stats.hold.count, stats.released);
        assert_int_equal(recipe_sum(&stats.hold), stats.released);
        assert_true(stats.acquired - stats.released <= 1);
        assert_int_equal(stats.lost + stats.busy + stats.timeouts + stats.failed, 0);
        acquired += stats.acquired;
    }
    return acquired;
}

/* Two share a lock, and two have one each. */
static void test_a_thousand_turns_add_up(void **state)
{
    struct hf_client      *client = recipe_open();
    struct worker          workers[THREADS];
    atomic_int             left = THREADS;
    struct hf_client_stats stats;
    uint64_t               seen = 0;
    const char            *shared = recipe_name();

    (void)state;
    for (size_t i = 0; i < THREADS; i++)
        workers[i] =
            (struct worker){ .lock = recipe_mutex(client, i < 2 ? shared : recipe_name()),
                             .left = &left };
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, take_turns,
                                        &workers[i]),
                         0);
    while (atomic_load(&left) > 0) {
        uint64_t now = scrape(workers);
        assert_true(now >= seen && now <= THREADS * TURNS);
        seen = now;
    }
    for (size_t i = 0; i < THREADS; i++) {
        void *result;
        assert_int_equal(pthread_join(workers[i].thread, &result), 0);
        assert_non_null(result);
    }
    assert_int_equal(scrape(workers), THREADS * TURNS);

    struct hf_stats all;
    hf_lock_free(workers[0].lock);
    hf_get_all_stats(client, &all, sizeof all);
    assert_int_equal(all.acquired, THREADS * TURNS);
    assert_int_equal(all.released, THREADS * TURNS);
    assert_int_equal(recipe_sum(&all.wait), all.acquired);
    assert_int_equal(recipe_sum(&all.hold), all.released);
    assert_int_equal(all.lost + all.busy + all.timeouts + all.failed, 0);
    hf_get_client_stats(client, &stats, sizeof stats);
    assert_true(stats.connected >= 1);
    assert_int_equal(stats.lost, 0);
    assert_true(stats.late <= stats.renewals);
    assert_true(stats.round_trip.count >= (uint64_t)THREADS * TURNS);
    assert_int_equal(recipe_sum(&stats.round_trip), stats.round_trip.count);
    hf_close(client);
}

/* The release is the first to find out. */
static void test_a_broken_lock_was_not_released(void **state)
{
    const char       *name = recipe_name();
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client, *other = recipe_open();
    struct hf_stats   stats;

    (void)state;
    options.flags = HF_NO_KEEPER;
    assert_int_equal(hf_open(recipe_url(), &options, &client), 0);
    struct hf_lock *lock = recipe_mutex(client, name);
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_release(lock), 0);
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_break(other, name, hf_token(lock), RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_release(lock), HF_ELOST);
    hf_get_stats(lock, &stats, sizeof stats);
    assert_int_equal(stats.acquired, 2);
    assert_int_equal(stats.released, 1);
    assert_int_equal(stats.lost, 1);
    assert_int_equal(stats.broken, 1);
    assert_int_equal(stats.hold.count, 2);
    hf_get_all_stats(client, &stats, sizeof stats);
    assert_int_equal(stats.lost, 1);
    assert_int_equal(stats.hold.count, 2);
    hf_close(client);
    hf_close(other);
}

/* A program that was built when the struct was smaller. */
static void test_a_smaller_struct_is_filled(void **state)
{
    struct hf_client *client = recipe_open();
    struct hf_lock   *lock = recipe_mutex(client, recipe_name());
    struct {
        uint64_t connected;
        uint64_t behind;
    } small = { 0, UINT64_MAX };

    (void)state;
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    hf_get_client_stats(client, (struct hf_client_stats *)&small, sizeof small.connected);
    assert_true(small.connected >= 1);
    assert_true(small.behind == UINT64_MAX);
    hf_close(client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thousand_turns_add_up),
        cmocka_unit_test(test_a_broken_lock_was_not_released),
        cmocka_unit_test(test_a_smaller_struct_is_filled),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
