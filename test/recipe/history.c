/* history.c - what happened to locks, told afterwards. */
#include "lib/story.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AN_HOUR INT64_C(3600000000) /* us */

/* ---- One lock ------------------------------------------------------------------- */

static void test_a_free_lock(void **state)
{
    struct hf_client *client = story_open();
    const char       *name = recipe_name();
    struct hf_lock   *lock = recipe_mutex(client, name);

    (void)state;
    assert_int_equal(hf_set_note(lock, "before release"), 0);
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    uint64_t token = hf_token(lock);
    assert_int_equal(hf_release(lock), 0);

    struct hf_records *history = story_await(client, name, "gA rA");
    for (size_t i = 0; i < 2; i++) {
        const struct hf_record *record = history->record[i];
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
    assert_true(history->record[0]->number < history->record[1]->number);
    assert_true(history->last >= history->record[1]->number);
    hf_records_free(history);
    hf_close(client);
}

static void test_who_queues_gets_it_or_gives_up(void **state)
{
    struct hf_client *a = story_open(), *b = recipe_open(), *c = recipe_open();
    const char       *name = recipe_name();
    struct hf_lock   *first = recipe_mutex(a, name), *second = recipe_mutex(b, name);
    struct hf_lock   *third = recipe_mutex(c, name);

    (void)state;
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(second, -1), 0);
    recipe_await_line(a, name, 2);
    story_expect(a, name, "gA eB");
    assert_int_equal(hf_acquire_start(third, -1), 0);
    recipe_await_line(a, name, 3);
    assert_int_equal(hf_cancel(third), 0);
    story_expect(a, name, "gA eB eC lC");
    assert_int_equal(hf_release(first), 0);
    recipe_await(second, HF_HELD);
    assert_int_equal(hf_release(second), 0);
    story_expect(b, name, "gA eB eC lC rA gB rB");
    hf_close(c);
    hf_close(b);
    hf_close(a);
}

static void test_a_failed_try_leaves_none(void **state)
{
    struct hf_client *a = story_open(), *b = recipe_open();
    const char       *name = recipe_name();
    struct hf_lock   *first = recipe_mutex(a, name), *second = recipe_mutex(b, name);

    (void)state;
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(hf_acquire(second, 0), HF_EBUSY);
    assert_int_equal(hf_release(first), 0);
    assert_int_equal(hf_acquire(second, 0), 0);
    story_expect(a, name, "gA rA gB");
    hf_close(b);
    story_expect(a, name, "gA rA gB rB");
    hf_close(a);
}

static void test_who_closes_leaves(void **state)
{
    struct hf_client *a = recipe_open(), *b = recipe_open(), *eye = story_open();
    const char       *name = recipe_name();
    struct hf_lock   *first = recipe_mutex(a, name), *second = recipe_mutex(b, name);

    (void)state;
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(second, -1), 0);
    recipe_await_line(eye, name, 2);
    hf_close(b);
    story_expect(eye, name, "gA eB lB");
    hf_close(a);
    story_expect(eye, name, "gA eB lB rA");
    hf_close(eye);
}

/* ---- What others do to it ------------------------------------------------------- */

/* "by root@db1:4242": this process. */
static void must_be_ours(const struct hf_record *record)
{
    char  pid[32];
    char *end = strrchr(record->reason, ':');

    snprintf(pid, sizeof pid, ":%ld", (long)getpid());
    assert_int_equal(strncmp(record->reason, "by ", 3), 0);
    assert_non_null(end);
    assert_string_equal(end, pid);
}

static void test_broken_places(void **state)
{
    struct hf_client *a = story_open(), *b = recipe_open();
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
    story_expect(a, name, "gA eB lB eC"); /* it queues again */
    assert_int_equal(hf_break(b, name, hf_token(first), RECIPE_LIMIT_MS), 0);
    recipe_await(first, HF_LOST);
    recipe_await(second, HF_HELD);
    assert_int_equal(hf_release(first), HF_ELOST);
    struct hf_records *history = story_await(a, name, "gA eB lB eC bA gC");
    for (size_t i = 0; i < history->count; i++)
        if (i == 2 || i == 4)
            must_be_ours(history->record[i]);
        else
            assert_string_equal(history->record[i]->reason, "");
    hf_records_free(history);
    hf_close(b);
    hf_close(a);
}

