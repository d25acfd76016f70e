/* fence_file.c - hf_fence_file(): what it accepts, what it refuses, and what it leaves
 * behind. */
/* one thread */
#include "unit/lib/fence_folder.h"

#include "holdfast.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void test_tokens_only_rise(void **state)
{
    (void)state;
    fence_assert_claims("data", 17);
    assert_string_equal(fence_read("data.fence"), "17\n");
    fence_assert_claims("data", 17);
    fence_assert_claims("data", 20);
    assert_int_equal(fence_try("data", 19, 0), HF_ELOST);
    fence_assert_says("token 19 is stale");
    fence_assert_says("token 20");
    fence_assert_says("/data ");
    assert_true(hf_err_lost(HF_ELOST));
    fence_assert_claims("other", 1);
    fence_assert_claims("data", UINT64_MAX);
    assert_string_equal(fence_read("data.fence"), "18446744073709551615\n");
    assert_int_equal(fence_try("data", UINT64_MAX - 1, 0), HF_ELOST);
    assert_int_equal(hf_fence_file(fence_path("data"), 1, 0, NULL, 0), HF_ELOST);
}

static void test_others_wait_until_it_is_closed(void **state)
{
    (void)state;
    int fd = fence_try("data", 5, 0);
    assert_true(fd > 2);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    assert_int_equal(fence_try("data", 6, 0), HF_EBUSY);
    fence_assert_says("/data");
    assert_int_equal(fence_try("data", 4, 0), HF_EBUSY);
    assert_int_equal(fence_try("data", 6, 30), HF_ETIMEOUT);
    assert_string_equal(fence_read("data.fence"), "5\n");
    fence_assert_claims("other", 6);
    close(fd);
    fence_assert_claims("data", 6);
}

/* Has the process opened the lock file? */
static bool waits(pid_t child)
{
    char path[64], target[600];

    for (int fd = 3; fd < 20; fd++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)child, fd);
        ssize_t n = readlink(path, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        if (strstr(target, "data.fence.lock") != NULL &&
            strstr(target, "deleted") == NULL)
            return true;
    }
    return false;
}

