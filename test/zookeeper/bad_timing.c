/* bad_timing.c - requests that overlap at bad moments: a WATCH canceled while it is
 * being answered, two claims of one client whose answers are both lost, a VERIFY while a
 * DOWNGRADE is unanswered.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/clients.h"
#include "lib/fixture.h"
#include "lib/witness.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_MS 30000

/* Repeat it until the store knows the outcome. */
static int persist(struct player *player, struct request *request)
{
    for (int tries = 0; tries < 50; tries++)
        if (player_run(player, request) != HF_EDOWN)
            break;
    return request->req.status;
}

/* ---- Canceled WATCHes --------------------------------------------------------------- */

/* The WATCH of another client's place begins with a scan. */
static void watch_canceled_during_its_scan(void **state)
{
    struct player  a, b;
    struct request held, watching;

    (void)state;
    player_connect(&a, witness_server());
    player_connect(&b, witness_server());
    enter(&a, "asks", MUTEX, &held);
    for (int turns = 0; turns < 6; turns++) {
        to_watch_place(&watching, "asks", NULL, place_of(&held));
        player_submit(&b, &watching);
        for (int i = 0; i < turns; i++)
            player_turn(&b, 5);
        assert_int_equal(watching.answers, 0);
        b.store->impl->cancel(b.store, &watching.req);
        assert_true(player_await(&b, &watching, LIMIT_MS));
        assert_int_equal(watching.answers, 1);
        assert_int_equal(watching.req.status, HF_ECANCELED);
        assert_int_equal(length(&b, "asks"), 1); /* the store still works */
    }
    player_close(&a);
    player_close(&b);
    assert_int_equal(witness_await_watches(0), 0);
}

static unsigned ended;

static void free_it(struct hf_req *req)
{
    ended++;
    memset(req, 0xee, sizeof *req);
    free(req);
}

/* Woken and canceled at once: done() is called once, and the request is ours to free. */
static void watch_canceled_while_it_is_answered(void **state)
{
    struct player  a, b;
    struct request held, waiting, template;

    (void)state;
    player_connect(&a, witness_server());
    player_connect(&b, witness_server());
    for (int times = 0; times < 10; times++) {
        struct hf_req *watching = calloc(1, sizeof *watching);
        uint64_t       first = enter(&a, "ends", MUTEX, &held);
        uint64_t       second = enter(&b, "ends", MUTEX, &waiting);
        assert_false(is_granted(&waiting));
        to_watch(&template, "ends", &waiting);
        *watching = template.req;
        watching->done = free_it;
        ended = 0;
        b.store->impl->submit(b.store, watching);
        player_turn(&b, 0);
        assert_int_equal(length(&b, "ends"), 2); /* the watches are set by now */
        assert_int_equal(leave(&a, "ends", first), 0);
        assert_int_equal(poll(&(struct pollfd){ b.store->fd, POLLIN, 0 }, 1, LIMIT_MS),
                         1);
        assert_int_equal(ended, 0);
        b.store->impl->cancel(b.store, watching);
        for (int i = 0; i < 100 && ended == 0; i++)
            player_turn(&b, 5);
        assert_int_equal(ended, 1);
        assert_int_equal(leave(&b, "ends", second), 0);
    }
    player_close(&a);
    player_close(&b);
}

/* ---- Lost answers ------------------------------------------------------------------- */

/* Only one of them has created its nodes, and the client does not know which. */
static void one_of_two_unanswered_claims_holds(void **state)
{
    struct player  a, b;
    struct request claim[2], other;

    (void)state;
    player_connect(&a, zkproxy_address(proxy));
    player_connect(&b, witness_server());
    for (unsigned times = 0; times < 4; times++) {
        char name[16];
        snprintf(name, sizeof name, "claims-%u", times);
        enter(&b, name, CLAIM, &other); /* so that there is a folder */
        leave(&b, name, other.req.id);
        for (int i = 0; i < 2; i++) {
            claim[i] = (struct request){ .req = { .op = HF_ENTER,
                                                  .name = name,
                                                  .id = ++a.ids,
                                                  .shape = CLAIM,
                                                  .only_free = true } };
            player_submit(&a, &claim[i]);
        }
        zkproxy_rule(proxy, &(struct zkproxy_rule){ times % 2 ? ZKPROXY_DROP_AFTER
                                                              : ZKPROXY_DROP_BEFORE,
                                                    14, 1 + times / 2, 0 });
        for (int i = 0; i < 2; i++) {
            assert_true(player_await(&a, &claim[i], LIMIT_MS));
            if (claim[i].req.status == HF_EDOWN)
                assert_true(persist(&a, &claim[i]) == 0 || is_refused(&claim[i]));
        }
        assert_true(zkproxy_has_struck(proxy));
        assert_int_equal(is_granted(&claim[0]) + is_granted(&claim[1]), 1);
        for (int i = 0; i < 2; i++)
            assert_int_equal(leave(&a, name, claim[i].req.id), 0);
        assert_int_equal(length(&b, name), 0);
    }
    player_close(&a);
    player_close(&b);
}

