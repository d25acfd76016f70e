/* check_without_news.c - hf_check() on a client that gets no news: only the answer says
 * that its place is gone.
 *
 * The memory store below it keeps every WATCH back, like a server whose messages are
 * late.
 */
#include "client/handle/lock.h"
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

static struct hf_client *open_without_news(void)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;

    options.flags = HF_NO_KEEPER; /* no other thread uses the store */
    assert_int_equal(hf_open("memory:deaf", &options, &client), 0);
    impl = hf_memory_store;
    impl.submit = submit;
    impl.process = process;
    client->store->impl = &impl;
    deaf = true;
    return client;
}

static void close_without_news(struct hf_client *client)
{
    deaf = false;
    assert_int_equal(hf_process(client), 0); /* the WATCHes go on */
    hf_close(client);
    assert_int_equal(count, 0);
}

static struct hf_client *open_other(void)
{
    struct hf_client *client = NULL;

    assert_int_equal(hf_open("memory:deaf", NULL, &client), 0);
    return client;
}

static void test_the_answer_makes_the_lock_lost(void **state)
{
    struct hf_client *client = open_without_news(), *other = open_other();
    struct hf_lock   *lock = recipe_mutex(client, "one");

    (void)state;
    assert_int_equal(hf_acquire(lock, 5000), 0);
    assert_int_equal(hf_break(other, "one", hf_token(lock), 5000), 0);
    assert_int_equal(hf_process(client), 0);
    assert_int_equal(hf_state(lock), HF_HELD);
    assert_int_equal(hf_check(lock, 5000), HF_ELOST);
    assert_int_equal(hf_state(lock), HF_LOST);
    deaf = false; /* the WATCH must end before LEAVE */
    assert_int_equal(hf_release(lock), HF_ELOST);
    close_without_news(client);
    hf_close(other);
}

static void test_every_part_of_a_set_is_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct hf_client *client = open_without_news(), *other = open_other();
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
        close_without_news(client);
        hf_close(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_answer_makes_the_lock_lost),
        cmocka_unit_test(test_every_part_of_a_set_is_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
