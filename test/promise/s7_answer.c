/* s7_answer.c - every request is answered exactly once, from process(). */
#include "lib/promise.h"

#include "holdfast.h"

#include <poll.h>

static bool processing;

struct counted {
    struct hf_req  req;
    struct player *player;
    unsigned       answers;
    unsigned       outside;  /* answers that did not come from process() */
    unsigned       repeats;  /* left to submit from done() */
    int            statuses; /* all of them, or-ed */
};

static void on_done(struct hf_req *req)
{
    struct counted *counted = (struct counted *)req;

    counted->answers++;
    counted->outside += !processing;
    counted->statuses |= req->status;
    if (counted->repeats > 0) {
        counted->repeats--;
        counted->player->store->impl->submit(counted->player->store, req);
    }
}

static void submit(struct player *player, struct counted *counted)
{
    counted->player = player;
    counted->req.done = on_done;
    player->store->impl->submit(player->store, &counted->req);
}

static void turn(struct player *player)
{
    processing = true;
    player_turn(player, 10);
    processing = false;
}

static void turn_until(struct player *player, const struct counted *counted,
                       unsigned answers)
{
    hf_time end = hf_now() + 10 * HF_SEC;

    while (counted->answers < answers && hf_now() < end)
        turn(player);
    assert_int_equal(counted->answers, answers);
    for (int i = 0; i < 5; i++)
        turn(player);
    assert_int_equal(counted->answers, answers);
    assert_int_equal(counted->outside, 0);
}

static void each_verb_once(void **state)
{
    struct player  a;
    struct counted enter_ = { .req = { .op = HF_ENTER, .name = "verbs", .id = 1 } };
    struct counted list_ = { .req = { .op = HF_LIST, .name = NULL } };
    struct counted break_ = { .req = { .op = HF_BREAK, .name = "verbs" } };
    struct counted amend_ = { .req = { .op = HF_AMEND, .name = "verbs", .id = 1 } };
    struct counted ask_ = { .req = { .op = HF_ASK, .name = "verbs" } };
    struct counted leave_ = { .req = { .op = HF_LEAVE, .name = "verbs", .id = 1 } };
    struct ask     look_;

    (void)state;
    to_look(&look_, "verbs", 1);
    struct counted read_ = { .req = look_.req };
    name_place(&break_.req, INT64_MAX);
    name_place(&ask_.req, INT64_MAX);
    player_open(&a);
    enter_.req.shape = amend_.req.shape = MUTEX;
    enter_.req.note = "";
    submit(&a, &enter_);
    turn_until(&a, &enter_, 1);
    submit(&a, &read_);
    turn_until(&a, &read_, 1);
    submit(&a, &list_);
    turn_until(&a, &list_, 1);
    submit(&a, &break_);
    turn_until(&a, &break_, 1);
    assert_int_equal(break_.req.status, HF_ENOTFOUND);
    submit(&a, &amend_);
    turn_until(&a, &amend_, 1);
    submit(&a, &ask_);
    turn_until(&a, &ask_, 1);
    assert_int_equal(ask_.req.status, HF_ENOTFOUND);
    submit(&a, &leave_);
    turn_until(&a, &leave_, 1);
    assert_int_equal(enter_.statuses | read_.statuses | list_.statuses, 0);
    assert_int_equal(amend_.statuses, 0);
    player_close(&a);
}

static void many_at_once(void **state)
{
    enum { MANY = 300 };
    static struct counted all[MANY];
    struct player         a;

    (void)state;
    player_open(&a);
    for (int i = 0; i < MANY; i++) {
        all[i] = (struct counted){ .req = { .op = HF_LIST, .name = "many" } };
        submit(&a, &all[i]);
    }
    turn_until(&a, &all[MANY - 1], 1);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(all[i].answers, 1);
        assert_int_equal(all[i].outside, 0);
    }
    player_close(&a);
}

static void again_from_done(void **state)
{
    struct player  a;
    struct counted counted = { .req = { .op = HF_LIST, .name = "again" }, .repeats = 20 };

    (void)state;
    player_open(&a);
    submit(&a, &counted);
    turn_until(&a, &counted, 21);
    player_close(&a);
}

static void a_canceled_watch(void **state)
{
    struct player a;
    struct ask    ask, watching;

    (void)state;
    player_open(&a);
    enter(&a, "watch", MUTEX, &ask);
    to_watch(&watching, "watch", &ask);
    struct counted counted = { .req = watching.req };
    submit(&a, &counted);
    turn(&a);
    assert_int_equal(counted.answers, 0);
    a.store->impl->cancel(a.store, &counted.req);
    assert_int_equal(counted.answers, 0);
    turn_until(&a, &counted, 1);
    assert_int_equal(counted.req.status, HF_ECANCELED);
    player_close(&a);
}

/* Submit a request, turn so often, cancel it, and wait for its end. */
static void submit_and_cancel(struct player *player, struct counted *counted, int turns)
{
    submit(player, counted);
    while (turns-- > 0)
        turn(player);
    player->store->impl->cancel(player->store, &counted->req);
    turn_until(player, counted, 1);
}

