/* driving.c - clients driven by a loop of the caller, by the keeper, and after fork(). */
#include "lib/recipe.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOG_MAX 64

struct events {
    atomic_int    count;
    enum hf_state state[LOG_MAX];
    int           why[LOG_MAX];
    pthread_t     thread;
};

static void on_state(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    struct events *events = data;
    int            n = events->count;

    (void)lock;
    if (n == LOG_MAX)
        return;
    events->thread = pthread_self();
    events->state[n] = state;
    events->why[n] = why;
    events->count = n + 1;
}

/* Run a loop of the caller until `lock` is in `state`. */
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

/* Until it is second in the queue: at once in a file, after a message or two with a
 * server. */
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

static void test_a_loop_of_the_caller_drives_the_client(void **state)
{
    const char       *name = recipe_name();
    struct events     events = { .count = 0 };
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *other = recipe_open();
    struct hf_lock   *held = recipe_mutex(other, name);

    (void)state;
    options.flags = HF_NO_KEEPER;
    options.on_state = on_state;
    options.data = &events;
    struct hf_client *client = recipe_open_with(&options);
    struct hf_lock   *lock = recipe_mutex(client, name);

    assert_int_equal(hf_acquire(held, RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(lock, -1), 0);
    assert_int_equal(hf_acquire_start(lock, -1), HF_ESTATE);
    assert_int_equal(events.count, 0); /* never from inside the call */
    recipe_await_line(other, name, 1);
    loop_until_second(client, other, name);
    assert_int_equal(hf_release(held), 0);
    loop_until(client, lock, HF_HELD);
    assert_int_equal(hf_release_start(lock), 0);
    loop_until(client, lock, HF_IDLE);
    assert_int_equal(hf_process(client), 0);

    enum hf_state expected[] = { HF_WAITING, HF_HELD, HF_LEAVING, HF_IDLE };
    assert_int_equal(events.count, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(events.state[i], expected[i]);
        assert_int_equal(events.why[i], 0);
    }
    assert_true(pthread_equal(events.thread, pthread_self()));
    hf_close(client);
    hf_close(other);
}

static void test_a_loop_of_the_caller_keeps_time_limits(void **state)
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

static void test_the_keeper_calls_back(void **state)
{
    const char       *name = recipe_name();
    struct events     events = { .count = 0 };
    struct hf_options options = HF_OPTIONS_INIT;

    (void)state;
    options.on_state = on_state;
    options.data = &events;
    struct hf_client *client = recipe_open_with(&options);
    struct hf_lock   *lock = recipe_mutex(client, name);

    assert_int_equal(hf_acquire_start(lock, -1), 0);
    recipe_await(lock, HF_HELD);
    assert_int_equal(hf_release(lock),
                     0); /* any thread may: it was started without an owner */
    int64_t end = recipe_ms() + 10000;
    while (events.count < 4 && recipe_ms() < end)
        poll(NULL, 0, 1);
    assert_int_equal(events.count, 4);
    assert_false(pthread_equal(events.thread, pthread_self()));
    hf_close(client);
}

struct hang {
    sem_t begun, gate;
};

static void hang(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    struct hang *hang = data;

    (void)lock;
    (void)state;
    (void)why;
    sem_post(&hang->begun);
    sem_wait(&hang->gate);
    sem_post(&hang->gate); /* only the first call hangs */
}

static void test_a_slow_callback_does_not_delay_the_report_of_a_loss(void **state)
{
    const char       *name = recipe_name();
    struct hf_options options = HF_OPTIONS_INIT;
    struct hang       hung;

    (void)state;
    sem_init(&hung.begun, 0, 0);
    sem_init(&hung.gate, 0, 0);
    options.on_state = hang;
    options.data = &hung;
    struct hf_client *client = recipe_open_with(&options), *admin = recipe_open();
    struct hf_lock   *held = recipe_mutex(client, name);
    struct hf_lock   *other = recipe_mutex(client, recipe_name());

    assert_int_equal(hf_acquire(held, RECIPE_LIMIT_MS), 0);
    while (sem_wait(&hung.begun) < 0) /* from now on the keeper polls no more */
        continue;
    assert_int_equal(hf_break(admin, name, hf_token(held), RECIPE_LIMIT_MS), 0);
    /* In a file the news is there when hf_break() returns, so few calls are enough. */
    bool    file = strncmp(recipe_url(), "sqlite:", 7) == 0;
    int64_t end = recipe_ms() + 5000;
    for (int calls = 0; hf_state(held) == HF_HELD && recipe_ms() < end; calls++) {
        assert_true(calls < 10 || !file);
        assert_int_equal(hf_acquire(other, RECIPE_LIMIT_MS), 0);
        assert_int_equal(hf_release(other), 0);
    }
    assert_int_equal(hf_state(held), HF_LOST);
    sem_post(&hung.gate);
    hf_close(client);
    hf_close(admin);
    sem_destroy(&hung.begun);
    sem_destroy(&hung.gate);
}

static void test_a_wait_without_blocking_is_canceled(void **state)
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
    assert_int_equal(hf_acquire_start(lock, -1), 0); /* the handle can be used again */
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

/* As _Fork() does it: without fork handlers. */
static pid_t raw_fork(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void child_is_refused(pid_t (*make_child)(void))
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open(), *other = recipe_open();
    struct hf_lock *lock = recipe_mutex(client, name), *rival = recipe_mutex(other, name);

    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    pid_t child = make_child();
    if (child == 0)
        _exit(call_everything(client, lock));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(hf_acquire(rival, 0),
                     HF_EBUSY); /* the exit of the child released nothing */
    assert_int_equal(hf_state(lock), HF_HELD);
    assert_int_equal(hf_release(lock), 0);
    assert_int_equal(hf_acquire(rival, RECIPE_LIMIT_MS), 0);
    hf_close(client);
    hf_close(other);
}

static void test_a_forked_child_is_refused_and_ends_no_session(void **state)
{
    (void)state;
    child_is_refused(fork);
    child_is_refused(raw_fork);
}

static void test_bad_options_are_refused(void **state)
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

/* Also if nobody drives the client in between. */
static void test_locks_queue_in_the_order_they_were_started(void **state)
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
        cmocka_unit_test(test_a_loop_of_the_caller_drives_the_client),
        cmocka_unit_test(test_a_loop_of_the_caller_keeps_time_limits),
        cmocka_unit_test(test_locks_queue_in_the_order_they_were_started),
        cmocka_unit_test(test_the_keeper_calls_back),
        cmocka_unit_test(test_a_slow_callback_does_not_delay_the_report_of_a_loss),
        cmocka_unit_test(test_a_wait_without_blocking_is_canceled),
        cmocka_unit_test(test_a_forked_child_is_refused_and_ends_no_session),
        cmocka_unit_test(test_bad_options_are_refused),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
