/* store_watch.c - WATCH_STORE as only ZooKeeper has it: nodes of other programs,
 * unreadable nodes, broken connections, and its cost for the server. */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/clients.h"
#include "lib/fixture.h"
#include "lib/watch_store.h"
#include "lib/witness.h"

#include <stdio.h>
#include <string.h>

#define QUIET_MS 300 /* in which nothing is reported */

enum { GET_DATA = 4, GET_CHILDREN2 = 12, ADD_WATCH = 106 };

/* A long session: players that are not driven for a while must keep their places. */
static const char *url_of(const char *user, const char *address, const char *rest)
{
    static char url[4][128];
    static int  next;
    const char *session = strchr(rest, '?') != NULL ? "&session=30s" : "?session=30s";

    if (strstr(rest, "session=") != NULL)
        session = "";
    next = (next + 1) % 4;
    snprintf(url[next], sizeof url[next], "zk://%s%s%s%s", user, address, rest, session);
    return url[next];
}

static const char *direct(void)
{
    return url_of("", witness_server(), "");
}

/* ---- Reports ------------------------------------------------------------------------ */

static void changes_of_every_kind_are_reported(void **state)
{
    static const char *const styles[] = { "", "?style=kazoo" };
    struct watcher           watcher;
    struct player            a, b;
    struct request           one, two, half, sole;

    (void)state;
    watcher_open(&watcher, direct());
    for (int i = 0; i < 2; i++) {
        player_connect_url(&a, url_of("", witness_server(), styles[i]));
        player_connect_url(&b, direct());
        enter(&a, "sv-one", MUTEX, &one);
        watcher_assert_told(&watcher, "sv-one");
        uint64_t id = enter(&b, "sv-one", MUTEX, &two);
        watcher_assert_told(&watcher, "sv-one");
        assert_int_equal(leave(&b, "sv-one", id), 0);
        id = enter(&b, "sv-wr%te", WRITER, &two); /* a name that is not a valid path */
        enter(&a, "sv-sem", semaphore(2, 1), &half);
        enter(&a, "sv-claim", CLAIM, &sole);
        watcher_assert_told(&watcher, "sv-one sv-wr%te sv-sem sv-claim");
        assert_int_equal(downgrade(&b, "sv-wr%te", id, READER, &two), 0);
        watcher_assert_told(&watcher, "sv-wr%te");
        assert_int_equal(take_away(&b, "sv-claim", place_of(&sole)), 0);
        watcher_assert_told(&watcher, "sv-claim");
        player_close(&a); /* without any waiter */
        watcher_assert_told(&watcher, "sv-one sv-sem");
        player_close(&b);
        watcher_assert_told(&watcher, "sv-wr%te");
    }
    player_close(&watcher.player);
}

/* A session that expires. */
static void expired_session_is_reported(void **state)
{
    struct watcher watcher;
    struct player  a;
    struct request held;

    (void)state;
    watcher_open(&watcher, direct());
    player_connect_url(&a, url_of("", zkproxy_address(proxy), "?session=2s"));
    enter(&a, "sv-dies", MUTEX, &held);
    watcher_assert_told(&watcher, "sv-dies");
    zkproxy_freeze(proxy, ZKPROXY_BOTH);
    watcher_look(&watcher);
    assert_int_equal(watcher.count, 1);
    assert_string_equal(watcher.name[0], "sv-dies");
    assert_int_equal(witness_count("/sv-dies"), 0);
    zkproxy_thaw(proxy);
    player_close(&a);
    player_close(&watcher.player);
}

/* Nodes that are not places are not reported, and do no harm if they are. */
static void foreign_nodes_are_not_reported(void **state)
{
    static const char *const paths[] = {
        "/sv-app",           "/sv-app/config",
        "/sv-app/leases",    "/sv-app/leases/lock-0000000001",
        "/zookeeper/sv-app", "/zookeeper/sv-app/lock-0000000001",
        "/sv%app",           "/sv%app/lock-0000000001",
        "/sv-bad",
    };
    enum { PATHS = sizeof paths / sizeof *paths };
    struct watcher watcher;
    struct request any;

    (void)state;
    watcher_open(&watcher, direct());
    for (size_t i = 0; i < PATHS; i++)
        assert_int_equal(witness_create_in(&foreign, paths[i], "x", WITNESS_PLAIN), 0);
    watcher_start(&watcher);
    assert_false(watcher_await(&watcher, QUIET_MS));
    assert_int_equal(list(&watcher.player, "sv-app", &any), 0);
    assert_int_equal(any.count, 0);
    assert_int_equal(list(&watcher.player, "sv-app/leases", &any), 0);
    assert_int_equal(list(&watcher.player, "zookeeper", &any), 0);
    for (size_t i = PATHS; i-- > 0;)
        assert_int_equal(witness_delete_in(&foreign, paths[i]), 0);
    assert_false(watcher_await(&watcher, QUIET_MS));
    watcher_cancel(&watcher);
    player_close(&watcher.player);
}

