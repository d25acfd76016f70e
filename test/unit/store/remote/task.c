/* task.c - requests while a store works on them. */
/* one thread */
#include "unit/lib/remote_fake.h"

#include <stdlib.h>

/* ---- Order --------------------------------------------------------------------- */

static void requests_begin_in_order_and_end_with_their_answers(void **state)
{
    (void)state;
    fake_submit(1, HF_ENTER);
    fake_submit(2, HF_LIST);
    fake_submit(3, HF_LEAVE);
    fake_assert_told("");
    fake_run();
    fake_assert_told("b1 b2 b3");
    hf_task_finish(fake_task(2), 0);
    fake_assert_told("e2 d2 f2");
    hf_task_fail(fake_task(1), HF_EFULL, "%d wait", 7);
    assert_int_equal(fake.req[1].status, HF_EFULL);
    assert_string_equal(fake.remote.base.errmsg, "7 wait");
    hf_task_finish(fake_task(3), 0);
    fake_assert_told("e1 d1 f1 e3 d3 f3");
    assert_null(fake.remote.tasks);
}

static void a_repeated_request_comes_first(void **state)
{
    (void)state;
    fake_submit(1, HF_ENTER);
    fake_submit(2, HF_LIST);
    fake_run();
    fake_submit(3, HF_LIST);
    hf_task_again(fake_task(1));
    hf_task_again(fake_task(2));
    fake_assert_told("b1 b2 e1 f1 e2 f2");
    fake_run();
    fake_assert_told("b1 b2 b3");
    assert_int_equal(fake.answers[1] + fake.answers[2], 0);
}

static void no_request_begins_before_the_store_is_ready(void **state)
{
    (void)state;
    fake_dial(0);
    fake_submit(1, HF_ENTER);
    fake_run();
    fake_assert_told("");
    fake_dial(1);
    fake_run();
    fake_assert_told("b1");
}

/* ---- Canceled ------------------------------------------------------------------ */

static void canceled_while_waiting_all_but_leave_and_downgrade_end(void **state)
{
    (void)state;
    fake_dial(0);
    for (enum hf_op op = HF_ENTER; op <= HF_DIAGNOSE; op++) {
        fake_submit(op, op);
        fake_cancel(op);
    }
    fake_assert_told("");
    fake_run();
    for (enum hf_op op = HF_ENTER; op <= HF_DIAGNOSE; op++) {
        bool ends = op != HF_LEAVE && op != HF_DOWNGRADE;
        assert_int_equal(fake.answers[op], ends);
        assert_int_equal(fake.req[op].status, ends ? HF_ECANCELED : 1);
    }
    fake_forget_told();
    fake_dial(1);
    fake_run();
    fake_assert_told("b3 b6");
}

/* Not only in the next turn. */
static void cancel_the_next(struct hf_req *it)
{
    if (it->id < 3)
        fake_cancel(it->id + 1);
}

static void canceled_by_the_done_of_another(void **state)
{
    (void)state;
    fake.at_once = true;
    fake.in_done = cancel_the_next;
    fake_submit(1, HF_ENTER);
    fake_submit(2, HF_ENTER);
    fake_run();
    fake_assert_told("b1 e1 d1 f1 d2");
    assert_int_equal(fake.req[2].status, HF_ECANCELED);
}

static void canceled_at_work_only_a_watch_ends(void **state)
{
    (void)state;
    for (enum hf_op op = HF_ENTER; op <= HF_DIAGNOSE; op++)
        fake_submit(op, op);
    fake_run();
    fake_forget_told();
    for (enum hf_op op = HF_ENTER; op <= HF_DIAGNOSE; op++)
        fake_cancel(op);
    fake_cancel(HF_WATCH); /* canceling twice is no error */
    fake_assert_told("");
    fake_run();
    fake_assert_told("w2 e2 d2 f2");
    assert_int_equal(fake.req[HF_WATCH].status, HF_ECANCELED);
}

