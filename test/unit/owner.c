/* owner.c - whose a handle is: every arrow of owner.h, on the memory store.
 *
 * What passes too quickly to be seen is stalled: the store does not answer meanwhile.
 */
#include "lib/recipe.h"
#include "unit/lib/double.h"

#include <pthread.h>
#include <unistd.h>

#define URL "memory:owner"

static enum hf_owner_state owner_of(struct hf_lock *lock)
{
    int                 cancel = hf_drive_begin(&lock->client->drive);
    enum hf_owner_state state = lock->owner.state;

    hf_drive_end(&lock->client->drive, cancel);
    return state;
}

static void await_owner(struct hf_lock *lock, enum hf_owner_state state)
{
    for (int64_t start = recipe_ms(); owner_of(lock) != state; usleep(500))
        if (recipe_ms() > start + 10000)
            fail_msg("the owner is %d, not %d", (int)owner_of(lock), (int)state);
}

/* ---- A thread of its own ------------------------------------------------------------ */

struct call {
    struct hf_lock *lock;
    int (*verb)(struct hf_lock *lock);
    int       result;
    pthread_t thread;
};

static int acquire(struct hf_lock *lock)
{
    return hf_acquire(lock, 10000);
}

static int acquire_and_release(struct hf_lock *lock)
{
    int r = hf_acquire(lock, 10000);

    return r == 0 ? hf_release(lock) : r;
}

static void *make_call(void *data)
{
    struct call *call = data;

    call->result = call->verb(call->lock);
    return NULL;
}

static void begin_call(struct call    *call, int (*verb)(struct hf_lock *),
                       struct hf_lock *lock)
{
    *call = (struct call){ .lock = lock, .verb = verb };
    assert_int_equal(pthread_create(&call->thread, NULL, make_call, call), 0);
}

static int end_call(struct call *call)
{
    assert_int_equal(pthread_join(call->thread, NULL), 0);
    return call->result;
}

/* ---- One handle --------------------------------------------------------------------- */

static void test_taken_bound_and_released(void **state)
{
    struct hf_client *client = double_open(0, URL), *other = NULL;
    struct hf_lock   *lock = recipe_mutex(client, "one"), *rival;
    struct call       call;

    (void)state;
    assert_int_equal(hf_open(URL, NULL, &other), 0);
    rival = recipe_mutex(other, "one");
    assert_int_equal(hf_acquire(rival, 1000), 0);
    begin_call(&call, acquire_and_release, lock);
    await_owner(lock, HF_OWNER_TAKEN);
    assert_int_equal(hf_release(lock), HF_ESTATE);
    assert_int_equal(hf_acquire(lock, 0), HF_EBUSY);
    assert_int_equal(hf_release(rival), 0);
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(owner_of(lock), HF_OWNER_FREE);

    assert_int_equal(hf_acquire(lock, 1000), 0);
    assert_int_equal(owner_of(lock), HF_OWNER_BOUND);
    assert_int_equal(hf_acquire(lock, 1000), 0);
    assert_int_equal(lock->owner.count, 2);
    assert_int_equal(hf_release(lock), 0);
    assert_int_equal(owner_of(lock), HF_OWNER_BOUND);
    assert_int_equal(hf_release_start(lock), 0); /* nobody waits for its end */
    assert_int_equal(owner_of(lock), HF_OWNER_FREE);
    hf_close(other);
    double_close(client);
}

static void test_a_wait_that_comes_to_nothing(void **state)
{
    struct hf_client *client = double_open(0, URL), *other = NULL;
    struct hf_lock   *lock = recipe_mutex(client, "one"), *rival;
    struct call       call;

    (void)state;
    assert_int_equal(hf_open(URL, NULL, &other), 0);
    rival = recipe_mutex(other, "one");
    assert_int_equal(hf_acquire(rival, 1000), 0);
    assert_int_equal(hf_acquire(lock, 0), HF_EBUSY);
    assert_int_equal(owner_of(lock), HF_OWNER_FREE);
    begin_call(&call, acquire, lock);
    await_owner(lock, HF_OWNER_TAKEN);
    recipe_await_line(other, "one", 2);
    assert_int_equal(hf_cancel(lock), 0);
    assert_int_equal(end_call(&call), HF_ECANCELED);
    assert_int_equal(owner_of(lock), HF_OWNER_FREE);

    recipe_await(lock, HF_IDLE);
    assert_int_equal(hf_acquire_start(lock, -1), 0);
    assert_int_equal(owner_of(lock), HF_OWNER_STARTED);
    assert_int_equal(hf_acquire_start(lock, -1), HF_ESTATE);
    assert_int_equal(hf_cancel(lock), 0);
    await_owner(lock, HF_OWNER_FREE);
    assert_int_equal(hf_state(lock), HF_IDLE);
    hf_close(other);
    double_close(client);
}

