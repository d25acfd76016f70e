/* session_key.c - a session key ends its session, whatever happens to the connection.
 *
 * S9 is in test/promise.  This test has three servers: the session's owner uses the
 * first, a waiter for its lock the second, and the session is ended at any of them,
 * through a proxy that breaks.
 */
/* needs: ensemble --size 3 --tick 200 --tls none --read-only --config maxSessionTimeout=60000 */
#include "lib/clients.h"
#include "lib/session_keys.h"
#include "lib/witness.h"
#include "lib/zkproxy.h"

#include "client/end/end.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_MS 30000
#define SESSION  "?session=60s" /* no session expires during the test */

enum { CLOSE = -11 };

static struct zkproxy *proxy; /* to the third server */
static char            server[3][64];

/* ---- An owner, and a waiter --------------------------------------------------------- */

static struct actor owner, waiter;
static uint8_t      own[HF_SESSION_KEY_MAX]; /* the owner's session key */
static size_t       own_size;

static void keep_key(void)
{
    uint8_t               bytes[512];
    struct hf_session_key key;
    char                  errmsg[HF_ERRMSG_MAX];
    int                   r = hf_session_key(owner.client, bytes, sizeof bytes);

    if (r <= 0)
        fail_msg("will: %s", hf_errmsg(owner.client));
    assert_int_equal(hf_session_key_read(bytes, (size_t)r, &key, errmsg), 0);
    memcpy(own, key.own, key.own_size);
    own_size = key.own_size;
}

static void open_at(struct actor *actor, const char *address, const char *name)
{
    char text[96];

    snprintf(text, sizeof text, "%s" SESSION, address);
    actor_open_zk(actor, text, name);
}

static void begin_scene(const char *name)
{
    open_at(&owner, server[0], name);
    open_at(&waiter, server[1], name);
    actor_take(&owner);
    actor_queue_zk(&waiter, 2);
    keep_key();
}

static void end_scene(void)
{
    actor_await(&waiter, HF_HELD);
    actor_await(&owner, HF_LOST);
    assert_int_equal(hf_release(owner.lock), HF_ELOST);
    actor_give(&waiter);
    actor_close(&owner);
    actor_close(&waiter);
}

static void is_still_held(void)
{
    assert_int_equal(hf_check(owner.lock, LIMIT_MS), 0);
    assert_int_equal(hf_state(waiter.lock), HF_WAITING);
}

/* The owner's session key, for use at this server. */
static struct session_key key_for(const char *scheme, const char *address)
{
    static char        url[256];
    struct session_key key;

    snprintf(url, sizeof url, "%s://%s", scheme, address);
    promise_use(url);
    session_key_pack(&key, own, own_size);
    return key;
}

static struct session_key key_at(const char *address)
{
    char text[96];

    snprintf(text, sizeof text, "%.60s" SESSION, address);
    return key_for("zk", text);
}

/* ---- Any server --------------------------------------------------------------------- */

static void any_server_ends_the_session(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        begin_scene("any");
        struct session_key key = key_at(server[i]);
        hf_time            start = hf_now();
        session_key_end(&key);
        hf_time done = hf_now();
        end_scene();
        print_message(
            "# server %d: executed in %.1f ms, granted after %.1f ms, its owner "
            "knew after %.1f ms\n",
            i + 1, (double)(done - start) / 1e6, (double)(waiter.held - start) / 1e6,
            (double)(owner.lost - start) / 1e6);
    }
}

/* The session key was written on an earlier connection. */
static void key_works_after_the_owner_reconnected(void **state)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;

    (void)state;
    open_at(&owner, zkproxy_address(proxy), "reconnected");
    open_at(&waiter, server[1], "reconnected");
    actor_take(&owner);
    actor_queue_zk(&waiter, 2);
    keep_key();
    uint64_t connections = zkproxy_connections(proxy);
    zkproxy_drop(proxy);
    while (zkproxy_connections(proxy) == connections && hf_now() < end)
        poll(NULL, 0, 1);
    is_still_held();
    struct session_key key = key_at(server[0]);
    session_key_end(&key);
    end_scene();
}

static void key_works_over_tls(void **state)
{
    char text[200];

    (void)state;
    begin_scene("tls");
    snprintf(text, sizeof text, "%s?ca=%s", getenv("HF_ZKS"), getenv("HF_ZK_CA"));
    struct session_key key = key_for("zks", text);
    session_key_end(&key);
    end_scene();
}

/* ---- Answers that prove nothing ----------------------------------------------------- */

static void answer_to_close_is_lost(void **state)
{
    (void)state;
    begin_scene("answer");
    struct session_key key = key_at(zkproxy_address(proxy));
    uint64_t           closes = zkproxy_requests(proxy, CLOSE);
    uint64_t           greetings = zkproxy_requests(proxy, ZKPROXY_CONNECT);
    zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_DROP_AFTER, CLOSE, 1, 0 });
    session_key_end(&key);
    assert_true(zkproxy_has_struck(proxy));
    assert_int_equal(zkproxy_requests(proxy, CLOSE), closes + 1);
    assert_int_equal(zkproxy_requests(proxy, ZKPROXY_CONNECT), greetings + 2);
    end_scene();
}

