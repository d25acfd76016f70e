/* looking.c - inspecting and watching a lock, breaking a place, losing a lock. */
#include "lib/recipe.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool readable(int fd)
{
    struct pollfd poller = { .fd = fd, .events = POLLIN };

    return poll(&poller, 1, 0) == 1;
}

static void test_a_report_names_holder_and_waiters(void **state)
{
    const char       *name = recipe_name();
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_report *report = NULL;
    int64_t           before = (int64_t)time(NULL) - 1;

    (void)state;
    options.command = "./backup.sh -v";
    options.note = "before 50% release";
    struct hf_client *a = recipe_open_with(&options), *b = recipe_open();
    struct hf_lock   *held = recipe_mutex(a, name), *waiting = recipe_mutex(b, name);

    assert_int_equal(hf_set_note(waiting, "second"), 0);
    assert_int_equal(hf_acquire(held, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_set_note(held, "no"), HF_ESTATE);
    assert_int_equal(hf_acquire_start(waiting, -1), 0);
    recipe_await_line(a, name, 2);
    assert_int_equal(hf_inspect(b, name, 1000, &report), 0);

    const struct hf_entry *first = report->entry[0], *second = report->entry[1];
    assert_string_equal(first->name, name);
    assert_string_equal(first->kind, "mutex");
    assert_true(first->held);
    assert_int_equal(first->token, hf_token(held));
    assert_int_equal(first->pid, getpid());
    assert_string_equal(first->command, "./backup.sh -v");
    assert_string_equal(first->note, "before 50% release");
    assert_true(first->user[0] != '\0' && first->host[0] != '\0');
    assert_in_range(first->since / 1000000, before, before + 60);
    assert_false(second->held);
    assert_true(second->token > first->token);
    assert_string_equal(second->note, "second");
    hf_report_free(report);

    assert_int_equal(hf_inspect(b, NULL, 1000, &report), 0);
    size_t mine = 0;
    for (size_t i = 0; i < report->count; i++)
        mine += strcmp(report->entry[i]->name, name) == 0;
    assert_int_equal(mine, 2);
    hf_report_free(report);
    hf_report_free(NULL);
    assert_int_equal(hf_inspect(b, "a/b", 1000, &report), HF_EINVAL);
    assert_int_equal(hf_watch(b, NULL, NULL, 1000, &report), HF_EINVAL);
    assert_int_equal(hf_break(b, NULL, 1, RECIPE_LIMIT_MS), HF_EINVAL);
    assert_int_equal(hf_ask(b, NULL, NULL, RECIPE_LIMIT_MS), HF_EINVAL);
    hf_close(a);
    hf_close(b);
}

static void test_a_broken_holder_is_lost(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *held = recipe_mutex(a, name), *next = recipe_mutex(b, name);

    (void)state;
    assert_int_equal(hf_acquire(held, RECIPE_LIMIT_MS), 0);
    int lost = hf_lost_fd(held);
    assert_true(lost >= 0);
    assert_false(readable(lost));
    uint64_t token = hf_token(held);
    assert_int_equal(hf_acquire_start(next, -1), 0);
    recipe_await_line(a, name, 2);

    assert_int_equal(hf_break(b, name, token + 1000000000, RECIPE_LIMIT_MS),
                     HF_ENOTFOUND);
    assert_int_equal(hf_state(held), HF_HELD);
    assert_int_equal(hf_break(b, name, token, RECIPE_LIMIT_MS), 0);
    struct pollfd poller = { .fd = lost, .events = POLLIN };
    assert_int_equal(poll(&poller, 1, RECIPE_LIMIT_MS), 1);
    assert_int_equal(hf_state(held),
                     HF_LOST); /* set before the descriptor wakes anybody */
    assert_true(readable(lost));
    assert_int_equal(hf_left_ms(held), 0);
    assert_int_equal(hf_token(held), 0);
    assert_int_equal(hf_why(held), HF_ELOST);
    recipe_await(next, HF_HELD);
    assert_true(hf_token(next) > token);

    assert_int_equal(hf_acquire(held, 0),
                     HF_ELOST); /* not before the loss is acknowledged */
    assert_int_equal(hf_release(held), HF_ELOST);
    assert_true(hf_err_lost(HF_ELOST));
    assert_int_equal(hf_state(held), HF_IDLE);
    assert_false(readable(lost));
    assert_int_equal(hf_state(next), HF_HELD); /* the successor's place is untouched */
    assert_int_equal(hf_acquire(held, 0), HF_EBUSY);
    assert_int_equal(hf_break(b, name, token, RECIPE_LIMIT_MS), HF_ENOTFOUND);
    hf_close(a);
    hf_close(b);
}

/* ---- At any moment ---------------------------------------------------------------- */

struct breaker {
    const char *name;
    atomic_bool ending;
    int         broken;
};

/* Break every holder as soon as it is listed. */
static void *break_often(void *arg)
{
    struct breaker   *breaker = arg;
    struct hf_client *client = recipe_open();

    while (!breaker->ending) {
        struct hf_report *report = NULL;
        if (hf_inspect(client, breaker->name, RECIPE_LIMIT_MS, &report) != 0)
            continue;
        for (size_t i = 0; i < report->count; i++)
            breaker->broken += hf_break(client, breaker->name, report->entry[i]->token,
                                        RECIPE_LIMIT_MS) == 0;
        hf_report_free(report);
    }
    hf_close(client);
    return NULL;
}

/* Also while hf_acquire() returns. */
static void test_a_loss_at_any_moment_is_reported(void **state)
{
    struct breaker    breaker = { .name = recipe_name() };
    struct hf_client *client = recipe_open();
    struct hf_lock   *lock = recipe_mutex(client, breaker.name);
    pthread_t         thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, break_often, &breaker), 0);
    for (int i = 0; i < 60; i++) {
        int r = hf_acquire(lock, RECIPE_LIMIT_MS);
        if (r == 0 && i % 2 == 0)
            recipe_await(lock, HF_LOST);
        if (r == 0)
            r = hf_release(lock);
        assert_true(r == 0 || r == HF_ELOST);
    }
    breaker.ending = true;
    pthread_join(thread, NULL);
    assert_true(breaker.broken > 0);
    hf_close(client);
}

