/* lost_answers.c - the connection breaks at every single request of an acquire and a
 * release, once before the server gets it and once after it has answered; then at bytes
 * in the middle of requests and answers.
 *
 * Whatever is lost: there is one node while the lock is held and none after its release,
 * release returns 0, and the next client gets the lock.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/fixture.h"
#include "lib/promise.h"
#include "lib/witness.h"

#include "base/random.h"

#include <poll.h>
#include <stdio.h>

#define LIMIT_MS 30000

/* One scene with a lock of its own: the client whose connection breaks, and another one.
 */
struct stage {
    struct hf_client *client, *other;
    char              name[32], folder[33];
    struct hf_lock   *lock, *rival; /* freed at the end */
    uint64_t          before;       /* requests when the scene began */
    uint64_t          up, down;     /* bytes then */
};

struct scene {
    const char *name;
    void (*play)(struct stage *stage);
};

/* ---- Set-up ------------------------------------------------------------------------- */

static struct hf_client *open_client(const char *address)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;
    char              url[64];

    snprintf(url, sizeof url, "zk://%s", address);
    assert_int_equal(hf_open(url, &options, &client), 0);
    return client;
}

/* Connect now, so that only requests of the scene are counted. */
static void settle(struct hf_client *client)
{
    struct hf_report *report;

    assert_int_equal(hf_inspect(client, "nothing", LIMIT_MS, &report), 0);
    hf_report_free(report);
}

static void stage_open(struct stage *stage)
{
    static unsigned count;

    *stage = (struct stage){ 0 };
    snprintf(stage->name, sizeof stage->name, "lost-%u", count++);
    snprintf(stage->folder, sizeof stage->folder, "/%s", stage->name);
    stage->client = open_client(zkproxy_address(proxy));
    stage->other = open_client(witness_server());
    settle(stage->client);
    settle(stage->other);
    stage->before = zkproxy_requests(proxy, ZKPROXY_ANY);
    stage->up = zkproxy_bytes(proxy, ZKPROXY_UP);
    stage->down = zkproxy_bytes(proxy, ZKPROXY_DOWN);
}

static void stage_close(struct stage *stage)
{
    zkproxy_rule(proxy, NULL);
    hf_lock_free(stage->lock);
    hf_lock_free(stage->rival);
    hf_close(stage->client);
    hf_close(stage->other);
}

/* ---- Steps -------------------------------------------------------------------------- */

static void acquire(struct hf_client *client, struct hf_lock *lock)
{
    int r = hf_acquire(lock, LIMIT_MS);

    if (r != 0)
        fail_msg("acquire: %s: %s", hf_errname(r), hf_errmsg(client));
}

static void release(struct hf_client *client, struct hf_lock *lock)
{
    int r = hf_release(lock);

    if (r != 0)
        fail_msg("release: %s: %s", hf_errname(r), hf_errmsg(client));
}

/* Nothing is left of it: the other client can have the lock. */
static void others_turn(struct stage *stage)
{
    acquire(stage->other, stage->rival);
    release(stage->other, stage->rival);
    assert_int_equal(witness_count(stage->folder), 0);
}

/* Long enough for the holder to watch its own node. */
static void hold_a_while(struct stage *stage)
{
    (void)stage;
    poll(NULL, 0, 10);
}

/* There are `nodes` while the client holds the lock, none afterwards. */
static void have_and_leave(struct stage *stage, size_t nodes)
{
    assert_int_equal(hf_state(stage->lock), HF_HELD);
    assert_int_equal(witness_count(stage->folder), nodes);
    release(stage->client, stage->lock);
    assert_int_equal(witness_count(stage->folder), 0);
}

static void await_held(struct stage *stage)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;

    while (hf_state(stage->lock) == HF_WAITING && hf_now() < end)
        poll(NULL, 0, 1);
    if (hf_state(stage->lock) != HF_HELD)
        fail_msg("not held: state %d, %s: %s", hf_state(stage->lock),
                 hf_errname(hf_why(stage->lock)), hf_errmsg(stage->client));
}

/* The other client holds the lock; ours queues, and gets it. */
static void take_over(struct stage *stage, size_t nodes)
{
    acquire(stage->other, stage->rival);
    assert_int_equal(hf_acquire_start(stage->lock, LIMIT_MS), 0);
    witness_await(stage->folder, nodes);
    hold_a_while(stage);
    assert_int_equal(hf_state(stage->lock), HF_WAITING);
    release(stage->other, stage->rival);
    await_held(stage);
}

