/* scenarios_election.c - the field's scenarios for electing a leader. */
#include "lib/candidate.h"

#include <poll.h>
#include <stdatomic.h>

/* ---- Who leads -------------------------------------------------------------------- */

/* In the order they came, with more than one of them. */
static void test_leaders_in_the_order_of_starting(void **state)
{
    const char      *name = recipe_name();
    struct candidate crowd[5];

    (void)state;
    candidates_stand(crowd, 5, name);
    for (size_t i = 0; i < 5; i++) {
        recipe_await_count(&crowd[i].elected, 1);
        assert_true(hf_election_leads(crowd[i].election));
        for (size_t k = i + 1; k < 5; k++)
            assert_int_equal(crowd[k].elected, 0);
        candidate_withdraw(&crowd[i]);
    }
}

/* One that leaves from the middle promotes nobody. */
static void test_correct_watching(void **state)
{
    const char      *name = recipe_name();
    struct candidate crowd[3];

    (void)state;
    candidates_stand(crowd, 3, name);
    recipe_await_count(&crowd[0].elected, 1);
    candidate_withdraw(&crowd[1]);
    recipe_await_line(crowd[0].client, name, 2);
    poll(NULL, 0, 30); /* time enough to do wrong */
    assert_int_equal(crowd[2].elected, 0);
    assert_false(hf_election_leads(crowd[2].election));
    assert_true(hf_election_leads(crowd[0].election));
    candidate_withdraw(&crowd[0]);
    recipe_await_count(&crowd[2].elected, 1);
    candidate_withdraw(&crowd[2]);
}

static void test_a_candidate_that_leaves_disturbs_nobody(void **state)
{
    const char      *name = recipe_name();
    struct candidate crowd[2];

    (void)state;
    candidates_stand(crowd, 2, name);
    recipe_await_count(&crowd[0].elected, 1);
    candidate_withdraw(&crowd[1]);
    recipe_await_line(crowd[0].client, name, 1);
    assert_true(hf_election_leads(crowd[0].election));
    assert_int_equal(crowd[0].deposed, 0);
    candidate_withdraw(&crowd[0]);
}

static void test_participants(void **state)
{
    const char       *name = recipe_name();
    struct candidate  crowd[10];
    struct hf_report *first = NULL, *report = NULL;

    (void)state;
    candidates_stand(crowd, 10, name);
    recipe_await_count(&crowd[0].elected, 1);
    assert_int_equal(hf_election_list(crowd[0].election, 1000, &first), 0);
    assert_int_equal(first->count, 10);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(first->entry[i]->held, i == 0);
        assert_int_equal(hf_election_list(crowd[i].election, 1000, &report), 0);
        assert_int_equal(report->count, 10);
        for (size_t k = 0; k < 10; k++)
            assert_int_equal(report->entry[k]->token, first->entry[k]->token);
        hf_report_free(report);
    }
    hf_report_free(first);
    for (size_t i = 0; i < 10; i++)
        candidate_withdraw(&crowd[i]);
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
    assert_int_equal(hf_election_new(client, "not/a/name", &options, &election),
                     HF_EINVAL);
    hf_close(client);
}

/* ---- Callbacks -------------------------------------------------------------------- */

static void test_callback_sanity(void **state)
{
    const char      *name = recipe_name();
    struct candidate crowd[5];

    (void)state;
    candidates_stand(crowd, 5, name);
    for (int round = 1; round <= 4; round++) {
        for (size_t i = 0; i < 5; i++) {
            recipe_await_count(&crowd[i].elected, round);
            if (round % 2 == 0) { /* half of them by being deposed */
                assert_int_equal(hf_break(crowd[0].client, name, crowd[i].token,
                                          RECIPE_LIMIT_MS),
                                 0);
                recipe_await_count(&crowd[i].deposed, round);
            } else {
                assert_int_equal(hf_election_resign(crowd[i].election), 0);
                recipe_await_count(&crowd[i].deposed, round);
                recipe_await_line(crowd[0].client, name, 4); /* it may go a bit later */
                assert_int_equal(hf_election_join(crowd[i].election), 0);
            }
            recipe_await_line(crowd[0].client, name, 5);
        }
    }
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(crowd[i].unpaired, 0);
    for (size_t i = 0; i < 5; i++)
        candidate_withdraw(&crowd[i]);
}

struct stage {
    atomic_int lead;     /* how many lead now */
    atomic_int wrong;    /* two at once */
    atomic_int turns;    /* all of them together */
    int        first[5]; /* who led in the first round, in order */
    atomic_int led[5];   /* how often */
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
    int turn = stage->turns++;
    if (turn < 5)
        stage->first[turn] = me->number;
    stage->led[me->number]++;
    (void)hf_election_resign(election);
}

static void queue_again(struct hf_election *election, int why, void *data)
{
    struct actor *me = data;

    (void)why;
    me->stage->lead--;
    (void)hf_election_join(election);
}

static bool everybody_led(struct stage *stage, int times)
{
    for (int i = 0; i < 5; i++)
        if (stage->led[i] < times)
            return false;
    return true;
}

static void test_rotating_leadership(void **state)
{
    const char                *name = recipe_name();
    struct stage               stage = { .turns = 0 };
    struct actor               crowd[5];
    struct hf_election_options options = HF_ELECTION_INIT;

    (void)state;
    struct hf_client *gate = recipe_open();
    struct hf_lock   *lock = recipe_mutex(gate, name);
    assert_int_equal(hf_acquire(lock, RECIPE_LIMIT_MS), 0); /* until all have come */
    options.elected = take_a_turn;
    options.deposed = queue_again;
    for (int i = 0; i < 5; i++) {
        crowd[i] =
            (struct actor){ .client = recipe_open(), .stage = &stage, .number = i };
        options.data = &crowd[i];
        assert_int_equal(hf_election_new(crowd[i].client, name, &options,
                                         &crowd[i].election),
                         0);
        recipe_await_line(gate, name, (size_t)i + 2);
    }
    assert_int_equal(hf_release(lock), 0);
    int64_t end = recipe_ms() + 10000;
    while (!everybody_led(&stage, 3) && recipe_ms() < end)
        poll(NULL, 0, 1);
    assert_true(everybody_led(&stage, 3));
    int wrong = stage.wrong; /* one that is freed while it leads steps down silently */
    for (int i = 0; i < 5; i++) {
        hf_election_free(crowd[i].election);
        hf_close(crowd[i].client);
    }
    assert_int_equal(wrong, 0);
    for (int i = 0; i < 5; i++) /* at first in the order they came */
        assert_int_equal(stage.first[i], i);
    hf_close(gate);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leaders_in_the_order_of_starting),
        cmocka_unit_test(test_correct_watching),
        cmocka_unit_test(test_a_candidate_that_leaves_disturbs_nobody),
        cmocka_unit_test(test_participants),
        cmocka_unit_test(test_uncreated_path_get_leader),
        cmocka_unit_test(test_callback_sanity),
        cmocka_unit_test(test_rotating_leadership),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
