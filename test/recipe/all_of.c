/* all_of.c - several locks as one. */
#include "lib/recipe.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define PARTS 3

struct set {
    struct hf_client *client;
    char              name[PARTS][64];
    struct hf_lock   *part[PARTS], *all;
};

static void open_set(struct set *set, const char *base, struct hf_client *client,
                     bool backwards)
{
    struct hf_lock *given[PARTS];

    set->client = client;
    for (size_t i = 0; i < PARTS; i++) {
        snprintf(set->name[i], sizeof set->name[i], "%s-%zu", base, i);
        set->part[i] = recipe_mutex(client, set->name[i]);
        given[backwards ? PARTS - 1 - i : i] = set->part[i];
    }
    assert_int_equal(hf_all_of(given, PARTS, &set->all), 0);
}

static void test_all_parts_or_none(void **state)
{
    const char       *base = recipe_name();
    struct hf_client *client = recipe_open(), *rival = recipe_open();
    struct set        set;

    (void)state;
    open_set(&set, base, client, true);
    struct hf_lock *last = recipe_mutex(rival, set.name[2]);
    struct hf_lock *first = recipe_mutex(rival, set.name[0]);

    assert_int_equal(hf_acquire(last, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire(set.all, 0), HF_EBUSY);
    assert_int_equal(hf_state(set.all), HF_IDLE);
    assert_int_equal(hf_acquire(first, 0), 0); /* it was released again */
    assert_int_equal(hf_release(first), 0);
    int64_t start = recipe_ms();
    assert_int_equal(hf_acquire(set.all, 150), HF_ETIMEOUT);
    assert_in_range(recipe_ms() - start, 149, 5000); /* on a busy machine */
    recipe_await_line(rival, set.name[0], 0);
    assert_int_equal(hf_release(last), 0);

    assert_int_equal(hf_acquire(set.all, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_state(set.all), HF_HELD);
    assert_int_equal(hf_token(set.all), hf_token(set.part[2]));
    assert_true(hf_left_ms(set.all) > 0);
    assert_int_equal(hf_acquire(set.all, 0), 0); /* reentrant */
    assert_int_equal(hf_acquire(first, 0), HF_EBUSY);
    assert_int_equal(hf_release(set.all), 0);
    assert_int_equal(hf_acquire(first, 0), HF_EBUSY);
    assert_int_equal(hf_release(set.all), 0);
    assert_int_equal(hf_release(set.all), HF_ESTATE);
    assert_int_equal(hf_acquire(first, 0), 0);
    hf_lock_free(set.all);
    assert_int_equal(hf_acquire(set.part[1], 0),
                     0); /* the parts can be used by themselves again */
    hf_close(client);
    hf_close(rival);
}

/* The release says so whether or not the loss was noticed before, and releases the other
 * parts. */
static void test_a_lost_part_loses_all(void **state)
{
    struct hf_client *client = recipe_open(), *admin = recipe_open();
    struct set        set;

    (void)state;
    open_set(&set, recipe_name(), client, false);
    for (size_t lost = 0; lost < PARTS; lost++) {
        assert_int_equal(hf_acquire(set.all, RECIPE_LIMIT_MS), 0);
        struct pollfd poller = { .fd = hf_lost_fd(set.all), .events = POLLIN };
        assert_int_equal(hf_break(admin, set.name[lost], hf_token(set.part[lost]),
                                  RECIPE_LIMIT_MS),
                         0);
        if (lost == 1) {
            recipe_await(set.all, HF_LOST);
            assert_int_equal(poll(&poller, 1, RECIPE_LIMIT_MS), 1);
        }
        assert_int_equal(hf_release(set.all), HF_ELOST);
        assert_int_equal(hf_state(set.all), HF_IDLE);
        for (size_t i = 0; i < PARTS; i++)
            recipe_await_line(admin, set.name[i], 0);
    }
    assert_int_equal(hf_acquire(set.all, RECIPE_LIMIT_MS), 0);
    hf_close(client);
    hf_close(admin);
}

/* One part cannot be locked at all.  The parts before it are released at once; those
 * after it are never requested, or released, too, where all are requested at once. */
static void test_a_part_of_another_kind_fails_the_set(void **state)
{
    struct hf_client *client = recipe_open(), *rival = recipe_open();
    struct hf_lock   *other_kind;
    struct set        set;

    (void)state;
    open_set(&set, recipe_name(), client, false);
    assert_int_equal(hf_semaphore(rival, set.name[1], 5, 1, &other_kind), 0);
    assert_int_equal(hf_acquire(other_kind, RECIPE_LIMIT_MS), 0);
    int64_t start = recipe_ms();
    assert_int_equal(hf_acquire(set.all, 5000), HF_EMISMATCH);
    assert_true(recipe_ms() - start < 1000); /* not only when the time limit is over */
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
    assert_int_equal(hf_release(other_kind), 0);
    hf_close(rival);
    assert_int_equal(hf_acquire(set.all, RECIPE_LIMIT_MS), 0);
    hf_close(client);
}

#define ROUNDS 30

struct worker {
    const char *base;
    bool        backwards;
    long       *counter;
};

static void *work(void *data)
{
    struct worker    *worker = data;
    struct hf_client *client = recipe_open();
    struct set        set;

    open_set(&set, worker->base, client, worker->backwards);
    for (int i = 0; i < ROUNDS; i++) {
        if (hf_acquire(set.all, 20000) != 0)
            return "acquire failed";
        ++*worker->counter;
        if (hf_release(set.all) != 0)
            return "release failed";
    }
    hf_close(client); /* frees the set, too */
    return NULL;
}

static void test_sets_in_opposite_orders_do_not_deadlock(void **state)
{
    const char   *base = recipe_name();
    long          counter = 0;
    struct worker worker[] = { { base, false, &counter }, { base, true, &counter } };
    pthread_t     thread[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work, &worker[i % 2]), 0);
    for (int i = 0; i < 4; i++) {
        void *fault;
        pthread_join(thread[i], &fault);
        assert_null(fault);
    }
    assert_int_equal(counter, 4 * ROUNDS);
}

static void *share(void *data)
{
    struct set *set = data;

    for (int i = 0; i < ROUNDS; i++) {
        if (hf_acquire(set->all, 20000) != 0)
            return "acquire failed";
        if (hf_release(set->all) != 0)
            return "release failed";
    }
    return NULL;
}

static void test_threads_share_a_set(void **state)
{
    struct hf_client *client = recipe_open();
    struct set        set;
    pthread_t         thread[4];

    (void)state;
    open_set(&set, recipe_name(), client, false);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, share, &set), 0);
    for (int i = 0; i < 4; i++) {
        void *fault;
        pthread_join(thread[i], &fault);
        assert_null(fault);
    }
    assert_int_equal(hf_state(set.all), HF_IDLE);
    hf_close(client);
}