/* What is canceled before the store has seen it ends early: nothing was done. */
static void canceled_before_it_was_seen(void **state)
{
    static const enum hf_op ops[] = { HF_ENTER, HF_LIST,  HF_BREAK,
                                      HF_ASK,   HF_PROVE, HF_EXAMINE };
    struct player           a;
    struct ask              ask, other;

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "unseen", MUTEX, &ask);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        struct counted counted = { .req = { .op = ops[i],
                                            .name = "unseen",
                                            .id = id + (ops[i] == HF_ENTER),
                                            .shape = MUTEX,
                                            .note = "" } };
        if (ops[i] == HF_BREAK || ops[i] == HF_ASK)
            name_place(&counted.req, place_of(&ask));
        submit_and_cancel(&a, &counted, 0);
        assert_int_equal(counted.req.status, HF_ECANCELED);
    }
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            to_look(&other, "unseen", id);
        else
            to_watch(&other, "unseen", &ask);
        struct counted counted = { .req = other.req };
        submit_and_cancel(&a, &counted, 0);
        assert_int_equal(counted.req.status, HF_ECANCELED);
    }
    assert_int_equal(look(&a, "unseen", id, &ask), 0);
    assert_true(is_granted(&ask)); /* BREAK did not take it away */
    assert_null(asked_of(&ask));
    assert_int_equal(length(&a, "unseen"), 1);
    player_close(&a);
}

/* What has been begun is heard to the end: a place that was taken is never kept quiet
 * about, nor one that was broken. */
static void canceled_after_it_was_begun(void **state)
{
    struct player  a;
    struct ask     ask;
    struct counted enter_ = { .req = { .op = HF_ENTER, .name = "begun", .note = "" } };
    struct counted break_ = { .req = { .op = HF_BREAK, .name = "begun" } };

    (void)state;
    player_open(&a);
    enter_.req.id = ++a.ids;
    enter_.req.shape = MUTEX;
    submit_and_cancel(&a, &enter_, 1);
    assert_true(enter_.req.status == 0 || enter_.req.status == HF_ECANCELED);
    assert_int_equal(list(&a, "begun", &ask), 0);
    assert_int_equal(ask.count, enter_.req.status == 0);
    if (ask.count == 1) {
        name_place(&break_.req, place_listed(&ask.seen[0]));
        submit_and_cancel(&a, &break_, 1);
        assert_true(break_.req.status == 0 || break_.req.status == HF_ECANCELED);
        assert_int_equal(length(&a, "begun"), break_.req.status != 0);
    }
    player_close(&a);
}

/* Of a WATCH by somebody outside the server may be just being told. */
static void a_watch_from_outside_canceled_at_any_time(void **state)
{
    struct player a;

    (void)state;
    player_open(&a);
    for (int turns = 0; turns < 4; turns++) {
        struct counted counted = { .req = { .op = HF_WATCH, .name = "outside" } };
        submit_and_cancel(&a, &counted, turns);
        /* On any change: to be told too often is no fault. */
        assert_true(counted.req.status == 0 || counted.req.status == HF_ECANCELED);
    }
    player_close(&a);
}

/* A LEAVE is wanted in any case. */
static void a_leave_cannot_be_called_off(void **state)
{
    struct player  a;
    struct ask     ask;
    struct counted counted = { .req = { .op = HF_LEAVE, .name = "call_off" } };

    (void)state;
    player_open(&a);
    counted.req.id = enter(&a, "call_off", MUTEX, &ask);
    submit(&a, &counted);
    a.store->impl->cancel(a.store, &counted.req);
    turn_until(&a, &counted, 1);
    assert_int_equal(counted.req.status, 0);
    assert_int_equal(list(&a, "call_off", &ask), 0);
    assert_int_equal(ask.count, 0);
    player_close(&a);
}

/* Nor can an AMEND: it may have been carried out, and others are in by now. */
static void nor_can_an_amend(void **state)
{
    struct player  a;
    struct ask     ask;
    struct counted counted = { .req = { .op = HF_AMEND, .name = "amend_off" } };

    (void)state;
    player_open(&a);
    counted.req.id = enter(&a, "amend_off", WRITER, &ask);
    counted.req.shape = READER;
    submit(&a, &counted);
    a.store->impl->cancel(a.store, &counted.req);
    turn_until(&a, &counted, 1);
    assert_int_equal(counted.req.status, 0);
    assert_int_equal(list(&a, "amend_off", &ask), 0);
    assert_int_equal(ask.count, 1);
    assert_int_equal(ask.seen[0].shape.weight, 1);
    player_close(&a);
}

/* With nothing to do it neither wants to be called now nor looks readable. */
static void idle_is_quiet(void **state)
{
    struct player a;
    struct ask    ask, watching;

    (void)state;
    player_open(&a);
    enter(&a, "idle", MUTEX, &ask);
    watch(&a, "idle", &ask, &watching);
    hf_time end = hf_now() + 200 * HF_MS;
    int     turns = 0;
    while (hf_now() < end) {
        player_turn(&a, 200);
        turns++;
    }
    assert_in_range(turns, 1, 20);
    assert_int_equal(watching.answers, 0);
    player_close(&a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_verb_once),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(again_from_done),
        cmocka_unit_test(a_canceled_watch),
        cmocka_unit_test(canceled_before_it_was_seen),
        cmocka_unit_test(canceled_after_it_was_begun),
        cmocka_unit_test(a_watch_from_outside_canceled_at_any_time),
        cmocka_unit_test(a_leave_cannot_be_called_off),
        cmocka_unit_test(nor_can_an_amend),
        cmocka_unit_test(idle_is_quiet),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
