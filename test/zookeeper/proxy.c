/* proxy.c - the proxy that fails on demand does so, against a real server. */
/* needs: standalone */
#include "lib/zkproxy.h"
#include "lib/zkraw.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIMIT_MS 30000

static const char     *server;
static struct zkproxy *proxy;

static int start_proxy(void **state)
{
    (void)state;
    proxy = zkproxy_start(server);
    return 0;
}

static int stop_proxy(void **state)
{
    (void)state;
    zkproxy_stop(proxy);
    return 0;
}

/* Asked without the proxy. */
static bool is_there(const char *path)
{
    return zkraw_is_there(server, "/", path + 1);
}

static bool appears(const char *name)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;

    while (!is_there(name))
        if (hf_now() > end)
            return false;
    return true;
}

static void set_rule(enum zkproxy_fault fault, int32_t opcode, uint64_t nth)
{
    zkproxy_rule(proxy, &(struct zkproxy_rule){ fault, opcode, nth, 0 });
}

/* ---- The tests ---------------------------------------------------------------------- */

static void passes_on_and_counts(void **state)
{
    struct zkraw client;

    (void)state;
    assert_true(zkraw_open(&client, zkproxy_address(proxy), 4000));
    assert_int_equal(zkraw_create(&client, "/counts"), 0);
    assert_int_equal(zkraw_create(&client, "/counts"), -110);
    zkraw_send(&client, -2, ZKRAW_PING);
    assert_true(zkraw_receive(&client, LIMIT_MS));
    zkraw_close(&client);
    assert_true(is_there("/counts"));
    assert_int_equal(zkproxy_requests(proxy, ZKPROXY_CONNECT), 1);
    assert_int_equal(zkproxy_requests(proxy, ZKRAW_CREATE), 2);
    assert_int_equal(zkproxy_requests(proxy, ZKRAW_PING), 1);
    assert_int_equal(zkproxy_requests(proxy, ZKPROXY_ANY), 3);
    assert_int_equal(zkproxy_packets(proxy, ZKPROXY_UP), 5);
    assert_int_equal(zkproxy_packets(proxy, ZKPROXY_BOTH), 10);
    assert_true(zkproxy_bytes(proxy, ZKPROXY_UP) > 5 * 12);
    assert_int_equal(zkproxy_connections(proxy), 1);
    assert_false(zkproxy_has_struck(proxy));
}

static void other_talk_passes(void **state)
{
    struct zkraw client = { .fd = zkraw_connect(zkproxy_address(proxy)) };
    char         said[4];

    (void)state;
    assert_int_equal(send(client.fd, "ruok", 4, 0), 4);
    assert_true(zkraw_receive_bytes(&client, said, 4, LIMIT_MS));
    assert_memory_equal(said, "imok", 4);
    close(client.fd);
    assert_int_equal(zkproxy_requests(proxy, ZKPROXY_CONNECT), 0);
}

static void drops_before(void **state)
{
    struct zkraw client;

    (void)state;
    assert_true(zkraw_open(&client, zkproxy_address(proxy), 4000));
    set_rule(ZKPROXY_DROP_BEFORE, ZKRAW_CREATE, 2);
    assert_int_equal(zkraw_create(&client, "/before_1"), 0);
    assert_false(zkproxy_has_struck(proxy));
    zkraw_send_create(&client, "/before_2");
    assert_false(zkraw_receive(&client, LIMIT_MS));
    assert_true(zkraw_is_over(&client));
    assert_true(zkproxy_has_struck(proxy));
    close(client.fd);
    assert_false(is_there("/before_2"));
    assert_true(zkraw_open(&client, zkproxy_address(proxy), 4000));
    assert_int_equal(zkraw_create(&client, "/before_2"), 0);
    zkraw_close(&client);
}

/* The answers to earlier requests still arrive. */
static void drops_after(void **state)
{
    struct zkraw client;

    (void)state;
    assert_true(zkraw_open(&client, zkproxy_address(proxy), 4000));
    set_rule(ZKPROXY_DROP_AFTER, ZKPROXY_ANY, 2);
    zkraw_send_create(&client, "/after_1");
    zkraw_send_create(&client, "/after_2");
    zkraw_send_create(&client, "/after_3");
    assert_true(zkraw_receive(&client, LIMIT_MS));
    assert_int_equal(zkraw_int(&client, 0), 1);
    assert_false(zkraw_receive(&client, LIMIT_MS));
    assert_true(zkproxy_await(proxy, LIMIT_MS));
    assert_true(is_there("/after_2"));
    close(client.fd);
}

static void drops_the_welcome(void **state)
{
    struct zkraw client;

    (void)state;
    set_rule(ZKPROXY_DROP_AFTER, ZKPROXY_CONNECT, 1);
    assert_false(zkraw_open(&client, zkproxy_address(proxy), 4000));
    assert_true(zkproxy_has_struck(proxy));
    close(client.fd);
    assert_true(zkraw_open(&client, zkproxy_address(proxy), 4000));
    zkraw_close(&client);
}

/* A delayed request arrives long after its sender is gone. */
static void delivers_late(void **state)
{
    struct zkraw client;

    (void)state;
    assert_true(zkraw_open(&client, zkproxy_address(proxy), 4000));
    set_rule(ZKPROXY_FREEZE_BEFORE, ZKRAW_CREATE, 1);
    zkraw_send_create(&client, "/late");
    assert_true(zkproxy_await(proxy, LIMIT_MS));
    close(client.fd);
    assert_false(is_there("/late"));
    zkproxy_thaw(proxy);
    assert_true(appears("/late"));
}

