/* failover.c - a primary and its synchronous standby: a grant is on both before it
 * counts.
 *
 * HF_ROUNDS is how often the standby is promoted under load (2).  In every second round
 * the old primary goes on.
 */
/* needs: pair */
#include "lib/promise.h"
#include "lib/server_postgres.h"
#include "lib/session_keys.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TTL_MS  2000
#define WORKERS 4
#define CROWD   8
#define MORE    6 /* more locks that each client wants */

/* ---- The standby is away ------------------------------------------------------------- */

/* Cancel all waits for the standby, as a timeout would: the server answers "done"
 * then. */
static long cancel_waits(void)
{
    return postgres_number("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity "
                           "WHERE wait_event = 'SyncRep'");
}

static void a_canceled_wait_for_the_standby_grants_nothing(void **state)
{
    static struct actor holder, other;
    long                canceled = 0;

    (void)state;
    actor_open(&holder, TTL_MS, "proof");
    actor_open(&other, TTL_MS, "another");
    actor_take(&holder);
    actor_take(&other);
    actor_give(&other);
    server_tell("away");
    actor_start(&other);
    hf_time end = hf_now() + 2 * TTL_MS * HF_MS;
    while (hf_now() < end) {
        canceled += cancel_waits();
        if (actor_has(&other))
            fail_msg("a grant that the standby does not have");
        poll(NULL, 0, 20);
    }
    print_message("# %ld waits were canceled\n", canceled);
    assert_true(canceled > 2);
    assert_int_equal(hf_state(holder.lock), HF_LOST); /* nor do renewals count */
    server_tell("back");
    actor_await(&other, HF_HELD);
    assert_int_equal(actor_release(&holder), HF_ELOST);
    actor_take(&holder);
    actor_give(&holder);
    actor_give(&other);
    actor_close(&holder);
    actor_close(&other);
    server_expect_empty();
}

static long backends(void)
{
    return postgres_number("SELECT count(*) FROM pg_stat_activity "
                           "WHERE application_name ~ '^holdfast'");
}

static void want_more(struct actor *actor, size_t number, struct hf_lock *ret[MORE])
{
    char name[32];

    for (size_t i = 0; i < MORE; i++) {
        snprintf(name, sizeof name, "crowd-%zu-%zu", number, i);
        assert_int_equal(hf_mutex(actor->client, name, &ret[i]), 0);
        assert_int_equal(hf_acquire_start(ret[i], ACTOR_LIMIT_MS), 0);
    }
}

/* However long the standby is away, and however many calls were sent.  (A server
 * process that was just canceled may still be there.) */
static void each_client_keeps_to_one_connection_while_the_standby_is_away(void **state)
{
    static struct actor crowd[CROWD];
    struct hf_lock     *more[CROWD][MORE];
    long                most = 0;

    (void)state;
    for (size_t i = 0; i < CROWD; i++)
        actor_open(&crowd[i], 1000, "crowd");
    actor_take(&crowd[0]);
    for (size_t i = 1; i < CROWD; i++)
        actor_queue(&crowd[i], i);
    server_tell("away");
    for (size_t i = 0; i < CROWD; i++)
        want_more(&crowd[i], i, more[i]);
    hf_time end = hf_now() + 5 * HF_SEC;
    while (hf_now() < end) {
        long now = backends();
        most = now > most ? now : most;
        poll(NULL, 0, 20);
    }
    print_message("# %ld connections of %d clients\n", most, CROWD);
    assert_true(most <= CROWD + CROWD / 2);
    for (size_t i = 0; i < CROWD; i++) {
        for (size_t j = 0; j < MORE; j++)
            hf_lock_free(more[i][j]);
        actor_close(&crowd[i]);
    }
    end = hf_now() + 5 * HF_SEC;
    while (backends() > 0 && hf_now() < end)
        poll(NULL, 0, 20);
    assert_int_equal(backends(), 0); /* though the standby is still away */
    server_tell("back");
    actor_open(&crowd[0], 1000, "crowd"); /* the others could not say bye */
    actor_take(&crowd[0]);
    actor_give(&crowd[0]);
    actor_close(&crowd[0]);
    server_expect_empty();
}

static long places(const char *name)
{
    return postgres_number("SELECT count(*) FROM holdfast.every_place WHERE name = '%s'",
                           name);
}

/* If the standby were promoted, the session would exist again.  Nothing can be granted
 * while it is away, so waiting costs nothing. */