static void test_who_is_asked(void **state)
{
    struct hf_client *client = story_open();
    const char       *name = recipe_name();
    struct hf_lock   *lock = recipe_mutex(client, name);

    (void)state;
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_ask(client, name, "a deploy waits", RECIPE_LIMIT_MS), 1);
    struct hf_records *history = story_await(client, name, "gA aA");
    assert_string_equal(history->record[1]->reason, "a deploy waits");
    assert_int_equal(history->record[1]->pid, getpid());
    hf_records_free(history);
    hf_close(client);
}

/* The writer becomes a reader, and the reader behind it comes in by that. */
static void test_a_downgrade(void **state)
{
    struct hf_client *a = story_open(), *b = recipe_open();
    const char       *name = recipe_name();
    struct hf_lock   *writer = recipe_writer(a, name), *reader = recipe_reader(b, name);

    (void)state;
    assert_int_equal(hf_acquire(writer, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(reader, -1), 0);
    recipe_await_line(a, name, 2);
    assert_int_equal(hf_downgrade(writer), 0);
    recipe_await(reader, HF_HELD);
    story_expect(a, name, "gA eB dA gB");
    assert_int_equal(hf_release(writer), 0);
    story_expect(a, name, "gA eB dA gB rA");
    hf_close(b);
    hf_close(a);
}

static void test_a_semaphore_has_slots(void **state)
{
    struct hf_client *client = story_open();
    const char       *name = recipe_name();
    struct hf_lock   *lock[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hf_semaphore(client, name, 2, 1, &lock[i]), 0);
        assert_int_equal(hf_set_any_thread(lock[i], true), 0);
        assert_int_equal(hf_acquire(lock[i], RECIPE_LIMIT_MS), 0);
    }
    struct hf_records *history = story_await(client, name, "gA gB");
    for (int i = 0; i < 2; i++) {
        assert_string_equal(history->record[i]->kind, "semaphore");
        assert_int_equal(history->record[i]->slot, hf_slot(lock[i]));
    }
    hf_records_free(history);
    hf_close(client);
}

/* A session that holds one lock and waits for another is ended by its will. */
static void test_a_session_that_is_ended(void **state)
{
    struct hf_client *a = recipe_open(), *b = story_open(), *c = recipe_open();
    const char       *held = recipe_name(), *other = recipe_name();
    struct hf_lock   *mine = recipe_mutex(a, held), *wish = recipe_mutex(a, other);
    struct hf_lock   *taken = recipe_mutex(b, other), *next = recipe_mutex(c, held);
    uint8_t           will[2048];
    char              error[256] = "";

    (void)state;
    assert_int_equal(hf_acquire(taken, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire(mine, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(wish, -1), 0);
    recipe_await_line(b, other, 2);
    assert_int_equal(hf_acquire_start(next, -1), 0);
    recipe_await_line(b, held, 2);
    int size = hf_will(a, will, sizeof will);
    if (size == HF_EUNSUPPORTED) {
        hf_close(a);
        hf_close(b);
        hf_close(c);
        skip();
    }
    assert_in_range(size, 1, sizeof will);
    if (hf_execute(will, (size_t)size, RECIPE_LIMIT_MS, error, sizeof error) != 0)
        fail_msg("hf_execute: %s", error);
    recipe_await(mine, HF_LOST);
    recipe_await(next, HF_HELD);
    story_expect(b, held, "gA eB xA gB");
    struct hf_records *history = story_recall(b, other, 0);
    char               story[256];
    story_write(history, story);
    hf_records_free(history);
    assert_memory_equal(story, "gA eB lB", 8); /* it may have queued again since */
    hf_close(a);
    hf_close(c);
    hf_close(b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_free_lock),
        cmocka_unit_test(test_who_queues_gets_it_or_gives_up),
        cmocka_unit_test(test_a_failed_try_leaves_none),
        cmocka_unit_test(test_who_closes_leaves),
        cmocka_unit_test(test_broken_places),
        cmocka_unit_test(test_who_is_asked),
        cmocka_unit_test(test_a_downgrade),
        cmocka_unit_test(test_a_semaphore_has_slots),
        cmocka_unit_test(test_a_session_that_is_ended),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
