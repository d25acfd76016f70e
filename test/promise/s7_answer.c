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
    int            statuses; /* of all answers, or-ed */
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

static void each_verb_is_answered_once(void **state)
{
    struct player  a;
    struct counted enter_ = { .req = { .op = HF_ENTER, .name = "verbs", .id = 1 } };
    struct counted list_ = { .req = { .op = HF_LIST, .name = NULL } };
    struct counted break_ = { .req = { .op = HF_BREAK, .name = "verbs" } };
    struct counted downgrade_ = { .req = {
                                      .op = HF_DOWNGRADE, .name = "verbs", .id = 1 } };
    struct counted ask_ = { .req = { .op = HF_ASK, .name = "verbs" } };
    struct counted leave_ = { .req = { .op = HF_LEAVE, .name = "verbs", .id = 1 } };
    struct request look_;

    (void)state;
    to_look(&look_, "verbs", 1);
    struct counted read_ = { .req = look_.req };
    name_place(&break_.req, INT64_MAX);
    name_place(&ask_.req, INT64_MAX);
    player_open(&a);
    enter_.req.shape = downgrade_.req.shape = MUTEX;
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
    submit(&a, &downgrade_);
    turn_until(&a, &downgrade_, 1);
    submit(&a, &ask_);
    turn_until(&a, &ask_, 1);
    assert_int_equal(ask_.req.status, HF_ENOTFOUND);
    submit(&a, &leave_);
    turn_until(&a, &leave_, 1);
    assert_int_equal(enter_.statuses | read_.statuses | list_.statuses, 0);
    assert_int_equal(downgrade_.statuses, 0);
    player_close(&a);
}

static void many_requests_are_answered_once_each(void **state)
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

static void done_may_submit_again(void **state)
{
    struct player  a;
    struct counted counted = { .req = { .op = HF_LIST, .name = "again" }, .repeats = 20 };

    (void)state;
    player_open(&a);
    submit(&a, &counted);
    turn_until(&a, &counted, 21);
    player_close(&a);
}

static void a_canceled_watch_ends(void **state)
{
    struct player  a;
    struct request request, watching;

    (void)state;
    player_open(&a);
    enter(&a, "watch", MUTEX, &request);
    to_watch(&watching, "watch", &request);
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

/* Submit a request, process so often, cancel it, and wait for its end. */
static void submit_and_cancel(struct player *player, struct counted *counted, int turns)
{
    submit(player, counted);
    while (turns-- > 0)
        turn(player);
    player->store->impl->cancel(player->store, &counted->req);
    turn_until(player, counted, 1);
}

static void a_request_canceled_before_it_began_does_nothing(void **state)
{
    static const enum hf_op ops[] = { HF_ENTER, HF_LIST,   HF_BREAK,
                                      HF_ASK,   HF_VERIFY, HF_DIAGNOSE };
    struct player           a;
    struct request          request, other;

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "unseen", MUTEX, &request);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        struct counted counted = { .req = { .op = ops[i],
                                            .name = "unseen",
                                            .id = id + (ops[i] == HF_ENTER),
                                            .shape = MUTEX,
                                            .note = "" } };
        if (ops[i] == HF_BREAK || ops[i] == HF_ASK)
            name_place(&counted.req, place_of(&request));
        submit_and_cancel(&a, &counted, 0);
        assert_int_equal(counted.req.status, HF_ECANCELED);
    }
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            to_look(&other, "unseen", id);
        else
            to_watch(&other, "unseen", &request);
        struct counted counted = { .req = other.req };
        submit_and_cancel(&a, &counted, 0);
        assert_int_equal(counted.req.status, HF_ECANCELED);
    }
    assert_int_equal(look(&a, "unseen", id, &request), 0);
    assert_true(is_granted(&request)); /* the BREAK was not carried out */
    assert_null(asked_of(&request));
    assert_int_equal(length(&a, "unseen"), 1);
    player_close(&a);
}

