/* store.c - the memory store by URL: shared worlds, real threads, leases.
 *
 * Threads wait in poll(2), so a lost wake-up shows as a wait of SOON milliseconds.  TSan
 * finds races.
 */
#include "store/memory/memory.h"

#include "client/engine.h"
#include "holdfast.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SOON    20000 /* ms; far more than anything here takes */
#define THREADS 4
#define TURNS   500

static const struct hf_shape mutex = { .weight = 1, .capacity = 1 };
static const struct hf_shape reader = { .weight = 1, .capacity = HF_ALL };
static const struct hf_shape writer = { .weight = HF_ALL, .capacity = HF_ALL };

static struct hf_store *open_store(const char *name, const char *lease)
{
    struct hf_param  param = { "lease", lease };
    struct hf_config config = {
        .scheme = "memory", .rest = name, .param = &param, .params = lease != NULL
    };
    char             errmsg[HF_ERRMSG_MAX];
    struct hf_store *store;

    assert_int_equal(hf_memory_store.open(&config, errmsg, &store), 0);
    return store;
}

static void close_store(struct hf_store *store)
{
    store->impl->close(store);
}

/* Drive an engine as a caller's loop would, until the job is in that state. */
static bool drive_until(struct hf_engine *engine, const struct hf_job *job,
                        enum hf_hold_state state)
{
    bool readable = false;

    for (;;) {
        hf_engine_turn(engine, hf_now(), readable);
        if (job->hold.state == state)
            return true;
        struct pollfd fd = { .fd = engine->store->fd, .events = POLLIN };
        int           ms = hf_poll_ms(hf_now(), hf_engine_wake(engine));
        int           n = poll(&fd, 1, ms < 0 ? SOON : ms);
        if (n == 0 && ms < 0)
            return false;
        readable = n > 0;
    }
}

/* ---- Threads ------------------------------------------------------------------- */

struct worker {
    pthread_t thread;
    bool      ok;
};

static int      counter; /* guarded only by the lock under test */
static uint64_t last_token;

static void *work(void *data)
{
    struct worker   *worker = data;
    struct hf_store *store = open_store("threads", NULL);
    struct hf_engine engine;
    struct hf_job    job;

    hf_engine_init(&engine, store, 1);
    hf_job_init(&job, &engine, "counter", &mutex);
    worker->ok = true;
    for (int i = 0; i < TURNS && worker->ok; i++) {
        hf_job_want(&job, false, HF_NEVER);
        worker->ok = drive_until(&engine, &job, HF_HOLD_HELD);
        worker->ok &= job.hold.token > last_token;
        last_token = job.hold.token;
        counter++;
        hf_job_drop(&job, 0);
        worker->ok &= drive_until(&engine, &job, HF_HOLD_IDLE) && job.hold.why == 0;
    }
    hf_job_finish(&job);
    close_store(store);
    return NULL;
}

static void test_threads_exclude_and_wake_each_other(void **state)
{
    struct worker worker[THREADS];

    (void)state;
    counter = 0;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&worker[i].thread, NULL, work, &worker[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(worker[i].thread, NULL);
        assert_true(worker[i].ok);
    }
    assert_int_equal(counter, THREADS * TURNS);
}

/* ---- Sessions ------------------------------------------------------------------ */

struct client {
    struct hf_store *store;
    struct hf_engine engine;
    struct hf_job    job;
};

static void client_open_as(struct client *client, const char *world, const char *lease,
                           const struct hf_shape *shape)
{
    client->store = open_store(world, lease);
    hf_engine_init(&client->engine, client->store, 1);
    hf_job_init(&client->job, &client->engine, "a", shape);
}

static void client_open(struct client *client, const char *world, const char *lease)
{
    client_open_as(client, world, lease, &mutex);
}

static void want(struct client *client, hf_time now)
{
    hf_job_want(&client->job, false, HF_NEVER);
    hf_engine_turn(&client->engine, now, false);
}

