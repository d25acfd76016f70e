/* url.c - the parts of a store URL, and messages about bad ones. */
/* one thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/url.h"
#include "holdfast.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 54321 /* a user id without an entry in passwd */

static void test_the_parts_of_a_url(void **state)
{
    struct hf_url url;
    char          errmsg[HF_ERRMSG_MAX];

    (void)state;
    assert_int_equal(hf_url_parse("sqlite:/var/lib/my%20locks.db?force=1&x=a%3db", &url,
                                  errmsg),
                     0);
    assert_string_equal(url.config.scheme, "sqlite");
    assert_string_equal(url.config.rest, "/var/lib/my locks.db");
    assert_int_equal(url.config.params, 2);
    assert_string_equal(hf_config_get(&url.config, "force"), "1");
    assert_string_equal(hf_config_get(&url.config, "x"), "a=b");
    assert_null(hf_config_get(&url.config, "y"));
    hf_url_finish(&url);
}

static void test_the_default_url(void **state)
{
    static const struct {
        const char *url, *state, *home, *rest;
    } cases[] = {
        { NULL, "/s", "/h", "/s/holdfast/locks.db" },
        { NULL, "relative", "/h", "/h/.local/state/holdfast/locks.db" },
        { "sqlite:", NULL, "/h", "/h/.local/state/holdfast/locks.db" },
        { NULL, NULL, "/h?x=1&y/50%/%41",
          "/h?x=1&y/50%/%41/.local/state/holdfast/locks.db" },
        { NULL, "//s@t%", NULL, "/s@t%/holdfast/locks.db" },
        { "system:", "/s", "/h", "/var/lib/holdfast/locks.db" },
    };

    (void)state;
    unsetenv("HOLDFAST_URL");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hf_url url;
        char          errmsg[HF_ERRMSG_MAX];
        unsetenv("XDG_STATE_HOME");
        unsetenv("HOME");
        if (cases[i].state != NULL)
            setenv("XDG_STATE_HOME", cases[i].state, 1);
        if (cases[i].home != NULL)
            setenv("HOME", cases[i].home, 1);
        assert_int_equal(hf_url_parse(cases[i].url, &url, errmsg), 0);
        assert_string_equal(url.config.scheme, "sqlite");
        assert_string_equal(url.config.rest, cases[i].rest);
        assert_int_equal(url.config.params, 0);
        hf_url_finish(&url);
    }
}

/* It comes from a variable that somebody forgot to set: two jobs must not both take it for
 * a file of their own. */
static void test_an_empty_url(void **state)
{
    struct hf_url url;
    char          errmsg[HF_ERRMSG_MAX];

    (void)state;
    assert_int_equal(hf_url_parse("", &url, errmsg), HF_EINVAL);
    assert_non_null(strstr(errmsg, "the store URL is empty"));
    setenv("HOLDFAST_URL", "", 1);
    assert_int_equal(hf_url_parse(NULL, &url, errmsg), HF_EINVAL);
    assert_non_null(strstr(errmsg, "HOLDFAST_URL is empty"));
    unsetenv("HOLDFAST_URL");
}

/* A URL of system: can be opened, too. */
static void test_the_schemes_of_files(void **state)
{
    const char *const schemes[] = { "sqlite", "system" };

    (void)state;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        char *sql = "not told";
        assert_string_equal(hf_url_scheme(schemes[i]), "sqlite");
        assert_int_equal(hf_schema(schemes[i], NULL, &sql), 0);
        assert_null(sql);
    }
    assert_string_equal(hf_url_scheme("systems"), "systems");
}

/* As in a service of the system.  It must mean the file of the login shell. */
static void test_the_default_url_without_home(void **state)
{
    const struct passwd *user = getpwuid(geteuid());
    struct hf_url        url;
    char                 errmsg[HF_ERRMSG_MAX], path[512];

    (void)state;
    if (user == NULL)
        skip();
    unsetenv("HOLDFAST_URL");
    unsetenv("XDG_STATE_HOME");
    snprintf(path, sizeof path, "%s/.local/state/holdfast/locks.db", user->pw_dir);
    for (int i = 0; i < 3; i++) {
        unsetenv("HOME");
        if (i > 0)
            setenv("HOME", i == 1 ? "" : "relative", 1);
        assert_int_equal(hf_url_parse(NULL, &url, errmsg), 0);
        assert_string_equal(url.config.rest, path);
        hf_url_finish(&url);
    }
}