/* Whether or not the writer has become a reader, it holds the lock. */
static void verify_after_an_unanswered_downgrade(void **state)
{
    struct player  a;
    struct request held, less, proof;

    (void)state;
    player_connect(&a, zkproxy_address(proxy));
    for (int after = 0; after < 2; after++) {
        uint64_t id = enter(&a, "unsure", WRITER, &held);
        zkproxy_rule(proxy,
                     &(struct zkproxy_rule){
                         after ? ZKPROXY_DROP_AFTER : ZKPROXY_DROP_BEFORE, 14, 1, 0 });
        less = (struct request){
            .req = { .op = HF_DOWNGRADE, .name = "unsure", .id = id, .shape = READER }
        };
        assert_int_equal(player_run(&a, &less), HF_EDOWN);
        proof =
            (struct request){ .req = { .op = HF_VERIFY, .name = "unsure", .id = id } };
        assert_int_equal(persist(&a, &proof), 0);
        assert_int_equal(persist(&a, &less), 0);
        assert_true(is_granted(&less));
        assert_int_equal(weight_of(&less), 1);
        assert_int_equal(token_of(&less), token_of(&held));
        assert_int_equal(persist(&a, &proof), 0);
        assert_int_equal(leave(&a, "unsure", id), 0);
        assert_int_equal(persist(&a, &proof), HF_ELOST);
    }
    player_close(&a);
}

/* A try found the lock free but came too late, and the delete of its place was not
 * answered.  The next place under the same id gets a new token: others held the lock in
 * between. */
static void new_place_after_an_unanswered_delete_gets_a_new_token(void **state)
{
    enum { DELETE = 2, TRAVEL = 100, TRIES = 20 };
    struct player  a, b;
    struct request held, mine;
    int            status = 0;

    (void)state;
    player_connect(&a, zkproxy_address(proxy));
    player_connect(&b, witness_server());
    for (int i = 0; i < TRIES && status != HF_EDOWN; i++) {
        mine = (struct request){ .req = { .op = HF_ENTER,
                                          .name = "tried",
                                          .id = ++a.ids,
                                          .shape = MUTEX,
                                          .only_free = true } };
        zkproxy_delay(proxy, ZKPROXY_UP, TRAVEL);
        player_submit(&a, &mine);
        player_await(&a, &mine,
                     TRAVEL + TRAVEL / 2); /* between its listing and its create */
        enter(&b, "tried", MUTEX, &held);
        zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_DROP_AFTER, DELETE, 1, 0 });
        zkproxy_delay(proxy, ZKPROXY_UP, 0);
        player_await(&a, &mine, LIMIT_MS);
        status = mine.req.status;
        leave(&b, "tried", held.req.id);
        if (status != HF_EDOWN)
            leave(&a, "tried", mine.req.id);
    }
    assert_int_equal(status, HF_EDOWN);
    enter(&b, "tried", MUTEX, &held);
    leave(&b, "tried", held.req.id);
    assert_int_equal(persist(&a, &mine), 0);
    assert_true(is_granted(&mine));
    assert_true(token_of(&mine) > token_of(&held));
    player_close(&a);
    player_close(&b);
}

/* recover.c sends a write first.  `sync` would be answered by a deposed leader, too. */
static void recovery_sends_a_write_first(void **state)
{
    enum { SYNC = 9, MULTI = 14, CREATE2 = 15 };
    struct player  a;
    struct request mine;

    (void)state;
    player_connect(&a, zkproxy_address(proxy));
    uint64_t writes = zkproxy_requests(proxy, MULTI);
    zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_DROP_AFTER, CREATE2, 1, 0 });
    uint64_t id = enter(&a, "recover", MUTEX, &mine);
    assert_true(zkproxy_has_struck(proxy));
    assert_true(is_granted(&mine));
    assert_int_equal(witness_count("/recover"), 1);
    assert_true(zkproxy_requests(proxy, MULTI) > writes);
    assert_int_equal(zkproxy_requests(proxy, SYNC), 0);
    assert_int_equal(leave(&a, "recover", id), 0);
    player_close(&a);
}

/* ---- Several places of one client --------------------------------------------------- */

/* A place is deleted again because the queue is full, while everything ahead of it goes.
 * The place behind it, of the same client, listens to nobody and has to be notified. */
