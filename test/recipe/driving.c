/* driving.c - by one's own loop, by callbacks, by the keeper; and after fork(). */
#include "lib/recipe.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOG_MAX 64

struct story {
    atomic_int    count;
    enum hf_state state[LOG_MAX];
    int           why[LOG_MAX];
    pthread_t     thread;
};

static void on_state(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    struct story *story = data;
    int           n = story->count;

    (void)lock;
    if (n == LOG_MAX)
        return;
    story->thread = pthread_self();
    story->state[n] = state;
    story->why[n] = why;
    story->count = n + 1;
}

/* Turn the caller's own loop until `lock` is in `state`. */
static void loop_until(struct hf_client *client, struct hf_lock *lock,
                       enum hf_state state)
{
    int64_t end = recipe_ms() + 10000;

    while (hf_state(lock) != state && recipe_ms() < end) {
        struct pollfd fd = { .fd = hf_fd(client), .events = POLLIN };
        int           timeout = hf_timeout_ms(client);

        assert_true(fd.fd >= 0);
        poll(&fd, 1, timeout < 0 || timeout > 1000 ? 1000 : timeout);
        assert_int_equal(hf_process(client), 0);
    }
    assert_int_equal(hf_state(lock), state);
}

/* Until it stands in line: at once in a file, after a word or two with a server. */
static void loop_until_second(struct hf_client *client, struct hf_client *other,
                              const char *name)
{
    int64_t end = recipe_ms() + 5000;
    size_t  count = 0;

    while (count < 2 && recipe_ms() < end) {
        struct hf_report *report;
        assert_int_equal(hf_process(client), 0);
        assert_int_equal(hf_inspect(other, name, 5000, &report), 0);
        count = report->count;
        hf_report_free(report);
    }
    assert_int_equal(count, 2);
}