static void test_a_store_closed_while_holding_wakes_the_next(void **state)
{
    struct client a, b;

    (void)state;
    client_open(&a, "death", NULL);
    client_open(&b, "death", NULL);
    want(&a, 1);
    want(&b, 1);
    assert_int_equal(a.job.hold.state, HF_HOLD_HELD);
    assert_int_equal(b.job.hold.state, HF_HOLD_WAITING);
    assert_true(a.store->alive_until ==
                HF_NEVER); /* no lease: the session ends with the process */

    struct pollfd fd = { .fd = b.store->fd, .events = POLLIN };
    assert_int_equal(poll(&fd, 1, 0), 0);
    close_store(a.store);
    assert_int_equal(poll(&fd, 1, 0), 1);
    hf_engine_turn(&b.engine, 2, true);
    assert_int_equal(b.job.hold.state, HF_HOLD_HELD);
    assert_int_equal(poll(&fd, 1, 0), 0);
    close_store(b.store);
}

static bool rung(const struct client *client)
{
    struct pollfd fd = { .fd = client->store->fd, .events = POLLIN };

    return poll(&fd, 1, 0) == 1;
}

static void test_a_writer_that_downgrades_wakes_readers_only(void **state)
{
    struct client a, b, c;

    (void)state;
    client_open_as(&a, "lessen", NULL, &writer);
    client_open_as(&b, "lessen", NULL, &reader);
    client_open_as(&c, "lessen", NULL, &writer);
    want(&a, 1);
    want(&b, 1);
    want(&c, 1);
    hf_job_downgrade(&a.job, &reader);
    hf_engine_turn(&a.engine, 2, false);
    assert_int_equal(a.job.hold.state, HF_HOLD_HELD);
    assert_true(rung(&b));
    assert_false(rung(&c));
    hf_engine_turn(&b.engine, 2, true);
    assert_int_equal(b.job.hold.state, HF_HOLD_HELD);
    hf_engine_turn(&c.engine, 2, true);
    assert_int_equal(c.job.hold.state, HF_HOLD_WAITING);
    assert_int_equal(c.job.known.ahead, 2);
    close_store(a.store);
    close_store(b.store);
    close_store(c.store);
}

static void on_query(struct hf_query *query)
{
    (void)query;
}

static void test_a_holder_that_is_asked_is_woken(void **state)
{
    struct client   a, b;
    struct hf_query query = { .deadline = HF_NEVER, .on_done = on_query };

    (void)state;
    client_open(&a, "ask", NULL);
    client_open(&b, "ask", NULL);
    want(&a, 1);
    hf_engine_turn(&b.engine, 1, false);
    query.req = (struct hf_req){
        .op = HF_ASK, .name = "a", .token = a.job.hold.token, .note = "lunch"
    };
    hf_query_start(&query, &b.engine);
    hf_engine_turn(&b.engine, 2, false);
    assert_int_equal(query.req.status, 0);
    assert_true(rung(&a));
    hf_engine_turn(&a.engine, 2, true);
    assert_int_equal(a.job.asks, 1);
    assert_string_equal(a.job.ask, "lunch");
    assert_int_equal(a.job.hold.state, HF_HOLD_HELD);
    hf_engine_turn(&a.engine, 3, true);
    assert_int_equal(a.job.asks, 1);
    close_store(a.store);
    close_store(b.store);
}

static void test_a_full_queue_refuses(void **state)
{
    struct client a, b, c;

    (void)state;
    client_open(&a, "full", NULL);
    client_open(&b, "full", NULL);
    client_open(&c, "full", NULL);
    a.job.limit = b.job.limit = c.job.limit = 1;
    want(&a, 1);
    want(&b, 1);
    want(&c, 1);
    assert_int_equal(a.job.hold.state, HF_HOLD_HELD);
    assert_int_equal(b.job.hold.state, HF_HOLD_WAITING);
    assert_int_equal(c.job.hold.state, HF_HOLD_IDLE);
    assert_int_equal(c.job.hold.why, HF_EFULL);
    close_store(a.store);
    want(&c, 2); /* b holds it now */
    assert_int_equal(c.job.hold.state, HF_HOLD_WAITING);
    close_store(b.store);
    close_store(c.store);
}

