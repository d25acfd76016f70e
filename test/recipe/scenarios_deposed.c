/* scenarios_deposed.c - elections under races, and when sessions end. */
#include "lib/candidate.h"
#include "lib/doomed.h"

#include <semaphore.h>
#include <stdio.h>

/* ---- Races ------------------------------------------------------------------------- */

static void test_interrupt_leadership_with_requeue(void **state)
{
    const char      *name = recipe_name();
    struct candidate me;
    uint64_t         last = 0;

    (void)state;
    candidate_stand(&me, name);
    for (int i = 1; i <= 20; i++) {
        recipe_await_count(&me.elected, i);
        assert_true(me.token > last);
        last = me.token;
        assert_int_equal(hf_break(me.client, name, last, RECIPE_LIMIT_MS), 0);
    }
    recipe_await_count(&me.elected, 21);
    assert_int_equal(me.deposed, 20);
    assert_int_equal(me.unpaired, 0);
    candidate_withdraw(&me);
}

/* However often it joins and resigns, it has one place at most. */
static void test_reset_race(void **state)
{
    const char      *name = recipe_name();
    struct candidate leader, me;

    (void)state;
    candidate_stand(&leader, name);
    recipe_await_count(&leader.elected, 1);
    candidate_stand(&me, name);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(hf_election_join(me.election), 0);
        assert_int_equal(hf_election_resign(me.election), 0);
        assert_int_equal(hf_election_join(me.election), 0);
    }
    recipe_await_line(leader.client, name, 2);
    recipe_await(hf_election_lock(me.election), HF_WAITING);
    candidate_withdraw(&leader);
    recipe_await_count(&me.elected, 1);
    assert_int_equal(hf_election_resign(me.election), 0);
    recipe_await_line(me.client, name, 0);
    assert_int_equal(me.deposed, 1);
    assert_int_equal(me.unpaired, 0);
    candidate_withdraw(&me);
}

/* Stepping down and coming back at once is stepping down all the same. */
static void test_resign_and_join_at_once(void **state)
{
    const char      *name = recipe_name();
    struct candidate crowd[2];

    (void)state;
    candidates_stand(crowd, 2, name);
    for (int i = 0; i < 20; i++) {
        struct candidate *leader = &crowd[i % 2], *next = &crowd[(i + 1) % 2];
        recipe_await_count(&leader->elected, i / 2 + 1);
        recipe_await_line(leader->client, name, 2);
        assert_int_equal(hf_election_resign(leader->election), 0);
        assert_int_equal(hf_election_join(leader->election), 0);
        recipe_await_count(&next->elected, (i + 1) / 2 + 1);
        assert_int_equal(leader->deposed, i / 2 + 1);
    }
    assert_int_equal(crowd[0].unpaired + crowd[1].unpaired, 0);
    candidate_withdraw(&crowd[0]);
    candidate_withdraw(&crowd[1]);
}

static void test_create_delete_race(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open();

    (void)state;
    for (int i = 0; i < 50; i++) {
        struct candidate me;
        candidate_stand_in(&me, client, name);
        hf_election_free(me.election);
    }
    recipe_await_line(client, name, 0);
    hf_close(client);
}

struct stopper {
    sem_t go, reached;
};

static void stop_here(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    struct stopper *stopper = data;

    (void)lock;
    (void)why;
    if (state != HF_HELD)
        return;
    sem_post(&stopper->reached);
    sem_wait(&stopper->go);
}

/* The keeper being busy: whoever waits drives the client. */
static void drive_until(struct hf_client *client, struct hf_lock *lock,
                        enum hf_state state)
{
    const char       *quiet = recipe_name();
    struct hf_report *seen = NULL, *changed = NULL;
    int64_t           end = recipe_ms() + 10000;

    assert_int_equal(hf_inspect(client, quiet, 1000, &seen), 0);
    while (hf_state(lock) != state && recipe_ms() < end)
        assert_int_equal(hf_watch(client, quiet, seen, 100, &changed), HF_ETIMEOUT);
    assert_int_equal(hf_state(lock), state);
    hf_report_free(seen);
}

