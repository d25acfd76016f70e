/* s6_stale.c - what was given up, or sent in an earlier life, has no effect. */
/* one thread */
#include "lib/promise.h"

#include "holdfast.h"

static struct ask to_enter(struct player *player, const char *name)
{
    return (struct ask){ .req = { .op = HF_ENTER,
                                  .name = name,
                                  .id = ++player->ids,
                                  .shape = MUTEX,
                                  .note = "" } };
}

/* Closed with a request under way: it must not surface later. */
static void an_enter_dies_with_its_session(void **state)
{
    struct player a, b;
    struct ask    held;

    (void)state;
    player_open(&b);
    player_open(&a);
    struct ask ask = to_enter(&a, "dies_with");
    player_submit(&a, &ask);
    player_close(&a);
    assert_int_equal(ask.answers, 0);
    assert_int_equal(length(&b, "dies_with"), 0);
    enter(&b, "dies_with", MUTEX, &held);
    assert_true(is_granted(&held));
    player_close(&b);
}

static void a_canceled_enter_takes_no_place(void **state)
{
    struct player a;
    struct ask    held;

    (void)state;
    player_open(&a);
    enter(&a, "warm_up", MUTEX, &held);
    struct ask ask = to_enter(&a, "canceled");
    player_submit(&a, &ask);
    a.store->impl->cancel(a.store, &ask.req);
    assert_true(player_await(&a, &ask, 10000));
    /* If it was carried out all the same, the answer must say so. */
    if (ask.req.status == HF_ECANCELED)
        assert_int_equal(length(&a, "canceled"), 0);
    else
        assert_true(ask.req.status == 0 && has_place(&ask));
    player_close(&a);
}

/* The ids of one session mean nothing in another. */
static void sessions_do_not_mix(void **state)
{
    struct player a, b;
    struct ask    mine, other;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "mix", MUTEX, &mine);
    assert_int_equal(enter(&b, "mix", MUTEX, &other), id); /* the same number */
    assert_true(is_granted(&mine));
    assert_false(is_granted(&other));
    assert_int_equal(leave(&b, "mix", id), 0);
    assert_int_equal(look(&a, "mix", id, &mine), 0);
    assert_true(is_granted(&mine));
    player_close(&a);
    player_close(&b);
}

static void an_amend_is_for_the_own_session(void **state)
{
    struct player a, b;
    struct ask    mine, other, amended;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "own_session", WRITER, &mine);
    assert_int_equal(amend(&b, "own_session", id, READER, &amended), 0);
    assert_false(has_place(&amended));
    enter(&b, "own_session", READER, &other);
    assert_false(is_granted(&other));
    assert_int_equal(look(&a, "own_session", id, &mine), 0);
    assert_true(weight_of(&mine) == HF_ALL);
    player_close(&a);
    player_close(&b);
}

/* A new session on the same URL knows nothing of the old one's places. */
static void a_new_session_starts_empty(void **state)
{
    struct player a;
    struct ask    ask;

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "starts_empty", MUTEX, &ask);
    player_close(&a);
    player_open(&a);
    assert_int_equal(look(&a, "starts_empty", id, &ask), 0);
    assert_false(has_place(&ask));
    assert_int_equal(length(&a, "starts_empty"), 0);
    player_close(&a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_enter_dies_with_its_session),
        cmocka_unit_test(a_canceled_enter_takes_no_place),
        cmocka_unit_test(sessions_do_not_mix),
        cmocka_unit_test(an_amend_is_for_the_own_session),
        cmocka_unit_test(a_new_session_starts_empty),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
