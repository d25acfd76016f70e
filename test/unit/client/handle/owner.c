/* owner.c - which thread owns a handle: the arrows of owner.h for one handle, on the
 * memory store.
 *
 * To see short states, the store does not answer for a while.  Nested handles are in
 * nested.c, sets in owner_set.c.
 */
#include "lib/recipe.h"
#include "unit/lib/handle_owner.h"
#include "unit/lib/stalling_store.h"

#include <unistd.h>

#define URL "memory:owner"

/* ---- One handle ---------------------------------------------------------------- */

static void test_acquire_owns_and_release_frees(void **state)
{
    struct hf_client *client = stalling_store_open(0, URL), *other = NULL;
    struct hf_lock   *lock = recipe_mutex(client, "one"), *rival;
    struct call       call;

    (void)state;
    assert_int_equal(hf_open(URL, NULL, &other), 0);
    rival = recipe_mutex(other, "one");
    assert_int_equal(hf_acquire(rival, 1000), 0);
    begin_call(&call, call_acquire_and_release, lock);
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
    assert_int_equal(hf_release_start(lock), 0); /* without waiting for its end */
    assert_int_equal(owner_of(lock), HF_OWNER_FREE);
    hf_close(other);
    stalling_store_close(client);
}

static void test_a_failed_wait_leaves_no_owner(void **state)
{
    struct hf_client *client = stalling_store_open(0, URL), *other = NULL;
    struct hf_lock   *lock = recipe_mutex(client, "one"), *rival;
    struct call       call;

    (void)state;
    assert_int_equal(hf_open(URL, NULL, &other), 0);
    rival = recipe_mutex(other, "one");
    assert_int_equal(hf_acquire(rival, 1000), 0);
    assert_int_equal(hf_acquire(lock, 0), HF_EBUSY);
    assert_int_equal(owner_of(lock), HF_OWNER_FREE);
    begin_call(&call, call_acquire, lock);
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
    stalling_store_close(client);
}

static void test_a_lock_started_without_blocking_has_no_owner(void **state)
{
    struct hf_client *client = stalling_store_open(0, URL);
    struct hf_lock   *lock = recipe_mutex(client, "one");
    struct call       call;

    (void)state;
    assert_int_equal(hf_acquire_start(lock, -1), 0);
    await_owner(lock, HF_OWNER_LOOSE);
    assert_int_equal(hf_state(lock), HF_HELD);
    stalling_store.stalled = true;
    begin_call(&call, hf_release, lock); /* in a thread that did not acquire it */
    await_owner(lock, HF_OWNER_RELEASING);
    assert_int_equal(hf_acquire(lock, 0), HF_EBUSY);
    assert_int_equal(hf_acquire_start(lock, 0), HF_ESTATE);
    stalling_store.stalled = false;
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(owner_of(lock), HF_OWNER_FREE);

    assert_int_equal(hf_set_any_thread(lock, true), 0);
    assert_int_equal(hf_acquire(lock, 1000), 0);
    assert_int_equal(owner_of(lock), HF_OWNER_LOOSE);
    stalling_store.stalled = true;
    assert_int_equal(hf_release_start(lock), 0);
    assert_int_equal(owner_of(lock), HF_OWNER_FREE);
    assert_int_equal(hf_state(lock),
                     HF_LEAVING); /* without an owner, but not to be acquired yet */
    assert_int_equal(hf_set_any_thread(lock, false), HF_ESTATE);
    stalling_store.stalled = false;
    assert_int_equal(hf_acquire(lock, 10000), 0);
    stalling_store_close(client);
}

static uint64_t asker;

static int acquire_for_asker(struct hf_lock *lock)
{
    hf_act_for(asker);
    int r = hf_acquire(lock, 10000);
    hf_act_for(0);
    return r == 0 && hf_release(lock) != HF_EOWNER ? HF_EOWNER : r;
}

static void test_a_thread_acquires_for_another(void **state)
{
    struct hf_client *client = stalling_store_open(0, URL);
    struct hf_lock   *lock = recipe_mutex(client, "one");
    struct hf_lock   *same = recipe_mutex(client, "one");
    struct call       call;

    (void)state;
    asker = hf_acting_for();
    begin_call(&call, acquire_for_asker, lock); /* that thread may not release it */
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(owner_of(lock), HF_OWNER_BOUND);
    assert_int_equal(hf_acquire(same, 10000), HF_EDEADLOCK); /* this thread owns it */
    assert_int_equal(hf_acquire(lock, 0), 0);
    assert_int_equal(hf_release(lock), 0);
    assert_int_equal(hf_release(lock), 0);
    stalling_store_close(client);
}

static atomic_bool go_on;

static int hold_for_a_while(struct hf_lock *lock)
{
    int r = hf_acquire(lock, 10000);

    for (int64_t start = recipe_ms(); !go_on && recipe_ms() < start + 10000;)
        usleep(500);
    return r == 0 ? hf_release(lock) : r;
}

/* Otherwise the release would wait for the new lock of the other thread to end. */
static void test_a_release_ends_before_the_next_thread_acquires(void **state)
{
    struct hf_client *client = stalling_store_open(0, URL);
    struct hf_lock   *lock = recipe_mutex(client, "one");
    struct call       first, second;

    (void)state;
    for (int i = 0; i < 20; i++) {
        go_on = false;
        assert_int_equal(hf_acquire_start(lock, -1), 0);
        recipe_await(lock, HF_HELD);
        stalling_store.stalled = true;
        begin_call(&first, hf_release, lock);
        await_owner(lock, HF_OWNER_RELEASING);
        begin_call(&second, hold_for_a_while, lock);
        stalling_store.stalled = false;
        assert_int_equal(end_call(&first), 0);
        await_owner(lock, HF_OWNER_BOUND);
        assert_int_equal(hf_release(lock), HF_EOWNER);
        go_on = true;
        assert_int_equal(end_call(&second), 0);
    }
    stalling_store_close(client);
}

/* ---- Lost at once -------------------------------------------------------------- */

static struct hf_lock *dying;

/* The lease ends in the middle of the turn that grants the lock. */
static void end_lease(struct hf_store *store, hf_time now)
{
    store->alive_until = dying->job.hold.state == HF_HOLD_HELD ? now : HF_NEVER;
}

static void test_a_grant_lost_in_the_same_turn(void **state)
{
    struct hf_client *client = stalling_store_open(HF_NO_KEEPER, URL);

    (void)state;
    dying = recipe_mutex(client, "one");
    stalling_store.after = end_lease;
    assert_int_equal(hf_acquire(dying, 10000), HF_ELOST);
    assert_int_equal(owner_of(dying), HF_OWNER_FREE);
    stalling_store.after = NULL;
    client->store->alive_until = HF_NEVER;
    assert_int_equal(hf_acquire(dying, 10000), 0); /* and can be acquired again */
    assert_int_equal(hf_release(dying), 0);
    stalling_store_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acquire_owns_and_release_frees),
        cmocka_unit_test(test_a_failed_wait_leaves_no_owner),
        cmocka_unit_test(test_a_lock_started_without_blocking_has_no_owner),
        cmocka_unit_test(test_a_thread_acquires_for_another),
        cmocka_unit_test(test_a_release_ends_before_the_next_thread_acquires),
        cmocka_unit_test(test_a_grant_lost_in_the_same_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
