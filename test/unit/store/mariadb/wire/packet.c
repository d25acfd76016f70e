/* packet.c - numbers and texts in packets, and packets that end too early. */
/* one thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/mariadb/wire/wire.h"

#include <string.h>

#define ON(bytes) hf_my_reader_on(bytes, sizeof(bytes) - 1)

static void test_numbers_begin_with_the_low_byte(void **state)
{
    struct hf_my_reader reader = ON("\x01\x02\x03\x04\x05\x06\x07\x08\xff");
    unsigned char       out[8];

    (void)state;
    assert_int_equal(hf_my_get(&reader, 8), 0x0807060504030201);
    assert_int_equal(hf_my_get(&reader, 1), 0xff);
    assert_false(reader.bad);
    assert_int_equal(hf_my_get(&reader, 1), 0);
    assert_true(reader.bad);

    assert_ptr_equal(hf_my_put(out, 0x0807060504030201, 8), out + 8);
    assert_memory_equal(out, "\x01\x02\x03\x04\x05\x06\x07\x08", 8);
    assert_ptr_equal(hf_my_put(out, 0xfffffe, 3), out + 3);
    assert_memory_equal(out, "\xfe\xff\xff\x04", 4);
}

static void test_lengths_have_one_to_nine_bytes(void **state)
{
    static const struct {
        const char *bytes;
        size_t      size;
        uint64_t    length;
    } cases[] = {
        { "\x00", 1, 0 },
        { "\xfa", 1, 250 },
        { "\xfc\xfb\x00", 3, 251 },
        { "\xfd\xff\xff\xff", 4, 0xffffff },
        { "\xfe\xff\xff\xff\xff\xff\xff\xff\xff", 9, UINT64_MAX },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hf_my_reader reader = hf_my_reader_on(cases[i].bytes, cases[i].size);
        assert_true(hf_my_get_length(&reader) == cases[i].length);
        assert_false(reader.bad);
        assert_int_equal(hf_my_left(&reader), 0);
        for (size_t size = 0; size < cases[i].size; size++) {
            reader = hf_my_reader_on(cases[i].bytes, size);
            hf_my_get_length(&reader);
            assert_true(reader.bad);
        }
    }
    for (int i = 0; i < 2; i++) { /* NULL, and an error, are no lengths */
        struct hf_my_reader reader = hf_my_reader_on(i == 0 ? "\xfb\0" : "\xff\0", 2);
        assert_int_equal(hf_my_get_length(&reader), 0);
        assert_true(reader.bad);
    }
}

static void test_fields_may_be_null_empty_or_cut_off(void **state)
{
    struct hf_my_reader reader = ON("\xfb\x00\x03"
                                    "abc\x04"
                                    "abc");
    struct hf_my_text   text = hf_my_get_field(&reader);

    (void)state;
    assert_null(text.data);
    text = hf_my_get_field(&reader);
    assert_non_null(text.data);
    assert_int_equal(text.size, 0);
    text = hf_my_get_field(&reader);
    assert_int_equal(text.size, 3);
    assert_memory_equal(text.data, "abc", 3);
    assert_false(reader.bad);
    text = hf_my_get_field(&reader);
    assert_true(reader.bad);
    assert_int_equal(text.size, 0);

    reader = ON("\xfe\xff\xff\xff\xff\xff\xff\xff\xff"
                "abc");
    assert_int_equal(hf_my_get_field(&reader).size, 0);
    assert_true(reader.bad);
}

static void test_strings_end_with_a_nul(void **state)
{
    struct hf_my_reader reader = ON("abc\0\0de");

    (void)state;
    assert_int_equal(hf_my_get_string(&reader).size, 3);
    assert_int_equal(hf_my_get_string(&reader).size, 0);
    assert_false(reader.bad);
    assert_int_equal(hf_my_get_string(&reader).size, 0);
    assert_true(reader.bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_begin_with_the_low_byte),
        cmocka_unit_test(test_lengths_have_one_to_nine_bytes),
        cmocka_unit_test(test_fields_may_be_null_empty_or_cut_off),
        cmocka_unit_test(test_strings_end_with_a_nul),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
