/* fork.c - a process forks while it holds a lock: the child cannot use the lock, and
 * nothing that the child does affects the parent or the server. */
/* needs: standalone --tick 200 --config maxSessionTimeout=12000 */
#include "lib/clients.h"
#include "lib/promise.h"
#include "lib/witness.h"
#include "lib/zkproxy.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static struct actor held;

/* Run it in a child, whose exit status must be 0. */
static void run_child(void (*body)(void))
{
    int status;

    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(20);
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void use_it(void)
{
    must(hf_acquire(held.lock, 100) == HF_EFORK);
    must(hf_release(held.lock) == HF_EFORK);
    must(hf_check(held.lock, 100) == HF_EFORK);
    must(hf_left_ms(held.lock) <= 0);
}

static void close_it(void)
{
    hf_lock_free(held.lock);
    hf_close(held.client);
}

static void use_own(void)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client;
    struct hf_lock   *lock;
    char              url[64];

    snprintf(url, sizeof url, "zk://%s", witness_server());
    must(hf_open(url, &options, &client) == 0);
    must(hf_mutex(client, "fork", &lock) == 0);
    must(hf_acquire(lock, 200) == HF_ETIMEOUT);
    hf_lock_free(lock);
    hf_close(client);
}

static void child_cannot_use_the_lock(void **state)
{
    static void (*const bodies[])(void) = { use_it, close_it, use_own };

    (void)state;
    actor_open_zk(&held, witness_server(), "fork");
    actor_take(&held);
    for (int times = 0; times < 9; times++) {
        run_child(bodies[times % 3]);
        assert_int_equal(hf_check(held.lock, ACTOR_LIMIT_MS), 0);
        assert_int_equal(witness_count("/fork"), 1);
    }
    assert_int_equal(held.lost, 0);
    actor_give(&held);
    actor_close(&held);
    assert_int_equal(witness_count("/fork"), 0);
}

/* A child that lives on keeps no connection of the parent open: when the parent dies, the
 * server notices, and its session starts to expire. */
static void child_keeps_no_connection_open(void **state)
{
    struct zkproxy *proxy = zkproxy_start(witness_server());
    struct actor    next;
    struct child    child;

    (void)state;
    actor_open_zk(&held, zkproxy_address(proxy), "open");
    actor_take(&held);
    fflush(NULL);
    child.pid = fork();
    if (child.pid == 0) {
        alarm(20);
        pause();
        _exit(0);
    }
    zkproxy_drop(proxy); /* again, with new descriptors in the parent */
    assert_int_equal(hf_check(held.lock, ACTOR_LIMIT_MS), 0);
    actor_open_zk(&next, witness_server(), "open");
    actor_queue_zk(&next, 2);
    actor_close(&held);
    actor_await(&next, HF_HELD);
    kill(child.pid, SIGKILL);
    waitpid(child.pid, NULL, 0);
    actor_give(&next);
    actor_close(&next);
    zkproxy_stop(proxy);
}

/* Also while the keeper thread is connecting or waiting for an answer. */
static void fork_at_any_time(void **state)
{
    struct zkproxy *proxy = zkproxy_start(witness_server());

    (void)state;
    for (int times = 0; times < 20; times++) {
        actor_open_zk(&held, zkproxy_address(proxy), "any");
        assert_int_equal(hf_acquire_start(held.lock, ACTOR_LIMIT_MS), 0);
        for (hf_time end = hf_now() + times * HF_MS / 4; hf_now() < end;)
            continue;
        run_child(close_it);
        if (times % 4 == 0)
            zkproxy_drop(proxy);
        actor_await(&held, HF_HELD);
        run_child(close_it);
        actor_give(&held);
        actor_close(&held);
        assert_int_equal(witness_count("/any"), 0);
    }
    zkproxy_stop(proxy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_cannot_use_the_lock),
        cmocka_unit_test(child_keeps_no_connection_open),
        cmocka_unit_test(fork_at_any_time),
    };

    witness_server();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
