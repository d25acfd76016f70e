/* lease.c - the deadlines, against the formulas of the design.
 *
 * (The fourth rule, a kernel lock, needs no lease: its
 * deadline is HF_NEVER, which the stores' tests look at.)
 */
/* one thread */
#include "core/lease.h"
#include "unit/lib/quorum_lease.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* ---- Lease and observed lease ------------------------------------------------------ */

static const hf_time spans[] = {
    1,
    2,
    499,
    500,
    501,
    999,
    1000,
    1001,
    HF_MS,
    3 * HF_SEC + 1,
    15 * HF_SEC,
    30 * HF_SEC + 499,
    86400 * HF_SEC,
    200 * 86400 * HF_SEC,
};

#define SPANS (sizeof spans / sizeof *spans)

/* x = ttl (1 - 1/500) and y = ttl (1 + 1/500), rounded to the safe side: the
 * whole number next to it that is not later, or not earlier. */
static void test_rate_margin(void **state)
{
    (void)state;
    for (size_t i = 0; i < SPANS; i++) {
        hf_time ttl = spans[i], x = hf_lease_shorter(ttl), y = hf_lease_longer(ttl);
        assert_true(500 * x <= 499 * ttl && 500 * (x + 1) > 499 * ttl);
        assert_true(500 * y >= 501 * ttl && 500 * (y - 1) < 501 * ttl);
    }
}

static void test_the_holder_counts_from_the_sending(void **state)
{
    (void)state;
    assert_int_equal(hf_lease_deadline(1000 * HF_MS, 15 * HF_SEC, 50 * HF_MS),
                     1000 * HF_MS + 14970 * HF_MS - 50 * HF_MS);
    for (size_t i = 0; i < SPANS; i++)
        assert_int_equal(hf_lease_deadline(77, spans[i], 13),
                         77 + hf_lease_shorter(spans[i]) - 13);
}

static void test_the_contender_counts_from_the_answer(void **state)
{
    (void)state;
    assert_int_equal(hf_lease_stale_at(2 * HF_SEC, 15 * HF_SEC), 17030 * HF_MS);
    for (size_t i = 0; i < SPANS; i++)
        assert_int_equal(hf_lease_stale_at(77, spans[i]), 77 + hf_lease_longer(spans[i]));
}

/* A renewal sent at 0 is read by a contender at `read`.  Let the holder's clock
 * be slow by 1/1000 and the contender's fast by as much: in true time the one
 * must still have stopped before the other takes over. */
static void test_no_overlap_when_clocks_differ_by_the_margin(void **state)
{
    (void)state;
    for (size_t i = 0; i < SPANS; i++) {
        if (spans[i] < 1000 || spans[i] > 86400 * HF_SEC)
            continue;
        hf_time by_holder = hf_lease_deadline(0, spans[i], 0);
        hf_time by_contender = hf_lease_stale_at(0, spans[i]);
        hf_time stops = by_holder + by_holder / 999 + 1;        /* / (1 - 1/1000) */
        hf_time takes = by_contender - by_contender / 1001 - 1; /* / (1 + 1/1000) */
        assert_true(stops <= takes);
    }
}

/* ---- ZooKeeper, by hand -------------------------------------------------------- */

/* T = 12 s, so T/4 = 3 s and T(1-rho) = 11.976 s.  Every answer takes 10 ms, so
 * delta = 40 ms: a write sent at s proves what was answered by s - 3.04 s. */

static void test_pings_prove_nothing(void **state)
{
    struct hf_lease_quorum lease = connected(0);

    (void)state;
    for (int i = 1; i < 100; i++)
        answer(&lease, i * HF_SEC, false);
    assert_int_equal(lease.deadline, 0);
}

static void test_connecting_counts_once_a_write_is_committed(void **state)
{
    struct hf_lease_quorum lease = connected(5 * HF_SEC);

    (void)state;
    assert_int_equal(lease.deadline, 0);
    answer(&lease, 5 * HF_SEC + 20 * HF_MS, true);
    assert_int_equal(lease.deadline, 5 * HF_SEC + LEASED);
}

static void test_a_write_proves_what_was_answered_long_enough_before(void **state)
{
    struct hf_lease_quorum lease = connected(0);

    (void)state;
    answer(&lease, 1 * HF_SEC, false);
    answer(&lease, 2 * HF_SEC, false);
    answer(&lease, 3 * HF_SEC, false);
    /* Answered by 5 - 3.04 = 1.96 s: the ping of 1 s. */
    answer(&lease, 5 * HF_SEC, true);
    assert_int_equal(lease.deadline, 1 * HF_SEC + LEASED);
    /* By 6.06 - 3.04 = 3.02 s: the ping of 3 s. */
    answer(&lease, 6060 * HF_MS, true);
    assert_int_equal(lease.deadline, 3 * HF_SEC + LEASED);
    /* A write is an answer, too.  By 8.05 - 3.04 = 5.01 s: the write of 5 s. */
    answer(&lease, 8050 * HF_MS, true);
    assert_int_equal(lease.deadline, 5 * HF_SEC + LEASED);
}

