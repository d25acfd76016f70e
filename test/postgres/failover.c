/* failover.c - a primary and its synchronous standby: what is granted is known to both.
 *
 * HF_ROUNDS says how often the standby is promoted under load (2).  In every second round the
 * old primary goes on.
 */
/* needs: pair */
#include "lib/promise.h"
#include "lib/testament.h"
#include "lib/witness_postgres.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TTL_MS  2000
#define WORKERS 4
#define CROWD   8
#define MORE    6 /* locks that each of them wants as well */

/* ---- The standby is away ------------------------------------------------------------- */

/* Somebody, or a timeout, ends what waits for the standby: the server says "done" then. */
static long cancel_waits(void)
{
    return postgres_number("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity "
                           "WHERE wait_event = 'SyncRep'");
}

static void a_wait_that_was_cancelled_proves_nothing(void **state)
{
    static struct actor holder, other;
    long                cancelled = 0;

    (void)state;
    actor_open(&holder, TTL_MS, "proof");
    actor_open(&other, TTL_MS, "another");
    actor_take(&holder);
    actor_take(&other);
    actor_give(&other);
    witness_tell("away");
    assert_int_equal(hf_acquire_start(other.lock, ACTOR_LIMIT_MS), 0);
    hf_time end = hf_now() + 2 * TTL_MS * HF_MS;
    while (hf_now() < end) {
        cancelled += cancel_waits();
        if (actor_has(&other))
            fail_msg("a grant that the standby does not know");
        poll(NULL, 0, 20);
    }
    print_message("# %ld waits were cancelled\n", cancelled);
    assert_true(cancelled > 2);
    assert_int_equal(hf_state(holder.lock), HF_LOST); /* so do renewals prove nothing */
    witness_tell("back");
    actor_await(&other, HF_HELD);
    assert_int_equal(hf_release(holder.lock), HF_ELOST);
    actor_take(&holder);
    actor_give(&holder);
    actor_give(&other);
    actor_close(&holder);
    actor_close(&other);
    witness_empty();
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

/* However long it is away, and however much was sent: the server has no more to do for us than
 * before.  (One that was just told to stop may still be there.) */
static void who_waits_has_one_connection(void **state)
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
    witness_tell("away");
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
    assert_int_equal(backends(), 0); /* though it still waits for the standby */
    witness_tell("back");
    actor_open(&crowd[0], 1000, "crowd"); /* they could not say that they leave */
    actor_take(&crowd[0]);
    actor_give(&crowd[0]);
    actor_close(&crowd[0]);
    witness_empty();
}

static long tickets(const char *name)
{
    return postgres_number("SELECT count(*) FROM holdfast.ticket WHERE name = '%s'",
                           name);
}

/* Should it be promoted, the session would be there again.  Nobody can be granted anything
 * meanwhile, so to wait costs nothing. */
static void a_will_is_executed_when_the_standby_knows(void **state)
{
    static struct actor owner, next;
    struct testament    will;

    (void)state;
    actor_open(&owner, TTL_MS, "will");
    actor_open(&next, TTL_MS, "will");
    actor_take(&owner);
    actor_queue(&next, 1);
    testament_take(owner.client, &will);
    witness_tell("away");
    hf_time end = hf_now() + ACTOR_LIMIT_MS * HF_MS;
    do /* it may take longer than that to get as far as to say it */
        assert_int_equal(hf_execute(will.bytes, will.size, 1000, NULL, 0), HF_EDOWN);
    while (tickets("will") > 1 && hf_now() < end);
    assert_int_equal(tickets("will"), 1); /* ended, but on the primary alone */
    assert_int_equal(hf_execute(will.bytes, will.size, 1000, NULL, 0), HF_EDOWN);
    witness_tell("back");
    testament_execute(&will);
    actor_await(&next, HF_HELD);
    actor_await(&owner, HF_LOST);
    actor_give(&next);
    actor_close(&owner);
    actor_close(&next);
    witness_empty();
}

/* ---- It is promoted ------------------------------------------------------------------- */

