/* watch.c - WATCH, and the messages that answer it: served/watch.c and place.c. */
/* one thread */
#include "unit/lib/served_fake.h"

#include <inttypes.h>
#include <stdio.h>

/* A message that grants place 1, with its secret or a wrong one. */
static const char *grant(uint64_t wrong_by)
{
    static char text[64];

    snprintf(text, sizeof text, "g 1 2 33 %016" PRIx64,
             hf_served_place_find(&sfake.served, 1)->grant_secret + wrong_by);
    return text;
}

/* ---- The own place ------------------------------------------------------------- */

static void a_message_grants_without_a_call(void **state)
{
    (void)state;
    struct hf_served_place *place = served_enter(1, false);
    struct hf_req          *req = served_watch(1, 1, 0);
    served_assert_told("news 1"); /* and no call to the server */
    assert_int_equal(sfake.answers[1], 0);
    assert_true(hf_served_message(&sfake.served, grant(0)));
    served_run();
    assert_int_equal(req->status, 0);
    assert_int_equal(req->standing.state, HF_STAND_HOLDS);
    assert_int_equal(req->standing.token, 100);
    assert_int_equal(req->standing.slot, 2);
    assert_int_equal(place->since, 33);
    served_watch(2, 1, 1);
    assert_true(hf_served_message(&sfake.served, grant(0))); /* no more news */
    served_run();
    served_assert_told("news 0; news 0");
    assert_int_equal(sfake.answers[2], 0);
}

/* Anybody may send messages. */
static void a_message_without_the_secret_only_causes_a_read(void **state)
{
    (void)state;
    struct hf_served_place *place = served_enter(1, false);
    served_watch(1, 1, 0);
    assert_true(hf_served_message(&sfake.served, grant(1)));
    served_run();
    served_assert_told("news 1; news 1; read 1 a");
    served_answer(1, "0", "w", "100", "-1", "9", "1", "2");
    assert_int_equal(sfake.answers[1], 0); /* nothing has changed */
    assert_false(place->granted);
}

static void a_grant_before_the_answer_to_enter(void **state)
{
    (void)state;
    served_ask(0, HF_ENTER, 1);
    assert_true(hf_served_message(&sfake.served, grant(0)));
    served_answer(0, "0", "w", "100", "-1", "9", "1", "2");
    assert_int_equal(sfake.req[0].standing.state, HF_STAND_HOLDS);
    assert_int_equal(sfake.req[0].standing.ahead, 0);
}

/* Then the answer is lost, and so are the data: the repeated ENTER gets another place. */
static void a_grant_before_the_answer_is_lost_with_the_data(void **state)
{
    char old[64];

    (void)state;
    served_ask(0, HF_ENTER, 1);
    snprintf(old, sizeof old, "%s", grant(0));
    assert_true(hf_served_message(&sfake.served, old));
    hf_served_forget_overtaking(&sfake.served);
    assert_true(hf_served_message(&sfake.served, old)); /* it was sent twice */
    served_answer(0, "0", "w", "100", "-1", "9", "1", "2");
    assert_int_equal(sfake.req[0].standing.state, HF_STAND_WAITS);
    snprintf(old, sizeof old, "%s", grant(0));
    hf_served_forget_overtaking(&sfake.served);
    assert_true(
        hf_served_message(&sfake.served, old)); /* it was under way when data were lost */
    assert_false(hf_served_place_find(&sfake.served, 1)->granted);
    assert_true(hf_served_message(&sfake.served, grant(0)));
    hf_served_forget_overtaking(&sfake.served);
    assert_true(hf_served_place_find(&sfake.served, 1)->granted);
}

/* If replicas have to confirm it, a message alone does not grant. */
static void a_grant_waits_for_replicas(void **state)
{
    (void)state;
    sfake.served.confirms = true;
    served_enter(1, false);
    served_watch(1, 1, 0);
    assert_true(hf_served_message(&sfake.served, grant(0)));
    served_run();
    served_assert_told("news 1; news 0; read 1 a");
    served_answer(1, "0", "g", "100", "-1", "9");
    served_assert_told("confirm");
    assert_int_equal(sfake.req[1].standing.state, HF_STAND_HOLDS);
}

/* The message of the grant arrives before the answer "it waits" to request `i`: the place
 * is read again, and replicas confirm that read. */
static void overtake_answer(unsigned i)
{
    assert_true(hf_served_message(&sfake.served, grant(0)));
    served_answer(i, "0", "w", "100", "-1", "9", "1", "2");
    served_assert_told("read 1 a");
    assert_int_equal(sfake.answers[i], 0);
    served_answer(i, "0", "g", "100", "2", "33");
    served_assert_told("confirm");
    assert_int_equal(sfake.req[i].standing.state, HF_STAND_HOLDS);
}

/* Replicas confirm only what our connection has written so far, which was before the
 * grant.  So the place is read first. */
