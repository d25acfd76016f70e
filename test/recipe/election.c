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
    atomic_bool         somebody; /* leads, as far as it knows */
    char                note[64];
    atomic_int         *leaders; /* how many lead now, and the most there were */
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

static void stand(struct candidate *me, const char *name, const char *note, bool observe)
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
    stand(&spy, name, NULL, true);
    await(&spy.changes, 1); /* it is told that nobody leads */
    assert_false(spy.somebody);
    stand(&a, name, "first", false);
    await(&a.elected, 1);
    assert_true(hf_election_leads(a.election));
    await_note(&spy, "first");
    stand(&b, name, "second", false);
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
    withdraw(&b);
    assert_int_equal(b.deposed, 0); /* it knows */
    await(&a.elected, 2);
    withdraw(&a);
    recipe_await_line(spy.client, name, 0);
    withdraw(&spy);
    assert_int_equal(spy.elected, 0);
}

static void test_a_deposed_leader_queues_again(void **state)
{
    const char      *name = recipe_name();
    struct candidate a = { .elected = 0 }, b = { .elected = 0 };

    (void)state;
    stand(&a, name, "a", false);
    await(&a.elected, 1);
    stand(&b, name, "b", false);
    recipe_await_line(a.client, name, 2);
    assert_int_equal(hf_break(b.client, name, a.token, RECIPE_LIMIT_MS), 0);
    await(&a.deposed, 1);
    assert_int_equal(a.why, HF_ELOST);
    await(&b.elected, 1);
    recipe_await_line(a.client, name, 2);
    assert_int_equal(hf_election_resign(b.election), 0);
    await(&a.elected, 2);
    assert_true(a.token > b.token);
    withdraw(&a);
    withdraw(&b);
}

static void test_resigning_out_of_the_queue(void **state)
{
    const char      *name = recipe_name();
    struct candidate a = { .elected = 0 }, b = { .elected = 0 };

    (void)state;
    stand(&a, name, NULL, false);
    await(&a.elected, 1);
    stand(&b, name, NULL, false);
    recipe_await_line(a.client, name, 2);
    assert_int_equal(hf_election_resign(b.election), 0);
    recipe_await_line(a.client, name, 1);
    assert_int_equal(hf_election_resign(b.election), 0); /* once more is nothing */
    withdraw(&a);
    recipe_await_line(b.client, name, 0);
    assert_int_equal(b.elected, 0);
    assert_int_equal(hf_election_join(b.election), 0);
    await(&b.elected, 1);
    withdraw(&b);
}

static void test_a_name_in_use_as_another_kind(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open();
    struct hf_lock   *other = NULL;
    struct candidate  a = { .elected = 0 };

    (void)state;
    assert_int_equal(hf_semaphore(client, name, 2, 1, &other), 0);
    assert_int_equal(hf_acquire(other, RECIPE_LIMIT_MS), 0);
    stand(&a, name, NULL, false);
    await(&a.deposed, 1); /* told once, not tried for ever */
    assert_int_equal(a.why, HF_EMISMATCH);
    assert_int_equal(hf_release(other), 0);
    assert_int_equal(hf_election_join(a.election), 0);
    await(&a.elected, 1);
    assert_int_equal(a.deposed, 1);
    withdraw(&a);
    hf_close(client);
}

/* Everybody leads in turn, and never two at once. */
static void test_never_two(void **state)
{
    const char      *name = recipe_name();
    struct candidate crowd[5] = { { .elected = 0 } };
    atomic_int       leaders = 0, most = 0;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        crowd[i].leaders = &leaders;
        crowd[i].most = &most;
        stand(&crowd[i], name, NULL, false);
        recipe_await_line(crowd[0].client, name, i + 1);
    }
    for (int round = 1; round <= 3; round++) {
        for (size_t i = 0; i < 5; i++) { /* in the order they came */
            await(&crowd[i].elected, round);
            assert_int_equal(hf_election_resign(crowd[i].election), 0);
            await(&crowd[i].deposed, round);
            recipe_await_line(crowd[0].client, name,
                              4); /* its place may go a bit later */
            assert_int_equal(hf_election_join(crowd[i].election), 0);
            recipe_await_line(crowd[0].client, name, 5);
        }
    }
    assert_int_equal(most, 1);
    for (size_t i = 0; i < 5; i++)
        withdraw(&crowd[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leadership_passes_on),
        cmocka_unit_test(test_a_deposed_leader_queues_again),
        cmocka_unit_test(test_resigning_out_of_the_queue),
        cmocka_unit_test(test_a_name_in_use_as_another_kind),
        cmocka_unit_test(test_never_two),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
