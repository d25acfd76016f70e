/* dial_addresses.c - one name with several addresses, as several servers may share it.
 *
 * getaddrinfo() is ours: the name "many" has the addresses that a test says, each with a
 * port of its own; other names are numbers.
 */
#include "unit/lib/remote_dialer.h"

#include <dlfcn.h>
#include <netdb.h>

#define MANY 3

static struct addrinfo         found[MANY];
static struct sockaddr_storage at[MANY];
static size_t                  count;
static struct peer             good, silent;

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **ret)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

    if (strcmp(host, "many") == 0 && (hints->ai_flags & AI_NUMERICHOST) != 0)
        return EAI_NONAME;
    if (strcmp(host, "many") == 0) {
        *ret = found;
        return 0;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    return real(host, port, hints, ret);
}

void freeaddrinfo(struct addrinfo *list)
{
    void (*real)(struct addrinfo *);

    *(void **)&real = dlsym(RTLD_NEXT, "freeaddrinfo");
    if (list != found)
        real(list);
}

static void add_address(const struct sockaddr *address, socklen_t length)
{
    assert_true(count < MANY);
    memcpy(&at[count], address, length);
    found[count] = (struct addrinfo){ .ai_family = AF_INET,
                                      .ai_socktype = SOCK_STREAM,
                                      .ai_addr = (struct sockaddr *)&at[count],
                                      .ai_addrlen = length };
    if (count > 0)
        found[count - 1].ai_next = &found[count];
    count++;
}

static void add_peer(struct peer *peer)
{
    add_address((const struct sockaddr *)&peer->at, sizeof(struct sockaddr_in));
}

static void add_dead(void)
{
    struct sockaddr_in dead = { .sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                .sin_port = htons((uint16_t)dialer_dead_port()) };

    add_address((const struct sockaddr *)&dead, sizeof dead);
}

static void listen_silently(void)
{
    assert_true(peer_listen(&silent, AF_INET)); /* the kernel accepts */
    add_peer(&silent);
}

static void listen_well(void)
{
    assert_true(peer_listen(&good, AF_INET));
    peer_serve(&good, peer_echo, NULL);
    add_peer(&good);
}

/* Two addresses, of which the first accepts and stays silent. */
static void greet_silent_before_dead(void)
{
    listen_silently();
    add_dead();
    dialer_start(&dialer_ops, 1);
    dialer_settle(HF_DIAL_GREETING);
}

static void finish_good(void)
{
    hf_dial_close(&dialer.dial); /* it serves until then */
    peer_finish(&good);
}

static void hang_up(int fd, void *data)
{
    (void)data;
    shutdown(fd, SHUT_RDWR);
}

/* Is this the address of the try in progress? */
static bool tries(size_t i)
{
    return memcmp(&dialer.dial.at.at, &at[i], sizeof(struct sockaddr_in)) == 0;
}

static void pass_limit(void)
{
    dialer.now = hf_dial_wake(&dialer.dial);
    hf_dial_run(&dialer.dial, false);
    assert_int_equal(dialer.dial.phase, HF_DIAL_RESTING);
}

/* ---- One round ------------------------------------------------------------------- */

static void test_an_address_that_hangs_up_is_passed(void **state)
{
    struct peer bad;

    (void)state;
    assert_true(peer_listen(&bad, AF_INET));
    peer_serve(&bad, hang_up, NULL);
    add_peer(&bad);
    listen_well();
    dialer_start(&dialer_ops, 1);
    dialer_fail();
    assert_true(tries(0));
    assert_int_equal(dialer.dial.due, dialer.now); /* the next one is tried at once */
    dialer_settle(HF_DIAL_READY);
    assert_true(tries(1));
    peer_finish(&bad);
    finish_good();
}

static void test_an_address_that_hangs_is_passed(void **state)
{
    (void)state;
    listen_silently();
    listen_well();
    dialer_start(&dialer_ops, 1);
    dialer_settle(HF_DIAL_GREETING);
    pass_limit();
    assert_int_equal(dialer.dial.rounds, 0);
    dialer_settle(HF_DIAL_READY);
    assert_true(tries(1));
    peer_close(&silent);
    finish_good();
}