/* A process that waited for the lock of a file that is gone has not got the fence. */
static void test_the_lock_file_is_replaced_meanwhile(void **state)
{
    struct timespec moment = { .tv_nsec = 1000000 };
    int             status, ends[2];
    char            byte;

    (void)state;
    int first = fence_try("data", 1, 0);
    assert_true(first >= 0);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(first);
        close(ends[1]); /* tells the parent that */
        _exit(fence_try("data", 3, 1000) == HF_ETIMEOUT ? 0 : 1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    for (int i = 0; i < 5000 && !waits(child); i++)
        nanosleep(&moment, NULL);
    assert_int_equal(unlink(fence_path("data.fence.lock")), 0);
    int second = fence_try("data", 2, 0);
    assert_true(second >= 0);
    close(first);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(second);
    assert_string_equal(fence_read("data.fence"), "2\n");
}

/* The file is what it was: nothing is reset. */
static void test_a_damaged_file_is_an_error(void **state)
{
    static const char *const texts[] = {
        "",
        "\n",
        "5",
        "05\n",
        "x\n",
        "57",
        "5\n6\n",
        "0\n",
        "-1\n",
        "+5\n",
        "5 \n",
        " 5\n",
        "5\r\n",
        "5x\n",
        "18446744073709551616\n",
        "99999999999999999999\n",
        "123456789012345678901234567890\n",
        "0x5\n",
        "5\n\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fence_put("data.fence", texts[i]);
        if (fence_try("data", 7, 0) != HF_ECORRUPT)
            fail_msg("accepted: \"%s\"", texts[i]);
        fence_assert_says("data.fence");
        assert_string_equal(fence_read("data.fence"), texts[i]);
    }
    fence_put("data.fence", "7\n");
    fence_assert_claims("data", 7);
    assert_int_equal(unlink(fence_path("data.fence")), 0);
    assert_int_equal(mkfifo(fence_path("data.fence"), 0600), 0);
    assert_int_equal(fence_try("data", 8, 0), HF_ECORRUPT);
    assert_int_equal(unlink(fence_path("data.fence")), 0);
    assert_int_equal(mkdir(fence_path("data.fence"), 0700), 0);
    assert_int_equal(fence_try("data", 8, 0), HF_ECORRUPT);
}

static void test_paths_that_cannot_be(void **state)
{
    char long_name[300];

    (void)state;
    memset(long_name, 'x', sizeof long_name);
    long_name[244] = '\0'; /* and .fence.lock: 255 */
    fence_assert_claims(long_name, 1);
    long_name[244] = 'x';
    long_name[245] = '\0';
    assert_int_equal(fence_try(long_name, 1, 0), HF_EINVAL);
    long_name[245] = 'x';
    long_name[299] = '\0';
    assert_int_equal(fence_try(long_name, 1, 0), HF_EINVAL);
    assert_int_equal(fence_try("data", 0, 0), HF_EINVAL);
    assert_int_equal(hf_fence_file(NULL, 1, 0, fence_said, sizeof fence_said), HF_EINVAL);
    static const char *const none[] = { "", "/", "//", ".", "..", "a/..", "./" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(hf_fence_file(none[i], 1, 0, fence_said, sizeof fence_said),
                         HF_EINVAL);
    assert_int_equal(fence_try("no/data", 1, 0), HF_ENOTFOUND);
    fence_put("file", "");
    assert_int_equal(fence_try("file/data", 1, 0), HF_ENOTFOUND);
}

/* However the same path is written, the fence is the same. */
static void test_folders_and_relative_paths(void **state)
{
    char before[256];

    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(mkdir(fence_path("box"), 0700), 0);
    fence_assert_claims("box", 3);
    fence_assert_claims("box///", 4);
    assert_string_equal(fence_read("box.fence"), "4\n");
    assert_int_equal(chdir(fence_path("")), 0);
    assert_int_equal(hf_fence_file("box", 3, 0, fence_said, sizeof fence_said), HF_ELOST);
    assert_int_equal(hf_fence_file("./box/", 3, 0, fence_said, sizeof fence_said),
                     HF_ELOST);
    assert_int_equal(hf_fence_file("box/../box", 3, 0, fence_said, sizeof fence_said),
                     HF_ELOST);
    assert_int_equal(symlink(".", "here"), 0);
    assert_int_equal(hf_fence_file("here/box", 3, 0, fence_said, sizeof fence_said),
                     HF_ELOST);
    assert_int_equal(chdir(before), 0);
}

static void test_links_are_refused(void **state)
{
    (void)state;
    fence_put("real", "1\n");
    assert_int_equal(symlink("real", fence_path("link")), 0);
    assert_int_equal(fence_try("link", 1, 0), HF_EDENIED);
    fence_assert_says("symbolic link");
    static const char *const beside[] = { "data.fence.lock", "data.fence" };
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(symlink("real", fence_path(beside[i])), 0);
        assert_int_equal(fence_try("data", 2, 0), HF_EDENIED);
        fence_assert_says("symbolic link");
        assert_int_equal(unlink(fence_path(beside[i])), 0);
    }
    assert_int_equal(symlink("real", fence_path("data.fence.new")), 0);
    fence_assert_claims("data", 2);
    assert_string_equal(fence_read("real"), "1\n");
    assert_int_equal(link(fence_path("real"), fence_path("twin")), 0);
    assert_int_equal(fence_try("twin", 1, 0), HF_EDENIED);
    fence_assert_says("hard links");
    assert_int_equal(mkfifo(fence_path("pipe"), 0600), 0);
    assert_int_equal(fence_try("pipe", 1, 0), HF_EDENIED);
}

/* A process was killed before it could rename its file. */
static void test_a_leftover_counts_for_nothing(void **state)
{
    (void)state;
    fence_assert_claims("data", 5);
    fence_put("data.fence.new", "99\n");
    fence_assert_claims("data", 6);
    assert_string_equal(fence_read("data.fence"), "6\n");
    assert_int_equal(access(fence_path("data.fence.new"), F_OK), -1);
}

static mode_t mode_of(const char *name)
{
    struct stat st;

    assert_int_equal(lstat(fence_path(name), &st), 0);
    return st.st_mode & 07777;
}

/* Writers of the file, and nobody else: also with a strange umask. */
static void test_the_writers_of_the_file_may_use_it(void **state)
{
    static const struct {
        mode_t file, umask, fence;
    } cases[] = {
        { 0644, 0022, 0600 }, { 0664, 0077, 0660 }, { 0600, 0, 0600 },
        { 0666, 0077, 0666 }, { 0444, 0, 0600 },    { 0620, 0777, 0660 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[16], beside[40];
        snprintf(name, sizeof name, "f%zu", i);
        fence_put(name, "");
        assert_int_equal(chmod(fence_path(name), cases[i].file), 0);
        mode_t before = umask(cases[i].umask);
        fence_assert_claims(name, 1);
        umask(before);
        for (int lock = 0; lock < 2; lock++) {
            snprintf(beside, sizeof beside, "%s.fence%s", name, lock ? ".lock" : "");
            assert_int_equal(mode_of(beside), cases[i].fence);
        }
    }
    fence_assert_claims("absent", 1); /* in a folder of ours alone */
    assert_int_equal(mode_of("absent.fence"), 0600);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fence_setup, fence_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_tokens_only_rise),
        TEST(test_others_wait_until_it_is_closed),
        TEST(test_the_lock_file_is_replaced_meanwhile),
        TEST(test_a_damaged_file_is_an_error),
        TEST(test_paths_that_cannot_be),
        TEST(test_folders_and_relative_paths),
        TEST(test_links_are_refused),
        TEST(test_a_leftover_counts_for_nothing),
        TEST(test_the_writers_of_the_file_may_use_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
