/* dial.c - connecting to servers that accept, refuse, are silent, or hang up. */
#include "unit/lib/remote_dialer.h"

#include <sys/un.h>

static void test_connecting_and_reconnecting(void **state)
{
    struct peer peer;

    (void)state;
    assert_true(peer_listen(&peer, AF_INET));
    peer_serve(&peer, peer_echo, NULL);
    dialer_name(0, "127.0.0.1", dialer_port(&peer));
    dialer_start(&dialer_ops, 1);
    assert_int_equal(hf_dial_status(&dialer.dial), 0);
    dialer_settle(HF_DIAL_READY);
    assert_int_equal(hf_dial_status(&dialer.dial), 1);
    assert_int_equal(dialer.store.link, HF_LINK_UP);
    assert_string_equal(dialer.store.errmsg, "");
    assert_int_equal(hf_dial_wake(&dialer.dial), HF_NEVER);
    assert_true(dialer.dial.heard > 0);

    hf_dial_greet_again(&dialer.dial); /* the link does not change */
    assert_int_equal(hf_dial_status(&dialer.dial), 0);
    assert_int_equal(hf_dial_wake(&dialer.dial), HF_NEVER);
    hf_dial_ready(&dialer.dial);
    assert_int_equal(dialer.links, 1);

    hf_dial_break(&dialer.dial, "is a test");
    dialer_said("Fake at 127.0.0.1:");
    dialer_said(" is a test");
    assert_int_equal(dialer.overs, 1);
    assert_int_equal(dialer.last_link, HF_LINK_DOWN);
    hf_dial_break(&dialer.dial, "is resting"); /* there is no connection to close */
    dialer_said(" is a test");
    assert_int_equal(dialer.overs, 1);
    peer_finish(&peer);
}

static void test_all_servers_refuse_connections(void **state)
{
    (void)state;
    dialer_name(0, "127.0.0.1", dialer_dead_port());
    dialer_name(1, "127.0.0.1", dialer_dead_port());
    dialer_start(&dialer_ops, 2);
    dialer_fail();
    dialer_said(" cannot be reached: connection refused");
    assert_int_equal(dialer.dial.due, dialer.now); /* the next server is tried at once */
    assert_int_equal(dialer.store.failures, 1);
    assert_int_equal(dialer.store.absences, 0); /* the round is not over yet */
    dialer_fail();
    assert_int_equal(dialer.store.failures, 2);
    assert_int_equal(dialer.store.absences, 1);
    assert_int_equal(dialer.dial.rounds, 1);
    assert_true(dialer.dial.due > dialer.now);
    assert_int_equal(hf_dial_wake(&dialer.dial), dialer.dial.due);
}

static void test_pauses_grow_unless_there_is_a_session(void **state)
{
    hf_time most = 0;

    (void)state;
    dialer_name(0, "127.0.0.1", dialer_dead_port());
    dialer_start(&dialer_ops, 1);
    for (int i = 0; i < 8; i++) {
        dialer_fail();
        most = dialer.dial.due - dialer.now;
        dialer.now = dialer.dial.due;
    }
    assert_in_range(most, HF_SEC / 2, HF_SEC);
    dialer.pause_most = 7 * HF_MS;
    dialer_fail();
    assert_int_equal(dialer.dial.due - dialer.now, 7 * HF_MS);
    hf_dial_run(&dialer.dial, true); /* too early: does nothing */
    assert_int_equal(dialer.dial.phase, HF_DIAL_RESTING);
}

static void test_an_unknown_host(void **state)
{
    (void)state;
    dialer_name(0, "a..b", 1); /* never sent to a name server */
    dialer_start(&dialer_ops, 1);
    dialer_fail();
    dialer_said("Fake at a..b:1 cannot be found: ");
    assert_int_equal(dialer.store.absences, 1);
}

static void test_a_look_up_takes_too_long(void **state)
{
    (void)state;
    dialer_name(0, "localhost", 1);
    dialer_start(&dialer_ops, 1);
    dialer.dial.phase = HF_DIAL_RESOLVING; /* no answer yet */
    dialer.dial.due = dialer.now;
    hf_dial_run(&dialer.dial, false);
    dialer_said("Fake at localhost:1 cannot be found: nobody answers in time");
    assert_int_equal(dialer.store.absences, 1);
}

/* It accepts and says nothing.  Each greeting gets more time. */
static void test_a_silent_server_is_present(void **state)
{
    struct peer peer;

    (void)state;
    assert_true(peer_listen(&peer, AF_INET)); /* the kernel accepts */
    dialer_name(0, "127.0.0.1", dialer_port(&peer));
    dialer_start(&dialer_ops, 1);
    for (unsigned i = 0; i < 4; i++) {
        static const hf_time limits[] = { DIALER_STEP, 2 * DIALER_STEP, 3 * DIALER_STEP,
                                          3 * DIALER_STEP };
        dialer_settle(HF_DIAL_GREETING);
        assert_int_equal(hf_dial_wake(&dialer.dial), dialer.now + limits[i]);
        dialer.now += limits[i];
        hf_dial_run(&dialer.dial, false);
        assert_int_equal(dialer.dial.phase, HF_DIAL_RESTING);
        assert_int_equal(dialer.dial.slow, i + 1);
        dialer_said(" does not answer");
        dialer.now = dialer.dial.due;
    }
    assert_int_equal(dialer.store.absences, 0);
    assert_int_equal(dialer.store.failures, 4);
    peer_close(&peer);
}

