/* will.c - hf_will() and hf_execute(), as programs use them. */
#include "lib/recipe.h"

#include <poll.h>
#include <stdatomic.h>
#include <string.h>

struct will {
    uint8_t bytes[2048];
    int     size;
};

static void get_will(struct hf_client *client, struct will *ret)
{
    int64_t end = recipe_ms() + RECIPE_LIMIT_MS;

    while ((ret->size = hf_will(client, ret->bytes, sizeof ret->bytes)) == HF_EDOWN &&
           recipe_ms() < end)
        poll(NULL, 0, 1);
    if (ret->size < 0)
        fail_msg("hf_will: %s", hf_errmsg(client));
    assert_in_range(ret->size, 1, sizeof ret->bytes);
}

static void execute(const struct will *will)
{
    char error[256] = "";
    int  r =
        hf_execute(will->bytes, (size_t)will->size, RECIPE_LIMIT_MS, error, sizeof error);

    if (r != 0)
        fail_msg("hf_execute: %s: %s", hf_errname(r), error);
}

static void test_the_size_is_asked_first(void **state)
{
    struct hf_client *client = recipe_open();
    struct hf_report *report;
    struct will       will, again;

    (void)state;
    assert_int_equal(hf_inspect(client, recipe_name(), RECIPE_LIMIT_MS, &report), 0);
    hf_report_free(report);
    get_will(client, &will);
    memset(again.bytes, 'x', sizeof again.bytes);
    assert_int_equal(hf_will(client, NULL, 0), will.size);
    assert_int_equal(hf_will(client, again.bytes, (size_t)will.size - 1), will.size);
    assert_int_equal(again.bytes[0], 'x');
    assert_int_equal(hf_will(client, again.bytes, (size_t)will.size), will.size);
    assert_int_equal(again.bytes[will.size], 'x');
    hf_close(client);
    execute(&will); /* it is gone, and that is all that is asked for */
}

/* The program keeps its lock alive all the time: only the will can end it. */
static void test_a_living_holder_learns_of_it(void **state)
{
    struct hf_client *client = recipe_open(), *next = recipe_open();
    const char       *name = recipe_name();
    struct hf_lock *lock = recipe_mutex(client, name), *other = recipe_mutex(next, name);
    struct will     will, new;

    (void)state;
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    uint64_t token = hf_token(lock);
    get_will(client, &will);
    assert_int_equal(hf_acquire_start(other, -1), 0);
    recipe_await_line(next, name, 2);
    execute(&will);
    recipe_await(lock, HF_LOST);
    recipe_await(other, HF_HELD);
    assert_true(hf_token(other) > token);
    assert_int_equal(hf_release(lock), HF_ELOST);
    execute(&will);
    assert_int_equal(hf_check(other, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_release(other), 0);

    /* It goes on in a new session, to which the old will is nothing. */
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    get_will(client, &new);
    execute(&will);
    assert_int_equal(hf_check(lock, RECIPE_LIMIT_MS), 0);
    execute(&new);
    recipe_await(lock, HF_LOST);
    hf_close(client);
    hf_close(next);
}

struct told {
    struct will will;
    atomic_int  ups, losses;
};

/* "Ask again after HF_LINK_UP": right there is the best place. */
static void on_link(struct hf_client *client, enum hf_link link, const char *why,
                    void *data)
{
    struct told *told = data;

    (void)why;
    if (link == HF_LINK_UP) {
        told->will.size = hf_will(client, told->will.bytes, sizeof told->will.bytes);
        told->ups++;
    }
    told->losses += link == HF_LINK_LOST;
}

static void test_each_new_one_is_asked_for_when_the_link_is_up(void **state)
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
        assert_true(told.ups >= i && told.will.size > 0);
        execute(&told.will);
        recipe_await(lock, HF_LOST);
        while (told.losses < i && recipe_ms() < end)
            poll(NULL, 0, 1);
        assert_int_equal(told.losses, i);
        assert_int_equal(hf_release(lock), HF_ELOST);
    }
    hf_close(client);
}

/* ---- on_will ------------------------------------------------------------------- */

struct handed {
    struct will will;
    bool        answered; /* a request of this session was, before we had its will */
    bool        late;
};

static void on_will(const void *will, size_t size, void *data)
{
    struct handed *handed = data;

    assert_in_range(size, 1, sizeof handed->will.bytes);
    memcpy(handed->will.bytes, will, size);
    handed->will.size = (int)size;
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
           strncmp(recipe_url(), "zk", 2) == 0;
}

static void test_each_new_one_is_handed_out_before_anything_is_asked(void **state)
{
    struct handed     handed = { 0 };
    struct hf_options options = HF_OPTIONS_INIT;

    (void)state;
    options.flags = HF_NO_KEEPER; /* so that no other thread calls back */
    options.on_will = on_will;
    options.on_trace = on_trace;
    options.data = &handed;
    struct hf_client *client = recipe_open_with(&options);
    struct hf_lock   *lock = recipe_mutex(client, recipe_name());
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
        assert_int_equal(handed.will.size > 0, is_on_a_server());
        assert_false(handed.late);
        if (handed.will.size == 0)
            break; /* the kernel ends these sessions */
        execute(&handed.will);
        assert_int_equal(hf_check(lock, RECIPE_LIMIT_MS), HF_ELOST);
        assert_int_equal(hf_release(lock), HF_ELOST);
        handed.will.size = 0;
    }
    hf_close(client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_size_is_asked_first),
        cmocka_unit_test(test_a_living_holder_learns_of_it),
        cmocka_unit_test(test_each_new_one_is_asked_for_when_the_link_is_up),
        cmocka_unit_test(test_each_new_one_is_handed_out_before_anything_is_asked),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
