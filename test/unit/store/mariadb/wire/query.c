/* query.c - statements: values of any bytes are data, whatever they contain. */
/* one thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/mariadb/wire/wire.h"

#include <stdlib.h>
#include <string.h>

static void is(const struct hf_my_query *query, const char *text)
{
    assert_false(query->failed);
    assert_int_equal(query->used, strlen(text));
    assert_memory_equal(query->text, text, query->used);
}

static void test_values_are_separated_by_commas(void **state)
{
    struct hf_my_query query = { .text = NULL };

    (void)state;
    hf_my_query_begin(&query, "CALL enter(");
    hf_my_query_number(&query, -7);
    hf_my_query_unsigned(&query, UINT64_MAX);
    hf_my_query_text(&query, "it's");
    hf_my_query_text(&query, NULL);
    hf_my_query_put(&query, ")");
    is(&query, "CALL enter(-7,18446744073709551615,x'69742773',NULL)");

    hf_my_query_begin(&query, "CALL f(");
    hf_my_query_text(&query, "");
    hf_my_query_number(&query, INT64_MIN);
    hf_my_query_put(&query, "); CALL g(");
    hf_my_query_bytes(&query, "\0\xff\n", 3);
    hf_my_query_put(&query, ")");
    is(&query, "CALL f(x'',-9223372036854775808); CALL g(x'00ff0a')");
    hf_my_query_finish(&query);
}

/* Whatever the bytes are, the statement has only letters, digits and our own signs. */
static void test_every_byte_is_written_in_hexadecimal(void **state)
{
    struct hf_my_query query = { .text = NULL };
    unsigned char      all[256];

    (void)state;
    for (int i = 0; i < 256; i++)
        all[i] = (unsigned char)i;
    hf_my_query_begin(&query, "");
    hf_my_query_bytes(&query, all, sizeof all);
    assert_int_equal(query.used, 2 + 512 + 1);
    for (size_t i = 0; i < 256; i++) {
        char digits[3] = { query.text[2 + 2 * i], query.text[3 + 2 * i], '\0' };
        assert_int_equal(strtol(digits, NULL, 16), i);
    }
    hf_my_query_finish(&query);
}

static void test_a_statement_fits_into_a_packet(void **state)
{
    struct hf_my_query query = { .text = NULL };
    size_t             most = (HF_MY_PACKET_MAX - 1 - 3) / 2; /* x'...' */
    char              *data = calloc(1, HF_MY_PACKET_MAX);

    (void)state;
    assert_non_null(data);
    hf_my_query_begin(&query, "");
    hf_my_query_bytes(&query, data, most);
    assert_false(query.failed);
    assert_true(query.used <= HF_MY_PACKET_MAX - 1);

    hf_my_query_begin(&query, "");
    hf_my_query_bytes(&query, data, most + 1);
    assert_true(query.failed);
    hf_my_query_begin(&query, "");
    hf_my_query_bytes(&query, data, HF_MY_PACKET_MAX);
    assert_true(query.failed);
    hf_my_query_put(&query, "more"); /* it stays failed */
    assert_true(query.failed);

    hf_my_query_begin(&query, "SELECT 1"); /* until the next one */
    is(&query, "SELECT 1");
    hf_my_query_finish(&query);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_separated_by_commas),
        cmocka_unit_test(test_every_byte_is_written_in_hexadecimal),
        cmocka_unit_test(test_a_statement_fits_into_a_packet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
