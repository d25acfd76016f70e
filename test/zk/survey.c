/* survey.c - SURVEY as only ZooKeeper has it: what other programs keep there, nodes that
 * are hidden, connections that break, and what it costs the server.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/eye.h"
#include "lib/witness.h"
#include "lib/zkproxy.h"

#include <stdio.h>
#include <string.h>

#define QUIET_MS 300 /* in which nothing is told */

enum { GET_DATA = 4, GET_CHILDREN2 = 12, ADD_WATCH = 106 };

static struct zkproxy *proxy;
static struct zkraw    other; /* somebody else's session */

/* Players that nobody drives for a while are not to lose what they hold. */
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

/* ---- What is told --------------------------------------------------------------------- */

static void lines_of_every_kind(void **state)
{
    static const char *const styles[] = { "", "?style=kazoo" };
    struct eye               eye;
    struct player            a, b;
    struct ask               one, two, half, sole;

    (void)state;
    eye_open(&eye, direct());
    for (int i = 0; i < 2; i++) {
        eye_player(&a, url_of("", witness_server(), styles[i]));
        eye_player(&b, direct());
        enter(&a, "sv-one", MUTEX, &one);
        eye_assert_told(&eye, "sv-one");
        uint64_t id = enter(&b, "sv-one", MUTEX, &two);
        eye_assert_told(&eye, "sv-one");
        assert_int_equal(leave(&b, "sv-one", id), 0);
        id = enter(&b, "sv-wr%te", WRITER, &two); /* a name that is no path */
        enter(&a, "sv-sem", semaphore(2, 1), &half);
        enter(&a, "sv-claim", CLAIM, &sole);
        eye_assert_told(&eye, "sv-one sv-wr%te sv-sem sv-claim");
        assert_int_equal(amend(&b, "sv-wr%te", id, READER, &two), 0);
        eye_assert_told(&eye, "sv-wr%te");
        assert_int_equal(take_away(&b, "sv-claim", place_of(&sole)), 0);
        eye_assert_told(&eye, "sv-claim");
        player_close(&a); /* nobody waits for what it holds */
        eye_assert_told(&eye, "sv-one sv-sem");
        player_close(&b);
        eye_assert_told(&eye, "sv-wr%te");
    }
    player_close(&eye.player);
}

/* A session that ends by itself. */
static void a_death_that_nobody_waits_for(void **state)
{
    struct eye    eye;
    struct player a;
    struct ask    held;

    (void)state;
    eye_open(&eye, direct());
    eye_player(&a, url_of("", zkproxy_address(proxy), "?session=2s"));
    enter(&a, "sv-dies", MUTEX, &held);
    eye_assert_told(&eye, "sv-dies");
    zkproxy_freeze(proxy, ZKPROXY_BOTH);
    eye_look(&eye);
    assert_int_equal(eye.count, 1);
    assert_string_equal(eye.name[0], "sv-dies");
    assert_int_equal(witness_count("/sv-dies"), 0);
    zkproxy_thaw(proxy);
    player_close(&a);
    player_close(&eye.player);
}

/* What is no place in a line is not told, and does no harm if it is listed. */
static void what_other_programs_keep(void **state)
{
    static const char *const paths[] = {
        "/sv-app",           "/sv-app/config",
        "/sv-app/leases",    "/sv-app/leases/lock-0000000001",
        "/zookeeper/sv-app", "/zookeeper/sv-app/lock-0000000001",
        "/sv%app",           "/sv%app/lock-0000000001",
        "/sv-bad",
    };
    enum { PATHS = sizeof paths / sizeof *paths };
    struct eye eye;
    struct ask any;

    (void)state;
    eye_open(&eye, direct());
    for (size_t i = 0; i < PATHS; i++)
        assert_int_equal(witness_create_in(&other, paths[i], "x", WITNESS_PLAIN), 0);
    eye_start(&eye);
    assert_false(eye_await(&eye, QUIET_MS));
    assert_int_equal(list(&eye.player, "sv-app", &any), 0);
    assert_int_equal(any.count, 0);
    assert_int_equal(list(&eye.player, "sv-app/leases", &any), 0);
    assert_int_equal(list(&eye.player, "zookeeper", &any), 0);
    for (size_t i = PATHS; i-- > 0;)
        assert_int_equal(witness_delete_in(&other, paths[i]), 0);
    assert_false(eye_await(&eye, QUIET_MS));
    eye_cancel(&eye);
    player_close(&eye.player);
}

