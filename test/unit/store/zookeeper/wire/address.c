/* address.c - zk: URLs: their meaning, and messages about bad ones. */
/* one thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/url.h"
#include "holdfast.h"
#include "store/zookeeper/inner.h"
#include "unit/lib/refused_urls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse(const char *text, struct hf_zk_config *ret, char *errmsg)
{
    struct hf_url url;

    int r = hf_url_parse(text, &url, errmsg);
    if (r < 0)
        return r;
    url.config.ttl_ms = 15000;
    r = hf_zk_config_init(ret, &url.config, errmsg);
    hf_url_finish(&url);
    return r;
}

static void parse_good(const char *text, struct hf_zk_config *ret)
{
    char errmsg[HF_ERRMSG_MAX] = "";

    if (parse(text, ret, errmsg) != 0)
        fail_msg("%s: %s", text, errmsg);
}

/* Nothing of it is kept. */
static int try_url(const char *text, char *errmsg)
{
    struct hf_zk_config config;

    int r = parse(text, &config, errmsg);
    if (r == 0)
        hf_zk_config_finish(&config);
    return r;
}

static void test_zk_urls_name_a_server(void **state)
{
    static const char *const cases[][4] = {
        /* URL, the first server's host and port, chroot */
        { "zk://h", "h", "2181", "" },
        { "zk://h:1,i:2,j/", "h", "1", "" },
        { "zk://[::1]:99/a", "::1", "99", "/a" },
        { "zk://[fe80::1]/a/b/", "fe80::1", "2181", "/a/b" },
        { "zks://10.0.0.1:2281/a%40b", "10.0.0.1", "2281", "/a@b" },
        { "zk://h/a%20b", "h", "2181", "/a b" },
    };

    (void)state;
    unsetenv("HOLDFAST_ZK_AUTH");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hf_zk_config config;
        parse_good(cases[i][0], &config);
        assert_string_equal(config.server[0].host, cases[i][1]);
        assert_string_equal(config.server[0].port, cases[i][2]);
        assert_string_equal(config.chroot, cases[i][3]);
        assert_int_equal(config.secure, cases[i][0][2] == 's');
        assert_null(config.auth);
        assert_string_equal(config.acl, "open");
        hf_zk_config_finish(&config);
    }
}

static void test_zk_urls_with_too_many_servers_are_refused(void **state)
{
    struct hf_zk_config config;
    char                url[1024] = "zk://h0", errmsg[HF_ERRMSG_MAX];
    size_t              used = strlen(url);

    (void)state;
    for (int i = 1; i < HF_ZK_SERVERS; i++)
        used += (size_t)snprintf(url + used, sizeof url - used, ",h%d:%d", i, i);
    parse_good(url, &config);
    assert_int_equal(config.servers, HF_ZK_SERVERS);
    assert_string_equal(config.server[HF_ZK_SERVERS - 1].host, "h31");
    hf_zk_config_finish(&config);
    snprintf(url + used, sizeof url - used, ",more");
    assert_int_equal(parse(url, &config, errmsg), HF_EINVAL);
    assert_non_null(strstr(errmsg, "\"more\""));
}

static void test_zk_url_parameters(void **state)
{
    struct hf_zk_config config;

    (void)state;
    parse_good("zk://h", &config);
    assert_int_equal(config.session_ms, 15000);
    assert_int_equal(config.style, HF_ZK_CURATOR);
    assert_int_equal(hf_zk_config_most(&config), 786429);
    hf_zk_config_finish(&config);
    parse_good("zk://h?session=2.5s&style=kazoo&acl=ip:10.0.0.1,digest:a:b", &config);
    assert_int_equal(config.session_ms, 2500);
    assert_int_equal(config.style, HF_ZK_KAZOO);
    assert_string_equal(config.acl, "ip:10.0.0.1,digest:a:b");
    hf_zk_config_finish(&config);
    parse_good("zk://h?maxbuffer=4194304", &config);
    assert_int_equal(hf_zk_config_most(&config), 3145728);
    hf_zk_config_finish(&config);
    parse_good("zk://h?session=5000ms&style=curator&acl=open", &config);
    assert_int_equal(config.session_ms, 5000);
    hf_zk_config_finish(&config);
    parse_good("zks://h?cert=x", &config); /* a certificate counts as a user */
    assert_string_equal(config.acl, "creator");
    hf_zk_config_finish(&config);
}

/* ---- Users ---------------------------------------------------------------------- */

