/* config.c - redis: URLs: their meaning, and messages about bad ones. */
/* one thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/url.h"
#include "holdfast.h"
#include "store/redis/inner.h"
#include "unit/lib/refused_urls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int parse_ttl(const char *text, int ttl_ms, struct hf_redis_config *ret,
                     char *errmsg)
{
    struct hf_url url;

    int r = hf_url_parse(text, &url, errmsg);
    if (r < 0)
        return r;
    url.config.ttl_ms = ttl_ms;
    r = hf_redis_config_init(ret, &url.config, errmsg);
    hf_url_finish(&url);
    return r;
}

static int parse(const char *text, struct hf_redis_config *ret, char *errmsg)
{
    return parse_ttl(text, 15000, ret, errmsg);
}

static void parse_good(const char *text, struct hf_redis_config *ret)
{
    char errmsg[HF_ERRMSG_MAX] = "";

    if (parse(text, ret, errmsg) != 0)
        fail_msg("%s: %s", text, errmsg);
}

/* Nothing of it is kept. */
static int try_url(const char *text, char *errmsg)
{
    struct hf_redis_config config = { 0 };

    int r = parse(text, &config, errmsg);
    if (r == 0)
        hf_redis_config_finish(&config);
    assert_null(config.password);
    return r;
}

/* ---- Good ones ------------------------------------------------------------------- */

