/* input.c - the keys of `holdfast top`: choose, open, filter, ask and break. */
/* one thread */
#include "top/input.c"
#include "top/rows.c"
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

#define SECOND 1000000

static struct locks    locks;
static struct snapshot snapshot;
static struct top      top;

static void set_line(const char *name, uint64_t first, size_t count)
{
    assert_true(locks_update(&locks, name, sample_mutexes(name, first, count), 0, NULL));
    top_update(&top, &snapshot);
}

static int begin(void **state)
{
    (void)state;
    snapshot = (struct snapshot){ .locks = &locks, .now = 61 * SECOND };
    set_line("a", 10, 1);
    set_line("b", 20, 1);
    set_line("c", 30, 3);
    set_line("d", 40, 1);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    locks_finish(&locks);
    top_finish(&top);
    return 0;
}

static enum top_action press(uint32_t key)
{
    return top_key(&top, &snapshot, key);
}

static void type(const char *text)
{
    while (*text != '\0') {
        assert_int_equal(press(text_character(text)), TOP_NOTHING);
        text += text_utf8(text);
    }
}

static const char *selected(void)
{
    return rows_selected(&top.rows) != NULL ? rows_selected(&top.rows)->name : "-";
}

/* ---- Choosing ------------------------------------------------------------------ */

static void test_the_chosen_lock_stays_chosen(void **state)
{
    (void)state;
    assert_string_equal(selected(), "c"); /* it hurts most */
    set_line("a", 50, 9);
    assert_string_equal(selected(), "a"); /* nobody has selected yet */
    press(TOP_KEY_DOWN);
    assert_string_equal(selected(), "c");
    set_line("d", 60, 20); /* moves to the top */
    assert_string_equal(selected(), "c");
    assert_int_equal(top.rows.at, 2);
    set_line("c", 0, 0); /* it goes: the next one takes its place */
    assert_string_equal(selected(), "b");
    set_line("c", 80, 1); /* and is back */
    assert_string_equal(selected(), "c");
}

static void test_moving_stops_at_the_ends(void **state)
{
    (void)state;
    press(TOP_KEY_UP);
    assert_int_equal(top.rows.at, 0);
    press(TOP_KEY_END);
    assert_int_equal(top.rows.at, 3);
    press(TOP_KEY_DOWN);
    assert_int_equal(top.rows.at, 3);
    top.page = 3;
    press(TOP_KEY_PAGE_UP);
    assert_int_equal(top.rows.at, 1);
    press(TOP_KEY_PAGE_DOWN);
    assert_int_equal(top.rows.at, 3);
    press(TOP_KEY_HOME);
    assert_int_equal(top.rows.at, 0);
    rows_scroll(&top.rows, 2);
    assert_int_equal(top.rows.first, 0);
    press(TOP_KEY_END);
    rows_scroll(&top.rows, 2);
    assert_int_equal(top.rows.first, 2);
    rows_scroll(&top.rows, 9); /* a bigger screen */
    assert_int_equal(top.rows.first, 0);
}

static void test_keys_without_any_lock(void **state)
{
    static const uint32_t keys[] = { TOP_KEY_UP,   TOP_KEY_DOWN, TOP_KEY_ENTER,
                                     TOP_KEY_HOME, TOP_KEY_END,  'a',
                                     'b',          '/',          TOP_KEY_ESCAPE };

    (void)state;
    for (const char *name = "abcd"; *name != '\0'; name++)
        set_line((char[]){ *name, '\0' }, 0, 0);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_int_equal(press(keys[i]), TOP_NOTHING);
    assert_int_equal(top.mode, TOP_BROWSING);
    assert_null(top.opened);
}

/* ---- A line -------------------------------------------------------------------- */

static void test_the_chosen_place_stays_chosen(void **state)
{
    (void)state;
    press(TOP_KEY_ENTER);
    assert_string_equal(top.opened, "c");
    press(TOP_KEY_DOWN);
    assert_int_equal(top.place, 31);
    set_line("c", 31, 2); /* the holder leaves: it is the first now */
    assert_int_equal(top.place_at, 0);
    assert_int_equal(top.place, 31);
    press(TOP_KEY_END);
    set_line("c", 31, 1); /* it left the queue */
    assert_int_equal(top.place_at, 0);
    set_line("c", 0, 0);
    assert_null(top_opened(&top, &snapshot));
    press(TOP_KEY_DOWN);
    press('a');
    assert_int_equal(top.mode, TOP_BROWSING);
    press(TOP_KEY_ESCAPE);
    assert_null(top.opened);
}

/* ---- The filter ---------------------------------------------------------------- */

