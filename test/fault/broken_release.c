/* broken_release.c - somebody breaks a place; its owner, which has not heard of that, releases
 * it, and the answer is lost.  The repeated release must not answer that all is well (S8).
 * ZooKeeper has a test of its own, with its kinds of places: test/zookeeper/broken_release.c. */
/* needs redis: standalone */
/* needs postgres: standalone */
/* needs mariadb: standalone */
#include "lib/promise.h"
#include "lib/server.h"
#include "lib/tcpproxy.h"

#define TTL_MS   15000
#define LIMIT_MS 20000

static struct tcpproxy *proxy;

static void open_at(struct player *player, const char *address)
{
    struct request nothing;

    promise_use(server_url_at(address, "ttl=15s"));
    player_open_for(player, TTL_MS);
    list(player, "nothing", &nothing);
}

/* The server carries it out, and the answer does not arrive. */
static void leave_unanswered(struct player *player, const char *name, uint64_t id)
{
    struct request left = { .req = { .op = HF_LEAVE, .name = name, .id = id } };
    uint64_t       up = tcpproxy_bytes(proxy, TCPPROXY_UP, TCPPROXY_ALL);

    player_submit(player, &left);
    for (int i = 0;
         i < LIMIT_MS && tcpproxy_bytes(proxy, TCPPROXY_UP, TCPPROXY_ALL) == up; i++)
        player_turn(player, 1);
    assert_true(tcpproxy_bytes(proxy, TCPPROXY_UP, TCPPROXY_ALL) > up);
    assert_false(player_await(player, &left, 200));
    tcpproxy_drop(proxy, TCPPROXY_ALL);
    tcpproxy_swallow(proxy, TCPPROXY_DOWN, TCPPROXY_NOBODY);
    assert_true(player_await(player, &left, LIMIT_MS));
    assert_int_equal(left.req.status, HF_EDOWN);
}

static void check_release(const char *name, struct hf_shape shape, bool is_broken)
{
    struct player  owner, next, breaker;
    struct request mine, theirs;

    open_at(&owner, tcpproxy_address(proxy));
    open_at(&next, server_address());
    open_at(&breaker, server_address());
    uint64_t id = enter(&owner, name, shape, &mine);
    assert_true(
        wait_for_turn(&owner, name, &mine, LIMIT_MS)); /* new data: a grace period */
    tcpproxy_swallow(proxy, TCPPROXY_DOWN, TCPPROXY_ALL);
    if (is_broken)
        assert_int_equal(take_away(&breaker, name, place_of(&mine)), 0);
    leave_unanswered(&owner, name, id);
    uint64_t after = enter(&next, name, shape, &theirs);
    assert_true(is_granted(&theirs));
    int expected = is_broken ? HF_ELOST : 0;
    assert_int_equal(leave(&owner, name, id), expected);
    assert_int_equal(leave(&owner, name, id), expected);
    assert_int_equal(leave(&next, name, after), 0);
    player_close(&owner);
    player_close(&next);
    player_close(&breaker);
}

static void check_kinds(bool is_broken)
{
    check_release("mutex", MUTEX, is_broken);
    check_release("reader", READER, is_broken);
    check_release("semaphore", semaphore(2, 2), is_broken);
    check_release("claim", CLAIM, is_broken);
}

static void release_of_a_broken_lock_fails(void **state)
{
    (void)state;
    check_kinds(true);
}

static void release_of_a_kept_lock_succeeds(void **state)
{
    (void)state;
    check_kinds(false);
}

static int begin(void **state)
{
    (void)state;
    proxy = tcpproxy_start(server_address(), NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tcpproxy_stop(proxy);
    server_expect_empty();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(release_of_a_broken_lock_fails),
        cmocka_unit_test(release_of_a_kept_lock_succeeds),
    };

    server_find();
    return cmocka_run_group_tests(tests, begin, end);
}
