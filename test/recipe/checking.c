/* checking.c - hf_check() by the holder, hf_verify() by others, and hf_doctor(). */
#include "lib/recipe.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>

#define TEXT(number)  TEXT_(number)
#define TEXT_(number) #number
#define VERSION \
    TEXT(HF_VERSION_MAJOR) "." TEXT(HF_VERSION_MINOR) "." TEXT(HF_VERSION_PATCH)

static bool readable(int fd)
{
    struct pollfd poller = { .fd = fd, .events = POLLIN };

    return poll(&poller, 1, 0) == 1;
}

/* A client that nobody drives: it hears of nothing until a call of its own. */
static struct hf_client *open_without_keeper(const char *url, struct hf_options options)
{
    struct hf_client *client = NULL;

    options.flags = HF_NO_KEEPER;
    assert_int_equal(hf_open(url, &options, &client), 0);
    return client;
}

static void test_check_of_a_lock_held_and_not_held(void **state)
{
    struct hf_client *client = recipe_open();
    struct hf_lock   *lock = recipe_mutex(client, recipe_name());

    (void)state;
    assert_int_equal(hf_check(lock, RECIPE_LIMIT_MS), HF_ESTATE);
    assert_int_equal(hf_acquire(lock, 5000), 0);
    assert_int_equal(hf_check(lock, 5000), 0);
    assert_int_equal(hf_check(lock, -1), 0);
    assert_int_equal(hf_acquire(lock, 5000), 0); /* nested */
    assert_int_equal(hf_check(lock, 5000), 0);
    assert_int_equal(hf_release(lock), 0);
    assert_int_equal(hf_check(lock, 5000), 0);
    assert_int_equal(hf_release(lock), 0);
    assert_int_equal(hf_check(lock, 5000), HF_ESTATE);
    hf_close(client);
}

struct told {
    int lost;
};

static void on_state(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    struct told *told = data;

    (void)lock;
    told->lost += state == HF_LOST && why == HF_ELOST;
}

/* Before any notification.  The lock is lost then in every respect. */
static void test_check_finds_a_broken_lock_lost(void **state)
{
    const char       *name = recipe_name();
    struct told       told = { 0 };
    struct hf_options options = HF_OPTIONS_INIT;

    (void)state;
    options.on_state = on_state;
    options.data = &told;
    struct hf_client *a = open_without_keeper(recipe_url(), options), *b = recipe_open();
    struct hf_lock   *lock = recipe_mutex(a, name);

    assert_int_equal(hf_acquire(lock, 5000), 0);
    int fd = hf_lost_fd(lock);
    assert_int_equal(hf_break(b, name, hf_token(lock), 5000), 0);
    assert_int_equal(hf_state(lock), HF_HELD); /* not notified yet */
    assert_int_equal(hf_check(lock, 5000), HF_ELOST);
    assert_int_equal(hf_state(lock), HF_LOST);
    assert_int_equal(hf_token(lock), 0);
    assert_int_equal(hf_left_ms(lock), 0);
    assert_true(readable(fd));
    assert_non_null(strstr(hf_errmsg(a), "lost"));
    assert_int_equal(hf_process(a), 0);
    assert_int_equal(told.lost, 1);
    assert_int_equal(hf_check(lock, 5000), HF_ELOST);
    assert_int_equal(hf_release(lock), HF_ELOST);
    assert_int_equal(hf_check(lock, 5000), HF_ESTATE);

    assert_int_equal(hf_acquire(lock, 5000), 0); /* a new grant is good */
    assert_int_equal(hf_check(lock, 5000), 0);
    assert_int_equal(hf_release(lock), 0);
    hf_close(a);
    hf_close(b);
}

static void test_check_of_a_set(void **state)
{
    const char       *first = recipe_name(), *second = recipe_name();
    struct hf_client *a =
        open_without_keeper(recipe_url(), (struct hf_options)HF_OPTIONS_INIT);
    struct hf_client *b = recipe_open();
    struct hf_lock   *part[] = { recipe_mutex(a, second), recipe_mutex(a, first) };
    struct hf_lock   *both = NULL;

    (void)state;
    assert_int_equal(hf_all_of(part, 2, &both), 0);
    assert_int_equal(hf_check(both, 5000), HF_ESTATE);
    assert_int_equal(hf_acquire(both, 5000), 0);
    assert_int_equal(hf_check(both, 5000), 0);
    assert_int_equal(hf_break(b, second, hf_token(part[0]), 5000), 0);
    assert_int_equal(hf_check(both, 5000), HF_ELOST);
    assert_int_equal(hf_state(both), HF_LOST);
    assert_int_equal(hf_release(both), HF_ELOST);
    hf_lock_free(both);
    hf_close(a);
    hf_close(b);
}

static void test_check_of_a_nested_reader(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a =
        open_without_keeper(recipe_url(), (struct hf_options)HF_OPTIONS_INIT);
    struct hf_client *b = recipe_open();
    struct hf_lock   *writer = recipe_writer(a, name), *reader = recipe_reader(a, name);

    (void)state;
    assert_int_equal(hf_acquire(writer, 5000), 0);
    assert_int_equal(hf_acquire(reader, 5000), 0);
    assert_int_equal(hf_check(reader, 5000), 0);
    assert_int_equal(hf_release(writer), 0); /* the reader keeps the place */
    assert_int_equal(hf_check(writer, 5000), HF_ESTATE);
    assert_int_equal(hf_check(reader, 5000), 0);
    assert_int_equal(hf_break(b, name, hf_token(reader), 5000), 0);
    assert_int_equal(hf_check(reader, 5000), HF_ELOST);
    assert_int_equal(hf_state(reader), HF_LOST);
    assert_int_equal(hf_release(reader), HF_ELOST);
    hf_close(a);
    hf_close(b);
}

