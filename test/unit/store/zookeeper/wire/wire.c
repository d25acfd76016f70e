/* wire.c - ZooKeeper's messages, byte by byte. */
/* one thread */
#include "store/zookeeper/wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The bytes of a string literal, without its NUL. */
#define BYTES(literal) (literal), sizeof(literal) - 1

static void assert_written(struct hf_zk_writer *writer, const char *bytes, size_t size)
{
    assert_false(writer->failed);
    assert_int_equal(writer->used, size);
    assert_memory_equal(writer->bytes, bytes, size);
    hf_zk_writer_finish(writer);
    assert_null(writer->bytes);
    assert_int_equal(writer->used + writer->room, 0);
}

/* ---- Writing ------------------------------------------------------------------- */

static void test_numbers_are_big_endian(void **state)
{
    struct hf_zk_writer writer = { 0 };

    (void)state;
    hf_zk_put_byte(&writer, 1);
    hf_zk_put_byte(&writer, 0);
    hf_zk_put_int(&writer, 0x01020304);
    hf_zk_put_int(&writer, -11);
    hf_zk_put_int(&writer, INT32_MIN);
    hf_zk_put_long(&writer, INT64_C(0x0102030405060708));
    hf_zk_put_long(&writer, -2);
    assert_written(&writer, BYTES("\1\0"
                                  "\1\2\3\4"
                                  "\xff\xff\xff\xf5"
                                  "\x80\0\0\0"
                                  "\1\2\3\4\5\6\7\10"
                                  "\xff\xff\xff\xff\xff\xff\xff\xfe"));
}

static void test_texts_begin_with_their_length(void **state)
{
    struct hf_zk_writer writer = { 0 };

    (void)state;
    hf_zk_put_string(&writer, "/a");
    hf_zk_put_string(&writer, "");
    hf_zk_put_string(&writer, NULL);
    hf_zk_put_bytes(&writer, "a\0b", 3);
    hf_zk_put_bytes(&writer, "", 0);
    hf_zk_put_bytes(&writer, NULL, 0);
    assert_written(&writer, BYTES("\0\0\0\2/a"
                                  "\0\0\0\0"
                                  "\xff\xff\xff\xff"
                                  "\0\0\0\3a\0b"
                                  "\0\0\0\0"
                                  "\xff\xff\xff\xff"));
}

static void test_connect_request(void **state)
{
    static const unsigned char password[16] = "0123456789abcdef";
    struct hf_zk_writer        writer = { 0 };

    (void)state;
    size_t begin = hf_zk_frame_begin(&writer);
    hf_zk_put_int(&writer, 0);        /* protocol */
    hf_zk_put_long(&writer, 0x20007); /* newest zxid seen */
    hf_zk_put_int(&writer, 30000);    /* ms */
    hf_zk_put_long(&writer, 0x123456789);
    hf_zk_put_bytes(&writer, password, sizeof password);
    hf_zk_put_byte(&writer, 0); /* read-only will do? */
    hf_zk_frame_end(&writer, begin);
    assert_written(&writer, BYTES("\0\0\0\x2d"
                                  "\0\0\0\0"
                                  "\0\0\0\0\0\2\0\7"
                                  "\0\0\x75\x30"
                                  "\0\0\0\1\x23\x45\x67\x89"
                                  "\0\0\0\x10"
                                  "0123456789abcdef"
                                  "\0"));
}

static void test_frames_follow_each_other(void **state)
{
    struct hf_zk_writer writer = { 0 };

    (void)state;
    hf_zk_frame_end(&writer, hf_zk_frame_begin(&writer));
    size_t begin = hf_zk_frame_begin(&writer);
    assert_int_equal(begin, 4);
    hf_zk_put_int(&writer, HF_ZK_XID_PING);
    hf_zk_put_int(&writer, HF_ZK_PING);
    hf_zk_frame_end(&writer, begin);
    assert_written(&writer, BYTES("\0\0\0\0"
                                  "\0\0\0\10\xff\xff\xff\xfe\0\0\0\xb"));
}

