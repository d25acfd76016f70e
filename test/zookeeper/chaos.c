/* chaos.c - locks of all kinds over connections that break at random: exclusion holds,
 * every release returns 0, and nothing is left at the end.
 *
 * The seed is printed, and HF_ZK_SEED sets it; HF_ZK_SECONDS sets how long it takes (6).
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/promise.h"
#include "lib/witness.h"
#include "lib/zkproxy.h"

#include "base/random.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define ACTORS \
    6 /* two of them in each client, so that it also hands a lock on to itself */

enum kind { MUTEX_0, MUTEX_1, READ, WRITE, HALF, WHOLE, CLAIM_IT, KINDS };

/* How much of each lock is in use, and its capacity. */
static atomic_int used[KINDS];
static const struct {
    const char *name;
    enum kind   of; /* which `used` it counts in */
    int         weight, capacity;
} kinds[KINDS] = {
    [MUTEX_0] = { "mutex-0", MUTEX_0, 1, 1 }, [MUTEX_1] = { "mutex-1", MUTEX_1, 1, 1 },
    [READ] = { "shared", READ, 1, 1000 },     [WRITE] = { "shared", READ, 1000, 1000 },
    [HALF] = { "half", HALF, 1, 2 },          [WHOLE] = { "half", HALF, 2, 2 },
    [CLAIM_IT] = { "claim", CLAIM_IT, 1, 1 },
};

struct actor {
    pthread_t         thread;
    struct zkproxy   *proxy;
    struct hf_client *client;
    struct hf_lock   *lock[KINDS];
    uint64_t          seed;
    unsigned          had, missed;
};

static atomic_bool ending;
static atomic_uint slots; /* slots of the semaphore, a bit for each in use */

static int make(struct hf_client *client, enum kind kind, struct hf_lock **ret)
{
    const char *name = kinds[kind].name;

    switch (kind) {
    case READ:
        return hf_reader(client, name, ret);
    case WRITE:
        return hf_writer(client, name, ret);
    case HALF:
        return hf_semaphore(client, name, 2, 1, ret);
    case WHOLE:
        return hf_semaphore(client, name, 2, 2, ret);
    case CLAIM_IT:
        return hf_claim(client, name, ret);
    default:
        return hf_mutex(client, name, ret);
    }
}

/* Inside the lock: what is in use must fit. */
static void be_inside(struct actor *actor, enum kind kind)
{
    enum kind of = kinds[kind].of;
    unsigned  slot = 0;

    int sum = atomic_fetch_add(&used[of], kinds[kind].weight) + kinds[kind].weight;
    if (sum > kinds[kind].capacity)
        fprintf(stderr, "too many in %s: %d\n", kinds[kind].name, sum);
    must(sum <= kinds[kind].capacity);
    if (kind == HALF) {
        must(hf_slot(actor->lock[kind]) >= 0 && hf_slot(actor->lock[kind]) < 2);
        slot = 1u << hf_slot(actor->lock[kind]);
        must((atomic_fetch_or(&slots, slot) & slot) == 0);
    }
    poll(NULL, 0, (int)(hf_random_next(&actor->seed) % 6));
    if (kind == WRITE && hf_random_next(&actor->seed) % 2 == 0) {
        atomic_fetch_sub(&used[of], kinds[WRITE].weight - kinds[READ].weight);
        must(hf_downgrade(actor->lock[kind]) == 0);
        poll(NULL, 0, (int)(hf_random_next(&actor->seed) % 6));
        atomic_fetch_sub(&used[of], kinds[READ].weight);
        return;
    }
    atomic_fetch_and(&slots, ~slot);
    atomic_fetch_sub(&used[of], kinds[kind].weight);
}

static void *play(void *data)
{
    struct actor *actor = data;

    while (!ending) {
        enum kind kind = (enum kind)(hf_random_next(&actor->seed) % KINDS);
        int       limit = (int)(hf_random_next(&actor->seed) % 400);
        if (limit < 50)
            limit = 0; /* a try */
        int r = hf_acquire(actor->lock[kind], limit);
        if (r == 0) {
            be_inside(actor, kind);
            r = hf_release(actor->lock[kind]);
            if (r != 0)
                fprintf(stderr, "release of %s: %s\n", kinds[kind].name, hf_errname(r));
            must(r == 0);
            actor->had++;
        } else {
            if (r != HF_EBUSY && r != HF_ETIMEOUT && r != HF_EDOWN)
                fprintf(stderr, "%s: %s: %s\n", kinds[kind].name, hf_errname(r),
                        hf_errmsg(actor->client));
            must(r == HF_EBUSY || r == HF_ETIMEOUT || r == HF_EDOWN);
            actor->missed++;
        }
    }
    return NULL;
}

