/* link.c - how a client learns that its server is unreachable, and how soon it gives
 * up. */
#include "holdfast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SOON 3000 /* ms: 1 s, and more on a busy machine */

struct story {
    atomic_int calls, up, down, lost;
    char       why[256]; /* of the last call */
};

static void on_link(struct hf_client *client, enum hf_link link, const char *why,
                    void *data)
{
    struct story *story = data;

    assert_non_null(client);
    snprintf(story->why, sizeof story->why, "%s", why);
    story->up += link == HF_LINK_UP;
    story->down += link == HF_LINK_DOWN;
    story->lost += link == HF_LINK_LOST;
    story->calls++;
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct hf_client *open_with(const char *url, struct story *story)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;

    options.on_link = on_link;
    options.data = story;
    assert_int_equal(hf_open(url, &options, &client), 0);
    return client;
}

static void await(atomic_int *counter, int value)
{
    int64_t end = now_ms() + 10000;

    while (*counter < value && now_ms() < end)
        poll(NULL, 0, 1);
    assert_true(*counter >= value);
}

static bool has_store(const char *scheme)
{
    char all[256], word[32];

    snprintf(all, sizeof all, " %s ", hf_stores());
    snprintf(word, sizeof word, " %s ", scheme);
    return strstr(all, word) != NULL;
}

static void test_a_store_without_a_server_is_up(void **state)
{
    struct story      story = { .calls = 0 };
    struct hf_client *client = open_with("memory:link", &story);
    struct hf_report *report;

    (void)state;
    assert_int_equal(hf_inspect(client, NULL, 0, &report), 0);
    hf_report_free(report);
    await(&story.up, 1);
    assert_string_equal(story.why, "");
    hf_close(client);
    assert_int_equal(story.calls, 1);
}

static void is_told(const char *text, const char *product)
{
    assert_non_null(strstr(text, product));
    assert_non_null(strstr(text, " at 127.0.0.1:"));
    assert_non_null(strstr(text, " cannot be reached: connection refused"));
}

/* A one-shot caller fails in time, with the server and the reason. */
static void give_up_soon(const char *url, const char *product)
{
    struct story      story = { .calls = 0 };
    struct hf_client *client = open_with(url, &story);
    struct hf_lock   *lock;
    struct hf_report *report;
    int64_t           begin = now_ms();

    print_message("# %s\n", url);
    assert_int_equal(hf_mutex(client, "a", &lock), 0);
    assert_int_equal(hf_acquire_start(lock, 0), 0);
    assert_int_equal(hf_inspect(client, NULL, 0, &report), HF_EDOWN);
    is_told(hf_errmsg(client), product);
    while (hf_state(lock) != HF_IDLE && now_ms() < begin + SOON)
        poll(NULL, 0, 1);
    assert_int_equal(hf_state(lock), HF_IDLE);
    assert_int_equal(hf_why(lock), HF_EDOWN);
    assert_in_range(now_ms() - begin, 0, SOON);
    is_told(hf_errmsg(client), product);
    await(&story.down, 1);
    is_told(story.why, product);
    assert_int_equal(story.up, 0);
    hf_close(client);
}

static void test_a_caller_with_time_waits_for_the_server(void **state)
{
    struct story      story = { .calls = 0 };
    struct hf_report *report;
    int64_t           begin = now_ms();

    (void)state;
    if (!has_store("redis"))
        skip();
    struct hf_client *client = open_with("redis://127.0.0.1:1", &story);
    assert_int_equal(hf_inspect(client, NULL, 1500, &report), HF_EDOWN);
    assert_true(now_ms() - begin >= 1400);
    hf_close(client);
}

/* Port 1 is tcpmux, where nobody listens. */
static void test_an_absent_server_fails_a_caller_without_time(void **state)
{
    static const struct {
        const char *scheme, *url, *product;
    } rows[] = {
        { "zk", "zk://127.0.0.1:1,127.0.0.1:1", "ZooKeeper" },
        { "redis", "redis://127.0.0.1:1", "Redis" },
        { "redis+sentinel", "redis+sentinel://127.0.0.1:1,127.0.0.1:2/x", "Sentinel" },
        { "postgres", "postgres://a@127.0.0.1:1,127.0.0.1:1/x", "PostgreSQL" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (has_store(rows[i].scheme))
            give_up_soon(rows[i].url, rows[i].product);
}

/* A program that was built when there was no on_link. */
static void test_options_without_on_link(void **state)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;
    char              error[64] = "";

    (void)state;
    options.size = offsetof(struct hf_options, on_link);
    options.error = error;
    options.error_size = sizeof error;
    assert_int_equal(hf_open("gopher://x", &options, &client), HF_EUNSUPPORTED);
    assert_non_null(strstr(error, "gopher"));
    assert_int_equal(hf_open("memory:x", &options, &client), 0);
    hf_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_store_without_a_server_is_up),
        cmocka_unit_test(test_an_absent_server_fails_a_caller_without_time),
        cmocka_unit_test(test_a_caller_with_time_waits_for_the_server),
        cmocka_unit_test(test_options_without_on_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
