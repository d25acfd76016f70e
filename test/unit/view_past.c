/* view_past.c - what happened: told by two looks at a line, kept in a ring, and as JSON. */
/* one thread */
#include "view/changes.c"
#include "view/clock.c"
#include "view/json.c"
#include "view/past.c"
#include "view/place.c"
#include "view/text.c"
#include "view/text_shown.c"

#include "lib/lines.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- Changes ------------------------------------------------------------------------ */

static void note_change(const char *what, const struct hf_entry *entry, void *data)
{
    char *told = data;

    snprintf(told + strlen(told), 200 - strlen(told), "%s %u\n", what,
             (unsigned)entry->token);
}

static void expect(struct hf_report *before, struct hf_report *after, const char *want)
{
    char told[200] = "";

    changes_tell(before, after, note_change, told);
    assert_string_equal(told, want);
    hf_report_free(before);
    hf_report_free(after);
}

static void test_changes(void **state)
{
    (void)state;
    expect(NULL, lines_mutex("a", 1, 3), "granted 1\nentered 2\nentered 3\n");
    expect(lines_mutex("a", 1, 3), lines_mutex("a", 1, 3), "");
    expect(lines_mutex("a", 1, 2), lines_mutex("a", 2, 2),
           "released 1\ngranted 2\nentered 3\n");
    expect(lines_mutex("a", 1, 3), lines_mutex("a", 1, 2), "left 3\n");
    expect(lines_mutex("a", 1, 2), lines_mutex("a", 1, 0), "released 1\nleft 2\n");
    expect(lines_mutex("a", 1, 2), lines_mutex("a", 8, 2),
           "released 1\nleft 2\ngranted 8\nentered 9\n");
}

static void count_change(const char *what, const struct hf_entry *entry, void *data)
{
    (void)what;
    (void)entry;
    ++*(size_t *)data;
}

/* To compare each of so many with all others takes minutes: the runner's time limit decides. */
static void test_changes_of_a_long_line(void **state)
{
    const size_t      count = 300000;
    struct hf_report *before = lines_mutex("a", 1, count);
    struct hf_report *after = lines_mutex("a", 1 + count, count);
    size_t            told = 0;

    (void)state;
    changes_tell(before, after, count_change, &told);
    assert_int_equal(told, 2 * count);
    hf_report_free(before);
    hf_report_free(after);
}

/* Somebody else wrote there: tokens need not rise. */
static void test_changes_of_tokens_out_of_order(void **state)
{
    const struct hf_ticket place[] = { lines_place(5), lines_place(3), lines_place(4) };

    (void)state;
    expect(lines_report("a", place, 2), lines_report("a", place + 1, 2),
           "released 5\ngranted 3\nentered 4\n");
}

/* ---- The ring ----------------------------------------------------------------------- */

static void add(struct past *past, const char *what, uint64_t token, int64_t time)
{
    struct hf_ticket  place = lines_place(token);
    struct hf_report *report = lines_report("a", &place, 1);

    past_add_entry(past, what, report->entry[0], time, "");
    hf_report_free(report);
}

static void test_the_oldest_are_forgotten(void **state)
{
    struct past past;

    (void)state;
    assert_true(past_init(&past, 4));
    assert_int_equal(past_since(&past, 0), 1);
    assert_null(past_get(&past, 0));
    assert_null(past_get(&past, 1));
    for (uint64_t n = 1; n <= 6; n++)
        add(&past, "granted", n, (int64_t)n * 10);
    assert_null(past_get(&past, 2));
    assert_null(past_get(&past, 7));
    for (uint64_t n = 3; n <= 6; n++) {
        assert_int_equal(past_get(&past, n)->token, n);
        assert_int_equal(past_get(&past, n)->number, n);
    }
    assert_int_equal(past_since(&past, 0), 3);
    assert_int_equal(past_since(&past, 45), 5);
    assert_int_equal(past_since(&past, 60), 6);
    assert_int_equal(past_since(&past, 61), 7);
    past_finish(&past);
}

static struct hf_record record_of(const char *name, uint64_t token, const char *reason)
{
    return (struct hf_record){ .number = 1,
                               .time = 5,
                               .what = "asked",
                               .name = name,
                               .token = token,
                               .kind = "mutex",
                               .slot = -1,
                               .host = "db2",
                               .user = "ana",
                               .pid = 7,
                               .command = "x",
                               .note = "",
                               .reason = reason };
}

