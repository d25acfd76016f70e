/* history.c - the history of a lock, after each kind of event. */
#include "lib/history_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AN_HOUR INT64_C(3600000000) /* us */

/* ---- One lock ------------------------------------------------------------------- */

static void test_a_grant_and_a_release(void **state)
{
    struct hf_client *client = history_open();
    const char       *name = recipe_name();
    struct hf_lock   *lock = recipe_mutex(client, name);

    (void)state;
    assert_int_equal(hf_set_note(lock, "before release"), 0);
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    uint64_t token = hf_token(lock);
    assert_int_equal(hf_release(lock), 0);

    struct hf_history_report *history = history_await(client, name, "gA rA");
    for (size_t i = 0; i < 2; i++) {
        const struct hf_history_entry *record = history->entry[i];
        assert_string_equal(record->name, name);
        assert_string_equal(record->kind, "mutex");
        assert_string_equal(record->note, "before release");
        assert_string_equal(record->reason, "");
        assert_int_equal(record->token, token);
        assert_int_equal(record->slot, -1);
        assert_int_equal(record->pid, getpid());
        assert_true(llabs((long long)(record->time - time(NULL) * INT64_C(1000000))) <
                    AN_HOUR);
    }
    assert_true(history->entry[0]->number < history->entry[1]->number);
    assert_true(history->last >= history->entry[1]->number);
    hf_history_report_free(history);
    hf_close(client);
}

static void test_waiters_that_are_granted_or_leave(void **state)
{
    struct hf_client *a = history_open(), *b = recipe_open(), *c = recipe_open();
    const char       *name = recipe_name();
    struct hf_lock   *first = recipe_mutex(a, name), *second = recipe_mutex(b, name);
    struct hf_lock   *third = recipe_mutex(c, name);

    (void)state;
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(second, -1), 0);
    recipe_await_line(a, name, 2);
    history_expect(a, name, "gA eB");
    assert_int_equal(hf_acquire_start(third, -1), 0);
    recipe_await_line(a, name, 3);
    assert_int_equal(hf_cancel(third), 0);
    history_expect(a, name, "gA eB eC lC");
    assert_int_equal(hf_release(first), 0);
    recipe_await(second, HF_HELD);
    assert_int_equal(hf_release(second), 0);
    history_expect(b, name, "gA eB eC lC rA gB rB");
    hf_close(c);
    hf_close(b);
    hf_close(a);
}

static void test_a_failed_try_leaves_no_entry(void **state)
{
    struct hf_client *a = history_open(), *b = recipe_open();
    const char       *name = recipe_name();
    struct hf_lock   *first = recipe_mutex(a, name), *second = recipe_mutex(b, name);

    (void)state;
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(hf_acquire(second, 0), HF_EBUSY);
    assert_int_equal(hf_release(first), 0);
    assert_int_equal(hf_acquire(second, 0), 0);
    history_expect(a, name, "gA rA gB");
    hf_close(b);
    history_expect(a, name, "gA rA gB rB");
    hf_close(a);
}

static void test_closing_a_client(void **state)
{
    struct hf_client *a = recipe_open(), *b = recipe_open(), *eye = history_open();
    const char       *name = recipe_name();
    struct hf_lock   *first = recipe_mutex(a, name), *second = recipe_mutex(b, name);

    (void)state;
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(second, -1), 0);
    recipe_await_line(eye, name, 2);
    hf_close(b);
    history_expect(eye, name, "gA eB lB");
    hf_close(a);
    history_expect(eye, name, "gA eB lB rA");
    hf_close(eye);
}

/* ---- Actions of others ----------------------------------------------------------- */

/* The entry names this process: "by root@db1:4242". */
static void must_be_ours(const struct hf_history_entry *record)
{
    char  pid[32];
    char *end = strrchr(record->reason, ':');

    snprintf(pid, sizeof pid, ":%ld", (long)getpid());
    assert_int_equal(strncmp(record->reason, "by ", 3), 0);
    assert_non_null(end);
    assert_string_equal(end, pid);
}

static void test_a_broken_holder_and_a_broken_waiter(void **state)
{
    struct hf_client *a = history_open(), *b = recipe_open();
    const char       *name = recipe_name();
    struct hf_lock   *first = recipe_mutex(a, name), *second = recipe_mutex(b, name);
    struct hf_report *report;

    (void)state;
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(second, -1), 0);
    recipe_await_line(a, name, 2);
    assert_int_equal(hf_inspect(a, name, RECIPE_LIMIT_MS, &report), 0);
    uint64_t waiter = report->entry[1]->token;
    hf_report_free(report);
    assert_int_equal(hf_break(a, name, waiter, RECIPE_LIMIT_MS), 0);
    history_expect(a, name, "gA eB lB eC"); /* it queues again */
    assert_int_equal(hf_break(b, name, hf_token(first), RECIPE_LIMIT_MS), 0);
    recipe_await(first, HF_LOST);
    recipe_await(second, HF_HELD);
    assert_int_equal(hf_release(first), HF_ELOST);
    struct hf_history_report *history = history_await(a, name, "gA eB lB eC bA gC");
    for (size_t i = 0; i < history->count; i++)
        if (i == 2 || i == 4)
            must_be_ours(history->entry[i]);
        else
            assert_string_equal(history->entry[i]->reason, "");
    hf_history_report_free(history);
    hf_close(b);
    hf_close(a);
}

