/* kinds.c - the kinds of lock: readers and writers, semaphores, claims; two kinds of one
 * name. */
#include "lib/recipe.h"

#include <pthread.h>
#include <string.h>

/* A lock acquired in the background, to see that it waits. */
struct waiter {
    struct hf_lock *lock;
    pthread_t       thread;
    int             result;
};

static void *wait_for(void *data)
{
    struct waiter *waiter = data;

    waiter->result = hf_acquire(waiter->lock, 10000);
    return NULL;
}

static void start(struct waiter *waiter)
{
    recipe_await(waiter->lock, HF_IDLE); /* an earlier request may still be leaving */
    assert_int_equal(hf_set_any_thread(waiter->lock, true), 0);
    assert_int_equal(pthread_create(&waiter->thread, NULL, wait_for, waiter), 0);
}

static void finish(struct waiter *waiter)
{
    pthread_join(waiter->thread, NULL);
    assert_int_equal(waiter->result, 0);
    assert_int_equal(hf_state(waiter->lock), HF_HELD);
}

static struct hf_lock *semaphore(struct hf_client *client, const char *name, uint32_t n,
                                 uint32_t weight)
{
    struct hf_lock *lock = NULL;

    assert_int_equal(hf_semaphore(client, name, n, weight, &lock), 0);
    return lock;
}

static struct hf_lock *claim(struct hf_client *client, const char *name)
{
    struct hf_lock *lock = NULL;

    assert_int_equal(hf_claim(client, name, &lock), 0);
    return lock;
}

static void test_readers_share_writers_do_not(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open(), *other = recipe_open();
    struct hf_lock   *r1 = recipe_reader(client, name), *r2 = recipe_reader(other, name);
    struct hf_lock   *w = recipe_writer(other, name);

    (void)state;
    assert_int_equal(hf_acquire(r1, 0), 0);
    assert_int_equal(hf_acquire(r2, 0), 0);
    assert_int_equal(hf_acquire(w, 0), HF_EBUSY);
    assert_int_equal(hf_release(r1), 0);
    assert_int_equal(hf_acquire(w, 0), HF_EBUSY);
    assert_int_equal(hf_release(r2), 0);
    assert_int_equal(hf_acquire(w, 0), 0);
    assert_int_equal(hf_acquire(r1, 0), HF_EBUSY);
    assert_int_equal(hf_slot(w), -1);
    assert_int_equal(hf_release(w), 0);
    hf_close(client);
    hf_close(other);
}

static void test_readers_do_not_overtake_a_waiting_writer(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open(), *other = recipe_open();
    struct hf_lock   *first = recipe_reader(client, name),
                   *late = recipe_reader(other, name);
    struct waiter w = { .lock = recipe_writer(client, name) };

    (void)state;
    assert_int_equal(hf_acquire(first, 0), 0);
    start(&w);
    recipe_await_line(client, name, 2);
    assert_int_equal(hf_acquire(late, 0), HF_EBUSY);
    struct waiter r = { .lock = late };
    start(&r);
    recipe_await_line(client, name, 3);
    assert_int_equal(hf_release(first), 0);
    finish(&w);
    assert_int_equal(hf_state(late), HF_WAITING);
    assert_int_equal(hf_release(w.lock), 0);
    finish(&r);
    assert_true(hf_token(late) > 0);
    hf_close(client);
    hf_close(other);
}

static void test_semaphore_slots_are_distinct_and_limited(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *lock[4];
    unsigned          seen = 0;

    (void)state;
    for (int i = 0; i < 4; i++)
        lock[i] = semaphore(i % 2 ? b : a, name, 3, 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hf_acquire(lock[i], 0), 0);
        assert_in_range(hf_slot(lock[i]), 0, 2);
        seen |= 1u << hf_slot(lock[i]);
    }
    assert_int_equal(seen, 7);
    assert_int_equal(hf_acquire(lock[3], 0), HF_EBUSY);

    struct waiter w = { .lock = lock[3] };
    int           slot = hf_slot(lock[1]);
    start(&w);
    recipe_await_line(a, name, 4);
    assert_int_equal(hf_release(lock[1]), 0);
    finish(&w);
    assert_int_equal(hf_slot(lock[3]), slot); /* the only free one */
    hf_close(a);
    hf_close(b);
}

