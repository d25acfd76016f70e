/* owner_set.c - which thread owns a set of locks, and its parts; see owner.c. */
#include "lib/recipe.h"
#include "unit/lib/handle_owner.h"
#include "unit/lib/stalling_store.h"

#include <unistd.h>

#define URL "memory:owner"

static void test_the_owner_of_a_set_and_of_its_parts(void **state)
{
    struct hf_client *client = stalling_store_open(0, URL);
    struct hf_lock   *part[] = { recipe_reader(client, "one"),
                                 recipe_mutex(client, "two") };
    struct hf_lock   *mine = recipe_reader(client, "one"), *all = NULL;

    (void)state;
    assert_int_equal(hf_all_of(part, 2, &all), 0);
    assert_int_equal(hf_acquire(mine, 1000), 0);
    assert_int_equal(hf_acquire(all, 1000), 0);
    assert_int_equal(owner_of(all), HF_OWNER_BOUND);
    assert_int_equal(owner_of(part[0]), HF_OWNER_INNER);
    assert_int_equal(owner_of(part[1]), HF_OWNER_LOOSE);
    stalling_store.stalled = true;
    assert_int_equal(hf_release_start(all), 0);
    assert_int_equal(owner_of(all), HF_OWNER_ENDING);
    stalling_store.stalled = false;
    assert_int_equal(hf_acquire(all, 10000), 0); /* waits, as for any lock */
    assert_int_equal(hf_release(all), 0);
    assert_int_equal(owner_of(all), HF_OWNER_FREE);
    assert_int_equal(hf_release(mine), 0);

    assert_int_equal(hf_acquire_start(all, -1), 0);
    await_owner(all, HF_OWNER_LOOSE);
    assert_int_equal(hf_release_start(all), 0);
    await_owner(all, HF_OWNER_FREE);
    stalling_store_close(client);
}

static void test_a_set_is_released_once(void **state)
{
    struct hf_client *client = stalling_store_open(0, URL);
    struct hf_lock *part[] = { recipe_mutex(client, "one"), recipe_mutex(client, "two") };
    struct hf_lock *all = NULL;
    struct call     call;

    (void)state;
    assert_int_equal(hf_all_of(part, 2, &all), 0);
    assert_int_equal(hf_acquire_start(all, -1), 0);
    await_owner(all, HF_OWNER_LOOSE);
    stalling_store.stalled = true;
    begin_call(&call, hf_release, all);
    await_owner(all, HF_OWNER_RELEASING);
    assert_int_equal(hf_state(all), HF_LEAVING);
    assert_int_equal(hf_release(all), HF_ESTATE);
    assert_int_equal(hf_release_start(all), HF_ESTATE);
    stalling_store.stalled = false;
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(owner_of(all), HF_OWNER_FREE);
    stalling_store_close(client);
}

/* At its deadline. */
static void test_a_release_of_a_set_ends_without_an_answer(void **state)
{
    struct hf_client *client = stalling_store_open(0, URL "-lease?lease=1000");
    struct hf_lock *part[] = { recipe_mutex(client, "one"), recipe_mutex(client, "two") };
    struct hf_lock *all = NULL;

    (void)state;
    assert_int_equal(hf_all_of(part, 2, &all), 0);
    assert_int_equal(hf_acquire(all, 10000), 0);
    stalling_store.stalled = true;
    int r = hf_release(all);
    assert_true(r == HF_EDOWN || r == HF_ELOST); /* HF_ELOST on a busy machine */
    assert_int_equal(owner_of(all), HF_OWNER_FREE);
    stalling_store_close(client);
}

/* A set of readers, the first of which this thread holds already; and another client, to
 * block the rest. */
struct nested {
    struct hf_client *client, *other;
    struct hf_lock   *host, *part[2], *all;
};

static void open_nested(struct nested *nested)
{
    struct hf_client *client = stalling_store_open(0, URL);

    *nested = (struct nested){ .client = client };
    nested->host = recipe_reader(client, "one");
    nested->part[0] = recipe_reader(client, "one");
    nested->part[1] = recipe_reader(client, "two");
    assert_int_equal(hf_all_of(nested->part, 2, &nested->all), 0);
    assert_int_equal(hf_set_any_thread(nested->all, true), 0);
    assert_int_equal(hf_acquire(nested->host, 1000), 0);
    assert_int_equal(hf_open(URL, NULL, &nested->other), 0);
}

static void close_nested(struct nested *nested)
{
    hf_close(nested->other);
    stalling_store_close(nested->client);
}

