/* session_key.c - a session is ended by its session key: only half-way, on a full server, and
 * while the server is a replica. */
/* needs: standalone */
#include "lib/promise.h"
#include "lib/server_redis.h"
#include "lib/session_keys.h"
#include "lib/tcpproxy.h"
#include "store/redis/inner.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define TTL_MS  1500
#define LONG_MS 10000 /* how long a refusal is retried */

/* The SHA1 of hello, which takes the session over before it is ended. */
static const char *hello(void)
{
    static struct hf_redis redis;

    return hf_redis_script_sha(&redis, HF_REDIS_HELLO);
}

/* The owner is shut out until its lease is over; then it begins a new session. */
static void ending_by_key_stops_half_way(void **state)
{
    static struct actor owner;
    struct tcpproxy    *proxy = tcpproxy_start(server_address(), hello());
    struct session_key  key, by_proxy;

    (void)state;
    actor_open(&owner, TTL_MS, "half");
    actor_take(&owner);
    session_key_take(owner.client, &key);
    session_key_move(&key, server_url_at(tcpproxy_address(proxy), "ttl=1500ms"),
                     &by_proxy);
    tcpproxy_hold(proxy, TCPPROXY_UP, TCPPROXY_MARKED); /* what follows it */
    assert_int_equal(hf_end_session(by_proxy.bytes, by_proxy.size, 300, NULL, 0),
                     HF_EDOWN);
    tcpproxy_stop(proxy); /* and what it held with it */
    int r = hf_check(owner.lock, 300);
    if (r != HF_ELOST && strstr(hf_errmsg(owner.client), "by its session key") == NULL)
        fail_msg("%s: %s", hf_errname(r), hf_errmsg(owner.client));
    actor_await(&owner, HF_LOST);
    assert_int_equal(actor_release(&owner), HF_ELOST);
    actor_take(&owner);
    session_key_end(&key); /* of the previous session */
    assert_int_equal(hf_check(owner.lock, ACTOR_LIMIT_MS), 0);
    actor_give(&owner);
    actor_close(&owner);
    server_expect_empty();
}

/* ---- Failures that go away -------------------------------------------------------------- */

struct execution {
    struct session_key key;
    pthread_t          thread;
    int                result;
};

static void *execute(void *data)
{
    struct execution *execution = data;

    execution->result = hf_end_session(execution->key.bytes, execution->key.size,
                                       ACTOR_LIMIT_MS, NULL, 0);
    return NULL;
}

static void await_tries(struct tcpproxy *proxy, unsigned tries)
{
    hf_time end = hf_now() + ACTOR_LIMIT_MS / 2 * HF_MS;

    while (tcpproxy_connections(proxy) < tries && hf_now() < end)
        poll(NULL, 0, 5);
    assert_true(tcpproxy_connections(proxy) >= tries);
}

/* End the session while something is wrong with the server, and then repair that. */
static void survives(const char *name, const char *wrong, const char *right)
{
    static struct actor     owner;
    static struct execution execution;
    struct tcpproxy        *proxy = tcpproxy_start(server_address(), NULL);
    struct session_key      key;

    actor_open(&owner, LONG_MS, name);
    actor_take(&owner);
    session_key_take(owner.client, &key);
    session_key_move(&key, server_url_at(tcpproxy_address(proxy), "ttl=10s"),
                     &execution.key);
    redis_do("%s", wrong);
    assert_int_equal(pthread_create(&execution.thread, NULL, execute, &execution), 0);
    await_tries(proxy, 2);
    redis_do("%s", right);
    pthread_join(execution.thread, NULL);
    assert_int_equal(execution.result, 0);
    (void)actor_release(&owner); /* it lives, and may have reclaimed it */
    actor_close(&owner);
    tcpproxy_stop(proxy);
    server_expect_empty();
}

static void ending_by_key_waits_for_a_replica_to_be_promoted(void **state)
{
    char wrong[64];

    (void)state;
    snprintf(wrong, sizeof wrong, "REPLICAOF 127.0.0.1 %s",
             strchr(server_address(), ':') + 1);
    survives("replica", wrong, "REPLICAOF NO ONE"); /* its master never sends any data */
}

/* It takes no memory. */
static void ending_by_key_works_on_a_full_server(void **state)
{
    static struct actor owner;
    struct session_key  key;

    (void)state;
    actor_open(&owner, TTL_MS, "full");
    actor_take(&owner);
    session_key_take(owner.client, &key);
    redis_do("CONFIG SET maxmemory 1");
    int r = hf_end_session(key.bytes, key.size, 0, NULL, 0);
    redis_do("CONFIG SET maxmemory 0");
    assert_int_equal(r, 0);
    actor_await(&owner, HF_LOST);
    assert_int_equal(actor_release(&owner), HF_ELOST);
    actor_close(&owner);
    server_expect_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ending_by_key_stops_half_way),
        cmocka_unit_test(ending_by_key_works_on_a_full_server),
        cmocka_unit_test(ending_by_key_waits_for_a_replica_to_be_promoted),
    };

    server_find();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
