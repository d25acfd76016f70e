/* history.c - what happened to locks, told afterwards. */
#include "lib/recipe.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AN_HOUR INT64_C(3600000000) /* us */

static const char *url_with(const char *param)
{
    static char text[1024];
    const char *url = recipe_url();

    snprintf(text, sizeof text, "%s%c%s", url, strchr(url, '?') != NULL ? '&' : '?',
             param);
    return text;
}

static int try_open(const char *param, char error[256], struct hf_client **ret)
{
    struct hf_options options = HF_OPTIONS_INIT;

    error[0] = '\0';
    options.error = error;
    options.error_size = 256;
    return hf_open(url_with(param), &options, ret);
}

/* A client of a store that keeps a history; the test ends here if it cannot. */
static struct hf_client *open_kept(void)
{
    struct hf_client  *plain = recipe_open(), *client = NULL;
    struct hf_history *history = NULL;
    char               error[256];

    int r = hf_history(plain, NULL, 0, RECIPE_LIMIT_MS, &history);
    if (r == 0)
        hf_history_free(history);
    hf_close(plain);
    if (r == HF_EUNSUPPORTED)
        skip();
    r = try_open("history=1000", error, &client);
    if (r != 0)
        fail_msg("hf_open(%s): %s: %s", url_with("history=1000"), hf_errname(r), error);
    return client;
}

/* ---- Stories -------------------------------------------------------------------- */

static char letter_of(const char *what)
{
    static const char *const words[] = { "entered", "granted", "released", "left",
                                         "lost",    "broken",  "asked",    "lessened" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], what) == 0)
            return "egrlxbad"[i];
    return '?';
}

/* "gA eB rA gB": what happened, and to whom: places are A, B, C by when they are first told
 * of. */
static void write_story(const struct hf_history *history, char story[256])
{
    uint64_t places[26];
    size_t   count = 0, length = 0;

    story[0] = '\0';
    for (size_t i = 0; i < history->count && length < 240; i++) {
        const struct hf_record *record = history->record[i];
        size_t                  who = 0;
        while (who < count && places[who] != record->token)
            who++;
        assert_true(who < 26);
        if (who == count)
            places[count++] = record->token;
        length += (size_t)sprintf(story + length, "%s%c%c", i > 0 ? " " : "",
                                  letter_of(record->what), (char)('A' + who));
    }
}

static struct hf_history *recall(struct hf_client *client, const char *name,
                                 uint64_t after)
{
    struct hf_history *history = NULL;

    int r = hf_history(client, name, after, RECIPE_LIMIT_MS, &history);
    if (r != 0)
        fail_msg("hf_history: %s: %s", hf_errname(r), hf_errmsg(client));
    return history;
}

/* The history of a line once it is that story: what others do may take a moment. */
static struct hf_history *await_story(struct hf_client *client, const char *name,
                                      const char *wanted)
{
    int64_t end = recipe_ms() + 10000;
    char    story[256];

    for (;;) {
        struct hf_history *history = recall(client, name, 0);
        write_story(history, story);
        if (strcmp(story, wanted) == 0)
            return history;
        hf_history_free(history);
        if (recipe_ms() > end)
            fail_msg("%s: \"%s\" happened, and not \"%s\"", name, story, wanted);
        poll(NULL, 0, 5);
    }
}

static void expect_story(struct hf_client *client, const char *name, const char *wanted)
{
    hf_history_free(await_story(client, name, wanted));
}

/* ---- One lock ------------------------------------------------------------------- */

static void test_a_free_lock(void **state)
{
    struct hf_client *client = open_kept();
    const char       *name = recipe_name();
    struct hf_lock   *lock = recipe_mutex(client, name);

    (void)state;
    assert_int_equal(hf_set_note(lock, "before release"), 0);
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    uint64_t token = hf_token(lock);
    assert_int_equal(hf_release(lock), 0);

    struct hf_history *history = await_story(client, name, "gA rA");
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
    hf_history_free(history);
    hf_close(client);
}

static void test_who_queues_gets_it_or_gives_up(void **state)
{
    struct hf_client *a = open_kept(), *b = recipe_open(), *c = recipe_open();
    const char       *name = recipe_name();
    struct hf_lock   *first = recipe_mutex(a, name), *second = recipe_mutex(b, name);
    struct hf_lock   *third = recipe_mutex(c, name);

    (void)state;
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(second, -1), 0);
    recipe_await_line(a, name, 2);
    expect_story(a, name, "gA eB");
    assert_int_equal(hf_acquire_start(third, -1), 0);
    recipe_await_line(a, name, 3);
    assert_int_equal(hf_cancel(third), 0);
    expect_story(a, name, "gA eB eC lC");
    assert_int_equal(hf_release(first), 0);
    recipe_await(second, HF_HELD);
    assert_int_equal(hf_release(second), 0);
    expect_story(b, name, "gA eB eC lC rA gB rB");
    hf_close(c);
    hf_close(b);
    hf_close(a);
}