static void test_a_writer_grows(void **state)
{
    enum { COUNT = 100000 };
    struct hf_zk_writer writer = { 0 };
    size_t              grown = 0;

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        size_t room = writer.room;
        hf_zk_put_int(&writer, i);
        grown += writer.room != room;
    }
    assert_false(writer.failed);
    assert_in_range(grown, 1, 20); /* it doubles */
    struct hf_zk_reader reader = hf_zk_reader_on(writer.bytes, writer.used);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(hf_zk_get_int(&reader), i);
    assert_int_equal(reader.at, reader.size);

    /* More at once than doubling gives. */
    unsigned char *lot = malloc(5000000);
    assert_non_null(lot);
    memset(lot, 'x', 5000000);
    hf_zk_put_bytes(&writer, lot, 5000000);
    assert_int_equal(writer.used, 4 * COUNT + 4 + 5000000);
    assert_memory_equal(writer.bytes + 4 * COUNT + 4, lot, 5000000);
    free(lot);
    hf_zk_writer_finish(&writer);
}

static void test_frames_beyond_the_limit_fail(void **state)
{
    struct hf_zk_writer writer = { 0 };
    unsigned char      *lot = calloc(1, HF_ZK_FRAME_MAX);

    (void)state;
    assert_non_null(lot);
    hf_zk_put_bytes(&writer, lot, HF_ZK_FRAME_MAX + 1); /* not even read */
    assert_true(writer.failed);
    assert_int_equal(writer.used, 0);
    hf_zk_writer_finish(&writer);

    size_t begin = hf_zk_frame_begin(&writer);
    hf_zk_put_bytes(&writer, lot, HF_ZK_FRAME_MAX - 4);
    hf_zk_frame_end(&writer, begin);
    assert_false(writer.failed);
    hf_zk_writer_finish(&writer);

    begin = hf_zk_frame_begin(&writer);
    hf_zk_put_bytes(&writer, lot, HF_ZK_FRAME_MAX - 3);
    hf_zk_frame_end(&writer, begin);
    assert_true(writer.failed);

    /* From then on calls do nothing. */
    size_t used = writer.used;
    begin = hf_zk_frame_begin(&writer);
    hf_zk_put_string(&writer, "x");
    hf_zk_frame_end(&writer, begin);
    assert_true(writer.failed);
    assert_int_equal(writer.used, used);
    hf_zk_writer_finish(&writer);
    assert_false(writer.failed);
    free(lot);
}

/* ---- Frames -------------------------------------------------------------------- */

