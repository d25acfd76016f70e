/* remote_dial_turns.c - the way to a server: refusals, and what only its owner knows. */
/* one thread */
#include "unit/lib/remote_caller.h"

#include <netinet/in.h>
#include <sys/un.h>

/* ---- Refusals ------------------------------------------------------------------------------ */

static void listen_silently(struct peer *peer, size_t servers)
{
    assert_true(peer_listen(peer, AF_INET));
    for (size_t i = 0; i < servers; i++)
        caller_name(i, "127.0.0.1", caller_port(peer));
}

static void test_a_refusal_is_told(void **state)
{
    struct peer peer;

    (void)state;
    listen_silently(&peer, 2);
    caller_start(&caller_ops, 2);
    caller_settle(HF_DIAL_GREETING);
    hf_dial_refuse(&caller.dial, HF_EDENIED, "wants a password");
    assert_int_equal(hf_dial_status(&caller.dial), HF_EDENIED);
    assert_int_equal(caller.store.link, HF_LINK_UP);
    assert_int_not_equal(caller.store.refusal, 0);
    assert_int_equal(caller.overs, 1);
    assert_int_equal(hf_dial_wake(&caller.dial), caller.now + HF_SEC);
    caller.now += HF_SEC;
    hf_dial_run(&caller.dial, false);
    assert_int_equal(hf_dial_status(&caller.dial), 0);
    assert_int_equal(caller.last_link, HF_LINK_DOWN);
    assert_int_equal(caller.store.refusal, 0);
    caller_said(" wants a password"); /* until something else is known */
    peer_close(&peer);
}

/* Another server may have us. */
static void test_denied_by_all_is_a_refusal(void **state)
{
    struct peer peer;

    (void)state;
    listen_silently(&peer, 2);
    caller_start(&caller_ops, 2);
    caller_settle(HF_DIAL_GREETING);
    hf_dial_deny(&caller.dial, HF_EDENIED, "does not know us");
    assert_int_equal(hf_dial_status(&caller.dial), 0);
    assert_int_equal(caller.dial.due, caller.now);
    caller_settle(HF_DIAL_GREETING);
    hf_dial_deny(&caller.dial, HF_EDENIED, "does not know us");
    assert_int_equal(hf_dial_status(&caller.dial), HF_EDENIED);
    peer_close(&peer);
}

/* It is remembered until the round is over, whichever server it was. */
static void test_a_denial_outlives_the_last_server(void **state)
{
    struct peer peer;

    (void)state;
    listen_silently(&peer, 1);
    caller_name(1, "127.0.0.1", caller_dead_port());
    caller_start(&caller_ops, 2);
    caller_settle(HF_DIAL_GREETING);
    hf_dial_deny(&caller.dial, HF_EDENIED, "does not know us");
    caller_fail();
    assert_int_equal(hf_dial_status(&caller.dial), HF_EDENIED);
    assert_int_equal(caller.store.link, HF_LINK_UP);
    caller_said(" does not know us");
    assert_int_equal(caller.store.failures, 2);
    assert_int_equal(caller.store.absences, 0);
    caller.now = caller.dial.due;
    caller_settle(HF_DIAL_GREETING);
    hf_dial_break(&caller.dial, "broke"); /* in this round nobody denies us */
    caller_fail();
    assert_int_equal(hf_dial_status(&caller.dial), 0);
    peer_close(&peer);
}