static void a_grant_before_the_answer_waits_for_replicas(void **state)
{
    (void)state;
    sfake.served.confirms = true;
    served_ask(0, HF_ENTER, 1);
    served_assert_told("enter 1 a 1/1 limit=0 '' secret");
    overtake_answer(0);
}

/* The message overtakes the answer to the read. */
static void a_grant_while_a_watch_reads(void **state)
{
    (void)state;
    sfake.served.confirms = true;
    served_enter(1, false);
    served_watch(1, 1, 0);
    assert_true(hf_served_message(&sfake.served, "a 1"));
    served_run();
    served_assert_told("news 1; news 1; read 1 a");
    overtake_answer(1);
}

static void ask_and_break_answer_a_watch(void **state)
{
    (void)state;
    struct hf_served_place *place = served_enter(1, true);
    served_watch(1, 1, 0);
    served_watch(2, 1, 0);
    assert_true(hf_served_message(&sfake.served, "a 1"));
    served_run();
    served_answer(1, "0", "g", "100", "-1", "9", "1", "0", "why");
    served_answer(2, "0", "g", "100", "-1", "9", "1", "0", "why");
    assert_int_equal(sfake.answers[1] + sfake.answers[2], 2);
    assert_string_equal(sfake.req[1].standing.asked, "why");
    served_watch(2, 1, 1); /* it knows of the ASK */
    assert_int_equal(sfake.answers[2], 1);
    assert_true(hf_served_message(&sfake.served, "a 1"));
    served_run();
    assert_true(
        hf_served_message(&sfake.served, "b 1")); /* while the place is being read */
    served_answer(2, "0", "g", "100", "-1", "9", "1", "0", "why");
    assert_int_equal(sfake.answers[2], 1); /* so it is read again */
    assert_false(place->away);
    served_answer(2, "0", "-");
    assert_int_equal(sfake.req[2].standing.state, HF_STAND_NONE);
    assert_true(place->away);
}

/* The next WATCH gets the news. */
static void a_watch_canceled_while_it_reads(void **state)
{
    (void)state;
    served_enter(1, true);
    served_watch(1, 1, 0);
    assert_true(hf_served_message(&sfake.served, "a 1"));
    served_run();
    hf_remote_cancel(&sfake.served.base, &sfake.req[1]);
    served_run();
    served_answer(1, "0", "g", "100", "-1", "9", "1", "0", "why");
    assert_int_equal(sfake.req[1].status, HF_ECANCELED);
    sfake.told[0] = '\0';
    served_watch(1, 1, 0);
    served_assert_told("news 0");
    assert_string_equal(sfake.req[1].standing.asked, "why");
}

/* A WATCH that knows nothing is not answered from memory. */
static void a_look_asks_the_server(void **state)
{
    (void)state;
    served_enter(1, true);
    struct hf_req *req = served_ask(1, HF_WATCH, 1);
    served_assert_told("news 0; read 1 a");
    served_answer(1, "0", "g", "100", "-1", "9");
    assert_int_equal(req->standing.state, HF_STAND_HOLDS);
    req->standing.state = HF_STAND_UNKNOWN;
    served_ask(1, HF_WATCH, 1);
    served_answer(1, "0", "-");
    assert_int_equal(req->standing.state, HF_STAND_NONE);
    req->standing.state = HF_STAND_UNKNOWN;
    served_ask(1, HF_WATCH, 2); /* no such place */
    assert_int_equal(req->standing.state, HF_STAND_NONE);
}

/* ---- How many are ahead -------------------------------------------------------- */

/* So no change before that is missed. */
static void a_follower_reads_after_the_server_knows(void **state)
{
    (void)state;
    served_enter(1, false);
    sfake.req[1].follow = true;
    struct hf_req *req = served_watch(1, 1, 0);
    served_assert_told("news 1; watch 1 a 0 100");
    served_answer(1, "0", "0");
    served_assert_told("read 1 a");
    served_answer(1, "0", "w", "100", "-1", "9", "1", "2");
    assert_int_equal(sfake.answers[1], 0);
    assert_int_equal(sfake.served.line_watches, 1);
    hf_served_message(&sfake.served, "c b");
    served_run();
    served_assert_told("");
    hf_served_message(&sfake.served, "c a");
    served_run();
    served_assert_told("news 1; read 1 a");
    served_answer(1, "0", "w", "100", "-1", "9", "1", "2"); /* a place behind ours */
    served_assert_told("watch 1 a 0 100");
    hf_served_message(&sfake.served, "c a"); /* before the answer */
    served_answer(1, "0", "0");
    served_answer(1, "0", "w", "100", "-1", "9", "1", "1");
    assert_int_equal(req->status, 0);
    assert_int_equal(req->standing.ahead, 1);
    assert_int_equal(sfake.served.line_watches, 0);
}

static void unknown_messages_are_ignored(void **state)
{
    (void)state;
    struct hf_served_place *place = served_enter(1, true);
    assert_false(hf_served_message(&sfake.served, ""));
    assert_false(hf_served_message(&sfake.served, "granted 1"));
    assert_true(hf_served_message(&sfake.served, "b 99")); /* a place that we left */
    assert_int_equal(place->notified, 0);
}

