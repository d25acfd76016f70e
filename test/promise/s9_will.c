/* s9_will.c - a will ends exactly its session, and only that.  s9_process.c: from another
 * process. */
#include "lib/testament.h"

#include "holdfast.h"

#include <pthread.h>
#include <string.h>

#define LIMIT 20000 /* ms, for what must come: machines are slow */

/* ---- What goes ------------------------------------------------------------------------- */

/* The owner lives and renews its lease: nothing but the will can end it. */
static void a_holder_is_replaced(void **state)
{
    struct player    a, b;
    struct ask       held, waits;
    struct testament will;

    (void)state;
    player_open(&a);
    player_open(&b);
    enter(&a, "replaced", MUTEX, &held);
    enter(&b, "replaced", MUTEX, &waits);
    assert_false(is_granted(&waits));
    testament_write(&a, &will);
    testament_execute(&will);
    await_turn(&b, "replaced", &waits, &a);
    await_loss(&a, 1);
    assert_int_equal(length(&b, "replaced"), 1);
    assert_int_equal(b.lost, 0);
    player_close(&a);
    player_close(&b);
}

/* A waiter asleep is woken, and so is the owner. */
static void those_asleep_are_woken(void **state)
{
    struct player    a, b;
    struct ask       held, waits, watch_a, watch_b;
    struct testament will;

    (void)state;
    player_open(&a);
    player_open(&b);
    enter(&a, "asleep", MUTEX, &held);
    enter(&b, "asleep", MUTEX, &waits);
    watch(&a, "asleep", &held, &watch_a);
    watch(&b, "asleep", &waits, &watch_b);
    assert_true(watch_a.answers == 0 && watch_b.answers == 0);
    testament_write(&a, &will);
    testament_execute(&will);
    assert_true(player_await(&b, &watch_b, LIMIT));
    assert_true(player_await(&a, &watch_a, LIMIT));
    await_loss(&a, 1);
    await_turn(&b, "asleep", &waits, &a);
    player_close(&a);
    player_close(&b);
}

/* Waiters, readers and permits go, too, and leave no weight behind. */
static void all_of_the_session_goes(void **state)
{
    struct player    a, b;
    struct ask       ask, behind, writer, permits;
    struct testament will;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&b, "all_waiting", MUTEX, &ask);
    enter(&a, "all_waiting", MUTEX, &ask);
    enter(&b, "all_waiting", MUTEX, &behind);
    enter(&a, "all_reading", READER, &ask);
    enter(&a, "all_reading", READER, &ask);
    enter(&b, "all_reading", WRITER, &writer);
    enter(&a, "all_permits", semaphore(4, 2), &ask);
    enter(&a, "all_permits", semaphore(4, 1), &ask);
    enter(&b, "all_permits", semaphore(4, 4), &permits);
    assert_false(is_granted(&writer) || is_granted(&permits));
    testament_write(&a, &will);
    testament_execute(&will);
    await_turn(&b, "all_reading", &writer, &a);
    await_turn(&b, "all_permits", &permits, &a);
    assert_int_equal(length(&b, "all_waiting"), 2);
    assert_int_equal(leave(&b, "all_waiting", id), 0);
    await_turn(&b, "all_waiting", &behind, &a);
    player_close(&a);
    player_close(&b);
}

/* Who wants a claim waits outside, and has no place that could be granted. */
static void a_claim_is_free_again(void **state)
{
    struct player    a, b;
    struct ask       held, refused, outside;
    struct testament will;

    (void)state;
    player_open(&a);
    player_open(&b);
    enter(&a, "claimed", CLAIM, &held);
    enter(&b, "claimed", CLAIM, &refused);
    assert_true(is_refused(&refused));
    watch_place(&b, "claimed", &refused, place_of(&held), &outside);
    testament_write(&a, &will);
    testament_execute(&will);
    assert_true(player_await(&b, &outside, LIMIT));
    enter(&b, "claimed", CLAIM, &refused);
    assert_true(is_granted(&refused));
    await_loss(&a, 1);
    player_close(&a);
    player_close(&b);
}

/* ---- What stays ------------------------------------------------------------------------ */

static void others_stay(void **state)
{
    struct player    a, b, c;
    struct ask       ask, first, second;
    struct testament will;

    (void)state;
    player_open(&a);
    player_open(&b);
    player_open(&c);
    uint64_t held = enter(&b, "others", MUTEX, &first);
    enter(&a, "others", MUTEX, &ask);
    uint64_t next = enter(&c, "others", MUTEX, &second);
    uint64_t reads = enter(&c, "others_read", READER, &ask);
    enter(&a, "others_read", READER, &ask);
    testament_write(&a, &will);
    testament_execute(&will);
    assert_int_equal(prove(&b, "others", held), 0);
    assert_int_equal(prove(&c, "others_read", reads), 0);
    assert_int_equal(length(&b, "others"), 2);
    assert_int_equal(look(&c, "others", next, &second), 0);
    assert_int_equal(ahead_of(&second), 1);
    assert_false(is_granted(&second));
    assert_int_equal(leave(&b, "others", held), 0);
    await_turn(&c, "others", &second, &b);
    assert_int_equal(b.lost + c.lost, 0);
    player_close(&a);
    player_close(&b);
    player_close(&c);
}

