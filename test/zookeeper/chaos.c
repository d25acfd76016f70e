/* chaos.c - locks of all kinds over connections that break at random: exclusion holds,
 * every release returns 0, and nothing is left at the end.  The checker of test/chaos judges
 * exclusion; a slot of the semaphore is a mutex of its own to it.
 *
 * The seed is printed, and HF_ZK_SEED sets it; HF_ZK_SECONDS sets how long it takes (6).
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/disturb.h"
#include "lib/promise.h"
#include "lib/turns.h"
#include "lib/witness.h"

#include "base/random.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define ACTORS \
    6 /* two of them in each client, so that it also hands a lock on to itself */

enum kind { MUTEX_0, MUTEX_1, READ, WRITE, HALF, WHOLE, CLAIM_IT, KINDS };

static const struct {
    const char *name;
    uint32_t    weight, capacity;
} kinds[KINDS] = {
    [MUTEX_0] = { "mutex-0", 1, 1 },
    [MUTEX_1] = { "mutex-1", 1, 1 },
    [READ] = { "shared", 1, UINT32_MAX },
    [WRITE] = { "shared", UINT32_MAX, UINT32_MAX },
    [HALF] = { "half", 1, 2 },
    [WHOLE] = { "half", 2, 2 },
    [CLAIM_IT] = { "claim", 1, 1 },
};

struct actor {
    pthread_t         thread;
    struct zkproxy   *proxy;
    struct hf_client *client;
    struct hf_lock   *lock[KINDS];
    struct turns      history, slot;
    uint64_t          seed;
    unsigned          had, missed;
};

static atomic_bool ending;

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

static void stay_a_moment(struct actor *actor)
{
    poll(NULL, 0, (int)(hf_random_next(&actor->seed) % 6));
}

/* From the downgrade on it is a reader: a turn of its own, with the same token, so without. */
static void become_reader(struct actor *actor)
{
    int64_t begun = turns_now();

    must(hf_downgrade(actor->lock[WRITE]) == 0);
    turns_release(&actor->history, begun, 0);
    turns_want(&actor->history, kinds[READ].name, 1, kinds[READ].capacity);
    turns_grant(&actor->history, 0);
    stay_a_moment(actor);
}

static void be_inside(struct actor *actor, enum kind kind)
{
    char name[16];

    if (kind == HALF) {
        must(hf_slot(actor->lock[kind]) >= 0 && hf_slot(actor->lock[kind]) < 2);
        snprintf(name, sizeof name, "slot-%d", hf_slot(actor->lock[kind]));
        turns_want(&actor->slot, name, 1, 1);
        turns_grant(&actor->slot, 0);
    }
    stay_a_moment(actor);
    if (kind == WRITE && hf_random_next(&actor->seed) % 2 == 0)
        become_reader(actor);
    if (kind == HALF)
        turns_release(&actor->slot, turns_now(), 0);
}

static void *play(void *data)
{
    struct actor *actor = data;

    while (!ending) {
        enum kind kind = (enum kind)(hf_random_next(&actor->seed) % KINDS);
        int       limit = (int)(hf_random_next(&actor->seed) % 400);
        if (limit < 50)
            limit = 0; /* a try */
        int r = turns_take(&actor->history, actor->lock[kind], kinds[kind].name,
                           kinds[kind].weight, kinds[kind].capacity, limit);
        if (r == 0) {
            be_inside(actor, kind);
            r = turns_give(&actor->history, actor->lock[kind]);
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

static void actor_start(struct actor *actor, const struct actor *beside, uint64_t seed,
                        const char *folder)
{
    struct hf_options options = HF_OPTIONS_INIT;
    char              url[64], who[32];

    actor->seed = seed;
    snprintf(who, sizeof who, "a%llu", (unsigned long long)seed);
    assert_int_equal(turns_open(&actor->history, folder, who, who), 0);
    snprintf(who, sizeof who, "a%llu-slot", (unsigned long long)seed);
    assert_int_equal(turns_open(&actor->slot, folder, who, who), 0);
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
    turns_close(&actor->history);
    turns_close(&actor->slot);
}

static void exclusion_holds_over_random_cuts(void **state)
{
    const char  *given = getenv("HF_ZK_SEED"), *time = getenv("HF_ZK_SECONDS");
    uint64_t     seed = given != NULL ? strtoull(given, NULL, 0) : hf_random();
    struct actor actor[ACTORS];
    unsigned     had = 0, missed = 0, faults = 0, kinds_left = 0;
    char        *folder = turns_folder();

    (void)state;
    assert_non_null(folder);
    print_message("# HF_ZK_SEED=%llu\n", (unsigned long long)seed);
    for (int i = 0; i < ACTORS; i++) {
        actor[i] = (struct actor){ 0 };
        actor_start(&actor[i], i % 2 ? &actor[i - 1] : NULL, hf_random_next(&seed),
                    folder);
    }
    hf_time end = hf_now() + (time != NULL ? atoi(time) : 6) * HF_SEC;
    while (hf_now() < end) {
        poll(NULL, 0, (int)(hf_random_next(&seed) % 40));
        zkproxy_disturb(actor[hf_random_next(&seed) % ACTORS].proxy, &seed);
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
        char path[32];
        snprintf(path, sizeof path, "/%s", kinds[kind].name);
        kinds_left += witness_count(path) > 0;
    }
    assert_true(turns_judge(folder));
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