static void test_the_gap_to_the_nanosecond(void **state)
{
    (void)state;
    for (hf_time short_by = 0; short_by <= 1; short_by++) {
        struct hf_lease_quorum lease = connected(0);
        answer(&lease, 1 * HF_SEC, false); /* answered at 1.01 s */
        answer(&lease, 4050 * HF_MS - short_by, true);
        assert_int_equal(lease.deadline, (short_by == 0 ? 1 * HF_SEC : 0) + LEASED);
    }
}

static void test_a_slow_answer_widens_the_gap(void **state)
{
    struct hf_lease_quorum lease = connected(0);

    (void)state;
    answer(&lease, 1 * HF_SEC, false);
    hf_lease_quorum_answered(&lease, 2 * HF_SEC, 2500 * HF_MS, false);
    /* delta = 2 x 500 + 20 ms: by 5 - 4.02 = 0.98 s there is only the connect. */
    answer(&lease, 5 * HF_SEC, true);
    assert_int_equal(lease.deadline, LEASED);
    /* By 5.1 - 4.02 = 1.08 s: the ping of 1 s. */
    answer(&lease, 5100 * HF_MS, true);
    assert_int_equal(lease.deadline, 1 * HF_SEC + LEASED);
}

static void test_a_slow_answer_is_forgotten(void **state)
{
    struct hf_lease_quorum lease = connected(0);

    (void)state;
    hf_lease_quorum_answered(&lease, 1 * HF_SEC, 3 * HF_SEC, true);
    answer(&lease, 3 * HF_SEC, false);
    /* The answers since 3 s were fast. */
    answer(&lease, 6050 * HF_MS - 1, true);
    assert_int_equal(lease.deadline, LEASED);
    answer(&lease, 6050 * HF_MS, true);
    assert_int_equal(lease.deadline, 3 * HF_SEC + LEASED);
}

/* Too close to the one before for a mark of its own. */
static void test_a_slow_answer_counts_without_a_mark(void **state)
{
    struct hf_lease_quorum lease = connected(0);

    (void)state;
    answer(&lease, 1 * HF_SEC, false);
    hf_lease_quorum_answered(&lease, 1100 * HF_MS, 1600 * HF_MS, false);
    answer(&lease, 5 * HF_SEC, true); /* the gap is 4.02 s again */
    assert_int_equal(lease.deadline, LEASED);
}

static void test_a_new_connection_starts_over_and_keeps_the_deadline(void **state)
{
    struct hf_lease_quorum lease = connected(0);

    (void)state;
    answer(&lease, 1 * HF_SEC, false);
    answer(&lease, 9 * HF_SEC, false);
    hf_lease_quorum_connected(&lease, 9500 * HF_MS, 9510 * HF_MS, T);
    answer(&lease, 9600 * HF_MS, true);
    assert_int_equal(lease.deadline, 9500 * HF_MS + LEASED);
    hf_time before = lease.deadline;
    hf_lease_quorum_connected(&lease, 9700 * HF_MS, 9710 * HF_MS, T);
    assert_int_equal(lease.deadline, before);
    answer(&lease, 13 * HF_SEC, true);
    /* Not the ping of 9 s: it was on another connection. */
    assert_int_equal(lease.deadline, 9700 * HF_MS + LEASED);
}

static void test_the_guard_is_subtracted(void **state)
{
    struct hf_lease_quorum lease;

    (void)state;
    hf_lease_quorum_init(&lease, T, 350 * HF_MS);
    hf_lease_quorum_connected(&lease, 0, 10 * HF_MS, T);
    answer(&lease, 20 * HF_MS, true);
    assert_int_equal(lease.deadline, LEASED - 350 * HF_MS);
}

/* ---- ZooKeeper, at random ------------------------------------------------------ */

#define ANSWERS 400

/* All answers, and the definition word for word. */
struct history {
    struct hf_lease_mark mark[ANSWERS];
    bool                 apart[ANSWERS]; /* from the last one before that was: T/32 */
    size_t               count, last;
    hf_time              connect;
    hf_time              deadline, bold_deadline;
};

