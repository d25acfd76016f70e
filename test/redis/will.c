/* will.c - a session is ended by its will: half of it only, on a full server, and while
 * that is a replica. */
/* needs: standalone */
#include "lib/promise.h"
#include "lib/tcpproxy.h"
#include "lib/testament.h"
#include "lib/witness_redis.h"
#include "store/redis/inner.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define TTL_MS  1500
#define LONG_MS 10000 /* a refusal is tried again as long as that */

/* The name of the script by which a session is taken over, before it is ended. */
static const char *hello(void)
{
    static struct hf_redis redis;

    return hf_redis_script_sha(&redis, HF_REDIS_HELLO);
}

/* The owner is alone, and kept out, until the lease is over; then it begins anew. */
static void whoever_executes_gives_up_half_way(void **state)
{
    static struct actor owner;
    struct tcpproxy    *proxy = tcpproxy_start(witness_server(), hello());
    struct testament    will, by_proxy;

    (void)state;
    actor_open(&owner, TTL_MS, "half");
    actor_take(&owner);
    testament_take(owner.client, &will);
    testament_move(&will, witness_url_at(tcpproxy_address(proxy), "ttl=1500ms"),
                   &by_proxy);
    tcpproxy_hold(proxy, TCPPROXY_UP, TCPPROXY_MARKED); /* what follows it */
    assert_int_equal(hf_execute(by_proxy.bytes, by_proxy.size, 300, NULL, 0), HF_EDOWN);
    tcpproxy_stop(proxy); /* and what it held with it */
    int r = hf_check(owner.lock, 300);
    if (r != HF_ELOST && strstr(hf_errmsg(owner.client), "by its will") == NULL)
        fail_msg("%s: %s", hf_errname(r), hf_errmsg(owner.client));
    actor_await(&owner, HF_LOST);
    assert_int_equal(hf_release(owner.lock), HF_ELOST);
    actor_take(&owner);
    testament_execute(&will); /* of the session before */
    assert_int_equal(hf_check(owner.lock, ACTOR_LIMIT_MS), 0);
    actor_give(&owner);
    actor_close(&owner);
    witness_empty();
}

/* ---- Failures that go away -------------------------------------------------------------- */

struct execution {
    struct testament will;
    pthread_t        thread;
    int              result;
};

static void *execute(void *data)
{
    struct execution *execution = data;

    execution->result =
        hf_execute(execution->will.bytes, execution->will.size, ACTOR_LIMIT_MS, NULL, 0);
    return NULL;
}

static void await_tries(struct tcpproxy *proxy, unsigned tries)
{
    hf_time end = hf_now() + ACTOR_LIMIT_MS / 2 * HF_MS;

    while (tcpproxy_connections(proxy) < tries && hf_now() < end)
        poll(NULL, 0, 5);
    assert_true(tcpproxy_connections(proxy) >= tries);
}

/* Executed while something is wrong with the server, which goes away. */
static void survives(const char *name, const char *wrong, const char *right)
{
    static struct actor     owner;
    static struct execution execution;
    struct tcpproxy        *proxy = tcpproxy_start(witness_server(), NULL);
    struct testament        will;

    actor_open(&owner, LONG_MS, name);
    actor_take(&owner);
    testament_take(owner.client, &will);
    testament_move(&will, witness_url_at(tcpproxy_address(proxy), "ttl=10s"),
                   &execution.will);
    redis_do("%s", wrong);
    assert_int_equal(pthread_create(&execution.thread, NULL, execute, &execution), 0);
    await_tries(proxy, 2);
    redis_do("%s", right);
    pthread_join(execution.thread, NULL);
    assert_int_equal(execution.result, 0);
    (void)hf_release(owner.lock); /* it lives: after lost data it may be back */
    actor_close(&owner);
    tcpproxy_stop(proxy);
    witness_empty();
}

static void a_replica_may_become_a_master(void **state)
{
    char wrong[64];

    (void)state;
    snprintf(wrong, sizeof wrong, "REPLICAOF 127.0.0.1 %s",
             strchr(witness_server(), ':') + 1);
    survives("replica", wrong,
             "REPLICAOF NO ONE"); /* its own: it never hears of any data */
}

/* Nothing of it takes memory. */
static void a_full_server_does_it_all_the_same(void **state)
{
    static struct actor owner;
    struct testament    will;

    (void)state;
    actor_open(&owner, TTL_MS, "full");
    actor_take(&owner);
    testament_take(owner.client, &will);
    redis_do("CONFIG SET maxmemory 1");
    int r = hf_execute(will.bytes, will.size, 0, NULL, 0);
    redis_do("CONFIG SET maxmemory 0");
    assert_int_equal(r, 0);
    actor_await(&owner, HF_LOST);
    assert_int_equal(hf_release(owner.lock), HF_ELOST);
    actor_close(&owner);
    witness_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_executes_gives_up_half_way),
        cmocka_unit_test(a_full_server_does_it_all_the_same),
        cmocka_unit_test(a_replica_may_become_a_master),
    };

    witness_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