static void test_who_was_asked(void **state)
{
    struct hf_record first = record_of("a", 3, "first"), last = record_of("a", 3, "last"),
                     other = record_of("b", 3, "other");
    struct past past;

    (void)state;
    assert_true(past_init(&past, 8));
    assert_null(past_asked(&past, "a", 3));
    add(&past, "granted", 3, 1);
    past_add_record(&past, &first);
    past_add_record(&past, &last);
    past_add_record(&past, &other);
    assert_string_equal(past_asked(&past, "a", 3)->reason, "last");
    assert_null(past_asked(&past, "a", 4));
    assert_null(past_asked(&past, "c", 3));
    past_finish(&past);
}

static void test_an_event_as_json(void **state)
{
    struct hf_record record = record_of("a\"\x1b[31m", UINT64_MAX, "\xe2\x80\xae");
    struct past      past;
    char            *text = NULL;
    size_t           size;
    struct json      json = { .out = open_memstream(&text, &size) };

    (void)state;
    assert_true(past_init(&past, 1));
    past_add_record(&past, &record);
    json_open(&json, NULL, '{');
    past_json(&json, past_get(&past, 1));
    json_close(&json, '}');
    fclose(json.out);
    assert_string_equal(
        text, "{\"number\":1,\"time\":\"1970-01-01T00:00:00.000005Z\","
              "\"event\":\"asked\",\"name\":\"a\\\"\\u001b[31m\","
              "\"token\":\"18446744073709551615\",\"kind\":\"mutex\",\"slot\":null,"
              "\"owner\":\"ana@db2:7\",\"command\":\"x\",\"note\":\"\","
              "\"reason\":\"\\u202e\"}");
    free(text);
    past_finish(&past);
}

/* ---- Places and texts --------------------------------------------------------------- */

static void test_places(void **state)
{
    char            out[PLACE_TEXT_MAX];
    struct hf_entry entry = {
        .host = "d\nb", .user = "", .pid = 9, .command = "x", .note = ""
    };
    struct hf_entry stranger = {
        .host = "", .user = "", .command = "", .note = "10.0.0.7"
    };

    (void)state;
    assert_string_equal(place_address(out, &entry), "?@d\\nb:9");
    assert_false(place_is_stranger(&entry));
    assert_string_equal(place_address(out, &stranger), "-");
    entry.since = INT64_MAX; /* by a clock that is ahead of ours */
    assert_int_equal(place_age(&entry), 0);
}

static void test_text_that_fits(void **state)
{
    const char *wide = "\xe5\x8f\x91x\xe5\xb8\x83"; /* two, one and two columns */
    const char *mark = "e\xcc\x81"
                       "e\xcc\x81"; /* a letter with a mark, twice */

    (void)state;
    assert_int_equal(text_fit("", 5), 0);
    assert_int_equal(text_fit("abc", 0), 0);
    assert_int_equal(text_fit("abc", 2), 2);
    assert_int_equal(text_fit("abc", 9), 3);
    assert_int_equal(text_fit(wide, 1), 0);
    assert_int_equal(text_fit(wide, 2), 3);
    assert_int_equal(text_fit(wide, 4), 4);
    assert_int_equal(text_fit(wide, 5), 7);
    assert_int_equal(text_fit(mark, 1), 3);
}

static void test_text_is_clean(void **state)
{
    char out[64], small[4];

    (void)state;
    text_clean(out, sizeof out, "a\x1b[2J\xe2\x80\xae\n\xff ~");
    assert_string_equal(out, "a\\u001b[2J\\u202e\\n? ~");
    text_clean(small, sizeof small, "abcdef");
    assert_string_equal(small, "abc");
    text_clean(small, sizeof small, "ab\n");
    assert_string_equal(small, "ab");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_changes_of_a_long_line),
        cmocka_unit_test(test_changes_of_tokens_out_of_order),
        cmocka_unit_test(test_the_oldest_are_forgotten),
        cmocka_unit_test(test_who_was_asked),
        cmocka_unit_test(test_an_event_as_json),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_text_that_fits),
        cmocka_unit_test(test_text_is_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
