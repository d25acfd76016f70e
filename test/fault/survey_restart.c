/* survey_restart.c - all lines are surveyed while a holder dies in silence, and while the server is
 * restarted, with its data or without: nothing is missed.
 */
/* needs redis: standalone */
/* needs redis: standalone --aof */
/* needs postgres: standalone */
#include "lib/promise.h"
#include "lib/surveyor.h"
#include "lib/trio.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define TTL_MS 1000

/* A process that holds "NAME"; it is there when this returns. */
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

/* Nobody waits for what it held, so only a lease tells. */
static void test_a_holder_that_dies_in_silence_is_noticed(void **state)
{
    static struct actor    eye;
    static struct surveyor seen;

    (void)state;
    pid_t pid = start_holder("silent");
    actor_open(&eye, TTL_MS, "eye");
    surveyor_start(&seen, eye.client, "silent");
    surveyor_await(&seen, "silent", 1, 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    hf_time start = hf_now();
    surveyor_await(&seen, "silent", 0, 0);
    assert_true(hf_now() - start < 4 * TTL_MS * HF_MS);
    surveyor_stop(&seen);
    actor_close(&eye);
    witness_empty();
}

/* What happened meanwhile is seen, and what happens from then on. */
static void test_a_restart_is_survived(void **state)
{
    static struct actor    a, eye;
    static struct surveyor seen;

    (void)state;
    actor_open(&a, 3 * TTL_MS, "kept");
    actor_open(&eye, 3 * TTL_MS, "eye");
    actor_take(&a);
    surveyor_start(&seen, eye.client, "kept");
    surveyor_await(&seen, "kept", 1, 0);
    for (int i = 0; i < 2; i++) {
        witness_tell("restart");
        int r = hf_release(a.lock);
        assert_true(r == 0 || r == HF_ELOST);
        surveyor_await(&seen, "kept", 0, 0);
        actor_take(&a);
        surveyor_await(&seen, "kept", 1, 0);
    }
    surveyor_stop(&seen);
    actor_give(&a);
    actor_close(&a);
    actor_close(&eye);
    witness_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_holder_that_dies_in_silence_is_noticed),
        cmocka_unit_test(test_a_restart_is_survived),
    };

    witness_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
