/* check_deaf.c - hf_check() on a client that hears of nothing: only what it asks for
 * tells it that its place is gone.
 *
 * The memory store under it is made to keep every WATCH back, as a server does whose
 * news are late.
 */
#include "client/lock.h"
#include "lib/recipe.h"
#include "store/memory/memory.h"

#define KEPT_MAX 8

static struct hf_req *kept[KEPT_MAX];
static size_t         count;
static bool           deaf;

static void submit(struct hf_store *store, struct hf_req *req)
{
    if (deaf && req->op == HF_WATCH && count < KEPT_MAX)
        kept[count++] = req;
    else
        hf_memory_store.submit(store, req);
}

static void process(struct hf_store *store, hf_time now, bool readable)
{
    while (!deaf && count > 0) {
        struct hf_req *req = kept[--count];
        bool           canceled = req->canceled;
        hf_memory_store.submit(store, req);
        if (canceled)
            hf_memory_store.cancel(store, req);
    }
    hf_memory_store.process(store, now, readable);
}

static struct hf_store_impl impl;

static struct hf_client *open_deaf(void)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;

    options.flags = HF_NO_KEEPER; /* nobody else is in the store */
    assert_int_equal(hf_open("memory:deaf", &options, &client), 0);
    impl = hf_memory_store;
    impl.submit = submit;
    impl.process = process;
    client->store->impl = &impl;
    deaf = true;
    return client;
}

static void close_deaf(struct hf_client *client)
{
    deaf = false;
    assert_int_equal(hf_process(client), 0); /* what was kept back goes on */
    hf_close(client);
    assert_int_equal(count, 0);
}

static struct hf_client *open_other(void)
{
    struct hf_client *client = NULL;

    assert_int_equal(hf_open("memory:deaf", NULL, &client), 0);
    return client;
}

static void test_the_answer_alone_makes_it_lost(void **state)
{
    struct hf_client *client = open_deaf(), *other = open_other();
    struct hf_lock   *lock = recipe_mutex(client, "one");

    (void)state;
    assert_int_equal(hf_acquire(lock, 5000), 0);
    assert_int_equal(hf_break(other, "one", hf_token(lock), 5000), 0);
    assert_int_equal(hf_process(client), 0);
    assert_int_equal(hf_state(lock), HF_HELD);
    assert_int_equal(hf_check(lock, 5000), HF_ELOST);
    assert_int_equal(hf_state(lock), HF_LOST);
    deaf = false; /* the WATCH ends before the place is left */
    assert_int_equal(hf_release(lock), HF_ELOST);
    close_deaf(client);
    hf_close(other);
}

/* Whichever part it is. */
static void test_every_part_is_asked_about(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct hf_client *client = open_deaf(), *other = open_other();
        struct hf_lock   *part[] = { recipe_mutex(client, "a"), recipe_mutex(client, "b"),
                                     recipe_mutex(client, "c") };
        struct hf_lock   *all = NULL;

        assert_int_equal(hf_all_of(part, 3, &all), 0);
        assert_int_equal(hf_acquire(all, 5000), 0);
        assert_int_equal(hf_check(all, 5000), 0);
        assert_int_equal(hf_break(other, hf_name(part[i]), hf_token(part[i]), 5000), 0);
        assert_int_equal(hf_check(all, 5000), HF_ELOST);
        assert_int_equal(hf_state(all), HF_LOST);
        assert_int_equal(hf_state(part[i]), HF_LOST);
        assert_int_equal(hf_state(part[(i + 1) % 3]), HF_HELD);
        deaf = false;
        assert_int_equal(hf_release(all), HF_ELOST);
        hf_lock_free(all);
        close_deaf(client);
        hf_close(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_answer_alone_makes_it_lost),
        cmocka_unit_test(test_every_part_is_asked_about),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
