/* setuid_copy.c - see setuid_copy.h. */
#include "lib/setuid_copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NOBODY 65534

/* In /tmp, which the user `nobody` can reach. */
int setuid_copy_run(const char *argument)
{
    char           folder[] = "/tmp/setuid-XXXXXX", path[64], copy[512];
    struct statvfs where;
    int            status = 0;

    if (geteuid() != 0 || statvfs("/tmp", &where) != 0 || (where.f_flag & ST_NOSUID) != 0)
        return -1;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/host", folder);
    snprintf(copy, sizeof copy, "cp /proc/%ld/exe %s && chmod 755 %s && chmod 4755 %s",
             (long)getpid(), path, folder, path);
    assert_int_equal(system(copy), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (setgid(NOBODY) == 0 && setuid(NOBODY) == 0)
            execl(path, path, argument, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    unlink(path);
    rmdir(folder);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}
