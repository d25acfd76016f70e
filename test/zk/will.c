/* will.c - a session is ended by its will, whatever happens to the way there.
 *
 * S9 is in test/promise.  Here are three servers: the owner of the session is at the first,
 * who waits for its lock at the second, and the will is executed at any of them, by way of
 * a proxy that breaks.
 */
/* needs: ensemble --size 3 --tick 200 --tls none --read-only --config maxSessionTimeout=60000 */
#include "lib/actor.h"
#include "lib/testament.h"
#include "lib/witness.h"
#include "lib/zkproxy.h"

#include "client/will.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_MS 30000
#define SESSION  "?session=60s" /* nothing here ends because it ran out */

enum { CLOSE = -11 };

static struct zkproxy *proxy; /* to the third server */
static char            server[3][64];

/* ---- An owner, and one who waits for it ------------------------------------------- */

static struct actor owner, waiter;
static uint8_t      own[HF_WILL_MAX]; /* what the owner's store wrote */
static size_t       own_size;

static void keep_will(void)
{
    uint8_t        bytes[512];
    struct hf_will will;
    char           errmsg[HF_ERRMSG_MAX];
    int            r = hf_will(owner.client, bytes, sizeof bytes);

    if (r <= 0)
        fail_msg("will: %s", hf_errmsg(owner.client));
    assert_int_equal(hf_will_read(bytes, (size_t)r, &will, errmsg), 0);
    memcpy(own, will.own, will.own_size);
    own_size = will.own_size;
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
    keep_will();
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

/* The owner's will, to be executed there. */
static struct testament will_for(const char *scheme, const char *address)
{
    static char      url[256];
    struct testament will;

    snprintf(url, sizeof url, "%s://%s", scheme, address);
    promise_use(url);
    testament_pack(&will, own, own_size);
    return will;
}

static struct testament will_at(const char *address)
{
    char text[96];

    snprintf(text, sizeof text, "%.60s" SESSION, address);
    return will_for("zk", text);
}

/* ---- Where it is executed ----------------------------------------------------------- */

static void at_any_server(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        begin_scene("any");
        struct testament will = will_at(server[i]);
        hf_time          start = hf_now();
        testament_execute(&will);
        hf_time done = hf_now();
        end_scene();
        print_message(
            "# server %d: executed in %.1f ms, granted after %.1f ms, its owner "
            "knew after %.1f ms\n",
            i + 1, (double)(done - start) / 1e6, (double)(waiter.held - start) / 1e6,
            (double)(owner.lost - start) / 1e6);
    }
}

/* The will was written while the session was on another connection. */
static void after_the_owner_reconnected(void **state)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;

    (void)state;
    open_at(&owner, zkproxy_address(proxy), "reconnected");
    open_at(&waiter, server[1], "reconnected");
    actor_take(&owner);
    actor_queue_zk(&waiter, 2);
    keep_will();
    uint64_t connections = zkproxy_connections(proxy);
    zkproxy_drop(proxy);
    while (zkproxy_connections(proxy) == connections && hf_now() < end)
        poll(NULL, 0, 1);
    is_still_held();
    struct testament will = will_at(server[0]);
    testament_execute(&will);
    end_scene();
}

static void by_tls(void **state)
{
    char text[200];

    (void)state;
    begin_scene("tls");
    snprintf(text, sizeof text, "%s?ca=%s", getenv("HF_ZKS"), getenv("HF_ZK_CA"));
    struct testament will = will_for("zks", text);
    testament_execute(&will);
    end_scene();
}

/* ---- What is no proof ----------------------------------------------------------------- */

static void the_answer_is_lost(void **state)
{
    (void)state;
    begin_scene("answer");
    struct testament will = will_at(zkproxy_address(proxy));
    uint64_t         closes = zkproxy_requests(proxy, CLOSE);
    uint64_t         greetings = zkproxy_requests(proxy, ZKPROXY_CONNECT);
    zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_DROP_AFTER, CLOSE, 1, 0 });
    testament_execute(&will);
    assert_true(zkproxy_has_struck(proxy));
    assert_int_equal(zkproxy_requests(proxy, CLOSE), closes + 1);
    assert_int_equal(zkproxy_requests(proxy, ZKPROXY_CONNECT), greetings + 2);
    end_scene();
}

