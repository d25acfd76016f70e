/* rwlock.c - downgrading, reading under one's own lock, refused upgrades. */
#include "lib/recipe.h"

#include <pthread.h>
#include <string.h>

static void test_downgrading(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *w = recipe_writer(a, name), *r = recipe_reader(b, name),
                   *w2 = recipe_writer(b, name);

    (void)state;
    assert_int_equal(hf_downgrade(w), HF_ESTATE);
    assert_int_equal(hf_downgrade(r), HF_EINVAL);
    assert_int_equal(hf_acquire(w, RECIPE_LIMIT_MS), 0);
    uint64_t token = hf_token(w);
    assert_int_equal(hf_acquire(r, 0), HF_EBUSY);
    assert_int_equal(hf_downgrade(w), 0);
    assert_int_equal(hf_downgrade(w), 0); /* it is one already */
    assert_int_equal(hf_state(w), HF_HELD);
    assert_int_equal(hf_token(w), token);
    assert_int_equal(hf_acquire(w, RECIPE_LIMIT_MS), HF_EDEADLOCK); /* a writer no more */
    assert_int_equal(hf_acquire(r, 0), 0);
    assert_int_equal(hf_acquire(w2, 0), HF_EBUSY);
    assert_int_equal(hf_release(r), 0);
    assert_int_equal(hf_acquire(w2, 0), HF_EBUSY); /* still reading */
    assert_int_equal(hf_release(w), 0);
    assert_int_equal(hf_acquire(w2, 0), 0);
    assert_int_equal(hf_release(w2), 0);
    assert_int_equal(hf_acquire(w, 0), 0); /* a writer again */
    assert_int_equal(hf_acquire(r, 0), HF_EBUSY);
    hf_close(a);
    hf_close(b);
}

