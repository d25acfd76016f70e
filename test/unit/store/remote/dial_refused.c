/* dial_refused.c - connecting: refusals, and decisions of the store that owns the
 * dial. */
/* one thread */
#include "unit/lib/remote_dialer.h"

#include <netinet/in.h>
#include <sys/un.h>

/* ---- Refusals ------------------------------------------------------------------ */

static void listen_silently(struct peer *peer, size_t servers)
{
    assert_true(peer_listen(peer, AF_INET));
    for (size_t i = 0; i < servers; i++)
        dialer_name(i, "127.0.0.1", dialer_port(peer));
}

static void test_a_refusal_is_reported(void **state)
{
    struct peer peer;

    (void)state;
    listen_silently(&peer, 2);
    dialer_start(&dialer_ops, 2);
    dialer_settle(HF_DIAL_GREETING);
    hf_dial_refuse(&dialer.dial, HF_EDENIED, "wants a password");
    assert_int_equal(hf_dial_status(&dialer.dial), HF_EDENIED);
    assert_int_equal(dialer.store.link, HF_LINK_UP);
    assert_int_not_equal(dialer.store.refusal, 0);
    assert_int_equal(dialer.overs, 1);
    assert_int_equal(hf_dial_wake(&dialer.dial), dialer.now + HF_SEC);
    dialer.now += HF_SEC;
    hf_dial_run(&dialer.dial, false);
    assert_int_equal(hf_dial_status(&dialer.dial), 0);
    assert_int_equal(dialer.last_link, HF_LINK_DOWN);
    assert_int_equal(dialer.store.refusal, 0);
    dialer_said(" wants a password"); /* until there is other news */
    peer_close(&peer);
}

/* Another server may accept us. */
static void test_denied_by_all_is_a_refusal(void **state)
{
    struct peer peer;

    (void)state;
    listen_silently(&peer, 2);
    dialer_start(&dialer_ops, 2);
    dialer_settle(HF_DIAL_GREETING);
    hf_dial_deny(&dialer.dial, HF_EDENIED, "does not know us");
    assert_int_equal(hf_dial_status(&dialer.dial), 0);
    assert_int_equal(dialer.dial.due, dialer.now);
    dialer_settle(HF_DIAL_GREETING);
    hf_dial_deny(&dialer.dial, HF_EDENIED, "does not know us");
    assert_int_equal(hf_dial_status(&dialer.dial), HF_EDENIED);
    peer_close(&peer);
}

static void test_a_denial_counts_until_the_round_is_over(void **state)
{
    struct peer peer;

    (void)state;
    listen_silently(&peer, 1);
    dialer_name(1, "127.0.0.1", dialer_dead_port());
    dialer_start(&dialer_ops, 2);
    dialer_settle(HF_DIAL_GREETING);
    hf_dial_deny(&dialer.dial, HF_EDENIED, "does not know us");
    dialer_fail();
    assert_int_equal(hf_dial_status(&dialer.dial), HF_EDENIED);
    assert_int_equal(dialer.store.link, HF_LINK_UP);
    dialer_said(" does not know us");
    assert_int_equal(dialer.store.failures, 2);
    assert_int_equal(dialer.store.absences, 0);
    dialer.now = dialer.dial.due;
    dialer_settle(HF_DIAL_GREETING);
    hf_dial_break(&dialer.dial, "broke"); /* no server of this round denies us */
    dialer_fail();
    assert_int_equal(hf_dial_status(&dialer.dial), 0);
    peer_close(&peer);
}

static void test_a_loyal_dial_stays_with_the_server_that_refuses(void **state)
{
    struct hf_dial_ops loyal = dialer_ops;
    struct peer        peer;

    (void)state;
    loyal.loyal = true;
    listen_silently(&peer, 2);
    dialer_start(&loyal, 2);
    for (int i = 0; i < 3; i++) {
        dialer_settle(HF_DIAL_GREETING);
        assert_int_equal(dialer.dial.server, 0);
        hf_dial_refuse(&dialer.dial, HF_EUNSUPPORTED, "is another");
        dialer.now = dialer.dial.due;
    }
    peer_close(&peer);
}

/* ---- Limits -------------------------------------------------------------------- */

static void test_greeting_shares_a_limit(void **state)
{
    struct hf_dial_ops sharing = dialer_ops;
    struct peer        peer;

    (void)state;
    sharing.shares = HF_DIAL_GREETING;
    listen_silently(&peer, 1);
    dialer_start(&sharing, 1);
    dialer.dial.slow = 1; /* its own limit would be twice as long */
    dialer_settle(HF_DIAL_GREETING);
    assert_int_equal(dialer.dial.due, dialer.now + DIALER_STEP);
    peer_close(&peer);
}

/* ---- Decisions of the owner ---------------------------------------------------- */

static void find_nothing(struct hf_dial *dial)
{
    assert_true(hf_dial_is_sought(dial));
}

static void test_an_address_that_the_owner_brings(void **state)
{
    struct hf_dial_ops sought = dialer_ops;

    (void)state;
    sought.find = find_nothing;
    dialer_start(&sought, 0);
    hf_dial_run(&dialer.dial, true);
    assert_int_equal(dialer.dial.phase, HF_DIAL_RESOLVING);
    assert_int_equal(hf_dial_wake(&dialer.dial), HF_NEVER);
    dialer.now += 1000 * HF_SEC;
    hf_dial_run(&dialer.dial, true);
    assert_true(hf_dial_is_sought(&dialer.dial));
    dialer.dial.here = (struct hf_server){ .host = "127.0.0.1" };
    snprintf(dialer.dial.here.port, sizeof dialer.dial.here.port, "%d",
             dialer_dead_port());
    hf_dial_look_up(&dialer.dial);
    dialer_settle(HF_DIAL_RESTING);
    dialer_said("Fake at 127.0.0.1:");
}

