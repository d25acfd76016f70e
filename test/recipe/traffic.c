/* traffic.c - how many requests go to the store, counted in its trace. */
#include "lib/recipe.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct traffic {
    atomic_int requests, answers;
    atomic_int downgrade, asks;
};

static void count(const char *text, void *data)
{
    struct traffic *traffic = data;

    traffic->requests += text[0] == '>';
    traffic->answers += text[0] == '<';
    traffic->downgrade += strncmp(text, "> DOWNGRADE ", 12) == 0;
    traffic->asks += strncmp(text, "> ASK ", 6) == 0;
}

static struct hf_client *open_counted(struct traffic *traffic)
{
    struct hf_options options = HF_OPTIONS_INIT;

    options.on_trace = count;
    options.data = traffic;
    return recipe_open_with(&options);
}

/* ---- One handle, many threads --------------------------------------------------- */

#define TURNS 20

static void *take_turns(void *data)
{
    struct hf_lock *lock = data;

    for (int i = 0; i < TURNS; i++) {
        if (hf_acquire(lock, 20000) != 0)
            return "acquire failed";
        if (hf_release(lock) != 0)
            return "release failed";
    }
    return NULL;
}

static int requests_of(int threads)
{
    struct traffic    traffic = { .requests = 0 };
    struct hf_client *client = open_counted(&traffic);
    struct hf_lock   *lock = recipe_mutex(client, recipe_name());
    pthread_t         thread[40];

    for (int i = 0; i < threads; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, take_turns, lock), 0);
    for (int i = 0; i < threads; i++) {
        void *fault;
        pthread_join(thread[i], &fault);
        assert_null(fault);
    }
    hf_close(client);
    return traffic.requests;
}

/* Threads that share a handle wait for each other in the process, not in the store:
 * requests do not grow with the square of the threads. */
static void test_requests_of_a_shared_handle_grow_with_its_turns(void **state)
{
    (void)state;
    for (int threads = 10; threads <= 40; threads *= 2) {
        int requests = requests_of(threads), turns = threads * TURNS;
        print_message("%d threads, %d turns: %d requests, %.2f a turn\n", threads, turns,
                      requests, (double)requests / turns);
        /* ENTER, LEAVE, and mostly a WATCH of the place. */
        assert_in_range(requests, 2 * turns, 4 * turns);
    }
}

/* ---- Tries --------------------------------------------------------------------- */

static void test_a_failed_try_is_one_request_and_leaves_no_place(void **state)
{
    const char       *name = recipe_name();
    struct traffic    traffic = { .requests = 0 };
    struct hf_client *a = recipe_open(), *b = open_counted(&traffic);
    struct hf_lock   *held = recipe_mutex(a, name), *lock = recipe_mutex(b, name);

    (void)state;
    assert_int_equal(hf_acquire(held, RECIPE_LIMIT_MS), 0);
    for (int i = 0; i < 50; i++)
        assert_int_equal(hf_acquire(lock, 0), HF_EBUSY);
    assert_int_equal(traffic.requests, 50);
    assert_int_equal(traffic.answers, 50);
    recipe_await_line(a, name, 1);
    hf_close(a);
    hf_close(b);
}

/* ---- The trace ----------------------------------------------------------------- */

static void test_the_trace_shows_downgrade_and_ask(void **state)
{
    const char       *name = recipe_name();
    struct traffic    traffic = { .requests = 0 };
    struct hf_client *client = open_counted(&traffic), *other = recipe_open();
    struct hf_lock   *w, *second, *third;

    (void)state;
    assert_int_equal(hf_writer(client, name, &w), 0);
    assert_int_equal(hf_writer(other, name, &second), 0);
    assert_int_equal(hf_writer(client, name, &third), 0);
    assert_int_equal(hf_acquire(w, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(second, -1), 0);
    recipe_await_line(other, name, 2);
    assert_int_equal(hf_acquire_start(third, -1), 0);
    recipe_await_line(other, name, 3);
    int64_t end = recipe_ms() + 10000;
    while (hf_ahead(third) != 2 && recipe_ms() < end)
        ;
    assert_int_equal(hf_ahead(third), 2);
    assert_int_equal(hf_downgrade(w), 0);
    assert_int_equal(traffic.downgrade, 1);
    assert_int_equal(hf_ask(client, name, "why not", RECIPE_LIMIT_MS), 1);
    assert_int_equal(traffic.asks, 1);
    hf_close(client);
    hf_close(other);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_of_a_shared_handle_grow_with_its_turns),
        cmocka_unit_test(test_a_failed_try_is_one_request_and_leaves_no_place),
        cmocka_unit_test(test_the_trace_shows_downgrade_and_ask),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
