/* recipe.c - see recipe.h. */
#include "lib/recipe.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *url;

void recipe_init(int argc, char **argv)
{
    url = argc > 1 ? argv[1] : getenv("HF_TEST_URL");
    if (url == NULL) {
        fprintf(stderr, "usage: %s STORE-URL\n", argv[0]);
        exit(2);
    }
}

const char *recipe_url(void)
{
    return url;
}

struct hf_client *recipe_open_with(const struct hf_options *options)
{
    struct hf_client *client = NULL;
    char              error[256] = "";
    struct hf_options own = HF_OPTIONS_INIT;

    if (options != NULL)
        own = *options;
    own.error = error;
    own.error_size = sizeof error;
    int r = hf_open(url, &own, &client);
    if (r != 0)
        fail_msg("hf_open(%s): %s: %s", url, hf_errname(r), error);
    return client;
}

struct hf_client *recipe_open(void)
{
    return recipe_open_with(NULL);
}

const char *recipe_name(void)
{
    static char     names[4][64];
    static unsigned count;
    char           *name = names[count++ % 4];

    snprintf(name, sizeof names[0], "test-%ld-%u", (long)getpid(), count);
    return name;
}

struct hf_lock *recipe_mutex(struct hf_client *client, const char *name)
{
    struct hf_lock *lock = NULL;

    assert_int_equal(hf_mutex(client, name, &lock), 0);
    return lock;
}

struct hf_lock *recipe_reader(struct hf_client *client, const char *name)
{
    struct hf_lock *lock = NULL;

    assert_int_equal(hf_reader(client, name, &lock), 0);
    return lock;
}

struct hf_lock *recipe_writer(struct hf_client *client, const char *name)
{
    struct hf_lock *lock = NULL;

    assert_int_equal(hf_writer(client, name, &lock), 0);
    return lock;
}

int64_t recipe_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void recipe_await(struct hf_lock *lock, enum hf_state state)
{
    int64_t end = recipe_ms() + 10000;

    while (hf_state(lock) != state && recipe_ms() < end)
        poll(NULL, 0, 1);
    assert_int_equal(hf_state(lock), state);
}

void recipe_await_line(struct hf_client *client, const char *name, size_t count)
{
    struct hf_report *report = NULL;
    int64_t           end = recipe_ms() + 10000;
    size_t            seen = 0;

    do {
        assert_int_equal(hf_inspect(client, name, 5000, &report), 0);
        seen = report->count;
        hf_report_free(report);
        if (seen != count)
            poll(NULL, 0, 1);
    } while (seen != count && recipe_ms() < end);
    assert_int_equal(seen, count);
}

const struct hf_finding *recipe_finding(const struct hf_findings *findings,
                                        const char               *about)
{
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(findings->finding[i]->about, about) == 0)
            return findings->finding[i];
    fail_msg("no finding about \"%s\"", about);
    return NULL;
}

uint64_t recipe_sum(const struct hf_histogram *histogram)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < HF_BUCKETS; i++)
        sum += histogram->bucket[i];
    return sum;
}
