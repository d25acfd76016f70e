/* inherited.c - a program that the user starts inherits no descriptor of the library.
 *
 * fork() closes those that keep a lock alive (base/fork.h), but posix_spawn() and vfork()
 * do not get that far: only FD_CLOEXEC helps there.  A program that inherits such a
 * descriptor may keep a lock for ever.
 */
#include "lib/recipe.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FDS 256

/* The descriptors that are open, but for that of the folder itself. */
static void read_open(bool ret[FDS])
{
    DIR *folder = opendir("/proc/self/fd");

    assert_non_null(folder);
    for (int fd = 0; fd < FDS; fd++)
        ret[fd] = false;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        int fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && fd != dirfd(folder) && fd < FDS)
            ret[fd] = true;
    }
    closedir(folder);
}

/* How many were opened since `before`; each must be closed by exec(). */
static int check_new_ones(const bool before[FDS])
{
    bool now[FDS];
    int  count = 0;

    read_open(now);
    for (int fd = 0; fd < FDS; fd++) {
        int flags = now[fd] && !before[fd] ? fcntl(fd, F_GETFD) : -1;
        if (flags < 0)
            continue; /* an old one, or one that was closed meanwhile */
        if ((flags & FD_CLOEXEC) == 0)
            print_error("a program would inherit descriptor %d\n", fd);
        assert_true(flags & FD_CLOEXEC);
        count++;
    }
    return count;
}

static void test_a_program_inherits_no_descriptor_of_ours(void **state)
{
    bool before[FDS];

    (void)state;
    read_open(before);
    const char       *name = recipe_name();
    struct hf_client *first = recipe_open(), *second = recipe_open();
    struct hf_lock   *holds = recipe_mutex(first, name);
    struct hf_lock   *waits = recipe_mutex(second, name);

    assert_int_equal(hf_acquire(holds, RECIPE_LIMIT_MS), 0);
    assert_true(hf_lost_fd(holds) > 2 && hf_ask_fd(holds) > 2 && hf_fd(first) > 2);
    assert_int_equal(hf_acquire_start(waits, -1), 0);
    recipe_await_line(first, name, 2);
    assert_true(check_new_ones(before) >= 4);
    poll(NULL, 0, 50); /* the SQLite store opens more when a lock is held for a while */
    assert_true(check_new_ones(before) >= 4);
    hf_close(second);
    hf_close(first);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_program_inherits_no_descriptor_of_ours),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
