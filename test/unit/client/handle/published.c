/* published.c - the descriptor of hf_lost_fd() is readable at the deadline, even if nobody
 * drives the client. */
#include "lib/recipe.h"
#include "lib/time_space.h"

#include <poll.h>

static int wait_readable(int fd, int ms)
{
    return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, ms);
}

/* 0, or which step failed. */
static int lose_by_time_alone(void)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;
    struct hf_lock   *lock = NULL;

    options.flags = HF_NO_KEEPER;
    if (hf_open("memory:alone?lease=500", &options, &client) < 0 ||
        hf_mutex(client, "a", &lock) < 0 || hf_acquire(lock, 5000) < 0)
        return 1;
    int fd = hf_lost_fd(lock);
    if (fd < 0)
        return 2;
    if (wait_readable(fd, 0) != 0 && hf_left_ms(lock) > 0)
        return 3;
    if (wait_readable(fd, 5000) != 1)
        return 4;
    if (hf_left_ms(lock) != 0)
        return 5;
    hf_close(client);
    return 0;
}

static void test_the_descriptor_is_readable_at_the_deadline(void **state)
{
    (void)state;
    assert_int_equal(lose_by_time_alone(), 0);
}

static void test_the_descriptor_counts_the_time_in_suspension(void **state)
{
    int r = time_space_run(lose_by_time_alone);

    (void)state;
    if (r < 0)
        skip(); /* only root may make a time namespace */
    assert_int_equal(r, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_descriptor_is_readable_at_the_deadline),
        cmocka_unit_test(test_the_descriptor_counts_the_time_in_suspension),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
