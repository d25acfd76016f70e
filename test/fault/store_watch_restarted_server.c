/* store_watch_restarted_server.c - a store watch misses nothing when a holder is
 * killed, nor when the server is restarted, with its data or without.
 */
/* needs redis: standalone */
/* needs redis: standalone --aof */
/* needs postgres: standalone */
/* needs mariadb: standalone */
#include "lib/promise.h"
#include "lib/store_watcher.h"
#include "lib/three_clients.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define TTL_MS 1000

/* Start a process that holds the lock; returns when it does. */
static pid_t start_holder(const char *name)
{
    static struct actor holder;
    int                 ready[2];
    char                byte;

    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        actor_open(&holder, TTL_MS, name);
        actor_take(&holder);
        if (write(ready[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

/* Nobody waits for its lock, so the lease has to run out. */
static void test_a_holder_that_was_killed_is_noticed(void **state)
{
    static struct actor         watcher;
    static struct store_watcher seen;

    (void)state;
    pid_t pid = start_holder("silent");
    actor_open(&watcher, TTL_MS, "watcher");
    store_watcher_start(&seen, watcher.client, "silent");
    store_watcher_await(&seen, "silent", 1, 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    hf_time start = hf_now();
    store_watcher_await(&seen, "silent", 0, 0);
    assert_true(hf_now() - start < 4 * TTL_MS * HF_MS);
    store_watcher_stop(&seen);
    actor_close(&watcher);
    server_expect_empty();
}

static void test_changes_around_a_restart_are_reported(void **state)
{
    static struct actor         a, watcher;
    static struct store_watcher seen;

    (void)state;
    actor_open(&a, 3 * TTL_MS, "kept");
    actor_open(&watcher, 3 * TTL_MS, "watcher");
    actor_take(&a);
    store_watcher_start(&seen, watcher.client, "kept");
    store_watcher_await(&seen, "kept", 1, 0);
    for (int i = 0; i < 2; i++) {
        server_tell("restart");
        int r = actor_release(&a);
        assert_true(r == 0 || r == HF_ELOST);
        store_watcher_await(&seen, "kept", 0, 0);
        actor_take(&a);
        store_watcher_await(&seen, "kept", 1, 0);
    }
    store_watcher_stop(&seen);
    actor_give(&a);
    actor_close(&a);
    actor_close(&watcher);
    server_expect_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_holder_that_was_killed_is_noticed),
        cmocka_unit_test(test_changes_around_a_restart_are_reported),
    };

    server_find();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
