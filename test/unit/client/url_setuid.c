/* url_setuid.c - a set-user-ID program does not let the environment of its caller choose
 * the store. */
#include "lib/setuid_copy.h"

#include "base/home.h"
#include "client/url.h"
#include "holdfast.h"

#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SAFE 42

static bool is_home_of_root(void)
{
    const struct passwd *root = getpwuid(0);
    char                *home = hf_home(), *state = hf_state_home(), path[4096] = "";
    bool                 same = root != NULL && home != NULL && state != NULL;

    if (same)
        snprintf(path, sizeof path, "%s/.local/state", root->pw_dir);
    same = same && strcmp(home, root->pw_dir) == 0 && strcmp(state, path) == 0;
    free(home);
    free(state);
    return same;
}

static bool is_store_of_root(void)
{
    struct hf_url url;
    char          errmsg[HF_ERRMSG_MAX];

    if (hf_url_parse(NULL, &url, errmsg) != 0)
        return false;
    bool own = strcmp(url.config.scheme, "sqlite") == 0 &&
               strncmp(url.config.rest, "/evil", 5) != 0;
    hf_url_finish(&url);
    return own;
}

/* libpq reads variables of its own, so these are refused. */
static int open_postgres(char *error, size_t size)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;

    options.flags = HF_NO_KEEPER;
    options.error = error;
    options.error_size = size;
    int r = hf_open("postgres://127.0.0.1:1/x", &options, &client);
    hf_close(client);
    return r;
}

static int judge(const char *role)
{
    char error[512] = "";

    if (geteuid() != 0 || getuid() == 0)
        return 2;
    if (strcmp(role, "postgres") == 0)
        return open_postgres(error, sizeof error) == HF_EDENIED &&
                       strstr(error, "PGHOSTADDR") != NULL
                   ? SAFE
                   : 3;
    return is_home_of_root() && is_store_of_root() ? SAFE : 4;
}

static void must_be_safe(const char *role)
{
    int code = setuid_copy_run(role);

    if (code < 0)
        skip();
    assert_int_equal(code, SAFE);
}

static void test_home_and_store_do_not_come_from_the_caller(void **state)
{
    (void)state;
    setenv("HOME", "/evil", 1);
    must_be_safe("store");
    setenv("XDG_STATE_HOME", "/evil/state", 1);
    must_be_safe("store");
    setenv("HOLDFAST_URL", "sqlite:/evil/locks.db", 1);
    must_be_safe("store");
}

static void test_variables_of_libpq_are_refused(void **state)
{
    char error[512] = "";

    (void)state;
    setenv("PGHOSTADDR", "192.0.2.1", 1);
    int r = open_postgres(error, sizeof error);
    if (r == HF_EUNSUPPORTED)
        skip(); /* not in this build */
    assert_int_equal(r, 0);
    must_be_safe("postgres");
    unsetenv("PGHOSTADDR");
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_home_and_store_do_not_come_from_the_caller),
        cmocka_unit_test(test_variables_of_libpq_are_refused),
    };

    return argc > 1 ? judge(argv[1]) : cmocka_run_group_tests(tests, NULL, NULL);
}