/* A wrong password is tried once at each address; then requests learn of it. */
static void test_an_address_that_rejects_us_is_passed(void **state)
{
    (void)state;
    greet_silent_before_dead();
    hf_dial_deny(&dialer.dial, HF_EDENIED, "does not know us");
    assert_int_equal(hf_dial_status(&dialer.dial), 0);
    assert_int_equal(dialer.dial.due, dialer.now);
    dialer_fail();
    assert_int_equal(hf_dial_status(&dialer.dial), HF_EDENIED);
    dialer_said(" does not know us");
    peer_close(&silent);
}

static void test_a_round_has_all_addresses(void **state)
{
    (void)state;
    greet_silent_before_dead();
    pass_limit();
    assert_int_equal(dialer.dial.rounds, 0);
    dialer_fail();
    assert_true(tries(1));
    assert_int_equal(dialer.dial.rounds, 1);
    assert_true(dialer.dial.due > dialer.now);
    assert_int_equal(dialer.store.absences, 0); /* one of them was there */
    peer_close(&silent);
}

/* The dial goes where the server has sent it, not to another address of that server. */
static void test_a_redirection_ends_the_addresses(void **state)
{
    (void)state;
    greet_silent_before_dead();
    dialer.dial.detour = true;
    hf_dial_break(&dialer.dial, "sends us elsewhere");
    assert_int_equal(dialer.dial.addresses, 0);
    peer_close(&silent);
}

static void test_others_are_known(void **state)
{
    (void)state;
    greet_silent_before_dead();
    assert_false(hf_dial_is_alone(&dialer.dial));
    pass_limit();
    dialer_fail();
    count = 1;
    found[0].ai_next = NULL;
    dialer.now = dialer.dial.due;
    dialer_settle(HF_DIAL_GREETING);
    assert_true(hf_dial_is_alone(&dialer.dial));
    peer_close(&silent);
}

/* ---- After a connection ---------------------------------------------------------- */

static void test_a_loyal_dial_stays_with_its_address(void **state)
{
    struct hf_dial_ops loyal = dialer_ops;

    (void)state;
    loyal.loyal = true;
    listen_silently();
    listen_well();
    add_dead();
    dialer_start(&loyal, 1);
    dialer_settle(HF_DIAL_GREETING);
    pass_limit();
    dialer_settle(HF_DIAL_READY);
    hf_dial_break(&dialer.dial, "broke");
    dialer.now = dialer.dial.due;
    dialer_settle(HF_DIAL_GREETING);
    assert_true(tries(1));
    peer_close(&silent);
    finish_good();
}

static void test_an_address_that_hung_is_the_last(void **state)
{
    struct hf_dial_ops loyal = dialer_ops;

    (void)state;
    loyal.loyal = true;
    listen_well();
    listen_silently();
    dialer_start(&loyal, 1);
    dialer_settle(HF_DIAL_READY);
    assert_true(tries(0));
    hf_dial_hung(&dialer.dial, "hangs");
    dialer.now = dialer.dial.due;
    dialer_settle(HF_DIAL_GREETING);
    assert_true(tries(1));
    pass_limit();
    dialer_settle(HF_DIAL_GREETING);
    assert_true(tries(0));
    peer_close(&silent);
    finish_good();
}

static int setup(void **state)
{
    count = 0;
    memset(found, 0, sizeof found);
    if (dialer_setup(state) != 0)
        return -1;
    dialer_name(0, "many", 1);
    return 0;
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, dialer_teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_an_address_that_hangs_up_is_passed),
        CASE(test_an_address_that_hangs_is_passed),
        CASE(test_an_address_that_rejects_us_is_passed),
        CASE(test_a_round_has_all_addresses),
        CASE(test_a_redirection_ends_the_addresses),
        CASE(test_others_are_known),
        CASE(test_a_loyal_dial_stays_with_its_address),
        CASE(test_an_address_that_hung_is_the_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
