/* net_library.c - what is said of a library that cannot be used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast.h"
#include "net/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_that_is_there),
        cmocka_unit_test(test_one_that_is_missing),
        cmocka_unit_test(test_one_without_a_function),
        cmocka_unit_test(test_one_that_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