static void elected(struct hf_election *election, uint64_t token, void *data)
{
    (void)election;
    (void)token;
    (void)data;
}

static void test_check_of_an_election(void **state)
{
    struct hf_client          *client = recipe_open();
    struct hf_election_options options = HF_ELECTION_INIT;
    struct hf_election        *election = NULL;

    (void)state;
    options.elected = elected;
    assert_int_equal(hf_election_new(client, recipe_name(), &options, &election), 0);
    recipe_await(hf_election_lock(election), HF_HELD);
    assert_int_equal(hf_check(hf_election_lock(election), 5000), 0);
    hf_election_free(election);
    hf_close(client);
}

static void *check_often(void *data)
{
    for (int i = 0; i < 50; i++)
        if (hf_check(data, 5000) != 0)
            return data;
    return NULL;
}

static void test_check_from_any_thread(void **state)
{
    struct hf_client *client = recipe_open();
    struct hf_lock   *lock = recipe_mutex(client, recipe_name());
    pthread_t         thread[4];
    void             *bad = NULL;

    (void)state;
    assert_int_equal(hf_acquire(lock, 5000), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, check_often, lock), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], &bad);
        assert_null(bad);
    }
    assert_int_equal(hf_release(lock), 0);
    hf_close(client);
}

static void test_verify_accepts_only_the_token_of_a_holder(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *held = recipe_mutex(a, name), *next = recipe_mutex(b, name);
    struct hf_report *report = NULL;

    (void)state;
    assert_int_equal(hf_verify(b, name, 0, RECIPE_LIMIT_MS), HF_EINVAL);
    assert_int_equal(hf_verify(b, "a/b", 1, RECIPE_LIMIT_MS), HF_EINVAL);
    assert_int_equal(hf_verify(b, NULL, 1, RECIPE_LIMIT_MS), HF_EINVAL);
    assert_int_equal(hf_verify(b, name, 7, 5000), HF_ELOST);
    assert_int_equal(hf_acquire(held, 5000), 0);
    uint64_t token = hf_token(held);
    assert_int_equal(hf_verify(a, name, token, 5000), 0);
    assert_int_equal(hf_verify(b, name, token, 5000), 0);
    assert_int_equal(hf_acquire_start(next, -1), 0);
    recipe_await_line(a, name, 2);
    assert_int_equal(hf_inspect(a, name, 5000, &report), 0);
    assert_int_equal(hf_verify(a, name, report->entry[1]->token, 5000), HF_ELOST);
    hf_report_free(report);
    assert_int_equal(hf_release(held), 0);
    recipe_await(next, HF_HELD);
    assert_int_equal(hf_verify(a, name, token, 5000), HF_ELOST);
    assert_non_null(strstr(hf_errmsg(a), "token"));
    assert_int_equal(hf_verify(a, name, hf_token(next), 5000), 0);
    hf_close(a);
    hf_close(b);
}

static void test_doctor_reports_store_and_queue(void **state)
{
    const char         *name = recipe_name();
    struct hf_client   *client = recipe_open();
    struct hf_lock     *lock = recipe_mutex(client, name);
    struct hf_findings *store = NULL, *line = NULL;

    (void)state;
    assert_int_equal(hf_acquire(lock, 5000), 0);
    assert_int_equal(hf_doctor(client, NULL, 10000, &store), 0);
    assert_string_equal(recipe_finding(store, "link")->text, "up");
    assert_non_null(strstr(recipe_finding(store, "holdfast")->text, hf_version()));
    for (size_t i = 0; i < store->count; i++) {
        const struct hf_finding *finding = store->finding[i];
        if (finding->level == HF_FAULT)
            fail_msg("%s: %s", finding->about, finding->text);
        assert_true(finding->about[0] != '\0' && finding->text[0] != '\0');
        assert_non_null(finding->advice);
    }
    assert_int_equal(hf_doctor(client, name, 10000, &line), 0);
    assert_true(line->count > store->count);
    assert_string_equal(recipe_finding(line, "versions")->text,
                        "1 client: 1 of Holdfast " VERSION);
    assert_int_equal(hf_doctor(client, "a/b", 1000, &line), HF_EINVAL);
    hf_findings_free(store);
    hf_findings_free(line);
    hf_findings_free(NULL);
    hf_close(client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_of_a_lock_held_and_not_held),
        cmocka_unit_test(test_check_finds_a_broken_lock_lost),
        cmocka_unit_test(test_check_of_a_set),
        cmocka_unit_test(test_check_of_a_nested_reader),
        cmocka_unit_test(test_check_of_an_election),
        cmocka_unit_test(test_check_from_any_thread),
        cmocka_unit_test(test_verify_accepts_only_the_token_of_a_holder),
        cmocka_unit_test(test_doctor_reports_store_and_queue),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