static void test_held_by_no_thread_in_particular(void **state)
{
    struct hf_client *client = double_open(0, URL);
    struct hf_lock   *lock = recipe_mutex(client, "one");
    struct call       call;

    (void)state;
    assert_int_equal(hf_acquire_start(lock, -1), 0);
    await_owner(lock, HF_OWNER_LOOSE);
    assert_int_equal(hf_state(lock), HF_HELD);
    double_store.stalled = true;
    begin_call(&call, hf_release, lock); /* by a thread that did not acquire it */
    await_owner(lock, HF_OWNER_RELEASING);
    assert_int_equal(hf_acquire(lock, 0), HF_EBUSY);
    assert_int_equal(hf_acquire_start(lock, 0), HF_ESTATE);
    double_store.stalled = false;
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(owner_of(lock), HF_OWNER_FREE);

    assert_int_equal(hf_set_any_thread(lock, true), 0);
    assert_int_equal(hf_acquire(lock, 1000), 0);
    assert_int_equal(owner_of(lock), HF_OWNER_LOOSE);
    double_store.stalled = true;
    assert_int_equal(hf_release_start(lock), 0);
    assert_int_equal(owner_of(lock), HF_OWNER_FREE);
    assert_int_equal(hf_state(lock), HF_LEAVING); /* free, but not to be had yet */
    assert_int_equal(hf_set_any_thread(lock, false), HF_ESTATE);
    double_store.stalled = false;
    assert_int_equal(hf_acquire(lock, 10000), 0);
    double_close(client);
}

static atomic_bool go_on;

static int hold_for_a_while(struct hf_lock *lock)
{
    int r = hf_acquire(lock, 10000);

    for (int64_t start = recipe_ms(); !go_on && recipe_ms() < start + 10000;)
        usleep(500);
    return r == 0 ? hf_release(lock) : r;
}

/* A thread that waits for the handle cannot have it before the release is over: or that
 * would take the other's lock for what it waits to be rid of. */
static void test_a_release_is_over_before_the_next_takes_it(void **state)
{
    struct hf_client *client = double_open(0, URL);
    struct hf_lock   *lock = recipe_mutex(client, "one");
    struct call       first, second;

    (void)state;
    for (int i = 0; i < 20; i++) {
        go_on = false;
        assert_int_equal(hf_acquire_start(lock, -1), 0);
        recipe_await(lock, HF_HELD);
        double_store.stalled = true;
        begin_call(&first, hf_release, lock);
        await_owner(lock, HF_OWNER_RELEASING);
        begin_call(&second, hold_for_a_while, lock);
        double_store.stalled = false;
        assert_int_equal(end_call(&first), 0);
        await_owner(lock, HF_OWNER_BOUND);
        assert_int_equal(hf_release(lock), HF_EOWNER);
        go_on = true;
        assert_int_equal(end_call(&second), 0);
    }
    double_close(client);
}

/* ---- Guests and hosts --------------------------------------------------------------- */

static void test_a_host_lends_and_comes_again(void **state)
{
    struct hf_client *client = double_open(0, URL);
    struct hf_lock   *host = recipe_reader(client, "one");
    struct hf_lock   *guest = recipe_reader(client, "one");
    struct call       call;

    (void)state;
    assert_int_equal(hf_acquire(host, 1000), 0);
    assert_int_equal(hf_acquire(guest, 1000), 0);
    assert_int_equal(owner_of(guest), HF_OWNER_GUEST);
    assert_int_equal(hf_release(host), 0);
    assert_int_equal(owner_of(host), HF_OWNER_LENT);
    assert_int_equal(hf_state(host), HF_IDLE);
    begin_call(&call, acquire_and_release, host); /* another thread has to wait */
    assert_int_equal(hf_acquire(host, 0), 0);
    assert_int_equal(owner_of(host), HF_OWNER_BOUND);
    assert_int_equal(hf_release(guest), 0);
    assert_int_equal(owner_of(guest), HF_OWNER_FREE);
    assert_int_equal(hf_release(host), 0);
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(owner_of(host), HF_OWNER_FREE);
    double_close(client);
}

static void *release_pair(void *data)
{
    struct hf_lock **pair = data;
    int              r = hf_acquire(pair[0], 1000);

    if (r == 0)
        r = hf_acquire(pair[1], 1000);
    if (r == 0)
        r = hf_release(pair[0]);
    double_store.stalled = true;
    return r == 0 && hf_release(pair[1]) == 0 ? data : NULL;
}

