/* errmsg.c - hf_errmsg() returns the last failure of the calling thread. */
#include "lib/recipe.h"

#include <pthread.h>
#include <string.h>

#define URL "memory:errmsg"

/* Both names are held by somebody else. */
static struct hf_client *rival, *shared;

static int open_both(void **state)
{
    (void)state;
    assert_int_equal(hf_open(URL, NULL, &rival), 0);
    assert_int_equal(hf_open(URL, NULL, &shared), 0);
    assert_int_equal(hf_acquire(recipe_mutex(rival, "alpha"), 1000), 0);
    assert_int_equal(hf_acquire(recipe_mutex(rival, "beta"), 1000), 0);
    return 0;
}

static int close_both(void **state)
{
    (void)state;
    hf_close(shared);
    hf_close(rival);
    return 0;
}

static void fail_at(const char *name)
{
    struct hf_lock *lock = recipe_mutex(shared, name);

    assert_int_equal(hf_acquire(lock, 0), HF_EBUSY);
    hf_lock_free(lock);
}

static bool message_has(const char *name)
{
    return strstr(hf_errmsg(shared), name) != NULL;
}

static void *fail_at_beta(void *result)
{
    fail_at("beta");
    return message_has("\"beta\"") ? result : NULL;
}

static void in_another_thread(void *(*work)(void *))
{
    pthread_t thread;
    void     *result = NULL;

    assert_int_equal(pthread_create(&thread, NULL, work, &shared), 0);
    pthread_join(thread, &result);
    assert_non_null(result);
}

static void test_each_thread_has_its_own_message(void **state)
{
    (void)state;
    fail_at("alpha");
    in_another_thread(fail_at_beta);
    assert_true(message_has("\"alpha\""));
}

static void *hear_of_alpha(void *result)
{
    return message_has("\"alpha\"") ? result : NULL;
}

static void test_a_thread_without_a_failure_gets_the_last_message(void **state)
{
    (void)state;
    fail_at("alpha");
    in_another_thread(hear_of_alpha);
}

/* A call without blocking, whose failure the keeper finds. */
static void fail_started(const char *name)
{
    struct hf_lock *lock = recipe_mutex(shared, name);

    assert_int_equal(hf_acquire_start(lock, 0), 0);
    recipe_await(lock, HF_IDLE);
    assert_int_equal(hf_why(lock), HF_EBUSY);
    hf_lock_free(lock);
}

static void *fail_started_at_beta(void *result)
{
    fail_started("beta");
    return message_has("\"beta\"") ? result : NULL;
}

static void test_a_failed_start_is_the_message_of_the_thread_that_started(void **state)
{
    (void)state;
    fail_at("alpha");
    in_another_thread(fail_started_at_beta);
    assert_true(message_has("\"alpha\"")); /* this thread has started nothing */
    fail_started("beta");
    assert_true(message_has("\"beta\""));
    fail_at("alpha");
    assert_true(message_has("\"alpha\"")); /* of the later call */
}

static void test_each_client_has_its_own_message(void **state)
{
    (void)state;
    fail_at("alpha");
    hf_close(shared);
    assert_int_equal(hf_open(URL, NULL, &shared), 0); /* maybe at the same address */
    assert_string_equal(hf_errmsg(shared), "");
    fail_at("alpha");
    assert_int_equal(hf_verify(rival, "alpha", 0, 0), HF_EINVAL);
    assert_true(message_has("\"alpha\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_thread_has_its_own_message, open_both,
                                        close_both),
        cmocka_unit_test_setup_teardown(
            test_a_thread_without_a_failure_gets_the_last_message, open_both, close_both),
        cmocka_unit_test_setup_teardown(
            test_a_failed_start_is_the_message_of_the_thread_that_started, open_both,
            close_both),
        cmocka_unit_test_setup_teardown(test_each_client_has_its_own_message, open_both,
                                        close_both),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
