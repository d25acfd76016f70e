/* origin.c - finds programs in the folder of this one, unless they belong to another
 * user. */
/* one thread */
#include "base/origin.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define INVALIDR 65534

static char folder[128];

static void copy_myself(const char *name, uid_t owner)
{
    char        path[256];
    struct stat size;
    int         from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    snprintf(path, sizeof path, "%s/%s", folder, name);
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    assert_true(from >= 0 && to >= 0);
    assert_int_equal(fstat(from, &size), 0);
    assert_int_equal(sendfile(to, from, NULL, (size_t)size.st_size), size.st_size);
    assert_int_equal(fchmod(to, 0755), 0);
    if (owner != geteuid())
        assert_int_equal(fchown(to, owner, (gid_t)-1), 0);
    close(from);
    close(to);
}

/* Does the copy in the folder find it, with an argv[0] and working directory of no
 * help? */
static bool copy_finds(const char *relative)
{
    char path[256];
    int  status;

    snprintf(path, sizeof path, "%s/copy", folder);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (chdir("/") == 0)
            execl(path, "/nowhere/copy", relative, (char *)NULL);
        _exit(9);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 0;
}

static void test_a_program_in_the_same_folder_is_found(void **state)
{
    (void)state;
    assert_true(copy_finds("copy"));
    assert_false(copy_finds("nothing"));
    assert_false(copy_finds("."));
}

static void test_a_program_of_another_owner_is_not_found(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can make one */
    copy_myself("planted", INVALIDR);
    assert_false(copy_finds("planted"));
}

static int start(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    snprintf(folder, sizeof folder, "%.80s/origin-XXXXXX", base != NULL ? base : "/tmp");
    if (mkdtemp(folder) == NULL)
        return -1;
    copy_myself("copy", geteuid());
    return 0;
}

static int finish(void **state)
{
    static const char *const names[] = { "copy", "planted" };
    char                     path[256];

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_program_in_the_same_folder_is_found),
        cmocka_unit_test(test_a_program_of_another_owner_is_not_found),
    };
    char path[PATH_MAX];

    if (argc > 1 && argv[0][0] == '/' && strstr(argv[0], "nowhere") != NULL)
        return hf_origin_find(".", argv[1], path) ? 0 : 1;
    return cmocka_run_group_tests(tests, start, finish);
}
