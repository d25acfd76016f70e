/* fork.c - which descriptors of the library a forked child keeps. */
#include "base/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MANY 40 /* more than the list has room for at first */

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static int some_fd(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

/* As _Fork() does it: without fork handlers. */
static pid_t raw_fork(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static bool holds_in(pid_t (*make_child)(void), bool (*check)(const void *data),
                     const void *data)
{
    pid_t pid = make_child();
    int   status;

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(check(data) ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Does `check` hold in a child? */
static bool in_child(bool (*check)(const void *data), const void *data)
{
    return holds_in(fork, check, data);
}

static bool in_raw_child(bool (*check)(const void *data), const void *data)
{
    return holds_in(raw_fork, check, data);
}

static void guard(int fd)
{
    hf_fork_pause();
    assert_int_equal(hf_fork_guard(fd), 0);
    hf_fork_resume();
}

static void unguard(int fd)
{
    hf_fork_pause();
    hf_fork_unguard(fd);
    hf_fork_resume();
}

static bool all_closed(const void *data)
{
    const int *fd = data;

    for (int i = 0; i < MANY; i++)
        if (is_open(fd[i]) || errno != EBADF)
            return false;
    return true;
}

static void test_guarded_descriptors_are_closed_in_children_only(void **state)
{
    int fd[MANY];

    (void)state;
    for (int i = 0; i < MANY; i++) {
        fd[i] = some_fd();
        guard(fd[i]);
    }
    assert_true(in_child(all_closed, fd));
    for (int i = 0; i < MANY; i++) {
        assert_true(is_open(fd[i]));
        hf_fork_close(fd[i]);
        assert_false(is_open(fd[i]));
    }
}

static bool second_only(const void *data)
{
    const int *fd = data;

    return !is_open(fd[0]) && is_open(fd[1]) && !is_open(fd[2]);
}

static void test_unguarded_descriptors_stay_open(void **state)
{
    int fd[3] = { some_fd(), some_fd(), some_fd() };

    (void)state;
    for (int i = 0; i < 3; i++)
        guard(fd[i]);
    unguard(fd[1]);
    unguard(fd[1]); /* an unknown one is ignored */
    assert_true(in_child(second_only, fd));
    unguard(fd[0]);
    unguard(fd[2]);
    for (int i = 0; i < 3; i++)
        close(fd[i]);
}

/* The child may reuse a number that its fork handler closed. */
static bool still_open(const void *data)
{
    return is_open(*(const int *)data);
}

static bool reuses_number(const void *data)
{
    int fd = *(const int *)data;

    if (is_open(fd) || dup2(STDIN_FILENO, fd) != fd)
        return false;
    return in_child(still_open, &fd);
}

static void test_a_grandchild_does_not_close_a_number_that_the_child_reused(void **state)
{
    int fd = some_fd();

    (void)state;
    guard(fd);
    assert_true(in_child(reuses_number, &fd));
    unguard(fd);
    close(fd);
}

static void test_a_failed_open_is_not_adopted(void **state)
{
    (void)state;
    hf_fork_pause();
    int fd = hf_fork_adopt(open("/nowhere/at/all", O_RDONLY | O_CLOEXEC));
    assert_int_equal(fd, -1);
    assert_int_equal(errno, ENOENT);
    assert_true(in_child(still_open, &(int){ STDIN_FILENO })); /* forks still work */
}

static void *adopt_canceled(void *data)
{
    (void)data;
    pthread_cancel(pthread_self()); /* open() and close() are cancellation points */
    hf_fork_pause();
    int fd = hf_fork_adopt(open("/dev/null", O_RDONLY | O_CLOEXEC));
    hf_fork_close(fd);
    pthread_testcancel();
    return NULL;
}

/* fork() would hang for ever. */
static void test_a_canceled_thread_does_not_block_forks(void **state)
{
    pthread_t thread;
    void     *end;

    (void)state;
    alarm(60);
    assert_int_equal(pthread_create(&thread, NULL, adopt_canceled, NULL), 0);
    assert_int_equal(pthread_join(thread, &end), 0);
    assert_ptr_equal(end, PTHREAD_CANCELED);
    assert_true(in_child(still_open, &(int){ STDIN_FILENO }));
    alarm(0);
}

/* ---- The low numbers ------------------------------------------------------------- */

static bool opens_above(void)
{
    hf_low_take();
    int fd = some_fd();
    hf_low_give();
    close(fd);
    return fd > 2 && !is_open(0) && !is_open(1) && !is_open(2);
}

/* With stdin, stdout and stderr closed. */
static bool lives_closed(const void *data)
{
    (void)data;
    close(0);
    close(2);
    hf_low_take();
    bool above = some_fd() > 2; /* 1 is still open */
    bool deaf = write(2, "x", 1) < 0 && errno == EBADF && read(0, &above, 1) < 0;
    hf_low_give();
    close(1);
    hf_fork_pause();
    int fd = hf_fork_adopt(open("/dev/null", O_RDONLY | O_CLOEXEC));
    return above && deaf && fd > 2 && opens_above();
}

static void test_descriptors_are_not_stdin_stdout_or_stderr(void **state)
{
    (void)state;
    assert_true(in_child(lives_closed, NULL));
}

static bool is_closed(const void *data)
{
    return !is_open(*(const int *)data);
}

/* Meanwhile the program opens a file there, and closes another of the three. */
static bool meanwhile(const void *data)
{
    (void)data;
    close(0);
    close(2);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC); /* 0 */
    hf_low_take();
    hf_low_take(); /* another thread */
    bool put = dup2(null, 2) == 2 && in_child(still_open, &(int){ 2 });
    close(0);
    hf_low_give();
    bool kept = put && is_open(2);
    hf_low_give();
    return kept && is_open(2) && !is_open(0) && write(2, "x", 1) == 1;
}

static void test_a_low_descriptor_of_the_program_stays(void **state)
{
    (void)state;
    assert_true(in_child(meanwhile, NULL));
}

static bool forks_meanwhile(const void *data)
{
    (void)data;
    close(2);
    hf_low_take();
    bool closed = is_open(2) && in_child(is_closed, &(int){ 2 });
    hf_low_give();
    return closed && !is_open(2);
}

static void test_a_child_has_its_low_descriptors_closed(void **state)
{
    (void)state;
    assert_true(in_child(forks_meanwhile, NULL));
}

/* ---- Generations ----------------------------------------------------------------- */

static bool another(const void *data)
{
    return hf_fork_generation() != *(const unsigned *)data;
}

static bool another_in_child_too(const void *data)
{
    unsigned mine = hf_fork_generation();

    return another(data) && in_child(another, &mine) && in_child(another, data) &&
           in_raw_child(another, &mine) && in_raw_child(another, data);
}

static void test_every_generation_has_its_own_number(void **state)
{
    unsigned mine = hf_fork_generation();

    (void)state;
    assert_true(in_child(another_in_child_too, &mine));
    assert_true(in_raw_child(another_in_child_too, &mine));
    assert_int_equal(hf_fork_generation(), mine);
}

static void *generation_of_thread(void *data)
{
    *(unsigned *)data = hf_fork_generation();
    return NULL;
}

static bool same_in_all_threads(const void *data)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    unsigned  seen[THREADS];

    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, generation_of_thread, &seen[i]) != 0)
            return false;
    bool same = another(data);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        same = same && seen[i] == hf_fork_generation();
    }
    return same;
}

