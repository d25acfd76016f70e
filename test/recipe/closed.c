/* closed.c - a program that has closed stdin, stdout and stderr: its writes to these must
 * not reach any file or socket of the library. */
#include "lib/recipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FINE 42

static atomic_bool over;

static bool is_free(int fd)
{
    return fcntl(fd, F_GETFD) < 0 && errno == EBADF;
}

/* How many of 0, 1 and 2 are open; `usable`: can be read or written. */
static int count_taken(bool usable)
{
    int count = 0;

    for (int fd = 0; fd <= 2; fd++) {
        int flags = fcntl(fd, F_GETFL);
        count += flags >= 0 && (!usable || (flags & O_PATH) == 0);
    }
    return count;
}

/* A thread that writes warnings to stderr, and counts writes that succeed.  It calls the
 * kernel directly: to write to a number that the library may be closing is the point here,
 * and TSan would report it as a race. */
static void *warn(void *data)
{
    struct timespec pause = { .tv_nsec = 100000 };
    intptr_t        written = 0;

    (void)data;
    while (!over) {
        written += syscall(SYS_write, STDERR_FILENO, "warning\n", 8) > 0;
        nanosleep(&pause, NULL);
    }
    return (void *)written; // NOLINT(performance-no-int-to-ptr): a number
}

static bool all_free_soon(void)
{
    struct timespec pause = { .tv_nsec = 1000000 };

    for (int ms = 0; ms < RECIPE_LIMIT_MS && count_taken(false) > 0; ms++)
        nanosleep(&pause, NULL);
    return count_taken(false) == 0;
}

static int use_store(struct hf_client *client, const char *name)
{
    struct hf_lock *lock;

    if (hf_mutex(client, name, &lock) != 0 || hf_acquire(lock, RECIPE_LIMIT_MS) != 0)
        return 2;
    if (hf_lost_fd(lock) <= 2 || hf_ask_fd(lock) <= 2 || hf_fd(client) <= 2)
        return 3;
    poll(NULL, 0,
         50); /* the SQLite store opens more files when a lock is held for a while */
    if (!all_free_soon())
        return 4;
    return hf_release(lock) == 0 ? 0 : 5;
}

/* Two clients: one waits for the other.  So the store watches for the death of both. */
static int live_closed(const char *name)
{
    struct hf_client *first = NULL, *second = NULL;
    pthread_t         thread;
    void             *written;

    for (int fd = 0; fd <= 2; fd++)
        close(fd);
    if (pthread_create(&thread, NULL, warn, NULL) != 0)
        return 6;
    int r = hf_open(recipe_url(), NULL, &first) == 0 ? use_store(first, name) : 1;
    if (r == 0)
        r = hf_open(recipe_url(), NULL, &second) == 0 ? use_store(second, name) : 1;
    struct hf_lock *held = NULL, *waits = NULL;
    if (r == 0 &&
        (hf_mutex(first, name, &held) != 0 || hf_acquire(held, RECIPE_LIMIT_MS) != 0 ||
         hf_mutex(second, name, &waits) != 0 || hf_acquire(waits, 100) != HF_ETIMEOUT ||
         count_taken(true) != 0))
        r = 7;
    hf_close(first);
    hf_close(second);
    over = true;
    pthread_join(thread, &written);
    if (r == 0 && written != NULL)
        r = 8;
    return r != 0 ? r : all_free_soon() && is_free(2) ? FINE : 9;
}

static void test_no_descriptor_of_ours_is_below_three(void **state)
{
    const char *name = recipe_name();
    int         status = 0;
    pid_t       pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(live_closed(name));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), FINE);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_descriptor_of_ours_is_below_three),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
