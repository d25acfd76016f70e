/* nested.c - which thread owns handles that share a place: an outer one, and inner ones
 * nested in it; see owner.c. */
#include "lib/recipe.h"
#include "unit/lib/handle_owner.h"
#include "unit/lib/stalling_store.h"

#include <poll.h>
#include <unistd.h>

#define URL "memory:owner"

static void test_the_outer_handle_is_released_and_acquired_again(void **state)
{
    struct hf_client *client = stalling_store_open(0, URL);
    struct hf_lock   *outer = recipe_reader(client, "one");
    struct hf_lock   *inner = recipe_reader(client, "one");
    struct call       call;

    (void)state;
    assert_int_equal(hf_acquire(outer, 1000), 0);
    assert_int_equal(hf_acquire(inner, 1000), 0);
    assert_int_equal(owner_of(inner), HF_OWNER_INNER);
    assert_int_equal(hf_release(outer), 0);
    assert_int_equal(owner_of(outer), HF_OWNER_OUTLIVED);
    assert_int_equal(hf_state(outer), HF_IDLE);
    begin_call(&call, call_acquire_and_release, outer); /* another thread has to wait */
    assert_int_equal(hf_acquire(outer, 0), 0);
    assert_int_equal(owner_of(outer), HF_OWNER_BOUND);
    assert_int_equal(hf_release(inner), 0);
    assert_int_equal(owner_of(inner), HF_OWNER_FREE);
    assert_int_equal(hf_release(outer), 0);
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(owner_of(outer), HF_OWNER_FREE);
    stalling_store_close(client);
}

static struct hf_lock *turned;
static atomic_bool     in_turn, is_back;

/* A turn may change the job at any time, for example when the place is lost. */
static void change_job(struct hf_store *store, hf_time now)
{
    uint64_t token = turned->job.hold.token;

    (void)store, (void)now;
    turned->job.hold.token = 0;
    in_turn = true;
    for (int64_t start = recipe_ms(); !is_back && recipe_ms() < start + 10000;)
        usleep(500);
    turned->job.hold.token = token;
    stalling_store.after = NULL;
}

static void test_the_outer_handle_is_acquired_again_during_a_turn(void **state)
{
    struct hf_client *client = stalling_store_open(0, URL);
    struct hf_lock   *outer = recipe_reader(client, "one");
    struct hf_lock   *inner = recipe_reader(client, "one");

    (void)state;
    turned = outer;
    in_turn = is_back = false;
    assert_int_equal(hf_acquire(outer, 1000), 0);
    uint64_t token = hf_token(outer);
    assert_int_equal(hf_acquire(inner, 1000), 0);
    assert_int_equal(hf_release(outer), 0);
    int cancel = hf_drive_begin(&client->drive);
    stalling_store.after = change_job;
    hf_drive_post(&client->drive);
    hf_drive_nudge(&client->drive);
    hf_drive_end(&client->drive, cancel);
    for (int64_t start = recipe_ms(); !in_turn; usleep(500))
        assert_true(recipe_ms() < start + 10000);
    assert_int_equal(hf_acquire(outer, 0), 0);
    assert_int_equal(hf_token(outer), token);
    is_back = true;
    assert_int_equal(hf_release(inner), 0);
    assert_int_equal(hf_release(outer), 0);
    stalling_store_close(client);
}

static void *release_pair(void *data)
{
    struct hf_lock **pair = data;
    int              r = hf_acquire(pair[0], 1000);

    if (r == 0)
        r = hf_acquire(pair[1], 1000);
    if (r == 0)
        r = hf_release(pair[0]);
    stalling_store.stalled = true;
    return r == 0 && hf_release(pair[1]) == 0 ? data : NULL;
}

/* The release waits for the LEAVE. */
static void test_the_release_of_the_last_nested_handle_leaves_the_place(void **state)
{
    struct hf_client *client = stalling_store_open(0, URL);
    struct hf_lock   *pair[] = { recipe_writer(client, "one"),
                                 recipe_reader(client, "one") };
    pthread_t         thread;
    void             *done = NULL;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, release_pair, pair), 0);
    await_owner(pair[0], HF_OWNER_RELEASING);
    assert_int_equal(owner_of(pair[1]), HF_OWNER_FREE);
    stalling_store.stalled = false;
    assert_int_equal(pthread_join(thread, &done), 0);
    assert_non_null(done);
    assert_int_equal(owner_of(pair[0]), HF_OWNER_FREE);

    assert_int_equal(hf_acquire(pair[0], 1000), 0);
    assert_int_equal(hf_acquire(pair[1], 1000), 0);
    assert_int_equal(hf_release(pair[0]), 0);
    stalling_store.stalled = true;
    hf_lock_free(pair[1]); /* which nobody waits for */
    assert_int_equal(owner_of(pair[0]), HF_OWNER_ENDING);
    assert_int_equal(hf_state(pair[0]), HF_LEAVING);
    stalling_store.stalled = false;
    await_owner(pair[0], HF_OWNER_FREE);
    stalling_store_close(client);
}

static void test_release_start_of_the_last_nested_handle_does_not_wait(void **state)
{
    struct hf_client *client = stalling_store_open(0, URL);
    struct hf_lock   *outer = recipe_reader(client, "one");
    struct hf_lock   *inner = recipe_reader(client, "one");

    (void)state;
    assert_int_equal(hf_acquire(outer, 1000), 0);
    assert_int_equal(hf_acquire(inner, 1000), 0);
    assert_int_equal(hf_release(outer), 0);
    stalling_store.stalled = true;
    assert_int_equal(hf_release_start(inner), 0);
    assert_int_equal(owner_of(inner), HF_OWNER_FREE);
    assert_int_equal(owner_of(outer), HF_OWNER_ENDING);
    stalling_store.stalled = false;
    await_owner(outer, HF_OWNER_FREE); /* and the LEAVE was sent */
    recipe_await_line(client, "one", 0);
    stalling_store_close(client);
}