static void test_redis_urls_name_a_server(void **state)
{
    static const struct {
        const char *url, *host, *port;
        int         db;
        bool        secure;
    } cases[] = {
        { "redis://h", "h", "6379", 0, false },
        { "redis://h/", "h", "6379", 0, false },
        { "redis://h:1/7", "h", "1", 7, false },
        { "redis://h?db=65535", "h", "6379", 65535, false },
        { "redis://h/3?db=3", "h", "6379", 3, false },
        { "rediss://[::1]:06380/15", "::1", "6380", 15, true },
        { "rediss://[fe80::1]?ca=a&cert=b&key=c", "fe80::1", "6379", 0, true },
        { "redis://10.0.0.1:65535", "10.0.0.1", "65535", 0, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hf_redis_config config;
        parse_good(cases[i].url, &config);
        assert_int_equal(config.servers, 1);
        assert_string_equal(config.server[0].host, cases[i].host);
        assert_string_equal(config.server[0].port, cases[i].port);
        assert_int_equal(config.db, cases[i].db);
        assert_int_equal(config.secure, cases[i].secure);
        assert_string_equal(config.path, "");
        assert_string_equal(config.service, "");
        assert_null(config.user);
        assert_null(config.password);
        hf_redis_config_finish(&config);
    }
}

static void test_redis_urls_name_a_socket(void **state)
{
    static const char *const cases[][2] = {
        { "redis+unix:/run/redis.sock", "/run/redis.sock" },
        { "redis+unix:///run/redis.sock?db=2", "/run/redis.sock" },
        { "redis+unix:/a%20b", "/a b" },
        { "redis+unix://ana:sesame@/run/redis.sock", "/run/redis.sock" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hf_redis_config config;
        parse_good(cases[i][0], &config);
        assert_string_equal(config.path, cases[i][1]);
        assert_int_equal(config.servers, 0);
        assert_int_equal(config.db, i == 1 ? 2 : 0);
        assert_int_equal(config.password != NULL, i == 3);
        hf_redis_config_finish(&config);
    }
}

static void test_redis_urls_name_sentinels(void **state)
{
    struct hf_redis_config config;
    char                   url[512] = "redis+sentinel://h0", errmsg[HF_ERRMSG_MAX];
    size_t                 used = strlen(url);

    (void)state;
    parse_good("redis+sentinel://h1:1,h2,[::1]/main?db=4", &config);
    assert_int_equal(config.servers, 3);
    assert_string_equal(config.server[0].port, "1");
    assert_string_equal(config.server[1].port, "26379");
    assert_string_equal(config.server[2].host, "::1");
    assert_string_equal(config.service, "main");
    assert_int_equal(config.db, 4);
    hf_redis_config_finish(&config);

    for (int i = 1; i < HF_REDIS_SERVERS; i++)
        used += (size_t)snprintf(url + used, sizeof url - used, ",h%d", i);
    snprintf(url + used, sizeof url - used, "/main");
    parse_good(url, &config);
    assert_int_equal(config.servers, HF_REDIS_SERVERS);
    hf_redis_config_finish(&config);
    snprintf(url + used, sizeof url - used, ",more/main");
    assert_int_equal(parse(url, &config, errmsg), HF_EINVAL);
    assert_non_null(strstr(errmsg, "\"more\""));
}

/* Several servers of one cluster. */
static void test_redis_urls_name_a_cluster(void **state)
{
    struct hf_redis_config config;

    (void)state;
    parse_good("redis://h1:1,h2,[::1]/0", &config);
    assert_int_equal(config.servers, 3);
    assert_string_equal(config.server[1].port, "6379");
    hf_redis_config_finish(&config);
}

static void test_redis_url_parameters(void **state)
{
    struct hf_redis_config config;
    char                   errmsg[HF_ERRMSG_MAX];

    (void)state;
    parse_good("redis://h", &config);
    assert_int_equal(config.ttl, 15 * HF_SEC);
    assert_string_equal(config.prefix, "{holdfast}");
    assert_int_equal(config.replicas, 0);
    assert_false(config.evicting);
    hf_redis_config_finish(&config);
    parse_good("redis://h?ttl=2.5s&prefix=a:b&replicas=2&evicting=yes", &config);
    assert_int_equal(config.ttl, 2500 * HF_MS);
    assert_string_equal(config.prefix, "{a:b}");
    assert_int_equal(config.replicas, 2);
    assert_true(config.evicting);
    hf_redis_config_finish(&config);
    parse_good("redis://h?ttl=500ms&evicting=no", &config);
    assert_int_equal(config.ttl, 500 * HF_MS);
    assert_false(config.evicting);
    hf_redis_config_finish(&config);
    assert_int_equal(parse_ttl("redis://h", 1, &config, errmsg), 0);
    assert_int_equal(config.ttl, 500 * HF_MS); /* the minimum */
    hf_redis_config_finish(&config);
    assert_int_equal(parse_ttl("redis://h", 3600001, &config, errmsg), HF_EINVAL);
}

/* ---- Users ------------------------------------------------------------------------ */

/* `user` NULL: none. */
static void check_auth(const char *url, const char *user, const char *password)
{
    struct hf_redis_config config;

    parse_good(url, &config);
    assert_non_null(config.password);
    assert_string_equal(config.password, password);
    if (user != NULL && config.user != NULL)
        assert_string_equal(config.user, user);
    assert_int_equal(user != NULL, config.user != NULL);
    hf_redis_config_finish(&config);
    assert_null(config.user);
    assert_null(config.password);
}

static void test_sources_of_redis_passwords(void **state)
{
    char path[160], url[256];

    (void)state;
    setenv("HOLDFAST_REDIS_AUTH", "cat:environment", 1);
    check_auth("redis://h", "cat", "environment");
    setenv("HOLDFAST_REDIS_AUTH", "alone", 1);
    check_auth("redis://h", NULL, "alone");
    check_auth("redis://ana:p%40%3A%2F%25%3Fw@h/1", "ana", "p@:/%?w");
    check_auth("redis+sentinel://:old@h/main", NULL, "old");

    secret_file_init(path);
    snprintf(url, sizeof url, "redis://ana:url@h?auth=%s", path);
    secret_file_write(path, "ben:from:file\r\nmore\n", 0600);
    check_auth(url, "ben", "from:file");
    secret_file_write(path, ":a:b", 0400);
    check_auth(url, NULL, "a:b");
    secret_file_write(path, "just this\n", 0600);
    check_auth(url, NULL, "just this");
    secret_file_remove(path);
    unsetenv("HOLDFAST_REDIS_AUTH");
}

static void test_readable_redis_password_files_are_refused(void **state)
{
    static const struct refused_file cases[] = {
        { "ana:hunter2\n", 0640, "chmod 600" },
        { "hunter2\n", 0604, "chmod 600" },
        { "", 0600, "no password" },
        { "hunter2:\n", 0600, "no password" },
        { ":\n", 0600, "no password" },
        { "\nana:hunter2\n", 0600, "no password" },
    };

    (void)state;
    refused_secret_files(try_url, "redis", cases, COUNT(cases));
}

/* ---- Bad ones ------------------------------------------------------------------ */

static const char *const bad_urls[][2] = {
    { "redis:h", "redis://host" },
    { "redis:hunter2@h", "redis://host" },
    { "redis:/h", "redis://host" },
    { "redis://", "no server" },
    { "redis:///1", "no server" },
    { "redis://,", "no server" },
    { "redis://h:0", "\"h\"" },
    { "redis://h:65536", "\"h\"" },
    { "redis://h:x", "host:port" },
    { "redis://h:", "host:port" },
    { "redis://h:-1", "host:port" },
    { "redis://::1", "host:port" },
    { "redis://[::1", "host:port" },
    { "redis://[::1]x", "host:port" },
    { "redis://[]:1", "host:port" },
    { "redis://h/x", "bad database number" },
    { "redis://h/-1", "bad database number" },
    { "redis://h/65536", "bad database number" },
    { "redis://h/1/2", "bad database number" },
    { "redis://h?db=", "bad database number" },
    { "redis://h/1?db=2", "two databases" },
    { "redis://h?ttl=499ms", "0.5s to 3600s" },
    { "redis://h?ttl=3601", "0.5s to 3600s" },
    { "redis://h?ttl=1h", "30s" },
    { "redis://h?ttl=", "0.5s to 3600s" },
    { "redis://h?ttl=nans", "0.5s to 3600s" },
    { "redis://h?prefix=", "bad key prefix" },
    { "redis://h?prefix=a%20b", "bad key prefix" },
    { "redis://h?prefix={a", "bad key prefix" },
    { "redis://h?prefix=a}", "bad key prefix" },
    { "redis://h?prefix=a%0a", "bad key prefix" },
    { "redis://h?prefix=a%c3%a9", "bad key prefix" },
    { "redis://h?replicas=-1", "from 0 to 100" },
    { "redis://h?replicas=101", "from 0 to 100" },
    { "redis://h?evicting=1", "yes or no" },
    { "redis+unix:", "redis+unix:/path" },
    { "redis+unix:s", "redis+unix:/path" },
    { "redis+unix:/", "redis+unix:/path" },
    { "redis+unix://h/s", "redis+unix:/path" },
    { "redis+unix:hunter2@/s", "redis+unix:/path" },
    { "redis+unix://ana:hunter2", "redis+unix:/path" },
    { "redis+unix://ana:hun/hunter2@/s", "%2F" },
    { "redis+sentinel:h/s", "redis+sentinel://host" },
    { "redis+sentinel:///s", "redis+sentinel://host" },
    { "redis+sentinel://h", "SERVICE" },
    { "redis+sentinel://h/", "SERVICE" },
    { "redis+sentinel://h/s/1", "?db=" },
    { "redis+sentinel://h,i,H:26379/s", "name each Sentinel once" },
    { "redis+sentinel://h/a%20b", "SERVICE" },
    /* a password that is not percent-encoded */
    { "redis://hunter2@h", "user:password" },
    { "redis://ana:@h", "no password" },
    { "redis://:@h", "no password" },
    { "redis://@h", "no password" },
    { "redis://ana:hunter2", "\"ana\"" },
    { "redis://:hunter2", "host:port" },
    { "redis://ana:hunter2:x", "\"ana\"" },
    { "redis://[a:hunter2", "host:port" },
    { "redis://[a]hunter2", "host:port" },
    { "redis://ana:hunter2/x@h/1", "%2F" },
    { "redis://ana:x/hunter2@h", "%2F" },
    { "redis+sentinel://:x/hunter2@h/s", "%2F" },
};

static void test_bad_redis_urls_are_refused(void **state)
{
    (void)state;
    refused_urls(try_url, bad_urls, COUNT(bad_urls));
}

static void check_length(const char *format, int good)
{
    struct hf_redis_config config;
    char                   url[8192], errmsg[HF_ERRMSG_MAX];

    snprintf(url, sizeof url, format, good, 0);
    parse_good(url, &config);
    hf_redis_config_finish(&config);
    snprintf(url, sizeof url, format, good + 1, 0);
    assert_int_equal(parse(url, &config, errmsg), HF_EINVAL);
}

static void test_long_redis_urls_are_refused(void **state)
{
    (void)state;
    check_length("redis://h%0*d", 254);
    check_length("redis://h?prefix=%0*d", 100);
    check_length("redis+unix:/%0*d", 106);
    check_length("redis+sentinel://h/%0*d", 127);
    check_length("redis://a:%0*d@h", 4094);
}

static int no_user(void **state)
{
    (void)state;
    return unsetenv("HOLDFAST_REDIS_AUTH");
}

static void test_certificates_without_tls_are_refused(void **state)
{
    static const char *const cases[][2] = {
        { "redis://h?ca=x", "\"ca\"; write rediss:" },
        { "redis+unix:/s?cert=x", "\"cert\"; write rediss:" },
        { "redis+sentinel://h/s?key=x", "\"key\"; redis+sentinel: does not support TLS" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hf_url    url;
        struct hf_store *store;
        char             errmsg[HF_ERRMSG_MAX] = "";
        assert_int_equal(hf_url_parse(cases[i][0], &url, errmsg), 0);
        url.config.ttl_ms = 15000;
        assert_int_equal(hf_redis_store.open(&url.config, errmsg, &store), HF_EINVAL);
        if (strstr(errmsg, cases[i][1]) == NULL)
            fail_msg("%s: %s", cases[i][0], errmsg);
        hf_url_finish(&url);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_redis_urls_name_a_server),
        cmocka_unit_test(test_redis_urls_name_a_socket),
        cmocka_unit_test(test_redis_urls_name_sentinels),
        cmocka_unit_test(test_redis_urls_name_a_cluster),
        cmocka_unit_test(test_redis_url_parameters),
        cmocka_unit_test(test_sources_of_redis_passwords),
        cmocka_unit_test(test_readable_redis_password_files_are_refused),
        cmocka_unit_test(test_bad_redis_urls_are_refused),
        cmocka_unit_test(test_certificates_without_tls_are_refused),
        cmocka_unit_test(test_long_redis_urls_are_refused),
    };

    return cmocka_run_group_tests(tests, no_user, NULL);
}
