/* names_folder.c - names of locks as names of folders.  An argument is a seed. */
/* one thread */
#include "base/name.h"
#include "base/random.h"
#include "store/zookeeper/line/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed = 1;

static void assert_no_folder(const char *folder, size_t size)
{
    char name[256] = "untouched";

    if (hf_zk_folder_parse(folder, size, name))
        fail_msg("%.*s is taken for the folder of %s", (int)size, folder, name);
    assert_string_equal(name, "untouched");
}

static void test_names_and_their_folders(void **state)
{
    static const struct {
        const char *name, *folder;
    } rows[] = {
        { "deploy", "deploy" },
        { "a", "a" },
        { "nightly report", "nightly report" },
        { "a.b", "a.b" },
        { ".a", ".a" },
        { "a.", "a." },
        { "~!@#$^&*()_+={}[]|\\:;\"'<>,?", "~!@#$^&*()_+={}[]|\\:;\"'<>,?" },
        { "100%", "100%25" },
        { "%2e%2e", "%252e%252e" },
        { "%41", "%2541" },
        { "zookeeper", "%7Aookeeper" },
        { "%7Aookeeper", "%257Aookeeper" },
        { "zookeeper2", "zookeeper2" },
        { "Zookeeper", "Zookeeper" },
        { "\xc3\xa4rger", "\xc3\xa4rger" },
        { "\xc2\xa0", "\xc2\xa0" },                 /* U+00A0 */
        { "\xed\x9f\xbf", "\xed\x9f\xbf" },         /* U+D7FF */
        { "\xee\x80\x80", "%EE%80%80" },            /* U+E000, private */
        { "\xef\xa3\xbf", "%EF%A3%BF" },            /* U+F8FF */
        { "\xef\xa4\x80", "\xef\xa4\x80" },         /* U+F900 */
        { "\xef\xbf\xaf", "\xef\xbf\xaf" },         /* U+FFEF */
        { "\xef\xbf\xb0", "%EF%BF%B0" },            /* U+FFF0 */
        { "\xef\xbf\xbd", "%EF%BF%BD" },            /* U+FFFD */
        { "\xef\xbf\xbf", "%EF%BF%BF" },            /* U+FFFF */
        { "a\xf0\x9f\x94\x92z", "a%F0%9F%94%92z" }, /* U+1F512 */
        { "\xf4\x8f\xbf\xbf", "%F4%8F%BF%BF" },     /* U+10FFFF */
    };
    char folder[HF_ZK_FOLDER_MAX], name[256];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hf_zk_folder(rows[i].name, folder);
        assert_string_equal(folder, rows[i].folder);
        assert_true(hf_zk_folder_parse(folder, strlen(folder), name));
        assert_string_equal(name, rows[i].name);
    }
}

/* No lock has such a name, but if one came here it would do no harm. */
static void test_invalid_names_are_escaped(void **state)
{
    static const struct {
        const char *name, *folder;
    } rows[] = {
        { ".", "%2E" },
        { "..", "%2E." },
        { "a/../b", "a%2F..%2Fb" },
        { "\x01\x1f\x7f", "%01%1F%7F" },
        { "\xc2\x80\xc2\x9f", "%C2%80%C2%9F" },
        { "a\xff\xc3", "a%FF%C3" },
        { "\xed\xa0\x80", "%ED%A0%80" }, /* half a surrogate pair */
    };
    char folder[HF_ZK_FOLDER_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hf_zk_folder(rows[i].name, folder);
        assert_string_equal(folder, rows[i].folder);
        assert_no_folder(folder, strlen(folder));
    }
}

static void test_folders_that_belong_to_no_lock(void **state)
{
    static const char *const rows[] = {
        "",          ".",           "..",          "a..b",         "a/b",
        "zookeeper", "%7aookeeper", "%",           "a%",           "a%2",
        "%2",        "%%",          "%25%",        "%2x",          "%x2",
        "%+1",       "% 1",         "%00",         "a%00",         "%41", /* needless */
        "%61bc",     "%2E",         "%2E%2E",      "%2F",          "%0A",
        "%7F",       "%C3%A4", /* needless: ZooKeeper accepts the character */
        "%ee%80%80", "%EE%80",      "%EE\x80\x80", "\xee\x80\x80", "\xf0\x9f\x94\x92",
        "%ED%A0%80", "%FF",         "\xff",        "\xc3",         "a\n",
    };
    char text[HF_ZK_FOLDER_MAX + 3];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_no_folder(rows[i], strlen(rows[i]));
    assert_no_folder("a\0", 2);
    assert_no_folder("a\0b", 3);
    assert_no_folder("\0", 1);
    memset(text, 'x', sizeof text);
    assert_no_folder(text, 256);
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "%25"[i % 3];
    assert_no_folder(text, sizeof text - 1); /* 256 times a percent sign */
}