static void test_an_ask(void **state)
{
    struct hf_client *client = history_open();
    const char       *name = recipe_name();
    struct hf_lock   *lock = recipe_mutex(client, name);

    (void)state;
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_ask(client, name, "a deploy waits", RECIPE_LIMIT_MS), 1);
    struct hf_history_report *history = history_await(client, name, "gA aA");
    assert_string_equal(history->entry[1]->reason, "a deploy waits");
    assert_int_equal(history->entry[1]->pid, getpid());
    hf_history_report_free(history);
    hf_close(client);
}

/* It also grants the reader behind. */
static void test_a_downgrade(void **state)
{
    struct hf_client *a = history_open(), *b = recipe_open();
    const char       *name = recipe_name();
    struct hf_lock   *writer = recipe_writer(a, name), *reader = recipe_reader(b, name);

    (void)state;
    assert_int_equal(hf_acquire(writer, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(reader, -1), 0);
    recipe_await_line(a, name, 2);
    assert_int_equal(hf_downgrade(writer), 0);
    recipe_await(reader, HF_HELD);
    history_expect(a, name, "gA eB dA gB");
    assert_int_equal(hf_release(writer), 0);
    history_expect(a, name, "gA eB dA gB rA");
    hf_close(b);
    hf_close(a);
}

static void test_slots_of_a_semaphore(void **state)
{
    struct hf_client *client = history_open();
    const char       *name = recipe_name();
    struct hf_lock   *lock[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hf_semaphore(client, name, 2, 1, &lock[i]), 0);
        assert_int_equal(hf_set_any_thread(lock[i], true), 0);
        assert_int_equal(hf_acquire(lock[i], RECIPE_LIMIT_MS), 0);
    }
    struct hf_history_report *history = history_await(client, name, "gA gB");
    for (int i = 0; i < 2; i++) {
        assert_string_equal(history->entry[i]->kind, "semaphore");
        assert_int_equal(history->entry[i]->slot, hf_slot(lock[i]));
    }
    hf_history_report_free(history);
    hf_close(client);
}

/* It holds one lock, and waits for another. */
static void test_a_session_ended_by_its_key(void **state)
{
    struct hf_client *a = recipe_open(), *b = history_open(), *c = recipe_open();
    const char       *held = recipe_name(), *other = recipe_name();
    struct hf_lock   *mine = recipe_mutex(a, held), *wish = recipe_mutex(a, other);
    struct hf_lock   *taken = recipe_mutex(b, other), *next = recipe_mutex(c, held);
    uint8_t           key[2048];
    char              error[256] = "";

    (void)state;
    assert_int_equal(hf_acquire(taken, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire(mine, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(wish, -1), 0);
    recipe_await_line(b, other, 2);
    assert_int_equal(hf_acquire_start(next, -1), 0);
    recipe_await_line(b, held, 2);
    int size = hf_session_key(a, key, sizeof key);
    if (size == HF_EUNSUPPORTED) {
        hf_close(a);
        hf_close(b);
        hf_close(c);
        skip();
    }
    assert_in_range(size, 1, sizeof key);
    if (hf_end_session(key, (size_t)size, RECIPE_LIMIT_MS, error, sizeof error) != 0)
        fail_msg("hf_end_session: %s", error);
    recipe_await(mine, HF_LOST);
    recipe_await(next, HF_HELD);
    history_expect(b, held, "gA eB xA gB");
    struct hf_history_report *history = history_recall(b, other, 0);
    char                      text[256];
    history_as_text(history, text);
    hf_history_report_free(history);
    assert_memory_equal(text, "gA eB lB", 8); /* it may have queued again since */
    hf_close(a);
    hf_close(c);
    hf_close(b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_grant_and_a_release),
        cmocka_unit_test(test_waiters_that_are_granted_or_leave),
        cmocka_unit_test(test_a_failed_try_leaves_no_entry),
        cmocka_unit_test(test_closing_a_client),
        cmocka_unit_test(test_a_broken_holder_and_a_broken_waiter),
        cmocka_unit_test(test_an_ask),
        cmocka_unit_test(test_a_downgrade),
        cmocka_unit_test(test_slots_of_a_semaphore),
        cmocka_unit_test(test_a_session_ended_by_its_key),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
