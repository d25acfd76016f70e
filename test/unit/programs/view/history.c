/* history.c - events: found by comparing two reports, kept in a ring, written as JSON. */
/* one thread */
#include "view/history.c"
#include "view/changes.c"
#include "view/clock.c"
#include "view/json.c"
#include "view/place.c"
#include "view/text.c"
#include "view/text_shown.c"

#include "lib/sample_reports.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- Changes ------------------------------------------------------------------- */

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

static void test_changes_between_two_reports(void **state)
{
    (void)state;
    expect(NULL, sample_mutexes("a", 1, 3), "granted 1\nentered 2\nentered 3\n");
    expect(sample_mutexes("a", 1, 3), sample_mutexes("a", 1, 3), "");
    expect(sample_mutexes("a", 1, 2), sample_mutexes("a", 2, 2),
           "released 1\ngranted 2\nentered 3\n");
    expect(sample_mutexes("a", 1, 3), sample_mutexes("a", 1, 2), "left 3\n");
    expect(sample_mutexes("a", 1, 2), sample_mutexes("a", 1, 0), "released 1\nleft 2\n");
    expect(sample_mutexes("a", 1, 2), sample_mutexes("a", 8, 2),
           "released 1\nleft 2\ngranted 8\nentered 9\n");
}

static void count_change(const char *what, const struct hf_entry *entry, void *data)
{
    (void)what;
    (void)entry;
    ++*(size_t *)data;
}

/* Comparing each of so many with all others would take minutes: the time limit of
 * test/run decides. */
static void test_changes_of_a_long_line(void **state)
{
    const size_t      count = 300000;
    struct hf_report *before = sample_mutexes("a", 1, count);
    struct hf_report *after = sample_mutexes("a", 1 + count, count);
    size_t            told = 0;

    (void)state;
    changes_tell(before, after, count_change, &told);
    assert_int_equal(told, 2 * count);
    hf_report_free(before);
    hf_report_free(after);
}

/* If another program wrote there. */
static void test_changes_of_tokens_out_of_order(void **state)
{
    const struct hf_place place[] = { sample_place(5), sample_place(3), sample_place(4) };

    (void)state;
    expect(sample_report("a", place, 2), sample_report("a", place + 1, 2),
           "released 5\ngranted 3\nentered 4\n");
}

/* ---- The ring ------------------------------------------------------------------ */

static void add(struct history *history, const char *what, uint64_t token, int64_t time)
{
    struct hf_place   place = sample_place(token);
    struct hf_report *report = sample_report("a", &place, 1);

    history_add_place(history, what, report->entry[0], time, "");
    hf_report_free(report);
}

static void test_the_oldest_entries_are_dropped(void **state)
{
    struct history history;

    (void)state;
    assert_true(history_init(&history, 4));
    assert_int_equal(history_since(&history, 0), 1);
    assert_null(history_get(&history, 0));
    assert_null(history_get(&history, 1));
    for (uint64_t n = 1; n <= 6; n++)
        add(&history, "granted", n, (int64_t)n * 10);
    assert_null(history_get(&history, 2));
    assert_null(history_get(&history, 7));
    for (uint64_t n = 3; n <= 6; n++) {
        assert_int_equal(history_get(&history, n)->token, n);
        assert_int_equal(history_get(&history, n)->number, n);
    }
    assert_int_equal(history_since(&history, 0), 3);
    assert_int_equal(history_since(&history, 45), 5);
    assert_int_equal(history_since(&history, 60), 6);
    assert_int_equal(history_since(&history, 61), 7);
    history_finish(&history);
}

static struct hf_history_entry record_of(const char *name, uint64_t token,
                                         const char *reason)
{
    return (struct hf_history_entry){ .number = 1,
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

static void test_an_ask_is_recorded(void **state)
{
    struct hf_history_entry first = record_of("a", 3, "first"),
                            last = record_of("a", 3, "last"),
                            other = record_of("b", 3, "other");
    struct history history;

    (void)state;
    assert_true(history_init(&history, 8));
    assert_null(history_last_request(&history, "a", 3));
    add(&history, "granted", 3, 1);
    history_add_entry(&history, &first);
    history_add_entry(&history, &last);
    history_add_entry(&history, &other);
    assert_string_equal(history_last_request(&history, "a", 3)->reason, "last");
    assert_null(history_last_request(&history, "a", 4));
    assert_null(history_last_request(&history, "c", 3));
    history_finish(&history);
}

static void test_an_event_as_json(void **state)
{
    struct hf_history_entry record = record_of("a\"\x1b[31m", UINT64_MAX, "\xe2\x80\xae");
    struct history          history;
    char                   *text = NULL;
    size_t                  size;
    struct json             json = { .out = open_memstream(&text, &size) };

    (void)state;
    assert_true(history_init(&history, 1));
    history_add_entry(&history, &record);
    json_open(&json, NULL, '{');
    history_json(&json, history_get(&history, 1));
    json_close(&json, '}');
    fclose(json.out);
    assert_string_equal(
        text, "{\"number\":1,\"time\":\"1970-01-01T00:00:00.000005Z\","
              "\"event\":\"asked\",\"name\":\"a\\\"\\u001b[31m\","
              "\"token\":\"18446744073709551615\",\"kind\":\"mutex\",\"slot\":null,"
              "\"owner\":\"ana@db2:7\",\"command\":\"x\",\"note\":\"\","
              "\"reason\":\"\\u202e\"}");
    free(text);
    history_finish(&history);
}

/* ---- Places and texts ---------------------------------------------------------- */

static void test_places_as_text(void **state)
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
    entry.since = INT64_MAX; /* by a clock ahead of ours */
    assert_int_equal(place_age(&entry), 0);
}

static void test_text_is_cut_to_columns(void **state)
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

static void test_control_characters_are_replaced(void **state)
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
        cmocka_unit_test(test_changes_between_two_reports),
        cmocka_unit_test(test_changes_of_a_long_line),
        cmocka_unit_test(test_changes_of_tokens_out_of_order),
        cmocka_unit_test(test_the_oldest_entries_are_dropped),
        cmocka_unit_test(test_an_ask_is_recorded),
        cmocka_unit_test(test_an_event_as_json),
        cmocka_unit_test(test_places_as_text),
        cmocka_unit_test(test_text_is_cut_to_columns),
        cmocka_unit_test(test_control_characters_are_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
