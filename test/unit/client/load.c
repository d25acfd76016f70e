/* load.c - libraries are loaded when a URL needs them, and not before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_built_in(const char *scheme)
{
    return strstr(hf_stores(), scheme) != NULL;
}

static bool is_loaded(const char *library)
{
    char  line[600];
    bool  found = false;
    FILE *maps = fopen("/proc/self/maps", "re");

    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL)
        found = found || strstr(line, library) != NULL;
    fclose(maps);
    return found;
}

static void open_and_close(const char *url)
{
    struct hf_client *client;

    assert_int_equal(hf_open(url, NULL, &client), 0);
    hf_close(client);
}

static void test_a_store_without_libraries_loads_nothing(void **state)
{
    (void)state;
    open_and_close("memory:load");
    assert_int_equal(hf_load("sqlite:/nowhere/locks.db", NULL, 0),
                     0); /* nor is it made */
    assert_int_equal(hf_load("memory:", NULL, 0), 0);
    if (is_built_in("zk"))
        open_and_close("zk://127.0.0.1:1");
    assert_false(is_loaded("libssl"));
    assert_false(is_loaded("libcrypto"));
    assert_false(is_loaded("libhiredis"));
    assert_false(is_loaded("libpq"));
}

static void test_redis_without_tls_needs_hiredis_alone(void **state)
{
    (void)state;
    if (!is_built_in("redis"))
        skip();
    open_and_close("redis://127.0.0.1:1");
    assert_true(is_loaded("libhiredis"));
    assert_false(is_loaded("libssl"));
    assert_false(is_loaded("libcrypto"));
}

static void *load_it(void *url)
{
    return hf_load(url, NULL, 0) == 0 ? url : NULL;
}

static void test_threads_load_the_same_library_at_once(void **state)
{
    pthread_t thread[8];
    void     *result;

    (void)state;
    if (!is_built_in("rediss"))
        skip();
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, load_it, "rediss:"), 0);
    for (size_t i = 0; i < 8; i++) {
        pthread_join(thread[i], &result);
        assert_non_null(result);
    }
    assert_true(is_loaded("libssl"));
    assert_false(is_loaded("libpq"));
    open_and_close("rediss://127.0.0.1:1");
}

static void test_postgres_loads_libpq(void **state)
{
    (void)state;
    if (!is_built_in("postgres"))
        skip();
    assert_int_equal(hf_load("postgres:", NULL, 0), 0);
    assert_true(is_loaded("libpq"));
    open_and_close("postgres://127.0.0.1:1/x");
}

static void test_a_missing_library_is_named(void **state)
{
    char error[100] = "", cut[5] = "";

    (void)state;
    assert_int_equal(hf_load("nosuch:", error, sizeof error), HF_EUNSUPPORTED);
    assert_non_null(strstr(error, "nosuch"));
    assert_int_equal(hf_load("no store", cut, sizeof cut), HF_EINVAL);
    assert_int_equal(strlen(cut), sizeof cut - 1);
    assert_int_equal(hf_load("no store", NULL, 0), HF_EINVAL);
}

/* In this order, since libraries stay loaded. */
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_store_without_libraries_loads_nothing),
        cmocka_unit_test(test_redis_without_tls_needs_hiredis_alone),
        cmocka_unit_test(test_threads_load_the_same_library_at_once),
        cmocka_unit_test(test_postgres_loads_libpq),
        cmocka_unit_test(test_a_missing_library_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