static void a_watch_ends_with_its_place(void **state)
{
    (void)state;
    served_enter(1, true);
    served_watch(1, 1, 0);
    hf_served_place_drop(&sfake.served, 1);
    served_run();
    assert_int_equal(sfake.req[1].status, 0);
    assert_int_equal(sfake.req[1].standing.state, HF_STAND_NONE);
}

/* ---- A queue ------------------------------------------------------------------- */

static void a_watch_of_a_queue_is_answered_once(void **state)
{
    (void)state;
    sfake.req[1].stamp = 5;
    served_ask(1, HF_WATCH, 0);
    served_assert_told("news 1; watch 0 a 5 0");
    served_answer(1, "0", "0");
    assert_int_equal(sfake.served.line_watches, 1);
    hf_served_message(&sfake.served, "c b");
    assert_int_equal(sfake.answers[1], 0);
    hf_served_message(&sfake.served, "c a");
    assert_int_equal(sfake.answers[1], 1);
    assert_int_equal(sfake.served.line_watches, 0);
    sfake.req[1].token = 70;
    served_ask(1, HF_WATCH, 0);
    served_assert_told("news 1; watch 0 a 5 70");
    served_answer(1, "0", "1"); /* it has changed already */
    assert_int_equal(sfake.answers[1], 2);
}

static void a_change_while_a_watch_is_registered(void **state)
{
    (void)state;
    served_ask(1, HF_WATCH, 0);
    hf_served_message(&sfake.served, "c a");
    hf_served_message(&sfake.served, "c a");
    assert_int_equal(sfake.answers[1], 0); /* a call in flight must end first */
    served_answer(1, "0", "0");
    assert_int_equal(sfake.req[1].status, 0);
}

static void a_cancel_while_a_watch_is_registered(void **state)
{
    (void)state;
    served_ask(1, HF_WATCH, 0);
    hf_remote_cancel(&sfake.served.base, &sfake.req[1]);
    assert_false(hf_remote_run(&sfake.served.remote));
    assert_int_equal(sfake.answers[1], 0);
    served_answer(1, "0", "0");
    assert_int_equal(sfake.req[1].status, HF_ECANCELED);
}

static void a_watch_without_messages(void **state)
{
    (void)state;
    sfake.watch_until = 2 * HF_SEC;
    served_ask(1, HF_WATCH, 0);
    served_answer(1, "0", "0");
    assert_int_equal(hf_served_watches_wake(&sfake.served), 2 * HF_SEC);
    hf_served_watches_run(&sfake.served);
    assert_int_equal(sfake.answers[1], 0);
    sfake.served.remote.now = 2 * HF_SEC;
    hf_served_watches_run(&sfake.served);
    assert_int_equal(sfake.req[1].status, 0);
    assert_int_equal(hf_served_watches_wake(&sfake.served), HF_NEVER);
}

/* ---- Broken links and lost sessions -------------------------------------------- */

static void the_connection_breaks(void **state)
{
    (void)state;
    served_enter(1, true);
    served_watch(1, 1, 0);
    served_ask(2, HF_WATCH, 0); /* in flight */
    hf_served_tasks_fail(&sfake.served);
    assert_int_equal(sfake.req[1].status, HF_EDOWN);
    assert_int_equal(sfake.answers[2], 0);
    served_answer_with(2, HF_SERVED_DOWN, NULL);
    assert_int_equal(sfake.req[2].status, HF_EDOWN);
    assert_int_equal(sfake.served.places, 1);
}

static void the_session_ends(void **state)
{
    (void)state;
    served_enter(1, true);
    served_watch(1, 1, 0);
    hf_remote_lose(&sfake.served.remote);
    assert_int_equal(sfake.req[1].status, HF_EDOWN);
    assert_int_equal(sfake.served.places, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, served_start, served_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_message_grants_without_a_call),
        CASE(a_message_without_the_secret_only_causes_a_read),
        CASE(a_grant_before_the_answer_to_enter),
        CASE(a_grant_before_the_answer_is_lost_with_the_data),
        CASE(a_grant_waits_for_replicas),
        CASE(a_grant_before_the_answer_waits_for_replicas),
        CASE(a_grant_while_a_watch_reads),
        CASE(ask_and_break_answer_a_watch),
        CASE(a_watch_canceled_while_it_reads),
        CASE(a_look_asks_the_server),
        CASE(a_follower_reads_after_the_server_knows),
        CASE(unknown_messages_are_ignored),
        CASE(a_watch_ends_with_its_place),
        CASE(a_watch_of_a_queue_is_answered_once),
        CASE(a_change_while_a_watch_is_registered),
        CASE(a_cancel_while_a_watch_is_registered),
        CASE(a_watch_without_messages),
        CASE(the_connection_breaks),
        CASE(the_session_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
