/* note.c - the note of a place, which describes its owner, written and read. */
/* one thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "client/look/note.h"
#include "holdfast.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void round_trip(const char *command, const char *text)
{
    struct hf_note note;
    char          *encoded = hf_note_encode(command, text);

    assert_non_null(encoded);
    assert_null(strchr(encoded, '\n'));
    assert_int_equal(hf_note_decode(encoded, &note), 0);
    assert_int_equal(note.pid, getpid());
    assert_true(note.user[0] != '\0');
    assert_string_equal(note.command, command != NULL ? command : "");
    assert_string_equal(note.note, text != NULL ? text : "");
    assert_string_equal(note.version, hf_version());
    hf_note_finish(&note);
    free(encoded);
}

static void test_notes_are_read_as_written(void **state)
{
    (void)state;
    round_trip(NULL, NULL);
    round_trip("./backup.sh -v", "50% done, a=b");
    round_trip("tab\there", "line\nline");
    round_trip("über", "日本語 %41");
    round_trip("x", "%");
}

static void test_random_text(void **state)
{
    uint64_t seed = 7;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        char   text[64];
        size_t length = hf_random_next(&seed) % sizeof text;
        for (size_t j = 0; j < length; j++)
            text[j] = (char)(1 + hf_random_next(&seed) % 127);
        text[length] = '\0';
        round_trip(text, "x");
    }
}

static void test_long_text_is_cut_between_characters(void **state)
{
    char           text[1001];
    struct hf_note note;

    (void)state;
    for (size_t i = 0; i < 1000; i += 2)
        memcpy(text + i, "\xc3\xbc", 2);
    memmove(text + 1, text, 999);
    text[0] = 'x';
    text[1000] = '\0';
    char *encoded = hf_note_encode(NULL, text);
    assert_int_equal(hf_note_decode(encoded, &note), 0);
    assert_int_equal(strlen(note.note), 399);
    assert_memory_equal(note.note, text, 399);
    hf_note_finish(&note);
    free(encoded);
}

static void test_notes_of_other_programs(void **state)
{
    static const char *const cases[] = { "10.0.0.7", "owner=me", "a=b c", "", "=" };
    struct hf_note           note;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(hf_note_decode(cases[i], &note), 0);
        assert_string_equal(note.note, cases[i]);
        assert_string_equal(note.user, "");
        assert_int_equal(note.pid, 0);
        hf_note_finish(&note);
    }
}

/* A later version may add some. */
static void test_unknown_fields_are_ignored(void **state)
{
    struct hf_note note;

    (void)state;
    assert_int_equal(hf_note_decode("user=ana pid=7 zone=eu holdfast=9.1.0 note=x",
                                    &note),
                     0);
    assert_string_equal(note.user, "ana");
    assert_string_equal(note.version, "9.1.0");
    assert_string_equal(note.note, "x");
    assert_int_equal(note.pid, 7);
    hf_note_finish(&note);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notes_are_read_as_written),
        cmocka_unit_test(test_random_text),
        cmocka_unit_test(test_long_text_is_cut_between_characters),
        cmocka_unit_test(test_notes_of_other_programs),
        cmocka_unit_test(test_unknown_fields_are_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