/* Only nodes below the chroot are reported, not those of a chroot whose name it is a
 * prefix of. */
static void only_nodes_below_the_chroot_are_reported(void **state)
{
    struct watcher watcher;
    struct player  in, out;
    struct request mine, others;

    (void)state;
    assert_int_equal(witness_create("/sv-root"), 0);
    assert_int_equal(witness_create("/sv-root2"), 0);
    watcher_open(&watcher, url_of("", witness_server(), "/sv-root"));
    player_connect_url(&in, url_of("", witness_server(), "/sv-root"));
    player_connect_url(&out, url_of("", witness_server(), "/sv-root2"));
    enter(&out, "sv-out", MUTEX, &others);
    enter(&in, "sv-in", MUTEX, &mine);
    watcher_look(&watcher);
    assert_int_equal(watcher.count, 1);
    assert_string_equal(watcher.name[0], "sv-in");
    player_close(&in);
    player_close(&out);
    player_close(&watcher.player);
}

/* ---- Unreadable nodes --------------------------------------------------------------- */

static void unreadable_places_are_reported_every_second(void **state)
{
    struct watcher watcher;
    struct player  ana;
    struct request open, shut, all;

    (void)state;
    assert_int_equal(witness_create("/sv-open"), 0); /* a folder for everybody */
    player_connect_url(&ana, url_of("ana:secret@", witness_server(), ""));
    enter(&ana, "sv-shut", MUTEX, &shut);
    watcher_open(&watcher, direct());
    uint64_t id = enter(&ana, "sv-open", MUTEX, &open);
    assert_int_equal(list(&watcher.player, NULL, &all),
                     0); /* otherwise it would take a minute */
    watcher_look(&watcher);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(watcher.count, 1);
        assert_string_equal(watcher.name[0], "sv-open"); /* never the other one */
        assert_int_equal(length(&watcher.player, "sv-open"), 1);
        watcher_look(&watcher);
    }
    assert_int_equal(leave(&ana, "sv-shut", shut.req.id), 0);
    assert_int_equal(leave(&ana, "sv-open", id), 0);
    watcher_look(&watcher);
    assert_int_equal(length(&watcher.player, "sv-open"), 0);
    watcher_start(&watcher); /* nothing to report every second any more */
    assert_false(watcher_await(&watcher, 1500));
    player_close(&ana);
    player_close(&watcher.player);
}

/* A folder that we may not list, with places whose events we get. */
static void denied_folder_is_not_reported(void **state)
{
    struct watcher watcher;
    struct player  ana;
    struct request held, any;

    (void)state;
    player_connect_url(&ana, url_of("ana:secret@", witness_server(), ""));
    enter(&ana, "sv-denied", MUTEX, &held);
    player_close(&ana);
    player_connect_url(&ana, url_of("ana:secret@", witness_server(), "?acl=open"));
    watcher_open(&watcher, direct()); /* the listing shows that it is denied */
    uint64_t id = enter(&ana, "sv-denied", MUTEX, &held);
    assert_int_equal(leave(&ana, "sv-denied", id), 0);
    watcher_start(&watcher);
    assert_false(watcher_await(&watcher, QUIET_MS));
    assert_int_equal(list(&watcher.player, "sv-denied", &any), HF_EDENIED);
    player_close(&ana);
    player_close(&watcher.player);
}

/* ---- Cancel and reconnect ----------------------------------------------------------- */

