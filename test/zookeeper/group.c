/* group.c - several locks as one: one flight, one transaction, and a set that waits holds
 * no place that others need. */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/fixture.h"
#include "lib/recipe.h"
#include "lib/witness.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define PARTS    3
#define LIMIT_MS 30000

enum { DELETE = 2, CHILDREN = 12, MULTI = 14, CREATE2 = 15, CONTAINER = 19 };

struct set {
    struct hf_client *client;
    char              name[PARTS][32], folder[PARTS][33];
    struct hf_lock   *part[PARTS], *all;
};

/* ---- Set-up ------------------------------------------------------------------------- */

static struct hf_client *open_at(const char *address, const char *more)
{
    struct hf_client *client = NULL;
    struct hf_report *report;
    char              url[128];

    snprintf(url, sizeof url, "zk://%s%s", address, more);
    assert_int_equal(hf_open(url, NULL, &client), 0);
    assert_int_equal(hf_inspect(client, "nothing", LIMIT_MS, &report), 0);
    hf_report_free(report);
    return client;
}

static struct hf_client *open_client(void)
{
    return open_at(witness_server(), "");
}

/* Three mutexes with names of their own. */
static void set_open(struct set *set, struct hf_client *client)
{
    static unsigned count;

    *set = (struct set){ .client = client };
    count++;
    for (size_t i = 0; i < PARTS; i++) {
        snprintf(set->name[i], sizeof set->name[i], "set-%u-%zu", count, i);
        snprintf(set->folder[i], sizeof set->folder[i], "/%s", set->name[i]);
        set->part[i] = recipe_mutex(client, set->name[i]);
    }
    assert_int_equal(hf_all_of(set->part, PARTS, &set->all), 0);
}

/* Create the folders, and wait until nothing is in flight. */
static void set_warm_up(struct set *set)
{
    assert_int_equal(hf_acquire(set->all, LIMIT_MS), 0);
    assert_int_equal(hf_release(set->all), 0);
}

static void set_await(const struct set *set, size_t a, size_t b, size_t c)
{
    witness_await(set->folder[0], a);
    witness_await(set->folder[1], b);
    witness_await(set->folder[2], c);
}

static uint64_t asked(int32_t opcode)
{
    return zkproxy_requests(proxy, opcode);
}

static void await_asked(int32_t opcode, uint64_t count)
{
    int64_t end = recipe_ms() + LIMIT_MS;

    while (asked(opcode) < count && recipe_ms() < end)
        poll(NULL, 0, 1);
    assert_int_equal(asked(opcode), count);
}

/* ---- Requests ----------------------------------------------------------------------- */

/* All requests are sent before any answer arrives. */
static void all_parts_leave_in_one_flight(void **state)
{
    struct set set;

    (void)state;
    set_open(&set, open_at(zkproxy_address(proxy), ""));
    set_warm_up(&set);
    uint64_t any = asked(ZKPROXY_ANY), multi = asked(MULTI), lists = asked(CHILDREN);
    uint64_t creates = asked(CREATE2);

    zkproxy_freeze(proxy, ZKPROXY_DOWN);
    assert_int_equal(hf_acquire_start(set.all, LIMIT_MS), 0);
    await_asked(CHILDREN, lists + PARTS);
    assert_int_equal(asked(MULTI), multi + 1);
    assert_int_equal(asked(CREATE2), creates);
    assert_int_equal(asked(ZKPROXY_ANY), any + 1 + PARTS);
    zkproxy_thaw(proxy);
    recipe_await(set.all, HF_HELD);
    assert_int_equal(asked(CHILDREN), lists + PARTS); /* no more were needed */
    for (size_t i = 0; i < PARTS; i++) { /* created in one transaction, as others see */
        assert_int_equal(hf_token(set.part[i]), hf_token(set.all));
        assert_int_equal(hf_verify(set.client, set.name[i], hf_token(set.all), LIMIT_MS),
                         0);
    }

    uint64_t deletes = asked(DELETE);
    zkproxy_freeze(proxy, ZKPROXY_DOWN);
    assert_int_equal(hf_release_start(set.all), 0);
    await_asked(DELETE, deletes + PARTS);
    zkproxy_thaw(proxy);
    recipe_await(set.all, HF_IDLE);
    hf_close(set.client);
}

static void missing_folders_are_created(void **state)
{
    struct set set;

    (void)state;
    uint64_t folders = asked(CONTAINER);
    set_open(&set, open_at(zkproxy_address(proxy), ""));
    assert_int_equal(hf_acquire(set.all, LIMIT_MS), 0);
    assert_int_equal(asked(CONTAINER), folders + PARTS);
    set_await(&set, 1, 1, 1);
    assert_int_equal(hf_release(set.all), 0);
    set_await(&set, 0, 0, 0);

    witness_delete_all(set.folder[1]); /* one missing folder is enough */
    assert_int_equal(hf_acquire(set.all, LIMIT_MS), 0);
    set_await(&set, 1, 1, 1);
    assert_int_equal(hf_release(set.all), 0);
    assert_int_equal(hf_acquire(set.all, 0), 0);
    hf_close(set.client);
}