static void test_a_failed_try_leaves_none(void **state)
{
    struct hf_client *a = open_kept(), *b = recipe_open();
    const char       *name = recipe_name();
    struct hf_lock   *first = recipe_mutex(a, name), *second = recipe_mutex(b, name);

    (void)state;
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(hf_acquire(second, 0), HF_EBUSY);
    assert_int_equal(hf_release(first), 0);
    assert_int_equal(hf_acquire(second, 0), 0);
    expect_story(a, name, "gA rA gB");
    hf_close(b);
    expect_story(a, name, "gA rA gB rB");
    hf_close(a);
}

static void test_who_closes_leaves(void **state)
{
    struct hf_client *a = recipe_open(), *b = recipe_open(), *eye = open_kept();
    const char       *name = recipe_name();
    struct hf_lock   *first = recipe_mutex(a, name), *second = recipe_mutex(b, name);

    (void)state;
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(second, -1), 0);
    recipe_await_line(eye, name, 2);
    hf_close(b);
    expect_story(eye, name, "gA eB lB");
    hf_close(a);
    expect_story(eye, name, "gA eB lB rA");
    hf_close(eye);
}

/* ---- What others do to it ------------------------------------------------------- */

static void test_broken_places(void **state)
{
    struct hf_client *a = open_kept(), *b = recipe_open();
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
    expect_story(a, name, "gA eB lB eC"); /* it queues again */
    assert_int_equal(hf_break(b, name, hf_token(first), RECIPE_LIMIT_MS), 0);
    recipe_await(first, HF_LOST);
    recipe_await(second, HF_HELD);
    assert_int_equal(hf_release(first), HF_ELOST);
    expect_story(a, name, "gA eB lB eC bA gC");
    hf_close(b);
    hf_close(a);
}

static void test_who_is_asked(void **state)
{
    struct hf_client *client = open_kept();
    const char       *name = recipe_name();
    struct hf_lock   *lock = recipe_mutex(client, name);

    (void)state;
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_ask(client, name, "a deploy waits", RECIPE_LIMIT_MS), 1);
    struct hf_history *history = await_story(client, name, "gA aA");
    assert_string_equal(history->record[1]->reason, "a deploy waits");
    assert_int_equal(history->record[1]->pid, getpid());
    hf_history_free(history);
    hf_close(client);
}

/* The writer becomes a reader, and the reader behind it comes in by that. */
static void test_a_downgrade(void **state)
{
    struct hf_client *a = open_kept(), *b = recipe_open();
    const char       *name = recipe_name();
    struct hf_lock   *writer = recipe_writer(a, name), *reader = recipe_reader(b, name);

    (void)state;
    assert_int_equal(hf_acquire(writer, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(reader, -1), 0);
    recipe_await_line(a, name, 2);
    assert_int_equal(hf_downgrade(writer), 0);
    recipe_await(reader, HF_HELD);
    expect_story(a, name, "gA eB dA gB");
    assert_int_equal(hf_release(writer), 0);
    expect_story(a, name, "gA eB dA gB rA");
    hf_close(b);
    hf_close(a);
}

static void test_a_semaphore_has_slots(void **state)
{
    struct hf_client *client = open_kept();
    const char       *name = recipe_name();
    struct hf_lock   *lock[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hf_semaphore(client, name, 2, 1, &lock[i]), 0);
        assert_int_equal(hf_set_any_thread(lock[i], true), 0);
        assert_int_equal(hf_acquire(lock[i], RECIPE_LIMIT_MS), 0);
    }
    struct hf_history *history = await_story(client, name, "gA gB");
    for (int i = 0; i < 2; i++) {
        assert_string_equal(history->record[i]->kind, "semaphore");
        assert_int_equal(history->record[i]->slot, hf_slot(lock[i]));
    }
    hf_history_free(history);
    hf_close(client);
}

/* A session that holds one lock and waits for another is ended by its will. */
static void test_a_session_that_is_ended(void **state)
{
    struct hf_client *a = recipe_open(), *b = open_kept(), *c = recipe_open();
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
    expect_story(b, held, "gA eB xA gB");
    struct hf_history *history = recall(b, other, 0);
    char               story[256];
    write_story(history, story);
    hf_history_free(history);
    assert_memory_equal(story, "gA eB lB", 8); /* it may have queued again since */
    hf_close(a);
    hf_close(c);
    hf_close(b);
}

