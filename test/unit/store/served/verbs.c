/* verbs.c - calls of the verbs to the server, and its answers: served/call.c, answer.c
 * and all verbs but WATCH. */
/* one thread */
#include "unit/lib/served_fake.h"

/* ---- ENTER --------------------------------------------------------------------- */

static void enter_granted_at_once(void **state)
{
    (void)state;
    sfake.req[0].note = "me";
    struct hf_req *req = served_ask(0, HF_ENTER, 1);
    served_assert_told("enter 1 a 1/1 limit=0 'me' secret");
    served_answer(0, "0", "g", "100", "3", "9"); /* nobody else is in the queue */
    assert_int_equal(req->status, 0);
    assert_int_equal(req->standing.state, HF_STAND_HOLDS);
    assert_int_equal(req->standing.token, 100);
    assert_int_equal(req->standing.slot, 3);
    assert_int_equal(req->standing.weight, 1);
    assert_null(req->standing.asked);
    assert_int_equal(hf_served_place_find(&sfake.served, 1)->since, 9);
    assert_int_equal(sfake.served.token, 100);
    served_assert_told("");
}

/* The reason of an ASK is reported when it holds. */
static void enter_that_waits(void **state)
{
    (void)state;
    sfake.req[0].limit = 7;
    struct hf_req *req = served_ask(0, HF_ENTER, 1);
    served_assert_told("enter 1 a 1/1 limit=7 '' secret");
    served_answer(0, "0", "w", "100", "-1", "9", "1", "4", "why", "250");
    assert_int_equal(req->status, 0);
    assert_int_equal(req->standing.state, HF_STAND_WAITS);
    assert_int_equal(req->standing.token, 100);
    assert_int_equal(req->standing.slot, -1);
    assert_int_equal(req->standing.ahead, 4);
    assert_null(req->standing.asked);
    served_assert_told("renew in 250");
    hf_served_place_find(&sfake.served, 1)->granted = true;
    req = served_watch(1, 1, 0);
    assert_string_equal(req->standing.asked, "why");
}

static void enter_refused_full_and_of_another_kind(void **state)
{
    (void)state;
    sfake.req[0].only_free = true;
    struct hf_req *req = served_ask(0, HF_ENTER, 1);
    served_assert_told("enter 1 a 1/1 only-free '' secret");
    served_answer(0, "0", "r", "90", "-1", "0", "0", "0", NULL, "30");
    assert_int_equal(req->status, HF_EBUSY);
    assert_int_equal(req->standing.state, HF_STAND_NONE);
    assert_int_equal(req->standing.token, 90); /* the place that blocks it */
    served_assert_told("renew in 30");
    served_ask(0, HF_ENTER, 2);
    served_answer(0, "4");
    assert_int_equal(req->status, HF_EMISMATCH);
    served_ask(0, HF_ENTER, 3);
    served_answer(0, "5");
    assert_int_equal(req->status, HF_EFULL);
    assert_int_equal(sfake.served.places, 0);
}

/* The first answer was lost. */
static void a_repeated_enter_finds_its_place_broken(void **state)
{
    (void)state;
    struct hf_req *req = served_ask(0, HF_ENTER, 1);
    served_answer(0, "0", "-");
    assert_int_equal(req->status, 0);
    assert_int_equal(req->standing.state, HF_STAND_NONE);
    assert_int_equal(sfake.served.places, 0);
}

/* The first answer was lost.  The place has the same secret. */
static void a_repeated_enter_keeps_its_place(void **state)
{
    (void)state;
    served_ask(0, HF_ENTER, 1);
    uint64_t secret = hf_served_place_find(&sfake.served, 1)->grant_secret;
    served_answer_with(0, HF_SERVED_FINE, NULL);
    assert_int_equal(sfake.req[0].status, HF_EDOWN);
    served_ask(0, HF_ENTER, 1);
    assert_int_equal(sfake.served.places, 1);
    assert_int_equal(hf_served_place_find(&sfake.served, 1)->grant_secret, secret);
}

static void a_grant_waits_for_confirmation(void **state)
{
    (void)state;
    sfake.served.confirms = true;
    served_ask(0, HF_ENTER, 1);
    served_answer(0, "0", "g", "100", "-1", "9");
    served_assert_told("enter 1 a 1/1 limit=0 '' secret; confirm");
    assert_int_equal(sfake.req[0].standing.state, HF_STAND_HOLDS);
    served_watch(1, 1, 0);
    served_assert_told("news 0"); /* only once */
}

/* ---- DOWNGRADE, LEAVE ---------------------------------------------------------- */

static void a_place_never_weighs_more_than_requested(void **state)
{
    (void)state;
    sfake.req[0].shape = (struct hf_shape){ 5, 10, false };
    struct hf_served_place *place = served_enter(1, true);
    assert_int_equal(place->shape.weight, 1); /* as the answer said */
    sfake.req[0].shape.weight = 1;
    served_ask(0, HF_DOWNGRADE, 1);
    served_assert_told("amend 1 a 1");
    served_answer(0, "0", "g", "100", "-1", "9", "7", "0");
    assert_int_equal(sfake.req[0].standing.weight, 1);
}

static void leave_of_a_place_kept_or_lost(void **state)
{
    (void)state;
    served_enter(1, true);
    served_ask(0, HF_LEAVE, 1);
    served_assert_told("leave 1 a");
    assert_true(hf_served_place_find(&sfake.served, 1)->leaving);
    served_answer(0, "0", "0");
    assert_int_equal(sfake.req[0].status, 0);
    served_enter(2, true);
    served_ask(0, HF_LEAVE, 2);
    served_answer(0, "0", "1");
    assert_int_equal(sfake.req[0].status, HF_ELOST);
    assert_int_equal(sfake.served.places, 0);
}