static void close_never_arrives(void **state)
{
    (void)state;
    begin_scene("arrives");
    struct session_key key = key_at(zkproxy_address(proxy));
    uint64_t           closes = zkproxy_requests(proxy, CLOSE);
    zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_DROP_BEFORE, CLOSE, 1, 0 });
    session_key_end(&key);
    assert_true(zkproxy_has_struck(proxy));
    assert_int_equal(zkproxy_requests(proxy, CLOSE), closes + 2);
    end_scene();
}

static void silent_server_proves_nothing(void **state)
{
    char error[256] = "";

    (void)state;
    begin_scene("silence");
    struct session_key key = key_at(zkproxy_address(proxy));
    zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_FREEZE_BEFORE, CLOSE, 1, 0 });
    assert_int_equal(hf_end_session(key.bytes, key.size, 500, error, sizeof error),
                     HF_ETIMEOUT);
    assert_true(zkproxy_has_struck(proxy));
    is_still_held();
    zkproxy_thaw(proxy); /* the CLOSE arrives late, and is carried out */
    end_scene();
}

/* It may serve readers, but knows nothing of sessions. */
static void server_without_a_quorum_proves_nothing(void **state)
{
    char error[256] = "";

    (void)state;
    begin_scene("quorum");
    struct session_key key = key_at(server[2]);
    witness_tell("kill 1");
    witness_tell("kill 2");
    hf_time end = hf_now() + LIMIT_MS * HF_MS;
    while (strstr(witness_tell("mode 3"), "read-only") == NULL && hf_now() < end)
        poll(NULL, 0, 10);
    assert_int_equal(hf_end_session(key.bytes, key.size, 1000, error, sizeof error),
                     HF_EDOWN);
    assert_non_null(strstr(error, "quorum"));
    witness_tell("start 1");
    witness_tell("start 2");
    witness_tell("wait");
    is_still_held();
    session_key_end(&key);
    end_scene();
}

/* ---- The right session -------------------------------------------------------------- */

static void dead_session_counts_as_ended(void **state)
{
    (void)state;
    begin_scene("dead");
    struct session_key key = key_at(zkproxy_address(proxy));
    session_key_end(&key);
    end_scene();
    uint64_t closes = zkproxy_requests(proxy, CLOSE);
    session_key_end(&key);
    assert_int_equal(zkproxy_requests(proxy, CLOSE), closes);
}

/* The server answers as if the session were dead.  So nobody can end a session by its id
 * alone; but a caller that gets 0 cannot know better. */
static void wrong_password_ends_nothing(void **state)
{
    (void)state;
    begin_scene("password");
    struct session_key key = key_at(server[0]);
    own[own_size - 1] ^= 1;
    struct session_key wrong = key_at(server[0]);
    session_key_end(&wrong);
    is_still_held();
    session_key_end(&key);
    end_scene();
}

static void wrong_id_is_refused(void **state)
{
    (void)state;
    begin_scene("number");
    struct session_key key = key_at(server[0]);
    memset(own, 0, 8);
    struct session_key wrong = key_at(server[0]);
    session_key_refused(&wrong, HF_EINVAL);
    is_still_held();
    session_key_end(&key);
    end_scene();
}

/* ---- Afterwards --------------------------------------------------------------------- */

/* The store that ended the session does nothing more: above all, it starts no session of
 * its own. */
static void no_session_is_started_afterwards(void **state)
{
    struct hf_store *store;
    char             errmsg[HF_ERRMSG_MAX], rest[80];

    (void)state;
    begin_scene("follows");
    snprintf(rest, sizeof rest, "//%s", zkproxy_address(proxy));
    struct hf_config config = { .url = rest,
                                .scheme = "zk",
                                .rest = rest,
                                .given = rest,
                                .ttl_ms = 60000,
                                .key = own,
                                .key_size = own_size };
    assert_int_equal(hf_store_open(&config, errmsg, &store), 0);
    struct player player = { .store = store };
    hf_time       end = hf_now() + LIMIT_MS * HF_MS;
    while (store->link != HF_LINK_LOST && hf_now() < end)
        player_turn(&player, 10);
    assert_int_equal(store->link, HF_LINK_LOST);
    uint64_t connections = zkproxy_connections(proxy);
    for (int i = 0; i < 10; i++) {
        assert_true(store->wake == HF_NEVER);
        store->impl->process(store, hf_now() + i * HF_SEC, true);
    }
    assert_int_equal(store->link, HF_LINK_LOST);
    store->impl->close(store);
    end_scene();
    assert_int_equal(zkproxy_connections(proxy), connections);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_server_ends_the_session),
        cmocka_unit_test(key_works_after_the_owner_reconnected),
        cmocka_unit_test(key_works_over_tls),
        cmocka_unit_test(answer_to_close_is_lost),
        cmocka_unit_test(close_never_arrives),
        cmocka_unit_test(silent_server_proves_nothing),
        cmocka_unit_test(dead_session_counts_as_ended),
        cmocka_unit_test(wrong_password_ends_nothing),
        cmocka_unit_test(wrong_id_is_refused),
        cmocka_unit_test(no_session_is_started_afterwards),
        cmocka_unit_test(server_without_a_quorum_proves_nothing),
    };

    if (sscanf(witness_server(), "%63[^,],%63[^,],%63[^,]", server[0], server[1],
               server[2]) != 3)
        return 1;
    proxy = zkproxy_start(server[2]);
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    zkproxy_stop(proxy);
    return status;
}