static void actor_start(struct actor *actor, const struct actor *beside, uint64_t seed)
{
    struct hf_options options = HF_OPTIONS_INIT;
    char              url[64];

    actor->seed = seed;
    if (beside != NULL) {
        actor->proxy = beside->proxy;
        actor->client = beside->client;
    } else {
        actor->proxy = zkproxy_start(witness_server());
        snprintf(url, sizeof url, "zk://%s", zkproxy_address(actor->proxy));
        assert_int_equal(hf_open(url, &options, &actor->client), 0);
    }
    for (int kind = 0; kind < KINDS; kind++)
        assert_int_equal(make(actor->client, (enum kind)kind, &actor->lock[kind]), 0);
    assert_int_equal(pthread_create(&actor->thread, NULL, play, actor), 0);
}

static void actor_stop(struct actor *actor)
{
    pthread_join(actor->thread, NULL);
    for (int kind = 0; kind < KINDS; kind++)
        hf_lock_free(actor->lock[kind]);
}

/* Disturb a connection, but never so long that a session expires. */
static void disturb(struct zkproxy *proxy, uint64_t *seed)
{
    uint64_t nth = 1 + hf_random_next(seed) % 8;

    switch (hf_random_next(seed) % 6) {
    case 0:
        zkproxy_drop(proxy);
        break;
    case 1:
        zkproxy_rule(proxy,
                     &(struct zkproxy_rule){ ZKPROXY_DROP_BEFORE, ZKPROXY_ANY, nth, 0 });
        break;
    case 2:
        zkproxy_rule(proxy,
                     &(struct zkproxy_rule){ ZKPROXY_DROP_AFTER, ZKPROXY_ANY, nth, 0 });
        break;
    case 3:
        zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_CUT_DOWN, 0, nth * 37, 0 });
        break;
    case 4:
        zkproxy_freeze(proxy, (enum zkproxy_way)(1 + nth % 3));
        poll(NULL, 0, (int)nth * 5);
        zkproxy_thaw(proxy);
        break;
    default:
        zkproxy_delay(proxy, ZKPROXY_BOTH, (int)(nth % 3) * 3);
    }
}

static void exclusion_holds_over_random_cuts(void **state)
{
    const char  *given = getenv("HF_ZK_SEED"), *time = getenv("HF_ZK_SECONDS");
    uint64_t     seed = given != NULL ? strtoull(given, NULL, 0) : hf_random();
    struct actor actor[ACTORS];
    unsigned     had = 0, missed = 0, faults = 0, kinds_left = 0;

    (void)state;
    print_message("# HF_ZK_SEED=%llu\n", (unsigned long long)seed);
    for (int i = 0; i < ACTORS; i++) {
        actor[i] = (struct actor){ 0 };
        actor_start(&actor[i], i % 2 ? &actor[i - 1] : NULL, hf_random_next(&seed));
    }
    hf_time end = hf_now() + (time != NULL ? atoi(time) : 6) * HF_SEC;
    while (hf_now() < end) {
        poll(NULL, 0, (int)(hf_random_next(&seed) % 40));
        disturb(actor[hf_random_next(&seed) % ACTORS].proxy, &seed);
        faults++;
    }
    ending = true;
    for (int i = 0; i < ACTORS; i++) {
        actor_stop(&actor[i]);
        had += actor[i].had;
        missed += actor[i].missed;
        if (i % 2 == 0)
            continue;
        hf_close(actor[i].client);
        zkproxy_stop(actor[i].proxy);
    }
    print_message("# %u turns, %u not had, %u faults\n", had, missed, faults);
    for (int kind = 0; kind < KINDS; kind++) {
        char folder[32];
        snprintf(folder, sizeof folder, "/%s", kinds[kind].name);
        kinds_left += witness_count(folder) > 0;
    }
    assert_int_equal(kinds_left, 0);
    assert_int_equal(witness_await_watches(0), 0);
    assert_true(had > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exclusion_holds_over_random_cuts),
    };

    witness_server();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
