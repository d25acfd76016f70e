/* net_library.c - what is said of a library that cannot be used. */
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

static void test_one_that_is_there(void **state)
{
    const struct hf_library library = { "libc.so.6", "libc6", names, 1 };
    void                   *table = NULL, *before;
    char                    errmsg[256] = "";

    (void)state;
    assert_int_equal(hf_library_load(&library, &table, "x", errmsg, sizeof errmsg), 0);
    before = table;
    assert_non_null(*(void **)table);
    assert_int_equal(hf_library_load(&library, &table, "x", errmsg, sizeof errmsg), 0);
    assert_ptr_equal(table, before); /* whoever has an address of it keeps that */
    free(table);
}

static void test_one_that_is_missing(void **state)
{
    (void)state;
    expect("libnosuch.so.7", 1, HF_ENOTFOUND,
           "scheme: needs libnosuch.so.7, which is not installed: install the-package");
}

static void test_one_without_a_function(void **state)
{
    (void)state;
    expect("libc.so.6", 2, HF_ENOTFOUND, "scheme: libc.so.6 has no no_such_function()");
}

static void test_one_that_is_none(void **state)
{
    (void)state;
    expect("libc.so", 1, HF_ENOTFOUND, /* a text, for linkers */
           "(package the-package), which cannot be loaded: /");
}

static void test_one_without_what_it_need_not_have(void **state)
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

/* It is there, but there is no descriptor to read it with. */
static void test_no_descriptor(void **state)
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

/* ---- Forks while another thread loads ------------------------------------------------ */

static char  fifo[] = "/tmp/hf-library-XXXXXX/fifo";
static pid_t loader;  /* the thread that loads */
static int   forked;  /* the child is there */
static int   outcome; /* what it ended with */

/* The loader of programs opens it, and has its lock, until somebody writes to it. */
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

static void test_a_fork_meanwhile(void **state)
{
    pthread_t forks, loads; /* started in this order: to start one takes the lock */
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
    assert_int_equal(early, 0); /* who forks waits until nobody loads */
    assert_ptr_equal(loaded, state);
    assert_int_equal(outcome, 0);
    unlink(fifo);
    *strrchr(fifo, '/') = '\0';
    rmdir(fifo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_that_is_there),
        cmocka_unit_test(test_one_that_is_missing),
        cmocka_unit_test(test_one_without_a_function),
        cmocka_unit_test(test_one_that_is_none),
        cmocka_unit_test(test_one_without_what_it_need_not_have),
        cmocka_unit_test(test_no_descriptor),
        cmocka_unit_test(test_a_fork_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
