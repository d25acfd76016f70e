/* scenarios_election.c - the field's scenarios for electing a leader. */
#include "lib/doomed.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct candidate {
    struct hf_client   *client;
    struct hf_election *election;
    atomic_int          elected, deposed;
    atomic_int          unpaired; /* callbacks that came out of turn */
    _Atomic uint64_t    token;
};

static void on_elected(struct hf_election *election, uint64_t token, void *data)
{
    struct candidate *me = data;

    (void)election;
    me->token = token;
    me->unpaired += me->elected++ != me->deposed;
}

static void on_deposed(struct hf_election *election, int why, void *data)
{
    struct candidate *me = data;

    (void)election;
    (void)why;
    me->unpaired += ++me->deposed != me->elected;
}

static void stand_in(struct candidate *me, struct hf_client *client, const char *name)
{
    struct hf_election_options options = HF_ELECTION_INIT;

    *me = (struct candidate){ .client = client };
    options.elected = on_elected;
    options.deposed = on_deposed;
    options.data = me;
    assert_int_equal(hf_election_new(client, name, &options, &me->election), 0);
}

static void stand(struct candidate *me, const char *name)
{
    stand_in(me, recipe_open(), name);
}

static void withdraw(struct candidate *me)
{
    hf_election_free(me->election);
    hf_close(me->client);
}

static void await(atomic_int *counter, int value)
{
    int64_t end = recipe_ms() + 10000;

    while (*counter < value && recipe_ms() < end)
        poll(NULL, 0, 1);
    assert_int_equal(*counter, value);
}

static void stand_in_order(struct candidate *crowd, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        stand(&crowd[i], name);
        recipe_await_line(crowd[i].client, name, i + 1);
    }
}

/* ---- Who leads -------------------------------------------------------------------- */

/* In the order they came, with more than one of them. */
static void test_basic(void **state)
{
    const char      *name = recipe_name();
    struct candidate crowd[5];

    (void)state;
    stand_in_order(crowd, 5, name);
    for (size_t i = 0; i < 5; i++) {
        await(&crowd[i].elected, 1);
        assert_true(hf_election_leads(crowd[i].election));
        for (size_t k = i + 1; k < 5; k++)
            assert_int_equal(crowd[k].elected, 0);
        withdraw(&crowd[i]);
    }
}

/* One that leaves from the middle promotes nobody. */
static void test_correct_watching(void **state)
{
    const char      *name = recipe_name();
    struct candidate crowd[3];

    (void)state;
    stand_in_order(crowd, 3, name);
    await(&crowd[0].elected, 1);
    withdraw(&crowd[1]);
    recipe_await_line(crowd[0].client, name, 2);
    poll(NULL, 0, 30); /* time enough to do wrong */
    assert_int_equal(crowd[2].elected, 0);
    assert_false(hf_election_leads(crowd[2].election));
    assert_true(hf_election_leads(crowd[0].election));
    withdraw(&crowd[0]);
    await(&crowd[2].elected, 1);
    withdraw(&crowd[2]);
}

static void test_closing(void **state)
{
    const char      *name = recipe_name();
    struct candidate crowd[2];

    (void)state;
    stand_in_order(crowd, 2, name);
    await(&crowd[0].elected, 1);
    hf_close(crowd[1].client); /* freed with its client, as a lock is */
    recipe_await_line(crowd[0].client, name, 1);
    assert_true(hf_election_leads(crowd[0].election));
    assert_int_equal(crowd[0].deposed, 0);
    withdraw(&crowd[0]);
}

static void test_participants(void **state)
{
    const char       *name = recipe_name();
    struct candidate  crowd[10];
    struct hf_report *first = NULL, *report = NULL;

    (void)state;
    stand_in_order(crowd, 10, name);
    await(&crowd[0].elected, 1);
    assert_int_equal(hf_election_list(crowd[0].election, 1000, &first), 0);
    assert_int_equal(first->count, 10);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(first->entry[i].held, i == 0);
        assert_int_equal(hf_election_list(crowd[i].election, 1000, &report), 0);
        assert_int_equal(report->count, 10);
        for (size_t k = 0; k < 10; k++)
            assert_int_equal(report->entry[k].token, first->entry[k].token);
        hf_report_free(report);
    }
    hf_report_free(first);
    for (size_t i = 0; i < 10; i++)
        withdraw(&crowd[i]);
}

