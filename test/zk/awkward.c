/* awkward.c - requests that meet at bad moments: a WATCH that is given up while it
 * is being answered, two claims of one client whose answers are both lost, a proof of a
 * place while nobody knows what it is called.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/connected.h"
#include "lib/witness.h"
#include "lib/zkproxy.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_MS 30000

static struct zkproxy *proxy;

/* Again and again, as long as the store cannot say what came of it. */
static int persist(struct player *player, struct ask *ask)
{
    for (int tries = 0; tries < 50; tries++)
        if (player_run(player, ask) != HF_EDOWN)
            break;
    return ask->req.status;
}

/* ---- WATCHes that are given up ------------------------------------------------------ */

/* Whoever has no place must first ask what is there. */
static void given_up_while_it_asks(void **state)
{
    struct player a, b;
    struct ask    held, watching;

    (void)state;
    open_connected(&a, witness_server());
    open_connected(&b, witness_server());
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
        assert_int_equal(length(&b, "asks"), 1); /* all is well */
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

/* Woken and given up at once: it ends once, and is ours to free from then on. */
static void given_up_as_it_ends(void **state)
{
    struct player a, b;
    struct ask    held, waiting, template;

    (void)state;
    open_connected(&a, witness_server());
    open_connected(&b, witness_server());
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

/* ---- Answers that are lost ------------------------------------------------------------ */

/* Only one of them has made its nodes, and nobody knows which. */
static void two_claims_of_one_client(void **state)
{
    struct player a, b;
    struct ask    claim[2], other;

    (void)state;
    open_connected(&a, zkproxy_address(proxy));
    open_connected(&b, witness_server());
    for (unsigned times = 0; times < 4; times++) {
        char name[16];
        snprintf(name, sizeof name, "claims-%u", times);
        enter(&b, name, CLAIM, &other); /* so that there is a folder */
        leave(&b, name, other.req.id);
        for (int i = 0; i < 2; i++) {
            claim[i] = (struct ask){ .req = { .op = HF_ENTER,
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

/* The writer has become a reader, or has not: it holds the lock all the same. */
static void proven_while_unsure(void **state)
{
    struct player a;
    struct ask    held, less, proof;

    (void)state;
    open_connected(&a, zkproxy_address(proxy));
    for (int after = 0; after < 2; after++) {
        uint64_t id = enter(&a, "unsure", WRITER, &held);
        zkproxy_rule(proxy,
                     &(struct zkproxy_rule){
                         after ? ZKPROXY_DROP_AFTER : ZKPROXY_DROP_BEFORE, 14, 1, 0 });
        less = (struct ask){
            .req = { .op = HF_AMEND, .name = "unsure", .id = id, .shape = READER }
        };
        assert_int_equal(player_run(&a, &less), HF_EDOWN);
        proof = (struct ask){ .req = { .op = HF_PROVE, .name = "unsure", .id = id } };
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

/* A try that found the lock free was late, and the end of its place was not answered.  The
 * next place under the same id has a token of its own: others held the lock in between. */
static void late_unsure_and_tried_again(void **state)
{
    enum { DELETE = 2, TRAVEL = 100, TRIES = 20 };
    struct player a, b;
    struct ask    held, mine;
    int           status = 0;

    (void)state;
    open_connected(&a, zkproxy_address(proxy));
    open_connected(&b, witness_server());
    for (int i = 0; i < TRIES && status != HF_EDOWN; i++) {
        mine = (struct ask){ .req = { .op = HF_ENTER,
                                      .name = "tried",
                                      .id = ++a.ids,
                                      .shape = MUTEX,
                                      .only_free = true } };
        zkproxy_delay(proxy, ZKPROXY_UP, TRAVEL);
        player_submit(&a, &mine);
        player_await(&a, &mine,
                     TRAVEL + TRAVEL / 2); /* between its listing and its node */
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

/* What is looked for then is looked for behind a write: `sync` would do for a leader that
 * is one. */
static void a_lost_place_is_looked_for_behind_a_write(void **state)
{
    enum { SYNC = 9, MULTI = 14, CREATE2 = 15 };
    struct player a;
    struct ask    mine;

    (void)state;
    open_connected(&a, zkproxy_address(proxy));
    uint64_t writes = zkproxy_requests(proxy, MULTI);
    zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_DROP_AFTER, CREATE2, 1, 0 });
    uint64_t id = enter(&a, "search", MUTEX, &mine);
    assert_true(zkproxy_has_struck(proxy));
    assert_true(is_granted(&mine));
    assert_int_equal(witness_count("/search"), 1);
    assert_true(zkproxy_requests(proxy, MULTI) > writes);
    assert_int_equal(zkproxy_requests(proxy, SYNC), 0);
    assert_int_equal(leave(&a, "search", id), 0);
    player_close(&a);
}

/* ---- One behind the other ------------------------------------------------------------- */

/* A place is given up again, since too many wait, while all that is ahead of it goes.  Who
 * stands behind it, of the same client, listens to nobody and has to be told. */
static void one_that_is_given_up_again(void **state)
{
    enum { CREATE2 = 15 };
    struct player h, c;
    struct ask    held, view, watching, last_watching;
    struct ask    full = { .req = { .op = HF_ENTER, .name = "full", .shape = MUTEX } };
    struct ask    first = full, last = full;

    (void)state;
    open_connected(&h, witness_server());
    open_connected(&c, zkproxy_address(proxy));
    full.req.id = ++c.ids;
    full.req.limit = 1;
    first.req.id = ++c.ids;
    last.req.id = ++c.ids;
    uint64_t id = enter(&h, "full", MUTEX, &held);
    uint64_t made = zkproxy_requests(proxy, CREATE2);
    zkproxy_delay(proxy, ZKPROXY_DOWN, 300);
    player_submit(&c, &full); /* looks first, and sees nobody wait */
    player_turn(&c, 0);
    player_submit(&c, &first); /* is quicker */
    for (int i = 0; i < 3000 && zkproxy_requests(proxy, CREATE2) < made + 2; i++)
        player_turn(&c, 1);
    player_submit(&c, &last);
    assert_false(player_await(&c, &last, 150)); /* all is on its way */
    assert_int_equal(leave(&h, "full", id), 0);
    assert_true(player_await(&c, &first, LIMIT_MS));
    watch(&c, "full", &first, &watching);
    assert_true(player_await(&c, &last, LIMIT_MS));
    watch(&c, "full", &last, &last_watching);
    assert_true(player_await(&c, &watching, LIMIT_MS));
    struct ask left = { .req = { .op = HF_LEAVE, .name = "full", .id = first.req.id } };
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

/* ---- Names that many have ---------------------------------------------------------------- */

/* A claim is left, the answer is lost, and somebody else claims: his is not ours to
 * delete. */
static void left_claim_is_anothers(void **state)
{
    struct player a, b;
    struct ask    mine, others, left;

    (void)state;
    open_connected(&a, zkproxy_address(proxy));
    open_connected(&b, witness_server());
    uint64_t id = enter(&a, "left", CLAIM, &mine);
    zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_DROP_AFTER, 14, 1, -1 });
    left = (struct ask){ .req = { .op = HF_LEAVE, .name = "left", .id = id } };
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

/* A place is taken away with its slot, which somebody else has before we hear of it. */
static void broken_slot_is_anothers(void **state)
{
    struct player  a, b;
    struct ask     mine, others, watching;
    struct witness seen;

    (void)state;
    open_connected(&a, witness_server());
    open_connected(&b, witness_server());
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
        cmocka_unit_test(given_up_while_it_asks),
        cmocka_unit_test(given_up_as_it_ends),
        cmocka_unit_test(two_claims_of_one_client),
        cmocka_unit_test(proven_while_unsure),
        cmocka_unit_test(late_unsure_and_tried_again),
        cmocka_unit_test(a_lost_place_is_looked_for_behind_a_write),
        cmocka_unit_test(one_that_is_given_up_again),
        cmocka_unit_test(left_claim_is_anothers),
        cmocka_unit_test(broken_slot_is_anothers),
    };

    proxy = zkproxy_start(witness_server());
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    zkproxy_stop(proxy);
    return status;
}
