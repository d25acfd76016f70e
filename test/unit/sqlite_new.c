/* sqlite_new.c - what is made in a folder that others may write to. */
#include "lib/lab.h"

#include "store/sqlite/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Who shares the folder puts something else in the place of what we have just made: that
 * is not even opened, so neither its mode nor its group can be changed. */
static void what_was_put_in_the_place_of_a_new_one(void **state)
{
    struct lab *lab = *state;
    struct stat st;
    char        target[256], link[256], fifo[256];

    snprintf(target, sizeof target, "%s/target", lab->folder);
    snprintf(link, sizeof link, "%s/link", lab->folder);
    snprintf(fifo, sizeof fifo, "%s/fifo", lab->folder);
    assert_int_equal(mkdir(target, 0500), 0);
    assert_int_equal(symlink(target, link), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(hf_sq_files_open_new(link, S_IFDIR, O_RDONLY | O_DIRECTORY), -1);
    assert_int_equal(hf_sq_files_open_new(link, S_IFIFO, O_RDWR), -1);
    assert_int_equal(hf_sq_files_open_new(fifo, S_IFDIR, O_RDONLY | O_DIRECTORY), -1);
    assert_int_equal(hf_sq_files_open_new(target, S_IFIFO, O_RDONLY), -1);
    if (geteuid() == 0) { /* and one of somebody else's */
        assert_int_equal(chown(fifo, 1, (gid_t)-1), 0);
        assert_int_equal(hf_sq_files_open_new(fifo, S_IFIFO, O_RDWR), -1);
        assert_int_equal(chown(fifo, 0, (gid_t)-1), 0);
    }
    assert_int_equal(lstat(target, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0500);
    int fd = hf_sq_files_open_new(fifo, S_IFIFO, O_RDWR);
    assert_true(fd >= 0);
    close(fd);
    unlink(fifo);
    unlink(link);
    rmdir(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_put_in_the_place_of_a_new_one, lab_setup,
                                        lab_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