static void failed_try_writes_nothing(void **state)
{
    struct hf_client *rival = open_client();
    struct set        set;

    (void)state;
    set_open(&set, open_at(zkproxy_address(proxy), ""));
    set_warm_up(&set);
    for (size_t i = 0; i < PARTS; i++) {
        struct hf_lock *taken = recipe_mutex(rival, set.name[i]);
        assert_int_equal(hf_acquire(taken, LIMIT_MS), 0);
        uint64_t any = asked(ZKPROXY_ANY), lists = asked(CHILDREN);
        assert_int_equal(hf_acquire(set.all, 0), HF_EBUSY);
        assert_int_equal(asked(CHILDREN), lists + PARTS);
        assert_int_equal(asked(ZKPROXY_ANY), any + PARTS);
        assert_int_equal(hf_release(taken), 0);
    }
    assert_int_equal(hf_acquire(set.all, 0), 0);
    set_await(&set, 1, 1, 1);
    hf_close(set.client);
    hf_close(rival);
}

/* ---- Waiting ------------------------------------------------------------------------ */

/* Another client has the first lock and wants the last: if the set kept its place there,
 * each would wait for the other. */
static void waiting_set_gives_up_later_places(void **state)
{
    struct hf_client *rival = open_client();
    struct set        set;

    (void)state;
    for (size_t blocking = 0; blocking < 2; blocking++) {
        set_open(&set, open_client());
        struct hf_lock *first = recipe_mutex(rival, set.name[0]);
        struct hf_lock *last = recipe_mutex(rival, set.name[2]);
        assert_int_equal(hf_acquire(first, LIMIT_MS), 0);
        if (blocking) {
            assert_int_equal(hf_acquire(set.all, 200), HF_ETIMEOUT);
            assert_int_equal(hf_acquire(last, LIMIT_MS), 0);
        }
        assert_int_equal(hf_acquire_start(set.all, -1), 0);
        set_await(&set, 2, 0, blocking);
        if (!blocking)
            assert_int_equal(hf_acquire(last, LIMIT_MS), 0);
        assert_int_equal(hf_release(first), 0);
        set_await(&set, 1, 1, 2);
        assert_int_equal(hf_state(set.all), HF_WAITING);
        assert_int_equal(hf_release(last), 0);
        recipe_await(set.all, HF_HELD);
        assert_int_equal(hf_release(set.all), 0);
        hf_close(set.client);
    }
    hf_close(rival);
}

static void timeout_releases_all_parts(void **state)
{
    struct hf_client *rival = open_client();
    struct set        set;

    (void)state;
    set_open(&set, open_client());
    for (size_t i = 0; i < PARTS; i++) {
        struct hf_lock *taken = recipe_mutex(rival, set.name[i]);
        assert_int_equal(hf_acquire(taken, LIMIT_MS), 0);
        assert_int_equal(hf_acquire(set.all, 100), HF_ETIMEOUT);
        assert_non_null(strstr(hf_errmsg(set.client), set.name[i]));
        assert_int_equal(hf_acquire_start(set.all, -1), 0);
        witness_await(set.folder[i], 2);
        assert_int_equal(hf_cancel(set.all), 0);
        recipe_await(set.all, HF_IDLE);
        assert_int_equal(hf_why(set.all), HF_ECANCELED);
        set_await(&set, i == 0, i == 1, i == 2);
        assert_int_equal(hf_release(taken), 0);
    }
    set_warm_up(&set);
    hf_close(set.client);
    hf_close(rival);
}

