/* election_races.c - elections: quick joins and resignations, and leaders whose session
 * ends. */
#include "lib/candidate.h"
#include "lib/killed_holder.h"

#include <stdio.h>

static void test_joining_and_resigning_quickly_keeps_one_place(void **state)
{
    const char      *name = recipe_name();
    struct candidate leader, me;

    (void)state;
    candidate_join(&leader, name);
    recipe_await_count(&leader.elected, 1);
    candidate_join(&me, name);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(hf_election_join(me.election), 0);
        assert_int_equal(hf_election_resign(me.election), 0);
        assert_int_equal(hf_election_join(me.election), 0);
    }
    recipe_await_line(leader.client, name, 2);
    recipe_await(hf_election_lock(me.election), HF_WAITING);
    candidate_leave(&leader);
    recipe_await_count(&me.elected, 1);
    assert_int_equal(hf_election_resign(me.election), 0);
    recipe_await_line(me.client, name, 0);
    assert_int_equal(me.deposed, 1);
    assert_int_equal(me.unpaired, 0);
    candidate_leave(&me);
}

static void test_resigning_and_joining_at_once_passes_leadership_on(void **state)
{
    const char      *name = recipe_name();
    struct candidate crowd[2];

    (void)state;
    candidates_join(crowd, 2, name);
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
    candidate_leave(&crowd[0]);
    candidate_leave(&crowd[1]);
}

/* Also before a callback can say so, and if it has joined again. */
static void test_a_leader_that_has_resigned_does_not_lead(void **state)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client;
    struct candidate  me;

    (void)state;
    options.flags = HF_NO_KEEPER;
    assert_int_equal(hf_open(recipe_url(), &options, &client), 0);
    candidate_join_in(&me, client, recipe_name());
    int64_t end = recipe_ms() + 10000;
    while (me.elected == 0 && recipe_ms() < end)
        assert_int_equal(hf_process(client), 0);
    assert_true(hf_election_leads(me.election));
    uint64_t token = me.token;
    assert_int_equal(hf_election_resign(me.election), 0);
    assert_false(hf_election_leads(me.election));
    assert_int_equal(hf_election_join(me.election), 0);
    assert_false(hf_election_leads(me.election));
    while (me.elected == 1 && recipe_ms() < end)
        assert_int_equal(hf_process(client), 0);
    assert_int_equal(me.deposed, 1);
    assert_int_equal(me.elected, 2);
    assert_true(me.token > token);
    assert_true(hf_election_leads(me.election));
    hf_election_free(me.election);
    hf_close(client);
}

static void test_an_election_freed_at_once_leaves_no_place(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open();

    (void)state;
    for (int i = 0; i < 50; i++) {
        struct candidate me;
        candidate_join_in(&me, client, name);
        hf_election_free(me.election);
    }
    recipe_await_line(client, name, 0);
    hf_close(client);
}

static void test_a_dead_leader_is_succeeded(void **state)
{
    const char          *name = recipe_name();
    struct candidate     me;
    struct killed_holder dying;

    (void)state;
    killed_holder_hold(&dying, hf_mutex,
                       name); /* a leader holds the mutex of that name */
    candidate_join(&me, name);
    recipe_await_line(me.client, name, 2);
    assert_int_equal(me.elected, 0);
    killed_holder_kill(&dying, me.client, name, 1);
    recipe_await_count(&me.elected, 1);
    candidate_leave(&me);
}

/* The old leader knows by its own clock.  It leads again only with a new place and a
 * higher token. */
static void test_an_expired_leader_is_deposed_before_the_next_is_elected(void **state)
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
    candidate_join_in(&old, client, name);
    int64_t end = recipe_ms() + 10000;
    while (old.elected == 0 && recipe_ms() < end)
        assert_int_equal(hf_process(client), 0);
    uint64_t token = old.token;
    candidate_join(&next, name);
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
    candidate_leave(&old);
    candidate_leave(&next);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joining_and_resigning_quickly_keeps_one_place),
        cmocka_unit_test(test_resigning_and_joining_at_once_passes_leadership_on),
        cmocka_unit_test(test_a_leader_that_has_resigned_does_not_lead),
        cmocka_unit_test(test_an_election_freed_at_once_leaves_no_place),
        cmocka_unit_test(test_a_dead_leader_is_succeeded),
        cmocka_unit_test(test_an_expired_leader_is_deposed_before_the_next_is_elected),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