static void connect_nowhere(struct hf_dial *dial)
{
    struct hf_address   address = { .length = sizeof(struct sockaddr_un) };
    struct sockaddr_un *at = (struct sockaddr_un *)&address.at;

    at->sun_family = AF_UNIX;
    snprintf(at->sun_path, sizeof at->sun_path, "/no/such/socket");
    hf_dial_connect(dial, &address);
}

static void test_an_immediate_failure_is_noticed_at_once(void **state)
{
    struct hf_dial_ops sought = dialer_ops;

    (void)state;
    sought.find = find_nothing;
    dialer_start(&sought, 0);
    hf_dial_run(&dialer.dial, true);
    connect_nowhere(&dialer.dial);
    assert_int_equal(dialer.dial.phase, HF_DIAL_RESTING);
    dialer_said(" cannot be reached: ");
}

/* Two addresses where nobody listens. */
static void find_two_addresses(struct hf_dial *dial)
{
    hf_dial_choose(dial);
    for (int i = 0; i < 2; i++) {
        struct sockaddr_in *at = (struct sockaddr_in *)&dial->address[i].at;
        *at = (struct sockaddr_in){ .sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                    .sin_port = htons((uint16_t)dialer_dead_port()) };
        dial->address[i].length = sizeof *at;
    }
    dial->addresses = 2;
    dial->next_address = 0;
    hf_dial_connect_next(dial);
}

static void test_the_next_server_is_the_same_while_it_has_addresses(void **state)
{
    struct hf_dial_ops two = dialer_ops;

    (void)state;
    two.find = find_two_addresses;
    dialer_start(&two, 2);
    dialer_fail();
    dialer.blocked = true; /* as while waiting for a cancel */
    hf_dial_run(&dialer.dial, true);
    assert_int_equal(dialer.dial.phase, HF_DIAL_RESTING);
    assert_int_equal(hf_dial_next_server(&dialer.dial), 0);
    dialer.blocked = false;
    dialer_fail();
    assert_int_equal(dialer.dial.server, 0);
    assert_int_equal(hf_dial_next_server(&dialer.dial), 1);
}

static void test_a_redirection_does_not_count_as_a_try(void **state)
{
    struct peer peer;

    (void)state;
    listen_silently(&peer, 1);
    dialer_start(&dialer_ops, 1);
    dialer_settle(HF_DIAL_GREETING);
    dialer.dial.detour = true;
    hf_dial_break(&dialer.dial, "sends us elsewhere");
    assert_int_equal(dialer.dial.due, dialer.now);
    assert_int_equal(dialer.dial.rounds, 0);
    dialer_settle(HF_DIAL_GREETING);
    assert_false(dialer.dial.detour);
    hf_dial_break(&dialer.dial, "broke");
    assert_int_equal(dialer.dial.rounds, 1);
    peer_close(&peer);
}

static void test_the_owner_can_block_the_dial(void **state)
{
    (void)state;
    dialer_name(0, "127.0.0.1", dialer_dead_port());
    dialer_start(&dialer_ops, 1);
    dialer.blocked = true;
    hf_dial_run(&dialer.dial, true);
    assert_int_equal(dialer.dial.phase, HF_DIAL_RESTING);
    assert_int_equal(hf_dial_wake(&dialer.dial), HF_NEVER);
    dialer.blocked = false;
    assert_int_equal(hf_dial_wake(&dialer.dial), 0);
    dialer_fail();
}

static void test_a_dial_beside_the_link(void **state)
{
    struct hf_dial_ops beside = dialer_ops;

    (void)state;
    beside.is_link = false;
    dialer_name(0, "127.0.0.1", dialer_dead_port());
    dialer_start(&beside, 1);
    dialer.dial.beside = true; /* the dial of the link ends the round */
    dialer_fail();
    assert_int_equal(dialer.store.failures, 1);
    assert_int_equal(dialer.store.absences, 0);
    dialer_said("cannot be reached");
    dialer.quiet = true;
    dialer.store.errmsg[0] = '\0';
    dialer.now = dialer.dial.due;
    dialer_fail();
    assert_string_equal(dialer.store.errmsg, "");
    assert_int_equal(dialer.store.failures, 1);
    assert_int_equal(dialer.links, 0);
}

static void test_random_order_has_all_servers(void **state)
{
    struct hf_dial_ops shuffled = dialer_ops;
    unsigned           seen = 0;

    (void)state;
    shuffled.shuffle = true;
    for (size_t i = 0; i < 8; i++)
        dialer_name(i, "127.0.0.1", 1);
    dialer_start(&shuffled, 8);
    for (size_t i = 0; i < 8; i++, dialer.dial.next++)
        seen |= 1u << hf_dial_next_server(&dialer.dial);
    dialer.dial.next = 0;
    assert_int_equal(seen, 0xff);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, dialer_setup, dialer_teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_a_refusal_is_reported),
        CASE(test_denied_by_all_is_a_refusal),
        CASE(test_a_denial_counts_until_the_round_is_over),
        CASE(test_a_loyal_dial_stays_with_the_server_that_refuses),
        CASE(test_greeting_shares_a_limit),
        CASE(test_an_address_that_the_owner_brings),
        CASE(test_an_immediate_failure_is_noticed_at_once),
        CASE(test_the_next_server_is_the_same_while_it_has_addresses),
        CASE(test_a_redirection_does_not_count_as_a_try),
        CASE(test_the_owner_can_block_the_dial),
        CASE(test_a_dial_beside_the_link),
        CASE(test_random_order_has_all_servers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
