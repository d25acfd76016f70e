/* s6_stale.c - requests that were canceled, or sent in an earlier session, have no
 * effect. */
/* one thread */
#include "lib/promise.h"

#include "holdfast.h"

static struct request to_enter(struct player *player, const char *name)
{
    return (struct request){ .req = { .op = HF_ENTER,
                                      .name = name,
                                      .id = ++player->ids,
                                      .shape = MUTEX,
                                      .note = "" } };
}

static void an_enter_has_no_effect_after_its_session_closed(void **state)
{
    struct player  a, b;
    struct request held;

    (void)state;
    player_open(&b);
    player_open(&a);
    struct request request = to_enter(&a, "dies_with");
    player_submit(&a, &request);
    player_close(&a);
    assert_int_equal(request.answers, 0);
    assert_int_equal(length(&b, "dies_with"), 0);
    enter(&b, "dies_with", MUTEX, &held);
    assert_true(is_granted(&held));
    player_close(&b);
}

static void a_canceled_enter_takes_no_place(void **state)
{
    struct player  a;
    struct request held;

    (void)state;
    player_open(&a);
    enter(&a, "warm_up", MUTEX, &held);
    struct request request = to_enter(&a, "canceled");
    player_submit(&a, &request);
    a.store->impl->cancel(a.store, &request.req);
    assert_true(player_await(&a, &request, 10000));
    /* If it was carried out, the answer must say so. */
    if (request.req.status == HF_ECANCELED)
        assert_int_equal(length(&a, "canceled"), 0);
    else
        assert_true(request.req.status == 0 && has_place(&request));
    player_close(&a);
}

static void ids_of_another_session_mean_nothing(void **state)
{
    struct player  a, b;
    struct request mine, other;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "mix", MUTEX, &mine);
    assert_int_equal(enter(&b, "mix", MUTEX, &other), id); /* the same id */
    assert_true(is_granted(&mine));
    assert_false(is_granted(&other));
    assert_int_equal(leave(&b, "mix", id), 0);
    assert_int_equal(look(&a, "mix", id, &mine), 0);
    assert_true(is_granted(&mine));
    player_close(&a);
    player_close(&b);
}

static void downgrade_reaches_only_the_own_session(void **state)
{
    struct player  a, b;
    struct request mine, other, amended;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "own_session", WRITER, &mine);
    assert_int_equal(downgrade(&b, "own_session", id, READER, &amended), 0);
    assert_false(has_place(&amended));
    enter(&b, "own_session", READER, &other);
    assert_false(is_granted(&other));
    assert_int_equal(look(&a, "own_session", id, &mine), 0);
    assert_true(weight_of(&mine) == HF_ALL);
    player_close(&a);
    player_close(&b);
}

static void a_new_session_starts_empty(void **state)
{
    struct player  a;
    struct request request;

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "starts_empty", MUTEX, &request);
    player_close(&a);
    player_open(&a);
    assert_int_equal(look(&a, "starts_empty", id, &request), 0);
    assert_false(has_place(&request));
    assert_int_equal(length(&a, "starts_empty"), 0);
    player_close(&a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_enter_has_no_effect_after_its_session_closed),
        cmocka_unit_test(a_canceled_enter_takes_no_place),
        cmocka_unit_test(ids_of_another_session_mean_nothing),
        cmocka_unit_test(downgrade_reaches_only_the_own_session),
        cmocka_unit_test(a_new_session_starts_empty),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
