/* sqlite_new.c - what is made in a folder that others may write to. */
#include "lib/lab.h"

#include "holdfast.h"
#include "store/sqlite/files.h"
#include "store/store.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
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
    assert_int_equal(hf_sq_files_open_new(AT_FDCWD, link, S_IFDIR,
                                          O_RDONLY | O_DIRECTORY),
                     -1);
    assert_int_equal(hf_sq_files_open_new(AT_FDCWD, link, S_IFIFO, O_RDWR), -1);
    assert_int_equal(hf_sq_files_open_new(AT_FDCWD, fifo, S_IFDIR,
                                          O_RDONLY | O_DIRECTORY),
                     -1);
    assert_int_equal(hf_sq_files_open_new(AT_FDCWD, target, S_IFIFO, O_RDONLY), -1);
    if (geteuid() == 0) { /* and one of somebody else's */
        assert_int_equal(chown(fifo, 1, (gid_t)-1), 0);
        assert_int_equal(hf_sq_files_open_new(AT_FDCWD, fifo, S_IFIFO, O_RDWR), -1);
        assert_int_equal(chown(fifo, 0, (gid_t)-1), 0);
    }
    assert_int_equal(lstat(target, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0500);
    int fd = hf_sq_files_open_new(AT_FDCWD, fifo, S_IFIFO, O_RDWR);
    assert_true(fd >= 0);
    close(fd);
    unlink(fifo);
    unlink(link);
    rmdir(target);
}

static void *finish(void *path)
{
    poll(NULL, 0, 5);
    assert_int_equal(chmod(path, 0660), 0);
    return NULL;
}

/* SQLite makes -wal and -shm by the umask, and sets their mode a moment later: who comes in
 * between waits that long.  One that stays so is refused. */
static void a_file_of_sqlite_that_is_not_finished(void **state)
{
    struct lab        *lab = *state;
    struct hf_sq_files files;
    char               errmsg[HF_ERRMSG_MAX] = "";
    pthread_t          thread;

    assert_int_equal(hf_sq_files_init(&files, lab->path, false, errmsg), 0);
    files.shared = true;
    files.group = getegid();
    assert_int_equal(hf_sq_files_make_db(&files, errmsg), 0);
    int fd = open(files.shm, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(hf_sq_files_check(&files, errmsg), HF_EDENIED);
    assert_non_null(strstr(errmsg, "locks.db-shm"));
    assert_int_equal(pthread_create(&thread, NULL, finish, files.shm), 0);
    assert_int_equal(hf_sq_files_check(&files, errmsg), 0);
    pthread_join(thread, NULL);
}

/* Whoever opened it while there was none has chosen what to show by that. */
static void a_store_that_others_can_look_at_since(void **state)
{
    struct lab       *lab = *state;
    struct hf_client *early, *late;
    struct hf_report *report;
    struct hf_lock   *lock;

    assert_int_equal(hf_open(lab->url, NULL, &early), 0);
    assert_int_equal(hf_open(lab->url, NULL, &late), 0);
    assert_int_equal(hf_mutex(late, "a", &lock), 0);
    assert_int_equal(hf_acquire(lock, -1), 0);
    assert_int_equal(chmod(lab->path, 0644), 0);
    assert_int_equal(hf_inspect(early, NULL, 0, &report), HF_EDENIED);
    assert_non_null(strstr(hf_errmsg(early), "open it anew"));
    hf_close(early);
    assert_int_equal(hf_open(lab->url, NULL, &early), 0);
    assert_int_equal(hf_inspect(early, NULL, 0, &report), 0);
    hf_report_free(report);
    hf_close(early);
    hf_close(late);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_was_put_in_the_place_of_a_new_one),
        TEST(a_file_of_sqlite_that_is_not_finished),
        TEST(a_store_that_others_can_look_at_since),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
