/* owner_set.c - whose a handle is: several as one, and their parts; see owner.c. */
#include "lib/recipe.h"
#include "unit/lib/double.h"
#include "unit/lib/owned.h"

#include <unistd.h>

#define URL "memory:owner"

static void test_a_set(void **state)
{
    struct hf_client *client = double_open(0, URL);
    struct hf_lock   *part[] = { recipe_reader(client, "one"),
                                 recipe_mutex(client, "two") };
    struct hf_lock   *mine = recipe_reader(client, "one"), *all = NULL;

    (void)state;
    assert_int_equal(hf_all_of(part, 2, &all), 0);
    assert_int_equal(hf_acquire(mine, 1000), 0);
    assert_int_equal(hf_acquire(all, 1000), 0);
    assert_int_equal(owner_of(all), HF_OWNER_BOUND);
    assert_int_equal(owner_of(part[0]), HF_OWNER_GUEST);
    assert_int_equal(owner_of(part[1]), HF_OWNER_LOOSE);
    double_store.stalled = true;
    assert_int_equal(hf_release_start(all), 0);
    assert_int_equal(owner_of(all), HF_OWNER_ENDING);
    double_store.stalled = false;
    assert_int_equal(hf_acquire(all, 10000), 0); /* it is waited for, as for any lock */
    assert_int_equal(hf_release(all), 0);
    assert_int_equal(owner_of(all), HF_OWNER_FREE);
    assert_int_equal(hf_release(mine), 0);

    assert_int_equal(hf_acquire_start(all, -1), 0);
    await_owner(all, HF_OWNER_LOOSE);
    assert_int_equal(hf_release_start(all), 0);
    await_owner(all, HF_OWNER_FREE);
    double_close(client);
}

static void test_a_set_is_released_once(void **state)
{
    struct hf_client *client = double_open(0, URL);
    struct hf_lock *part[] = { recipe_mutex(client, "one"), recipe_mutex(client, "two") };
    struct hf_lock *all = NULL;
    struct call     call;

    (void)state;
    assert_int_equal(hf_all_of(part, 2, &all), 0);
    assert_int_equal(hf_acquire_start(all, -1), 0);
    await_owner(all, HF_OWNER_LOOSE);
    double_store.stalled = true;
    begin_call(&call, hf_release, all);
    await_owner(all, HF_OWNER_RELEASING);
    assert_int_equal(hf_state(all), HF_LEAVING);
    assert_int_equal(hf_release(all), HF_ESTATE);
    assert_int_equal(hf_release_start(all), HF_ESTATE);
    double_store.stalled = false;
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(owner_of(all), HF_OWNER_FREE);
    double_close(client);
}

/* Until its time is over, and no longer. */
static void test_a_release_of_a_set_that_the_store_does_not_answer(void **state)
{
    struct hf_client *client = double_open(0, URL "-lease?lease=1000");
    struct hf_lock *part[] = { recipe_mutex(client, "one"), recipe_mutex(client, "two") };
    struct hf_lock *all = NULL;

    (void)state;
    assert_int_equal(hf_all_of(part, 2, &all), 0);
    assert_int_equal(hf_acquire(all, 10000), 0);
    double_store.stalled = true;
    int r = hf_release(all);
    assert_true(r == HF_EDOWN || r == HF_ELOST); /* lost: on a busy machine */
    assert_int_equal(owner_of(all), HF_OWNER_FREE);
    double_close(client);
}

/* A set of readers, of which this thread has the first already, and a client of its own
 * to be in the way. */
struct guests {
    struct hf_client *client, *other;
    struct hf_lock   *host, *part[2], *all;
};

static void open_guests(struct guests *guests)
{
    struct hf_client *client = double_open(0, URL);

    *guests = (struct guests){ .client = client };
    guests->host = recipe_reader(client, "one");
    guests->part[0] = recipe_reader(client, "one");
    guests->part[1] = recipe_reader(client, "two");
    assert_int_equal(hf_all_of(guests->part, 2, &guests->all), 0);
    assert_int_equal(hf_set_any_thread(guests->all, true), 0);
    assert_int_equal(hf_acquire(guests->host, 1000), 0);
    assert_int_equal(hf_open(URL, NULL, &guests->other), 0);
}

static void close_guests(struct guests *guests)
{
    hf_close(guests->other);
    double_close(guests->client);
}

