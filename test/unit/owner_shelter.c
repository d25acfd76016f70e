/* owner_shelter.c - whose a handle is: guests in the place of a host; see owner.c. */
#include "lib/recipe.h"
#include "unit/lib/double.h"
#include "unit/lib/owned.h"

#include <poll.h>
#include <unistd.h>

#define URL "memory:owner"

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
    begin_call(&call, owned_acquire_and_release, host); /* another thread has to wait */
    assert_int_equal(hf_acquire(host, 0), 0);
    assert_int_equal(owner_of(host), HF_OWNER_BOUND);
    assert_int_equal(hf_release(guest), 0);
    assert_int_equal(owner_of(guest), HF_OWNER_FREE);
    assert_int_equal(hf_release(host), 0);
    assert_int_equal(end_call(&call), 0);
    assert_int_equal(owner_of(host), HF_OWNER_FREE);
    double_close(client);
}

static struct hf_lock *turned;
static atomic_bool     in_turn, is_back;

/* The one who turns may change the job at any time, as when the place is lost. */
static void change_job(struct hf_store *store, hf_time now)
{
    uint64_t token = turned->job.hold.token;

    (void)store, (void)now;
    turned->job.hold.token = 0;
    in_turn = true;
    for (int64_t start = recipe_ms(); !is_back && recipe_ms() < start + 10000;)
        usleep(500);
    turned->job.hold.token = token;
    double_store.after = NULL;
}

static void test_a_host_comes_again_during_a_turn(void **state)
{
    struct hf_client *client = double_open(0, URL);
    struct hf_lock   *host = recipe_reader(client, "one");
    struct hf_lock   *guest = recipe_reader(client, "one");

    (void)state;
    turned = host;
    in_turn = is_back = false;
    assert_int_equal(hf_acquire(host, 1000), 0);
    uint64_t token = hf_token(host);
    assert_int_equal(hf_acquire(guest, 1000), 0);
    assert_int_equal(hf_release(host), 0);
    int cancel = hf_drive_begin(&client->drive);
    double_store.after = change_job;
    hf_drive_post(&client->drive);
    hf_drive_nudge(&client->drive);
    hf_drive_end(&client->drive, cancel);
    for (int64_t start = recipe_ms(); !in_turn; usleep(500))
        assert_true(recipe_ms() < start + 10000);
    assert_int_equal(hf_acquire(host, 0), 0);
    assert_int_equal(hf_token(host), token);
    is_back = true;
    assert_int_equal(hf_release(guest), 0);
    assert_int_equal(hf_release(host), 0);
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

/* Nobody waits who said that he would not. */
static void test_the_last_guest_leaves_without_waiting(void **state)
{
    struct hf_client *client = double_open(0, URL);
    struct hf_lock   *host = recipe_reader(client, "one");
    struct hf_lock   *guest = recipe_reader(client, "one");

    (void)state;
    assert_int_equal(hf_acquire(host, 1000), 0);
    assert_int_equal(hf_acquire(guest, 1000), 0);
    assert_int_equal(hf_release(host), 0);
    double_store.stalled = true;
    assert_int_equal(hf_release_start(guest), 0);
    assert_int_equal(owner_of(guest), HF_OWNER_FREE);
    assert_int_equal(owner_of(host), HF_OWNER_ENDING);
    double_store.stalled = false;
    await_owner(host, HF_OWNER_FREE); /* and the store was told */
    recipe_await_line(client, "one", 0);
    double_close(client);
}

/* The host was released, so it may be freed: also while its place is given up. */
static void test_a_host_is_freed_while_it_leaves(void **state)
{
    struct hf_client *client = double_open(0, URL);
    struct hf_lock   *pair[] = { recipe_writer(client, "one"),
                                 recipe_reader(client, "one") };
    pthread_t         thread;
    void             *done = NULL;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, release_pair, pair), 0);
    await_owner(pair[0], HF_OWNER_RELEASING);
    hf_lock_free(pair[0]);
    double_store.stalled = false;
    assert_int_equal(pthread_join(thread, &done), 0);
    assert_non_null(done);
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
        for (int i = 0; i < 2000 && losses < (lent ? 1 : 2); i++)
            poll(NULL, 0, 5); /* no callback comes any more once its lock is freed */
        hf_lock_free(host);
        hf_lock_free(guest);
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

/* What an acquire looks at, and what a renewal of the lease does, which on ZooKeeper comes with
 * every answer: not the handles that are idle. */
static void expect_lists(struct hf_client *client, size_t had, size_t held)
{
    int cancel = hf_drive_begin(&client->drive);

    for (size_t i = 0; i < HF_HAD_CHAINS; i++)
        had -= count_list(client->had[i], HF_LIST_HAD);
    assert_int_equal(had, 0);
    assert_int_equal(count_list(client->held, HF_LIST_HELD), held);
    hf_drive_end(&client->drive, cancel);
}

/* Each acquire and each renewal looked at all of them: seconds here, a moment now. */
static void test_idle_handles_cost_nothing(void **state)
{
    struct hf_client *client = double_open(0, URL "?lease=60000");
    struct hf_lock   *host = recipe_reader(client, "one");
    struct hf_lock   *guest = recipe_reader(client, "one");

    (void)state;
    for (int i = 0; i < HANDLES; i++)
        recipe_reader(client, "one");
    expect_lists(client, 0, 0);
    assert_int_equal(hf_acquire(host, 1000), 0);
    expect_lists(client, 1, 1);
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(hf_acquire(guest, 1000), 0);
        assert_int_equal(hf_check(guest, 1000), 0);
        assert_int_equal(hf_release(guest), 0);
    }
    assert_int_equal(hf_acquire(guest, 1000), 0);
    expect_lists(client, 2, 2);
    assert_int_equal(hf_release(host), 0); /* its guest has its place */
    expect_lists(client, 1, 1);
    assert_int_equal(hf_release(guest), 0);
    expect_lists(client, 0, 0);
    double_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_host_lends_and_comes_again),
        cmocka_unit_test(test_a_host_comes_again_during_a_turn),
        cmocka_unit_test(test_the_last_guest_ends_it),
        cmocka_unit_test(test_the_last_guest_leaves_without_waiting),
        cmocka_unit_test(test_a_host_is_freed_while_it_leaves),
        cmocka_unit_test(test_guests_fall_with_their_host),
        cmocka_unit_test(test_idle_handles_cost_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