/* It was released, so it may be freed. */
static void test_the_outer_handle_is_freed_while_its_place_leaves(void **state)
{
    struct hf_client *client = stalling_store_open(0, URL);
    struct hf_lock   *pair[] = { recipe_writer(client, "one"),
                                 recipe_reader(client, "one") };
    pthread_t         thread;
    void             *done = NULL;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, release_pair, pair), 0);
    await_owner(pair[0], HF_OWNER_RELEASING);
    hf_lock_free(pair[0]);
    stalling_store.stalled = false;
    assert_int_equal(pthread_join(thread, &done), 0);
    assert_non_null(done);
    stalling_store_close(client);
}

static atomic_int losses;

static void count_losses(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    (void)lock, (void)why, (void)data;
    losses += state == HF_LOST;
}

static void test_nested_handles_are_lost_with_the_place(void **state)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL, *admin = NULL;

    (void)state;
    options.on_state = count_losses;
    assert_int_equal(hf_open(URL, &options, &client), 0);
    assert_int_equal(hf_open(URL, NULL, &admin), 0);
    for (int lent = 0; lent < 2; lent++) {
        struct hf_lock *outer = recipe_writer(client, "one");
        struct hf_lock *inner = recipe_reader(client, "one");
        losses = 0;
        assert_int_equal(hf_acquire(outer, 1000), 0);
        assert_int_equal(hf_acquire(inner, 1000), 0);
        uint64_t token = hf_token(outer);
        if (lent)
            assert_int_equal(hf_release(outer), 0);
        assert_int_equal(hf_break(admin, "one", token, 1000), 0);
        await_owner(inner, HF_OWNER_INNER_LOST);
        await_owner(outer, lent ? HF_OWNER_FREE : HF_OWNER_BOUND);
        assert_int_equal(hf_state(outer), lent ? HF_IDLE : HF_LOST);
        assert_int_equal(hf_acquire(inner, 1000), HF_ELOST);
        assert_int_equal(hf_release(inner), HF_ELOST);
        assert_int_equal(owner_of(inner), HF_OWNER_FREE);
        if (!lent)
            assert_int_equal(hf_release(outer), HF_ELOST);
        /* A released handle gets no callback about a loss. */
        struct hf_stats stats;
        hf_get_stats(outer, &stats, sizeof stats);
        assert_int_equal(stats.lost, lent ? 0 : 1);
        for (int i = 0; i < 2000 && losses < (lent ? 1 : 2); i++)
            poll(NULL, 0, 5); /* no callback comes after its lock is freed */
        hf_lock_free(outer);
        hf_lock_free(inner);
        hf_close(client);
        assert_int_equal(losses, lent ? 1 : 2);
        assert_int_equal(hf_open(URL, &options, &client), 0);
    }
    hf_close(client);
    hf_close(admin);
}

enum { HANDLES = 50000 };

static size_t count_list(const struct hf_lock *first, enum hf_lock_list list)
{
    size_t count = 0;

    for (; first != NULL; first = hf_lock_next(first, list))
        count++;
    return count;
}

/* The lists that an acquire and a renewal walk (on ZooKeeper every answer is one): idle
 * handles are in neither. */
static void expect_lists(struct hf_client *client, size_t had, size_t held)
{
    int cancel = hf_drive_begin(&client->drive);

    for (size_t i = 0; i < HF_OWNED_CHAINS; i++)
        had -= count_list(client->owned[i], HF_LIST_OWNED);
    assert_int_equal(had, 0);
    assert_int_equal(count_list(client->held, HF_LIST_HELD), held);
    hf_drive_end(&client->drive, cancel);
}

static void test_idle_handles_cost_no_time(void **state)
{
    struct hf_client *client = stalling_store_open(0, URL "?lease=60000");
    struct hf_lock   *outer = recipe_reader(client, "one");
    struct hf_lock   *inner = recipe_reader(client, "one");

    (void)state;
    for (int i = 0; i < HANDLES; i++)
        recipe_reader(client, "one");
    expect_lists(client, 0, 0);
    assert_int_equal(hf_acquire(outer, 1000), 0);
    expect_lists(client, 1, 1);
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(hf_acquire(inner, 1000), 0);
        assert_int_equal(hf_check(inner, 1000), 0);
        assert_int_equal(hf_release(inner), 0);
    }
    assert_int_equal(hf_acquire(inner, 1000), 0);
    expect_lists(client, 2, 2);
    assert_int_equal(hf_release(outer), 0); /* the inner handle keeps the place */
    expect_lists(client, 1, 1);
    assert_int_equal(hf_release(inner), 0);
    expect_lists(client, 0, 0);
    stalling_store_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_outer_handle_is_released_and_acquired_again),
        cmocka_unit_test(test_the_outer_handle_is_acquired_again_during_a_turn),
        cmocka_unit_test(test_the_release_of_the_last_nested_handle_leaves_the_place),
        cmocka_unit_test(test_release_start_of_the_last_nested_handle_does_not_wait),
        cmocka_unit_test(test_the_outer_handle_is_freed_while_its_place_leaves),
        cmocka_unit_test(test_nested_handles_are_lost_with_the_place),
        cmocka_unit_test(test_idle_handles_cost_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