/* Only what is below the chroot, though its name be the beginning of another's. */
static void a_chroot(void **state)
{
    struct eye    eye;
    struct player in, out;
    struct ask    mine, others;

    (void)state;
    assert_int_equal(witness_create("/sv-root"), 0);
    assert_int_equal(witness_create("/sv-root2"), 0);
    eye_open(&eye, url_of("", witness_server(), "/sv-root"));
    eye_player(&in, url_of("", witness_server(), "/sv-root"));
    eye_player(&out, url_of("", witness_server(), "/sv-root2"));
    enter(&out, "sv-out", MUTEX, &others);
    enter(&in, "sv-in", MUTEX, &mine);
    eye_look(&eye);
    assert_int_equal(eye.count, 1);
    assert_string_equal(eye.name[0], "sv-in");
    player_close(&in);
    player_close(&out);
    player_close(&eye.player);
}

/* ---- What may not be read -------------------------------------------------------------- */

static void hidden_places_and_folders(void **state)
{
    struct eye    eye;
    struct player ana;
    struct ask    open, shut, all;

    (void)state;
    assert_int_equal(witness_create("/sv-open"), 0); /* a folder for everybody */
    eye_player(&ana, url_of("ana:secret@", witness_server(), ""));
    enter(&ana, "sv-shut", MUTEX, &shut);
    eye_open(&eye, direct());
    uint64_t id = enter(&ana, "sv-open", MUTEX, &open);
    assert_int_equal(list(&eye.player, NULL, &all), 0); /* or a minute later */
    eye_look(&eye);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(eye.count, 1);
        assert_string_equal(eye.name[0], "sv-open"); /* never the other */
        assert_int_equal(length(&eye.player, "sv-open"), 1);
        eye_look(&eye);
    }
    assert_int_equal(leave(&ana, "sv-shut", shut.req.id), 0);
    assert_int_equal(leave(&ana, "sv-open", id), 0);
    eye_look(&eye);
    assert_int_equal(length(&eye.player, "sv-open"), 0);
    eye_start(&eye); /* from now on there is nothing to ask for every second */
    assert_false(eye_await(&eye, 1500));
    player_close(&ana);
    player_close(&eye.player);
}

/* A folder that may not be listed, with places that may be heard of. */
static void a_folder_that_is_denied(void **state)
{
    struct eye    eye;
    struct player ana;
    struct ask    held, any;

    (void)state;
    eye_player(&ana, url_of("ana:secret@", witness_server(), ""));
    enter(&ana, "sv-denied", MUTEX, &held);
    player_close(&ana);
    eye_player(&ana, url_of("ana:secret@", witness_server(), "?acl=open"));
    eye_open(&eye, direct()); /* with the listing it is known */
    uint64_t id = enter(&ana, "sv-denied", MUTEX, &held);
    assert_int_equal(leave(&ana, "sv-denied", id), 0);
    eye_start(&eye);
    assert_false(eye_await(&eye, QUIET_MS));
    assert_int_equal(list(&eye.player, "sv-denied", &any), HF_EDENIED);
    player_close(&ana);
    player_close(&eye.player);
}

/* ---- Ends ------------------------------------------------------------------------------- */

static void a_canceled_one_leaves_no_watch(void **state)
{
    struct eye    eye;
    struct player a;
    struct ask    held;

    (void)state;
    assert_int_equal(witness_await_watches(0), 0);
    eye_open(&eye, direct());
    for (int turns = 0; turns < 6; turns++) {
        eye_start(&eye); /* begun at different moments */
        for (int i = 0; i < turns && eye.answers == 0; i++)
            player_turn(&eye.player, 2);
        if (eye.answers == 0)
            eye_cancel(&eye);
    }
    if (eye.req.status != HF_ECANCELED) {
        eye_start(&eye);
        eye_cancel(&eye);
    }
    assert_int_equal(eye.req.status, HF_ECANCELED);
    for (int i = 0; i < 20; i++)
        player_turn(&eye.player, 5);
    assert_int_equal(witness_await_watches(0), 0);
    eye_player(&a, direct());
    enter(&a, "sv-after", MUTEX, &held);
    eye_look(&eye);
    assert_int_equal(eye.count, 0); /* it begins anew */
    player_close(&a);
    player_close(&eye.player);
}