/* The same client goes on in a new session, and the old will does nothing to that. */
static void a_later_session_stays(void **state)
{
    struct player    a;
    struct ask       ask;
    struct testament old, new;

    (void)state;
    player_open(&a);
    enter(&a, "later", MUTEX, &ask);
    testament_write(&a, &old);
    testament_execute(&old);
    await_loss(&a, 1);
    uint64_t id = enter(&a, "later", MUTEX, &ask);
    assert_true(is_granted(&ask));
    testament_execute(&old);
    testament_execute(&old);
    assert_int_equal(prove(&a, "later", id), 0);
    assert_int_equal(a.lost, 1);

    testament_write(&a, &new);
    assert_true(new.size != old.size || memcmp(new.bytes, old.bytes, old.size) != 0);
    testament_execute(&new);
    await_loss(&a, 2);
    assert_int_equal(length(&a, "later"), 0);
    player_close(&a);
}

static void *execute_once(void *data)
{
    const struct testament *will = data;

    return hf_execute(will->bytes, will->size, LIMIT, NULL, 0) == 0 ? data : NULL;
}

/* A guardian and a person, say.  Each is told that it is dead, and what comes next stays. */
static void two_execute_it_at_once(void **state)
{
    struct player    a, b;
    struct ask       held, waits;
    struct testament will;
    pthread_t        thread[2];
    void            *done;

    (void)state;
    player_open(&a);
    player_open(&b);
    enter(&a, "twice", MUTEX, &held);
    uint64_t next = enter(&b, "twice", MUTEX, &waits);
    testament_write(&a, &will);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, execute_once, &will), 0);
    await_loss(&a, 1);
    uint64_t last = enter(&a, "twice", MUTEX, &held);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(thread[i], &done), 0);
        assert_non_null(done);
    }
    await_turn(&b, "twice", &waits, &a);
    assert_int_equal(prove(&b, "twice", next), 0);
    assert_int_equal(look(&a, "twice", last, &held), 0);
    assert_true(has_place(&held));
    assert_int_equal(length(&b, "twice"), 2);
    assert_true(a.lost == 1 && b.lost == 0);
    player_close(&a);
    player_close(&b);
}

/* Nor does one whose owner has closed its store in peace. */
static void a_closed_session_has_gone_before(void **state)
{
    struct player    a, b;
    struct ask       ask;
    struct testament will;

    (void)state;
    player_open(&a);
    enter(&a, "closed", MUTEX, &ask);
    testament_write(&a, &will);
    player_close(&a);
    testament_execute(&will);
    player_open(&b);
    uint64_t id = enter(&b, "closed", MUTEX, &ask);
    testament_execute(&will);
    assert_int_equal(prove(&b, "closed", id), 0);
    assert_int_equal(b.lost, 0);
    player_close(&b);
}

/* ---- What is no will ------------------------------------------------------------------- */

static void damaged_bytes_touch_nothing(void **state)
{
    struct player    a;
    struct ask       ask;
    struct testament will, bad;
    uint8_t          own[HF_WILL_MAX + 1] = { 0 };

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "damaged", MUTEX, &ask);
    testament_write(&a, &will);
    bad = will;
    bad.bytes[will.size - 1] ^= 1;
    testament_refused(&bad, HF_EINVAL);
    bad = will;
    bad.size = will.size - 1;
    testament_refused(&bad, HF_EINVAL);
    bad.size = 0;
    testament_refused(&bad, HF_EINVAL);
    bad = will;
    bad.bytes[0] ^= 1;
    testament_refused(&bad, HF_EINVAL);
    bad = will;
    bad.bytes[6]++; /* the version */
    testament_refused(&bad, HF_EUNSUPPORTED);

    /* Whole, but not what this store writes. */
    size_t size = testament_own(&a, own);
    testament_pack(&bad, own, size - 1);
    testament_refused(&bad, HF_EINVAL);
    testament_pack(&bad, own, 0);
    testament_refused(&bad, HF_EINVAL);
    if (size < HF_WILL_MAX) {
        testament_pack(&bad, own, size + 1);
        testament_refused(&bad, HF_EINVAL);
    }
    assert_int_equal(prove(&a, "damaged", id), 0);
    assert_int_equal(a.lost, 0);
    testament_execute(&will);
    player_close(&a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_holder_is_replaced),
        cmocka_unit_test(those_asleep_are_woken),
        cmocka_unit_test(all_of_the_session_goes),
        cmocka_unit_test(a_claim_is_free_again),
        cmocka_unit_test(others_stay),
        cmocka_unit_test(a_later_session_stays),
        cmocka_unit_test(two_execute_it_at_once),
        cmocka_unit_test(a_closed_session_has_gone_before),
        cmocka_unit_test(damaged_bytes_touch_nothing),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
