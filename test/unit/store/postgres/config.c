/* config.c - postgres: URLs: their meaning, and messages about bad ones. */
/* one thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/url.h"
#include "holdfast.h"
#include "store/postgres/inner.h"
#include "unit/lib/refused_urls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int parse_ttl(const char *text, int ttl_ms, struct hf_pg_config *ret, char *errmsg)
{
    struct hf_url url;

    int r = hf_url_parse(text, &url, errmsg);
    if (r < 0)
        return r;
    url.config.ttl_ms = ttl_ms;
    r = hf_store_load(&url.config, errmsg);
    if (r == 0)
        r = hf_pg_config_init(ret, &url.config, errmsg);
    hf_url_finish(&url);
    return r;
}

static int parse(const char *text, struct hf_pg_config *ret, char *errmsg)
{
    return parse_ttl(text, 15000, ret, errmsg);
}

static void parse_good(const char *text, struct hf_pg_config *ret)
{
    char errmsg[HF_ERRMSG_MAX] = "";

    if (parse(text, ret, errmsg) != 0)
        fail_msg("%s: %s", text, errmsg);
}

/* Nothing of it is kept. */
static int try_url(const char *text, char *errmsg)
{
    struct hf_pg_config config;

    int r = parse(text, &config, errmsg);
    if (r == 0)
        hf_pg_config_finish(&config);
    return r;
}

/* The parameters for libpq of one of the servers, as "key=value ...", sorted. */
static const char *told(const struct hf_pg_config *config, size_t server,
                        const char *hostaddr)
{
    static char           ret[1024];
    struct hf_pg_keywords keywords;
    size_t                used = 0;
    const char           *last = "";

    hf_pg_config_keywords(config, server, hostaddr, &keywords);
    assert_null(keywords.key[keywords.count]);
    ret[0] = '\0';
    for (size_t n = 0; n < keywords.count; n++) {
        size_t next = keywords.count;
        for (size_t i = 0; i < keywords.count; i++)
            if (strcmp(keywords.key[i], last) > 0 &&
                (next == keywords.count ||
                 strcmp(keywords.key[i], keywords.key[next]) < 0))
                next = i;
        assert_true(next < keywords.count); /* else a key occurs twice */
        last = keywords.key[next];
        used += (size_t)snprintf(ret + used, sizeof ret - used, "%s%s=%s",
                                 n > 0 ? " " : "", last, keywords.value[next]);
    }
    return ret;
}

/* ---- Good ones --------------------------------------------------------------------- */

#define OURS "client_encoding=UTF8 "
#define NAME "fallback_application_name=" HF_PG_WHO