static void test_uncreated_path_get_leader(void **state)
{
    struct hf_client          *client = recipe_open();
    struct hf_election        *election;
    struct hf_election_options options = HF_ELECTION_INIT;
    struct hf_report          *report = NULL;

    (void)state;
    options.observe = true;
    assert_int_equal(hf_election_new(client, recipe_name(), &options, &election), 0);
    assert_int_equal(hf_election_list(election, 1000, &report), 0);
    assert_int_equal(report->count, 0);
    hf_report_free(report);
    hf_election_free(election);
    assert_int_equal(hf_election_new(client, "not/a/name", &options, &election), HF_EINVAL);
    hf_close(client);
}

/* ---- Callbacks -------------------------------------------------------------------- */

static void test_callback_sanity(void **state)
{
    const char      *name = recipe_name();
    struct candidate crowd[5];

    (void)state;
    stand_in_order(crowd, 5, name);
    for (int round = 1; round <= 4; round++) {
        for (size_t i = 0; i < 5; i++) {
            await(&crowd[i].elected, round);
            if (round % 2 == 0) { /* half of them by being deposed */
                assert_int_equal(hf_break(crowd[0].client, name, crowd[i].token, 1000), 0);
                await(&crowd[i].deposed, round);
            } else {
                assert_int_equal(hf_election_resign(crowd[i].election), 0);
                await(&crowd[i].deposed, round);
                assert_int_equal(hf_election_join(crowd[i].election), 0);
            }
            recipe_await_line(crowd[0].client, name, 5);
        }
    }
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(crowd[i].unpaired, 0);
    for (size_t i = 0; i < 5; i++)
        withdraw(&crowd[i]);
}

struct stage {
    atomic_int lead;      /* how many lead now */
    atomic_int wrong;     /* two at once */
    atomic_int turns;     /* all of them together */
    int        order[64]; /* who, in turn */
};

struct actor {
    struct hf_client   *client;
    struct hf_election *election;
    struct stage       *stage;
    int                 number;
};

/* Steps down and queues again at once, out of the callback. */
static void take_a_turn(struct hf_election *election, uint64_t token, void *data)
{
    struct actor *me = data;
    struct stage *stage = me->stage;

    (void)token;
    stage->wrong += ++stage->lead > 1;
    int turn = stage->turns;
    if (turn < 64)
        stage->order[turn] = me->number;
    (void)hf_election_resign(election);
}

static void queue_again(struct hf_election *election, int why, void *data)
{
    struct actor *me = data;

    (void)why;
    me->stage->lead--;
    me->stage->turns++;
    (void)hf_election_join(election);
}

static void test_rotating_leadership(void **state)
{
    const char  *name = recipe_name();
    struct stage stage = { .turns = 0 };
    struct actor crowd[5];
    struct hf_election_options options = HF_ELECTION_INIT;

    (void)state;
    struct hf_client *gate = recipe_open();
    struct hf_lock   *lock = recipe_mutex(gate, name);
    assert_int_equal(hf_acquire(lock, 1000), 0); /* until all have come */
    options.elected = take_a_turn;
    options.deposed = queue_again;
    for (int i = 0; i < 5; i++) {
        crowd[i] = (struct actor){ .client = recipe_open(), .stage = &stage, .number = i };
        options.data = &crowd[i];
        assert_int_equal(
            hf_election_new(crowd[i].client, name, &options, &crowd[i].election), 0);
        recipe_await_line(gate, name, (size_t)i + 2);
    }
    assert_int_equal(hf_release(lock), 0);
    int64_t end = recipe_ms() + 10000;
    while (stage.turns < 40 && recipe_ms() < end)
        poll(NULL, 0, 1);
    int wrong = stage.wrong; /* one that is freed while it leads steps down silently */
    for (int i = 0; i < 5; i++) {
        hf_election_free(crowd[i].election);
        hf_close(crowd[i].client);
    }
    assert_true(stage.turns >= 40);
    assert_int_equal(wrong, 0);
    for (int i = 0; i < 5; i++) /* in the first round all, in the order they came */
        assert_int_equal(stage.order[i], i);
    for (int i = 5; i < 40; i++) /* then nobody twice in a row: the rest was waiting */
        assert_int_not_equal(stage.order[i], stage.order[i - 1]);
    hf_close(gate);
}