static void test_a_broken_waiter_queues_again(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *held = recipe_mutex(a, name), *next = recipe_mutex(b, name);
    struct hf_report *report = NULL;

    (void)state;
    assert_int_equal(hf_acquire(held, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(next, -1), 0);
    recipe_await_line(a, name, 2);
    assert_int_equal(hf_inspect(a, name, 1000, &report), 0);
    uint64_t token = report->entry[1]->token;
    hf_report_free(report);
    assert_int_equal(hf_break(a, name, token, RECIPE_LIMIT_MS), 0);
    recipe_await_line(a, name, 2);
    assert_int_equal(hf_release(held), 0);
    recipe_await(next, HF_HELD);
    assert_true(hf_token(next) > token);
    hf_close(a);
    hf_close(b);
}

struct watcher {
    struct hf_client *client;
    const char       *name;
    struct hf_report *seen, *changed;
    int               result;
};

static void *watch(void *data)
{
    struct watcher *watcher = data;

    watcher->result =
        hf_watch(watcher->client, watcher->name, watcher->seen, 10000, &watcher->changed);
    return NULL;
}

static void test_watch_returns_at_a_change(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *lock = recipe_mutex(a, name);
    struct watcher    watcher = { .client = b, .name = name };
    pthread_t         thread;

    (void)state;
    assert_int_equal(hf_watch(b, name, NULL, 1000, &watcher.seen), 0);
    assert_int_equal(watcher.seen->count, 0);
    assert_int_equal(hf_watch(b, name, watcher.seen, 30, &watcher.changed), HF_ETIMEOUT);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&thread, NULL, watch, &watcher), 0);
        assert_int_equal(i % 2 == 0 ? hf_acquire(lock, RECIPE_LIMIT_MS)
                                    : hf_release(lock),
                         0);
        pthread_join(thread, NULL);
        assert_int_equal(watcher.result, 0);
        assert_int_equal(watcher.changed->count, i % 2 == 0);
        hf_report_free(watcher.seen);
        watcher.seen = watcher.changed;
    }
    hf_report_free(watcher.seen);
    hf_close(a);
    hf_close(b);
}