static void test_a_loyal_one_stays_with_the_refusing_server(void **state)
{
    struct hf_dial_ops loyal = caller_ops;
    struct peer        peer;

    (void)state;
    loyal.loyal = true;
    listen_silently(&peer, 2);
    caller_start(&loyal, 2);
    for (int i = 0; i < 3; i++) {
        caller_settle(HF_DIAL_GREETING);
        assert_int_equal(caller.dial.server, 0);
        hf_dial_refuse(&caller.dial, HF_EUNSUPPORTED, "is another");
        caller.now = caller.dial.due;
    }
    peer_close(&peer);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

static void test_greeting_shares_a_limit(void **state)
{
    struct hf_dial_ops sharing = caller_ops;
    struct peer        peer;

    (void)state;
    sharing.shares = HF_DIAL_GREETING;
    listen_silently(&peer, 1);
    caller_start(&sharing, 1);
    caller.dial.slow = 1; /* its own limit would be twice as long */
    caller_settle(HF_DIAL_GREETING);
    assert_int_equal(caller.dial.due, caller.now + CALLER_STEP);
    peer_close(&peer);
}

/* ---- What only the owner knows --------------------------------------------------------------- */

static void find_nothing(struct hf_dial *dial)
{
    assert_true(hf_dial_is_sought(dial));
}

static void test_somebody_else_knows_where(void **state)
{
    struct hf_dial_ops sought = caller_ops;

    (void)state;
    sought.find = find_nothing;
    caller_start(&sought, 0);
    hf_dial_run(&caller.dial, true);
    assert_int_equal(caller.dial.phase, HF_DIAL_RESOLVING);
    assert_int_equal(hf_dial_wake(&caller.dial), HF_NEVER);
    caller.now += 1000 * HF_SEC;
    hf_dial_run(&caller.dial, true);
    assert_true(hf_dial_is_sought(&caller.dial));
    caller.dial.here = (struct hf_server){ .host = "127.0.0.1" };
    snprintf(caller.dial.here.port, sizeof caller.dial.here.port, "%d",
             caller_dead_port());
    hf_dial_look_up(&caller.dial);
    caller_settle(HF_DIAL_RESTING);
    caller_said("Fake at 127.0.0.1:");
}

static void connect_nowhere(struct hf_dial *dial)
{
    struct hf_address   address = { .length = sizeof(struct sockaddr_un) };
    struct sockaddr_un *at = (struct sockaddr_un *)&address.at;

    at->sun_family = AF_UNIX;
    snprintf(at->sun_path, sizeof at->sun_path, "/no/such/socket");
    hf_dial_connect(dial, &address);
}

static void test_what_fails_at_once_is_noticed_at_once(void **state)
{
    struct hf_dial_ops sought = caller_ops;

    (void)state;
    sought.find = find_nothing;
    caller_start(&sought, 0);
    hf_dial_run(&caller.dial, true);
    connect_nowhere(&caller.dial);
    assert_int_equal(caller.dial.phase, HF_DIAL_RESTING);
    caller_said(" cannot be reached: ");
}

/* Two addresses at which nobody is. */
static void find_two_addresses(struct hf_dial *dial)
{
    hf_dial_choose(dial);
    for (int i = 0; i < 2; i++) {
        struct sockaddr_in *at = (struct sockaddr_in *)&dial->address[i].at;
        *at = (struct sockaddr_in){ .sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                    .sin_port = htons((uint16_t)caller_dead_port()) };
        dial->address[i].length = sizeof *at;
    }
    dial->addresses = 2;
    dial->next_address = 0;
    hf_dial_connect_next(dial);
}

static void test_the_next_server_is_the_same_while_it_has_addresses(void **state)
{
    struct hf_dial_ops two = caller_ops;

    (void)state;
    two.find = find_two_addresses;
    caller_start(&two, 2);
    caller_fail();
    caller.blocked = true; /* as while a cancel is awaited */
    hf_dial_run(&caller.dial, true);
    assert_int_equal(caller.dial.phase, HF_DIAL_RESTING);
    assert_int_equal(hf_dial_next_server(&caller.dial), 0);
    caller.blocked = false;
    caller_fail();
    assert_int_equal(caller.dial.server, 0);
    assert_int_equal(hf_dial_next_server(&caller.dial), 1);
}

/* A server that knows a better one was not tried in vain. */
static void test_a_detour_does_not_count(void **state)
{
    struct peer peer;

    (void)state;
    listen_silently(&peer, 1);
    caller_start(&caller_ops, 1);
    caller_settle(HF_DIAL_GREETING);
    caller.dial.detour = true;
    hf_dial_break(&caller.dial, "sends us elsewhere");
    assert_int_equal(caller.dial.due, caller.now);
    assert_int_equal(caller.dial.rounds, 0);
    caller_settle(HF_DIAL_GREETING);
    assert_false(caller.dial.detour);
    hf_dial_break(&caller.dial, "broke");
    assert_int_equal(caller.dial.rounds, 1);
    peer_close(&peer);
}

static void test_it_may_have_to_wait(void **state)
{
    (void)state;
    caller_name(0, "127.0.0.1", caller_dead_port());
    caller_start(&caller_ops, 1);
    caller.blocked = true;
    hf_dial_run(&caller.dial, true);
    assert_int_equal(caller.dial.phase, HF_DIAL_RESTING);
    assert_int_equal(hf_dial_wake(&caller.dial), HF_NEVER);
    caller.blocked = false;
    assert_int_equal(hf_dial_wake(&caller.dial), 0);
    caller_fail();
}

static void test_a_dial_beside_the_link(void **state)
{
    struct hf_dial_ops beside = caller_ops;

    (void)state;
    beside.is_link = false;
    caller_name(0, "127.0.0.1", caller_dead_port());
    caller_start(&beside, 1);
    caller.dial.beside = true; /* another one ends the round */
    caller_fail();
    assert_int_equal(caller.store.failures, 1);
    assert_int_equal(caller.store.absences, 0);
    caller_said("cannot be reached");
    caller.quiet = true;
    caller.store.errmsg[0] = '\0';
    caller.now = caller.dial.due;
    caller_fail();
    assert_string_equal(caller.store.errmsg, "");
    assert_int_equal(caller.store.failures, 1);
    assert_int_equal(caller.links, 0);
}

static void test_random_order_has_all_servers(void **state)
{
    struct hf_dial_ops shuffled = caller_ops;
    unsigned           seen = 0;

    (void)state;
    shuffled.shuffle = true;
    for (size_t i = 0; i < 8; i++)
        caller_name(i, "127.0.0.1", 1);
    caller_start(&shuffled, 8);
    for (size_t i = 0; i < 8; i++, caller.dial.next++)
        seen |= 1u << hf_dial_next_server(&caller.dial);
    caller.dial.next = 0;
    assert_int_equal(seen, 0xff);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, caller_setup, caller_teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_a_refusal_is_told),
        CASE(test_denied_by_all_is_a_refusal),
        CASE(test_a_denial_outlives_the_last_server),
        CASE(test_a_loyal_one_stays_with_the_refusing_server),
        CASE(test_greeting_shares_a_limit),
        CASE(test_somebody_else_knows_where),
        CASE(test_what_fails_at_once_is_noticed_at_once),
        CASE(test_the_next_server_is_the_same_while_it_has_addresses),
        CASE(test_a_detour_does_not_count),
        CASE(test_it_may_have_to_wait),
        CASE(test_a_dial_beside_the_link),
        CASE(test_random_order_has_all_servers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