static void test_parameters_for_libpq(void **state)
{
    static const char *const cases[][2] = {
        { "postgres://", OURS NAME " port=5432" },
        { "postgres://h", OURS NAME " host=h port=5432" },
        { "postgresql://h:1/d", OURS "dbname=d " NAME " host=h port=1" },
        { "postgres://ana:p%40%3A%2F%25%3Fw@h",
          OURS NAME " host=h password=p@:/%?w port=5432 user=ana" },
        { "postgres://ana@h", OURS NAME " host=h port=5432 user=ana" },
        { "postgres://[::1]:3/d", OURS "dbname=d " NAME " host=::1 port=3" },
        { "postgres://%2Frun%2Fpg/d", OURS "dbname=d " NAME " host=/run/pg port=5432" },
        { "postgres:///d?host=/run/pg&port=7",
          OURS "dbname=d " NAME " host=/run/pg port=7" },
        { "postgres://h?hostaddr=10.0.0.1",
          OURS NAME " host=h hostaddr=10.0.0.1 port=5432" },
        { "postgres://?service=main", OURS NAME " service=main" },
        { "postgres://h?sslmode=require&application_name=me",
          "application_name=me " OURS NAME " host=h port=5432 sslmode=require" },
        { "postgres://h?ssl=true", OURS NAME " host=h port=5432 sslmode=require" },
        { "postgres://h?options=-c%20geqo%3Doff",
          OURS NAME " host=h options=-c geqo=off port=5432" },
        /* parameters that we set */
        { "postgres://h?connect_timeout=9&client_encoding=LATIN1",
          OURS NAME " host=h port=5432" },
        { "postgres://h?ttl=3s", OURS NAME " host=h port=5432" },
        { "postgres://h?polling=no&sslmode=disable&ttl=3s",
          OURS NAME " host=h port=5432 sslmode=disable" },
        { "postgres://h?sslmode=disable&ttl=3s&sslcrl=x&polling=yes",
          OURS NAME " host=h port=5432 sslcrl=x sslmode=disable" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hf_pg_config config;
        parse_good(cases[i][0], &config);
        assert_int_equal(config.servers, 1);
        assert_string_equal(told(&config, 0, NULL), cases[i][1]);
        hf_pg_config_finish(&config);
    }
}

static void test_postgres_urls_name_servers(void **state)
{
    struct hf_pg_config config;

    (void)state;
    parse_good("postgres://a:1,b,[::1]:3/d?user=u", &config);
    assert_int_equal(config.servers, 3);
    assert_string_equal(told(&config, 0, NULL),
                        OURS "dbname=d " NAME " host=a port=1 user=u");
    assert_string_equal(told(&config, 1, NULL), OURS "dbname=d " NAME " host=b user=u");
    assert_string_equal(told(&config, 2, NULL),
                        OURS "dbname=d " NAME " host=::1 port=3 user=u");
    assert_string_equal(told(&config, 0, "10.0.0.1"),
                        OURS "dbname=d " NAME " host=a hostaddr=10.0.0.1 port=1 user=u");
    hf_pg_config_finish(&config);

    parse_good("postgres:///?host=a,b&port=5&hostaddr=10.0.0.1,10.0.0.2", &config);
    assert_int_equal(config.servers, 2);
    assert_string_equal(told(&config, 1, NULL),
                        OURS NAME " host=b hostaddr=10.0.0.2 port=5");
    hf_pg_config_finish(&config);
}

static void test_postgres_urls_name_at_most_so_many_servers(void **state)
{
    struct hf_pg_config config;
    char                url[256] = "postgres://h0", errmsg[HF_ERRMSG_MAX];
    size_t              used = strlen(url);

    (void)state;
    for (int i = 1; i < HF_PG_SERVERS; i++)
        used += (size_t)snprintf(url + used, sizeof url - used, ",h%d", i);
    parse_good(url, &config);
    assert_int_equal(config.servers, HF_PG_SERVERS);
    hf_pg_config_finish(&config);
    snprintf(url + used, sizeof url - used, ",more");
    assert_int_equal(parse(url, &config, errmsg), HF_EINVAL);
    assert_non_null(strstr(errmsg, "16 at most"));
}

static void test_postgres_url_parameters(void **state)
{
    struct hf_pg_config config;
    char                errmsg[HF_ERRMSG_MAX];

    (void)state;
    parse_good("postgres://h", &config);
    assert_int_equal(config.ttl, 15 * HF_SEC);
    assert_false(config.polling);
    hf_pg_config_finish(&config);
    parse_good("postgres://h?ttl=2.5s&polling=yes", &config);
    assert_int_equal(config.ttl, 2500 * HF_MS);
    assert_true(config.polling);
    hf_pg_config_finish(&config);
    assert_int_equal(parse_ttl("postgres://h", 100, &config, errmsg), 0);
    assert_int_equal(config.ttl, 500 * HF_MS);
    hf_pg_config_finish(&config);
}

static void assert_server(const struct hf_pg_config *config, size_t i, const char *host,
                          const char *hostaddr, const char *port)
{
    assert_true(i < config->servers);
    assert_string_equal(config->server[i].host, host);
    assert_string_equal(config->hostaddr[i], hostaddr);
    assert_string_equal(config->server[i].port, port);
}

/* So that we can look them up ourselves. */
static void test_postgres_servers_named_by_the_environment(void **state)
{
    struct hf_pg_config config;
    char                file[] = "/tmp/hf-service.XXXXXX";
    static const char   text[] = "[main]\nhost=db1,db2\nport=7\ndbname=d\n";

    (void)state;
    setenv("PGHOST", "db.example,other.example", 1);
    setenv("PGPORT", "6000", 1);
    parse_good("postgres:///d", &config);
    assert_int_equal(config.servers, 2);
    assert_server(&config, 0, "db.example", "", "6000");
    assert_server(&config, 1, "other.example", "", "6000");
    hf_pg_config_finish(&config);
    parse_good("postgres://h:1/d", &config);
    assert_int_equal(config.servers, 1);
    assert_server(&config, 0, "h", "", "1");
    hf_pg_config_finish(&config);

    int fd = mkstemp(file);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    setenv("PGSERVICEFILE", file, 1);
    parse_good("postgres://?service=main", &config);
    assert_int_equal(config.servers, 2);
    assert_server(&config, 1, "db2", "", "7");
    hf_pg_config_finish(&config);
    setenv("PGHOSTADDR", "10.0.0.1", 1);
    parse_good("postgres://h", &config);
    assert_server(&config, 0, "h", "10.0.0.1", "6000");
    hf_pg_config_finish(&config);
    for (size_t i = 0; i < 4; i++)
        unsetenv(
            (const char *[]){ "PGHOST", "PGPORT", "PGSERVICEFILE", "PGHOSTADDR" }[i]);
    unlink(file);
}

static void test_names_of_postgres_servers_in_messages(void **state)
{
    static const char *const cases[][2] = {
        { "postgres://ana:hunter2@h:1/d", "h:1/d" },
        { "postgres://a:1,b:2/d", "a:1/d" },
        { "postgres://ana:hunter2@h", "h:5432/ana" },
        { "postgres://ana@[::1]", "[::1]:5432/ana" },
        { "postgres:///d?host=/run/pg", "/run/pg:5432/d" },
        { "postgres:///d", "its socket:5432/d" },
        { "postgres:///d?hostaddr=10.0.0.1", "10.0.0.1:5432/d" },
        { "postgres://?service=main", "service main" },
        { "postgres://h/a%0Ab", "h:5432/a?b" },
    };
    struct hf_pg_config config;
    char                shown[64];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        parse_good(cases[i][0], &config);
        assert_string_equal(hf_pg_config_show(&config, 0, shown, sizeof shown),
                            cases[i][1]);
        hf_pg_config_finish(&config);
    }
    parse_good("postgres://a:1,b:2/d", &config);
    assert_string_equal(hf_pg_config_show(&config, 1, shown, sizeof shown), "b:2/d");
    hf_pg_config_finish(&config);

    setenv("PGHOST", "e", 1);
    setenv("PGPORT", "6", 1);
    setenv("PGDATABASE", "f", 1);
    parse_good("postgres://", &config);
    assert_string_equal(hf_pg_config_show(&config, 0, shown, sizeof shown), "e:6/f");
    hf_pg_config_finish(&config);
    unsetenv("PGHOST");
    unsetenv("PGPORT");
    unsetenv("PGDATABASE");
}