static void hang_up(int fd, void *data)
{
    (void)data;
    shutdown(fd, SHUT_RDWR);
}

static void test_a_server_that_hangs_up(void **state)
{
    struct peer peer;

    (void)state;
    assert_true(peer_listen(&peer, AF_INET));
    peer_serve(&peer, hang_up, NULL);
    dialer_name(0, "127.0.0.1", dialer_port(&peer));
    dialer_start(&dialer_ops, 1);
    dialer_fail();
    dialer_said(" hung up: ");
    dialer_said(" (if it speaks TLS, write fakes:)");
    assert_int_equal(dialer.store.absences, 0);
    peer_finish(&peer);
}

static void test_a_silent_server_beside_the_link_is_absent(void **state)
{
    struct hf_dial_ops beside = dialer_ops;
    struct peer        peer;

    (void)state;
    beside.is_link = false;
    assert_true(peer_listen(&peer, AF_INET));
    peer_serve(&peer, hang_up, NULL);
    dialer_name(0, "127.0.0.1", dialer_port(&peer));
    dialer_start(&beside, 1);
    dialer_fail();
    dialer_said(" cannot be reached: ");
    assert_int_equal(dialer.store.absences, 1);
    peer_finish(&peer);
}

/* The second of three answers. */
static void test_servers_are_tried_in_turn(void **state)
{
    struct peer peer;

    (void)state;
    assert_true(peer_listen(&peer, AF_INET));
    peer_serve(&peer, peer_echo, NULL);
    dialer_name(0, "127.0.0.1", dialer_dead_port());
    dialer_name(1, "127.0.0.1", dialer_port(&peer));
    dialer_name(2, "127.0.0.1", dialer_dead_port());
    dialer_start(&dialer_ops, 3);
    dialer_fail();
    assert_int_equal(dialer.dial.tried, 1);
    dialer_settle(HF_DIAL_READY);
    assert_int_equal(dialer.dial.server, 1);
    assert_int_equal(dialer.dial.tried, 0);
    assert_int_equal(dialer.store.failures, 0);
    hf_dial_break(&dialer.dial, "is left");
    assert_int_equal(hf_dial_next_server(&dialer.dial), 2);
    peer_finish(&peer);
}

static void test_the_last_good_server_is_tried_first(void **state)
{
    struct hf_dial_ops loyal = dialer_ops;
    struct peer        peer;

    (void)state;
    loyal.loyal = true;
    dialer.eager = true;
    assert_true(peer_listen(&peer, AF_INET));
    dialer_name(0, "127.0.0.1", dialer_port(&peer));
    dialer_name(1, "127.0.0.1", dialer_dead_port());
    dialer_start(&loyal, 2);
    dialer_settle(HF_DIAL_READY);
    hf_dial_break(&dialer.dial, "broke");
    assert_int_equal(hf_dial_next_server(&dialer.dial), 0);
    assert_true(dialer.dial.due > dialer.now);
    assert_int_equal(dialer.store.failures, 0);
    dialer.now = dialer.dial.due;
    dialer_settle(HF_DIAL_READY);
    hf_dial_hung(&dialer.dial, "hangs");
    assert_int_equal(hf_dial_next_server(&dialer.dial), 1);
    assert_int_equal(dialer.dial.due, dialer.now);
    peer_close(&peer);
}

static void find_path(struct hf_dial *dial)
{
    struct hf_address   address = { .length = sizeof(struct sockaddr_un) };
    struct sockaddr_un *at = (struct sockaddr_un *)&address.at;

    at->sun_family = AF_UNIX;
    snprintf(at->sun_path, sizeof at->sun_path, "%s", dialer.path);
    snprintf(dial->here.host, sizeof dial->here.host, "%s", dialer.path);
    hf_dial_connect(dial, &address);
}

static void test_a_unix_socket(void **state)
{
    struct hf_dial_ops by_path = dialer_ops;
    struct peer        peer;

    (void)state;
    by_path.find = find_path;
    snprintf(dialer.path, sizeof dialer.path, "/no/such/socket");
    dialer_start(&by_path, 0);
    dialer_fail();
    dialer_said("Fake at /no/such/socket cannot be reached: ");
    assert_int_equal(dialer.store.absences, 1);
    assert_true(peer_listen(&peer, AF_UNIX));
    peer_serve(&peer, peer_echo, NULL);
    snprintf(dialer.path, sizeof dialer.path, "%s",
             ((struct sockaddr_un *)&peer.at)->sun_path);
    dialer.now = dialer.dial.due;
    dialer_settle(HF_DIAL_READY);
    assert_true(hf_address_is_local(&dialer.dial.at.at));
    hf_dial_close(&dialer.dial);
    peer_finish(&peer);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, dialer_setup, dialer_teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_connecting_and_reconnecting),
        CASE(test_all_servers_refuse_connections),
        CASE(test_pauses_grow_unless_there_is_a_session),
        CASE(test_an_unknown_host),
        CASE(test_a_look_up_takes_too_long),
        CASE(test_a_silent_server_is_present),
        CASE(test_a_server_that_hangs_up),
        CASE(test_a_silent_server_beside_the_link_is_absent),
        CASE(test_servers_are_tried_in_turn),
        CASE(test_the_last_good_server_is_tried_first),
        CASE(test_a_unix_socket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