static void canceled_watch_is_removed_from_the_server(void **state)
{
    struct watcher watcher;
    struct player  a;
    struct request held;

    (void)state;
    assert_int_equal(witness_await_watches(0), 0);
    watcher_open(&watcher, direct());
    for (int turns = 0; turns < 6; turns++) {
        watcher_start(&watcher); /* canceled at different moments */
        for (int i = 0; i < turns && watcher.answers == 0; i++)
            player_turn(&watcher.player, 2);
        if (watcher.answers == 0)
            watcher_cancel(&watcher);
    }
    if (watcher.req.status != HF_ECANCELED) {
        watcher_start(&watcher);
        watcher_cancel(&watcher);
    }
    assert_int_equal(watcher.req.status, HF_ECANCELED);
    for (int i = 0; i < 20; i++)
        player_turn(&watcher.player, 5);
    assert_int_equal(witness_await_watches(0), 0);
    player_connect_url(&a, direct());
    enter(&a, "sv-after", MUTEX, &held);
    watcher_look(&watcher);
    assert_int_equal(watcher.count, 0); /* it starts afresh */
    player_close(&a);
    player_close(&watcher.player);
}

/* Changes without a connection are unknown. */
static void lost_connection_ends_the_watch(void **state)
{
    struct watcher watcher;
    struct player  a;
    struct request held;

    (void)state;
    player_connect_url(&a, direct());
    watcher_open(&watcher, url_of("", zkproxy_address(proxy), ""));
    for (int at_work = 0; at_work < 2; at_work++) {
        uint64_t connections = zkproxy_connections(proxy);
        if (at_work) {
            watcher_start(&watcher);
            assert_false(watcher_await(&watcher, 50));
        }
        zkproxy_drop(proxy);
        if (at_work) {
            assert_true(watcher_await(&watcher, LIMIT_MS));
            assert_int_equal(watcher.req.status, HF_EDOWN);
        }
        uint64_t id = enter(&a, "sv-lost", MUTEX, &held);
        while (zkproxy_connections(proxy) == connections)
            player_turn(&watcher.player, 10);
        watcher_look(&watcher);
        assert_int_equal(watcher.count, 0);
        assert_int_equal(leave(&a, "sv-lost", id), 0);
        watcher_assert_told(&watcher, "sv-lost");
    }
    player_close(&a);
    player_close(&watcher.player);
}

/* ---- Cost --------------------------------------------------------------------------- */

/* If many lines change, all are reported; if one does, only that one. */
static void idle_watch_sends_nothing(void **state)
{
    enum { LINES = 290 };
    struct watcher watcher;
    struct player  a;
    struct request held[LINES], one;
    char           name[LINES][16];

    (void)state;
    player_connect_url(&a, direct());
    watcher_open(&watcher, url_of("", zkproxy_address(proxy), ""));
    for (int i = 0; i < LINES; i++) {
        snprintf(name[i], sizeof name[i], "sv-%d", i);
        enter(&a, name[i], MUTEX, &held[i]);
    }
    assert_int_equal(length(&watcher.player, name[0]),
                     1); /* all events arrive before that */
    watcher_look(&watcher);
    assert_int_equal(watcher.count, 0);
    assert_int_equal(list(&watcher.player, NULL, &one), 0);

    assert_int_equal(leave(&a, name[7], held[7].req.id), 0);
    enter(&a, name[7], MUTEX, &held[7]);
    assert_int_equal(length(&watcher.player, name[0]), 1);
    uint64_t folders = zkproxy_requests(proxy, GET_CHILDREN2);
    uint64_t nodes = zkproxy_requests(proxy, GET_DATA);
    uint64_t up = zkproxy_packets(proxy, ZKPROXY_UP);
    watcher_look(&watcher);
    assert_int_equal(watcher.count, 1);
    assert_string_equal(watcher.name[0], name[7]);
    assert_int_equal(zkproxy_packets(proxy, ZKPROXY_UP), up); /* nothing was sent */
    assert_int_equal(length(&watcher.player, name[7]), 1);
    assert_int_equal(zkproxy_requests(proxy, GET_CHILDREN2), folders + 1);
    assert_int_equal(zkproxy_requests(proxy, GET_DATA), nodes + 1);
    player_close(&a);
    player_close(&watcher.player);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canceled_watch_is_removed_from_the_server),
        cmocka_unit_test(changes_of_every_kind_are_reported),
        cmocka_unit_test(expired_session_is_reported),
        cmocka_unit_test(foreign_nodes_are_not_reported),
        cmocka_unit_test(only_nodes_below_the_chroot_are_reported),
        cmocka_unit_test(unreadable_places_are_reported_every_second),
        cmocka_unit_test(denied_folder_is_not_reported),
        cmocka_unit_test(lost_connection_ends_the_watch),
        cmocka_unit_test(idle_watch_sends_nothing),
    };

    return cmocka_run_group_tests(tests, start_both, stop_both);
}