static void it_never_arrives(void **state)
{
    (void)state;
    begin_scene("arrives");
    struct testament will = will_at(zkproxy_address(proxy));
    uint64_t         closes = zkproxy_requests(proxy, CLOSE);
    zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_DROP_BEFORE, CLOSE, 1, 0 });
    testament_execute(&will);
    assert_true(zkproxy_has_struck(proxy));
    assert_int_equal(zkproxy_requests(proxy, CLOSE), closes + 2);
    end_scene();
}

static void nobody_answers(void **state)
{
    char error[256] = "";

    (void)state;
    begin_scene("silence");
    struct testament will = will_at(zkproxy_address(proxy));
    zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_FREEZE_BEFORE, CLOSE, 1, 0 });
    assert_int_equal(hf_execute(will.bytes, will.size, 500, error, sizeof error),
                     HF_ETIMEOUT);
    assert_true(zkproxy_has_struck(proxy));
    is_still_held();
    zkproxy_thaw(proxy); /* what was said is heard late, and done */
    end_scene();
}

/* It may let others read, but it knows nothing of sessions. */
static void a_server_without_a_quorum(void **state)
{
    char error[256] = "";

    (void)state;
    begin_scene("quorum");
    struct testament will = will_at(server[2]);
    witness_tell("kill 1");
    witness_tell("kill 2");
    hf_time end = hf_now() + LIMIT_MS * HF_MS;
    while (strstr(witness_tell("mode 3"), "read-only") == NULL && hf_now() < end)
        poll(NULL, 0, 10);
    assert_int_equal(hf_execute(will.bytes, will.size, 1000, error, sizeof error),
                     HF_EDOWN);
    assert_non_null(strstr(error, "quorum"));
    witness_tell("start 1");
    witness_tell("start 2");
    witness_tell("wait");
    is_still_held();
    testament_execute(&will);
    end_scene();
}

/* ---- Which session it ends ------------------------------------------------------------ */

static void one_that_is_dead(void **state)
{
    (void)state;
    begin_scene("dead");
    struct testament will = will_at(zkproxy_address(proxy));
    testament_execute(&will);
    end_scene();
    uint64_t closes = zkproxy_requests(proxy, CLOSE);
    testament_execute(&will);
    assert_int_equal(zkproxy_requests(proxy, CLOSE), closes);
}

/* The server says that there is no such session, as of one that has died.  So nobody ends
 * a session by its number alone; but who is told 0 then cannot know better. */
static void not_without_its_password(void **state)
{
    (void)state;
    begin_scene("password");
    struct testament will = will_at(server[0]);
    own[own_size - 1] ^= 1;
    struct testament wrong = will_at(server[0]);
    testament_execute(&wrong);
    is_still_held();
    testament_execute(&will);
    end_scene();
}

static void not_without_its_number(void **state)
{
    (void)state;
    begin_scene("number");
    struct testament will = will_at(server[0]);
    memset(own, 0, 8);
    struct testament wrong = will_at(server[0]);
    testament_refused(&wrong, HF_EINVAL);
    is_still_held();
    testament_execute(&will);
    end_scene();
}

/* ---- Afterwards ----------------------------------------------------------------------- */

/* The store that did it does nothing more: above all it begins no session of its own. */
static void nothing_follows(void **state)
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
                                .will = own,
                                .will_size = own_size };
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
        cmocka_unit_test(at_any_server),
        cmocka_unit_test(after_the_owner_reconnected),
        cmocka_unit_test(by_tls),
        cmocka_unit_test(the_answer_is_lost),
        cmocka_unit_test(it_never_arrives),
        cmocka_unit_test(nobody_answers),
        cmocka_unit_test(one_that_is_dead),
        cmocka_unit_test(not_without_its_password),
        cmocka_unit_test(not_without_its_number),
        cmocka_unit_test(nothing_follows),
        cmocka_unit_test(a_server_without_a_quorum),
    };

    if (sscanf(witness_server(), "%63[^,],%63[^,],%63[^,]", server[0], server[1],
               server[2]) != 3)
        return 1;
    proxy = zkproxy_start(server[2]);
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    zkproxy_stop(proxy);
    return status;
}
