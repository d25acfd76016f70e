/* draw.c - the screens of `holdfast top` as text, at any size. */
/* one thread */
#include "top/draw.c"
#include "top/draw_head.c"
#include "top/draw_queue.c"
#include "top/draw_table.c"
#include "top/input.c"
#include "top/once.c"
#include "top/page.c"
#include "top/rows.c"
#include "top/table.c"
#include "top/top.c"
#include "top/words.c"
#include "view/changes.c"
#include "view/clock.c"
#include "view/history.c"
#include "view/json.c"
#include "view/locks.c"
#include "view/place.c"
#include "view/text.c"
#include "view/text_shown.c"

#include "lib/sample_reports.h"

#include <setjmp.h>

#include <cmocka.h>

#define SECOND  1000000
#define HOSTILE "x\xe2\x80\xae\x1b[31m\n\xff"
#define CHINESE "\xe5\x8f\x91\xe5\xb8\x83" /* four columns */

struct stage {
    struct locks    locks;
    struct history  history;
    struct snapshot snapshot;
    struct top      top;
    struct page     page;
};

static void begin(struct stage *stage)
{
    *stage = (struct stage){ 0 };
    assert_true(history_init(&stage->history, 8));
    stage->snapshot = (struct snapshot){ .locks = &stage->locks,
                                         .history = &stage->history,
                                         .store = "sqlite:/srv/locks.db",
                                         .why = "",
                                         .reachable = true,
                                         .complete = true,
                                         .p50_us = 130,
                                         .p99_us = 2100,
                                         .lost = -1,
                                         .as_of = 61 * SECOND,
                                         .lease_ms = 15000,
                                         .now = 61 * SECOND };
}

static void finish(struct stage *stage)
{
    locks_finish(&stage->locks);
    history_finish(&stage->history);
    top_finish(&stage->top);
    page_finish(&stage->page);
}

static void put_line_in(struct stage *stage, const char *name, uint64_t first,
                        size_t count)
{
    assert_true(
        locks_update(&stage->locks, name, sample_mutexes(name, first, count), 0, NULL));
}

static void make(struct stage *stage, size_t width, size_t height)
{
    top_update(&stage->top, &stage->snapshot);
    (void)draw_screen(&stage->page, &stage->top, &stage->snapshot, width, height);
    assert_int_equal(stage->page.lines, height);
    for (size_t i = 0; i < height; i++)
        assert_true(text_columns(page_text(&stage->page, i)) <= width);
}

static void expect(const struct stage *stage, size_t line, const char *want)
{
    char   got[2000];
    size_t length;

    snprintf(got, sizeof got, "%s", page_text(&stage->page, line));
    for (length = strlen(got); length > 0 && got[length - 1] == ' ';)
        got[--length] = '\0';
    assert_string_equal(got, want);
}

static bool has(const struct stage *stage, const char *part)
{
    for (size_t i = 0; i < stage->page.lines; i++)
        if (strstr(page_text(&stage->page, i), part) != NULL)
            return true;
    return false;
}

/* ---- The table ----------------------------------------------------------------- */

static void test_the_table(void **state)
{
    struct stage stage;

    (void)state;
    begin(&stage);
    put_line_in(&stage, "backup", 1, 1);
    put_line_in(&stage, CHINESE, 2, 3);
    put_line_in(&stage, HOSTILE, 9, 1);
    make(&stage, 80, 10);
    expect(&stage, 1,
           " held 3  waiting 2  lost in 1 h -  3 locks  round trip p50 130us p99 2.1ms");
    expect(
        &stage, 2,
        " NAME                 KIND  HOLDER    COMMAND       HELD LEASE  WAIT LONGEST");
    expect(&stage, 3,
           ">" CHINESE
           "                 mutex ana@db2:7 ./deploy.sh  1m00s kernel    2   1m00s");
    expect(
        &stage, 4,
        " backup               mutex ana@db2:7 ./deploy.sh  1m00s kernel    0       -");
    expect(
        &stage, 5,
        " x\\u202e\\u001b[31m\\n? mutex ana@db2:7 ./deploy.sh  1m00s kernel    0       -");
    expect(&stage, 8, " runs: ./deploy.sh");
    finish(&stage);
}

static void put_job(struct stage *stage, const char *name, uint64_t token,
                    const char *command)
{
    char            note[200];
    struct hf_place place = sample_place(token);

    snprintf(note, sizeof note, "user=deploy host=build-07 pid=1234567 command=%s",
             command);
    place.note = note;
    assert_true(
        locks_update(&stage->locks, name, sample_report(name, &place, 1), 0, NULL));
}

/* KIND and LEASE make room for the command. */
static void test_a_command_at_80_columns(void **state)
{
    struct stage stage;

    (void)state;
    begin(&stage);
    put_job(&stage, "deploy-billing-production", 1, "/usr/local/bin/deploy.sh");
    put_job(&stage, "nightly-backup", 2, "/etc/cron.daily/backup");
    make(&stage, 80, 10);
    expect(
        &stage, 2,
        " NAME               HOLDER              COMMAND                HELD WAIT LONGEST");
    expect(
        &stage, 3,
        ">deploy-billing-... deploy@build-07:... /usr/local/bin/de...  1m00s    0       -");
    finish(&stage);
}

