/* fence_limits.c - hf_fence_file() without rights, descriptors or room. */
/* one thread */
#include "unit/lib/fence_folder.h"

#include "holdfast.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

/* In a child with fewer rights; exits 0 if that is what comes out. */
static void as_nobody(int (*body)(void))
{
    int status;

    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
            _exit(2);
        _exit(body());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int read_only_body(void)
{
    return fence_try("data", 6, 0) == HF_EDENIED &&
                   strstr(fence_said, "Permission") != NULL
               ? 0
               : 1;
}

static int stale_body(void)
{
    return fence_try("data", 4, 0) == HF_ELOST ? 0 : 1;
}

static void test_a_folder_without_the_right_to_write(void **state)
{
    (void)state;
    fence_put("data", "");
    assert_int_equal(chmod(fence_path("data"), 0666), 0);
    fence_assert_claims("data", 5);
    assert_int_equal(chmod(fence_path(""), 0555), 0);
    as_nobody(read_only_body);
    as_nobody(stale_body);
    assert_int_equal(chmod(fence_path(""), 0700), 0);
    assert_string_equal(fence_read("data.fence"), "5\n");
}

static int closed_stdio_body(void)
{
    close(0);
    close(1);
    close(2);
    int fd = fence_try("data", 1, 0);
    return fd > 2 && fcntl(0, F_GETFD) < 0 && fcntl(2, F_GETFD) < 0 ? 0 : 1;
}

static int limited_body(void)
{
    struct rlimit none = { 0, 0 };

    if (setrlimit(RLIMIT_FSIZE, &none) < 0)
        return 2;
    return fence_try("data", 7, 0) == HF_EFULL ? 0 : 1; /* and no SIGXFSZ */
}

static void test_closed_stdio_and_a_limit_of_file_sizes(void **state)
{
    (void)state;
    assert_int_equal(chmod(fence_path(""), 0777), 0);
    as_nobody(closed_stdio_body);
    assert_string_equal(fence_read("data.fence"), "1\n");
    as_nobody(limited_body);
    assert_string_equal(fence_read("data.fence"), "1\n");
    assert_int_equal(access(fence_path("data.fence.new"), F_OK), -1);
}

static int full_disk_body(void)
{
    char block[512] = "";

    if (!fence_mount_disk("64k"))
        return FENCE_NO_MOUNTS;
    int fd = fence_try("data", 5, 0);
    if (fd < 0 || close(fd) < 0)
        return 3;
    if (hf_fence_file(fence_path(""), 1, 0, fence_said, sizeof fence_said) != HF_EDENIED)
        return 4; /* the files beside a mount point are on another disk */
    int ballast = open(fence_path("ballast"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (write(ballast, block, sizeof block) > 0)
        continue;
    if (fence_try("data", 6, 0) != HF_EFULL || strstr(fence_said, "No space") == NULL)
        return 5;
    if (strcmp(fence_read("data.fence"), "5\n") != 0 ||
        fence_try("data", 4, 0) != HF_ELOST)
        return 6;
    if (ftruncate(ballast, 0) < 0 || fence_try("data", 6, 0) < 0)
        return 7;
    return strcmp(fence_read("data.fence"), "6\n") == 0 ? 0 : 8;
}

static void test_a_full_disk(void **state)
{
    int status;

    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(full_disk_body());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == FENCE_NO_MOUNTS)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fence_setup, fence_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_folder_without_the_right_to_write),
        TEST(test_closed_stdio_and_a_limit_of_file_sizes),
        TEST(test_a_full_disk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