/* ---- Scenes ------------------------------------------------------------------------- */

static void mutexes(struct stage *stage)
{
    assert_int_equal(hf_mutex(stage->client, stage->name, &stage->lock), 0);
    assert_int_equal(hf_mutex(stage->other, stage->name, &stage->rival), 0);
    assert_int_equal(hf_set_any_thread(stage->lock, true), 0);
}

static void cold(struct stage *stage)
{
    mutexes(stage);
    acquire(stage->client, stage->lock);
    have_and_leave(stage, 1);
    others_turn(stage);
}

static void warm(struct stage *stage)
{
    mutexes(stage);
    others_turn(stage);
    acquire(stage->client, stage->lock);
    hold_a_while(stage);
    have_and_leave(stage, 1);
    others_turn(stage);
}

static void limited(struct stage *stage)
{
    mutexes(stage);
    others_turn(stage);
    assert_int_equal(hf_set_max_waiters(stage->lock, 1), 0);
    take_over(stage, 2);
    have_and_leave(stage, 1);
    others_turn(stage);
}

static void contended(struct stage *stage)
{
    mutexes(stage);
    take_over(stage, 2);
    have_and_leave(stage, 1);
    others_turn(stage);
}

/* The client gives up waiting: nothing of it may stay. */
static void canceled(struct stage *stage)
{
    mutexes(stage);
    acquire(stage->other, stage->rival);
    assert_int_equal(hf_acquire_start(stage->lock, LIMIT_MS), 0);
    witness_await(stage->folder, 2);
    assert_int_equal(hf_cancel(stage->lock), 0);
    witness_await(stage->folder, 1);
    release(stage->other, stage->rival);
    assert_int_equal(witness_count(stage->folder), 0);
    others_turn(stage);
}

static void reader(struct stage *stage)
{
    assert_int_equal(hf_reader(stage->client, stage->name, &stage->lock), 0);
    assert_int_equal(hf_writer(stage->other, stage->name, &stage->rival), 0);
    assert_int_equal(hf_set_any_thread(stage->lock, true), 0);
    take_over(stage, 2);
    have_and_leave(stage, 1);
    others_turn(stage);
}

static void writer(struct stage *stage)
{
    assert_int_equal(hf_writer(stage->client, stage->name, &stage->lock), 0);
    assert_int_equal(hf_reader(stage->other, stage->name, &stage->rival), 0);
    assert_int_equal(hf_set_any_thread(stage->lock, true), 0);
    take_over(stage, 2);
    have_and_leave(stage, 1);
    others_turn(stage);
}

static void semaphores(struct stage *stage)
{
    assert_int_equal(hf_semaphore(stage->client, stage->name, 2, 1, &stage->lock), 0);
    assert_int_equal(hf_semaphore(stage->other, stage->name, 2, 2, &stage->rival), 0);
    assert_int_equal(hf_set_any_thread(stage->lock, true), 0);
    acquire(stage->client, stage->lock);
    have_and_leave(stage, 2); /* a place and a slot */
    take_over(stage, 3);      /* the other client has a slot, too */
    have_and_leave(stage, 2);
    others_turn(stage);
}

static void claims(struct stage *stage)
{
    assert_int_equal(hf_claim(stage->client, stage->name, &stage->lock), 0);
    assert_int_equal(hf_claim(stage->other, stage->name, &stage->rival), 0);
    assert_int_equal(hf_set_any_thread(stage->lock, true), 0);
    acquire(stage->client, stage->lock);
    have_and_leave(stage, 2); /* a place, and `claim` */
    take_over(stage, 2);
    have_and_leave(stage, 2);
    others_turn(stage);
}

static void downgraded(struct stage *stage)
{
    assert_int_equal(hf_writer(stage->client, stage->name, &stage->lock), 0);
    assert_int_equal(hf_reader(stage->other, stage->name, &stage->rival), 0);
    acquire(stage->client, stage->lock);
    uint64_t token = hf_token(stage->lock);
    assert_int_equal(hf_downgrade(stage->lock), 0);
    acquire(stage->other, stage->rival); /* together with the other reader */
    assert_int_equal(witness_count(stage->folder), 2);
    release(stage->other, stage->rival);
    hold_a_while(stage);
    assert_int_equal(hf_token(stage->lock), token);
    have_and_leave(stage, 1);
    others_turn(stage);
}