static void test_a_set_acquired_without_blocking(void **state)
{
    struct hf_client *client = recipe_open(), *rival = recipe_open();
    struct set        set;

    (void)state;
    open_set(&set, recipe_name(), client, true);
    struct hf_lock *last = recipe_mutex(rival, set.name[2]);
    assert_int_equal(hf_acquire(last, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(set.all, -1), 0);
    assert_int_equal(hf_acquire_start(set.all, -1), HF_ESTATE);
    recipe_await_line(rival, set.name[2], 2);
    assert_int_equal(hf_state(set.all), HF_WAITING);
    assert_int_equal(hf_release(last), 0);
    recipe_await(set.all, HF_HELD);
    assert_int_equal(hf_release_start(set.all), 0);
    recipe_await(set.all, HF_IDLE);
    assert_int_equal(hf_why(set.all), 0);

    assert_int_equal(hf_acquire(last, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(set.all, 60), 0);
    recipe_await(set.all, HF_IDLE);
    assert_int_equal(hf_why(set.all), HF_ETIMEOUT);
    recipe_await_line(rival, set.name[0], 0);
    assert_int_equal(hf_acquire_start(set.all, -1), 0);
    recipe_await_line(rival, set.name[2], 2);
    assert_int_equal(hf_cancel(set.all), 0);
    recipe_await(set.all, HF_IDLE);
    assert_int_equal(hf_why(set.all), HF_ECANCELED);
    recipe_await_line(rival, set.name[0], 0);
    hf_close(client);
    hf_close(rival);
}

static void test_impossible_sets_are_refused(void **state)
{
    struct hf_client *client = recipe_open(), *other = recipe_open();
    struct hf_lock   *a = recipe_mutex(client, recipe_name());
    struct hf_lock   *twin = recipe_mutex(client, hf_name(a));
    struct hf_lock   *foreign = recipe_mutex(other, recipe_name()), *all = NULL;

    (void)state;
    assert_int_equal(hf_all_of(&a, 0, &all), HF_EINVAL);
    assert_int_equal(hf_all_of((struct hf_lock *[]){ a, twin }, 2, &all), HF_EINVAL);
    assert_non_null(strstr(hf_errmsg(client), "twice"));
    assert_int_equal(hf_all_of((struct hf_lock *[]){ a, foreign }, 2, &all), HF_EINVAL);
    assert_int_equal(hf_acquire(a, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_all_of(&a, 1, &all), HF_EINVAL);
    assert_null(all);
    hf_close(client);
    hf_close(other);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_parts_or_none),
        cmocka_unit_test(test_a_lost_part_loses_all),
        cmocka_unit_test(test_a_part_of_another_kind_fails_the_set),
        cmocka_unit_test(test_sets_in_opposite_orders_do_not_deadlock),
        cmocka_unit_test(test_threads_share_a_set),
        cmocka_unit_test(test_a_set_acquired_without_blocking),
        cmocka_unit_test(test_impossible_sets_are_refused),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
