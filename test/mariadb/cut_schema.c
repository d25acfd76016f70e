/* cut_schema.c - the connection is cut while the first client makes tables and procedures.  It
 * makes the rest when it is back, and gets its lock. */
/* needs: standalone --setting innodb-flush-log-at-trx-commit=0 */
#include "lib/promise.h"
#include "lib/server_mariadb.h"
#include "lib/tcpproxy.h"

#include <stdio.h>

#define TTL_MS 10000
#define CUTS   30

static struct tcpproxy *proxy;

/* In a database of its own. */
static void make_schema(unsigned number)
{
    static struct actor actor;
    char                database[32];

    snprintf(database, sizeof database, "made%u", number);
    mariadb_use(database);
    actor_open_at(&actor, tcpproxy_address(proxy), TTL_MS, "first");
    assert_true(actor_take(&actor) > 0);
    assert_int_equal(server_holders("first"), 1);
    actor_give(&actor);
    actor_close(&actor);
    server_tell("sql DROP DATABASE `%s`", database);
}

static void test_cuts(void **state)
{
    unsigned struck = 0;

    (void)state;
    make_schema(0);
    uint64_t size = tcpproxy_bytes(proxy, TCPPROXY_UP, TCPPROXY_ALL);
    assert_true(size > 20000);
    for (unsigned i = 1; i < CUTS; i++) {
        tcpproxy_cut(proxy, TCPPROXY_UP, TCPPROXY_ALL, size * i / CUTS);
        make_schema(i);
        struck += tcpproxy_has_struck(proxy);
        tcpproxy_forget(proxy);
    }
    assert_int_equal(struck, CUTS - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cuts) };

    server_find();
    proxy = tcpproxy_start(server_address(), NULL);
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    tcpproxy_stop(proxy);
    return status;
}
