/* library.c - libraries loaded at run time, and messages about unusable ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast.h"
#include "net/library.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const names[] = { "strlen", "no_such_function" };

static void expect(const char *file, size_t count, int result, const char *says)
{
    const struct hf_library library = { file, "the-package", names, count };
    void                   *table = NULL;
    char                    errmsg[256] = "";

    assert_int_equal(hf_library_load(&library, &table, "scheme", errmsg, sizeof errmsg),
                     result);
    if (strstr(errmsg, says) == NULL)
        fail_msg("\"%s\" has no \"%s\"", errmsg, says);
    assert_int_equal(table != NULL, result == 0);
    free(table);
}

static void test_a_library_is_loaded_once(void **state)
{
    const struct hf_library library = { "libc.so.6", "libc6", names, 1 };
    void                   *table = NULL, *before;
    char                    errmsg[256] = "";

    (void)state;
    assert_int_equal(hf_library_load(&library, &table, "x", errmsg, sizeof errmsg), 0);
    before = table;
    assert_non_null(*(void **)table);
    assert_int_equal(hf_library_load(&library, &table, "x", errmsg, sizeof errmsg), 0);
    assert_ptr_equal(table, before); /* earlier addresses stay valid */
    free(table);
}

static void test_a_missing_library(void **state)
{
    (void)state;
    expect("libnosuch.so.7", 1, HF_ENOTFOUND,
           "scheme: needs libnosuch.so.7, which is not installed: install the-package");
}

static void test_a_library_without_a_needed_function(void **state)
{
    (void)state;
    expect("libc.so.6", 2, HF_ENOTFOUND, "scheme: libc.so.6 has no no_such_function()");
}

static void test_a_file_that_is_no_library(void **state)
{
    (void)state;
    expect("libc.so", 1, HF_ENOTFOUND, /* a linker script */
           "(package the-package), which cannot be loaded: /");
}

static void test_a_library_without_an_optional_function(void **state)
{
    static const char *const some[] = { "?no_such_function", "strlen" };
    const struct hf_library  library = { "libc.so.6", "libc6", some, 2 };
    void                    *table = NULL;
    char                     errmsg[256] = "";

    (void)state;
    assert_int_equal(hf_library_load(&library, &table, "x", errmsg, sizeof errmsg), 0);
    assert_null(((void **)table)[0]);
    assert_non_null(((void **)table)[1]);
    free(table);
}

static void test_no_free_descriptor(void **state)
{
    struct rlimit limit, none;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){ .rlim_cur = 0, .rlim_max = limit.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    expect("libnosuch.so.7", 1, HF_ESTORE,
           "scheme: no descriptor left to load libnosuch.so.7");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* ---- Forks while another thread loads ------------------------------------------ */

static char  fifo[] = "/tmp/hf-library-XXXXXX/fifo";
static pid_t loader;  /* the thread that loads */
static int   forked;  /* the child exists */
static int   outcome; /* its exit status */

/* A FIFO as library: the dynamic loader opens it, with its lock held, until somebody
 * writes. */
static void *load_what_takes_long(void *data)
{
    const struct hf_library library = { fifo, "the-package", names, 1 };
    void                   *table = NULL;
    char                    errmsg[256];

    __atomic_store_n(&loader, gettid(), __ATOMIC_RELEASE);
    return hf_library_load(&library, &table, "x", errmsg, sizeof errmsg) == HF_ENOTFOUND
               ? data
               : NULL;
}

static void load_in_child(void)
{
    const struct hf_library library = { "libm.so.6", "libc6",
                                        (const char *const[]){ "cos" }, 1 };
    void                   *table = NULL;
    char                    errmsg[256];

    alarm(10);
    _exit(hf_library_load(&library, &table, "x", errmsg, sizeof errmsg) == 0 ? 0 : 1);
}

static bool thread_sleeps(pid_t thread)
{
    char  path[64], state = '?';
    FILE *stat;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    stat = thread != 0 ? fopen(path, "re") : NULL;
    if (stat == NULL)
        return false;
    if (fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
        state = '?';
    fclose(stat);
    return state == 'S';
}

static void *fork_and_load(void *data)
{
    int status = -1;

    for (int i = 0; i < 5000; i++) {
        if (thread_sleeps(__atomic_load_n(&loader, __ATOMIC_ACQUIRE)))
            break;
        usleep(1000);
    }
    pid_t child = fork();
    if (child == 0)
        load_in_child();
    __atomic_store_n(&forked, 1, __ATOMIC_RELEASE);
    waitpid(child, &status, 0);
    outcome = status;
    return data;
}

static void test_a_fork_waits_while_another_thread_loads(void **state)
{
    pthread_t forks, loads; /* in this order: starting a thread takes the lock */
    void     *loaded;

    *strrchr(fifo, '/') = '\0';
    assert_non_null(mkdtemp(fifo));
    fifo[strlen(fifo)] = '/';
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(pthread_create(&forks, NULL, fork_and_load, NULL), 0);
    assert_int_equal(pthread_create(&loads, NULL, load_what_takes_long, state), 0);
    for (int i = 0; i < 200 && !__atomic_load_n(&forked, __ATOMIC_ACQUIRE); i++)
        usleep(1000);
    int early = __atomic_load_n(&forked, __ATOMIC_ACQUIRE);
    int end = open(fifo, O_WRONLY | O_CLOEXEC);
    assert_true(end >= 0);
    close(end);
    pthread_join(loads, &loaded);
    pthread_join(forks, NULL);
    assert_int_equal(early, 0); /* the fork waits until nobody loads */
    assert_ptr_equal(loaded, state);
    assert_int_equal(outcome, 0);
    unlink(fifo);
    *strrchr(fifo, '/') = '\0';
    rmdir(fifo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_library_is_loaded_once),
        cmocka_unit_test(test_a_missing_library),
        cmocka_unit_test(test_a_library_without_a_needed_function),
        cmocka_unit_test(test_a_file_that_is_no_library),
        cmocka_unit_test(test_a_library_without_an_optional_function),
        cmocka_unit_test(test_no_free_descriptor),
        cmocka_unit_test(test_a_fork_waits_while_another_thread_loads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
