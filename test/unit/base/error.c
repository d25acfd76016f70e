/* error.c - names and messages of error codes; which mean a loss, which can be
 * retried. */
/* one thread */
#include "holdfast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define LOWEST HF_EEXHAUSTED

static const struct {
    int         code;
    const char *name;
    bool        retryable;
} all[] = {
    { HF_EINVAL, "HF_EINVAL", false },
    { HF_ENOMEM, "HF_ENOMEM", true },
    { HF_EBUSY, "HF_EBUSY", true },
    { HF_ETIMEOUT, "HF_ETIMEOUT", true },
    { HF_ECANCELED, "HF_ECANCELED", false },
    { HF_ELOST, "HF_ELOST", false },
    { HF_EDOWN, "HF_EDOWN", true },
    { HF_EDENIED, "HF_EDENIED", false },
    { HF_EFORK, "HF_EFORK", false },
    { HF_EOWNER, "HF_EOWNER", false },
    { HF_ESTATE, "HF_ESTATE", false },
    { HF_EMISMATCH, "HF_EMISMATCH", false },
    { HF_EFULL, "HF_EFULL", true },
    { HF_ECORRUPT, "HF_ECORRUPT", false },
    { HF_EUNSUPPORTED, "HF_EUNSUPPORTED", false },
    { HF_ENOTFOUND, "HF_ENOTFOUND", false },
    { HF_ESTORE, "HF_ESTORE", true },
    { HF_EDEADLOCK, "HF_EDEADLOCK", false },
    { HF_EEXHAUSTED, "HF_EEXHAUSTED", false },
};

#define COUNT (sizeof all / sizeof *all)

static void test_every_code_has_a_name_and_a_class(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        assert_string_equal(hf_errname(all[i].code), all[i].name);
        assert_int_equal(hf_err_retryable(all[i].code), all[i].retryable);
        assert_int_equal(hf_err_lost(all[i].code), all[i].code == HF_ELOST);
    }
}

static void test_every_code_has_a_message_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(COUNT, -LOWEST);
    for (int code = 0; code >= LOWEST; code--) {
        assert_string_not_equal(hf_errname(code), "HF_UNKNOWN");
        assert_true(strlen(hf_strerror(code)) > 0);
        for (int other = code - 1; other >= LOWEST; other--)
            assert_string_not_equal(hf_strerror(code), hf_strerror(other));
    }
}

static void test_success_is_neither_lost_nor_retryable(void **state)
{
    (void)state;
    assert_string_equal(hf_strerror(0), "success");
    assert_false(hf_err_retryable(0));
    assert_false(hf_err_lost(0));
}

static void test_unknown_codes_have_a_message(void **state)
{
    static const int unknown[] = { 1, LOWEST - 1, -1000 };

    (void)state;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        assert_string_equal(hf_errname(unknown[i]), "HF_UNKNOWN");
        assert_string_equal(hf_strerror(unknown[i]), "unknown error");
        assert_false(hf_err_retryable(unknown[i]));
        assert_false(hf_err_lost(unknown[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_has_a_name_and_a_class),
        cmocka_unit_test(test_every_code_has_a_message_of_its_own),
        cmocka_unit_test(test_success_is_neither_lost_nor_retryable),
        cmocka_unit_test(test_unknown_codes_have_a_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
