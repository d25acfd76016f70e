/* check_lease.c - hf_check() on a store with leases renews the lease, or finds it
 * expired. */
#include "lib/recipe.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

/* Nobody drives it, so only its own calls renew the lease. */
static struct hf_client *open_without_keeper(int lease_ms)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;
    char              url[64];

    snprintf(url, sizeof url, "memory:leased?lease=%d", lease_ms);
    options.flags = HF_NO_KEEPER;
    assert_int_equal(hf_open(url, &options, &client), 0);
    return client;
}

static void test_a_check_renews_the_lease(void **state)
{
    struct hf_client *client = open_without_keeper(20000);
    struct hf_lock   *lock = recipe_mutex(client, "renewed");

    (void)state;
    assert_int_equal(hf_acquire(lock, 5000), 0);
    poll(NULL, 0, 1000);
    int64_t before = hf_left_ms(lock);
    assert_in_range(before, 1, 19000);
    assert_int_equal(hf_check(lock, 5000), 0);
    assert_true(hf_left_ms(lock) > before);
    assert_in_range(hf_left_ms(lock), 1, 20000);
    assert_int_equal(hf_release(lock), 0);
    hf_close(client);
}

static void test_checks_keep_a_lock_beyond_its_lease(void **state)
{
    struct hf_client *client = open_without_keeper(1500);
    struct hf_lock   *lock = recipe_mutex(client, "kept");
    int64_t           start = recipe_ms();

    (void)state;
    assert_int_equal(hf_acquire(lock, 5000), 0);
    while (recipe_ms() - start < 3500) {
        assert_int_equal(hf_check(lock, 5000), 0);
        poll(NULL, 0, 20);
    }
    assert_int_equal(hf_release(lock), 0);
    hf_close(client);
}

static void test_a_check_finds_an_expired_lease(void **state)
{
    struct hf_client *client = open_without_keeper(100),
                     *other = open_without_keeper(20000);
    struct hf_lock *lock = recipe_mutex(client, "out");
    struct hf_lock *next = recipe_mutex(other, "out");

    (void)state;
    assert_int_equal(hf_acquire(lock, 5000), 0);
    uint64_t token = hf_token(lock);
    assert_int_equal(hf_acquire(next, 5000), 0); /* when the first lease has expired */
    assert_int_equal(hf_state(lock), HF_HELD);   /* nobody has driven the client */
    assert_int_equal(hf_left_ms(lock), 0);
    assert_int_equal(hf_check(lock, 5000), HF_ELOST);
    assert_int_equal(hf_state(lock), HF_LOST);
    assert_int_equal(hf_verify(client, "out", token, 5000), HF_ELOST);
    assert_int_equal(hf_verify(client, "out", hf_token(next), 5000), 0);
    assert_int_equal(hf_release(lock), HF_ELOST);
    assert_int_equal(hf_check(next, 5000), 0);
    assert_int_equal(hf_release(next), 0);
    hf_close(client);
    hf_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_check_renews_the_lease),
        cmocka_unit_test(test_checks_keep_a_lock_beyond_its_lease),
        cmocka_unit_test(test_a_check_finds_an_expired_lease),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
