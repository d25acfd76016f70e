/* lease_pace.c - ZooKeeper's quorum rule over time: sessions whose T changes; when to
 * write and when to reconnect, which decide how much time a holder has left at the worst
 * moment.
 */
/* one thread */
#include "core/lease.h"
#include "unit/lib/quorum_lease.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* ---- A session whose time changes --------------------------------------------- */

static void test_a_shorter_session_brings_the_deadline_nearer(void **state)
{
    struct hf_lease_quorum lease = connected(0);

    (void)state;
    answer(&lease, 20 * HF_MS, true);
    assert_int_equal(lease.deadline, LEASED);
    /* T is 4 s from now on, and the leader may have counted them from 2 s. */
    hf_lease_quorum_connected(&lease, 2 * HF_SEC, 2010 * HF_MS, 4 * HF_SEC);
    assert_int_equal(lease.deadline, 2 * HF_SEC + 3992 * HF_MS);
    answer(&lease, 2020 * HF_MS, true);
    assert_int_equal(lease.deadline, 2 * HF_SEC + 3992 * HF_MS);
    /* T/4 is 1 s now: what was answered by 3.1 - 1.04 = 2.06 s, the write of 2.02 s. */
    answer(&lease, 3100 * HF_MS, true);
    assert_int_equal(lease.deadline, 2020 * HF_MS + 3992 * HF_MS);
}

static void test_a_shorter_session_does_not_move_a_near_deadline(void **state)
{
    struct hf_lease_quorum lease = connected(0);

    (void)state;
    answer(&lease, 20 * HF_MS, true);
    hf_lease_quorum_connected(&lease, 9 * HF_SEC, 9010 * HF_MS, 4 * HF_SEC);
    assert_int_equal(lease.deadline, LEASED);
}

/* A new leader may count by the T that the session began with. */
static void test_a_longer_session_counts_as_the_shortest(void **state)
{
    struct hf_lease_quorum lease = connected(0);

    (void)state;
    hf_lease_quorum_connected(&lease, 1 * HF_SEC, 1010 * HF_MS, 5 * T);
    answer(&lease, 1020 * HF_MS, true);
    assert_int_equal(lease.deadline, 1 * HF_SEC + LEASED);
    assert_int_equal(lease.timeout, T);
}

/* ---- When to write and when to connect ----------------------------------------- */

struct idle {
    hf_time  least; /* left, just before an answer */
    unsigned writes;
    bool     connected; /* again */
};

/* For 5 T only the requests of the lease are sent.  Every answer takes `takes`, but the
 * answer of the write `slow` takes `late`. */
static struct idle be_idle(struct hf_lease_quorum *lease, hf_time now, hf_time takes,
                           unsigned slow, hf_time late)
{
    struct idle idle = { .least = INT64_MAX };
    hf_time     end = now + 5 * T;

    while (now < end && !idle.connected) {
        hf_time sent = hf_lease_quorum_write_at(lease, now);
        hf_time answered = sent + (++idle.writes == slow ? late : takes);
        idle.connected = hf_lease_quorum_connect_at(lease, true) <= answered;
        if (lease->deadline - answered < idle.least)
            idle.least = lease->deadline - answered;
        hf_lease_quorum_answered(lease, sent, answered, true);
        idle.connected |= hf_lease_quorum_connect_at(lease, false) <= answered;
        now = sent;
    }
    return idle;
}

/* Nearly 3/5 T are left at any moment. */
static void test_an_idle_holder_has_time_left(void **state)
{
    struct hf_lease_quorum lease = connected(0);

    (void)state;
    answer(&lease, 10 * HF_MS, true);
    struct idle idle = be_idle(&lease, 10 * HF_MS, 10 * HF_MS, 0, 0);
    assert_true(idle.least > T * 59 / 100);
    assert_true(idle.writes == 38);
    assert_false(idle.connected);
}

/* Less at a distance: the gap grows by three round trips. */
static void test_a_holder_far_away_has_time_left(void **state)
{
    struct hf_lease_quorum lease;

    (void)state;
    hf_lease_quorum_init(&lease, T, 0);
    hf_lease_quorum_connected(&lease, 0, 300 * HF_MS, T);
    hf_lease_quorum_answered(&lease, 300 * HF_MS, 600 * HF_MS, true);
    struct idle idle = be_idle(&lease, 300 * HF_MS, 300 * HF_MS, 0, 0);
    assert_true(idle.least > T * 45 / 100);
    assert_false(idle.connected);
}

/* A waiter that pinged every T/6, and is granted at any moment between two pings. */
static void test_a_holder_that_only_pinged_has_time_left(void **state)
{
    (void)state;
    for (hf_time after = 0; after < T / 6; after += 100 * HF_MS) {
        struct hf_lease_quorum lease = connected(0);
        for (int i = 1; i <= 12; i++)
            answer(&lease, i * T / 6, false);
        hf_time now = 2 * T + after;
        answer(&lease, now, true);
        assert_true(lease.deadline - now > T * 55 / 100);
        struct idle idle = be_idle(&lease, now, 10 * HF_MS, 0, 0);
        assert_true(idle.least > T * 40 / 100);
        assert_false(idle.connected);
    }
}

static void test_a_late_answer_is_survived_or_makes_us_reconnect(void **state)
{
    (void)state;
    for (hf_time late = 100 * HF_MS; late < 5 * HF_SEC; late += 100 * HF_MS) {
        struct hf_lease_quorum lease = connected(0);
        answer(&lease, 10 * HF_MS, true);
        struct idle idle = be_idle(&lease, 10 * HF_MS, 10 * HF_MS, 9, late);
        assert_true(idle.connected == (late >= T / 8));
        assert_true(late > 2 * HF_SEC || idle.least > T * 37 / 100);
    }
}

static void test_no_answer_makes_us_reconnect_in_time(void **state)
{
    struct hf_lease_quorum lease = connected(0);

    (void)state;
    answer(&lease, 10 * HF_MS, true);
    be_idle(&lease, 10 * HF_MS, 10 * HF_MS, 0, 0);
    assert_int_equal(lease.deadline - hf_lease_quorum_connect_at(&lease, true),
                     T * 3 / 8);
    /* Connected, but no write has been answered yet. */
    hf_lease_quorum_connected(&lease, lease.deadline, lease.deadline, T);
    assert_int_equal(lease.deadline - hf_lease_quorum_connect_at(&lease, false),
                     T * 3 / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_shorter_session_brings_the_deadline_nearer),
        cmocka_unit_test(test_a_shorter_session_does_not_move_a_near_deadline),
        cmocka_unit_test(test_a_longer_session_counts_as_the_shortest),
        cmocka_unit_test(test_an_idle_holder_has_time_left),
        cmocka_unit_test(test_a_holder_far_away_has_time_left),
        cmocka_unit_test(test_a_holder_that_only_pinged_has_time_left),
        cmocka_unit_test(test_a_late_answer_is_survived_or_makes_us_reconnect),
        cmocka_unit_test(test_no_answer_makes_us_reconnect_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
