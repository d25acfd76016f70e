/* remote_dial.c - the way to servers that accept, refuse, are silent, or hang up. */
#include "unit/lib/remote_caller.h"

#include <sys/un.h>

static void test_it_gets_there_and_again(void **state)
{
    struct peer peer;

    (void)state;
    assert_true(peer_listen(&peer, AF_INET));
    peer_serve(&peer, peer_echo, NULL);
    caller_name(0, "127.0.0.1", caller_port(&peer));
    caller_start(&caller_ops, 1);
    assert_int_equal(hf_dial_status(&caller.dial), 0);
    caller_settle(HF_DIAL_READY);
    assert_int_equal(hf_dial_status(&caller.dial), 1);
    assert_int_equal(caller.store.link, HF_LINK_UP);
    assert_string_equal(caller.store.errmsg, "");
    assert_int_equal(hf_dial_wake(&caller.dial), HF_NEVER);
    assert_true(caller.dial.heard > 0);

    hf_dial_greet_again(&caller.dial); /* the link stays as it is */
    assert_int_equal(hf_dial_status(&caller.dial), 0);
    assert_int_equal(hf_dial_wake(&caller.dial), HF_NEVER);
    hf_dial_ready(&caller.dial);
    assert_int_equal(caller.links, 1);

    hf_dial_break(&caller.dial, "is a test");
    caller_said("Fake at 127.0.0.1:");
    caller_said(" is a test");
    assert_int_equal(caller.overs, 1);
    assert_int_equal(caller.last_link, HF_LINK_DOWN);
    hf_dial_break(&caller.dial, "is resting"); /* nothing is to be given up */
    caller_said(" is a test");
    assert_int_equal(caller.overs, 1);
    peer_finish(&peer);
}

static void test_nobody_is_there(void **state)
{
    (void)state;
    caller_name(0, "127.0.0.1", caller_dead_port());
    caller_name(1, "127.0.0.1", caller_dead_port());
    caller_start(&caller_ops, 2);
    caller_fail();
    caller_said(" cannot be reached: connection refused");
    assert_int_equal(caller.dial.due, caller.now); /* the next has its turn at once */
    assert_int_equal(caller.store.failures, 1);
    assert_int_equal(caller.store.absences, 0); /* that was no round yet */
    caller_fail();
    assert_int_equal(caller.store.failures, 2);
    assert_int_equal(caller.store.absences, 1);
    assert_int_equal(caller.dial.rounds, 1);
    assert_true(caller.dial.due > caller.now);
    assert_int_equal(hf_dial_wake(&caller.dial), caller.dial.due);
}

static void test_pauses_grow_but_not_with_a_session(void **state)
{
    hf_time most = 0;

    (void)state;
    caller_name(0, "127.0.0.1", caller_dead_port());
    caller_start(&caller_ops, 1);
    for (int i = 0; i < 8; i++) {
        caller_fail();
        most = caller.dial.due - caller.now;
        caller.now = caller.dial.due;
    }
    assert_in_range(most, HF_SEC / 2, HF_SEC);
    caller.pause_most = 7 * HF_MS;
    caller_fail();
    assert_int_equal(caller.dial.due - caller.now, 7 * HF_MS);
    hf_dial_run(&caller.dial, true); /* before its time: nothing */
    assert_int_equal(caller.dial.phase, HF_DIAL_RESTING);
}

static void test_no_such_host(void **state)
{
    (void)state;
    caller_name(0, "a..b", 1); /* no name server is asked for that */
    caller_start(&caller_ops, 1);
    caller_fail();
    caller_said("Fake at a..b:1 is not to be found: ");
    assert_int_equal(caller.store.absences, 1);
}

static void test_a_look_up_takes_too_long(void **state)
{
    (void)state;
    caller_name(0, "localhost", 1);
    caller_start(&caller_ops, 1);
    caller.dial.phase = HF_DIAL_RESOLVING; /* nobody has answered yet */
    caller.dial.due = caller.now;
    hf_dial_run(&caller.dial, false);
    caller_said("Fake at localhost:1 is not to be found: nobody answers in time");
    assert_int_equal(caller.store.absences, 1);
}

/* It accepts, says nothing, and is given more time with each greeting. */
static void test_a_silent_server_is_there(void **state)
{
    struct peer peer;

    (void)state;
    assert_true(peer_listen(&peer, AF_INET)); /* the kernel accepts */
    caller_name(0, "127.0.0.1", caller_port(&peer));
    caller_start(&caller_ops, 1);
    for (unsigned i = 0; i < 4; i++) {
        static const hf_time limits[] = { CALLER_STEP, 2 * CALLER_STEP, 3 * CALLER_STEP,
                                          3 * CALLER_STEP };
        caller_settle(HF_DIAL_GREETING);
        assert_int_equal(hf_dial_wake(&caller.dial), caller.now + limits[i]);
        caller.now += limits[i];
        hf_dial_run(&caller.dial, false);
        assert_int_equal(caller.dial.phase, HF_DIAL_RESTING);
        assert_int_equal(caller.dial.slow, i + 1);
        caller_said(" does not answer");
        caller.now = caller.dial.due;
    }
    assert_int_equal(caller.store.absences, 0);
    assert_int_equal(caller.store.failures, 4);
    peer_close(&peer);
}