/* The one who releases the last guest waits for the host's place to be given up. */
static void test_the_last_guest_ends_it(void **state)
{
    struct hf_client *client = double_open(0, URL);
    struct hf_lock   *pair[] = { recipe_writer(client, "one"),
                                 recipe_reader(client, "one") };
    pthread_t         thread;
    void             *done = NULL;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, release_pair, pair), 0);
    await_owner(pair[0], HF_OWNER_RELEASING);
    assert_int_equal(owner_of(pair[1]), HF_OWNER_FREE);
    double_store.stalled = false;
    assert_int_equal(pthread_join(thread, &done), 0);
    assert_non_null(done);
    assert_int_equal(owner_of(pair[0]), HF_OWNER_FREE);

    assert_int_equal(hf_acquire(pair[0], 1000), 0);
    assert_int_equal(hf_acquire(pair[1], 1000), 0);
    assert_int_equal(hf_release(pair[0]), 0);
    double_store.stalled = true;
    hf_lock_free(pair[1]); /* and nobody waits for it */
    assert_int_equal(owner_of(pair[0]), HF_OWNER_ENDING);
    assert_int_equal(hf_state(pair[0]), HF_LEAVING);
    double_store.stalled = false;
    await_owner(pair[0], HF_OWNER_FREE);
    double_close(client);
}

static atomic_int losses;

static void count_losses(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    (void)lock, (void)why, (void)data;
    losses += state == HF_LOST;
}

static void test_guests_fall_with_their_host(void **state)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL, *admin = NULL;

    (void)state;
    options.on_state = count_losses;
    assert_int_equal(hf_open(URL, &options, &client), 0);
    assert_int_equal(hf_open(URL, NULL, &admin), 0);
    for (int lent = 0; lent < 2; lent++) {
        struct hf_lock *host = recipe_writer(client, "one");
        struct hf_lock *guest = recipe_reader(client, "one");
        losses = 0;
        assert_int_equal(hf_acquire(host, 1000), 0);
        assert_int_equal(hf_acquire(guest, 1000), 0);
        uint64_t token = hf_token(host);
        if (lent)
            assert_int_equal(hf_release(host), 0);
        assert_int_equal(hf_break(admin, "one", token, 1000), 0);
        await_owner(guest, HF_OWNER_FALLEN);
        await_owner(host, lent ? HF_OWNER_FREE : HF_OWNER_BOUND);
        assert_int_equal(hf_state(host), lent ? HF_IDLE : HF_LOST);
        assert_int_equal(hf_acquire(guest, 1000), HF_ELOST);
        assert_int_equal(hf_release(guest), HF_ELOST);
        assert_int_equal(owner_of(guest), HF_OWNER_FREE);
        if (!lent)
            assert_int_equal(hf_release(host), HF_ELOST);
        /* What was released before is not told of as lost. */
        struct hf_stats stats;
        hf_get_stats(host, &stats, sizeof stats);
        assert_int_equal(stats.lost, lent ? 0 : 1);
        hf_lock_free(host);
        hf_lock_free(guest);
        hf_close(client);
        assert_int_equal(losses, lent ? 1 : 2);
        assert_int_equal(hf_open(URL, &options, &client), 0);
    }
    hf_close(client);
    hf_close(admin);
}

/* ---- Several as one ----------------------------------------------------------------- */

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

/* ---- Lost at once --------------------------------------------------------------------- */

static struct hf_lock *doomed;

/* In the middle of the turn in which it was granted its lease is over. */
static void end_lease(struct hf_store *store, hf_time now)
{
    store->alive_until = doomed->job.hold.state == HF_HOLD_HELD ? now : HF_NEVER;
}

static void test_lost_before_its_thread_knows(void **state)
{
    struct hf_client *client = double_open(HF_NO_KEEPER, URL);

    (void)state;
    doomed = recipe_mutex(client, "one");
    double_store.after = end_lease;
    assert_int_equal(hf_acquire(doomed, 10000), HF_ELOST);
    assert_int_equal(owner_of(doomed), HF_OWNER_FREE);
    double_store.after = NULL;
    client->store->alive_until = HF_NEVER;
    assert_int_equal(hf_acquire(doomed, 10000), 0); /* and can be had again */
    assert_int_equal(hf_release(doomed), 0);
    double_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken_bound_and_released),
        cmocka_unit_test(test_a_wait_that_comes_to_nothing),
        cmocka_unit_test(test_held_by_no_thread_in_particular),
        cmocka_unit_test(test_a_release_is_over_before_the_next_takes_it),
        cmocka_unit_test(test_a_host_lends_and_comes_again),
        cmocka_unit_test(test_the_last_guest_ends_it),
        cmocka_unit_test(test_guests_fall_with_their_host),
        cmocka_unit_test(test_a_set),
        cmocka_unit_test(test_lost_before_its_thread_knows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
