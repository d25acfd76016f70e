/* url_shown.c - no secret of a URL is ever shown. */
/* one thread */
#include "client/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct {
    const char *given, *shown;
} rows[] = {
    { "redis://h:1/0", "redis://h:1/0" },
    { "redis://ana:s3cret@h:1", "redis://ana@h:1" },
    { "redis://:s3cret@h", "redis://@h" },
    { "redis://ana%3As3cret@h", "redis://ana@h" },
    { "redis://%3as3cret@h", "redis://@h" },
    { "redis://h?tls=1&password=s3cret&x=1", "redis://h?tls=1&password&x=1" },
    { "postgres://h/db?sslpassword=s3cret", "postgres://h/db?sslpassword" },
    { "postgres://h/db?scram_client_key=s3cret&x=1",
      "postgres://h/db?scram_client_key&x=1" },
    { "postgres://h/db?p%61ssword=s3cret", "postgres://h/db?p%61ssword" },
    { "postgres://h/db?x=1?password=s3cret", "postgres://h/db?x=1?password" },
    { "sqlite:/home/a@b/locks.db", "sqlite:/home/a@b/locks.db" },
    /* An @ in the wrong place may be part of a password. */
    { "redis://ana:s3/cret@h", "redis" },
    { "ana:s3cret@h", "ana" },
};

static void test_urls_are_shown_without_passwords(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *shown = hf_url_shown(rows[i].given);
        assert_non_null(shown);
        assert_string_equal(shown, rows[i].shown);
        free(shown);
    }
}

static void test_of_ambiguous_urls_only_the_scheme_is_shown(void **state)
{
    (void)state;
    assert_false(hf_url_is_dubious("redis://ana:s3cret@h"));
    assert_false(hf_url_is_dubious("memory:a@b"));
    assert_true(hf_url_is_dubious("redis://h/a@b"));
    assert_true(hf_url_is_dubious("a@b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_urls_are_shown_without_passwords),
        cmocka_unit_test(test_of_ambiguous_urls_only_the_scheme_is_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
