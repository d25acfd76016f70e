/* rwlock.c - a writer that downgrades, nested readers, refused upgrades. */
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
    assert_int_equal(hf_downgrade(w), 0); /* a reader already */
    assert_int_equal(hf_state(w), HF_HELD);
    assert_int_equal(hf_token(w), token);
    assert_int_equal(hf_acquire(w, RECIPE_LIMIT_MS),
                     HF_EDEADLOCK); /* no writer any more */
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

static void test_a_downgrade_lets_readers_in_but_no_writer(void **state)
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

    /* So is any second handle of the same name in the same thread. */
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

static void *downgrade_it(void *data)
{
    struct other *other = data;

    other->result = hf_downgrade(other->lock);
    return NULL;
}

static void test_only_the_holding_thread_downgrades(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open(), *rival = recipe_open();
    struct other      other = { .lock = recipe_writer(client, name) };
    struct hf_lock   *r = recipe_reader(rival, name);
    pthread_t         thread;

    (void)state;
    assert_int_equal(hf_acquire(other.lock, RECIPE_LIMIT_MS), 0);
    assert_int_equal(pthread_create(&thread, NULL, downgrade_it, &other), 0);
    pthread_join(thread, NULL);
    assert_int_equal(other.result, HF_EOWNER);
    assert_int_equal(hf_acquire(r, 0), HF_EBUSY); /* still a writer */
    assert_int_equal(hf_downgrade(other.lock), 0);
    assert_int_equal(hf_acquire(r, 0), 0);
    hf_close(client);
    hf_close(rival);
}

static void test_a_writer_may_also_read(void **state)
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
    assert_int_equal(other.result, HF_EBUSY); /* nesting is for the thread that holds */
    assert_int_equal(hf_release(r), 0);
    assert_int_equal(hf_state(r), HF_HELD);
    assert_int_equal(hf_release(r), 0);
    assert_int_equal(hf_state(r), HF_IDLE);
    assert_int_equal(hf_release(w), 0);
    recipe_await_line(spy, name, 0);

    /* A nested reader takes no place either: it would wait for the writer in between. */
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

/* The place becomes a reader: a waiting writer does not get in between. */
static void test_releasing_the_writer_keeps_the_reader(void **state)
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
    hf_lock_free(w); /* the reader keeps the place */
    assert_int_equal(hf_state(r), HF_HELD);
    assert_int_equal(hf_release(r2), 0);
    assert_int_equal(hf_state(w2), HF_WAITING);
    assert_int_equal(hf_release(r), 0);
    recipe_await(w2, HF_HELD);
    hf_close(client);
    hf_close(spy);
}

static void test_readers_of_one_thread_release_in_any_order(void **state)
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
    assert_int_equal(hf_acquire(r1, 0), 0); /* nested again */
    assert_int_equal(hf_release(r2), 0);
    assert_int_equal(hf_acquire(w, 0), HF_EBUSY);
    assert_int_equal(hf_acquire(r2, 0), 0);
    assert_int_equal(hf_release(r1), 0);
    uint64_t token = hf_token(r2);
    assert_int_equal(hf_break(spy, name, token, RECIPE_LIMIT_MS), 0);
    recipe_await(r2, HF_LOST); /* though the place was entered by another handle */
    assert_int_equal(hf_release(r2), HF_ELOST);
    assert_int_equal(hf_acquire(r1, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_release(r1), 0);
    assert_int_equal(hf_acquire(w, RECIPE_LIMIT_MS), 0);
    hf_close(client);
    hf_close(spy);
}

static void test_a_reader_nested_in_a_lost_writer_is_lost(void **state)
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
    assert_int_equal(hf_acquire(r, RECIPE_LIMIT_MS), 0); /* in a place of its own */
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
        cmocka_unit_test(test_a_downgrade_lets_readers_in_but_no_writer),
        cmocka_unit_test(test_upgrading_is_refused),
        cmocka_unit_test(test_only_the_holding_thread_downgrades),
        cmocka_unit_test(test_a_writer_may_also_read),
        cmocka_unit_test(test_releasing_the_writer_keeps_the_reader),
        cmocka_unit_test(test_readers_of_one_thread_release_in_any_order),
        cmocka_unit_test(test_a_reader_nested_in_a_lost_writer_is_lost),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
