/* unfinished_files.c - new files in a folder that other users may write to. */
#include "lib/temp_store.h"

#include "holdfast.h"
#include "store/sqlite/files/files.h"
#include "store/store.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Another user of the folder replaces a file that we have just made: we do not even
 * open it, so we change neither its mode nor its group. */
static void new_file_that_was_replaced_is_not_opened(void **state)
{
    struct temp_store *temp = *state;
    struct stat        st;
    char               target[256], link[256], fifo[256];

    snprintf(target, sizeof target, "%s/target", temp->folder);
    snprintf(link, sizeof link, "%s/link", temp->folder);
    snprintf(fifo, sizeof fifo, "%s/fifo", temp->folder);
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
    if (geteuid() == 0) { /* and one of another user */
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

/* SQLite makes -wal and -shm with the mode of the umask, and sets their mode a moment
 * later: a client that comes in between waits for that.  A file that stays so is
 * refused. */
static void unfinished_file_of_sqlite_is_waited_for(void **state)
{
    struct temp_store *temp = *state;
    struct hf_sq_files files;
    char               errmsg[HF_ERRMSG_MAX] = "";
    pthread_t          thread;

    assert_int_equal(hf_sq_files_init(&files, temp->path, false, errmsg), 0);
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

/* A client that opened the store before it existed has decided what it shows to
 * others. */
static void store_that_others_can_read_now_must_be_reopened(void **state)
{
    struct temp_store *temp = *state;
    struct hf_client  *early, *late;
    struct hf_report  *report;
    struct hf_lock    *lock;

    assert_int_equal(hf_open(temp->url, NULL, &early), 0);
    assert_int_equal(hf_open(temp->url, NULL, &late), 0);
    assert_int_equal(hf_mutex(late, "a", &lock), 0);
    assert_int_equal(hf_acquire(lock, -1), 0);
    assert_int_equal(chmod(temp->path, 0644), 0);
    assert_int_equal(hf_inspect(early, NULL, 0, &report), HF_EDENIED);
    assert_non_null(strstr(hf_errmsg(early), "open it again"));
    hf_close(early);
    assert_int_equal(hf_open(temp->url, NULL, &early), 0);
    assert_int_equal(hf_inspect(early, NULL, 0, &report), 0);
    hf_report_free(report);
    hf_close(early);
    hf_close(late);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_setup, temp_teardown)
    const struct CMUnitTest tests[] = {
        TEST(new_file_that_was_replaced_is_not_opened),
        TEST(unfinished_file_of_sqlite_is_waited_for),
        TEST(store_that_others_can_read_now_must_be_reopened),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