/* Lost between the grant and the callback: then it never led. */
static void test_race_at_state_changed(void **state)
{
    const char       *name = recipe_name();
    struct stopper    stopper;
    struct hf_options options = HF_OPTIONS_INIT;
    struct candidate  me;

    (void)state;
    sem_init(&stopper.go, 0, 0);
    sem_init(&stopper.reached, 0, 0);
    options.on_state = stop_here;
    options.data = &stopper;
    struct hf_client *client = recipe_open_with(&options), *admin = recipe_open();
    struct hf_lock   *other = recipe_mutex(client, recipe_name());
    assert_int_equal(hf_acquire_start(other, -1), 0);
    sem_wait(&stopper.reached); /* now no other callback can come */
    candidate_stand_in(&me, client, name);
    struct hf_lock *lock = hf_election_lock(me.election);
    drive_until(client, lock, HF_HELD);
    uint64_t token = hf_token(lock);
    assert_int_equal(hf_break(admin, name, token, RECIPE_LIMIT_MS), 0);
    drive_until(client, lock, HF_LOST);
    assert_int_equal(me.elected, 0);
    sem_post(&stopper.go);
    recipe_await_count(&me.elected, 1); /* of the next grant */
    assert_true(me.token > token);
    assert_int_equal(me.deposed, 0);
    candidate_withdraw(&me);
    hf_close(admin);
}

/* ---- Sessions that end ------------------------------------------------------------- */

static void test_kill_session_then_close_should_elect_new_leader(void **state)
{
    const char      *name = recipe_name();
    struct candidate me;
    struct doomed    doomed;

    (void)state;
    doomed_hold(&doomed, hf_mutex, name); /* a leader, to everybody else */
    candidate_stand(&me, name);
    recipe_await_line(me.client, name, 2);
    assert_int_equal(me.elected, 0);
    doomed_kill(&doomed, me.client, name, 1);
    recipe_await_count(&me.elected, 1);
    candidate_withdraw(&me);
}

/* The old leader knows by its own clock, before the next one is elected, and does
 * not lead again on the place it had. */
static void test_session_interruption_do_not_cause_brain_split(void **state)
{
    const char       *name = recipe_name();
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client;
    struct candidate  old, next;
    char              url[256];

    (void)state;
    if (!recipe_is_local())
        skip(); /* a session that ends while its process lives needs a lease */
    snprintf(url, sizeof url, "%s?lease=150", recipe_url());
    options.flags = HF_NO_KEEPER;
    assert_int_equal(hf_open(url, &options, &client), 0);
    candidate_stand_in(&old, client, name);
    int64_t end = recipe_ms() + 10000;
    while (old.elected == 0 && recipe_ms() < end)
        assert_int_equal(hf_process(client), 0);
    uint64_t token = old.token;
    candidate_stand(&next, name);
    recipe_await_line(next.client, name, 2);
    while (next.elected == 0 && recipe_ms() < end)
        ;
    assert_int_equal(next.elected, 1);
    assert_false(hf_election_leads(old.election));
    assert_int_equal(hf_process(client), 0);
    assert_int_equal(old.deposed, 1);
    while (hf_state(hf_election_lock(old.election)) != HF_WAITING && recipe_ms() < end)
        assert_int_equal(hf_process(client), 0);
    assert_int_equal(hf_election_resign(next.election), 0);
    while (old.elected < 2 && recipe_ms() < end)
        assert_int_equal(hf_process(client), 0);
    assert_int_equal(old.elected, 2);
    assert_true(old.token > next.token && next.token > token);
    assert_int_equal(old.unpaired, 0);
    candidate_withdraw(&old);
    candidate_withdraw(&next);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupt_leadership_with_requeue),
        cmocka_unit_test(test_reset_race),
        cmocka_unit_test(test_resign_and_join_at_once),
        cmocka_unit_test(test_create_delete_race),
        cmocka_unit_test(test_race_at_state_changed),
        cmocka_unit_test(test_kill_session_then_close_should_elect_new_leader),
        cmocka_unit_test(test_session_interruption_do_not_cause_brain_split),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