static void count_lines(const char *text, void *data)
{
    int *count = data;

    assert_true(text[0] == '>' || text[0] == '<' || strncmp(text, "link ", 5) == 0);
    ++*count;
}

static void test_the_trace_shows_every_request(void **state)
{
    struct hf_options options = HF_OPTIONS_INIT;
    int               count = 0;

    (void)state;
    options.flags = HF_NO_KEEPER;
    options.on_trace = count_lines;
    options.data = &count;
    struct hf_client *client = recipe_open_with(&options);
    struct hf_lock   *lock = recipe_mutex(client, recipe_name());

    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    assert_in_range(count, 2, 4); /* ENTER and its answer; a WATCH */
    count = 0;
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0); /* nested: no request */
    assert_int_equal(hf_release(lock), 0);
    assert_int_equal(count, 0);
    assert_int_equal(hf_release(lock), 0);
    assert_in_range(count, 2, 5);
    hf_close(client);
}

static void test_a_time_limit_of_zero_still_gets_an_answer(void **state)
{
    const char         *name = recipe_name();
    struct hf_client   *client = recipe_open();
    struct hf_lock     *lock = recipe_mutex(client, name);
    struct hf_report   *seen, *report;
    struct hf_findings *findings;

    (void)state;
    assert_int_equal(hf_inspect(client, NULL, 0, &report), 0); /* the first call */
    hf_report_free(report);
    assert_int_equal(hf_acquire(lock, 10000), 0);
    assert_int_equal(hf_inspect(client, name, 0, &seen), 0);
    assert_int_equal(seen->count, 1);
    assert_int_equal(hf_check(lock, 0), 0);
    assert_int_equal(hf_verify(client, name, hf_token(lock), 0), 0);
    assert_int_equal(hf_ask(client, name, "please", 0), 1);
    assert_int_equal(hf_doctor(client, name, 0, &findings), 0);
    assert_string_equal(recipe_finding(findings, "link")->text, "up");
    hf_findings_free(findings);

    assert_int_equal(hf_break(client, name, 12345, 0), HF_ENOTFOUND);
    for (int limit = 0; limit < 3; limit++) {
        int r = hf_watch(client, name, seen, limit, &report);
        assert_int_equal(r, HF_ETIMEOUT);
        assert_string_equal(hf_errmsg(client), "nothing changed in the time given");
    }
    assert_int_equal(hf_watch(client, name, NULL, 0, &report), 0);
    hf_report_free(report);
    assert_int_equal(hf_break(client, name, hf_token(lock), 0), 0);
    assert_int_equal(hf_watch(client, name, seen, 0, &report), 0);
    assert_int_equal(report->count, 0);
    hf_report_free(report);
    hf_report_free(seen);
    hf_close(client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_report_names_holder_and_waiters),
        cmocka_unit_test(test_a_broken_holder_is_lost),
        cmocka_unit_test(test_a_loss_at_any_moment_is_reported),
        cmocka_unit_test(test_a_broken_waiter_queues_again),
        cmocka_unit_test(test_watch_returns_at_a_change),
        cmocka_unit_test(test_a_time_limit_of_zero_still_gets_an_answer),
        cmocka_unit_test(test_the_trace_shows_every_request),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