static void hang_up(int fd, void *data)
{
    (void)data;
    shutdown(fd, SHUT_RDWR);
}

static void test_one_that_hangs_up(void **state)
{
    struct peer peer;

    (void)state;
    assert_true(peer_listen(&peer, AF_INET));
    peer_serve(&peer, hang_up, NULL);
    caller_name(0, "127.0.0.1", caller_port(&peer));
    caller_start(&caller_ops, 1);
    caller_fail();
    caller_said(" hung up: ");
    caller_said(" (if it speaks TLS, write fakes:)");
    assert_int_equal(caller.store.absences, 0);
    peer_finish(&peer);
}

static void test_a_mute_one_beside_the_link_is_absent(void **state)
{
    struct hf_dial_ops beside = caller_ops;
    struct peer        peer;

    (void)state;
    beside.is_link = false;
    assert_true(peer_listen(&peer, AF_INET));
    peer_serve(&peer, hang_up, NULL);
    caller_name(0, "127.0.0.1", caller_port(&peer));
    caller_start(&beside, 1);
    caller_fail();
    caller_said(" cannot be reached: ");
    assert_int_equal(caller.store.absences, 1);
    peer_finish(&peer);
}

/* The second of three answers. */
static void test_servers_in_turn(void **state)
{
    struct peer peer;

    (void)state;
    assert_true(peer_listen(&peer, AF_INET));
    peer_serve(&peer, peer_echo, NULL);
    caller_name(0, "127.0.0.1", caller_dead_port());
    caller_name(1, "127.0.0.1", caller_port(&peer));
    caller_name(2, "127.0.0.1", caller_dead_port());
    caller_start(&caller_ops, 3);
    caller_fail();
    assert_int_equal(caller.dial.tried, 1);
    caller_settle(HF_DIAL_READY);
    assert_int_equal(caller.dial.server, 1);
    assert_int_equal(caller.dial.tried, 0);
    assert_int_equal(caller.store.failures, 0);
    hf_dial_break(&caller.dial, "is left");
    assert_int_equal(hf_dial_next_server(&caller.dial), 2);
    peer_finish(&peer);
}

static void test_one_that_was_fine_is_tried_first(void **state)
{
    struct hf_dial_ops loyal = caller_ops;
    struct peer        peer;

    (void)state;
    loyal.loyal = true;
    caller.eager = true;
    assert_true(peer_listen(&peer, AF_INET));
    caller_name(0, "127.0.0.1", caller_port(&peer));
    caller_name(1, "127.0.0.1", caller_dead_port());
    caller_start(&loyal, 2);
    caller_settle(HF_DIAL_READY);
    hf_dial_break(&caller.dial, "broke");
    assert_int_equal(hf_dial_next_server(&caller.dial), 0);
    assert_true(caller.dial.due > caller.now);
    assert_int_equal(caller.store.failures, 0);
    caller.now = caller.dial.due;
    caller_settle(HF_DIAL_READY);
    hf_dial_hung(&caller.dial, "hangs");
    assert_int_equal(hf_dial_next_server(&caller.dial), 1);
    assert_int_equal(caller.dial.due, caller.now);
    peer_close(&peer);
}

static void find_path(struct hf_dial *dial)
{
    struct hf_address   address = { .length = sizeof(struct sockaddr_un) };
    struct sockaddr_un *at = (struct sockaddr_un *)&address.at;

    at->sun_family = AF_UNIX;
    snprintf(at->sun_path, sizeof at->sun_path, "%s", caller.path);
    snprintf(dial->here.host, sizeof dial->here.host, "%s", caller.path);
    hf_dial_connect(dial, &address);
}

static void test_a_unix_socket(void **state)
{
    struct hf_dial_ops by_path = caller_ops;
    struct peer        peer;

    (void)state;
    by_path.find = find_path;
    snprintf(caller.path, sizeof caller.path, "/no/such/socket");
    caller_start(&by_path, 0);
    caller_fail();
    caller_said("Fake at /no/such/socket cannot be reached: ");
    assert_int_equal(caller.store.absences, 1);
    assert_true(peer_listen(&peer, AF_UNIX));
    peer_serve(&peer, peer_echo, NULL);
    snprintf(caller.path, sizeof caller.path, "%s",
             ((struct sockaddr_un *)&peer.at)->sun_path);
    caller.now = caller.dial.due;
    caller_settle(HF_DIAL_READY);
    assert_true(hf_address_is_local(&caller.dial.at.at));
    hf_dial_close(&caller.dial);
    peer_finish(&peer);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, caller_setup, caller_teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_it_gets_there_and_again),
        CASE(test_nobody_is_there),
        CASE(test_pauses_grow_but_not_with_a_session),
        CASE(test_no_such_host),
        CASE(test_a_look_up_takes_too_long),
        CASE(test_a_silent_server_is_there),
        CASE(test_one_that_hangs_up),
        CASE(test_a_mute_one_beside_the_link_is_absent),
        CASE(test_servers_in_turn),
        CASE(test_one_that_was_fine_is_tried_first),
        CASE(test_a_unix_socket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
