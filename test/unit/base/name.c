/* name.c - which names of locks are valid. */
/* one thread */
#include "base/name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_good_names_are_accepted(void **state)
{
    static const char *const good[] = {
        "a",
        "nightly-report",
        "a b",
        "a.b",
        ".a",
        "a.",
        "-n",
        "*",
        "\xc3\xa4rger",
        "\xe2\x82\xac",
        "\xf0\x9f\x94\x92",
        "%2e%2e",
        "a\\b",
        "\xc2\xa0",
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_null(hf_name_fault(good[i]));
}

static void test_bad_names_are_refused_with_a_reason(void **state)
{
    static const struct {
        const char *name;
        const char *fault;
    } bad[] = {
        { "", "is empty" },
        { ".", "is \".\" or contains \"..\"" },
        { "..", "is \".\" or contains \"..\"" },
        { "a..b", "is \".\" or contains \"..\"" },
        { "a/b", "contains '/': it is a name, not a path" },
        { "/", "contains '/': it is a name, not a path" },
        { "a\nb", "contains a control character" },
        { "\t", "contains a control character" },
        { "a\x1f", "contains a control character" },
        { "\x7f", "contains a control character" },
        { "\xc2\x85", "contains a control character" }, /* NEL breaks lines, too */
        { "a\xff", "is not valid UTF-8" },
        { "\xc3", "is not valid UTF-8" },
        { "\xe2\x82", "is not valid UTF-8" },
    };

    (void)state;
    assert_string_equal(hf_name_fault(NULL), "is empty");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_string_equal(hf_name_fault(bad[i].name), bad[i].fault);
}

static void test_length_is_counted_in_bytes(void **state)
{
    char name[HF_NAME_MAX + 2];

    (void)state;
    memset(name, 'x', sizeof name);
    name[HF_NAME_MAX + 1] = '\0';
    assert_string_equal(hf_name_fault(name), "is longer than 255 bytes");
    name[HF_NAME_MAX] = '\0';
    assert_null(hf_name_fault(name));
    memcpy(name + HF_NAME_MAX - 2, "\xc3\xa4", 2);
    assert_null(hf_name_fault(name));
}

/* An encoder by the standard, to compare with. */
static size_t encode(uint32_t code, char *to)
{
    static const uint32_t heads[] = { 0, 0xc0, 0xe0, 0xf0 };
    size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    to[0] = (char)(heads[more] | code >> (6 * more));
    for (size_t i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (code >> (6 * (more - i)) & 0x3f));
    to[more + 1] = '\0';
    return more + 1;
}

static void test_every_code_point_but_surrogates_is_accepted(void **state)
{
    (void)state;
    for (uint32_t code = 1; code <= 0x10ffff; code++) {
        char   text[5];
        size_t length = encode(code, text);
        bool   surrogate = code >= 0xd800 && code <= 0xdfff;
        if (hf_utf8_length(text) != (surrogate ? 0 : length))
            fail_msg("U+%04X", code);
    }
}

/* Of all sequences of one, two and three bytes as many are accepted as there are code
 * points of that length. */
static void test_no_other_sequence_is_accepted(void **state)
{
    size_t accepted[4] = { 0 };

    (void)state;
    for (uint32_t bits = 0; bits < 1u << 24; bits++) {
        char   text[4] = { (char)(bits >> 16), (char)(bits >> 8), (char)bits, '\0' };
        size_t length = hf_utf8_length(text);
        assert_true(length <= 3);
        bool rest_is_zero = (length == 1 && text[1] == 0 && text[2] == 0) ||
                            (length == 2 && text[2] == 0) || length == 3;
        accepted[length] += rest_is_zero;
    }
    assert_int_equal(accepted[1], 0x80);
    assert_int_equal(accepted[2], 0x800 - 0x80);
    assert_int_equal(accepted[3], 0x10000 - 0x800 - 0x800);
}

static void test_four_bytes_at_the_edges(void **state)
{
    (void)state;
    assert_int_equal(hf_utf8_length("\xf0\x8f\xbf\xbf"), 0); /* overlong U+FFFF */
    assert_int_equal(hf_utf8_length("\xf0\x90\x80\x80"), 4);
    assert_int_equal(hf_utf8_length("\xf4\x8f\xbf\xbf"), 4); /* U+10FFFF */
    assert_int_equal(hf_utf8_length("\xf4\x90\x80\x80"), 0);
    assert_int_equal(hf_utf8_length("\xf5\x80\x80\x80"), 0);
    assert_int_equal(hf_utf8_length("\xf8\x88\x80\x80\x80"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_names_are_accepted),
        cmocka_unit_test(test_bad_names_are_refused_with_a_reason),
        cmocka_unit_test(test_length_is_counted_in_bytes),
        cmocka_unit_test(test_every_code_point_but_surrogates_is_accepted),
        cmocka_unit_test(test_no_other_sequence_is_accepted),
        cmocka_unit_test(test_four_bytes_at_the_edges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