static void deleted_place_wakes_the_one_behind_it(void **state)
{
    enum { CREATE2 = 15 };
    struct player  h, c;
    struct request held, view, watching, last_watching;
    struct request full = { .req = { .op = HF_ENTER, .name = "full", .shape = MUTEX } };
    struct request first = full, last = full;

    (void)state;
    player_connect(&h, witness_server());
    player_connect(&c, zkproxy_address(proxy));
    full.req.id = ++c.ids;
    full.req.limit = 1;
    first.req.id = ++c.ids;
    last.req.id = ++c.ids;
    uint64_t id = enter(&h, "full", MUTEX, &held);
    uint64_t made = zkproxy_requests(proxy, CREATE2);
    zkproxy_delay(proxy, ZKPROXY_DOWN, 300);
    player_submit(&c, &full); /* lists first, and sees no waiters */
    player_turn(&c, 0);
    player_submit(&c, &first); /* is quicker */
    for (int i = 0; i < 3000 && zkproxy_requests(proxy, CREATE2) < made + 2; i++)
        player_turn(&c, 1);
    player_submit(&c, &last);
    assert_false(player_await(&c, &last, 150)); /* both are in flight */
    assert_int_equal(leave(&h, "full", id), 0);
    assert_true(player_await(&c, &first, LIMIT_MS));
    watch(&c, "full", &first, &watching);
    assert_true(player_await(&c, &last, LIMIT_MS));
    watch(&c, "full", &last, &last_watching);
    assert_true(player_await(&c, &watching, LIMIT_MS));
    struct request left = { .req = {
                                .op = HF_LEAVE, .name = "full", .id = first.req.id } };
    player_submit(&c, &left);
    assert_true(player_await(&c, &last_watching, LIMIT_MS));
    zkproxy_delay(proxy, ZKPROXY_DOWN, 0);
    assert_true(player_await(&c, &full, LIMIT_MS));
    assert_int_equal(full.req.status, HF_EFULL);
    assert_int_equal(look(&c, "full", last.req.id, &view), 0);
    assert_true(is_granted(&view));
    assert_int_equal(leave(&c, "full", last.req.id), 0);
    player_close(&h);
    player_close(&c);
}

/* ---- Nodes of another client under the same name ------------------------------------ */

/* A client leaves its claim and the answer is lost; then another client claims.  The
 * first must not delete that claim. */
static void repeated_leave_spares_another_clients_claim(void **state)
{
    struct player  a, b;
    struct request mine, others, left;

    (void)state;
    player_connect(&a, zkproxy_address(proxy));
    player_connect(&b, witness_server());
    uint64_t id = enter(&a, "left", CLAIM, &mine);
    zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_DROP_AFTER, 14, 1, -1 });
    left = (struct request){ .req = { .op = HF_LEAVE, .name = "left", .id = id } };
    assert_int_equal(player_run(&a, &left), HF_EDOWN);
    enter(&b, "left", CLAIM, &others);
    assert_true(is_granted(&others));
    zkproxy_refuse(proxy, 0);
    assert_int_equal(persist(&a, &left), 0);
    assert_int_equal(look(&b, "left", others.req.id, &others), 0);
    assert_true(is_granted(&others));
    assert_int_equal(leave(&b, "left", others.req.id), 0);
    player_close(&a);
    player_close(&b);
}

/* A place is broken with its slot, and another client takes the slot before the owner
 * hears of it. */
static void broken_holder_spares_another_clients_slot(void **state)
{
    struct player  a, b;
    struct request mine, others, watching;
    struct witness seen;

    (void)state;
    player_connect(&a, witness_server());
    player_connect(&b, witness_server());
    for (int times = 0; times < 10; times++) {
        enter(&a, "slot", semaphore(2, 1), &mine);
        assert_int_equal(slot_of(&mine), 0);
        watch(&a, "slot", &mine, &watching);
        for (int i = 0; i < 5; i++)
            player_turn(&a, 2); /* so that it watches */
        assert_int_equal(take_away(&b, "slot", place_of(&mine)), 0);
        enter(&b, "slot", semaphore(2, 1), &others);
        assert_int_equal(slot_of(&others), 0);
        assert_true(player_await(&a, &watching, LIMIT_MS));
        assert_int_equal(look(&a, "slot", mine.req.id, &mine), 0);
        assert_false(has_place(&mine));
        assert_int_equal(leave(&a, "slot", mine.req.id), HF_ELOST);
        witness_look("/slot", &seen);
        assert_int_equal(seen.count, 2); /* the other's place, and its slot */
        assert_int_equal(leave(&b, "slot", others.req.id), 0);
        assert_int_equal(witness_count("/slot"), 0);
    }
    player_close(&a);
    player_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watch_canceled_during_its_scan),
        cmocka_unit_test(watch_canceled_while_it_is_answered),
        cmocka_unit_test(one_of_two_unanswered_claims_holds),
        cmocka_unit_test(verify_after_an_unanswered_downgrade),
        cmocka_unit_test(new_place_after_an_unanswered_delete_gets_a_new_token),
        cmocka_unit_test(recovery_sends_a_write_first),
        cmocka_unit_test(deleted_place_wakes_the_one_behind_it),
        cmocka_unit_test(repeated_leave_spares_another_clients_claim),
        cmocka_unit_test(broken_holder_spares_another_clients_slot),
    };

    return cmocka_run_group_tests(tests, start_proxy, stop_proxy);
}