static void test_own_loop(void **state)
{
    const char       *name = recipe_name();
    struct story      story = { .count = 0 };
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *other = recipe_open();
    struct hf_lock   *held = recipe_mutex(other, name);

    (void)state;
    options.flags = HF_NO_KEEPER;
    options.on_state = on_state;
    options.data = &story;
    struct hf_client *client = recipe_open_with(&options);
    struct hf_lock   *lock = recipe_mutex(client, name);

    assert_int_equal(hf_acquire(held, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(lock, -1), 0);
    assert_int_equal(hf_acquire_start(lock, -1), HF_ESTATE);
    assert_int_equal(story.count, 0); /* never from inside the call */
    recipe_await_line(other, name, 1);
    loop_until_second(client, other, name);
    assert_int_equal(hf_release(held), 0);
    loop_until(client, lock, HF_HELD);
    assert_int_equal(hf_release_start(lock), 0);
    loop_until(client, lock, HF_IDLE);
    assert_int_equal(hf_process(client), 0);

    enum hf_state expected[] = { HF_WAITING, HF_HELD, HF_LEAVING, HF_IDLE };
    assert_int_equal(story.count, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(story.state[i], expected[i]);
        assert_int_equal(story.why[i], 0);
    }
    assert_true(pthread_equal(story.thread, pthread_self()));
    hf_close(client);
    hf_close(other);
}

static void test_own_loop_keeps_time(void **state)
{
    const char       *name = recipe_name();
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *other = recipe_open();
    struct hf_lock   *held = recipe_mutex(other, name);

    (void)state;
    options.flags = HF_NO_KEEPER;
    struct hf_client *client = recipe_open_with(&options);
    struct hf_lock   *lock = recipe_mutex(client, name);

    assert_int_equal(hf_acquire(held, RECIPE_LIMIT_MS), 0);
    recipe_await_line(client, name, 1); /* connected */
    assert_int_equal(hf_acquire_start(lock, 60), 0);
    int64_t start = recipe_ms();
    loop_until(client, lock, HF_IDLE);
    assert_in_range(recipe_ms() - start, 55, 2000);
    assert_int_equal(hf_why(lock), HF_ETIMEOUT);
    assert_int_equal(hf_acquire_start(lock, 0), 0);
    loop_until(client, lock, HF_IDLE);
    assert_int_equal(hf_why(lock), HF_EBUSY);
    assert_non_null(strstr(hf_errmsg(client), name));
    /* Blocking calls drive the client themselves. */
    assert_int_equal(hf_acquire(lock, 20), HF_ETIMEOUT);
    assert_int_equal(hf_release(held), 0);
    assert_int_equal(hf_acquire(lock, 5000), 0);
    assert_int_equal(hf_release(lock), 0);
    hf_close(client);
    hf_close(other);
}

static void test_keeper_calls_back(void **state)
{
    const char       *name = recipe_name();
    struct story      story = { .count = 0 };
    struct hf_options options = HF_OPTIONS_INIT;

    (void)state;
    options.on_state = on_state;
    options.data = &story;
    struct hf_client *client = recipe_open_with(&options);
    struct hf_lock   *lock = recipe_mutex(client, name);

    assert_int_equal(hf_acquire_start(lock, -1), 0);
    recipe_await(lock, HF_HELD);
    assert_int_equal(hf_release(lock), 0); /* any thread may: it belongs to none */
    int64_t end = recipe_ms() + 10000;
    while (story.count < 4 && recipe_ms() < end)
        poll(NULL, 0, 1);
    assert_int_equal(story.count, 4);
    assert_false(pthread_equal(story.thread, pthread_self()));
    hf_close(client);
}

static void hang(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    (void)lock;
    (void)state;
    (void)why;
    sem_wait(data);
    sem_post(data); /* only the first one hangs */
}

/* A callback that takes its time must not keep others from hearing of a loss. */
static void test_a_slow_callback_hides_no_loss(void **state)
{
    const char       *name = recipe_name();
    struct hf_options options = HF_OPTIONS_INIT;
    sem_t             gate;

    (void)state;
    sem_init(&gate, 0, 0);
    options.on_state = hang;
    options.data = &gate;
    struct hf_client *client = recipe_open_with(&options), *admin = recipe_open();
    struct hf_lock   *held = recipe_mutex(client, name);
    struct hf_lock   *other = recipe_mutex(client, recipe_name());

    assert_int_equal(hf_acquire(held, RECIPE_LIMIT_MS),
                     0); /* its callback hangs from now on */
    assert_int_equal(hf_break(admin, name, hf_token(held), RECIPE_LIMIT_MS), 0);
    int64_t end = recipe_ms() + 5000;
    while (hf_state(held) == HF_HELD && recipe_ms() < end) {
        assert_int_equal(hf_acquire(other, RECIPE_LIMIT_MS), 0);
        assert_int_equal(hf_release(other), 0);
    }
    assert_int_equal(hf_state(held), HF_LOST);
    sem_post(&gate);
    hf_close(client);
    hf_close(admin);
    sem_destroy(&gate);
}

static void test_cancel_of_an_asynchronous_wait(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open();
    struct hf_lock   *held = recipe_mutex(a, name), *lock = recipe_mutex(b, name);

    (void)state;
    assert_int_equal(hf_acquire(held, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(lock, -1), 0);
    recipe_await_line(a, name, 2);
    assert_int_equal(hf_cancel(lock), 0);
    recipe_await(lock, HF_IDLE);
    assert_int_equal(hf_why(lock), HF_ECANCELED);
    recipe_await_line(a, name, 1);
    assert_int_equal(hf_acquire_start(lock, -1), 0); /* the handle is free again */
    hf_close(b);
    recipe_await_line(a, name, 1);
    hf_close(a);
}

static int call_everything(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_lock   *made = NULL;
    struct hf_report *report = NULL;
    int               wrong = 0;

    wrong |= hf_acquire(lock, 0) != HF_EFORK;
    wrong |= hf_release(lock) != HF_EFORK;
    wrong |= hf_acquire_start(lock, 0) != HF_EFORK;
    wrong |= hf_release_start(lock) != HF_EFORK;
    wrong |= hf_cancel(lock) != HF_EFORK;
    wrong |= hf_mutex(client, "x", &made) != HF_EFORK;
    wrong |= hf_inspect(client, NULL, 0, &report) != HF_EFORK;
    wrong |= hf_break(client, "x", 1, 0) != HF_EFORK;
    wrong |= hf_process(client) != HF_EFORK;
    wrong |= hf_fd(client) != HF_EFORK;
    wrong |= hf_lost_fd(lock) != HF_EFORK;
    wrong |= hf_set_note(lock, "x") != HF_EFORK;
    wrong |= hf_left_ms(lock) != 0;
    wrong |= strstr(hf_errmsg(client), "parent") == NULL;
    hf_lock_free(lock);
    hf_close(client);
    return wrong;
}

static void test_a_forked_child_is_refused_and_ends_nothing(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open(), *other = recipe_open();
    struct hf_lock *lock = recipe_mutex(client, name), *rival = recipe_mutex(other, name);

    (void)state;
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(call_everything(client, lock));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(hf_acquire(rival, 0), HF_EBUSY); /* the child's end ended nothing */
    assert_int_equal(hf_state(lock), HF_HELD);
    assert_int_equal(hf_release(lock), 0);
    assert_int_equal(hf_acquire(rival, RECIPE_LIMIT_MS), 0);
    hf_close(client);
    hf_close(other);
}

static void test_bad_options(void **state)
{
    struct hf_client *client = NULL;
    struct hf_options options = HF_OPTIONS_INIT;
    char              error[256] = "";

    (void)state;
    options.error = error;
    options.error_size = sizeof error;
    assert_int_equal(hf_open("gopher://x", &options, &client), HF_EUNSUPPORTED);
    assert_non_null(strstr(error, "gopher"));
    assert_non_null(strstr(error, "sqlite"));
    assert_int_equal(hf_open("/tmp/x", &options, &client), HF_EINVAL);
    assert_non_null(strstr(error, "sqlite:/"));
    assert_int_equal(hf_open("memory:x?colour=red", &options, &client), HF_EINVAL);
    assert_non_null(strstr(error, "colour"));
    options.flags = 1u << 20;
    assert_int_equal(hf_open("memory:x", &options, &client), HF_EINVAL);
    assert_non_null(strstr(error, "flags"));
    options = (struct hf_options){ .size = 3 };
    assert_int_equal(hf_open("memory:x", &options, &client), HF_EINVAL);
    assert_null(client);
}

/* Several that are started before anybody drives stand in line as they were started. */
static void test_started_in_order(void **state)
{
    const char       *name = recipe_name();
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_lock   *lock[5];
    uint64_t          last = 0;

    (void)state;
    options.flags = HF_NO_KEEPER;
    struct hf_client *client = recipe_open_with(&options);
    for (int i = 0; i < 5; i++)
        lock[i] = recipe_mutex(client, name);
    for (int i = 0; i < 5; i++)
        assert_int_equal(hf_acquire_start(lock[i], -1), 0);
    for (int i = 0; i < 5; i++) {
        loop_until(client, lock[i], HF_HELD);
        assert_true(hf_token(lock[i]) > last);
        last = hf_token(lock[i]);
        assert_int_equal(hf_release_start(lock[i]), 0);
    }
    loop_until(client, lock[4], HF_IDLE);
    hf_close(client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_loop),
        cmocka_unit_test(test_own_loop_keeps_time),
        cmocka_unit_test(test_started_in_order),
        cmocka_unit_test(test_keeper_calls_back),
        cmocka_unit_test(test_a_slow_callback_hides_no_loss),
        cmocka_unit_test(test_cancel_of_an_asynchronous_wait),
        cmocka_unit_test(test_a_forked_child_is_refused_and_ends_nothing),
        cmocka_unit_test(test_bad_options),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