static void test_stores_are_separate_and_tokens_outlive_them(void **state)
{
    struct client a, b;

    (void)state;
    client_open(&a, "one", NULL);
    client_open(&b, "two", NULL);
    want(&a, 1);
    want(&b, 1);
    assert_int_equal(a.job.hold.state, HF_HOLD_HELD);
    assert_int_equal(b.job.hold.state, HF_HOLD_HELD);
    uint64_t before = a.job.hold.token;
    close_store(a.store);

    client_open(&a, "one", NULL);
    want(&a, 1);
    assert_true(a.job.hold.token > before);
    close_store(a.store);
    close_store(b.store);
}

static void test_a_lease_is_renewed_at_a_third_and_counts_from_sending(void **state)
{
    struct client a;
    hf_time       third = 30 * HF_SEC / 3;

    (void)state;
    client_open(&a, "lease", "30000");
    want(&a, 1000);
    assert_int_equal(a.job.hold.state, HF_HOLD_HELD);
    assert_int_equal(a.store->alive_until, 1000 + 30 * HF_SEC - 30 * HF_SEC / 500);
    assert_int_equal(a.store->wake, 1000 + third);
    hf_engine_turn(&a.engine, 1000 + third, false);
    assert_int_equal(a.store->alive_until,
                     1000 + third + 30 * HF_SEC - 30 * HF_SEC / 500);
    assert_int_equal(a.job.hold.state, HF_HOLD_HELD);
    close_store(a.store);
}

static void test_a_session_without_renewal_ends_and_its_owner_knows(void **state)
{
    struct client a, b;

    (void)state;
    client_open(&a, "expiry", "1000");
    client_open(&b, "expiry", "1000");
    want(&a, 1);
    for (hf_time now = 1; now < 900 * HF_MS; now += 100 * HF_MS)
        hf_engine_turn(&b.engine, now, false);
    want(&b, 900 * HF_MS);
    assert_int_equal(b.job.hold.state, HF_HOLD_WAITING);
    assert_true(hf_engine_wake(&b.engine) <= HF_SEC + 1);
    hf_engine_turn(&b.engine, HF_SEC, false);
    assert_int_equal(b.job.hold.state, HF_HOLD_WAITING);
    hf_engine_turn(&b.engine, HF_SEC + 1, false);
    assert_int_equal(b.job.hold.state, HF_HOLD_HELD);

    hf_engine_turn(&a.engine, HF_SEC + 2, false);
    assert_int_equal(a.job.hold.state, HF_HOLD_LOST);
    assert_int_equal(a.store->link, HF_LINK_UP); /* in a new session */
    close_store(a.store);
    close_store(b.store);
}

static void test_a_bad_lease_is_refused(void **state)
{
    static const char *const bad[] = { "", "abc", "0", "-5", "10s", "99999999999" };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hf_param  param = { "lease", bad[i] };
        struct hf_config config = { .rest = "x", .param = &param, .params = 1 };
        char             errmsg[HF_ERRMSG_MAX] = "";
        struct hf_store *store = NULL;
        assert_int_equal(hf_memory_store.open(&config, errmsg, &store), HF_EINVAL);
        assert_null(store);
        assert_non_null(strstr(errmsg, "milliseconds"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_exclude_and_wake_each_other),
        cmocka_unit_test(test_a_store_closed_while_holding_wakes_the_next),
        cmocka_unit_test(test_a_writer_that_downgrades_wakes_readers_only),
        cmocka_unit_test(test_a_holder_that_is_asked_is_woken),
        cmocka_unit_test(test_a_full_queue_refuses),
        cmocka_unit_test(test_stores_are_separate_and_tokens_outlive_them),
        cmocka_unit_test(test_a_lease_is_renewed_at_a_third_and_counts_from_sending),
        cmocka_unit_test(test_a_session_without_renewal_ends_and_its_owner_knows),
        cmocka_unit_test(test_a_bad_lease_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
