/* history_kept.c - how much of what happened is kept, and told. */
#include "lib/story.h"

#include <string.h>

static void test_what_is_new_of_one_or_of_all(void **state)
{
    struct hf_client *client = story_open();
    const char       *one = recipe_name(), *two = recipe_name();
    struct hf_lock   *first = recipe_mutex(client, one),
                   *second = recipe_mutex(client, two);
    char story[256];

    (void)state;
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);
    struct hf_records *history = story_await(client, one, "gA");
    uint64_t           last = history->last;
    hf_records_free(history);
    assert_int_equal(hf_acquire(second, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_release(first), 0);
    story_expect(client, one, "gA rA");

    /* Of one: only what came after. */
    history = story_recall(client, one, last);
    story_write(history, story);
    assert_string_equal(story, "rA");
    assert_true(history->record[0]->number > last);
    hf_records_free(history);

    /* Of all: without gaps, as far as it is kept. */
    history = story_recall(client, NULL, last);
    assert_true(history->count >= 2);
    assert_int_equal(history->last, last + history->count);
    for (size_t i = 0; i < history->count; i++)
        assert_int_equal(history->record[i]->number, last + 1 + i);
    uint64_t now = history->last;
    hf_records_free(history);

    /* Nothing happened to that one since. */
    history = story_recall(client, two, now);
    assert_int_equal(history->count, 0);
    assert_true(history->last >= now);
    hf_records_free(history);
    history = story_recall(client, "nobody ever used this", 0);
    assert_int_equal(history->count, 0);
    hf_records_free(history);
    hf_close(client);
}

/* Only so many are kept: the last. */
static void test_the_oldest_are_forgotten(void **state)
{
    struct hf_client *client = story_open(), *other = NULL;
    struct hf_lock   *lock = recipe_mutex(client, recipe_name());
    char              error[256];

    (void)state;
    assert_int_equal(story_try_open("history=10", error, &other), 0);
    struct hf_records *history = story_recall(other, NULL, 0); /* it has been reached */
    assert_true(history->count <= 10);
    hf_records_free(history);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
        assert_int_equal(hf_release(lock), 0);
    }
    history = story_recall(client, NULL, 0);
    assert_int_equal(history->count, 10);
    assert_int_equal(history->record[9]->number, history->last);
    assert_int_equal(history->record[0]->number, history->last - 9);
    hf_records_free(history);
    hf_close(other);
    hf_close(client);
}

static void test_it_can_be_turned_off(void **state)
{
    struct hf_client  *client = story_open(), *other = NULL;
    const char        *name = recipe_name();
    struct hf_lock    *lock = recipe_mutex(client, name);
    struct hf_records *history = NULL;
    char               error[256];

    (void)state;
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    story_expect(client, name, "gA");
    assert_int_equal(story_try_open("history=0", error, &other), 0);
    assert_int_equal(hf_history(other, NULL, 0, RECIPE_LIMIT_MS, &history), HF_ENOTFOUND);
    assert_non_null(strstr(hf_errmsg(other), "history --keep 1000"));
    hf_close(other);
    assert_int_equal(hf_history(client, name, 0, RECIPE_LIMIT_MS, &history),
                     HF_ENOTFOUND);
    assert_int_equal(hf_release(lock), 0);
    hf_close(client);

    /* What was before is forgotten, and what happened meanwhile is not known. */
    client = story_open();
    history = story_recall(client, name, 0);
    assert_int_equal(history->count, 0);
    hf_records_free(history);
    lock = recipe_mutex(client, name);
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    story_expect(client, name, "gA");
    hf_close(client);
}

static void test_a_length_that_makes_no_sense_is_refused(void **state)
{
    static const char *const bad[] = { "history=",       "history=-1",
                                       "history=100001", "history=x",
                                       "history=1x",     "history=+1",
                                       "history=1e3",    "history=99999999999999999999" };
    struct hf_client        *client = story_open();
    char                     error[256];

    (void)state;
    hf_close(client);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        client = NULL;
        if (story_try_open(bad[i], error, &client) != HF_EINVAL)
            fail_msg("%s was not refused: %s", bad[i], error);
        assert_null(client);
        assert_non_null(strstr(error, "history"));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_new_of_one_or_of_all),
        cmocka_unit_test(test_the_oldest_are_forgotten),
        cmocka_unit_test(test_it_can_be_turned_off),
        cmocka_unit_test(test_a_length_that_makes_no_sense_is_refused),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
