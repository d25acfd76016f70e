/* served_watch.c - WATCH, and the messages it waits for: served/watch.c and place.c. */
/* one thread */
#include "unit/lib/served_fake.h"

#include <inttypes.h>
#include <stdio.h>

/* A message that grants the place 1, with its secret or with another. */
static const char *grant(uint64_t wrong_by)
{
    static char text[64];

    snprintf(text, sizeof text, "g 1 2 33 %016" PRIx64,
             hf_served_place_find(&sfake.served, 1)->secret + wrong_by);
    return text;
}

/* ---- The own place ------------------------------------------------------------------------------ */

static void told_unasked(void **state)
{
    (void)state;
    struct hf_served_place *place = served_enter(1, false);
    struct hf_req          *req = served_watch(1, 1, 0);
    served_assert_told("news 1"); /* and nothing is asked of the server */
    assert_int_equal(sfake.answers[1], 0);
    assert_true(hf_served_message(&sfake.served, grant(0)));
    served_run();
    assert_int_equal(req->status, 0);
    assert_int_equal(req->standing.state, HF_STAND_HOLDS);
    assert_int_equal(req->standing.token, 100);
    assert_int_equal(req->standing.slot, 2);
    assert_int_equal(place->since, 33);
    served_watch(2, 1, 1);
    assert_true(hf_served_message(&sfake.served, grant(0))); /* it tells nothing more */
    served_run();
    served_assert_told("news 0; news 0");
    assert_int_equal(sfake.answers[2], 0);
}

/* Anybody may send messages.  Without the secret they only make us look. */
static void a_message_that_knows_no_secret(void **state)
{
    (void)state;
    struct hf_served_place *place = served_enter(1, false);
    served_watch(1, 1, 0);
    assert_true(hf_served_message(&sfake.served, grant(1)));
    served_run();
    served_assert_told("news 1; news 1; read 1 a");
    served_answer(1, "0", "w", "100", "-1", "9", "1", "2");
    assert_int_equal(sfake.answers[1], 0); /* it stands as it did */
    assert_false(place->granted);
}

/* The grant came before the answer to ENTER, which does not know of it yet. */
static void a_message_that_was_quicker(void **state)
{
    (void)state;
    served_ask(0, HF_ENTER, 1);
    assert_true(hf_served_message(&sfake.served, grant(0)));
    served_answer(0, "0", "w", "100", "-1", "9", "1", "2");
    assert_int_equal(sfake.req[0].standing.state, HF_STAND_HOLDS);
    assert_int_equal(sfake.req[0].standing.ahead, 0);
}

/* With replicas that have to confirm it, a message alone does not grant anything. */
static void a_grant_that_is_to_be_confirmed(void **state)
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

/* The message of the grant arrives before "it waits", the answer to request `i`: the place is
 * read again, and that is what replicas confirm. */
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

/* What was written on our connection so far, which is all that replicas would confirm, came
 * before the grant.  So the place is read first. */
static void a_quicker_grant_that_is_to_be_confirmed(void **state)
{
    (void)state;
    sfake.served.confirms = true;
    served_ask(0, HF_ENTER, 1);
    served_assert_told("enter 1 a 1/1 limit=0 '' secret");
    overtake_answer(0);
}

/* The same where the message overtakes what a WATCH reads. */
static void a_grant_while_it_is_read(void **state)
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

static void asked_for_and_taken_away(void **state)
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
    served_watch(2, 1, 1); /* it has heard that */
    assert_int_equal(sfake.answers[2], 1);
    assert_true(hf_served_message(&sfake.served, "a 1"));
    served_run();
    assert_true(hf_served_message(&sfake.served, "b 1")); /* behind what is being read */
    served_answer(2, "0", "g", "100", "-1", "9", "1", "0", "why");
    assert_int_equal(sfake.answers[2], 1); /* so it is read once more */
    assert_false(place->away);
    served_answer(2, "0", "-");
    assert_int_equal(sfake.req[2].standing.state, HF_STAND_NONE);
    assert_true(place->away);
}

/* Nobody is told of it: the next WATCH is. */
static void canceled_while_it_is_read(void **state)
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

