/* store_watch.c - hf_watch_store(): all locks of a store, reported as they change. */
#include "lib/recipe.h"
#include "lib/store_watcher.h"

#include <stdio.h>
#include <string.h>

/* First all locks that exist, then every change, by other clients and by its own. */
static void test_every_change_is_reported(void **state)
{
    const char          *prefix = recipe_name();
    char                 one[64], two[64];
    struct store_watcher seen;

    (void)state;
    snprintf(one, sizeof one, "%s-one", prefix);
    snprintf(two, sizeof two, "%s-two", prefix);
    struct hf_client *a = recipe_open(), *b = recipe_open(), *client = recipe_open();
    struct hf_lock   *first = recipe_mutex(a, one), *second = recipe_mutex(b, one);
    struct hf_lock   *other = recipe_mutex(a, two), *own = recipe_mutex(client, two);
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);

    store_watcher_start(&seen, client, prefix);
    assert_true(
        store_watcher_sees(&seen, one, 1, 0)); /* reported within the first round */
    assert_true(store_watcher_sees(&seen, two, 0, 0));

    assert_int_equal(hf_acquire_start(second, -1), 0);
    store_watcher_await(&seen, one, 1, 1);
    assert_int_equal(hf_acquire(other, RECIPE_LIMIT_MS), 0);
    store_watcher_await(&seen, two, 1, 0);
    assert_int_equal(hf_release(first), 0);
    store_watcher_await(&seen, one, 1, 0);
    assert_int_equal(hf_release(other), 0);
    store_watcher_await(&seen, two, 0, 0);
    assert_int_equal(hf_acquire(own, RECIPE_LIMIT_MS), 0);
    store_watcher_await(&seen, two, 1, 0);
    hf_close(b);
    store_watcher_await(&seen, one, 0, 0);

    store_watcher_stop(&seen);
    hf_close(client);
    hf_close(a);
}

static void test_a_lock_without_changes_is_reported_once(void **state)
{
    const char          *prefix = recipe_name();
    char                 quiet[64], busy[64];
    struct store_watcher seen;

    (void)state;
    snprintf(quiet, sizeof quiet, "%s-quiet", prefix);
    snprintf(busy, sizeof busy, "%s-busy", prefix);
    struct hf_client *a = recipe_open(), *client = recipe_open();
    struct hf_lock   *still = recipe_mutex(a, quiet), *moving = recipe_mutex(a, busy);
    assert_int_equal(hf_acquire(still, RECIPE_LIMIT_MS), 0);
    store_watcher_start(&seen, client, prefix);

    for (int i = 0; i < 3; i++) {
        assert_int_equal(hf_acquire(moving, RECIPE_LIMIT_MS), 0);
        store_watcher_await(&seen, busy, 1, 0);
        assert_int_equal(hf_release(moving), 0);
        store_watcher_await(&seen, busy, 0, 0);
    }
    assert_string_equal(seen.name[0], quiet);
    assert_int_equal(seen.told[0], 1);
    store_watcher_stop(&seen);

    /* A second watch begins with all locks. */
    store_watcher_start(&seen, client, prefix);
    assert_true(store_watcher_sees(&seen, quiet, 1, 0));
    hf_close(client); /* frees the watch, too */
    hf_close(a);
}

static void ignore_line(struct hf_store_watch *watch, const char *name,
                        struct hf_report *line, void *data)
{
    (void)watch;
    (void)name;
    (void)data;
    hf_report_free(line);
}

static void test_invalid_store_watches_are_refused(void **state)
{
    struct hf_store_watch_options options = HF_STORE_WATCH_INIT;
    struct hf_store_watch        *watch = NULL, *twin = NULL;
    struct hf_client             *client = recipe_open();

    (void)state;
    assert_int_equal(hf_store_watch_new(client, NULL, &watch), HF_EINVAL);
    assert_int_equal(hf_store_watch_new(client, &options, &watch), HF_EINVAL);
    assert_non_null(strstr(hf_errmsg(client), "on_queue"));
    options.on_queue = ignore_line;
    options.pause_ms = -1;
    assert_int_equal(hf_store_watch_new(client, &options, &watch), HF_EINVAL);
    options.pause_ms = 0;
    assert_int_equal(hf_store_watch_new(client, &options, &watch), 0);
    assert_int_equal(hf_store_watch_new(client, &options, &twin), HF_ESTATE);
    hf_store_watch_free(watch); /* whether or not it has begun */
    hf_store_watch_free(NULL);
    assert_int_equal(hf_store_watch_new(client, &options, &twin), 0);
    hf_store_watch_free(twin);
    hf_close(client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_change_is_reported),
        cmocka_unit_test(test_a_lock_without_changes_is_reported_once),
        cmocka_unit_test(test_invalid_store_watches_are_refused),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