/* It leaves the list of requests to end. */
static void a_canceled_watch_is_answered_first(void **state)
{
    (void)state;
    for (uint64_t id = 1; id <= 3; id++)
        fake_submit(id, HF_WATCH);
    fake_run();
    for (uint64_t id = 1; id <= 3; id++)
        fake_cancel(id);
    fake_forget_told();
    hf_task_finish(fake_task(2), 0);
    fake_assert_told("e2 d2 f2");
    fake_run();
    fake_assert_told("w3 e3 d3 f3 w1 e1 d1 f1");
    assert_int_equal(fake.req[2].status, 0);
}

static void a_canceled_watch_in_flight_ends_with_its_answer(void **state)
{
    (void)state;
    fake_submit(1, HF_WATCH);
    fake_run();
    fake_send(fake.req[1].work);
    fake_cancel(1);
    fake_run();
    fake_assert_told("b1 w1");
    hf_task_finish(fake_task(1), HF_ECANCELED);
    assert_int_equal(fake.answers[1], 1);
}

/* Its call had failed, and was about to be repeated. */
static void a_canceled_request_is_not_repeated(void **state)
{
    (void)state;
    fake_submit(1, HF_WATCH);
    fake_run();
    fake_send(fake.req[1].work);
    fake_cancel(1);
    fake_run();
    fake_dial(0);
    hf_task_again(fake_task(1));
    fake_run();
    assert_int_equal(fake.answers[1], 1);
    assert_int_equal(fake.req[1].status, HF_ECANCELED);
}

/* ---- Refused ------------------------------------------------------------------- */

static void a_refused_link_fails_requests_but_leave_waits(void **state)
{
    (void)state;
    fake_submit(5, HF_LIST);
    fake_run();
    hf_task_again(fake_task(5));
    fake_submit(1, HF_ENTER);
    fake_submit(2, HF_LEAVE);
    fake_submit(3, HF_LEAVE);
    fake.place = 2;
    fake_dial(HF_EDENIED);
    fake_forget_told();
    fake_run();
    fake_assert_told("d5 d1 d3");
    assert_int_equal(fake.req[5].status, HF_EDENIED);
    assert_int_equal(fake.req[1].status, HF_EDENIED);
    assert_int_equal(fake.req[3].status, 0); /* the place does not exist */
    fake_dial(1);
    fake_run();
    fake_assert_told("b2");
}

/* ---- Lost ---------------------------------------------------------------------- */

static void submit_once_more(struct hf_req *it)
{
    if (fake.answers[it->id] == 1)
        fake_submit(it->id, it->op);
}

static void requests_after_a_lost_session_belong_to_the_next(void **state)
{
    (void)state;
    fake_submit(1, HF_WATCH);
    fake_submit(2, HF_ENTER);
    fake_run();
    hf_task_again(fake_task(2));
    fake_submit(3, HF_LIST);
    fake_forget_told();
    fake.in_done = submit_once_more;
    fake.remote.base.link = HF_LINK_UP;
    fake.remote.base.alive_until = 7;
    hf_remote_lose(&fake.remote);
    fake_assert_told("l0 e1 d1 f1 d2 d3");
    assert_int_equal(fake.remote.base.link, HF_LINK_LOST);
    assert_int_equal(fake.remote.base.alive_until, 0);
    fake_run();
    fake_assert_told("b1 b2 b3");
}

/* ---- Turns --------------------------------------------------------------------- */

static void submit_for_ever(struct hf_req *it)
{
    fake_submit(it->id, it->op);
}

static void a_request_that_repeats_for_ever_does_not_block_process(void **state)
{
    (void)state;
    fake.at_once = true;
    fake.in_done = submit_for_ever;
    fake_submit(1, HF_LIST);
    assert_true(hf_remote_run(&fake.remote));
    fake_forget_told();
    assert_in_range(fake.answers[1], 2, 100);
}

/* They may be a group. */
static void all_waiting_requests_begin_in_one_turn(void **state)
{
    (void)state;
    for (uint64_t id = 1; id <= FAKE_MANY; id++)
        fake_submit(id, HF_ENTER);
    fake_run();
    for (uint64_t id = 1; id <= FAKE_MANY; id++)
        assert_non_null(fake.req[id].work);
    fake_forget_told();
}

