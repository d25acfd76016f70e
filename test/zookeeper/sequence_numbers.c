/* sequence_numbers.c - the numbers in a folder end at 2^31 - 1.
 *
 * There the server's counter stops, so that several nodes get the same number, or
 * overflows to negative ones.  So nobody may hold a lock with such a number.  Long
 * before that, the numbers in an empty folder start afresh.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/clients.h"
#include "lib/next_number.h"
#include "lib/promise.h"
#include "lib/witness.h"
#include "lib/zkproxy.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define END        ((int64_t)INT32_MAX)
#define HALF       ((int64_t)1 << 30)
#define CONTENDERS 16

/* The number of the only place in the folder. */
static int64_t only_number(const char *folder)
{
    struct witness seen;
    int64_t        number = -1;

    witness_look(folder, &seen);
    for (size_t i = 0; i < seen.count; i++)
        if (strncmp(seen.name[i], "_c_", 3) == 0)
            number = strtoll(seen.name[i] + strlen(seen.name[i]) - 10, NULL, 10);
    return number;
}

static bool is_there(const char *folder)
{
    struct witness seen;

    witness_look(folder, &seen);
    return seen.there;
}

/* ---- Starting afresh ---------------------------------------------------------------- */

static void empty_folder_starts_afresh(void **state)
{
    struct actor a;
    uint64_t     token = 0;

    (void)state;
    set_next_number("/afresh", HALF - 1);
    actor_open_zk(&a, witness_server(), "afresh");
    for (int64_t number = HALF - 1; number <= HALF; number++) {
        actor_take(&a);
        assert_int_equal(only_number("/afresh"), number);
        token = hf_token(a.lock);
        actor_give(&a);
        assert_int_equal(is_there("/afresh"), number < HALF);
    }
    for (int64_t number = 0; number < 3; number++) {
        actor_take(&a);
        assert_int_equal(only_number("/afresh"), number);
        assert_true(hf_token(a.lock) > token); /* tokens do not start afresh */
        token = hf_token(a.lock);
        actor_give(&a);
    }
    actor_close(&a);
}

/* With the companion of the place. */
static void empty_folder_of_a_claim_or_semaphore_starts_afresh(void **state)
{
    static char           url[64];
    const struct hf_shape shape[] = { CLAIM, semaphore(2, 1) };
    struct player         a;
    struct request        view;

    (void)state;
    snprintf(url, sizeof url, "zk://%s", witness_server());
    promise_use(url);
    for (int i = 0; i < 2; i++) {
        const char *folder = i == 0 ? "/claimed" : "/counted";
        set_next_number(folder, HALF); /* restarts the server */
        player_open(&a);
        uint64_t id = enter(&a, folder + 1, shape[i], &view);
        assert_true(is_granted(&view));
        assert_int_equal(only_number(folder), HALF);
        assert_int_equal(leave(&a, folder + 1, id), 0);
        assert_false(is_there(folder));
        id = enter(&a, folder + 1, shape[i], &view);
        assert_int_equal(only_number(folder), 0);
        assert_int_equal(leave(&a, folder + 1, id), 0);
        player_close(&a);
    }
}

static void folder_with_a_waiter_does_not_start_afresh(void **state)
{
    struct actor a, b;

    (void)state;
    set_next_number("/waits", HALF + 7);
    actor_open_zk(&a, witness_server(), "waits");
    actor_open_zk(&b, witness_server(), "waits");
    actor_take(&a);
    actor_queue_zk(&b, 2);
    actor_give(&a);
    actor_await(&b, HF_HELD);
    assert_int_equal(only_number("/waits"), HALF + 8);
    actor_queue_zk(&a, 2);
    actor_give(&b);
    actor_await(&a, HF_HELD);
    assert_int_equal(only_number("/waits"), HALF + 9);
    actor_give(&a);
    assert_false(is_there("/waits"));
    actor_close(&a);
    actor_close(&b);
}