static void test_sources_of_zk_passwords(void **state)
{
    struct hf_zk_config config;
    char                path[160], url[256];

    (void)state;
    secret_file_init(path);
    secret_file_write(path, "ben:from:file\r\nmore\n", 0600);

    setenv("HOLDFAST_ZK_AUTH", "cat:environment", 1);
    parse_good("zk://h", &config);
    assert_string_equal(config.auth, "cat:environment");
    assert_string_equal(config.acl, "creator");
    hf_zk_config_finish(&config);

    parse_good("zk://ana:p%40%3A%2F%25%3Fw@h/x?acl=open", &config);
    assert_string_equal(config.auth, "ana:p@:/%?w");
    assert_string_equal(config.acl, "open");
    assert_string_equal(config.server[0].host, "h");
    hf_zk_config_finish(&config);

    snprintf(url, sizeof url, "zk://ana:url@h/x?auth=%s", path);
    parse_good(url, &config);
    assert_string_equal(config.auth, "ben:from:file");
    hf_zk_config_finish(&config);
    assert_null(config.auth);

    unsetenv("HOLDFAST_ZK_AUTH");
    secret_file_remove(path);
}

static void test_readable_zk_password_files_are_refused(void **state)
{
    static const struct refused_file cases[] = {
        { "ana:hunter2\n", 0640, "chmod 600" }, { "ana:hunter2\n", 0604, "chmod 600" },
        { "hunter2\n", 0600, "SASL" },          { "", 0600, "no user:password" },
        { "\nana:hunter2\n", 0600, "no user" },
    };

    (void)state;
    refused_secret_files(try_url, "zk", cases, sizeof cases / sizeof *cases);
}

/* ---- Bad ones ---------------------------------------------------------------------- */

static void test_bad_zk_urls_are_refused(void **state)
{
    static const char *const cases[][2] = {
        { "zk:h", "zk://host" },
        { "zk://", "no server" },
        { "zk:///a", "no server" },
        { "zk://,", "no server" },
        { "zk://h:0", "\"h\"" },
        { "zk://h:65536", "\"h\"" },
        { "zk://h:x", "host:port" },
        { "zk://h:-1", "host:port" },
        { "zk://[::1", "host:port" },
        { "zk://[::1]x", "host:port" },
        { "zk://h//a", "not a ZooKeeper path" },
        { "zk://h/a/../b", "not a ZooKeeper path" },
        { "zk://h/a/..", "not a ZooKeeper path" },
        { "zk://h/.", "not a ZooKeeper path" },
        { "zk://h/a%0ab", "not a ZooKeeper path" },
        { "zk://h?session=1s", "2s to 3600s" },
        { "zk://h?session=1h", "30s" },
        { "zk://h?session=", "2s to 3600s" },
        { "zk://h?session=nans", "2s to 3600s" },
        { "zk://h?style=foo", "curator or kazoo" },
        { "zk://h?maxbuffer=1M", "from 262144 to 1073741824" },
        { "zk://h?maxbuffer=262143", "from 262144 to 1073741824" },
        { "zk://h?maxbuffer=1073741825", "from 262144 to 1073741824" },
        { "zk://h?maxbuffer=", "maxbuffer is out of range" },
        { "zk://h?acl=creator", "auth=FILE" },
        { "zk://h?acl=mine", "creator, open" },
        { "zk://h?acl=ip:1,", "creator, open" },
        { "zk://h?acl=,ip:1", "creator, open" },
        { "zk://h?acl=:x", "creator, open" },
        { "zk://hunter2@h", "user:password" },
        { "zk://ana:hunter2", "\"ana\"" },
        /* a password that is not percent-encoded, and so looks like a host */
        { "zk://ana:hunter2/x@h/y", "%2F" },
    };

    (void)state;
    unsetenv("HOLDFAST_ZK_AUTH");
    refused_urls(try_url, cases, sizeof cases / sizeof *cases);
}

static void test_long_zk_urls_are_refused(void **state)
{
    struct hf_zk_config config;
    char                url[2048], errmsg[HF_ERRMSG_MAX];

    (void)state;
    snprintf(url, sizeof url, "zk://h/%0255d", 0);
    assert_int_equal(parse(url, &config, errmsg), HF_EINVAL);
    snprintf(url, sizeof url, "zk://h/%0254d", 0);
    parse_good(url, &config);
    hf_zk_config_finish(&config);
    snprintf(url, sizeof url, "zk://%0256d", 0);
    assert_int_equal(parse(url, &config, errmsg), HF_EINVAL);
    snprintf(url, sizeof url, "zk://h?acl=digest:%01100d", 0);
    assert_int_equal(parse(url, &config, errmsg), HF_EINVAL);
    snprintf(url, sizeof url, "zk://a:%0600d@h", 0);
    assert_int_equal(parse(url, &config, errmsg), HF_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zk_urls_name_a_server),
        cmocka_unit_test(test_zk_urls_with_too_many_servers_are_refused),
        cmocka_unit_test(test_zk_url_parameters),
        cmocka_unit_test(test_sources_of_zk_passwords),
        cmocka_unit_test(test_bad_zk_urls_are_refused),
        cmocka_unit_test(test_readable_zk_password_files_are_refused),
        cmocka_unit_test(test_long_zk_urls_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
