/* election.c - leading, resigning, being deposed, observing. */
#include "lib/recipe.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of notes */

struct candidate {
    struct hf_client   *client;
    struct hf_election *election;
    atomic_int          elected, deposed, changes;
    atomic_int          why;
    _Atomic uint64_t    token;
    atomic_bool         somebody; /* leads, as far as this candidate knows */
    char                note[64];
    atomic_int         *leaders; /* how many lead now; *most: the maximum */
    atomic_int         *most;
};

static void on_elected(struct hf_election *election, uint64_t token, void *data)
{
    struct candidate *me = data;

    (void)election;
    me->token = token;
    me->elected++;
    if (me->leaders != NULL) {
        int now = ++*me->leaders;
        if (now > *me->most)
            *me->most = now;
    }
}

static void on_deposed(struct hf_election *election, int why, void *data)
{
    struct candidate *me = data;

    (void)election;
    me->why = why;
    me->deposed++;
    if (me->leaders != NULL)
        --*me->leaders;
}

static void on_leader(struct hf_election *election, const struct hf_entry *leader,
                      void *data)
{
    struct candidate *me = data;

    (void)election;
    pthread_mutex_lock(&mutex);
    snprintf(me->note, sizeof me->note, "%s", leader != NULL ? leader->note : "");
    pthread_mutex_unlock(&mutex);
    me->somebody = leader != NULL;
    me->changes++;
}

static void join(struct candidate *me, const char *name, const char *note, bool observe)
{
    struct hf_election_options options = HF_ELECTION_INIT;

    me->client = recipe_open();
    options.note = note;
    options.observe = observe;
    options.elected = on_elected;
    options.deposed = on_deposed;
    options.leader = on_leader;
    options.data = me;
    assert_int_equal(hf_election_new(me->client, name, &options, &me->election), 0);
}

static void leave(struct candidate *me)
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

static bool has_note(struct candidate *me, const char *note)
{
    pthread_mutex_lock(&mutex);
    bool same = strcmp(me->note, note) == 0;
    pthread_mutex_unlock(&mutex);
    return same;
}

static void await_note(struct candidate *me, const char *note)
{
    int64_t end = recipe_ms() + 10000;

    while (!has_note(me, note) && recipe_ms() < end)
        poll(NULL, 0, 1);
    assert_true(has_note(me, note));
}

static void test_leadership_passes_on(void **state)
{
    const char      *name = recipe_name();
    struct candidate a = { .elected = 0 }, b = { .elected = 0 }, spy = { .elected = 0 };

    (void)state;
    join(&spy, name, NULL, true);
    await(&spy.changes, 1); /* nobody leads */
    assert_false(spy.somebody);
    join(&a, name, "first", false);
    await(&a.elected, 1);
    assert_true(hf_election_leads(a.election));
    await_note(&spy, "first");
    join(&b, name, "second", false);
    recipe_await_line(spy.client, name, 2);
    await_note(&b, "first");
    assert_int_equal(b.elected, 0);

    struct hf_report *report = NULL;
    assert_int_equal(hf_election_list(b.election, 1000, &report), 0);
    assert_int_equal(report->count, 2);
    assert_true(report->entry[0]->held);
    assert_string_equal(report->entry[1]->note, "second");
    hf_report_free(report);

    assert_int_equal(hf_election_resign(a.election), 0);
    await(&a.deposed, 1);
    assert_int_equal(a.why, 0);
    await(&b.elected, 1);
    assert_true(b.token > a.token);
    assert_false(hf_election_leads(a.election));
    await_note(&spy, "second");
    assert_int_equal(hf_election_join(a.election), 0);
    recipe_await_line(spy.client, name, 2);
    leave(&b);
    assert_int_equal(b.deposed, 0); /* freeing calls nothing back */
    await(&a.elected, 2);
    leave(&a);
    recipe_await_line(spy.client, name, 0);
    leave(&spy);
    assert_int_equal(spy.elected, 0);
}

static void test_a_deposed_leader_queues_again(void **state)
{
    const char      *name = recipe_name();
    struct candidate a = { .elected = 0 }, b = { .elected = 0 };

    (void)state;
    join(&a, name, "a", false);
    await(&a.elected, 1);
    join(&b, name, "b", false);
    recipe_await_line(a.client, name, 2);
    assert_int_equal(hf_break(b.client, name, a.token, RECIPE_LIMIT_MS), 0);
    await(&a.deposed, 1);
    assert_int_equal(a.why, HF_ELOST);
    await(&b.elected, 1);
    recipe_await_line(a.client, name, 2);
    assert_int_equal(hf_election_resign(b.election), 0);
    await(&a.elected, 2);
    assert_true(a.token > b.token);
    leave(&a);
    leave(&b);
}

