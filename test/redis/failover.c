/* failover.c - a replica is promoted by hand, with or without the latest writes.
 *
 * Never two holders; the holder reclaims the lock and keeps it; tokens rise.  With replicas=1
 * nobody holds a lock whose grant no replica has, and no break succeeds that no replica has.
 */
/* needs: pair */
#include "lib/promise.h"
#include "lib/server_redis.h"
#include "lib/tcpproxy.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TTL_MS 1000

/* All clients connect through a proxy, as through an address that moves with the master. */
static struct tcpproxy *proxy;
static uint64_t         highest;

static void check_token(uint64_t token)
{
    assert_true(token > highest);
    highest = token;
}

static void until_replica_says(const char *text, const char *command)
{
    hf_time end = hf_now() + ACTOR_LIMIT_MS * HF_MS;

    while (strstr(redis_ask_of(2, "%s", command), text) == NULL) {
        if (hf_now() > end)
            fail_msg("the replica does not say %s", text);
        poll(NULL, 0, 5);
    }
}

/* Wait until it replicates: it is reported as up before that, and even WAIT may count it. */
static void await_replica(void)
{
    static unsigned count;
    char            text[32];

    until_replica_says("master_link_status:up", "INFO replication");
    snprintf(text, sizeof text, "probe-%u", count++);
    redis_do("SET probe %s", text);
    until_replica_says(text, "GET probe");
}

/* Server 1 leads, empty, and server 2 follows. */
static int set_up(void **state)
{
    const char *address = server_address();

    (void)state;
    actors_write();
    server_tell("thaw 2");
    server_tell("restart 1");
    redis_ask_of(2, "REPLICAOF NO ONE"); /* else it would pause before it retries */
    redis_ask_of(2, "REPLICAOF 127.0.0.1 %s", strchr(address, ':') + 1);
    await_replica();
    tcpproxy_aim(proxy, address);
    tcpproxy_drop(proxy, TCPPROXY_ALL);
    return 0;
}

/* Stop replication: later writes will be lost. */
static void cut_off_replica(void)
{
    redis_ask_of(2, "REPLICAOF NO ONE");
}

static void fail_over(void)
{
    server_tell("kill 1");
    tcpproxy_aim(proxy, redis_other("REPLICA"));
    tcpproxy_drop(proxy, TCPPROXY_ALL);
}

/* ---- Lost writes ------------------------------------------------------------------------ */

struct stage {
    struct actor actor[2]; /* holder and waiter */
    struct rival rival;
};

static void stage_open(struct stage *stage, const char *name, bool hold_first)
{
    for (size_t i = 0; i < 2; i++)
        actor_open_at(&stage->actor[i], tcpproxy_address(proxy), TTL_MS, name);
    if (hold_first) {
        check_token(actor_take(&stage->actor[0]));
        poll(NULL, 0, 50);
        cut_off_replica();
    } else {
        check_token(actor_take(&stage->actor[1])); /* replicated */
        actor_give(&stage->actor[1]);
        poll(NULL, 0, 50);
        cut_off_replica();
        check_token(actor_take(&stage->actor[0]));
    }
    actor_queue(&stage->actor[1], 1);
    rival_start_at(&stage->rival, tcpproxy_address(proxy), TTL_MS, name, stage->actor, 2);
    poll(NULL, 0, 50);
}

static void stage_close(struct stage *stage)
{
    actors_watch(stage->actor, 2, TTL_MS + 400);
    actor_give(&stage->actor[0]); /* it is kept */
    actor_await(&stage->actor[1], HF_HELD);
    check_token(hf_token(stage->actor[1].lock));
    actor_give(&stage->actor[1]);
    rival_stop(&stage->rival);
    if (stage->rival.last > highest)
        highest = stage->rival.last;
    for (size_t i = 0; i < 2; i++)
        actor_close(&stage->actor[i]);
}

static void a_lost_waiter_reclaims_its_place(void **state)
{
    static struct stage stage;

    (void)state;
    stage_open(&stage, "wait-lost", true);
    fail_over();
    stage_close(&stage);
}