static void test_the_longest_names(void **state)
{
    char name[256], folder[HF_ZK_FOLDER_MAX], again[256];

    (void)state;
    memset(name, '%', 255);
    name[255] = '\0';
    hf_zk_folder(name, folder);
    assert_int_equal(strlen(folder), HF_ZK_FOLDER_MAX - 1);
    assert_true(hf_zk_folder_parse(folder, strlen(folder), again));
    assert_string_equal(again, name);
    memset(name, 'x', 255);
    hf_zk_folder(name, folder);
    assert_string_equal(folder, name);
    assert_true(hf_zk_folder_parse(folder, 255, again));
}

static size_t encode(uint32_t code, char *to)
{
    static const unsigned char mark[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = length; i-- > 1; code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)(code | mark[length]);
    to[length] = '\0';
    return length;
}

/* The server's own rule, for UTF-16 code units. */
static bool server_refuses_unit(uint32_t unit)
{
    return unit <= 0x1f || (unit >= 0x7f && unit <= 0x9f) ||
           (unit >= 0xd800 && unit <= 0xf8ff) || (unit >= 0xfff0 && unit <= 0xffff);
}

static bool server_refuses(uint32_t code)
{
    if (code < 0x10000)
        return server_refuses_unit(code);
    return server_refuses_unit(0xd800 + ((code - 0x10000) >> 10)) ||
           server_refuses_unit(0xdc00 + ((code - 0x10000) & 0x3ff));
}

static void test_every_character_is_escaped_and_read_back(void **state)
{
    char     name[5], folder[HF_ZK_FOLDER_MAX], again[256];
    unsigned tried = 0;

    (void)state;
    for (uint32_t code = 1; code <= 0x10ffff; code++) {
        size_t length = encode(code, name);
        if (hf_name_fault(name) != NULL)
            continue;
        tried++;
        hf_zk_folder(name, folder);
        bool plain = strcmp(folder, name) == 0;
        if (plain != (!server_refuses(code) && code != '%'))
            fail_msg("U+%04X becomes %s", code, folder);
        if (!plain) {
            assert_int_equal(strlen(folder), 3 * length);
            assert_int_equal(strspn(folder, "%0123456789ABCDEF"), 3 * length);
        }
        if (!hf_zk_folder_parse(folder, strlen(folder), again) ||
            strcmp(again, name) != 0)
            fail_msg("U+%04X does not come back", code);
    }
    assert_int_equal(tried, 0x10ffff - 2048 - 31 - 33 - 2); /* controls, '/' and '.' */
}

static void test_random_names_are_read_back(void **state)
{
    static const char *const parts[] = {
        "%",
        "%2",
        "%25",
        "2",
        "5",
        "A",
        "z",
        "ookeeper",
        "zookeeper",
        ".",
        "-",
        "lock",
        " ",
        "\xc3\xa4",
        "\xc2\xa0",
        "\xee\x80\x80",
        "\xef\xbf\xbd",
        "\xf0\x9f\x94\x92",
    };
    uint64_t random = seed;
    char     name[1024], folder[HF_ZK_FOLDER_MAX], again[256];
    int      good = 0;

    (void)state;
    for (int i = 0; i < 50000; i++) {
        size_t count = 1 + hf_random_next(&random) % (i % 10 == 0 ? 60 : 6);
        name[0] = '\0';
        while (count-- > 0)
            strcat(name, parts[hf_random_next(&random) % (sizeof parts / sizeof *parts)]);
        if (hf_name_fault(name) != NULL)
            continue;
        good++;
        hf_zk_folder(name, folder);
        if (!hf_zk_folder_parse(folder, strlen(folder), again) ||
            strcmp(again, name) != 0)
            fail_msg("\"%s\" does not come back from \"%s\"", name, folder);
        /* Taken for a folder, it belongs to a lock only if that lock is written so. */
        if (hf_zk_folder_parse(name, strlen(name), again)) {
            hf_zk_folder(again, folder);
            assert_string_equal(folder, name);
        }
    }
    assert_true(good > 10000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_their_folders),
        cmocka_unit_test(test_invalid_names_are_escaped),
        cmocka_unit_test(test_folders_that_belong_to_no_lock),
        cmocka_unit_test(test_the_longest_names),
        cmocka_unit_test(test_every_character_is_escaped_and_read_back),
        cmocka_unit_test(test_random_names_are_read_back),
    };

    if (argc > 1)
        seed = strtoull(argv[1], NULL, 0);
    print_message("# seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
