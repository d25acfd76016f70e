/* election_callbacks.c - elections: when `elected` and `deposed` are called. */
#include "lib/candidate.h"

#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>

static void test_elected_and_deposed_alternate(void **state)
{
    const char      *name = recipe_name();
    struct candidate crowd[5];

    (void)state;
    candidates_join(crowd, 5, name);
    for (int round = 1; round <= 4; round++) {
        for (size_t i = 0; i < 5; i++) {
            recipe_await_count(&crowd[i].elected, round);
            if (round % 2 == 0) {
                assert_int_equal(hf_break(crowd[0].client, name, crowd[i].token,
                                          RECIPE_LIMIT_MS),
                                 0);
                recipe_await_count(&crowd[i].deposed, round);
            } else {
                assert_int_equal(hf_election_resign(crowd[i].election), 0);
                recipe_await_count(&crowd[i].deposed, round);
                recipe_await_line(crowd[0].client, name,
                                  4); /* its place may leave a bit later */
                assert_int_equal(hf_election_join(crowd[i].election), 0);
            }
            recipe_await_line(crowd[0].client, name, 5);
        }
    }
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(crowd[i].unpaired, 0);
    for (size_t i = 0; i < 5; i++)
        candidate_leave(&crowd[i]);
}

struct turns {
    atomic_int lead;     /* candidates that lead now */
    atomic_int wrong;    /* times that two led at once */
    atomic_int total;    /* turns of all candidates */
    int        first[5]; /* leaders of the first round, in order */
    atomic_int led[5];   /* how often */
};

struct rotator {
    struct hf_client   *client;
    struct hf_election *election;
    struct turns       *turns;
    int                 number;
};

/* Resign in the callback `elected`, and join again in `deposed`. */
static void take_a_turn(struct hf_election *election, uint64_t token, void *data)
{
    struct rotator *me = data;
    struct turns   *turns = me->turns;

    (void)token;
    turns->wrong += ++turns->lead > 1;
    int turn = turns->total++;
    if (turn < 5)
        turns->first[turn] = me->number;
    turns->led[me->number]++;
    (void)hf_election_resign(election);
}

static void queue_again(struct hf_election *election, int why, void *data)
{
    struct rotator *me = data;

    (void)why;
    me->turns->lead--;
    (void)hf_election_join(election);
}

static bool everybody_led(struct turns *turns, int times)
{
    for (int i = 0; i < 5; i++)
        if (turns->led[i] < times)
            return false;
    return true;
}

static void test_leaders_resign_and_join_in_their_callbacks(void **state)
{
    const char                *name = recipe_name();
    struct turns               turns = { .total = 0 };
    struct rotator             crowd[5];
    struct hf_election_options options = HF_ELECTION_INIT;

    (void)state;
    struct hf_client *gate = recipe_open();
    struct hf_lock   *lock = recipe_mutex(gate, name);
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0); /* until all have joined */
    options.elected = take_a_turn;
    options.deposed = queue_again;
    for (int i = 0; i < 5; i++) {
        crowd[i] =
            (struct rotator){ .client = recipe_open(), .turns = &turns, .number = i };
        options.data = &crowd[i];
        assert_int_equal(hf_election_new(crowd[i].client, name, &options,
                                         &crowd[i].election),
                         0);
        recipe_await_line(gate, name, (size_t)i + 2);
    }
    assert_int_equal(hf_release(lock), 0);
    int64_t end = recipe_ms() + 10000;
    while (!everybody_led(&turns, 3) && recipe_ms() < end)
        poll(NULL, 0, 1);
    assert_true(everybody_led(&turns, 3));
    /* Read first: freeing a leader calls nothing back, so `lead` is wrong from then
     * on. */
    int wrong = turns.wrong;
    for (int i = 0; i < 5; i++) {
        hf_election_free(crowd[i].election);
        hf_close(crowd[i].client);
    }
    assert_int_equal(wrong, 0);
    for (int i = 0; i < 5; i++) /* first in the order they joined */
        assert_int_equal(turns.first[i], i);
    hf_close(gate);
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

/* The keeper is busy with the callback: calls that wait drive the client. */
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

static void test_a_grant_lost_before_its_callback_elects_nobody(void **state)
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
    candidate_join_in(&me, client, name);
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
    candidate_leave(&me);
    hf_close(admin);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elected_and_deposed_alternate),
        cmocka_unit_test(test_leaders_resign_and_join_in_their_callbacks),
        cmocka_unit_test(test_a_grant_lost_before_its_callback_elects_nobody),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