static struct actor     worker[WORKERS];
static pthread_t        thread[WORKERS];
static atomic_bool      ending;
static atomic_uint      holds, wrongs, fallen;
static _Atomic uint64_t highest;

/* Who else has it, now that we surely have? */
static void look_around(size_t me)
{
    uint64_t token = hf_token(worker[me].lock);

    fallen += actor_has(&worker[me]) && token <= highest;
    if (actor_has(&worker[me]))
        highest = token;
    for (int i = 0; i < 5; i++) {
        for (size_t other = 0; other < WORKERS; other++)
            wrongs += other != me && actor_has(&worker[other]) && actor_has(&worker[me]);
        poll(NULL, 0, 2);
    }
    holds++;
}

static void *work(void *data)
{
    size_t me = (size_t)((struct actor *)data - worker);

    while (!ending) {
        if (hf_acquire(worker[me].lock, 1000) != 0)
            continue;
        look_around(me);
        (void)hf_release(worker[me].lock);
    }
    return NULL;
}

/* Until there were some more of them; how long that took. */
static int await_holds(unsigned more)
{
    hf_time  start = hf_now(), end = start + 4 * ACTOR_LIMIT_MS * HF_MS;
    unsigned until = holds + more;

    while (holds < until && hf_now() < end)
        poll(NULL, 0, 2);
    if (holds < until)
        fail_msg("nobody gets it any more: %s", hf_errmsg(worker[0].client));
    return (int)((hf_now() - start) / HF_MS);
}

static void a_standby_is_promoted(void **state)
{
    const char *text = getenv("HF_ROUNDS");
    int         rounds = text != NULL ? atoi(text) : 2;

    (void)state;
    for (size_t i = 0; i < WORKERS; i++) {
        actor_open(&worker[i], TTL_MS, "load");
        assert_int_equal(pthread_create(&thread[i], NULL, work, &worker[i]), 0);
    }
    await_holds(20);
    for (int i = 0; i < rounds; i++) {
        bool alive = i % 2 == 1;
        witness_tell(alive ? "promote" : "promote kill");
        int ms = await_holds(1);
        await_holds(20);
        print_message("# round %d, the old primary %s: granted again after %d ms, %u so "
                      "far, %u of two at once\n",
                      i + 1, alive ? "goes on" : "is gone", ms, holds, wrongs);
        witness_tell("pair");
        await_holds(20);
    }
    ending = true;
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(thread[i], NULL);
    for (size_t i = 0; i < WORKERS; i++)
        actor_close(&worker[i]);
    assert_int_equal(wrongs, 0);
    assert_int_equal(fallen, 0);
    witness_empty();
}

/* What the old primary says counts for nothing, though it lives and knows us. */
static void a_deposed_primary_confirms_nothing(void **state)
{
    static struct actor holder;
    struct hf_client   *client = NULL;
    char                url[160];

    (void)state;
    actor_open(&holder, TTL_MS, "deposed");
    uint64_t    token = actor_take(&holder);
    const char *port = witness_tell("port"); /* of the primary */
    snprintf(url, sizeof url, "postgres://tester:s3cret@127.0.0.1:%.*s/test?ttl=60s",
             (int)strcspn(port, "\n"), port);
    assert_int_equal(hf_open(url, NULL, &client), 0);
    assert_int_equal(hf_verify(client, "deposed", token, ACTOR_LIMIT_MS), 0);
    witness_tell("promote");
    for (int i = 0; i < 3; i++)
        assert_int_not_equal(hf_verify(client, "deposed", token, 300), 0);
    hf_close(client);
    (void)hf_release(holder.lock);
    witness_tell("pair");
    actor_close(&holder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_that_was_cancelled_proves_nothing),
        cmocka_unit_test(who_waits_has_one_connection),
        cmocka_unit_test(a_will_is_executed_when_the_standby_knows),
        cmocka_unit_test(a_deposed_primary_confirms_nothing),
        cmocka_unit_test(a_standby_is_promoted),
    };

    witness_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