/* With the very last valid numbers. */
static void last_valid_numbers_work(void **state)
{
    struct actor a, b;

    (void)state;
    set_next_number("/last", END - 2);
    actor_open_zk(&a, witness_server(), "last");
    actor_open_zk(&b, witness_server(), "last");
    actor_take(&a);
    assert_int_equal(only_number("/last"), END - 2);
    actor_queue_zk(&b, 2);
    assert_int_equal(hf_state(b.lock), HF_WAITING);
    actor_give(&a);
    actor_await(&b, HF_HELD);
    assert_int_equal(only_number("/last"), END - 1);
    actor_give(&b);
    actor_take(&a);
    assert_int_equal(only_number("/last"), 0);
    actor_give(&a);
    actor_close(&a);
    actor_close(&b);
}

/* Folder and node, or only the node: whichever answer is lost, nothing stays.  Without the
 * folder nobody can tell whether the lock was broken.  (The connection may end at the DELETE
 * before or after the answer to the MULTI in front of it arrives.) */
static void release_with_a_lost_answer(void **state)
{
    enum { DELETE = 2, MULTI = 14 };
    struct zkproxy *proxy = zkproxy_start(witness_server());
    struct actor    a;
    char            folder[32];

    (void)state;
    for (int times = 0; times < 4; times++) {
        struct zkproxy_rule rule = { times % 2 ? ZKPROXY_DROP_AFTER : ZKPROXY_DROP_BEFORE,
                                     times < 2 ? MULTI : DELETE, 1, 0 };
        snprintf(folder, sizeof folder, "/reset-%d", times);
        set_next_number(folder, HALF + 1);
        actor_open_zk(&a, zkproxy_address(proxy), folder + 1);
        actor_take(&a);
        zkproxy_rule(proxy, &rule);
        int r = hf_release(a.lock);
        if (rule.opcode == MULTI)
            assert_int_equal(r, rule.fault == ZKPROXY_DROP_AFTER ? HF_ELOST : 0);
        else
            assert_true(r == 0 || r == HF_ELOST);
        assert_true(zkproxy_has_struck(proxy));
        assert_int_equal(witness_count(folder), 0);
        actor_take(&a);
        actor_give(&a);
        actor_close(&a);
    }
    zkproxy_stop(proxy);
}

/* ---- The end ------------------------------------------------------------------------ */

static void check_exhausted(struct actor *actor, int r)
{
    const char *said = hf_errmsg(actor->client);

    if (r != HF_EEXHAUSTED || strstr(said, "used up") == NULL ||
        strstr(said, actor_folder(actor)) == NULL)
        fail_msg("%s: %s", hf_errname(r), said);
}

/* Another node in the folder prevents a fresh start. */
static void make_full(const char *folder, int64_t next)
{
    char path[64];

    set_next_number(folder, next);
    snprintf(path, sizeof path, "%s/config", folder);
    assert_int_equal(witness_create(path), 0);
}

static void acquire_fails_when_numbers_are_used_up(void **state)
{
    struct actor a;

    (void)state;
    make_full("/end", END - 3); /* and one for `config` */
    actor_open_zk(&a, witness_server(), "end");
    for (int64_t number = END - 2; number < END; number++) {
        actor_take(&a);
        assert_int_equal(only_number("/end"), number);
        actor_give(&a);
    }
    for (int times = 0; times < 3; times++) {
        check_exhausted(&a, hf_acquire(a.lock, ACTOR_LIMIT_MS));
        assert_int_equal(witness_count("/end"), 1);
    }
    check_exhausted(&a, hf_acquire(a.lock, 0));
    assert_int_equal(witness_count("/end"), 1);
    witness_delete_all("/end"); /* as the message says */
    actor_take(&a);
    actor_give(&a);
    actor_close(&a);
}