static void a_lost_grant_is_reclaimed(void **state)
{
    static struct stage stage;

    (void)state;
    stage_open(&stage, "grant-lost", false);
    fail_over();
    stage_close(&stage);
}

/* The replica still has the lock of a client that released it and is gone. */
static void a_lost_release_does_not_block(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open_at(&a, tcpproxy_address(proxy), TTL_MS, "release-lost");
    actor_open_at(&b, tcpproxy_address(proxy), TTL_MS, "release-lost");
    check_token(actor_take(&a));
    poll(NULL, 0, 50);
    cut_off_replica();
    actor_give(&a);
    check_token(actor_take(&b));
    fail_over();
    poll(NULL, 0, 2 * TTL_MS);
    assert_true(actor_has(&b));
    actor_give(&b);
    check_token(actor_take(&a));
    actor_give(&a);
    actor_close(&a);
    actor_close(&b);
}

/* The new master has no data at all: a newcomer must not be granted the lock at once. */
static void a_newcomer_waits_on_an_empty_new_master(void **state)
{
    static struct actor holder, late;

    (void)state;
    actor_open_at(&holder, tcpproxy_address(proxy), TTL_MS, "newcomer");
    cut_off_replica(); /* before anything was written */
    check_token(actor_take(&holder));
    tcpproxy_refuse(proxy, true);
    fail_over();
    actor_open_at(&late, redis_other("REPLICA"), TTL_MS, "newcomer");
    hf_time end = hf_now() + TTL_MS / 2 * HF_MS;
    while (hf_now() < end && actor_acquire(&late, 10) != 0)
        actors_watch(&holder, 1, 0);
    tcpproxy_refuse(proxy, false);
    poll(NULL, 0, TTL_MS);
    assert_true(actor_has(&holder));
    assert_int_equal(actor_acquire(&late, 0), HF_EBUSY);
    actor_give(&holder);
    check_token(actor_take(&late));
    actor_give(&late);
    actor_close(&holder);
    actor_close(&late);
}

/* ---- replicas=1 --------------------------------------------------------------------------- */

static void open_careful(struct actor *actor, const char *name)
{
    char url[128];

    snprintf(url, sizeof url, "redis://%s?ttl=%dms&replicas=1", tcpproxy_address(proxy),
             TTL_MS);
    actor_open_url(actor, url, name);
}

static void is_undone(struct actor *actor, const char *name)
{
    hf_time start = hf_now();
    int     r = actor_acquire(actor, 5 * TTL_MS);
    hf_time took = hf_now() - start;

    print_message("# %s after %d ms: %s\n", hf_errname(r), (int)(took / HF_MS),
                  hf_errmsg(actor->client));
    assert_int_equal(r, HF_ESTORE);
    assert_non_null(strstr(hf_errmsg(actor->client), "0 of 1 replicas"));
    assert_true(took < 5 * TTL_MS * HF_MS);
    server_await(name, 0, 0);
}

static void without_a_replica_nothing_is_granted(void **state)
{
    static struct actor a;

    (void)state;
    open_careful(&a, "none");
    check_token(actor_take(&a));
    actor_give(&a);
    cut_off_replica();
    is_undone(&a, "none");
    is_undone(&a, "none");
    redis_ask_of(2, "REPLICAOF 127.0.0.1 %s", strchr(server_address(), ':') + 1);
    await_replica();
    check_token(actor_take(&a));
    actor_give(&a);
    actor_close(&a);
}

static void a_stopped_replica_fails_the_acquire(void **state)
{
    static struct actor a, b;

    (void)state;
    open_careful(&a, "stopped");
    open_careful(&b, "stopped");
    check_token(actor_take(&a));
    actor_start(&b);
    server_await("stopped", 1, 1);
    server_tell("freeze 2");
    actor_give(&a);
    /* Granted by the server, but no replica has it: it must not be held. */
    actor_await(&b, HF_IDLE);
    assert_true(b.held == 0);
    assert_int_equal(hf_why(b.lock), HF_ESTORE);
    server_await("stopped", 0, 0);
    is_undone(&a, "stopped");
    server_tell("thaw 2");
    check_token(actor_take(&b));
    actor_give(&b);
    actor_close(&a);
    actor_close(&b);
}

