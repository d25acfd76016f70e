/* time_limits.c - time limits hold against a store that does not answer.
 *
 * The memory store of a client is made to stall: from then on its process() does nothing,
 * so no request is answered.  The SQLite store stalls while a stopped process has its
 * write lock.
 */
#include "lib/killed_holder.h"
#include "unit/lib/stalling_store.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#define LATE 3000 /* ms, on a busy machine */

/* ---- One lock ------------------------------------------------------------------ */

static void assert_took(int64_t start, int64_t least, int64_t most)
{
    int64_t took = recipe_ms() - start;

    assert_in_range(took, least, most);
}

/* The fastest of several tries counts: the machine may be busy. */
static void assert_in_time(struct hf_lock *lock, int64_t limit, int64_t most)
{
    int64_t quickest = INT64_MAX;

    for (int i = 0; i < 10 && quickest > most; i++) {
        int64_t start = recipe_ms();
        int     r = hf_acquire(lock, limit);
        int64_t took = recipe_ms() - start;
        assert_true(r == HF_ETIMEOUT || r == HF_EDOWN);
        assert_int_equal(hf_token(lock), 0);
        quickest = took < quickest ? took : quickest;
    }
    print_message("acquire(%d ms) returned after %d ms\n", (int)limit, (int)quickest);
    assert_in_range(quickest, limit - 1, most);
}

static void acquire_against(unsigned flags)
{
    struct hf_client *client = stalling_store_open(flags, "memory:stalled");
    struct hf_lock   *lock = recipe_mutex(client, "one");

    assert_int_equal(hf_acquire(lock, 1000), 0);
    assert_int_equal(hf_release(lock), 0);
    stalling_store.stalled = true;
    assert_in_time(lock, 100, 200);
    assert_in_time(lock, 100, 200); /* the LEAVE of the one before is still pending */
    struct hf_report *report = NULL;
    int64_t           start = recipe_ms();
    int               r = hf_inspect(client, "one", 100, &report);
    assert_true(r == HF_ETIMEOUT || r == HF_EDOWN);
    assert_took(start, 99, LATE);
    stalling_store_close(client);
}

static void test_acquire_with_a_keeper_ends_in_time(void **state)
{
    (void)state;
    acquire_against(0);
}

static void test_acquire_without_a_keeper_ends_in_time(void **state)
{
    (void)state;
    acquire_against(HF_NO_KEEPER);
}

/* Without an answer it is neither held nor lost. */
static void test_check_of_a_stalled_store_ends_in_time(void **state)
{
    struct hf_client   *client = stalling_store_open(0, "memory:stalled");
    struct hf_lock     *lock = recipe_mutex(client, "checked");
    struct hf_findings *findings = NULL;

    (void)state;
    assert_int_equal(hf_acquire(lock, 1000), 0);
    stalling_store.stalled = true;
    int64_t start = recipe_ms();
    int     r = hf_check(lock, 100);
    assert_true(r == HF_ETIMEOUT || r == HF_EDOWN);
    assert_took(start, 99, LATE);
    assert_int_equal(hf_state(lock), HF_HELD);
    r = hf_verify(client, "checked", hf_token(lock), 100);
    assert_true(r == HF_ETIMEOUT || r == HF_EDOWN);
    assert_int_equal(hf_doctor(client, NULL, 100, &findings), 0);
    assert_string_equal(findings->finding[findings->count - 1]->about, "link");
    assert_int_equal(findings->finding[findings->count - 1]->level, HF_FAULT);
    hf_findings_free(findings);
    stalling_store.stalled = false;
    assert_int_equal(hf_check(lock, 5000), 0);
    assert_int_equal(hf_release(lock), 0);
    hf_close(client);
}

/* As holdfast.h says: before the deadline nobody knows whether the LEAVE arrived; the
 * handle goes on leaving. */
static void test_a_release_without_an_answer_ends_at_the_deadline(void **state)
{
    struct hf_client *client = stalling_store_open(0, "memory:stalled?lease=300");
    struct hf_lock   *lock = recipe_mutex(client, "one");
    struct hf_lock   *late = recipe_mutex(client, "late");
    struct hf_lock   *parts[] = { recipe_mutex(client, "two"),
                                  recipe_mutex(client, "three") };
    struct hf_lock   *all = NULL;
    struct hf_lock   *writer = recipe_writer(client, "four");

    (void)state;
    assert_int_equal(hf_all_of(parts, 2, &all), 0);
    assert_int_equal(hf_acquire(lock, 1000), 0);
    assert_int_equal(hf_acquire(late, 1000), 0);
    assert_int_equal(hf_acquire(all, 1000), 0);
    assert_int_equal(hf_acquire(writer, 1000), 0);
    stalling_store.stalled = true;
    assert_int_equal(hf_release(lock), HF_EDOWN);
    assert_int_equal(hf_state(lock), HF_LEAVING);
    assert_int_equal(hf_release(lock), HF_ESTATE);
    assert_int_equal(hf_acquire_start(lock, 1000), HF_ESTATE);
    assert_int_equal(hf_release(late), HF_ELOST); /* the deadline has passed by now */
    int r = hf_release(all);
    assert_int_equal(r, HF_ELOST);
    assert_int_equal(hf_downgrade(writer), HF_ELOST);
    assert_int_equal(hf_release_start(writer), 0);
    stalling_store.stalled = false;
    for (int64_t start = recipe_ms(); hf_state(lock) != HF_IDLE; usleep(1000))
        assert_true(recipe_ms() < start + 10000);
    stalling_store_close(client);
}

