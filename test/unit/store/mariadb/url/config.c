/* config.c - mariadb: URLs: their meaning, and messages about bad ones. */
/* one thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/url.h"
#include "holdfast.h"
#include "store/mariadb/url/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "HOLDFAST_MARIADB_AUTH"

static int parse(const char *text, struct hf_maria_config *ret, char *errmsg)
{
    struct hf_url url;

    int r = hf_url_parse(text, &url, errmsg);
    if (r < 0)
        return r;
    url.config.ttl_ms = 15000;
    r = hf_maria_config_init(ret, &url.config, errmsg);
    hf_url_finish(&url);
    return r;
}

static void parse_good(const char *text, struct hf_maria_config *ret)
{
    char errmsg[HF_ERRMSG_MAX] = "";

    if (parse(text, ret, errmsg) != 0)
        fail_msg("%s: %s", text, errmsg);
}

static void refused(const char *text, const char *why)
{
    struct hf_maria_config config = { 0 };
    char                   errmsg[HF_ERRMSG_MAX] = "";

    assert_int_equal(parse(text, &config, errmsg), HF_EINVAL);
    assert_null(config.password);
    if (strstr(errmsg, why) == NULL || strstr(errmsg, "secret") != NULL)
        fail_msg("%s: %s", text, errmsg);
}

static void test_servers_and_database(void **state)
{
    struct hf_maria_config config;

    (void)state;
    parse_good("mariadb://ana:s%2Fx@db1,[::1]:3307/shop?ttl=3s&polling=yes&history=7",
               &config);
    assert_int_equal(config.servers, 2);
    assert_string_equal(config.server[0].host, "db1");
    assert_string_equal(config.server[0].port, "3306");
    assert_string_equal(config.server[1].host, "::1");
    assert_string_equal(config.server[1].port, "3307");
    assert_string_equal(config.database, "shop");
    assert_string_equal(config.user, "ana");
    assert_string_equal(config.password, "s/x");
    assert_true(config.ttl == 3 * HF_SEC && config.polling && config.history == 7);
    assert_false(config.secure);
    hf_maria_config_finish(&config);
    parse_good("mysql://ana@db1?ca=/etc/ca.pem", &config);
    assert_string_equal(config.database, "holdfast");
    assert_null(config.password);
    assert_true(config.secure && config.ttl == 15 * HF_SEC && config.history == -1);
    hf_maria_config_finish(&config);
}

static void test_a_unix_socket(void **state)
{
    struct hf_maria_config config;

    (void)state;
    parse_good("mariadb://ana@/shop?socket=/run/mysqld/mysqld.sock", &config);
    assert_int_equal(config.servers, 0);
    assert_string_equal(config.path, "/run/mysqld/mysqld.sock");
    hf_maria_config_finish(&config);
    refused("mariadb://ana:secret@db1/shop?socket=/x", "a host and a socket");
    refused("mariadb://ana:secret@/shop?socket=x", "path of a socket");
}

static void test_the_password_may_be_elsewhere(void **state)
{
    struct hf_maria_config config;

    (void)state;
    setenv(VARIABLE, "bob:word", 1);
    parse_good("mariadb://db1/shop", &config);
    assert_string_equal(config.user, "bob");
    assert_string_equal(config.password, "word");
    hf_maria_config_finish(&config);
    parse_good("mariadb://ana@db1/shop", &config); /* then all of it is the password */
    assert_string_equal(config.user, "ana");
    assert_string_equal(config.password, "bob:word");
    hf_maria_config_finish(&config);
    parse_good("mariadb://ana:own@db1/shop", &config);
    assert_string_equal(config.password, "own");
    hf_maria_config_finish(&config);
    unsetenv(VARIABLE);
}

static void test_bad_ones(void **state)
{
    (void)state;
    refused("mariadb://db1/shop", "no user");
    refused("mariadb:ana:secret@db1", "no //");
    refused("mariadb://ana:secret@", "no server");
    refused("mariadb://ana:secret@/shop", "no server");
    refused("mariadb://ana:secret@db1:x/shop", "no host and port");
    refused("mariadb://ana:secret@db1:99999/shop",
            "no port from 1 to 65535 follows \"db1\"");
    refused("mariadb://ana@db1/sh`op", "bad database name");
    refused("mariadb://ana@db1/a/b", "bad database name");
    refused(
        "mariadb://ana@db1/12345678901234567890123456789012345678901234567890123456789012345",
        "bad database name");
    refused("mariadb://ana:secret@db1/shop?tls=perhaps", "tls cannot be");
    refused("mariadb://ana:secret@db1/shop?polling=1", "polling cannot be");
    refused("mariadb://ana:secret@db1/shop?ttl=100ms", "ttl");
    refused("mariadb://ana:secret@db1/shop?history=-1", "history");
    refused("mariadb://ana:secret@db1/shop?auth=/no/such", "one is enough");
    refused("mariadb://ana@db1/shop?auth=/no/such", "cannot read the auth file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_servers_and_database),
        cmocka_unit_test(test_a_unix_socket),
        cmocka_unit_test(test_the_password_may_be_elsewhere),
        cmocka_unit_test(test_bad_ones),
    };

    unsetenv(VARIABLE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
