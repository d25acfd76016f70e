/* reply.c - answers, packet by packet; the bytes are a real server's, or cut and changed. */
/* one thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast.h"
#include "store/mariadb/wire/wire.h"

#include <stdlib.h>
#include <string.h>

struct packet {
    const char *bytes;
    size_t      size;
};

/* clang-format off */
#define P(bytes) { bytes, sizeof(bytes) - 1 }

/* OK: no row changed, autocommit; and with more results to come */
#define OK      P("\0\0\0\2\0\0\0")
#define OK_MORE P("\0\0\0\x0a\0\0\0")
/* a column: catalog, four empty names, its name, character set, length, type, flags, 0 */
#define COLUMN  P("\3def\0\0\0\1a\0\x0c\x3f\0\1\0\0\0\3\x81\0\0\0\0")
#define END     P("\xfe\0\0\2\0")
#define MORE    P("\xfe\0\0\x0a\0")
#define FAULT   P("\xff\x28\4#42000You have an error")
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct hf_my_reply reply;

/* All but the last must want more.  Returns the answer to the last. */
static int take(const struct packet *packets, size_t count)
{
    int r = 0;

    hf_my_reply_clear(&reply);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(r, 0);
        void *copy = malloc(packets[i].size + 1); /* ASan sees reads beyond its end */
        void *tight = realloc(copy, packets[i].size > 0 ? packets[i].size : 1);
        assert_non_null(tight);
        memcpy(tight, packets[i].bytes, packets[i].size);
        r = hf_my_reply_take(&reply, tight, packets[i].size);
        free(tight);
    }
    return r;
}

static void test_a_statement_without_rows(void **state)
{
    static const struct packet packets[] = { P(
        "\0\xfc\x2c\1\0\x03\0\x07\0Rows matched: 300") };

    (void)state;
    assert_int_equal(take(packets, 1), 1);
    assert_int_equal(reply.error, 0);
    assert_int_equal(reply.changed, 300);
    assert_int_equal(reply.status, HF_MY_IN_TRANSACTION | HF_MY_AUTOCOMMIT);
    assert_int_equal(reply.warnings, 7);
    assert_int_equal(reply.rows, 0);
    assert_int_equal(reply.results, 0);
    assert_null(hf_my_text(&reply, 0, 0));
}

static void test_rows(void **state)
{
    static const struct packet packets[] = {
        P("\2"),
        COLUMN,
        COLUMN,
        END,
        P("\2-5\xfb"),
        P("\0\x0b"
          "a\0b'\\\xff 7890"),
        END,
    };

    (void)state;
    assert_int_equal(take(packets, COUNT(packets)), 1);
    assert_int_equal(reply.rows, 2);
    assert_int_equal(hf_my_columns(&reply, 0), 2);
    assert_int_equal(hf_my_columns(&reply, 2), 0);
    assert_string_equal(hf_my_text(&reply, 0, 0), "-5");
    assert_int_equal(hf_my_number(&reply, 0, 0), -5);
    assert_int_equal(hf_my_unsigned(&reply, 0, 0), 0);
    assert_null(hf_my_text(&reply, 0, 1));
    assert_false(hf_my_is_number(&reply, 0, 1));
    assert_int_equal(hf_my_number(&reply, 0, 1), 0);
    assert_string_equal(hf_my_text(&reply, 1, 0), "");
    assert_int_equal(hf_my_size(&reply, 1, 0), 0);
    assert_false(hf_my_is_number(&reply, 1, 0));
    assert_int_equal(hf_my_size(&reply, 1, 1), 11);
    assert_memory_equal(hf_my_text(&reply, 1, 1), "a\0b'\\\xff 7890", 12);
    assert_null(hf_my_text(&reply, 1, 2));
    assert_null(hf_my_text(&reply, 2, 0));
    assert_null(hf_my_text(&reply, SIZE_MAX, SIZE_MAX));
}

