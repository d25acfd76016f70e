/* s9_session_key.c - a session key ends exactly its session.  s9_process.c does so from
 * another process. */
#include "lib/session_keys.h"

#include "holdfast.h"

#include <pthread.h>
#include <string.h>

#define LIMIT 20000 /* ms; machines are slow */

/* ---- The session --------------------------------------------------------------- */

/* The owner renews its lease: only the key can end the session. */
static void the_lock_of_a_live_holder_passes_on(void **state)
{
    struct player      a, b;
    struct request     held, waits;
    struct session_key key;

    (void)state;
    player_open(&a);
    player_open(&b);
    enter(&a, "replaced", MUTEX, &held);
    enter(&b, "replaced", MUTEX, &waits);
    assert_false(is_granted(&waits));
    session_key_write(&a, &key);
    session_key_end(&key);
    await_turn(&b, "replaced", &waits, &a);
    await_loss(&a, 1);
    assert_int_equal(length(&b, "replaced"), 1);
    assert_int_equal(b.lost, 0);
    player_close(&a);
    player_close(&b);
}

static void waiter_and_owner_wake(void **state)
{
    struct player      a, b;
    struct request     held, waits, watch_a, watch_b;
    struct session_key key;

    (void)state;
    player_open(&a);
    player_open(&b);
    enter(&a, "asleep", MUTEX, &held);
    enter(&b, "asleep", MUTEX, &waits);
    watch(&a, "asleep", &held, &watch_a);
    watch(&b, "asleep", &waits, &watch_b);
    assert_true(watch_a.answers == 0 && watch_b.answers == 0);
    session_key_write(&a, &key);
    session_key_end(&key);
    assert_true(player_await(&b, &watch_b, LIMIT));
    assert_true(player_await(&a, &watch_a, LIMIT));
    await_loss(&a, 1);
    await_turn(&b, "asleep", &waits, &a);
    player_close(&a);
    player_close(&b);
}

/* Waiters, readers and slots, too; they leave no weight behind. */
static void all_places_of_the_session_are_removed(void **state)
{
    struct player      a, b;
    struct request     request, behind, writer, permits;
    struct session_key key;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&b, "all_waiting", MUTEX, &request);
    enter(&a, "all_waiting", MUTEX, &request);
    enter(&b, "all_waiting", MUTEX, &behind);
    enter(&a, "all_reading", READER, &request);
    enter(&a, "all_reading", READER, &request);
    enter(&b, "all_reading", WRITER, &writer);
    enter(&a, "all_permits", semaphore(4, 2), &request);
    enter(&a, "all_permits", semaphore(4, 1), &request);
    enter(&b, "all_permits", semaphore(4, 4), &permits);
    assert_false(is_granted(&writer) || is_granted(&permits));
    session_key_write(&a, &key);
    session_key_end(&key);
    await_turn(&b, "all_reading", &writer, &a);
    await_turn(&b, "all_permits", &permits, &a);
    assert_int_equal(length(&b, "all_waiting"), 2);
    assert_int_equal(leave(&b, "all_waiting", id), 0);
    await_turn(&b, "all_waiting", &behind, &a);
    player_close(&a);
    player_close(&b);
}

/* A client that waits for a claim has no place that could be granted. */
static void a_claim_is_free_again(void **state)
{
    struct player      a, b;
    struct request     held, refused, outside;
    struct session_key key;

    (void)state;
    player_open(&a);
    player_open(&b);
    enter(&a, "claimed", CLAIM, &held);
    enter(&b, "claimed", CLAIM, &refused);
    assert_true(is_refused(&refused));
    watch_place(&b, "claimed", &refused, place_of(&held), &outside);
    session_key_write(&a, &key);
    session_key_end(&key);
    assert_true(player_await(&b, &outside, LIMIT));
    enter(&b, "claimed", CLAIM, &refused);
    assert_true(is_granted(&refused));
    await_loss(&a, 1);
    player_close(&a);
    player_close(&b);
}

/* ---- Other sessions ------------------------------------------------------------ */