static void test_check_of_an_expired_lease_needs_no_answer(void **state)
{
    struct hf_client *client = stalling_store_open(0, "memory:stalled-lease?lease=500");
    struct hf_lock   *lock = recipe_mutex(client, "checked");

    (void)state;
    assert_int_equal(hf_acquire(lock, 1000), 0);
    stalling_store.stalled = true;
    assert_int_equal(hf_check(lock, -1), HF_ELOST);
    assert_int_equal(hf_state(lock), HF_LOST);
    stalling_store_close(client);
}

static void test_after_the_stall_nothing_of_the_wait_is_left(void **state)
{
    struct hf_client *client = stalling_store_open(0, "memory:stalled");
    struct hf_lock   *lock = recipe_mutex(client, "two");

    (void)state;
    stalling_store.stalled = true;
    assert_int_equal(hf_acquire(lock, 50), HF_ETIMEOUT);
    stalling_store.stalled = false;
    assert_int_equal(hf_acquire(lock, 5000), 0);
    recipe_await_line(client, "two", 1);
    assert_int_equal(hf_release(lock), 0);
    recipe_await_line(client, "two", 0);
    hf_close(client);
}

/* ---- Several ------------------------------------------------------------------- */

static struct hf_lock *three(struct hf_client *client)
{
    struct hf_lock *part[] = { recipe_mutex(client, "x"), recipe_mutex(client, "y"),
                               recipe_mutex(client, "z") };
    struct hf_lock *all = NULL;

    assert_int_equal(hf_all_of(part, 3, &all), 0);
    return all;
}

static void test_all_of_on_a_stalled_store_ends_in_time(void **state)
{
    struct hf_client *client = stalling_store_open(0, "memory:stalled");
    struct hf_lock   *all = three(client);

    (void)state;
    stalling_store.stalled = true;
    assert_in_time(all, 1000, 1500);
    assert_int_equal(hf_state(all), HF_IDLE);
    stalling_store_close(client);
}

static void test_all_of_without_blocking_ends_in_time(void **state)
{
    struct hf_client *client = stalling_store_open(0, "memory:stalled");
    struct hf_lock   *all = three(client);

    (void)state;
    stalling_store.stalled = true;
    int64_t start = recipe_ms();
    assert_int_equal(hf_acquire_start(all, 100), 0);
    recipe_await(all, HF_LEAVING);
    assert_took(start, 99, LATE);
    assert_int_equal(hf_why(all), HF_ETIMEOUT);
    stalling_store.stalled = false;
    recipe_await(all, HF_IDLE);
    assert_int_equal(hf_why(all), HF_ETIMEOUT);
    hf_close(client);
}

/* Some parts are held by then.  Their LEAVEs are not answered either. */
static void test_all_of_ends_in_time_if_the_store_stalls_in_between(void **state)
{
    (void)state;
    for (int held = 1; held < 3; held++) {
        struct hf_client *client = stalling_store_open(0, "memory:stalled");
        struct hf_lock   *all = three(client);
        stalling_store.grants = held;
        stalling_store.stalled = true;
        int64_t start = recipe_ms();
        assert_int_equal(hf_acquire(all, 300), HF_ETIMEOUT);
        assert_took(start, 299, LATE);
        stalling_store.stalled = false;
        assert_int_equal(hf_acquire(all, 5000), 0); /* it works again */
        assert_int_equal(hf_release(all), 0);
        recipe_await_line(client, "x", 0);
        hf_close(client);
    }
}

/* ---- The SQLite store ---------------------------------------------------------- */

static int keep_the_write_lock(const char *path, int mouth)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0 || flock(fd, LOCK_EX) < 0 || write(mouth, "g", 1) != 1)
        return 1;
    for (;;)
        pause();
}

static void test_acquire_ends_in_time_if_another_process_keeps_the_write_lock(
    void **state)
{
    const char *base = getenv("TMPDIR");
    char        folder[256], url[300], live[300], command[300];
    int         ear;

    (void)state;
    snprintf(folder, sizeof folder, "%s/stalled.XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(url, sizeof url, "sqlite:%s/locks.db", folder);
    snprintf(live, sizeof live, "%s/locks.db-live", folder);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    struct hf_client *client = NULL;
    assert_int_equal(hf_open(url, NULL, &client), 0);
    struct hf_lock *lock = recipe_mutex(client, "one"), *all = three(client);
    assert_int_equal(hf_acquire(lock, 1000), 0);
    assert_int_equal(hf_release(lock), 0);

    pid_t pid = recipe_fork(keep_the_write_lock, live, &ear);
    assert_int_equal(recipe_hear(ear), 'g');
    assert_int_equal(kill(pid, SIGSTOP), 0);
    for (int i = 0; i < 4; i++)
        assert_in_time(lock, 100, 200);
    assert_in_time(all, 1000, 1500);

    assert_int_equal(kill(pid, SIGKILL), 0);
    waitpid(pid, NULL, 0);
    close(ear);
    assert_int_equal(hf_acquire(lock, 5000), 0); /* the dead process has no write lock */
    hf_close(client);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acquire_with_a_keeper_ends_in_time),
        cmocka_unit_test(test_acquire_without_a_keeper_ends_in_time),
        cmocka_unit_test(test_check_of_a_stalled_store_ends_in_time),
        cmocka_unit_test(test_a_release_without_an_answer_ends_at_the_deadline),
        cmocka_unit_test(test_check_of_an_expired_lease_needs_no_answer),
        cmocka_unit_test(test_after_the_stall_nothing_of_the_wait_is_left),
        cmocka_unit_test(test_all_of_on_a_stalled_store_ends_in_time),
        cmocka_unit_test(test_all_of_without_blocking_ends_in_time),
        cmocka_unit_test(test_all_of_ends_in_time_if_the_store_stalls_in_between),
        cmocka_unit_test(
            test_acquire_ends_in_time_if_another_process_keeps_the_write_lock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