static void test_numbers(void **state)
{
    static const struct {
        struct packet row;
        bool          is;
        int64_t       number;
        uint64_t      positive;
    } cases[] = {
        { P("\1"
            "0"),
          true, 0, 0 },
        { P("\x13"
            "9223372036854775807"),
          true, INT64_MAX, INT64_MAX },
        { P("\x14"
            "-9223372036854775808"),
          true, INT64_MIN, 0 },
        { P("\x14"
            "18446744073709551615"),
          true, INT64_MAX, UINT64_MAX },
        { P("\x15"
            "184467440737095516150"),
          false, 0, 0 },
        { P("\1-"), false, 0, 0 },
        { P("\3"
            "1.5"),
          false, 0, 0 },
        { P("\3"
            "1\0"
            "2"),
          false, 0, 0 },
        { P("\2 7"), false, 0, 0 },
        { P("\4nine"), false, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct packet packets[] = { P("\1"), COLUMN, END, cases[i].row, END };
        assert_int_equal(take(packets, COUNT(packets)), 1);
        assert_int_equal(hf_my_is_number(&reply, 0, 0), cases[i].is);
        assert_true(hf_my_number(&reply, 0, 0) == cases[i].number);
        assert_true(hf_my_unsigned(&reply, 0, 0) == cases[i].positive);
    }
}

/* CALL: its results, then how it ended. */
static void test_several_results(void **state)
{
    static const struct packet packets[] = {
        P("\1"),
        COLUMN,
        END,
        P("\1"
          "1"),
        P("\1"
          "2"),
        MORE,
        OK_MORE,
        P("\2"),
        COLUMN,
        COLUMN,
        END,
        MORE,
        P("\2"),
        COLUMN,
        COLUMN,
        END,
        P("\1"
          "3\1"
          "4"),
        MORE,
        P("\0\1\0\2\0\1\0"),
    };

    (void)state;
    assert_int_equal(take(packets, COUNT(packets)), 1);
    assert_int_equal(reply.results, 3);
    assert_int_equal(reply.rows, 3);
    assert_int_equal(hf_my_result(&reply, 1), 0);
    assert_int_equal(hf_my_result(&reply, 2), 2);
    assert_int_equal(hf_my_columns(&reply, 2), 2);
    assert_int_equal(hf_my_number(&reply, 2, 1), 4);
    assert_int_equal(reply.changed, 1);
    assert_int_equal(reply.warnings, 1);
}

static void test_errors(void **state)
{
    static const struct packet alone[] = { FAULT };
    static const struct packet after[] = { P("\1"),
                                           COLUMN,
                                           END,
                                           P("\1"
                                             "1"),
                                           MORE,
                                           FAULT };
    static const struct packet among[] = { P("\2"), COLUMN, FAULT };
    static const struct packet stateless[] = { P("\xff\x10\4Too many\nconnections") };
    static const struct packet mute[] = { P("\xff\x10\4") };

    (void)state;
    assert_int_equal(take(alone, 1), 1);
    assert_int_equal(reply.error, 1064);
    assert_string_equal(reply.state, "42000");
    assert_string_equal(reply.message, "You have an error");
    assert_int_equal(take(after, COUNT(after)), 1);
    assert_int_equal(reply.error, 1064);
    assert_int_equal(reply.rows, 1);
    assert_int_equal(take(among, COUNT(among)), 1);
    assert_int_equal(take(stateless, 1), 1);
    assert_int_equal(reply.error, 1040);
    assert_string_equal(reply.state, "HY000");
    assert_string_equal(reply.message, "Too many connections");
    assert_int_equal(take(mute, 1), 1);
    assert_string_equal(reply.message, "");
    hf_my_reply_clear(&reply);
    assert_int_equal(reply.error, 0);
    assert_string_equal(reply.message, "");
}

/* Cut between characters: two bytes each, behind a single one. */
static void test_long_messages_are_cut(void **state)
{
    char text[3 + 6 + 1 + 600] = "\xff\x28\4#42000x";

    (void)state;
    for (size_t i = 10; i < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa4", 2);
    struct packet packet = { text, sizeof text };
    assert_int_equal(take(&packet, 1), 1);
    assert_int_equal(strlen(reply.message), 255);
    assert_memory_equal(reply.message + 253, "\xc3\xa4", 3);
    packet.bytes = text + 1;
    text[1] = '\xff';
    text[2] = 1;
    text[3] = 1;
    packet.size = sizeof text - 1;
    assert_int_equal(take(&packet, 1), 1);
    assert_true(strlen(reply.message) <= 255);
}

static void test_packets_that_make_no_sense(void **state)
{
    static const struct {
        struct packet packet[6];
        size_t        count;
    } cases[] = {
        { { { "", 0 } }, 1 },
        { { P("\0") }, 1 },
        { { P("\0\0\0\2\0\0") }, 1 },
        { { P("\0\xfb\0\2\0\0\0") }, 1 },
        { { P("\xff") }, 1 },
        { { P("\xff\x28") }, 1 },
        { { P("\xff\0\0") }, 1 },        /* an error without a number */
        { { P("\xfb/etc/passwd") }, 1 }, /* a file, please */
        { { P("\xfe\0\0\2\0") }, 1 },    /* an end without a beginning */
        { { P("\xfc\1\x10") }, 1 },      /* 4097 columns */
        { { P("\xfe\xff\xff\xff\xff\xff\xff\xff\xff") }, 1 },
        { { P("\1\1") }, 1 },
        { { P("\1"), P("\3abc") }, 2 }, /* no column */
        { { P("\1"), END }, 2 },
        { { P("\1"), COLUMN, COLUMN }, 3 }, /* one too many */
        { { P("\1"), COLUMN, P("\xfe\0\0") }, 3 },
        { { P("\1"), COLUMN, P("\xfe\0\0\2\0\0") }, 3 },
        { { P("\2"), COLUMN, COLUMN, END,
            P("\1"
              "1") },
          5 },
        { { P("\1"), COLUMN, END,
            P("\1"
              "1\1"
              "1") },
          4 },
        { { P("\1"), COLUMN, END,
            P("\2"
              "1") },
          4 },
        { { P("\1"), COLUMN, END, P("\xfe\0\0") }, 4 },
        { { P("\1"), COLUMN, END, P("\xfe\1\0\0\0\0\0\0\0x\0") }, 4 },
        { { P("\1"), COLUMN, END, P("\xfe\xff\xff\xff\xff\xff\xff\xff\xff") }, 4 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        if (take(cases[i].packet, cases[i].count) != HF_ESTORE)
            fail_msg("case %zu was accepted", i);
}

/* However many rows come: the answer stays below 256 MB, and all of it is freed. */
static void test_endless_rows(void **state)
{
    static const struct packet head[] = { P("\xfc\0\x10") };
    char                       nulls[4096];
    size_t                     rows = 0;
    int                        r = take(head, 1);

    (void)state;
    memset(nulls, 0xfb, sizeof nulls);
    for (int i = 0; i < 4096; i++)
        assert_int_equal(hf_my_reply_take(&reply, "\3def", 4), 0);
    assert_int_equal(hf_my_reply_take(&reply, "\xfe\0\0\2\0", 5), 0);
    while (r == 0 && rows < 1000000) {
        r = hf_my_reply_take(&reply, nulls, sizeof nulls);
        rows++;
    }
    assert_int_equal(r, HF_ENOMEM);
    assert_true(rows > 1000 && rows < 100000);
    hf_my_reply_clear(&reply);
    assert_null(reply.field);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_statement_without_rows),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_several_results),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_long_messages_are_cut),
        cmocka_unit_test(test_packets_that_make_no_sense),
        cmocka_unit_test(test_endless_rows),
    };

    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    hf_my_reply_finish(&reply);
    return failed;
}