/* ---- What is asked for ---------------------------------------------------------- */

static void test_what_is_new_of_one_or_of_all(void **state)
{
    struct hf_client *client = open_kept();
    const char       *one = recipe_name(), *two = recipe_name();
    struct hf_lock   *first = recipe_mutex(client, one),
                   *second = recipe_mutex(client, two);
    char story[256];

    (void)state;
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);
    struct hf_history *history = await_story(client, one, "gA");
    uint64_t           last = history->last;
    hf_history_free(history);
    assert_int_equal(hf_acquire(second, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_release(first), 0);
    expect_story(client, one, "gA rA");

    /* Of one: only what came after. */
    history = recall(client, one, last);
    write_story(history, story);
    assert_string_equal(story, "rA");
    assert_true(history->record[0]->number > last);
    hf_history_free(history);

    /* Of all: without gaps, as far as it is kept. */
    history = recall(client, NULL, last);
    assert_true(history->count >= 2);
    assert_int_equal(history->last, last + history->count);
    for (size_t i = 0; i < history->count; i++)
        assert_int_equal(history->record[i]->number, last + 1 + i);
    uint64_t now = history->last;
    hf_history_free(history);

    /* Nothing happened to that one since. */
    history = recall(client, two, now);
    assert_int_equal(history->count, 0);
    assert_true(history->last >= now);
    hf_history_free(history);
    history = recall(client, "nobody ever used this", 0);
    assert_int_equal(history->count, 0);
    hf_history_free(history);
    hf_close(client);
}

/* Only so many are kept: the last. */
static void test_the_oldest_are_forgotten(void **state)
{
    struct hf_client *client = open_kept(), *other = NULL;
    struct hf_lock   *lock = recipe_mutex(client, recipe_name());
    char              error[256];

    (void)state;
    assert_int_equal(try_open("history=10", error, &other), 0);
    struct hf_history *history = recall(other, NULL, 0); /* it has been reached */
    assert_true(history->count <= 10);
    hf_history_free(history);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
        assert_int_equal(hf_release(lock), 0);
    }
    history = recall(client, NULL, 0);
    assert_int_equal(history->count, 10);
    assert_int_equal(history->record[9]->number, history->last);
    assert_int_equal(history->record[0]->number, history->last - 9);
    hf_history_free(history);
    hf_close(other);
    hf_close(client);
}

static void test_it_can_be_turned_off(void **state)
{
    struct hf_client  *client = open_kept(), *other = NULL;
    const char        *name = recipe_name();
    struct hf_lock    *lock = recipe_mutex(client, name);
    struct hf_history *history = NULL;
    char               error[256];

    (void)state;
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    expect_story(client, name, "gA");
    assert_int_equal(try_open("history=0", error, &other), 0);
    assert_int_equal(hf_history(other, NULL, 0, RECIPE_LIMIT_MS, &history), HF_ENOTFOUND);
    assert_non_null(strstr(hf_errmsg(other), "?history=1000"));
    hf_close(other);
    assert_int_equal(hf_history(client, name, 0, RECIPE_LIMIT_MS, &history),
                     HF_ENOTFOUND);
    assert_int_equal(hf_release(lock), 0);
    hf_close(client);

    /* What was before is forgotten, and what happened meanwhile is not known. */
    client = open_kept();
    history = recall(client, name, 0);
    assert_int_equal(history->count, 0);
    hf_history_free(history);
    lock = recipe_mutex(client, name);
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    expect_story(client, name, "gA");
    hf_close(client);
}

static void test_a_length_that_makes_no_sense_is_refused(void **state)
{
    static const char *const bad[] = { "history=",       "history=-1",
                                       "history=100001", "history=x",
                                       "history=1x",     "history=+1",
                                       "history=1e3",    "history=99999999999999999999" };
    struct hf_client        *client = open_kept();
    char                     error[256];

    (void)state;
    hf_close(client);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        client = NULL;
        if (try_open(bad[i], error, &client) != HF_EINVAL)
            fail_msg("%s was not refused: %s", bad[i], error);
        assert_null(client);
        assert_non_null(strstr(error, "history"));
    }
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
        cmocka_unit_test(test_what_is_new_of_one_or_of_all),
        cmocka_unit_test(test_the_oldest_are_forgotten),
        cmocka_unit_test(test_it_can_be_turned_off),
        cmocka_unit_test(test_a_length_that_makes_no_sense_is_refused),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
