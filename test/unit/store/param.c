/* param.c - the file of a password is read again while the program runs. */
#include "store/param.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int number = -1;

/* Instead of libc's: which number has the file? */
int fstat(int fd, struct stat *ret)
{
    int r = fstatat(fd, "", ret, AT_EMPTY_PATH);

    if (r == 0 && S_ISREG(ret->st_mode))
        number = fd;
    return r;
}

/* Another thread of a program that has closed its stdin must not read the password there. */
static void test_the_file_gets_no_low_number(void **state)
{
    char path[] = "/tmp/param.XXXXXX", line[16];
    int  fd = mkstemp(path), kept = dup(STDIN_FILENO);

    (void)state;
    assert_int_equal(write(fd, "secret\n", 7), 7);
    close(fd);
    close(STDIN_FILENO);
    bool read = hf_param_reread_auth(path, line, sizeof line);
    dup2(kept, STDIN_FILENO);
    close(kept);
    unlink(path);
    assert_true(read);
    assert_string_equal(line, "secret");
    assert_in_range(number, 3, 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_file_gets_no_low_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