static void places_of_other_sessions_stay(void **state)
{
    struct player      a, b, c;
    struct request     request, first, second;
    struct session_key key;

    (void)state;
    player_open(&a);
    player_open(&b);
    player_open(&c);
    uint64_t held = enter(&b, "others", MUTEX, &first);
    enter(&a, "others", MUTEX, &request);
    uint64_t next = enter(&c, "others", MUTEX, &second);
    uint64_t reads = enter(&c, "others_read", READER, &request);
    enter(&a, "others_read", READER, &request);
    session_key_write(&a, &key);
    session_key_end(&key);
    assert_int_equal(verify(&b, "others", held), 0);
    assert_int_equal(verify(&c, "others_read", reads), 0);
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

/* The old key does nothing to the new session. */
static void a_later_session_of_the_client_stays(void **state)
{
    struct player      a;
    struct request     request;
    struct session_key old, new;

    (void)state;
    player_open(&a);
    enter(&a, "later", MUTEX, &request);
    session_key_write(&a, &old);
    session_key_end(&old);
    await_loss(&a, 1);
    uint64_t id = enter(&a, "later", MUTEX, &request);
    assert_true(is_granted(&request));
    session_key_end(&old);
    session_key_end(&old);
    assert_int_equal(verify(&a, "later", id), 0);
    assert_int_equal(a.lost, 1);

    session_key_write(&a, &new);
    assert_true(new.size != old.size || memcmp(new.bytes, old.bytes, old.size) != 0);
    session_key_end(&new);
    await_loss(&a, 2);
    assert_int_equal(length(&a, "later"), 0);
    player_close(&a);
}

static void *end_once(void *data)
{
    const struct session_key *key = data;

    return hf_end_session(key->bytes, key->size, LIMIT, NULL, 0) == 0 ? data : NULL;
}

/* Such as a guardian and a person.  Both succeed, and later places stay. */
static void two_may_end_it_at_once(void **state)
{
    struct player      a, b;
    struct request     held, waits;
    struct session_key key;
    pthread_t          thread[2];
    void              *done;

    (void)state;
    player_open(&a);
    player_open(&b);
    enter(&a, "twice", MUTEX, &held);
    uint64_t next = enter(&b, "twice", MUTEX, &waits);
    session_key_write(&a, &key);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, end_once, &key), 0);
    await_loss(&a, 1);
    uint64_t last = enter(&a, "twice", MUTEX, &held);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(thread[i], &done), 0);
        assert_non_null(done);
    }
    await_turn(&b, "twice", &waits, &a);
    assert_int_equal(verify(&b, "twice", next), 0);
    assert_int_equal(look(&a, "twice", last, &held), 0);
    assert_true(has_place(&held));
    assert_int_equal(length(&b, "twice"), 2);
    assert_true(a.lost == 1 && b.lost == 0);
    player_close(&a);
    player_close(&b);
}

static void ending_a_closed_session_is_no_error(void **state)
{
    struct player      a, b;
    struct request     request;
    struct session_key key;

    (void)state;
    player_open(&a);
    enter(&a, "closed", MUTEX, &request);
    session_key_write(&a, &key);
    player_close(&a);
    session_key_end(&key);
    player_open(&b);
    uint64_t id = enter(&b, "closed", MUTEX, &request);
    session_key_end(&key);
    assert_int_equal(verify(&b, "closed", id), 0);
    assert_int_equal(b.lost, 0);
    player_close(&b);
}

/* ---- Invalid keys -------------------------------------------------------------- */

static void a_damaged_key_is_refused(void **state)
{
    struct player      a;
    struct request     request;
    struct session_key key, bad;
    uint8_t            own[HF_SESSION_KEY_MAX + 1] = { 0 };

    (void)state;
    player_open(&a);
    uint64_t id = enter(&a, "damaged", MUTEX, &request);
    session_key_write(&a, &key);
    bad = key;
    bad.bytes[key.size - 1] ^= 1;
    session_key_refused(&bad, HF_EINVAL);
    bad = key;
    bad.size = key.size - 1;
    session_key_refused(&bad, HF_EINVAL);
    bad.size = 0;
    session_key_refused(&bad, HF_EINVAL);
    bad = key;
    bad.bytes[0] ^= 1;
    session_key_refused(&bad, HF_EINVAL);
    bad = key;
    bad.bytes[6]++; /* the version */
    session_key_refused(&bad, HF_EUNSUPPORTED);

    /* Complete, but not of this store. */
    size_t size = session_key_own(&a, own);
    session_key_pack(&bad, own, size - 1);
    session_key_refused(&bad, HF_EINVAL);
    session_key_pack(&bad, own, 0);
    session_key_refused(&bad, HF_EINVAL);
    if (size < HF_SESSION_KEY_MAX) {
        session_key_pack(&bad, own, size + 1);
        session_key_refused(&bad, HF_EINVAL);
    }
    assert_int_equal(verify(&a, "damaged", id), 0);
    assert_int_equal(a.lost, 0);
    session_key_end(&key);
    player_close(&a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lock_of_a_live_holder_passes_on),
        cmocka_unit_test(waiter_and_owner_wake),
        cmocka_unit_test(all_places_of_the_session_are_removed),
        cmocka_unit_test(a_claim_is_free_again),
        cmocka_unit_test(places_of_other_sessions_stay),
        cmocka_unit_test(a_later_session_of_the_client_stays),
        cmocka_unit_test(two_may_end_it_at_once),
        cmocka_unit_test(ending_a_closed_session_is_no_error),
        cmocka_unit_test(a_damaged_key_is_refused),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