static void test_frame_size(void **state)
{
    static const struct {
        const char *bytes;
        size_t      size;
        long        answer;
    } rows[] = {
        { BYTES(""), -1 },
        { BYTES("\0\0\0"), -1 },
        { BYTES("\0\0\0\0"), 0 },
        { BYTES("\0\0\0\0x"), 0 },
        { BYTES("\0\0\0\3ab"), -1 },
        { BYTES("\0\0\0\3abc"), 3 },
        { BYTES("\0\0\0\3abcd"), 3 },
        { BYTES("\1\0\0\0"), -1 }, /* as long as it may be, 16 MiB */
        { BYTES("\1\0\0\1"), -2 },
        { BYTES("\x7f\xff\xff\xff"), -2 },
        { BYTES("\x80\0\0\0"), -2 },
        { BYTES("\xff\xff\xff\xff"), -2 },
        { BYTES("HTTP/1.1 400"), -2 }, /* some other server */
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(hf_zk_frame_size(rows[i].bytes, rows[i].size), rows[i].answer);
}

/* ---- Reading ------------------------------------------------------------------- */

#define STAT                                      \
    "\0\0\0\1\0\0\0\2"             /* czxid */    \
    "\0\0\0\1\0\0\0\3"             /* mzxid */    \
    "\0\0\1\x8b\xcf\xe5\x68\0"     /* ctime */    \
    "\0\0\1\x8b\xcf\xe5\x68\1"     /* mtime */    \
    "\0\0\0\4"                     /* version */  \
    "\xff\xff\xff\xff"             /* cversion */ \
    "\0\0\0\6"                     /* aversion */ \
    "\xf1\0\0\x12\x34\x56\x78\x9a" /* owner */    \
    "\0\0\0\7"                     /* length */   \
    "\0\0\0\10"                    /* children */ \
    "\0\0\0\1\0\0\0\5"             /* pzxid */

static void test_a_stat_is_read_field_by_field(void **state)
{
    struct hf_zk_reader reader = hf_zk_reader_on(BYTES(STAT));
    struct hf_zk_stat   stat;

    (void)state;
    hf_zk_get_stat(&reader, &stat);
    assert_false(reader.bad);
    assert_int_equal(reader.at, 68);
    assert_true(stat.czxid == 0x100000002 && stat.mzxid == 0x100000003);
    assert_true(stat.ctime == 1700000000000 && stat.mtime == 1700000000001);
    assert_int_equal(stat.version, 4);
    assert_int_equal(stat.cversion, -1);
    assert_int_equal(stat.aversion, 6);
    assert_true(stat.owner == -0xeffffedcba98766); /* session ids may be negative */
    assert_int_equal(stat.length, 7);
    assert_int_equal(stat.children, 8);
    assert_true(stat.pzxid == 0x100000005);
}

/* An answer with everything in it: header, children, data, stat, a flag. */
#define ANSWER                                 \
    "\0\0\0\7\0\0\0\1\0\0\0\2\xff\xff\xff\x9b" \
    "\0\0\0\2\0\0\0\1a\0\0\0\3bcd"             \
    "\xff\xff\xff\xff" STAT "\1"

static void read_answer(struct hf_zk_reader *reader, bool whole)
{
    struct hf_zk_stat stat;

    int32_t xid = hf_zk_get_int(reader);
    int64_t zxid = hf_zk_get_long(reader);
    int32_t error = hf_zk_get_int(reader);
    size_t  count = hf_zk_get_count(reader, 4);
    for (size_t i = 0; i < count; i++) {
        struct hf_zk_text text = hf_zk_get_text(reader);
        assert_non_null(text.bytes);
        if (whole)
            assert_memory_equal(text.bytes, i == 0 ? "a" : "bcd", text.size);
    }
    struct hf_zk_text none = hf_zk_get_text(reader);
    assert_string_equal(none.bytes, "");
    assert_int_equal(none.size, 0);
    hf_zk_get_stat(reader, &stat);
    unsigned flag = hf_zk_get_byte(reader);
    if (whole) {
        assert_int_equal(xid, 7);
        assert_true(zxid == 0x100000002);
        assert_int_equal(error, HF_ZK_NO_NODE);
        assert_int_equal(count, 2);
        assert_true(stat.pzxid == 0x100000005);
        assert_int_equal(flag, 1);
    } else {
        assert_int_equal(flag, 0);
    }
}

static void test_a_whole_answer(void **state)
{
    struct hf_zk_reader reader = hf_zk_reader_on(BYTES(ANSWER));

    (void)state;
    read_answer(&reader, true);
    assert_false(reader.bad);
    assert_int_equal(reader.at, reader.size);
}

static void test_an_answer_cut_anywhere_fails(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof ANSWER - 1; size++) {
        char *bytes =
            malloc(size + 1); /* exact, so that a sanitizer finds reads beyond it */
        assert_non_null(bytes);
        memcpy(bytes, ANSWER, size);
        bytes = realloc(bytes, size > 0 ? size : 1);
        assert_non_null(bytes);
        struct hf_zk_reader reader = hf_zk_reader_on(bytes, size);
        read_answer(&reader, false);
        assert_true(reader.bad);
        assert_true(reader.at <= size);
        free(bytes);
    }
}