/* Who knows nothing is answered by the server, not from memory. */
static void looked_at(void **state)
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
    served_ask(1, HF_WATCH, 2); /* there never was such a place */
    assert_int_equal(req->standing.state, HF_STAND_NONE);
}

/* ---- How many are ahead ------------------------------------------------------------------------- */

/* What changes before the server has noted that we follow is read behind it. */
static void followed(void **state)
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
    assert_int_equal(sfake.served.outsiders, 1);
    hf_served_message(&sfake.served, "c b");
    served_run();
    served_assert_told("");
    hf_served_message(&sfake.served, "c a");
    served_run();
    served_assert_told("news 1; read 1 a");
    served_answer(1, "0", "w", "100", "-1", "9", "1", "2"); /* somebody came behind us */
    served_assert_told("watch 1 a 0 100");
    hf_served_message(&sfake.served, "c a"); /* before the answer */
    served_answer(1, "0", "0");
    served_answer(1, "0", "w", "100", "-1", "9", "1", "1");
    assert_int_equal(req->status, 0);
    assert_int_equal(req->standing.ahead, 1);
    assert_int_equal(sfake.served.outsiders, 0);
}

static void messages_that_are_none(void **state)
{
    (void)state;
    struct hf_served_place *place = served_enter(1, true);
    assert_false(hf_served_message(&sfake.served, ""));
    assert_false(hf_served_message(&sfake.served, "granted 1"));
    assert_true(hf_served_message(&sfake.served, "b 99")); /* a place that we left */
    assert_int_equal(place->news, 0);
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

/* ---- A whole line --------------------------------------------------------------------------------- */

static void told_once_of_a_line(void **state)
{
    (void)state;
    sfake.req[1].stamp = 5;
    served_ask(1, HF_WATCH, 0);
    served_assert_told("news 1; watch 0 a 5 0");
    served_answer(1, "0", "0");
    assert_int_equal(sfake.served.outsiders, 1);
    hf_served_message(&sfake.served, "c b");
    assert_int_equal(sfake.answers[1], 0);
    hf_served_message(&sfake.served, "c a");
    assert_int_equal(sfake.answers[1], 1);
    assert_int_equal(sfake.served.outsiders, 0);
    sfake.req[1].token = 70;
    served_ask(1, HF_WATCH, 0);
    served_assert_told("news 1; watch 0 a 5 70");
    served_answer(1, "0", "1"); /* it has changed already */
    assert_int_equal(sfake.answers[1], 2);
}

static void changed_while_the_server_is_told(void **state)
{
    (void)state;
    served_ask(1, HF_WATCH, 0);
    hf_served_message(&sfake.served, "c a");
    hf_served_message(&sfake.served, "c a");
    assert_int_equal(sfake.answers[1], 0); /* a call in flight must stay in place */
    served_answer(1, "0", "0");
    assert_int_equal(sfake.req[1].status, 0);
}

static void canceled_while_the_server_is_told(void **state)
{
    (void)state;
    served_ask(1, HF_WATCH, 0);
    hf_remote_cancel(&sfake.served.base, &sfake.req[1]);
    assert_false(hf_remote_run(&sfake.served.remote));
    assert_int_equal(sfake.answers[1], 0);
    served_answer(1, "0", "0");
    assert_int_equal(sfake.req[1].status, HF_ECANCELED);
}

static void nobody_may_tell(void **state)
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

/* ---- When connection or session end ----------------------------------------------------------------- */

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

static void the_session_dies(void **state)
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
        CASE(told_unasked),
        CASE(a_message_that_knows_no_secret),
        CASE(a_message_that_was_quicker),
        CASE(a_grant_that_is_to_be_confirmed),
        CASE(a_quicker_grant_that_is_to_be_confirmed),
        CASE(a_grant_while_it_is_read),
        CASE(asked_for_and_taken_away),
        CASE(canceled_while_it_is_read),
        CASE(looked_at),
        CASE(followed),
        CASE(messages_that_are_none),
        CASE(a_watch_ends_with_its_place),
        CASE(told_once_of_a_line),
        CASE(changed_while_the_server_is_told),
        CASE(canceled_while_the_server_is_told),
        CASE(nobody_may_tell),
        CASE(the_connection_breaks),
        CASE(the_session_dies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
