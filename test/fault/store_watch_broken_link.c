/* store_watch_broken_link.c - the connection of a store watch breaks, or its messages
 * are lost.
 *
 * It reports changes of that time afterwards, and later changes, too.
 */
/* needs redis: standalone */
/* needs postgres: standalone */
/* needs mariadb: standalone */
#include "lib/promise.h"
#include "lib/server.h"
#include "lib/store_watcher.h"
#include "lib/tcpproxy.h"

#include <poll.h>
#include <string.h>

#define TTL "ttl=1500ms"

static const char          *store;
static struct tcpproxy     *proxy;
static struct hf_client    *watcher, *other;
static struct store_watcher seen;
static struct hf_lock      *first, *second;

static struct hf_lock *mutex(const char *name)
{
    struct hf_lock *lock;

    assert_int_equal(hf_mutex(other, name, &lock), 0);
    return lock;
}

static int set_up(void **state)
{
    (void)state;
    proxy = tcpproxy_start(server_address(),
                           strcmp(store, "redis") == 0 ? "SUBSCRIBE" : NULL);
    assert_int_equal(hf_open(server_url_at(tcpproxy_address(proxy), TTL), NULL, &watcher),
                     0);
    assert_int_equal(hf_open(server_url(TTL), NULL, &other), 0);
    first = mutex("first");
    second = mutex("second");
    assert_int_equal(hf_acquire(first, 10000), 0);
    store_watcher_start(&seen, watcher, "");
    assert_true(store_watcher_sees(&seen, "first", 1, 0));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store_watcher_stop(&seen);
    hf_close(watcher);
    hf_close(other);
    tcpproxy_stop(proxy);
    return 0;
}

/* It reports two later changes. */
static void still_reports(void)
{
    assert_int_equal(hf_acquire(first, 10000), 0);
    store_watcher_await(&seen, "first", 1, 0);
    assert_int_equal(hf_release(second), 0);
    store_watcher_await(&seen, "second", 0, 0);
}

static void change_both(void)
{
    assert_int_equal(hf_release(first), 0);
    assert_int_equal(hf_acquire(second, 10000), 0);
}

static void test_changes_while_the_watcher_was_cut_off_are_reported(void **state)
{
    (void)state;
    tcpproxy_refuse(proxy, true);
    tcpproxy_drop(proxy, TCPPROXY_ALL);
    change_both();
    tcpproxy_refuse(proxy, false);
    store_watcher_await(&seen, "first", 0, 0);
    store_watcher_await(&seen, "second", 1, 0);
    still_reports();
}

/* It is cut off for longer than its ttl. */
static void test_changes_while_its_session_expired_are_reported(void **state)
{
    (void)state;
    tcpproxy_refuse(proxy, true);
    tcpproxy_drop(proxy, TCPPROXY_ALL);
    change_both();
    poll(NULL, 0, 1700);
    tcpproxy_refuse(proxy, false);
    store_watcher_await(&seen, "first", 0, 0);
    store_watcher_await(&seen, "second", 1, 0);
    still_reports();
}

/* The server has sent them, and they never arrive. */
static void test_changes_whose_messages_are_lost_are_reported(void **state)
{
    (void)state;
    if (strcmp(store, "redis") != 0)
        skip(); /* PostgreSQL has only one connection */
    tcpproxy_swallow(proxy, TCPPROXY_DOWN, TCPPROXY_MARKED);
    change_both();
    poll(NULL, 0, 50);
    tcpproxy_swallow(proxy, TCPPROXY_DOWN, TCPPROXY_NOBODY);
    store_watcher_await(&seen, "first", 0, 0);
    store_watcher_await(&seen, "second", 1, 0);
    still_reports();
}

/* No other client waits for the lock, so only the watcher can expire the session. */
static void test_a_holder_that_expires_is_reported(void **state)
{
    struct tcpproxy  *way = tcpproxy_start(server_address(), NULL);
    struct hf_client *dead;
    struct hf_lock   *lock;

    (void)state;
    assert_int_equal(hf_open(server_url_at(tcpproxy_address(way), TTL), NULL, &dead), 0);
    assert_int_equal(hf_mutex(dead, "dead", &lock), 0);
    assert_int_equal(hf_acquire(lock, 10000), 0);
    store_watcher_await(&seen, "dead", 1, 0);
    tcpproxy_refuse(way, true);
    tcpproxy_drop(way, TCPPROXY_ALL);
    store_watcher_await(&seen, "dead", 0, 0);
    hf_close(dead);
    tcpproxy_stop(way);
    change_both();
    store_watcher_await(&seen, "second", 1, 0);
    still_reports();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_changes_while_the_watcher_was_cut_off_are_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_changes_while_its_session_expired_are_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_changes_whose_messages_are_lost_are_reported,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_holder_that_expires_is_reported, set_up,
                                        tear_down),
    };

    (void)argc;
    (void)argv;
    store = server_find();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