static void test_a_reader_stays_failed(void **state)
{
    struct hf_zk_reader reader = hf_zk_reader_on(BYTES("\0\0\0\5abc\1\1\1\1\1\1\1\1"));
    struct hf_zk_stat   stat;

    (void)state;
    reader.size = 7;
    assert_int_equal(hf_zk_get_text(&reader).size, 0);
    assert_true(reader.bad);
    size_t at = reader.at;
    reader.size = 15; /* even if more bytes follow */
    assert_int_equal(hf_zk_get_byte(&reader), 0);
    assert_int_equal(hf_zk_get_int(&reader), 0);
    assert_int_equal(hf_zk_get_long(&reader), 0);
    assert_int_equal(hf_zk_get_count(&reader, 1), 0);
    assert_string_equal(hf_zk_get_text(&reader).bytes, "");
    memset(&stat, 1, sizeof stat);
    hf_zk_get_stat(&reader, &stat);
    assert_int_equal(stat.owner, 0);
    assert_int_equal(stat.version, 0);
    assert_true(reader.bad);
    assert_int_equal(reader.at, at);
}

static void test_a_truncated_stat_fails(void **state)
{
    struct hf_zk_reader reader = hf_zk_reader_on(STAT, 60);
    struct hf_zk_stat   stat;

    (void)state;
    hf_zk_get_stat(&reader, &stat);
    assert_true(reader.bad);
    assert_true(stat.czxid == 0 && stat.owner == 0 && stat.children == 0);
}

static void test_absurd_lengths_fail(void **state)
{
    static const struct {
        const char *bytes;
        size_t      size;
        size_t      least;
        size_t      count; /* as a vector */
        bool        bad_vector, bad_text;
    } rows[] = {
        { BYTES("\xff\xff\xff\xff"), 4, 0, false, false }, /* none */
        { BYTES("\xff\xff\xff\xfe"), 4, 0, true, true },
        { BYTES("\x80\0\0\0"), 4, 0, true, true },
        { BYTES("\x7f\xff\xff\xff"), 4, 0, true, true },
        { BYTES("\x40\0\0\1\0\0\0\0"), 4, 0, true, true }, /* times 4: overflows to 4 */
        { BYTES("\0\0\0\0"), 4, 0, false, false },
        { BYTES("\0\0\0\2abcdefgh"), 4, 2, false, false },
        { BYTES("\0\0\0\2abcdefg"), 4, 0, true, false },
        { BYTES("\0\0\0\3abcdefgh"), 4, 0, true, false },
        { BYTES("\0\0\0\10abcdefgh"), 1, 8, false, false },
        { BYTES("\0\0\0\11abcdefgh"), 1, 0, true, true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hf_zk_reader reader = hf_zk_reader_on(rows[i].bytes, rows[i].size);
        assert_int_equal(hf_zk_get_count(&reader, rows[i].least), rows[i].count);
        assert_int_equal(reader.bad, rows[i].bad_vector);
        reader = hf_zk_reader_on(rows[i].bytes, rows[i].size);
        hf_zk_get_text(&reader);
        assert_int_equal(reader.bad, rows[i].bad_text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_big_endian),
        cmocka_unit_test(test_texts_begin_with_their_length),
        cmocka_unit_test(test_connect_request),
        cmocka_unit_test(test_frames_follow_each_other),
        cmocka_unit_test(test_a_writer_grows),
        cmocka_unit_test(test_frames_beyond_the_limit_fail),
        cmocka_unit_test(test_frame_size),
        cmocka_unit_test(test_a_stat_is_read_field_by_field),
        cmocka_unit_test(test_a_whole_answer),
        cmocka_unit_test(test_an_answer_cut_anywhere_fails),
        cmocka_unit_test(test_a_reader_stays_failed),
        cmocka_unit_test(test_a_truncated_stat_fails),
        cmocka_unit_test(test_absurd_lengths_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