/* A writer that was queued before must not slip in, readers right behind join. */
static void test_contending_downgrading(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *w = recipe_writer(a, name);
    struct hf_lock   *r1 = recipe_reader(b, name), *w2 = recipe_writer(b, name),
                   *r2 = recipe_reader(b, name);

    (void)state;
    assert_int_equal(hf_acquire(w, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(r1, -1), 0);
    recipe_await_line(a, name, 2);
    assert_int_equal(hf_acquire_start(w2, -1), 0);
    recipe_await_line(a, name, 3);
    assert_int_equal(hf_acquire_start(r2, -1), 0);
    recipe_await_line(a, name, 4);
    assert_int_equal(hf_downgrade(w), 0);
    recipe_await(r1, HF_HELD);
    assert_int_equal(hf_state(w2), HF_WAITING);
    assert_int_equal(hf_state(r2), HF_WAITING); /* behind the writer */
    assert_int_equal(hf_release(w), 0);
    assert_int_equal(hf_state(w2), HF_WAITING);
    assert_int_equal(hf_release(r1), 0);
    recipe_await(w2, HF_HELD);
    assert_int_equal(hf_release(w2), 0);
    recipe_await(r2, HF_HELD);
    hf_close(a);
    hf_close(b);
}

static void test_upgrading_is_refused(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open();
    struct hf_lock   *r = recipe_reader(client, name), *w = recipe_writer(client, name);
    struct hf_lock   *m1 = recipe_mutex(client, recipe_name());
    struct hf_lock   *m2 = recipe_mutex(client, hf_name(m1));

    (void)state;
    assert_int_equal(hf_acquire(r, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire(w, 0), HF_EBUSY);
    assert_int_equal(hf_acquire(w, -1), HF_EDEADLOCK); /* at once, not for ever */
    assert_non_null(strstr(hf_errmsg(client), "itself"));
    assert_int_equal(hf_release(r), 0);
    assert_int_equal(hf_acquire(w, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_release(w), 0);

    /* The same with any two handles of one name in one thread. */
    assert_int_equal(hf_acquire(m1, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire(m2, -1), HF_EDEADLOCK);
    assert_int_equal(hf_release(m1), 0);
    assert_int_equal(hf_acquire(m2, RECIPE_LIMIT_MS), 0);
    hf_close(client);
}

struct other {
    struct hf_lock *lock;
    int             result;
};

static void *try_it(void *data)
{
    struct other *other = data;

    other->result = hf_acquire(other->lock, 0);
    return NULL;
}

static void test_reading_under_the_own_write_lock(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open(), *spy = recipe_open();
    struct hf_lock   *w = recipe_writer(client, name), *r = recipe_reader(client, name);
    struct other      other = { .lock = recipe_reader(client, name) };
    pthread_t         thread;

    (void)state;
    assert_int_equal(hf_acquire(w, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire(r, 0), 0);
    assert_int_equal(hf_acquire(r, 0), 0);
    assert_int_equal(hf_token(r), hf_token(w));
    recipe_await_line(spy, name, 1); /* it takes no place */
    assert_int_equal(pthread_create(&thread, NULL, try_it, &other), 0);
    pthread_join(thread, NULL);
    assert_int_equal(other.result, HF_EBUSY); /* for this thread only */
    assert_int_equal(hf_release(r), 0);
    assert_int_equal(hf_state(r), HF_HELD);
    assert_int_equal(hf_release(r), 0);
    assert_int_equal(hf_state(r), HF_IDLE);
    assert_int_equal(hf_release(w), 0);
    recipe_await_line(spy, name, 0);

    /* A reader under a reader: or a waiting writer would stand between them. */
    struct hf_lock *r2 = recipe_reader(client, name), *w2 = recipe_writer(spy, name);
    assert_int_equal(hf_acquire(r, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(w2, -1), 0);
    recipe_await_line(spy, name, 2);
    assert_int_equal(hf_acquire(r2, -1), 0);
    assert_int_equal(hf_release(r2), 0);
    assert_int_equal(hf_release(r), 0);
    recipe_await(w2, HF_HELD);
    hf_close(client);
    hf_close(spy);
}

/* Write, then read, then give the write lock back: still reading, and a writer
 * that waited does not slip in. */
static void test_releasing_the_writer_first(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open(), *spy = recipe_open();
    struct hf_lock   *w = recipe_writer(client, name), *r = recipe_reader(client, name);
    struct hf_lock   *w2 = recipe_writer(spy, name), *r2 = recipe_reader(spy, name);

    (void)state;
    assert_int_equal(hf_acquire(w, RECIPE_LIMIT_MS), 0);
    uint64_t token = hf_token(w);
    assert_int_equal(hf_acquire(r, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(r2, -1), 0);
    recipe_await_line(spy, name, 2);
    assert_int_equal(hf_acquire_start(w2, -1), 0);
    recipe_await_line(spy, name, 3);
    assert_int_equal(hf_release(w), 0);
    assert_int_equal(hf_state(w), HF_IDLE);
    assert_int_equal(hf_state(r), HF_HELD);
    assert_int_equal(hf_token(r), token);
    recipe_await(r2, HF_HELD);
    assert_int_equal(hf_state(w2), HF_WAITING);
    assert_int_equal(hf_acquire(w, -1), HF_EDEADLOCK);
    assert_int_equal(hf_release(w), HF_ESTATE);
    hf_lock_free(w); /* the place is the reader's now */
    assert_int_equal(hf_state(r), HF_HELD);
    assert_int_equal(hf_release(r2), 0);
    assert_int_equal(hf_state(w2), HF_WAITING);
    assert_int_equal(hf_release(r), 0);
    recipe_await(w2, HF_HELD);
    hf_close(client);
    hf_close(spy);
}

static void test_readers_of_one_thread_in_any_order(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open(), *spy = recipe_open();
    struct hf_lock   *r1 = recipe_reader(client, name), *r2 = recipe_reader(client, name);
    struct hf_lock   *w = recipe_writer(spy, name);

    (void)state;
    assert_int_equal(hf_acquire(r1, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire(r2, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_release(r1), 0);
    assert_int_equal(hf_acquire(w, 0), HF_EBUSY);
    assert_int_equal(hf_acquire(r1, 0), 0); /* back in its place */
    assert_int_equal(hf_release(r2), 0);
    assert_int_equal(hf_acquire(w, 0), HF_EBUSY);
    assert_int_equal(hf_acquire(r2, 0), 0);
    assert_int_equal(hf_release(r1), 0);
    uint64_t token = hf_token(r2);
    assert_int_equal(hf_break(spy, name, token, RECIPE_LIMIT_MS), 0);
    recipe_await(r2, HF_LOST); /* though its own handle never had the place */
    assert_int_equal(hf_release(r2), HF_ELOST);
    assert_int_equal(hf_acquire(r1, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_release(r1), 0);
    assert_int_equal(hf_acquire(w, RECIPE_LIMIT_MS), 0);
    hf_close(client);
    hf_close(spy);
}

static void test_what_is_under_a_lost_lock_is_lost(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open(), *admin = recipe_open();
    struct hf_lock   *w = recipe_writer(client, name), *r = recipe_reader(client, name);

    (void)state;
    assert_int_equal(hf_acquire(w, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire(r, 0), 0);
    assert_int_equal(hf_break(admin, name, hf_token(w), RECIPE_LIMIT_MS), 0);
    recipe_await(r, HF_LOST);
    assert_int_equal(hf_state(w), HF_LOST);
    assert_int_equal(hf_token(r), 0);
    assert_int_equal(hf_release(r), HF_ELOST);
    assert_int_equal(hf_release(w), HF_ELOST);
    assert_int_equal(hf_acquire(r, RECIPE_LIMIT_MS), 0); /* with a place of its own now */
    recipe_await_line(admin, name, 1);
    hf_lock_free(w);
    assert_int_equal(hf_release(r), 0);
    hf_close(client);
    hf_close(admin);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_downgrading),
        cmocka_unit_test(test_contending_downgrading),
        cmocka_unit_test(test_upgrading_is_refused),
        cmocka_unit_test(test_reading_under_the_own_write_lock),
        cmocka_unit_test(test_releasing_the_writer_first),
        cmocka_unit_test(test_readers_of_one_thread_in_any_order),
        cmocka_unit_test(test_what_is_under_a_lost_lock_is_lost),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
