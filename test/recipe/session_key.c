/* session_key.c - hf_session_key() and hf_end_session(), as programs use them. */
#include "lib/recipe.h"

#include <poll.h>
#include <stdatomic.h>
#include <string.h>

struct key {
    uint8_t bytes[2048];
    int     size;
};

static void get_key(struct hf_client *client, struct key *ret)
{
    int64_t end = recipe_ms() + RECIPE_LIMIT_MS;

    while ((ret->size = hf_session_key(client, ret->bytes, sizeof ret->bytes)) ==
               HF_EDOWN &&
           recipe_ms() < end)
        poll(NULL, 0, 1);
    if (ret->size < 0)
        fail_msg("hf_session_key: %s", hf_errmsg(client));
    assert_in_range(ret->size, 1, sizeof ret->bytes);
}

static void end_session(const struct key *key)
{
    char error[256] = "";
    int  r = hf_end_session(key->bytes, (size_t)key->size, RECIPE_LIMIT_MS, error,
                            sizeof error);

    if (r != 0)
        fail_msg("hf_end_session: %s: %s", hf_errname(r), error);
}

static void test_the_size_is_returned_for_a_small_buffer(void **state)
{
    struct hf_client *client = recipe_open();
    struct hf_report *report;
    struct key        key, again;

    (void)state;
    assert_int_equal(hf_inspect(client, recipe_name(), RECIPE_LIMIT_MS, &report), 0);
    hf_report_free(report);
    get_key(client, &key);
    memset(again.bytes, 'x', sizeof again.bytes);
    assert_int_equal(hf_session_key(client, NULL, 0), key.size);
    assert_int_equal(hf_session_key(client, again.bytes, (size_t)key.size - 1), key.size);
    assert_int_equal(again.bytes[0], 'x');
    assert_int_equal(hf_session_key(client, again.bytes, (size_t)key.size), key.size);
    assert_int_equal(again.bytes[key.size], 'x');
    hf_close(client);
    end_session(&key); /* ending a session that has ended is no error */
}

/* The program renews its lease: only the key can end the session. */
static void test_a_live_holder_learns_that_its_session_ended(void **state)
{
    struct hf_client *client = recipe_open(), *next = recipe_open();
    const char       *name = recipe_name();
    struct hf_lock *lock = recipe_mutex(client, name), *other = recipe_mutex(next, name);
    struct key      key, new;

    (void)state;
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    uint64_t token = hf_token(lock);
    get_key(client, &key);
    assert_int_equal(hf_acquire_start(other, -1), 0);
    recipe_await_line(next, name, 2);
    end_session(&key);
    recipe_await(lock, HF_LOST);
    recipe_await(other, HF_HELD);
    assert_true(hf_token(other) > token);
    assert_int_equal(hf_release(lock), HF_ELOST);
    end_session(&key);
    assert_int_equal(hf_check(other, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_release(other), 0);

    /* It goes on in a new session, which the old key does not end. */
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    get_key(client, &new);
    end_session(&key);
    assert_int_equal(hf_check(lock, RECIPE_LIMIT_MS), 0);
    end_session(&new);
    recipe_await(lock, HF_LOST);
    hf_close(client);
    hf_close(next);
}

struct told {
    struct key key;
    atomic_int ups, losses;
};

/* Read the key of the new session in the callback of HF_LINK_UP. */
static void on_link(struct hf_client *client, enum hf_link link, const char *why,
                    void *data)
{
    struct told *told = data;

    (void)why;
    if (link == HF_LINK_UP) {
        told->key.size = hf_session_key(client, told->key.bytes, sizeof told->key.bytes);
        told->ups++;
    }
    told->losses += link == HF_LINK_LOST;
}

static void test_a_new_session_has_a_new_key_when_the_link_is_up(void **state)
{
    static struct told told;
    struct hf_options  options = HF_OPTIONS_INIT;

    (void)state;
    options.on_link = on_link;
    options.data = &told;
    struct hf_client *client = recipe_open_with(&options);
    struct hf_lock   *lock = recipe_mutex(client, recipe_name());
    for (int i = 1; i <= 2; i++) {
        int64_t end = recipe_ms() + RECIPE_LIMIT_MS;
        assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
        while (told.ups < i && recipe_ms() < end)
            poll(NULL, 0, 1);
        assert_true(told.ups >= i && told.key.size > 0);
        end_session(&told.key);
        recipe_await(lock, HF_LOST);
        while (told.losses < i && recipe_ms() < end)
            poll(NULL, 0, 1);
        assert_int_equal(told.losses, i);
        assert_int_equal(hf_release(lock), HF_ELOST);
    }
    hf_close(client);
}

/* ---- on_session_key ------------------------------------------------------------ */

struct handed {
    struct key key;
    bool       answered; /* a request of this session, before we had its key */
    bool       late;
};

static void on_session_key(const void *key, size_t size, void *data)
{
    struct handed *handed = data;

    assert_in_range(size, 1, sizeof handed->key.bytes);
    memcpy(handed->key.bytes, key, size);
    handed->key.size = (int)size;
    handed->late = handed->late || handed->answered;
}

static void on_trace(const char *text, void *data)
{
    struct handed *handed = data;

    if (strcmp(text, "link lost") == 0)
        handed->answered = false;
    else if (text[0] == '<' && strstr(text, ": in line") != NULL)
        handed->answered = true;
}

static bool is_on_a_server(void)
{
    return strncmp(recipe_url(), "redis", 5) == 0 ||
           strncmp(recipe_url(), "postgres", 8) == 0 ||
           strncmp(recipe_url(), "mariadb", 7) == 0 ||
           strncmp(recipe_url(), "zk", 2) == 0;
}

static void test_on_session_key_comes_before_the_first_request(void **state)
{
    struct handed     handed = { 0 };
    struct hf_options options = HF_OPTIONS_INIT;

    (void)state;
    options.flags = HF_NO_KEEPER; /* so that no other thread calls back */
    options.on_session_key = on_session_key;
    options.on_trace = on_trace;
    options.data = &handed;
    struct hf_client *client = recipe_open_with(&options);
    struct hf_lock   *lock = recipe_mutex(client, recipe_name());
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
        assert_int_equal(handed.key.size > 0, is_on_a_server());
        assert_false(handed.late);
        if (handed.key.size == 0)
            break; /* the kernel ends these sessions */
        struct key first = handed.key;
        handed.key.size = 0; /* the next session may begin before hf_release() */
        end_session(&first);
        assert_int_equal(hf_check(lock, RECIPE_LIMIT_MS), HF_ELOST);
        assert_int_equal(hf_release(lock), HF_ELOST);
    }
    hf_close(client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_size_is_returned_for_a_small_buffer),
        cmocka_unit_test(test_a_live_holder_learns_that_its_session_ended),
        cmocka_unit_test(test_a_new_session_has_a_new_key_when_the_link_is_up),
        cmocka_unit_test(test_on_session_key_comes_before_the_first_request),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
