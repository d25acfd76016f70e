/* link.c - time limits of connecting, in virtual time. */
/* one thread */
#include "lib/net/peer.h"
#include "store/zookeeper/inner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>

#define SESSION 6000   /* ms */
#define STEP    HF_SEC /* a sixth of it */

static struct peer      peer; /* accepts connections, and never answers */
static struct hf_store *store;
static struct hf_zk    *zk;

/* A TLS stream is not open before the server has answered. */
static void open_zk(const char *scheme)
{
    char errmsg[HF_ERRMSG_MAX], rest[64];

    assert_true(peer_listen(&peer, AF_INET));
    snprintf(rest, sizeof rest, "//127.0.0.1:%d",
             ntohs(((struct sockaddr_in *)&peer.at)->sin_port));
    struct hf_config config = {
        .url = rest, .scheme = scheme, .rest = rest, .given = rest, .ttl_ms = SESSION
    };
    assert_int_equal(hf_store_open(&config, errmsg, &store), 0);
    zk = (struct hf_zk *)store;
}

static void close_zk(void)
{
    store->impl->close(store);
    peer_close(&peer);
}

/* A look-up has taken that long, and succeeds now. */
static void find_after(hf_time time)
{
    struct hf_address address = { .at = peer.at, .length = peer.length };

    zk->dial.phase = HF_DIAL_RESOLVING;
    zk->remote.now = 0;
    hf_dial_limit(&zk->dial);
    assert_int_equal(zk->dial.due, STEP);
    zk->remote.now = time;
    hf_dial_connect(&zk->dial, &address);
}

/* Otherwise a holder would have less time for the next server. */
static void test_connecting_has_the_time_that_the_look_up_left(void **state)
{
    (void)state;
    open_zk("zks");
    find_after(STEP * 9 / 10);
    assert_int_equal(zk->dial.phase, HF_DIAL_CONNECTING);
    assert_int_equal(zk->dial.due, STEP);
    close_zk();
}

static void test_the_greeting_has_its_own_time_limit(void **state)
{
    hf_time now = STEP * 9 / 10;

    (void)state;
    open_zk("zk");
    find_after(now);
    for (int i = 0; i < 1000 && zk->dial.phase == HF_DIAL_CONNECTING; i++) {
        store->impl->process(store, now, true);
        poll(&(struct pollfd){ .fd = store->fd, .events = POLLIN }, 1, 10);
    }
    assert_int_equal(zk->dial.phase, HF_DIAL_GREETING);
    assert_int_equal(zk->dial.due, now + STEP);
    close_zk();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connecting_has_the_time_that_the_look_up_left),
        cmocka_unit_test(test_the_greeting_has_its_own_time_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