/* In bursts, so that several get the same number, or negative ones. */
static void no_two_holders_at_the_end(void **state)
{
    struct actor actor[CONTENDERS];
    char         folder[32];

    (void)state;
    for (int times = 0; times < 3; times++) {
        snprintf(folder, sizeof folder, "/crowd-%d", times);
        make_full(folder, END - 6);
        for (int i = 0; i < CONTENDERS; i++) {
            actor_open_zk(&actor[i], witness_server(), folder + 1);
            assert_int_equal(hf_acquire_start(actor[i].lock, ACTOR_LIMIT_MS), 0);
        }
        int     had = 0, refused = 0;
        hf_time end = hf_now() + ACTOR_LIMIT_MS * HF_MS;
        while (had + refused < CONTENDERS && hf_now() < end) {
            struct actor *holder = NULL;
            for (int i = 0; i < CONTENDERS; i++) {
                if (hf_state(actor[i].lock) != HF_HELD)
                    continue;
                assert_null(
                    holder); /* no other one: all are checked, and none released */
                holder = &actor[i];
            }
            if (holder != NULL) {
                actor_give(holder);
                had++;
            }
            refused = 0;
            for (int i = 0; i < CONTENDERS; i++)
                refused += hf_state(actor[i].lock) == HF_IDLE &&
                           hf_why(actor[i].lock) == HF_EEXHAUSTED;
            poll(NULL, 0, 2);
        }
        print_message("# %d had it, %d were refused\n", had, refused);
        assert_int_equal(had, 5);
        assert_int_equal(refused, CONTENDERS - 5);
        assert_int_equal(witness_count(folder), 1);
        for (int i = 0; i < CONTENDERS; i++)
            actor_close(&actor[i]);
    }
}

/* The same from one client, which sends its requests in one piece. */
static void no_two_holders_of_one_client_at_the_end(void **state)
{
    struct actor    a;
    struct hf_lock *lock[CONTENDERS];

    (void)state;
    make_full("/burst", END - 6);
    actor_open_zk(&a, witness_server(), "burst");
    for (int i = 0; i < CONTENDERS; i++) {
        assert_int_equal(hf_mutex(a.client, "burst", &lock[i]), 0);
        assert_int_equal(hf_set_any_thread(lock[i], true), 0);
    }
    for (int i = 0; i < CONTENDERS; i++)
        assert_int_equal(hf_acquire_start(lock[i], ACTOR_LIMIT_MS), 0);
    for (int i = 0; i < CONTENDERS; i++) {
        lock_await(lock[i], i < 5 ? HF_HELD : HF_IDLE);
        if (i < 5)
            assert_int_equal(hf_release(lock[i]), 0);
        else
            assert_int_equal(hf_why(lock[i]), HF_EEXHAUSTED);
    }
    for (int i = 0; i < CONTENDERS; i++)
        hf_lock_free(lock[i]);
    actor_close(&a);
    assert_int_equal(witness_count("/burst"), 1);
}

/* A place of another client with a negative number blocks us. */
static void negative_number_of_another_client_blocks(void **state)
{
    static const char held[] = "/negative/_c_01234567-89ab-cdef-0123-456789abcdef-lock-"
                               "-2147483648";
    struct actor      a;
    struct zkraw      raw;

    (void)state;
    set_next_number("/negative", END);
    assert_true(zkraw_open(&raw, witness_server(), 4000));
    assert_int_equal(witness_create_in(&raw, held, "", WITNESS_EPHEMERAL), 0);
    actor_open_zk(&a, witness_server(), "negative");
    check_exhausted(&a, hf_acquire(a.lock, ACTOR_LIMIT_MS));
    assert_int_equal(hf_acquire(a.lock, 0), HF_EBUSY);
    assert_int_equal(witness_count("/negative"), 1);
    zkraw_close(&raw);
    actor_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_folder_starts_afresh),
        cmocka_unit_test(empty_folder_of_a_claim_or_semaphore_starts_afresh),
        cmocka_unit_test(folder_with_a_waiter_does_not_start_afresh),
        cmocka_unit_test(last_valid_numbers_work),
        cmocka_unit_test(release_with_a_lost_answer),
        cmocka_unit_test(acquire_fails_when_numbers_are_used_up),
        cmocka_unit_test(no_two_holders_at_the_end),
        cmocka_unit_test(no_two_holders_of_one_client_at_the_end),
        cmocka_unit_test(negative_number_of_another_client_blocks),
    };

    witness_server();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