static void a_session_key_works_once_the_standby_has_the_commit(void **state)
{
    static struct actor owner, next;
    struct session_key  key;

    (void)state;
    actor_open(&owner, TTL_MS, "key");
    actor_open(&next, TTL_MS, "key");
    actor_take(&owner);
    actor_queue(&next, 1);
    session_key_take(owner.client, &key);
    server_tell("away");
    hf_time end = hf_now() + ACTOR_LIMIT_MS * HF_MS;
    do /* one call may be too short to reach the server */
        assert_int_equal(hf_end_session(key.bytes, key.size, 1000, NULL, 0), HF_EDOWN);
    while (places("key") > 1 && hf_now() < end);
    assert_int_equal(places("key"),
                     1); /* the session has ended, but only on the primary */
    assert_int_equal(hf_end_session(key.bytes, key.size, 1000, NULL, 0), HF_EDOWN);
    server_tell("back");
    session_key_end(&key);
    actor_await(&next, HF_HELD);
    actor_await(&owner, HF_LOST);
    actor_give(&next);
    actor_close(&owner);
    actor_close(&next);
    server_expect_empty();
}

/* ---- The standby is promoted ------------------------------------------------------------------- */

static struct actor worker[WORKERS];
static pthread_t    thread[WORKERS];
static atomic_bool  ending;
static atomic_uint  holds;

static void *work(void *data)
{
    struct actor *self = data;

    while (!ending) {
        if (actor_acquire(self, 1000) != 0)
            continue;
        actors_watch(self, 1, 10);
        (void)actor_release(self);
        holds++;
    }
    return NULL;
}

/* Wait until the lock was held `more` times; returns how long that took. */
static int await_holds(unsigned more)
{
    hf_time  start = hf_now(), end = start + 4 * ACTOR_LIMIT_MS * HF_MS;
    unsigned until = holds + more;

    while (holds < until && hf_now() < end)
        poll(NULL, 0, 2);
    if (holds < until)
        fail_msg("nobody gets the lock any more: %s", hf_errmsg(worker[0].client));
    return (int)((hf_now() - start) / HF_MS);
}

static void locks_survive_a_failover(void **state)
{
    const char *text = getenv("HF_ROUNDS");
    int         rounds = text != NULL ? atoi(text) : 2;

    (void)state;
    actors_write();
    for (size_t i = 0; i < WORKERS; i++) {
        actor_open(&worker[i], TTL_MS, "load");
        assert_int_equal(pthread_create(&thread[i], NULL, work, &worker[i]), 0);
    }
    await_holds(20);
    for (int i = 0; i < rounds; i++) {
        bool alive = i % 2 == 1;
        server_tell(alive ? "promote" : "promote kill");
        int ms = await_holds(1);
        await_holds(20);
        print_message("# round %d, the old primary %s: granted again after %d ms, %u so "
                      "far\n",
                      i + 1, alive ? "goes on" : "is gone", ms, holds);
        server_tell("pair");
        await_holds(20);
    }
    ending = true;
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(thread[i], NULL);
    for (size_t i = 0; i < WORKERS; i++)
        actor_close(&worker[i]);
    server_expect_empty();
}

/* Although it is alive and has our session. */
static void a_deposed_primary_confirms_no_token(void **state)
{
    static struct actor holder;
    struct hf_client   *client = NULL;
    char                url[160];

    (void)state;
    actor_open(&holder, TTL_MS, "deposed");
    uint64_t    token = actor_take(&holder);
    const char *port = server_tell("port"); /* of the primary */
    snprintf(url, sizeof url, "postgres://tester:s3cret@127.0.0.1:%.*s/test?ttl=60s",
             (int)strcspn(port, "\n"), port);
    assert_int_equal(hf_open(url, NULL, &client), 0);
    assert_int_equal(hf_verify(client, "deposed", token, ACTOR_LIMIT_MS), 0);
    server_tell("promote");
    for (int i = 0; i < 3; i++)
        assert_int_not_equal(hf_verify(client, "deposed", token, 300), 0);
    hf_close(client);
    (void)actor_release(&holder);
    server_tell("pair");
    actor_close(&holder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_canceled_wait_for_the_standby_grants_nothing),
        cmocka_unit_test(each_client_keeps_to_one_connection_while_the_standby_is_away),
        cmocka_unit_test(a_session_key_works_once_the_standby_has_the_commit),
        cmocka_unit_test(a_deposed_primary_confirms_no_token),
        cmocka_unit_test(locks_survive_a_failover),
    };

    server_find();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