static void freezes_one_way(void **state)
{
    struct zkraw client;

    (void)state;
    assert_true(zkraw_open(&client, zkproxy_address(proxy), 4000));
    zkproxy_freeze(proxy, ZKPROXY_DOWN);
    zkraw_send_create(&client, "/one_way");
    assert_true(appears("/one_way"));
    assert_false(zkraw_receive(&client, 100));
    zkproxy_thaw(proxy);
    assert_true(zkraw_receive(&client, LIMIT_MS));
    set_rule(ZKPROXY_FREEZE_AFTER, ZKRAW_CREATE, 1);
    zkraw_send_create(&client, "/other_way");
    assert_true(zkproxy_await(proxy, LIMIT_MS));
    assert_true(is_there("/other_way"));
    assert_false(zkraw_receive(&client, 100));
    zkproxy_thaw(proxy);
    assert_true(zkraw_receive(&client, LIMIT_MS));
    zkraw_close(&client);
}

static void delays(void **state)
{
    struct zkraw client;

    (void)state;
    assert_true(zkraw_open(&client, zkproxy_address(proxy), 4000));
    zkproxy_delay(proxy, ZKPROXY_BOTH, 50);
    hf_time start = hf_now();
    assert_int_equal(zkraw_create(&client, "/delayed"), 0);
    assert_true(hf_now() - start >= 100 * HF_MS);
    zkproxy_delay(proxy, ZKPROXY_BOTH, 0);
    zkraw_close(&client);
}

/* At every byte: upwards, the server never gets the whole request; downwards, it does. */
static void cuts_anywhere(void **state)
{
    struct zkraw client;
    char         path[32];

    (void)state;
    for (unsigned n = 0; n < 60; n++) {
        for (int down = 0; down < 2; down++) {
            snprintf(path, sizeof path, "/cut_%u_%d", n, down);
            assert_true(zkraw_open(&client, zkproxy_address(proxy), 4000));
            set_rule(down ? ZKPROXY_CUT_DOWN : ZKPROXY_CUT_UP, 0, n);
            zkraw_send_create(&client, path);
            if (down && n >= 20 + 4 + strlen(path)) {
                assert_true(zkraw_receive(&client, LIMIT_MS));
                assert_false(zkproxy_has_struck(proxy));
            } else {
                assert_false(zkraw_receive(&client, LIMIT_MS));
                assert_true(zkproxy_has_struck(proxy));
            }
            zkproxy_rule(proxy, NULL);
            assert_int_equal(is_there(path), down);
            close(client.fd);
        }
    }
}

static void refuses(void **state)
{
    struct zkraw client;

    (void)state;
    assert_true(zkraw_open(&client, zkproxy_address(proxy), 4000));
    zkproxy_refuse(proxy, -1);
    assert_int_equal(zkraw_connect(zkproxy_address(proxy)), -1);
    assert_int_equal(zkraw_create(&client, "/refuses"), 0); /* open connections stay */
    zkproxy_drop(proxy);
    assert_false(zkraw_receive(&client, LIMIT_MS));
    close(client.fd);
    zkproxy_refuse(proxy, 0);
    assert_true(zkraw_open(&client, zkproxy_address(proxy), 4000));
    zkproxy_rule(proxy,
                 &(struct zkproxy_rule){ ZKPROXY_DROP_BEFORE, ZKRAW_CREATE, 1, -1 });
    zkraw_send_create(&client, "/refused");
    assert_false(zkraw_receive(&client, LIMIT_MS));
    assert_int_equal(zkraw_connect(zkproxy_address(proxy)), -1);
    close(client.fd);
}

static void swallows_pings(void **state)
{
    struct zkraw client;

    (void)state;
    assert_true(zkraw_open(&client, zkproxy_address(proxy), 400));
    zkproxy_swallow_pings(proxy, true);
    hf_time end = hf_now() + LIMIT_MS * HF_MS;
    while (!zkraw_receive(&client, 50) && !zkraw_is_over(&client) && hf_now() < end)
        zkraw_send(&client, -2, ZKRAW_PING);
    assert_true(zkraw_is_over(&client)); /* the server heard nothing for too long */
    assert_true(zkproxy_requests(proxy, ZKRAW_PING) >= 1);
    assert_int_equal(zkproxy_packets(proxy, ZKPROXY_UP), 1);
    close(client.fd);
}

int main(void)
{
#define PROXY_TEST(name) cmocka_unit_test_setup_teardown(name, start_proxy, stop_proxy)
    const struct CMUnitTest tests[] = {
        PROXY_TEST(passes_on_and_counts), PROXY_TEST(other_talk_passes),
        PROXY_TEST(drops_before),         PROXY_TEST(drops_after),
        PROXY_TEST(drops_the_welcome),    PROXY_TEST(delivers_late),
        PROXY_TEST(freezes_one_way),      PROXY_TEST(delays),
        PROXY_TEST(cuts_anywhere),        PROXY_TEST(refuses),
        PROXY_TEST(swallows_pings),
    };

    server = getenv("HF_ZK");
    if (server == NULL) {
        puts("# SKIP no server: run it by test/server/zookeeper.py");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