static void test_no_place_for_the_default_file(void **state)
{
    struct hf_url url;
    char          errmsg[HF_ERRMSG_MAX];
    int           status;

    (void)state;
    if (geteuid() != 0 || getpwuid(NOBODY) != NULL)
        skip();
    unsetenv("HOLDFAST_URL");
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    pid_t pid = fork();
    if (pid == 0)
        _exit(setuid(NOBODY) == 0 && hf_url_parse(NULL, &url, errmsg) == HF_EINVAL &&
                      strstr(errmsg, "HOLDFAST_URL") != NULL
                  ? 0
                  : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_the_url_of_the_environment(void **state)
{
    struct hf_url url;
    char          errmsg[HF_ERRMSG_MAX];

    (void)state;
    setenv("HOLDFAST_URL", "memory:mine", 1);
    assert_int_equal(hf_url_parse(NULL, &url, errmsg), 0);
    assert_string_equal(url.config.scheme, "memory");
    hf_url_finish(&url);
    assert_int_equal(hf_url_parse("sqlite:/x", &url, errmsg), 0);
    assert_string_equal(url.config.scheme, "sqlite");
    hf_url_finish(&url);
    unsetenv("HOLDFAST_URL");
}

static void test_passwords_are_not_shown(void **state)
{
    static const char *const cases[][2] = {
        { "redis://ana:s3cret@h:1/0", "redis://ana@h:1/0" },
        { "redis://:s3cret@h", "redis://@h" },
        { "redis://ana:s3:cr@t@h/x", "redis://ana@h/x" },
        { "redis://h/a:b%40c", "redis://h/a:b%40c" },
        { "zk://h1:1,h2:2/x", "zk://h1:1,h2:2/x" },
        { "x://h/?a=1&Password=s3cret&b=2", "x://h/?a=1&Password&b=2" },
        { "x://a:b@h/?db_secret=s3cret", "x://a@h/?db_secret" },
        { "x://h/?note=password", "x://h/?note=password" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hf_url url;
        char          errmsg[HF_ERRMSG_MAX];
        assert_int_equal(hf_url_parse(cases[i][0], &url, errmsg), 0);
        assert_string_equal(url.config.url, cases[i][1]);
        hf_url_finish(&url);
    }
}

/* A password may be anything, percent-encoded where need be. */
static void test_users_and_passwords_in_urls(void **state)
{
    static const char *const cases[][3] = {
        { "zk://ana:pw@h:1/x", "ana:pw", "//h:1/x" },
        { "zk://ana:a%40b%3A%2F%25%3F@h,i/x", "ana:a@b:/%?", "//h,i/x" },
        { "zk://ana:a@b@h", "ana:a@b", "//h" },
        { "zk://@h", "", "//h" },
        { "zk://h/x%40y", NULL, "//h/x@y" },
        { "zk://h%40i/x", NULL, "//h@i/x" },
        { "sqlite:/a@b", NULL, "/a@b" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hf_url url;
        char          errmsg[HF_ERRMSG_MAX];
        assert_int_equal(hf_url_parse(cases[i][0], &url, errmsg), 0);
        if (cases[i][1] != NULL)
            assert_string_equal(url.config.user, cases[i][1]);
        else
            assert_null(url.config.user);
        assert_string_equal(url.config.rest, cases[i][2]);
        hf_url_finish(&url);
    }
}

static void test_unknown_and_bad_urls_are_refused(void **state)
{
    static const char *const cases[][2] = {
        { "/tmp/locks.db", "sqlite:/path" },
        { ":x", "not a store URL" },
        { "sqlite:/a%2", "%XX" },
        { "sqlite:/a%00b", "%XX" },
        { "sqlite:/a?force", "key=value" },
        { "sqlite:/a?x=%zz", "%XX" },
        { "zk://ana:%zz@h", "%XX" },
        { "SQLITE:/a", "not a store URL" },
        { "system:/a", "/var/lib/holdfast/locks.db" },
        { "system://ana@host", "/var/lib/holdfast/locks.db" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hf_url url;
        char          errmsg[HF_ERRMSG_MAX] = "";
        assert_int_equal(hf_url_parse(cases[i][0], &url, errmsg), HF_EINVAL);
        assert_non_null(strstr(errmsg, cases[i][1]));
    }
}

/* Of an ambiguous URL only the scheme is shown. */
static void test_passwords_in_bad_urls_are_not_shown(void **state)
{
    static const char *const cases[] = {
        "zk:ana:s3cret@h",
        "zk//ana:s3cret@h",
        "S3?s3cret@",
        "s3cret@h",
        "zk:s3cret@h",
        "zk:/ana:s3cret@h",
        "zk://ana:x/s3cret@h",
        "zk://ana:x?s3cret@h",
        "zk://ana:x?s3cret=1@h",
        "zk://ana:x@y/s3cret@h",
        "zk://h?x=%zz&s3cret@h",
        "redis:s3cret@h",
        "postgres:ana:s3cret@h/d",
        "postgres://h/d?s3cret@h",
        "redis://ana:s3cret%@h",
        "zk://ana:x?s3cret&@h",
        "zk ://ana:s3cret@h",
        "ZK://ana:s3cret@h",
        "zk://ana:x?%zz=s3cret@h",
        "://ana:s3cret@h",
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hf_url url;
        char          errmsg[HF_ERRMSG_MAX] = "";
        assert_int_equal(hf_url_parse(cases[i], &url, errmsg), HF_EINVAL);
        assert_null(strstr(errmsg, "s3cret"));
        assert_non_null(strstr(errmsg, "write"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_parts_of_a_url),
        cmocka_unit_test(test_the_default_url),
        cmocka_unit_test(test_an_empty_url),
        cmocka_unit_test(test_the_schemes_of_files),
        cmocka_unit_test(test_the_default_url_without_home),
        cmocka_unit_test(test_no_place_for_the_default_file),
        cmocka_unit_test(test_the_url_of_the_environment),
        cmocka_unit_test(test_passwords_are_not_shown),
        cmocka_unit_test(test_users_and_passwords_in_urls),
        cmocka_unit_test(test_unknown_and_bad_urls_are_refused),
        cmocka_unit_test(test_passwords_in_bad_urls_are_not_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