static void test_the_filter_selects_locks(void **state)
{
    (void)state;
    set_line("deploy-web", 50, 1);
    press('/');
    type("PLO");
    assert_int_equal(top.rows.count, 5); /* the commands are ./deploy.sh */
    type("y-");
    assert_int_equal(top.rows.count, 1);
    assert_string_equal(selected(), "deploy-web");
    for (unsigned i = 0; i < 5; i++)
        press(TOP_KEY_BACK);
    assert_int_equal(top.rows.count, 5);
    type("[ab]"); /* a pattern for whole names */
    assert_int_equal(top.rows.count, 2);
    press(TOP_KEY_ENTER);
    assert_int_equal(top.mode, TOP_BROWSING);
    press('/');
    press(CTRL('U'));
    type("nothing\xe5\x8f\x91");
    assert_int_equal(top.rows.count, 0);
    press(TOP_KEY_ESCAPE); /* the filter from before */
    assert_string_equal(top.rows.filter, "[ab]");
    assert_int_equal(top.rows.count, 2);
    press(TOP_KEY_ESCAPE); /* none */
    assert_int_equal(top.rows.count, 5);
    rows_filter(&top.rows, "deploy", false); /* that of the command line: a whole name */
    top_update(&top, &snapshot);
    assert_int_equal(top.rows.count, 0);
}

/* ---- Asking and breaking ------------------------------------------------------- */

static void test_asking_the_holder(void **state)
{
    (void)state;
    press('a');
    assert_int_equal(top.mode, TOP_ASKING);
    type("we must reboot, q b");
    assert_int_equal(press(TOP_KEY_ENTER), TOP_ASK);
    assert_string_equal(top.target_name, "c");
    assert_string_equal(top.input.text, "we must reboot, q b");
    press('a');
    assert_string_equal(top.input.text, "");
    assert_int_equal(press(TOP_KEY_ESCAPE), TOP_NOTHING);
    assert_int_equal(top.mode, TOP_BROWSING);
}

static void test_a_break_needs_the_name_typed(void **state)
{
    (void)state;
    press('b');
    assert_int_equal(top.mode, TOP_BREAKING);
    assert_string_equal(top.target_text, "token 30, held by ana@db2:7 for 1m00s");
    type("C");
    assert_int_equal(press(TOP_KEY_ENTER), TOP_NOTHING);
    assert_non_null(strstr(top.message, "nothing was broken"));
    press('b');
    assert_int_equal(press(TOP_KEY_ENTER), TOP_NOTHING);
    press('b');
    type("c");
    set_line("c", 31, 1); /* another client holds it by now: do not break that */
    assert_int_equal(press(TOP_KEY_ENTER), TOP_BREAK);
    assert_int_equal(top.target_token, 30);
}

static void test_break_of_a_waiter(void **state)
{
    (void)state;
    press(TOP_KEY_ENTER);
    press(TOP_KEY_END);
    press('b');
    assert_int_equal(top.target_token, 32);
    assert_non_null(strstr(top.target_text, "waited for by"));
    type("c");
    assert_int_equal(press(TOP_KEY_ENTER), TOP_BREAK);
}

static void test_break_of_one_of_several(void **state)
{
    struct hf_place place[2] = { sample_place(1), sample_place(2) };

    (void)state;
    place[0].shape.capacity = place[1].shape.capacity = 2;
    assert_true(locks_update(&locks, "0", sample_report("0", place, 2), 0, NULL));
    set_line("c", 0, 0);
    press('b');
    assert_int_equal(top.mode, TOP_BROWSING);
    assert_string_equal(top.message,
                        "it has 2 holders: open it with Enter and select one");
    press(TOP_KEY_ENTER);
    press(TOP_KEY_DOWN);
    press('b');
    assert_int_equal(top.target_token, 2);
}

static void test_a_name_with_hidden_characters_is_typed_as_shown(void **state)
{
    (void)state;
    set_line("x\xe2\x80\xae\x1b[31m", 90, 50);
    press('b');
    type("x\\u202e\\u001b[31m");
    assert_int_equal(press(TOP_KEY_ENTER), TOP_BREAK);
    assert_string_equal(top.target_name, "x\xe2\x80\xae\x1b[31m");
}

static void test_other_keys(void **state)
{
    (void)state;
    assert_int_equal(press('p'), TOP_PAUSE);
    assert_int_equal(press('?'), TOP_NOTHING);
    assert_int_equal(top.mode, TOP_HELP);
    assert_int_equal(press('q'), TOP_NOTHING);
    assert_int_equal(top.mode, TOP_BROWSING);
    assert_int_equal(press(CTRL('L')), TOP_REDRAW);
    assert_int_equal(press('z'), TOP_NOTHING);
    assert_int_equal(press(0), TOP_NOTHING);
    assert_int_equal(press('q'), TOP_QUIT);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_the_chosen_lock_stays_chosen),
        CASE(test_moving_stops_at_the_ends),
        CASE(test_keys_without_any_lock),
        CASE(test_the_chosen_place_stays_chosen),
        CASE(test_the_filter_selects_locks),
        CASE(test_asking_the_holder),
        CASE(test_a_break_needs_the_name_typed),
        CASE(test_break_of_a_waiter),
        CASE(test_break_of_one_of_several),
        CASE(test_a_name_with_hidden_characters_is_typed_as_shown),
        CASE(test_other_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