/* ---- Bad ones ------------------------------------------------------------------ */

static const char *const bad_urls[][2] = {
    { "postgres:h", "postgres://host" },
    { "postgres:/h", "postgres://host" },
    { "postgres:host=h dbname=d", "postgres://host" },
    { "postgres:hunter2@h", "postgres://host" },
    { "postgres://h:0", "\"h\"" },
    { "postgres://h:65536", "\"h\"" },
    { "postgres://h:123456", "\"h\"" },
    { "postgres://h:x", "host:5432" },
    { "postgres://a:1,b:x", "\"b\"" },
    { "postgres://[::1", "[host]:5432" },
    { "postgres://[::1]x", "[host]:5432" },
    { "postgres://h?port=1,2", "one for each host" },
    { "postgres://a,b?hostaddr=10.0.0.1", "one for each host" },
    { "postgres://h?frob=1", "\"frob\"" },
    { "postgres://h?TTL=3s", "\"TTL\"" },
    { "postgres://h?ttl=499ms", "0.5s to 3600s" },
    { "postgres://h?ttl=3601", "0.5s to 3600s" },
    { "postgres://h?ttl=1h", "30s" },
    { "postgres://h?ttl=", "0.5s to 3600s" },
    { "postgres://h?ttl=nans", "0.5s to 3600s" },
    { "postgres://h?polling=1", "yes or no" },
    { "postgres://h?polling=", "yes or no" },
    { "postgres://h/%zz", "broken %XX" },
    /* a password that is not percent-encoded */
    { "postgres://ana:hunter2", "\"ana\"" },
    { "postgres://:hunter2", "host:5432" },
    { "postgres://ana:hunter2:x", "\"ana\"" },
    { "postgres://ana:hunter2/x@h/1", "%2F" },
    { "postgres://ana:x/hunter2@h", "%2F" },
    { "postgres://ana:hunter2@[::1", "[host]:5432" },
    { "postgres://ana:hunter2@h:x", "\"h\"" },
    { "postgres://ana:hunter2@h?frob=1", "\"frob\"" },
    { "postgres://h?password=hunter2&frob=1", "\"frob\"" },
    { "postgres://[::1?password=hunter2", "[host]:5432" },
};

static void test_bad_postgres_urls_are_refused(void **state)
{
    (void)state;
    refused_urls(try_url, bad_urls, COUNT(bad_urls));
}

static void test_long_postgres_hosts_are_refused(void **state)
{
    struct hf_pg_config config;
    char                url[600], errmsg[HF_ERRMSG_MAX];

    (void)state;
    snprintf(url, sizeof url, "postgres://%0300d/d", 0);
    assert_int_equal(parse(url, &config, errmsg), HF_EINVAL);
    assert_non_null(strstr(errmsg, "too long"));
}

/* The environment of this machine must not matter. */
static int clear_environment(void **state)
{
    static const char *const names[] = {
        "PGHOST", "PGHOSTADDR", "PGPORT",    "PGDATABASE",
        "PGUSER", "PGPASSWORD", "PGSERVICE", "PGSERVICEFILE",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++)
        unsetenv(names[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters_for_libpq),
        cmocka_unit_test(test_postgres_urls_name_servers),
        cmocka_unit_test(test_postgres_urls_name_at_most_so_many_servers),
        cmocka_unit_test(test_postgres_url_parameters),
        cmocka_unit_test(test_postgres_servers_named_by_the_environment),
        cmocka_unit_test(test_names_of_postgres_servers_in_messages),
        cmocka_unit_test(test_bad_postgres_urls_are_refused),
        cmocka_unit_test(test_long_postgres_hosts_are_refused),
    };

    return cmocka_run_group_tests(tests, clear_environment, NULL);
}