static void test_weights_of_a_semaphore_and_no_overtaking(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open();
    struct hf_lock   *two = semaphore(client, name, 4, 2);
    struct hf_lock   *three = semaphore(client, name, 4, 3);
    struct hf_lock   *one = semaphore(client, name, 4, 1),
                   *other = semaphore(client, name, 4, 1);

    (void)state;
    assert_int_equal(hf_acquire(two, 0), 0);
    assert_int_equal(hf_acquire(three, 0), HF_EBUSY);
    assert_int_equal(hf_acquire(one, 0), 0);
    struct waiter w = { .lock = three };
    start(&w);
    recipe_await_line(client, name, 3);
    assert_int_equal(hf_acquire(other, 0),
                     HF_EBUSY); /* it would fit, but does not overtake */
    assert_int_equal(hf_release(two), 0);
    finish(&w);
    assert_int_equal(hf_release(three), 0);
    assert_int_equal(hf_acquire(other, 0), 0);
    hf_close(client);
}

static void test_impossible_semaphores_are_refused(void **state)
{
    struct hf_client *client = recipe_open();
    struct hf_lock   *lock = NULL;

    (void)state;
    assert_int_equal(hf_semaphore(client, "x", 0, 1, &lock), HF_EINVAL);
    assert_int_equal(hf_semaphore(client, "x", 2, 0, &lock), HF_EINVAL);
    assert_int_equal(hf_semaphore(client, "x", 2, 3, &lock), HF_EINVAL);
    assert_int_equal(hf_semaphore(client, "x", UINT32_MAX, 1, &lock), HF_EINVAL);
    assert_non_null(strstr(hf_errmsg(client), "capacity"));
    assert_null(lock);
    hf_close(client);
}

static void test_claims_wait_without_a_queue(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *first = claim(a, name);
    struct waiter     w[2] = { { .lock = claim(b, name) }, { .lock = claim(a, name) } };

    (void)state;
    assert_int_equal(hf_acquire(first, 0), 0);
    uint64_t token = hf_token(first);
    assert_int_equal(hf_acquire(w[0].lock, 0), HF_EBUSY);
    assert_int_equal(hf_acquire(w[0].lock, 30), HF_ETIMEOUT);
    for (int i = 0; i < 2; i++) {
        start(&w[i]);
        recipe_await(w[i].lock, HF_WAITING);
    }
    recipe_await_line(a, name, 1); /* they wait outside */
    assert_int_equal(hf_release(first), 0);

    int64_t end = recipe_ms() + 10000;
    while (hf_state(w[0].lock) != HF_HELD && hf_state(w[1].lock) != HF_HELD &&
           recipe_ms() < end)
        ;
    int winner = hf_state(w[0].lock) == HF_HELD ? 0 : 1;
    finish(&w[winner]);
    assert_true(hf_token(w[winner].lock) > token);
    assert_int_equal(hf_state(w[!winner].lock), HF_WAITING);
    assert_int_equal(hf_release(w[winner].lock), 0);
    finish(&w[!winner]);
    hf_close(a);
    hf_close(b);
}

static void test_two_kinds_of_one_name_are_refused(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *mutex = recipe_mutex(a, name), *three = semaphore(b, name, 3, 1);
    struct hf_lock   *four = semaphore(b, name, 4, 1), *rd = recipe_reader(b, name);
    struct hf_lock   *cl = claim(b, name);

    (void)state;
    assert_int_equal(hf_acquire(mutex, 0), 0);
    assert_int_equal(hf_acquire(three, 0), HF_EMISMATCH);
    assert_int_equal(hf_acquire(rd, 100), HF_EMISMATCH);
    assert_int_equal(hf_acquire(cl, 100), HF_EMISMATCH);
    assert_non_null(strstr(hf_errmsg(b), "kind"));
    assert_int_equal(hf_release(mutex), 0);
    assert_int_equal(hf_acquire(three, 0), 0);
    assert_int_equal(hf_acquire(four, 0), HF_EMISMATCH);
    assert_int_equal(hf_acquire(mutex, 0), HF_EMISMATCH);
    hf_close(a);
    hf_close(b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readers_share_writers_do_not),
        cmocka_unit_test(test_readers_do_not_overtake_a_waiting_writer),
        cmocka_unit_test(test_semaphore_slots_are_distinct_and_limited),
        cmocka_unit_test(test_weights_of_a_semaphore_and_no_overtaking),
        cmocka_unit_test(test_impossible_semaphores_are_refused),
        cmocka_unit_test(test_claims_wait_without_a_queue),
        cmocka_unit_test(test_two_kinds_of_one_name_are_refused),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
