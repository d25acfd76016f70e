/* cut_login.c - the connection is cut at every byte of a login, and of one by TLS here and there.
 * The next try logs in. */
/* needs: standalone --tls want */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/mariadb_rig.h"
#include "lib/tcpproxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 5

static struct tcpproxy   *proxy;
static struct mariadb_rig rig;

/* Returns how many bytes it took this way. */
static uint64_t log_in_by_proxy(struct hf_tls *tls, enum tcpproxy_way way)
{
    uint64_t    before = tcpproxy_bytes(proxy, way, TCPPROXY_ALL);
    const char *port = strchr(tcpproxy_address(proxy), ':') + 1;

    mariadb_rig_open(&rig, "127.0.0.1", port, "tester", "s3cret", tls);
    for (int i = 0; !mariadb_rig_settle(&rig); i++)
        if (i == TRIES)
            fail_msg("%s", rig.store.errmsg);
    assert_int_equal(rig.logins, 1);
    uint64_t size = tcpproxy_bytes(proxy, way, TCPPROXY_ALL) - before;
    assert_string_equal(mariadb_rig_ask_text(&rig, "SELECT 7"), "7\n");
    mariadb_rig_close(&rig);
    return size;
}

static void cut_logins(struct hf_tls *tls, enum tcpproxy_way way, uint64_t step)
{
    unsigned cuts = 0, struck = 0;
    uint64_t size = log_in_by_proxy(tls, way);

    if (tls != NULL)
        size -= 64; /* a signature may be shorter the next time */
    for (uint64_t at = 1; at < size; at += step, cuts++) {
        tcpproxy_cut(proxy, way, TCPPROXY_ALL, at);
        log_in_by_proxy(tls, way);
        struck += tcpproxy_has_struck(proxy);
        tcpproxy_forget(proxy);
    }
    print_message("# %u of %u cuts\n", struck, cuts);
    assert_true(cuts > 20 && struck == cuts);
}

static void test_every_byte(void **state)
{
    (void)state;
    cut_logins(NULL, TCPPROXY_UP, 1);
    cut_logins(NULL, TCPPROXY_DOWN, 1);
}

static void test_tls(void **state)
{
    struct hf_tls *tls = mariadb_rig_tls("HF_MARIADB_CA", NULL, NULL);

    (void)state;
    cut_logins(tls, TCPPROXY_UP, 11);
    cut_logins(tls, TCPPROXY_DOWN, 31);
    hf_tls_free(tls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_tls),
    };
    char address[32];

    if (!mariadb_rig_has_server())
        return 77;
    snprintf(address, sizeof address, "127.0.0.1:%s", getenv("HF_MARIADB_PORT"));
    proxy = tcpproxy_start(address, NULL);
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    tcpproxy_stop(proxy);
    return status;
}
