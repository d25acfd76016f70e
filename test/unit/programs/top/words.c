/* words.c - short texts of `holdfast top`: leases, and commands to type. */
/* one thread */
#include "top/words.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_leases(void **state)
{
    struct snapshot snapshot = { .reachable = true, .lease_ms = 15000 };
    char            out[WORDS_SHORT];

    (void)state;
    assert_string_equal(words_lease(out, &snapshot, 15000), "[||||||] 15s");
    assert_string_equal(words_lease(out, &snapshot, 7000), "[|||   ]  7s");
    assert_string_equal(words_lease(out, &snapshot, 1), "[|     ]  0s");
    assert_string_equal(words_lease(out, &snapshot, 0), "[      ]  0s");
    assert_string_equal(words_lease(out, &snapshot, 600000), "[||||||] 10m");
    assert_string_equal(words_lease(out, &snapshot, -1), "session");
    assert_string_equal(words_lease(out, &snapshot, INT64_MAX), "kernel");
    assert_string_equal(words_lease(out, &snapshot, WORDS_FORGOTTEN), "?");
    assert_true(words_lease_is_low(&snapshot, 4000));
    assert_false(words_lease_is_low(&snapshot, 9000));
    assert_false(words_lease_is_low(&snapshot, -1));
    snapshot.reachable = false;
    assert_string_equal(words_lease(out, &snapshot, 4000), "?");
    assert_false(words_lease_is_low(&snapshot, 4000));
}

static void test_names_are_quoted_for_the_shell(void **state)
{
    struct snapshot snapshot = { .store = "redis://ana@db1" };
    char            out[200];

    (void)state;
    words_quote(out, sizeof out, "a-b_c.d/e:f");
    assert_string_equal(out, "a-b_c.d/e:f");
    words_quote(out, sizeof out, "");
    assert_string_equal(out, "''");
    words_quote(out, sizeof out, "it's $HOME");
    assert_string_equal(out, "'it'\\''s $HOME'");
    words_quote(out, sizeof out, "\xe5\x8f\x91\xe5\xb8\x83");
    assert_string_equal(out, "'"
                             "\xe5\x8f\x91\xe5\xb8\x83"
                             "'");
    words_quote(out, sizeof out, "x\xe2\x80\xae'\n");
    assert_string_equal(out, "$'x\\xe2\\x80\\xae\\'\\x0a'");
    words_command(out, sizeof out, &snapshot, "break", 7, "-x");
    assert_string_equal(out, "holdfast break --url redis://ana@db1 --token 7 -- -x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leases),
        cmocka_unit_test(test_names_are_quoted_for_the_shell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