static void history_connected(struct history *history, hf_time sent)
{
    history->count = 0;
    history->connect = sent;
}

static void history_note(struct history *history, hf_time timeout, hf_time sent,
                         hf_time answered)
{
    size_t i = history->count++;

    history->mark[i] = (struct hf_lease_mark){ sent, answered, answered - sent };
    history->apart[i] =
        i == 0 || sent - history->mark[history->last].sent >= timeout / 32;
    if (history->apart[i])
        history->last = i;
}

/* When the newest i was sent, of those apart or of all. */
static hf_time history_newest(const struct history *history, hf_time timeout,
                              hf_time sent, bool all)
{
    hf_time newest = history->connect;

    for (size_t i = 0; i < history->count; i++) {
        hf_time slowest = 0;
        for (size_t j = i; j < history->count; j++)
            if (history->mark[j].slowest > slowest)
                slowest = history->mark[j].slowest;
        hf_time gap = timeout / 4 + 2 * slowest + 20 * HF_MS;
        if ((all || history->apart[i]) && history->mark[i].answered + gap <= sent &&
            history->mark[i].sent > newest)
            newest = history->mark[i].sent;
    }
    return newest;
}

static hf_time later(hf_time a, hf_time b)
{
    return a > b ? a : b;
}

static void history_answered(struct history *history, hf_time timeout, hf_time guard,
                             hf_time sent, hf_time answered, bool committed)
{
    hf_time lease = timeout - (timeout + 499) / 500 - guard;

    history_note(history, timeout, sent, answered);
    if (!committed)
        return;
    history->deadline =
        later(history->deadline, history_newest(history, timeout, sent, false) + lease);
    history->bold_deadline = later(history->bold_deadline,
                                   history_newest(history, timeout, sent, true) + lease);
}

static hf_time between(uint64_t *seed, hf_time least, hf_time most)
{
    return least + (hf_time)(hf_random_next(seed) % (uint64_t)(most - least + 1));
}

/* The ring forgets old answers, which must make no difference, and skips answers that are
 * too close together, which may make the deadline earlier, never later. */
static void one_life(uint64_t seed)
{
    static struct history  history;
    struct hf_lease_quorum lease;
    hf_time                timeout = between(&seed, 2, 40) * HF_SEC;
    hf_time                guard = between(&seed, 0, 400) * HF_MS;
    hf_time                pace = timeout / between(&seed, 3, 300);
    hf_time                sent = between(&seed, 0, HF_SEC), answered = sent;

    hf_lease_quorum_init(&lease, timeout, guard);
    history = (struct history){ 0 };
    for (int i = 0; i < ANSWERS; i++) {
        /* Requests may overlap, but are answered in order, and within T/4. */
        sent += between(&seed, 1, pace);
        if (sent < answered - timeout / 5)
            sent = answered - timeout / 5;
        hf_time least = sent > answered ? sent : answered;
        answered = least + between(&seed, 0, timeout / 20);
        if (i == 0 || between(&seed, 0, 149) == 0) {
            sent = least;
            hf_lease_quorum_connected(&lease, sent, answered, timeout);
            history_connected(&history, sent);
            sent = answered;
            continue;
        }
        bool committed = between(&seed, 0, 2) == 0;
        hf_lease_quorum_answered(&lease, sent, answered, committed);
        history_answered(&history, timeout, guard, sent, answered, committed);
        assert_int_equal(lease.deadline, history.deadline);
        assert_true(lease.deadline <= history.bold_deadline);
    }
    assert_true(lease.deadline > 0);
}

static void test_the_ring_is_as_good_as_unbounded_memory(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 500; seed++)
        one_life(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rate_margin),
        cmocka_unit_test(test_the_holder_counts_from_the_sending),
        cmocka_unit_test(test_the_contender_counts_from_the_answer),
        cmocka_unit_test(test_no_overlap_when_clocks_differ_by_the_margin),
        cmocka_unit_test(test_pings_prove_nothing),
        cmocka_unit_test(test_connecting_counts_once_a_write_is_committed),
        cmocka_unit_test(test_a_write_proves_what_was_answered_long_enough_before),
        cmocka_unit_test(test_the_gap_to_the_nanosecond),
        cmocka_unit_test(test_a_slow_answer_widens_the_gap),
        cmocka_unit_test(test_a_slow_answer_is_forgotten),
        cmocka_unit_test(test_a_slow_answer_counts_without_a_mark),
        cmocka_unit_test(test_a_new_connection_starts_over_and_keeps_the_deadline),
        cmocka_unit_test(test_the_guard_is_subtracted),
        cmocka_unit_test(test_the_ring_is_as_good_as_unbounded_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
