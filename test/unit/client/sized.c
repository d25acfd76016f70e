/* sized.c - options of programs that are older or newer than the library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/client.h"

/* The struct as the library has it, and as a newer header has it. */
struct known {
    size_t size;
    int    one, two;
};
struct newer {
    struct known known;
    int          three, four;
};

static char errmsg[HF_ERRMSG_MAX];

static int copy(const void *given, struct known *ret)
{
    errmsg[0] = '\0';
    return hf_options_copy(given, sizeof *ret, "KNOWN_INIT", ret, errmsg);
}

static void test_fields_unknown_to_an_older_program_keep_their_defaults(void **state)
{
    struct known given = { .size = offsetof(struct known, two), .one = 1, .two = 99 };
    struct known ret = { .two = 2 };

    (void)state;
    assert_int_equal(copy(&given, &ret), 0);
    assert_int_equal(ret.one, 1);
    assert_int_equal(ret.two, 2);
}

static void test_a_newer_program_may_leave_the_rest_zero(void **state)
{
    struct newer given = { .known = { .size = sizeof given, .one = 1, .two = 2 } };
    struct known ret = { 0 };

    (void)state;
    assert_int_equal(copy(&given, &ret), 0);
    assert_int_equal(ret.two, 2);
    assert_string_equal(errmsg, "");
}

static void test_a_newer_program_may_not_set_the_rest(void **state)
{
    struct newer given = { .known = { .size = sizeof given, .one = 1 }, .four = 4 };
    struct known ret = { 0 };

    (void)state;
    assert_int_equal(copy(&given, &ret), HF_EINVAL);
    assert_non_null(strstr(errmsg, "does not know"));
    assert_non_null(strstr(errmsg, hf_version()));
    assert_int_equal(ret.one, 1);
}

static void test_impossible_sizes_are_refused(void **state)
{
    const size_t sizes[] = { 0, 1, sizeof(size_t) - 1, 1 << 20, SIZE_MAX };

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct known given = { .size = sizes[i], .one = 1 }, ret = { 0 };
        assert_int_equal(copy(&given, &ret), HF_EINVAL);
        assert_non_null(strstr(errmsg, "KNOWN_INIT"));
        assert_int_equal(ret.one, 0);
    }
}

static void test_the_bad_field_is_named(void **state)
{
    char              error[HF_ERRMSG_MAX] = "";
    struct hf_client *client = NULL;
    struct hf_options options = HF_OPTIONS_INIT;

    (void)state;
    options.error = error;
    options.error_size = sizeof error;
    options.ttl_ms = -1;
    assert_int_equal(hf_open("memory:options", &options, &client), HF_EINVAL);
    assert_non_null(strstr(error, "ttl_ms"));
    options.ttl_ms = 0;
    options.flags = 1U << 31;
    assert_int_equal(hf_open("memory:options", &options, &client), HF_EINVAL);
    assert_non_null(strstr(error, "flags"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_unknown_to_an_older_program_keep_their_defaults),
        cmocka_unit_test(test_a_newer_program_may_leave_the_rest_zero),
        cmocka_unit_test(test_a_newer_program_may_not_set_the_rest),
        cmocka_unit_test(test_impossible_sizes_are_refused),
        cmocka_unit_test(test_the_bad_field_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