/* They may notice at the same time that this is a child. */
static void test_all_threads_of_a_child_see_one_number(void **state)
{
    unsigned mine = hf_fork_generation();

    (void)state;
    for (int i = 0; i < 20; i++)
        assert_true(in_raw_child(same_in_all_threads, &mine));
}

/* It closed the parent's descriptor, and a file of its own has that number now. */
static bool keeps_its_own(const void *data)
{
    int fd = *(const int *)data;

    close(fd);
    return dup2(STDIN_FILENO, fd) == fd && in_child(still_open, &fd) &&
           hf_fork_generation() != 0 && is_open(fd);
}

static void test_a_raw_child_keeps_its_own_files(void **state)
{
    int fd = some_fd();

    (void)state;
    guard(fd);
    assert_true(in_raw_child(keeps_its_own, &fd));
    hf_fork_close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guarded_descriptors_are_closed_in_children_only),
        cmocka_unit_test(test_unguarded_descriptors_stay_open),
        cmocka_unit_test(test_a_grandchild_does_not_close_a_number_that_the_child_reused),
        cmocka_unit_test(test_a_failed_open_is_not_adopted),
        cmocka_unit_test(test_a_canceled_thread_does_not_block_forks),
        cmocka_unit_test(test_descriptors_are_not_stdin_stdout_or_stderr),
        cmocka_unit_test(test_a_low_descriptor_of_the_program_stays),
        cmocka_unit_test(test_a_child_has_its_low_descriptors_closed),
        cmocka_unit_test(test_every_generation_has_its_own_number),
        cmocka_unit_test(test_all_threads_of_a_child_see_one_number),
        cmocka_unit_test(test_a_raw_child_keeps_its_own_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
