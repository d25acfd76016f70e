/* history_kept.c - how much of the history is kept. */
#include "lib/history_text.h"

#include <string.h>

static void test_entries_after_a_number_of_one_lock_or_all(void **state)
{
    struct hf_client *client = history_open();
    const char       *one = recipe_name(), *two = recipe_name();
    struct hf_lock   *first = recipe_mutex(client, one),
                   *second = recipe_mutex(client, two);
    char story[256];

    (void)state;
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);
    struct hf_history_report *history = history_await(client, one, "gA");
    uint64_t                  last = history->last;
    hf_history_report_free(history);
    assert_int_equal(hf_acquire(second, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_release(first), 0);
    history_expect(client, one, "gA rA");

    /* Of one lock: only later entries. */
    history = history_recall(client, one, last);
    history_as_text(history, story);
    assert_string_equal(story, "rA");
    assert_true(history->entry[0]->number > last);
    hf_history_report_free(history);

    /* Of all locks: without gaps. */
    history = history_recall(client, NULL, last);
    assert_true(history->count >= 2);
    assert_int_equal(history->last, last + history->count);
    for (size_t i = 0; i < history->count; i++)
        assert_int_equal(history->entry[i]->number, last + 1 + i);
    uint64_t now = history->last;
    hf_history_report_free(history);

    /* No later entry of that lock. */
    history = history_recall(client, two, now);
    assert_int_equal(history->count, 0);
    assert_true(history->last >= now);
    hf_history_report_free(history);
    history = history_recall(client, "nobody ever used this", 0);
    assert_int_equal(history->count, 0);
    hf_history_report_free(history);
    hf_close(client);
}

static void test_the_oldest_entries_are_dropped(void **state)
{
    struct hf_client *client = history_open(), *other = NULL;
    struct hf_lock   *lock = recipe_mutex(client, recipe_name());
    char              error[256];

    (void)state;
    assert_int_equal(history_try_open("history=10", error, &other), 0);
    struct hf_history_report *history =
        history_recall(other, NULL, 0); /* its link is up */
    assert_true(history->count <= 10);
    hf_history_report_free(history);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
        assert_int_equal(hf_release(lock), 0);
    }
    history = history_recall(client, NULL, 0);
    assert_int_equal(history->count, 10);
    assert_int_equal(history->entry[9]->number, history->last);
    assert_int_equal(history->entry[0]->number, history->last - 9);
    hf_history_report_free(history);
    hf_close(other);
    hf_close(client);
}

static void test_the_history_can_be_turned_off(void **state)
{
    struct hf_client         *client = history_open(), *other = NULL;
    const char               *name = recipe_name();
    struct hf_lock           *lock = recipe_mutex(client, name);
    struct hf_history_report *history = NULL;
    char                      error[256];

    (void)state;
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    history_expect(client, name, "gA");
    assert_int_equal(history_try_open("history=0", error, &other), 0);
    assert_int_equal(hf_history(other, NULL, 0, RECIPE_LIMIT_MS, &history), HF_ENOTFOUND);
    assert_non_null(strstr(hf_errmsg(other), "history --keep 1000"));
    hf_close(other);
    assert_int_equal(hf_history(client, name, 0, RECIPE_LIMIT_MS, &history),
                     HF_ENOTFOUND);
    assert_int_equal(hf_release(lock), 0);
    hf_close(client);

    /* Earlier entries are dropped, and events of the time in between were not
     * recorded. */
    client = history_open();
    history = history_recall(client, name, 0);
    assert_int_equal(history->count, 0);
    hf_history_report_free(history);
    lock = recipe_mutex(client, name);
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    history_expect(client, name, "gA");
    hf_close(client);
}

static void test_an_invalid_length_is_refused(void **state)
{
    static const char *const bad[] = { "history=",       "history=-1",
                                       "history=100001", "history=x",
                                       "history=1x",     "history=+1",
                                       "history=1e3",    "history=99999999999999999999" };
    struct hf_client        *client = history_open();
    char                     error[256];

    (void)state;
    hf_close(client);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        client = NULL;
        if (history_try_open(bad[i], error, &client) != HF_EINVAL)
            fail_msg("%s was not refused: %s", bad[i], error);
        assert_null(client);
        assert_non_null(strstr(error, "history"));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_after_a_number_of_one_lock_or_all),
        cmocka_unit_test(test_the_oldest_entries_are_dropped),
        cmocka_unit_test(test_the_history_can_be_turned_off),
        cmocka_unit_test(test_an_invalid_length_is_refused),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