/* So many that others would wait too long; the last few are a group. */
static void a_turn_ends_between_groups(void **state)
{
    enum { ALONE = 4090, GROUP = 10, BEHIND = 5, ALL = ALONE + GROUP + BEHIND };
    struct hf_req *req = calloc(ALL, sizeof *req);

    (void)state;
    assert_non_null(req);
    for (int i = 0; i < ALL; i++) {
        req[i].group = i >= ALONE && i < ALONE + GROUP ? 7 : 0;
        fake_submit_this(&req[i], HF_WATCH);
    }
    assert_true(hf_remote_run(&fake.remote));
    for (int i = 0; i < ALL; i++)
        assert_int_equal(req[i].work != NULL, i < ALONE + GROUP);
    fake_run();
    for (int i = 0; i < ALL; i++)
        assert_non_null(req[i].work);
    fake_stop(NULL);
    free(req);
    fake_start(NULL);
}

/* However many there are: a renewal must not wait long behind them.  A group is not split. */
static void only_so_many_calls_are_in_flight(void **state)
{
    enum { GROUP = 10, FIRST = HF_FLYING_MAX - 1 + GROUP, ALL = HF_FLYING_MAX * 3 };
    struct hf_req *req = calloc(ALL, sizeof *req);
    int            begun, answered = 0;

    (void)state;
    assert_non_null(req);
    for (int i = 0; i < ALL; i++) {
        req[i].group = i >= FIRST - GROUP && i < FIRST ? 7 : 0;
        fake_submit_this(&req[i], HF_ENTER);
    }
    fake_run(); /* no busy loop */
    assert_int_equal(fake.remote.flying, FIRST);
    for (int i = 0; i < ALL; i++)
        assert_int_equal(req[i].work != NULL, i < FIRST);
    for (; answered < ALL; answered++) {
        struct hf_task *task = req[answered].work;
        assert_non_null(task);
        fake_answer(task);
        hf_task_finish(task, 0);
        fake_run();
        assert_in_range(fake.remote.flying, ALL - answered > HF_FLYING_MAX ? 1 : 0,
                        FIRST);
        for (begun = answered + 1; begun < ALL && req[begun].work != NULL;)
            begun++;
        assert_int_equal(fake.remote.flying, begun - answered - 1);
    }
    assert_null(fake.remote.tasks);
    fake_forget_told();
    free(req);
}

static void closing_calls_no_done(void **state)
{
    (void)state;
    fake_submit(1, HF_WATCH);
    fake_submit(2, HF_WATCH);
    fake_run();
    fake_cancel(2);
    fake_submit(3, HF_ENTER);
    fake_forget_told();
    hf_remote_hush(&fake.remote);
    hf_remote_finish(&fake.remote);
    fake_assert_told("e1 f1 e2 f2");
}

/* The answer to the farewell may say that the session has ended. */
static void a_session_lost_while_closing(void **state)
{
    (void)state;
    fake_submit(1, HF_WATCH);
    fake_run();
    fake_submit(2, HF_ENTER);
    fake_forget_told();
    hf_remote_hush(&fake.remote);
    hf_remote_lose(&fake.remote);
    fake_assert_told("l0 e1 f1");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fake_start, fake_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(requests_begin_in_order_and_end_with_their_answers),
        CASE(a_repeated_request_comes_first),
        CASE(no_request_begins_before_the_store_is_ready),
        CASE(canceled_while_waiting_all_but_leave_and_downgrade_end),
        CASE(canceled_by_the_done_of_another),
        CASE(canceled_at_work_only_a_watch_ends),
        CASE(a_canceled_watch_is_answered_first),
        CASE(a_canceled_watch_in_flight_ends_with_its_answer),
        CASE(a_canceled_request_is_not_repeated),
        CASE(a_refused_link_fails_requests_but_leave_waits),
        CASE(requests_after_a_lost_session_belong_to_the_next),
        CASE(a_request_that_repeats_for_ever_does_not_block_process),
        CASE(all_waiting_requests_begin_in_one_turn),
        CASE(a_turn_ends_between_groups),
        CASE(only_so_many_calls_are_in_flight),
        CASE(closing_calls_no_done),
        CASE(a_session_lost_while_closing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
