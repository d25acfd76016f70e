/* waiting.c - waiters that leave, many waiters, and waiters in other processes. */
#include "lib/killed_holder.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- Leaving while the lock is handed over ------------------------------------- */

#define ROUNDS 200

struct leaver {
    struct hf_lock    *lock;
    pthread_barrier_t *barrier;
};

static void *leave_at_once(void *data)
{
    struct leaver *leaver = data;

    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(leaver->barrier); /* all three are in the queue */
        for (int k = 0; k < i % 4; k++)
            sched_yield(); /* before or after the release */
        if (hf_cancel(leaver->lock) != 0)
            return "cancel failed";
        pthread_barrier_wait(leaver->barrier);
    }
    return NULL;
}

/* The waiter in the middle cancels while the holder releases.  Whether it was granted
 * before or not, the last waiter must be next. */
static void test_a_waiter_that_cancels_during_a_release_loses_no_wakeup(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *a = recipe_open(), *b = recipe_open(), *c = recipe_open();
    struct hf_lock   *holder = recipe_mutex(a, name), *middle = recipe_mutex(b, name);
    struct hf_lock   *last = recipe_mutex(c, name);
    pthread_barrier_t barrier;
    struct leaver     leaver = { middle, &barrier };
    pthread_t         thread;
    int               granted = 0;

    (void)state;
    pthread_barrier_init(&barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, leave_at_once, &leaver), 0);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(hf_acquire(holder, 10000), 0);
        assert_int_equal(hf_acquire_start(middle, -1), 0);
        recipe_await_line(a, name, 2);
        assert_int_equal(hf_acquire_start(last, -1), 0);
        recipe_await_line(a, name, 3);
        pthread_barrier_wait(&barrier);
        assert_int_equal(hf_release(holder), 0);
        pthread_barrier_wait(&barrier);
        if (hf_state(middle) == HF_HELD) {
            granted++;
            assert_int_equal(hf_state(last), HF_WAITING);
            assert_int_equal(hf_release(middle), 0);
        }
        recipe_await(middle, HF_IDLE);
        recipe_await(last, HF_HELD);
        assert_int_equal(hf_release(last), 0);
    }
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&barrier);
    print_message("the middle waiter was granted the lock in %d of %d rounds\n", granted,
                  ROUNDS);
    recipe_await_line(a, name, 0);
    hf_close(a);
    hf_close(b);
    hf_close(c);
}

/* ---- Many waiters -------------------------------------------------------------- */

#define MANY 1000

static int count_threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    int  count = -2; /* "." and ".." */

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static struct hf_lock *many[MANY];

static void test_a_thousand_waiters_need_no_thread_each(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open();
    struct hf_lock   *holder = recipe_mutex(client, name);
    uint64_t          last;
    int               threads = count_threads();

    (void)state;
    assert_int_equal(hf_acquire(holder, RECIPE_LIMIT_MS), 0);
    last = hf_token(holder);
    for (size_t i = 0; i < MANY; i++) {
        many[i] = recipe_mutex(client, name);
        assert_int_equal(hf_acquire_start(many[i], -1), 0);
    }
    recipe_await_line(client, name, MANY + 1);
    assert_int_equal(count_threads(), threads);
    assert_int_equal(hf_release(holder), 0);
    for (size_t i = 0; i < MANY; i++) {
        recipe_await(many[i], HF_HELD);
        assert_true(hf_token(many[i]) > last);
        last = hf_token(many[i]);
        assert_int_equal(hf_release(many[i]), 0);
    }
    recipe_await_line(client, name, 0);
    hf_close(client);
}

/* ---- Other processes ----------------------------------------------------------- */

static struct hf_lock *mutex_of_child(const char *name)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client;
    struct hf_lock   *lock;

    options.flags = HF_NO_KEEPER;
    if (hf_open(recipe_url(), &options, &client) != 0 ||
        hf_mutex(client, name, &lock) != 0)
        _exit(10);
    return lock;
}

static int wait_for_parent(const char *name, int mouth)
{
    struct hf_lock *lock = mutex_of_child(name);

    if (hf_acquire(lock, 0) != HF_EBUSY)
        return 1;
    if (write(mouth, "b", 1) != 1 || hf_acquire(lock, 10000) != 0)
        return 2;
    return hf_release(lock) == 0 ? 0 : 3;
}

/* A forked child of the holder has a session of its own, and so waits like any other
 * client. */
static void test_a_forked_child_queues_behind_its_parent(void **state)
{
    const char *name = recipe_name();
    int         ear;

    (void)state;
    if (recipe_is_local())
        skip();
    struct hf_client *client = recipe_open();
    struct hf_lock   *lock = recipe_mutex(client, name);
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0);
    pid_t pid = recipe_fork(wait_for_parent, name, &ear);
    assert_int_equal(recipe_hear(ear), 'b');
    recipe_await_line(client, name, 2);
    assert_int_equal(hf_release(lock), 0);
    assert_int_equal(recipe_reap(pid, ear), 0);
    hf_close(client);
}

static int hold_and_release(const char *name, int mouth)
{
    struct hf_lock *lock = mutex_of_child(name);
    sigset_t        set;
    int             number;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (hf_acquire(lock, 5000) != 0 || write(mouth, "h", 1) != 1)
        return 1;
    sigwait(&set, &number);
    return hf_state(lock) == HF_HELD && hf_release(lock) == 0 ? 0 : 2;
}

/* For less than its lease, if the store has leases. */
static void test_a_stopped_process_keeps_its_lock(void **state)
{
    const char *name = recipe_name();
    int         ear;

    (void)state;
    if (recipe_is_local())
        skip();
    pid_t             pid = recipe_fork(hold_and_release, name, &ear);
    struct hf_client *client = recipe_open();
    struct hf_lock   *lock = recipe_mutex(client, name);
    assert_int_equal(recipe_hear(ear), 'h');
    assert_int_equal(kill(pid, SIGSTOP), 0);
    int64_t start = recipe_ms();
    assert_int_equal(hf_acquire(lock, 500), HF_ETIMEOUT);
    assert_in_range(recipe_ms() - start, 499, 2000);
    recipe_await(lock, HF_IDLE);
    assert_int_equal(hf_acquire_start(lock, -1), 0);
    recipe_await_line(client, name, 2);
    assert_int_equal(kill(pid, SIGUSR1), 0);
    assert_int_equal(kill(pid, SIGCONT), 0);
    assert_int_equal(recipe_reap(pid, ear), 0); /* its release succeeded */
    recipe_await(lock, HF_HELD);
    hf_close(client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_waiter_that_cancels_during_a_release_loses_no_wakeup),
        cmocka_unit_test(test_a_thousand_waiters_need_no_thread_each),
        cmocka_unit_test(test_a_forked_child_queues_behind_its_parent),
        cmocka_unit_test(test_a_stopped_process_keeps_its_lock),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