static void test_a_long_name_is_cut_first(void **state)
{
    struct stage stage;
    char         name[61] = "";

    (void)state;
    begin(&stage);
    put_job(&stage, "backup-07", 1, "/usr/local/sbin/backup-of-volume-07");
    put_job(&stage, "backup-08", 2, "/usr/local/sbin/backup-of-volume-08");
    memset(name, 'x', sizeof name - 1);
    put_job(&stage, name, 3, "/usr/local/sbin/backup-of-volume-09");
    make(&stage, 120, 10);
    assert_true(has(&stage, " /usr/local/sbin/backup-of-volume-07 "));
    assert_true(has(&stage, " deploy@build-07:1234567 "));
    make(&stage, 180, 10);
    assert_true(has(&stage, name));
    finish(&stage);
}

/* In every mode, nothing is drawn beyond the edge. */
static void test_every_size_of_screen(void **state)
{
    static const enum top_mode modes[] = { TOP_BROWSING, TOP_FILTERING, TOP_ASKING,
                                           TOP_BREAKING, TOP_HELP };
    struct stage               stage;

    (void)state;
    begin(&stage);
    put_line_in(&stage, CHINESE CHINESE CHINESE, 2, 30);
    for (uint64_t i = 0; i < 30; i++)
        put_line_in(&stage, (char[]){ 'a', (char)('a' + i), '\0' }, 100 + 10 * i, 1);
    stage.snapshot.reachable = false;
    stage.snapshot.why = "Redis at db1:6379 cannot be reached: connection refused";
    top_update(&stage.top, &stage.snapshot);
    for (unsigned opened = 0; opened < 2; opened++) {
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
            for (size_t width = 1; width < 130; width += width < 20 ? 1 : 7)
                for (size_t height = 1; height < 40; height++) {
                    stage.top.mode = modes[m];
                    make(&stage, width, height);
                }
        stage.top.mode = TOP_BROWSING;
        (void)top_key(&stage.top, &stage.snapshot, TOP_KEY_ENTER);
    }
    finish(&stage);
}

static void test_faults_are_shown(void **state)
{
    struct stage stage;

    (void)state;
    begin(&stage);
    make(&stage, 80, 10);
    expect(&stage, 2, " no lock is in use");
    stage.snapshot.reachable = stage.snapshot.complete = false;
    stage.snapshot.why = "Redis at db1:6379 cannot be reached\x1b[0m";
    stage.snapshot.lost = 3;
    make(&stage, 80, 10); /* it was reached before */
    assert_true(has(&stage, "(NOT REACHABLE)"));
    assert_int_equal(stage.page.line[0].fill, PAGE_BAD);
    expect(&stage, 2, " Redis at db1:6379 cannot be reached\\u001b[0m");
    assert_true(has(&stage, "lost in 1 h 3"));
    stage.snapshot.as_of = 0;
    stage.snapshot.lost = -1;
    make(&stage, 80, 10);
    expect(&stage, 1,
           " held -  waiting -  lost in 1 h -  round trip p50 130us p99 2.1ms");
    expect(&stage, 2, " it is not known who holds a lock:");
    expect(&stage, 3, " Redis at db1:6379 cannot be reached\\u001b[0m");
    assert_true(has(&stage, "as of - (NOT REACHABLE)"));
    make(&stage, 20, 3); /* no room for more */
    expect(&stage, 0, " NOT REACHABLE");
    finish(&stage);
}

/* It is drawn again when an age changes, once a second at most. */
static void test_when_the_screen_changes_with_time(void **state)
{
    struct stage stage;

    (void)state;
    begin(&stage);
    assert_int_equal(draw_screen(&stage.page, &stage.top, &stage.snapshot, 80, 24), -1);
    put_line_in(&stage, "a", 1, 1);
    top_update(&stage.top, &stage.snapshot);
    assert_int_equal(draw_screen(&stage.page, &stage.top, &stage.snapshot, 80, 24), 1000);
    stage.snapshot.now = (int64_t)(7200 + 1 + 13) * SECOND; /* held for 2h00m13s */
    assert_int_equal(draw_screen(&stage.page, &stage.top, &stage.snapshot, 80, 24),
                     47000);
    stage.snapshot.paused = true;
    assert_int_equal(draw_screen(&stage.page, &stage.top, &stage.snapshot, 80, 24), -1);
    finish(&stage);
}

/* ---- The ladder ---------------------------------------------------------------- */

