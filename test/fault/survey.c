/* survey.c - a survey whose way to the server breaks, or whose messages are lost.
 *
 * Whatever changes meanwhile is told afterwards, and goes on to be told.
 */
/* needs redis: standalone */
/* needs postgres: standalone */
#include "lib/promise.h"
#include "lib/surveyor.h"
#include "lib/tcpproxy.h"
#include "lib/witness.h"

#include <poll.h>
#include <string.h>

#define TTL "ttl=1500ms"

static const char       *store;
static struct tcpproxy  *proxy;
static struct hf_client *eye, *other;
static struct surveyor   seen;
static struct hf_lock   *first, *second;

static struct hf_lock *mutex(const char *name)
{
    struct hf_lock *lock;

    assert_int_equal(hf_mutex(other, name, &lock), 0);
    return lock;
}

static int set_up(void **state)
{
    (void)state;
    proxy = tcpproxy_start(witness_server(),
                           strcmp(store, "redis") == 0 ? "SUBSCRIBE" : NULL);
    assert_int_equal(hf_open(witness_url_at(tcpproxy_address(proxy), TTL), NULL, &eye),
                     0);
    assert_int_equal(hf_open(witness_url(TTL), NULL, &other), 0);
    first = mutex("first");
    second = mutex("second");
    assert_int_equal(hf_acquire(first, 10000), 0);
    surveyor_start(&seen, eye, "");
    assert_true(surveyor_sees(&seen, "first", 1, 0));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    surveyor_stop(&seen);
    hf_close(eye);
    hf_close(other);
    tcpproxy_stop(proxy);
    return 0;
}

/* All is well: what changes is told, and once more. */
static void still_tells(void)
{
    assert_int_equal(hf_acquire(first, 10000), 0);
    surveyor_await(&seen, "first", 1, 0);
    assert_int_equal(hf_release(second), 0);
    surveyor_await(&seen, "second", 0, 0);
}

static void change_both(void)
{
    assert_int_equal(hf_release(first), 0);
    assert_int_equal(hf_acquire(second, 10000), 0);
}

static void test_what_changed_while_it_was_cut_off(void **state)
{
    (void)state;
    tcpproxy_refuse(proxy, true);
    tcpproxy_drop(proxy, TCPPROXY_ALL);
    change_both();
    tcpproxy_refuse(proxy, false);
    surveyor_await(&seen, "first", 0, 0);
    surveyor_await(&seen, "second", 1, 0);
    still_tells();
}

/* Its session has ended, for longer than its ttl. */
static void test_what_changed_while_its_session_ended(void **state)
{
    (void)state;
    tcpproxy_refuse(proxy, true);
    tcpproxy_drop(proxy, TCPPROXY_ALL);
    change_both();
    poll(NULL, 0, 1700);
    tcpproxy_refuse(proxy, false);
    surveyor_await(&seen, "first", 0, 0);
    surveyor_await(&seen, "second", 1, 0);
    still_tells();
}

/* The server has sent them, and they never come. */
static void test_messages_that_are_lost(void **state)
{
    (void)state;
    if (strcmp(store, "redis") != 0)
        skip(); /* there they come on the connection that all else comes on */
    tcpproxy_swallow(proxy, TCPPROXY_DOWN, TCPPROXY_MARKED);
    change_both();
    poll(NULL, 0, 50);
    tcpproxy_swallow(proxy, TCPPROXY_DOWN, TCPPROXY_NOBODY);
    surveyor_await(&seen, "first", 0, 0);
    surveyor_await(&seen, "second", 1, 0);
    still_tells();
}

/* Nobody waits for what a dead client held: so nobody else asks. */
static void test_a_holder_that_ends_in_silence(void **state)
{
    struct tcpproxy  *way = tcpproxy_start(witness_server(), NULL);
    struct hf_client *dead;
    struct hf_lock   *lock;

    (void)state;
    assert_int_equal(hf_open(witness_url_at(tcpproxy_address(way), TTL), NULL, &dead), 0);
    assert_int_equal(hf_mutex(dead, "dead", &lock), 0);
    assert_int_equal(hf_acquire(lock, 10000), 0);
    surveyor_await(&seen, "dead", 1, 0);
    tcpproxy_refuse(way, true);
    tcpproxy_drop(way, TCPPROXY_ALL);
    surveyor_await(&seen, "dead", 0, 0);
    hf_close(dead);
    tcpproxy_stop(way);
    change_both();
    surveyor_await(&seen, "second", 1, 0);
    still_tells();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_changed_while_it_was_cut_off, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_changed_while_its_session_ended, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_messages_that_are_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_holder_that_ends_in_silence, set_up,
                                        tear_down),
    };

    (void)argc;
    (void)argv;
    store = witness_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