/* A break is there at once; if no replica has it, a failover may undo it. */
static void a_break_counts_once_a_replica_has_it(void **state)
{
    static struct actor a, b;

    (void)state;
    open_careful(&a, "unheard");
    open_careful(&b, "unheard");
    check_token(actor_take(&a));
    assert_int_equal(hf_break(b.client, "unheard", hf_token(a.lock), -1), 0);
    assert_int_equal(actor_release(&a), HF_ELOST);
    check_token(actor_take(&a));
    cut_off_replica();
    assert_int_equal(hf_break(b.client, "unheard", hf_token(a.lock), -1), HF_ESTORE);
    print_message("# %s\n", hf_errmsg(b.client));
    assert_non_null(strstr(hf_errmsg(b.client), "0 of 1 replicas have the break"));
    assert_int_equal(actor_release(&a), HF_ELOST);
    server_await("unheard", 0, 0);
    actor_close(&a);
    actor_close(&b);
}

/* Interrupt a WAIT, as a server that becomes a replica does.  False: there is none. */
static bool unblock_waiting(void)
{
    const char *list = redis_ask("CLIENT LIST"), *at = strstr(list, " cmd=wait");

    while (at != NULL && at > list && strncmp(at, "\nid=", 4) != 0)
        at--;
    return at != NULL && strncmp(at, "\nid=", 4) == 0 &&
           redis_number("CLIENT UNBLOCK %ld ERROR", strtol(at + 4, NULL, 10)) == 1;
}

/* The server steps down while a client is in WAIT. */
static void an_interrupted_wait_is_retried(void **state)
{
    static struct actor a, b;
    char                url[128];
    hf_time             end = hf_now() + ACTOR_LIMIT_MS * HF_MS;

    (void)state;
    open_careful(&a, "broken");
    check_token(actor_take(&a));
    actor_give(&a);
    snprintf(url, sizeof url, "redis://%s?ttl=120s&replicas=1", tcpproxy_address(proxy));
    actor_open_url(&b, url, "broken");
    server_tell("freeze 2");
    actor_start(&b);
    while (!unblock_waiting()) {
        assert_true(hf_now() < end);
        poll(NULL, 0, 5);
    }
    server_tell("thaw 2");
    actor_await(&b, HF_HELD);
    check_token(hf_token(b.lock));
    actor_give(&b);
    actor_close(&a);
    actor_close(&b);
}

/* Replicated data need not be reclaimed. */
static void a_replicated_grant_survives_without_reclaim(void **state)
{
    static struct actor a, b;

    (void)state;
    open_careful(&a, "heard");
    check_token(actor_take(&a));
    fail_over();
    redis_ask_of(2, "REPLICAOF NO ONE");
    actor_open_at(&b, redis_other("REPLICA"), TTL_MS, "heard");
    assert_int_equal(actor_acquire(&b, 0), HF_EBUSY);
    poll(NULL, 0, 2 * TTL_MS);
    assert_true(actor_has(&a));
    actor_give(&a);
    check_token(actor_take(&b));
    actor_give(&b);
    actor_close(&a);
    actor_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_lost_waiter_reclaims_its_place, set_up),
        cmocka_unit_test_setup(a_lost_grant_is_reclaimed, set_up),
        cmocka_unit_test_setup(a_lost_release_does_not_block, set_up),
        cmocka_unit_test_setup(a_newcomer_waits_on_an_empty_new_master, set_up),
        cmocka_unit_test_setup(without_a_replica_nothing_is_granted, set_up),
        cmocka_unit_test_setup(a_stopped_replica_fails_the_acquire, set_up),
        cmocka_unit_test_setup(a_break_counts_once_a_replica_has_it, set_up),
        cmocka_unit_test_setup(an_interrupted_wait_is_retried, set_up),
        cmocka_unit_test_setup(a_replicated_grant_survives_without_reclaim, set_up),
    };

    server_find();
    proxy = tcpproxy_start(server_address(), "SUBSCRIBE");
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    tcpproxy_stop(proxy);
    return status;
}