static void test_the_queue_of_one_lock(void **state)
{
    struct stage            stage;
    struct hf_place         place[4];
    struct hf_history_entry record = { .what = "asked",
                                       .name = "two",
                                       .token = 2,
                                       .kind = "",
                                       .host = "",
                                       .user = "",
                                       .command = "",
                                       .note = "",
                                       .reason = "reboot" };

    (void)state;
    begin(&stage);
    for (unsigned i = 0; i < 4; i++) {
        place[i] = sample_place(i + 1);
        place[i].shape.capacity = 2;
        place[i].slot = i < 2 ? (int)i : -1;
    }
    assert_true(
        locks_update(&stage.locks, "two", sample_report("two", place, 4), 0, NULL));
    history_add_entry(&stage.history, &record);
    top_update(&stage.top, &stage.snapshot);
    (void)top_key(&stage.top, &stage.snapshot, TOP_KEY_ENTER);
    (void)top_key(&stage.top, &stage.snapshot, TOP_KEY_DOWN);
    make(&stage, 100, 14);
    expect(&stage, 2, " two  semaphore, 2 of 2 taken, 2 hold, 2 wait");
    assert_non_null(strstr(page_text(&stage.page, 3),
                           " PLACE          TOKEN  KIND       SLOT  WHO        SINCE"));
    assert_non_null(strstr(page_text(&stage.page, 4),
                           " holds              1  semaphore     0  ana@db2:7"));
    assert_non_null(strstr(page_text(&stage.page, 5),
                           ">holds (asked)      2  semaphore     1  ana@db2:7"));
    assert_non_null(strstr(page_text(&stage.page, 6), " |- 1               3"));
    assert_non_null(strstr(page_text(&stage.page, 7), " `- 2               4"));
    expect(&stage, 10, " runs: ./deploy.sh  asked: reboot");
    expect(&stage, 11, "   holdfast ask --url sqlite:/srv/locks.db two");
    expect(&stage, 12, "   holdfast break --url sqlite:/srv/locks.db --token 2 two");
    make(&stage, 40, 18); /* so that it can be copied */
    expect(&stage, 13, "   holdfast ask --url \\");
    expect(&stage, 14, "   sqlite:/srv/locks.db two");
    expect(&stage, 15, "   holdfast break --url \\");
    expect(&stage, 16, "   sqlite:/srv/locks.db --token 2 two");
    locks_update(&stage.locks, "two", sample_mutexes("two", 0, 0), 0, NULL);
    make(&stage, 80, 14);
    expect(&stage, 2, " two  its queue is empty");
    finish(&stage);
}

/* ---- Once ---------------------------------------------------------------------- */

static void test_once_as_text(void **state)
{
    struct stage stage;
    char        *text = NULL;
    size_t       size;
    FILE        *out = open_memstream(&text, &size);

    (void)state;
    begin(&stage);
    put_line_in(&stage, "backup", 1, 1);
    put_line_in(&stage, "deploy", 2, 2);
    rows_update(&stage.top.rows, &stage.locks, stage.snapshot.now);
    once_text(out, &stage.top.rows, &stage.snapshot, 0);
    fclose(out);
    char *rest = strchr(text, '\n');
    assert_string_equal(
        rest,
        "\nheld 2  waiting 1  lost in 1 h -  2 locks  round trip p50 130us p99 2.1ms\n"
        "NAME    KIND   HOLDER     COMMAND        HELD  LEASE   WAIT  LONGEST\n"
        "deploy  mutex  ana@db2:7  ./deploy.sh   1m00s  kernel     1    1m00s\n"
        "backup  mutex  ana@db2:7  ./deploy.sh   1m00s  kernel     0        -\n");
    free(text);
    finish(&stage);
}

static void test_once_as_json(void **state)
{
    struct stage stage;
    char        *text = NULL;
    size_t       size;
    FILE        *out = open_memstream(&text, &size);

    (void)state;
    begin(&stage);
    put_line_in(&stage, "deploy", 2, 3);
    rows_filter(&stage.top.rows, "x*", false);
    rows_update(&stage.top.rows, &stage.locks, stage.snapshot.now);
    once_json(out, &stage.top.rows, &stage.snapshot);
    fclose(out);
    assert_string_equal(text, "{\"store\":\"sqlite:/srv/locks.db\","
                              "\"as_of\":\"1970-01-01T00:01:01.000000Z\","
                              "\"round_trip_us\":{\"p50\":130,\"p99\":2100},\"held\":1,"
                              "\"waiting\":2,\"lost_last_hour\":null,\"locks\":[]}\n");
    free(text);
    finish(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_table),
        cmocka_unit_test(test_a_command_at_80_columns),
        cmocka_unit_test(test_a_long_name_is_cut_first),
        cmocka_unit_test(test_every_size_of_screen),
        cmocka_unit_test(test_faults_are_shown),
        cmocka_unit_test(test_when_the_screen_changes_with_time),
        cmocka_unit_test(test_the_queue_of_one_lock),
        cmocka_unit_test(test_once_as_text),
        cmocka_unit_test(test_once_as_json),
    };

    setenv("TZ", "UTC", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