static void test_a_set_of_nested_readers_only(void **state)
{
    struct nested   nested;
    struct hf_lock *second;

    (void)state;
    open_nested(&nested);
    second = recipe_reader(nested.client, "two");
    assert_int_equal(hf_acquire(second, 1000), 0);
    for (int lent = 0; lent < 2; lent++) {
        assert_int_equal(hf_acquire(nested.all, 1000), 0);
        assert_int_equal(owner_of(nested.part[1]), HF_OWNER_INNER);
        if (lent)
            assert_int_equal(hf_release(second), 0);
        assert_int_equal(hf_release(nested.all), 0); /* no LEAVE to wait for */
        assert_int_equal(owner_of(nested.part[1]), HF_OWNER_FREE);
    }
    recipe_await_line(nested.other, "two", 0); /* the last release reached the store */
    await_owner(second, HF_OWNER_FREE);
    close_nested(&nested);
}

static int free_lock(struct hf_lock *lock)
{
    hf_lock_free(lock);
    return 0;
}

/* A set may be dropped by any thread if its owner allows it; its parts go with it. */
static void test_another_thread_drops_a_set_with_a_nested_reader(void **state)
{
    int (*const verb[])(struct hf_lock *) = { hf_release, hf_release_start, free_lock };
    struct nested nested;
    struct call   call;

    (void)state;
    open_nested(&nested);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(hf_acquire(nested.all, 1000), 0);
        assert_int_equal(owner_of(nested.part[0]), HF_OWNER_INNER);
        begin_call(&call, verb[i], nested.all);
        assert_int_equal(end_call(&call), 0);
        assert_int_equal(owner_of(nested.part[0]), HF_OWNER_FREE);
        recipe_await(nested.part[0], HF_IDLE);
        recipe_await(nested.part[1], HF_IDLE);
        if (i < 2)
            await_owner(nested.all, HF_OWNER_FREE);
    }
    assert_int_equal(hf_release(nested.host), 0);
    close_nested(&nested);
}

static void test_another_thread_drops_a_set_with_a_lost_nested_reader(void **state)
{
    struct nested nested;
    struct call   call;

    (void)state;
    open_nested(&nested);
    assert_int_equal(hf_acquire(nested.all, 1000), 0);
    assert_int_equal(hf_break(nested.other, "one", hf_token(nested.host), 1000), 0);
    await_owner(nested.part[0], HF_OWNER_INNER_LOST);
    assert_int_equal(hf_state(nested.all), HF_LOST);
    begin_call(&call, hf_release, nested.all);
    assert_int_equal(end_call(&call), HF_ELOST);
    assert_int_equal(owner_of(nested.part[0]), HF_OWNER_FREE);
    assert_int_equal(hf_release(nested.host), HF_ELOST);
    assert_int_equal(hf_acquire(nested.all, 1000), 0); /* the set can be acquired again */
    assert_int_equal(hf_release(nested.all), 0);
    close_nested(&nested);
}

static void *cancel_in_line(void *data)
{
    struct nested *nested = data;

    for (int64_t start = recipe_ms(); hf_ahead(nested->part[1]) < 0; usleep(500))
        if (recipe_ms() > start + 10000)
            return NULL;
    stalling_store.stalled = true;
    return hf_cancel(nested->all) == 0 ? data : NULL;
}

/* Also if the store does not answer the LEAVE. */
static void test_a_wait_for_a_set_can_be_canceled(void **state)
{
    struct nested   nested;
    struct hf_lock *rival;
    pthread_t       thread;
    void           *done = NULL;

    (void)state;
    open_nested(&nested);
    rival = recipe_writer(nested.other, "two");
    assert_int_equal(hf_acquire(rival, 1000), 0);
    assert_int_equal(pthread_create(&thread, NULL, cancel_in_line, &nested), 0);
    assert_int_equal(hf_acquire(nested.all, 10000), HF_ECANCELED);
    assert_int_equal(pthread_join(thread, &done), 0);
    assert_non_null(done);
    assert_int_equal(owner_of(nested.part[0]), HF_OWNER_FREE);
    stalling_store.stalled = false;
    assert_int_equal(hf_release(rival), 0);
    assert_int_equal(hf_acquire(nested.all, 10000), 0);
    assert_int_equal(hf_release(nested.all), 0);
    close_nested(&nested);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_owner_of_a_set_and_of_its_parts),
        cmocka_unit_test(test_a_set_is_released_once),
        cmocka_unit_test(test_a_release_of_a_set_ends_without_an_answer),
        cmocka_unit_test(test_a_set_of_nested_readers_only),
        cmocka_unit_test(test_another_thread_drops_a_set_with_a_nested_reader),
        cmocka_unit_test(test_another_thread_drops_a_set_with_a_lost_nested_reader),
        cmocka_unit_test(test_a_wait_for_a_set_can_be_canceled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