/* ---- Places of others ---------------------------------------------------------- */

static void break_ask_and_verify_by_token(void **state)
{
    (void)state;
    sfake.req[0].token = 70;
    sfake.req[0].note = "by ana";
    served_ask(0, HF_BREAK, 0);
    served_answer(0, "0");
    assert_int_equal(sfake.req[0].status, 0);
    sfake.req[0].note = "please";
    served_ask(0, HF_ASK, 0);
    served_answer(0, "6");
    assert_int_equal(sfake.req[0].status, HF_ENOTFOUND);
    sfake.req[0].token = 71;
    served_ask(0, HF_VERIFY, 0);
    served_answer(0, "6");
    assert_int_equal(sfake.req[0].status, HF_ELOST);
    served_assert_told("break 0 a 70 'by ana'; ask 0 a 70 'please'; prove 0 a 71");
}

static void verify_of_the_own_place(void **state)
{
    (void)state;
    struct hf_served_place *place = served_enter(1, true);
    served_ask(0, HF_VERIFY, 1);
    served_assert_told("renew; read 1 a");
    served_answer(0, "0", "g", "100");
    assert_int_equal(sfake.req[0].status, 0);
    served_ask(0, HF_VERIFY, 1); /* we believe that we hold it: waiting is not enough */
    served_answer(0, "0", "w", "100");
    assert_int_equal(sfake.req[0].status, HF_ELOST);
    assert_true(place->away);
}

static void the_link_breaks_during_verify(void **state)
{
    (void)state;
    served_enter(1, true);
    sfake.breaks = true;
    served_ask(0, HF_VERIFY, 1);
    served_assert_told("renew");
    assert_int_equal(sfake.req[0].status, HF_EDOWN);
}

static void list_in_order(void **state)
{
    (void)state;
    sfake.listed[0] = (struct hf_place){ .line = "b", .seq = 1 };
    sfake.listed[1] = (struct hf_place){ .line = "a", .seq = 9 };
    sfake.listed[2] = (struct hf_place){ .line = "a", .seq = 4 };
    struct hf_req *req = served_ask(0, HF_LIST, 0);
    served_answer(0, "0", "3");
    assert_int_equal(sfake.places, 3);
    assert_int_equal(sfake.place[0].seq, 4);
    assert_int_equal(sfake.place[1].seq, 9);
    assert_string_equal(sfake.place[2].line, "b");
    assert_int_equal(req->stamp, 77);
}

/* ---- Errors -------------------------------------------------------------------- */

static void an_answer_that_the_session_has_ended(void **state)
{
    (void)state;
    served_ask(0, HF_LEAVE, 1);
    sfake.told[0] = '\0';
    served_answer(0, "1"); /* repeated after the hello */
    served_assert_told("again");
    assert_false(hf_remote_run(&sfake.served.remote));
    served_assert_told("leave 1 a");
    served_answer(0, "2");
    served_assert_told("gone");
    assert_int_equal(sfake.req[0].status, HF_EDOWN);
    served_ask(0, HF_LEAVE, 1);
    sfake.told[0] = '\0';
    served_answer(0, "3");
    served_assert_told("over");
    assert_non_null(strstr(sfake.served.base.errmsg, "has a newer connection of ours"));
    assert_int_equal(sfake.req[0].status, HF_EDOWN);
}

/* Whatever later answers to its requests say. */
static void a_session_is_lost_only_once(void **state)
{
    static const char *const codes[] = { "1", "2", "3" };

    (void)state;
    for (unsigned i = 1; i <= 4; i++)
        served_ask(i, HF_ENTER, i);
    sfake.told[0] = '\0';
    served_answer(4, "2");
    served_assert_told("gone");
    served_enter(5, true); /* in the next session */
    for (unsigned i = 1; i <= 3; i++) {
        served_answer(i, codes[i - 1]);
        assert_int_equal(sfake.req[i].status, HF_EDOWN);
    }
    served_assert_told("");
    assert_int_equal(sfake.served.places, 1);
}

static void faults_of_the_server(void **state)
{
    static const struct {
        enum hf_served_fault fault;
        int                  status;
        const char          *told;
    } rows[] = {
        { HF_SERVED_DOWN, HF_EDOWN, "over" }, { HF_SERVED_MISSING, HF_EDOWN, "over" },
        { HF_SERVED_OTHER, HF_ESTORE, "" },   { HF_SERVED_DENIED, HF_EDENIED, "" },
        { HF_SERVED_FAILED, HF_ESTORE, "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        served_connect();
        served_ask(0, HF_LIST, 0);
        sfake.told[0] = '\0';
        served_answer_with(0, rows[i].fault, &(struct served_reply){ { "0" } });
        assert_int_equal(sfake.req[0].status, rows[i].status);
        served_assert_told(rows[i].told);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, served_start, served_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(enter_granted_at_once),
        CASE(enter_that_waits),
        CASE(enter_refused_full_and_of_another_kind),
        CASE(a_repeated_enter_keeps_its_place),
        CASE(a_repeated_enter_finds_its_place_broken),
        CASE(a_grant_waits_for_confirmation),
        CASE(a_place_never_weighs_more_than_requested),
        CASE(leave_of_a_place_kept_or_lost),
        CASE(break_ask_and_verify_by_token),
        CASE(verify_of_the_own_place),
        CASE(the_link_breaks_during_verify),
        CASE(list_in_order),
        CASE(an_answer_that_the_session_has_ended),
        CASE(a_session_is_lost_only_once),
        CASE(faults_of_the_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