static const struct scene scenes[] = {
    { "cold", cold },         { "warm", warm },
    { "limited", limited },   { "contended", contended },
    { "canceled", canceled }, { "reader", reader },
    { "writer", writer },     { "semaphore", semaphores },
    { "claim", claims },      { "downgrade", downgraded },
};

/* ---- Breaking the connection -------------------------------------------------------- */

/* Play a scene, with a rule or without.  Did the rule apply? */
static bool play(const struct scene *scene, const struct zkproxy_rule *rule,
                 struct stage *stage)
{
    stage_open(stage);
    zkproxy_rule(proxy, rule);
    scene->play(stage);
    stage->before = zkproxy_requests(proxy, ZKPROXY_ANY) - stage->before;
    stage->up = zkproxy_bytes(proxy, ZKPROXY_UP) - stage->up;
    stage->down = zkproxy_bytes(proxy, ZKPROXY_DOWN) - stage->down;
    bool struck = zkproxy_has_struck(proxy);
    stage_close(stage);
    return rule != NULL && struck;
}

static void connection_breaks_at_every_request(void **state)
{
    const struct scene *scene = *state;
    struct stage        stage;
    unsigned            struck = 0;

    play(scene, NULL, &stage);
    uint64_t requests = stage.before;
    assert_true(requests >= 2);
    for (uint64_t nth = 1; nth <= requests + 1; nth++) {
        for (int after = 0; after < 2; after++) {
            struct zkproxy_rule rule = { after ? ZKPROXY_DROP_AFTER : ZKPROXY_DROP_BEFORE,
                                         ZKPROXY_ANY, nth, 0 };
            print_message("# %s: %s request %u\n", scene->name,
                          after ? "after" : "before", (unsigned)nth);
            struck += play(scene, &rule, &stage);
        }
    }
    print_message("# %s: %u requests, %u faults\n", scene->name, (unsigned)requests,
                  struck);
    assert_true(struck >= requests); /* timed requests may be sent or not */
}

/* About `cuts` cuts in each direction, at different bytes every time. */
static void cut_at_bytes(const struct scene *scene, uint64_t cuts)
{
    struct stage stage;
    unsigned     struck = 0;

    play(scene, NULL, &stage);
    uint64_t size[] = { stage.up, stage.down };
    for (int way = 0; way < 2; way++) {
        uint64_t step = 1 + size[way] / cuts;
        for (uint64_t at = 1 + hf_random() % step; at < size[way]; at += step) {
            struct zkproxy_rule rule = { way == 0 ? ZKPROXY_CUT_UP : ZKPROXY_CUT_DOWN, 0,
                                         at, 0 };
            print_message("# %s: byte %u %s\n", scene->name, (unsigned)at,
                          way == 0 ? "up" : "down");
            struck += play(scene, &rule, &stage);
        }
    }
    assert_true(struck >= cuts);
}

static void connection_breaks_inside_messages(void **state)
{
    (void)state;
    cut_at_bytes(&(struct scene){ "cold", cold }, 12);
    cut_at_bytes(&(struct scene){ "contended", contended }, 12);
}

/* The answer to the greeting that resumes the session is lost, too. */
static void answer_to_the_greeting_is_lost(void **state)
{
    struct stage stage;

    (void)state;
    for (int after = 0; after < 2; after++) {
        stage_open(&stage);
        mutexes(&stage);
        acquire(stage.client, stage.lock);
        zkproxy_rule(proxy, &(struct zkproxy_rule){ after ? ZKPROXY_DROP_AFTER
                                                          : ZKPROXY_DROP_BEFORE,
                                                    ZKPROXY_CONNECT, 1, 0 });
        zkproxy_drop(proxy);
        assert_true(zkproxy_await(proxy, LIMIT_MS));
        settle(stage.client);
        have_and_leave(&stage, 1);
        others_turn(&stage);
        stage_close(&stage);
    }
}

int main(void)
{
    enum { SCENES = sizeof scenes / sizeof *scenes };
    struct CMUnitTest tests[SCENES + 2] = {
        [SCENES] = cmocka_unit_test(connection_breaks_inside_messages),
        [SCENES + 1] = cmocka_unit_test(answer_to_the_greeting_is_lost),
    };

    for (size_t i = 0; i < SCENES; i++) {
        tests[i] = (struct CMUnitTest)
            cmocka_unit_test_prestate(connection_breaks_at_every_request,
                                      (void *)&scenes[i]);
        tests[i].name = scenes[i].name;
    }
    return cmocka_run_group_tests(tests, start_proxy, stop_proxy);
}