/* Its answer says whether a place was taken, or broken. */
static void a_request_canceled_after_it_began_tells_the_truth(void **state)
{
    struct player  a;
    struct request request;
    struct counted enter_ = { .req = { .op = HF_ENTER, .name = "begun", .note = "" } };
    struct counted break_ = { .req = { .op = HF_BREAK, .name = "begun" } };

    (void)state;
    player_open(&a);
    enter_.req.id = ++a.ids;
    enter_.req.shape = MUTEX;
    submit_and_cancel(&a, &enter_, 1);
    assert_true(enter_.req.status == 0 || enter_.req.status == HF_ECANCELED);
    assert_int_equal(list(&a, "begun", &request), 0);
    assert_int_equal(request.count, enter_.req.status == 0);
    if (request.count == 1) {
        name_place(&break_.req, place_listed(&request.seen[0]));
        submit_and_cancel(&a, &break_, 1);
        assert_true(break_.req.status == 0 || break_.req.status == HF_ECANCELED);
        assert_int_equal(length(&a, "begun"), break_.req.status != 0);
    }
    player_close(&a);
}

/* Also while the server is notifying it. */
static void a_watch_from_outside_may_be_canceled_at_any_time(void **state)
{
    struct player a;

    (void)state;
    player_open(&a);
    for (int turns = 0; turns < 4; turns++) {
        struct counted counted = { .req = { .op = HF_WATCH, .name = "outside" } };
        submit_and_cancel(&a, &counted, turns);
        /* On any change: a superfluous answer is no fault. */
        assert_true(counted.req.status == 0 || counted.req.status == HF_ECANCELED);
    }
    player_close(&a);
}

static void a_leave_cannot_be_canceled(void **state)
{
    struct player  a;
    struct request request;
    struct counted counted = { .req = { .op = HF_LEAVE, .name = "call_off" } };

    (void)state;
    player_open(&a);
    counted.req.id = enter(&a, "call_off", MUTEX, &request);
    submit(&a, &counted);
    a.store->impl->cancel(a.store, &counted.req);
    turn_until(&a, &counted, 1);
    assert_int_equal(counted.req.status, 0);
    assert_int_equal(list(&a, "call_off", &request), 0);
    assert_int_equal(request.count, 0);
    player_close(&a);
}

/* It may have been carried out, and have let others in. */
static void a_downgrade_cannot_be_canceled(void **state)
{
    struct player  a;
    struct request request;
    struct counted counted = { .req = { .op = HF_DOWNGRADE, .name = "downgrade_off" } };

    (void)state;
    player_open(&a);
    counted.req.id = enter(&a, "downgrade_off", WRITER, &request);
    counted.req.shape = READER;
    submit(&a, &counted);
    a.store->impl->cancel(a.store, &counted.req);
    turn_until(&a, &counted, 1);
    assert_int_equal(counted.req.status, 0);
    assert_int_equal(list(&a, "downgrade_off", &request), 0);
    assert_int_equal(request.count, 1);
    assert_int_equal(request.seen[0].shape.weight, 1);
    player_close(&a);
}

/* Neither now, nor is its descriptor readable. */
static void an_idle_store_wants_no_call(void **state)
{
    struct player  a;
    struct request request, watching;

    (void)state;
    player_open(&a);
    enter(&a, "idle", MUTEX, &request);
    watch(&a, "idle", &request, &watching);
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
        cmocka_unit_test(each_verb_is_answered_once),
        cmocka_unit_test(many_requests_are_answered_once_each),
        cmocka_unit_test(done_may_submit_again),
        cmocka_unit_test(a_canceled_watch_ends),
        cmocka_unit_test(a_request_canceled_before_it_began_does_nothing),
        cmocka_unit_test(a_request_canceled_after_it_began_tells_the_truth),
        cmocka_unit_test(a_watch_from_outside_may_be_canceled_at_any_time),
        cmocka_unit_test(a_leave_cannot_be_canceled),
        cmocka_unit_test(a_downgrade_cannot_be_canceled),
        cmocka_unit_test(an_idle_store_wants_no_call),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