/* Nobody knows what happened while there was no connection. */
static void a_lost_connection(void **state)
{
    struct eye    eye;
    struct player a;
    struct ask    held;

    (void)state;
    eye_player(&a, direct());
    eye_open(&eye, url_of("", zkproxy_address(proxy), ""));
    for (int at_work = 0; at_work < 2; at_work++) {
        uint64_t connections = zkproxy_connections(proxy);
        if (at_work) {
            eye_start(&eye);
            assert_false(eye_await(&eye, 50));
        }
        zkproxy_drop(proxy);
        if (at_work) {
            assert_true(eye_await(&eye, LIMIT_MS));
            assert_int_equal(eye.req.status, HF_EDOWN);
        }
        uint64_t id = enter(&a, "sv-lost", MUTEX, &held);
        while (zkproxy_connections(proxy) == connections)
            player_turn(&eye.player, 10);
        eye_look(&eye);
        assert_int_equal(eye.count, 0);
        assert_int_equal(leave(&a, "sv-lost", id), 0);
        eye_assert_told(&eye, "sv-lost");
    }
    player_close(&a);
    player_close(&eye.player);
}

/* ---- How much --------------------------------------------------------------------------- */

/* Of many lines all are looked at; of one that changed, only that is read. */
static void what_it_costs(void **state)
{
    enum { LINES = 290 };
    struct eye    eye;
    struct player a;
    struct ask    held[LINES], one;
    char          name[LINES][16];

    (void)state;
    eye_player(&a, direct());
    eye_open(&eye, url_of("", zkproxy_address(proxy), ""));
    for (int i = 0; i < LINES; i++) {
        snprintf(name[i], sizeof name[i], "sv-%d", i);
        enter(&a, name[i], MUTEX, &held[i]);
    }
    assert_int_equal(length(&eye.player, name[0]), 1); /* all events come before that */
    eye_look(&eye);
    assert_int_equal(eye.count, 0);
    assert_int_equal(list(&eye.player, NULL, &one), 0);

    assert_int_equal(leave(&a, name[7], held[7].req.id), 0);
    enter(&a, name[7], MUTEX, &held[7]);
    assert_int_equal(length(&eye.player, name[0]), 1);
    uint64_t folders = zkproxy_requests(proxy, GET_CHILDREN2);
    uint64_t nodes = zkproxy_requests(proxy, GET_DATA);
    uint64_t up = zkproxy_packets(proxy, ZKPROXY_UP);
    eye_look(&eye);
    assert_int_equal(eye.count, 1);
    assert_string_equal(eye.name[0], name[7]);
    assert_int_equal(zkproxy_packets(proxy, ZKPROXY_UP), up); /* it costs nothing */
    assert_int_equal(length(&eye.player, name[7]), 1);
    assert_int_equal(zkproxy_requests(proxy, GET_CHILDREN2), folders + 1);
    assert_int_equal(zkproxy_requests(proxy, GET_DATA), nodes + 1);
    player_close(&a);
    player_close(&eye.player);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_canceled_one_leaves_no_watch),
        cmocka_unit_test(lines_of_every_kind),
        cmocka_unit_test(a_death_that_nobody_waits_for),
        cmocka_unit_test(what_other_programs_keep),
        cmocka_unit_test(a_chroot),
        cmocka_unit_test(hidden_places_and_folders),
        cmocka_unit_test(a_folder_that_is_denied),
        cmocka_unit_test(a_lost_connection),
        cmocka_unit_test(what_it_costs),
    };

    proxy = zkproxy_start(witness_server());
    assert_true(zkraw_open(&other, witness_server(), 30000));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    zkraw_close(&other);
    zkproxy_stop(proxy);
    return failed;
}