/* Two sets wait for a third; somebody deletes the place of one. */
static void set_queues_again_after_a_break(void **state)
{
    struct set        set[3];
    struct hf_lock   *part[3][PARTS];
    struct witness    seen;
    char              path[160];
    struct hf_client *client;

    (void)state;
    set_open(&set[0], open_client());
    assert_int_equal(hf_acquire(set[0].all, LIMIT_MS), 0);
    for (int i = 1; i < 3; i++) {
        set[i] = set[0];
        set[i].client = client = open_client();
        for (size_t j = 0; j < PARTS; j++)
            part[i][j] = recipe_mutex(client, set[0].name[j]);
        assert_int_equal(hf_all_of(part[i], PARTS, &set[i].all), 0);
        assert_int_equal(hf_acquire_start(set[i].all, -1), 0);
        set_await(&set[0], (size_t)i + 1, 1, 1);
    }
    witness_look(set[0].folder[0], &seen);
    assert_int_equal(seen.count, 3);
    for (size_t i = 0; i < 3; i++) { /* whichever set waits right behind us */
        const char *number = strrchr(seen.name[i], '-');
        if (number == NULL || strcmp(number, "-0000000001") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", set[0].folder[0], seen.name[i]);
        assert_int_equal(witness_delete(path), 0);
    }
    set_await(&set[0], 3, 1, 1); /* it queued again */
    assert_int_equal(hf_release(set[0].all), 0);
    recipe_await(set[2].all, HF_HELD);
    assert_int_equal(hf_release(set[2].all), 0);
    recipe_await(set[1].all, HF_HELD);
    assert_int_equal(hf_release(set[1].all), 0);
    for (int i = 0; i < 3; i++)
        hf_close(set[i].client);
}

/* A part that was held already is broken while the set waits for the rest.  The set was
 * never held as a whole, so it starts again. */
static void part_lost_before_all_are_held(void **state)
{
    struct hf_client *rival = open_client();
    struct set        set;

    (void)state;
    set_open(&set, open_client());
    struct hf_lock *last = recipe_mutex(rival, set.name[2]);
    assert_int_equal(hf_acquire(last, LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(set.all, -1), 0);
    set_await(&set, 1, 1, 2);
    recipe_await(set.part[0], HF_HELD);
    uint64_t token = hf_token(set.part[0]);
    assert_int_equal(hf_break(rival, set.name[0], token, LIMIT_MS), 0);
    int64_t end = recipe_ms() + LIMIT_MS;
    while (hf_token(set.part[0]) <= token && recipe_ms() < end)
        poll(NULL, 0, 1);
    set_await(&set, 1, 1, 2);
    assert_int_equal(hf_state(set.all), HF_WAITING);
    assert_int_equal(hf_release(last), 0);
    recipe_await(set.all, HF_HELD);
    assert_int_equal(hf_release(set.all), 0);
    set_await(&set, 0, 0, 0);
    hf_close(set.client);
    hf_close(rival);
}

/* The same when the session expires. */
static void session_lost_while_a_set_waits(void **state)
{
    struct hf_client *rival = open_client();
    struct set        set;

    (void)state;
    set_open(&set, open_at(zkproxy_address(proxy), "/?session=2s"));
    struct hf_lock *middle = recipe_mutex(rival, set.name[1]);
    assert_int_equal(hf_acquire(middle, LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(set.all, -1), 0);
    set_await(&set, 1, 2, 0);
    zkproxy_refuse(proxy, -1);
    zkproxy_drop(proxy);
    set_await(&set, 0, 1, 0);
    zkproxy_refuse(proxy, 0);
    set_await(&set, 1, 2, 0);
    assert_int_equal(hf_state(set.all), HF_WAITING);
    assert_int_equal(hf_release(middle), 0);
    recipe_await(set.all, HF_HELD);
    assert_int_equal(hf_release(set.all), 0);
    set_await(&set, 0, 0, 0);
    hf_close(set.client);
    hf_close(rival);
}

/* ---- Lost answers ------------------------------------------------------------------- */

/* At every single request of an acquire and a release: no second node, and none that
 * stays. */
static void lost_answers_leave_no_node(void **state)
{
    static const enum zkproxy_fault faults[] = { ZKPROXY_DROP_BEFORE,
                                                 ZKPROXY_DROP_AFTER };
    struct set                      set;
    bool                            struck = true;

    (void)state;
    set_open(&set, open_at(zkproxy_address(proxy), ""));
    for (uint64_t nth = 1; struck; nth++) {
        struck = false;
        assert_in_range(nth, 1, 60);
        for (size_t i = 0; i < 2; i++) {
            zkproxy_rule(proxy, &(struct zkproxy_rule){ faults[i], ZKPROXY_ANY, nth, 0 });
            assert_int_equal(hf_acquire(set.all, LIMIT_MS), 0);
            for (size_t j = 0; j < PARTS; j++)
                assert_int_equal(witness_count(set.folder[j]), 1);
            assert_int_equal(hf_release(set.all), 0);
            struck |= zkproxy_has_struck(proxy);
            zkproxy_rule(proxy, NULL);
            set_await(&set, 0, 0, 0);
        }
    }
    hf_close(set.client);
}

/* ---- Main --------------------------------------------------------------------------- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_parts_leave_in_one_flight),
        cmocka_unit_test(missing_folders_are_created),
        cmocka_unit_test(failed_try_writes_nothing),
        cmocka_unit_test(waiting_set_gives_up_later_places),
        cmocka_unit_test(timeout_releases_all_parts),
        cmocka_unit_test(set_queues_again_after_a_break),
        cmocka_unit_test(part_lost_before_all_are_held),
        cmocka_unit_test(session_lost_while_a_set_waits),
        cmocka_unit_test(lost_answers_leave_no_node),
    };

    (void)witness_server();
    return cmocka_run_group_tests(tests, start_proxy, stop_proxy);
}