/* ---- Races ------------------------------------------------------------------------- */

static void test_interrupt_leadership_with_requeue(void **state)
{
    const char      *name = recipe_name();
    struct candidate me;
    uint64_t         last = 0;

    (void)state;
    stand(&me, name);
    for (int i = 1; i <= 20; i++) {
        await(&me.elected, i);
        assert_true(me.token > last);
        last = me.token;
        assert_int_equal(hf_break(me.client, name, last, 1000), 0);
    }
    await(&me.elected, 21);
    assert_int_equal(me.deposed, 20);
    assert_int_equal(me.unpaired, 0);
    withdraw(&me);
}

/* However often it joins and resigns, it has one place at most. */
static void test_reset_race(void **state)
{
    const char      *name = recipe_name();
    struct candidate leader, me;

    (void)state;
    stand(&leader, name);
    await(&leader.elected, 1);
    stand(&me, name);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(hf_election_join(me.election), 0);
        assert_int_equal(hf_election_resign(me.election), 0);
        assert_int_equal(hf_election_join(me.election), 0);
    }
    recipe_await_line(leader.client, name, 2);
    recipe_await(hf_election_lock(me.election), HF_WAITING);
    withdraw(&leader);
    await(&me.elected, 1);
    assert_int_equal(hf_election_resign(me.election), 0);
    recipe_await_line(me.client, name, 0);
    assert_int_equal(me.deposed, 1);
    assert_int_equal(me.unpaired, 0);
    withdraw(&me);
}

static void test_create_delete_race(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open();

    (void)state;
    for (int i = 0; i < 50; i++) {
        struct candidate me;
        stand_in(&me, client, name);
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
static void drive_until(struct hf_client *client, struct hf_lock *lock, enum hf_state state)
{
    const char       *quiet = recipe_name();
    struct hf_report *seen = NULL, *changed = NULL;
    int64_t           end = recipe_ms() + 10000;

    assert_int_equal(hf_inspect(client, quiet, 1000, &seen), 0);
    while (hf_state(lock) != state && recipe_ms() < end)
        assert_int_equal(hf_watch(client, quiet, seen, 10, &changed), HF_ETIMEOUT);
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
    stand_in(&me, client, name);
    struct hf_lock *lock = hf_election_lock(me.election);
    drive_until(client, lock, HF_HELD);
    uint64_t token = hf_token(lock);
    assert_int_equal(hf_break(admin, name, token, 1000), 0);
    drive_until(client, lock, HF_LOST);
    assert_int_equal(me.elected, 0);
    sem_post(&stopper.go);
    await(&me.elected, 1); /* of the next grant */
    assert_true(me.token > token);
    assert_int_equal(me.deposed, 0);
    withdraw(&me);
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
    stand(&me, name);
    recipe_await_line(me.client, name, 2);
    assert_int_equal(me.elected, 0);
    doomed_kill(&doomed, me.client, name, 1);
    await(&me.elected, 1);
    withdraw(&me);
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
    stand_in(&old, client, name);
    int64_t end = recipe_ms() + 10000;
    while (old.elected == 0 && recipe_ms() < end)
        assert_int_equal(hf_process(client), 0);
    uint64_t token = old.token;
    stand(&next, name);
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
    withdraw(&old);
    withdraw(&next);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_basic),
        cmocka_unit_test(test_correct_watching),
        cmocka_unit_test(test_closing),
        cmocka_unit_test(test_participants),
        cmocka_unit_test(test_uncreated_path_get_leader),
        cmocka_unit_test(test_callback_sanity),
        cmocka_unit_test(test_rotating_leadership),
        cmocka_unit_test(test_interrupt_leadership_with_requeue),
        cmocka_unit_test(test_reset_race),
        cmocka_unit_test(test_create_delete_race),
        cmocka_unit_test(test_race_at_state_changed),
        cmocka_unit_test(test_kill_session_then_close_should_elect_new_leader),
        cmocka_unit_test(test_session_interruption_do_not_cause_brain_split),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