static void test_a_waiting_candidate_can_resign(void **state)
{
    const char      *name = recipe_name();
    struct candidate a = { .elected = 0 }, b = { .elected = 0 };

    (void)state;
    join(&a, name, NULL, false);
    await(&a.elected, 1);
    join(&b, name, NULL, false);
    recipe_await_line(a.client, name, 2);
    assert_int_equal(hf_election_resign(b.election), 0);
    recipe_await_line(a.client, name, 1);
    assert_int_equal(hf_election_resign(b.election), 0); /* resigning twice is no error */
    leave(&a);
    recipe_await_line(b.client, name, 0);
    assert_int_equal(b.elected, 0);
    assert_int_equal(hf_election_join(b.election), 0);
    await(&b.elected, 1);
    leave(&b);
}

static void test_a_name_in_use_as_another_kind_is_reported_once(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open();
    struct hf_lock   *other = NULL;
    struct candidate  a = { .elected = 0 };

    (void)state;
    assert_int_equal(hf_semaphore(client, name, 2, 1, &other), 0);
    assert_int_equal(hf_acquire(other, RECIPE_LIMIT_MS), 0);
    join(&a, name, NULL, false);
    await(&a.deposed, 1); /* reported once, not retried for ever */
    assert_int_equal(a.why, HF_EMISMATCH);
    assert_int_equal(hf_release(other), 0);
    assert_int_equal(hf_election_join(a.election), 0);
    await(&a.elected, 1);
    assert_int_equal(a.deposed, 1);
    leave(&a);
    hf_close(client);
}

static void test_candidates_lead_in_turn_and_never_two_at_once(void **state)
{
    const char      *name = recipe_name();
    struct candidate crowd[5] = { { .elected = 0 } };
    atomic_int       leaders = 0, most = 0;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        crowd[i].leaders = &leaders;
        crowd[i].most = &most;
        join(&crowd[i], name, NULL, false);
        recipe_await_line(crowd[0].client, name, i + 1);
    }
    for (int round = 1; round <= 3; round++) {
        for (size_t i = 0; i < 5; i++) { /* in the order they joined */
            await(&crowd[i].elected, round);
            assert_int_equal(hf_election_resign(crowd[i].election), 0);
            await(&crowd[i].deposed, round);
            recipe_await_line(crowd[0].client, name,
                              4); /* its place may leave a bit later */
            assert_int_equal(hf_election_join(crowd[i].election), 0);
            recipe_await_line(crowd[0].client, name, 5);
        }
    }
    assert_int_equal(most, 1);
    for (size_t i = 0; i < 5; i++)
        leave(&crowd[i]);
}

/* A candidate that leaves from the middle of the queue neither deposes nor promotes
 * anybody. */
static void test_a_candidate_that_leaves_changes_no_leader(void **state)
{
    const char      *name = recipe_name();
    struct candidate crowd[3] = { { .elected = 0 } };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        join(&crowd[i], name, NULL, false);
        recipe_await_line(crowd[0].client, name, i + 1);
    }
    await(&crowd[0].elected, 1);
    leave(&crowd[1]);
    recipe_await_line(crowd[0].client, name, 2);
    poll(NULL, 0, 30); /* time enough for a wrong callback */
    assert_int_equal(crowd[0].deposed, 0);
    assert_true(hf_election_leads(crowd[0].election));
    assert_int_equal(crowd[2].elected, 0);
    assert_false(hf_election_leads(crowd[2].election));
    leave(&crowd[0]);
    await(&crowd[2].elected, 1);
    leave(&crowd[2]);
}

static void test_every_candidate_lists_the_same_queue(void **state)
{
    const char       *name = recipe_name();
    struct candidate  crowd[10] = { { .elected = 0 } };
    struct hf_report *first = NULL, *report = NULL;

    (void)state;
    for (size_t i = 0; i < 10; i++) {
        join(&crowd[i], name, NULL, false);
        recipe_await_line(crowd[0].client, name, i + 1);
    }
    await(&crowd[0].elected, 1);
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
        leave(&crowd[i]);
}

static void test_an_election_that_nobody_joined_is_empty(void **state)
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leadership_passes_on),
        cmocka_unit_test(test_a_deposed_leader_queues_again),
        cmocka_unit_test(test_a_waiting_candidate_can_resign),
        cmocka_unit_test(test_a_name_in_use_as_another_kind_is_reported_once),
        cmocka_unit_test(test_candidates_lead_in_turn_and_never_two_at_once),
        cmocka_unit_test(test_a_candidate_that_leaves_changes_no_leader),
        cmocka_unit_test(test_every_candidate_lists_the_same_queue),
        cmocka_unit_test(test_an_election_that_nobody_joined_is_empty),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