static void test_a_set_of_guests_alone(void **state)
{
    struct guests   guests;
    struct hf_lock *second;

    (void)state;
    open_guests(&guests);
    second = recipe_reader(guests.client, "two");
    assert_int_equal(hf_acquire(second, 1000), 0);
    for (int lent = 0; lent < 2; lent++) {
        assert_int_equal(hf_acquire(guests.all, 1000), 0);
        assert_int_equal(owner_of(guests.part[1]), HF_OWNER_GUEST);
        if (lent)
            assert_int_equal(hf_release(second), 0);
        assert_int_equal(hf_release(guests.all), 0); /* there is nothing to wait for */
        assert_int_equal(owner_of(guests.part[1]), HF_OWNER_FREE);
    }
    recipe_await_line(guests.other, "two", 0); /* the last has told the store */
    await_owner(second, HF_OWNER_FREE);
    close_guests(&guests);
}

static int free_lock(struct hf_lock *lock)
{
    hf_lock_free(lock);
    return 0;
}

/* The whole says which thread may: its parts go, whoever brought them. */
static void test_another_thread_drops_a_set_with_a_guest(void **state)
{
    int (*const verb[])(struct hf_lock *) = { hf_release, hf_release_start, free_lock };
    struct guests guests;
    struct call   call;

    (void)state;
    open_guests(&guests);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(hf_acquire(guests.all, 1000), 0);
        assert_int_equal(owner_of(guests.part[0]), HF_OWNER_GUEST);
        begin_call(&call, verb[i], guests.all);
        assert_int_equal(end_call(&call), 0);
        assert_int_equal(owner_of(guests.part[0]), HF_OWNER_FREE);
        recipe_await(guests.part[0], HF_IDLE);
        recipe_await(guests.part[1], HF_IDLE);
        if (i < 2)
            await_owner(guests.all, HF_OWNER_FREE);
    }
    assert_int_equal(hf_release(guests.host), 0);
    close_guests(&guests);
}

static void test_another_thread_drops_a_set_with_a_fallen_guest(void **state)
{
    struct guests guests;
    struct call   call;

    (void)state;
    open_guests(&guests);
    assert_int_equal(hf_acquire(guests.all, 1000), 0);
    assert_int_equal(hf_break(guests.other, "one", hf_token(guests.host), 1000), 0);
    await_owner(guests.part[0], HF_OWNER_FALLEN);
    assert_int_equal(hf_state(guests.all), HF_LOST);
    begin_call(&call, hf_release, guests.all);
    assert_int_equal(end_call(&call), HF_ELOST);
    assert_int_equal(owner_of(guests.part[0]), HF_OWNER_FREE);
    assert_int_equal(hf_release(guests.host), HF_ELOST);
    assert_int_equal(hf_acquire(guests.all, 1000), 0); /* as new */
    assert_int_equal(hf_release(guests.all), 0);
    close_guests(&guests);
}

static void *cancel_in_line(void *data)
{
    struct guests *guests = data;

    for (int64_t start = recipe_ms(); hf_ahead(guests->part[1]) < 0; usleep(500))
        if (recipe_ms() > start + 10000)
            return NULL;
    double_store.stalled = true;
    return hf_cancel(guests->all) == 0 ? data : NULL;
}

/* Also when the store does not answer: then nothing tells the set that it has left. */
static void test_a_wait_for_a_set_is_canceled(void **state)
{
    struct guests   guests;
    struct hf_lock *rival;
    pthread_t       thread;
    void           *done = NULL;

    (void)state;
    open_guests(&guests);
    rival = recipe_writer(guests.other, "two");
    assert_int_equal(hf_acquire(rival, 1000), 0);
    assert_int_equal(pthread_create(&thread, NULL, cancel_in_line, &guests), 0);
    assert_int_equal(hf_acquire(guests.all, 10000), HF_ECANCELED);
    assert_int_equal(pthread_join(thread, &done), 0);
    assert_non_null(done);
    assert_int_equal(owner_of(guests.part[0]), HF_OWNER_FREE);
    double_store.stalled = false;
    assert_int_equal(hf_release(rival), 0);
    assert_int_equal(hf_acquire(guests.all, 10000), 0);
    assert_int_equal(hf_release(guests.all), 0);
    close_guests(&guests);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_set),
        cmocka_unit_test(test_a_set_is_released_once),
        cmocka_unit_test(test_a_release_of_a_set_that_the_store_does_not_answer),
        cmocka_unit_test(test_a_set_of_guests_alone),
        cmocka_unit_test(test_another_thread_drops_a_set_with_a_guest),
        cmocka_unit_test(test_another_thread_drops_a_set_with_a_fallen_guest),
        cmocka_unit_test(test_a_wait_for_a_set_is_canceled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
