/* owner.c - whose a handle is: the arrows of owner.h for one handle, on the memory store.
 *
 * What passes too quickly to be seen is stalled: the store does not answer meanwhile.
 * Guests and hosts are in owner_shelter.c, several as one in owner_set.c.
 */
#include "lib/recipe.h"
#include "unit/lib/double.h"
#include "unit/lib/owned.h"

#include <unistd.h>

#define URL "memory:owner"

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
    begin_call(&call, owned_acquire_and_release, lock);
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
    begin_call(&call, owned_acquire, lock);
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

static uint64_t asker;

static int acquire_for_asker(struct hf_lock *lock)
{
    hf_act_for(asker);
    int r = hf_acquire(lock, 10000);
    hf_act_for(0);
    return r == 0 && hf_release(lock) != HF_EOWNER ? HF_EOWNER : r;
}

static void test_acquired_in_the_name_of_another_thread(void **state)
{
    struct hf_client *client = double_open(0, URL);
    struct hf_lock   *lock = recipe_mutex(client, "one");
    struct hf_lock   *same = recipe_mutex(client, "one");
    struct call       call;

    (void)state;
    asker = hf_acting_for();
    begin_call(&call, acquire_for_asker, lock); /* which may not release it as itself */
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(owner_of(lock), HF_OWNER_BOUND);
    assert_int_equal(hf_acquire(same, 10000), HF_EDEADLOCK); /* it is ours */
    assert_int_equal(hf_acquire(lock, 0), 0);
    assert_int_equal(hf_release(lock), 0);
    assert_int_equal(hf_release(lock), 0);
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
        cmocka_unit_test(test_acquired_in_the_name_of_another_thread),
        cmocka_unit_test(test_a_release_is_over_before_the_next_takes_it),
        cmocka_unit_test(test_lost_before_its_thread_knows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
