/* group_contended.c - sets of locks and single locks compete: none gets stuck, none is
 * granted twice; and sets of all kinds of locks. */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/recipe.h"
#include "lib/witness.h"

#include "base/random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES    4
#define WORKERS  8
#define ROUNDS   60
#define LIMIT_MS 30000

static struct hf_client *open_with(const char *more)
{
    struct hf_client *client = NULL;
    char              url[128];

    snprintf(url, sizeof url, "zk://%s%s", witness_server(), more);
    assert_int_equal(hf_open(url, NULL, &client), 0);
    return client;
}

static struct hf_client *open_client(void)
{
    return open_with("");
}

/* ---- Workers ------------------------------------------------------------------------ */

static const char *const crowd_name[NAMES] = { "crowd-a", "crowd-b", "crowd-c",
                                               "crowd-d" };
static atomic_int        inside[NAMES];
static uint64_t          seed;

struct worker {
    pthread_t   thread;
    uint64_t    seed;
    bool        one_by_one; /* acquire them one by one, in the order of their names */
    const char *fault;
};

static bool pass(const bool *chosen, int by)
{
    bool alone = true;

    for (size_t i = 0; i < NAMES; i++)
        if (chosen[i])
            alone &= atomic_fetch_add(&inside[i], by) == (by > 0 ? 0 : 1);
    return alone;
}

/* Do others see the tokens that we see? */
static bool verified(struct hf_client *client, struct hf_lock *const *part, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (hf_verify(client, hf_name(part[i]), hf_token(part[i]), LIMIT_MS) != 0)
            return false;
    return true;
}

static const char *take_set(struct worker *worker, struct hf_client *client,
                            struct hf_lock *const *lock, const bool *chosen)
{
    struct hf_lock *part[NAMES], *all;
    size_t          count = 0;

    for (size_t i = 0; i < NAMES; i++) {
        if (!chosen[i])
            continue;
        size_t at = hf_random_next(&worker->seed) % (count + 1); /* any order */
        memmove(&part[at + 1], &part[at], (count - at) * sizeof *part);
        part[at] = lock[i];
        count++;
    }
    if (hf_all_of(part, count, &all) != 0)
        return "no set";
    const char *fault = NULL;
    for (int i = 0; i < 2 && fault == NULL; i++) {
        if (hf_acquire(all, LIMIT_MS) != 0)
            fault = "a set is stuck";
        else if (!verified(client, part, count))
            fault = "others see another token";
        else if (!pass(chosen, 1) || !pass(chosen, -1))
            fault = "somebody else has it, too";
        else if (hf_release(all) != 0)
            fault = "a set was lost";
    }
    hf_lock_free(all);
    return fault;
}

static const char *take_each(struct hf_lock *const *lock, const bool *chosen)
{
    for (size_t i = 0; i < NAMES; i++)
        if (chosen[i] && hf_acquire(lock[i], LIMIT_MS) != 0)
            return "one who takes them in order is stuck";
    if (!pass(chosen, 1) || !pass(chosen, -1))
        return "somebody else has it, too";
    for (size_t i = NAMES; i-- > 0;)
        if (chosen[i] && hf_release(lock[i]) != 0)
            return "a lock was lost";
    return NULL;
}

static void *work(void *data)
{
    struct worker    *worker = data;
    struct hf_client *client = open_client();
    struct hf_lock   *lock[NAMES];

    for (size_t i = 0; i < NAMES; i++)
        lock[i] = recipe_mutex(client, crowd_name[i]);
    for (int i = 0; i < ROUNDS && worker->fault == NULL; i++) {
        uint64_t which = 1 + hf_random_next(&worker->seed) % ((1 << NAMES) - 1);
        bool     chosen[NAMES];
        for (size_t j = 0; j < NAMES; j++)
            chosen[j] = which >> j & 1;
        worker->fault = worker->one_by_one ? take_each(lock, chosen)
                                           : take_set(worker, client, lock, chosen);
    }
    hf_close(client);
    return NULL;
}

static void crowd(size_t singles)
{
    struct worker worker[WORKERS] = { 0 };

    for (size_t i = 0; i < WORKERS; i++) {
        worker[i].seed = hf_random_next(&seed);
        worker[i].one_by_one = i < singles;
        assert_int_equal(pthread_create(&worker[i].thread, NULL, work, &worker[i]), 0);
    }
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(worker[i].thread, NULL);
    for (size_t i = 0; i < WORKERS; i++)
        if (worker[i].fault != NULL)
            fail_msg("worker %zu: %s", i, worker[i].fault);
}

static void sets_only(void **state)
{
    (void)state;
    crowd(0);
}

static void sets_and_single_locks(void **state)
{
    (void)state;
    crowd(WORKERS / 2);
}

/* ---- All kinds ---------------------------------------------------------------------- */

/* The claim is in the middle of the order, and does not queue. */
static void set_of_all_kinds(void **state)
{
    struct hf_client *client = open_client(), *rival = open_client();
    struct hf_lock   *part[6], *all, *other;

    (void)state;
    part[0] = recipe_mutex(client, "kinds-a");
    part[1] = recipe_reader(client, "kinds-b");
    assert_int_equal(hf_claim(client, "kinds-c", &part[2]), 0);
    assert_int_equal(hf_semaphore(client, "kinds-d", 3, 2, &part[3]), 0);
    part[4] = recipe_writer(client, "kinds-e");
    assert_int_equal(hf_semaphore(client, "kinds-f", 2, 1, &part[5]), 0);
    assert_int_equal(hf_all_of(part, 6, &all), 0);
    for (int64_t limit = 0; limit <= LIMIT_MS; limit += LIMIT_MS) {
        assert_int_equal(hf_acquire(all, limit), 0);
        assert_int_equal(witness_count("/kinds-a"), 1);
        assert_int_equal(witness_count("/kinds-c"), 2); /* and `claim` */
        assert_in_range(hf_slot(part[3]), 0, 2);
        assert_in_range(hf_slot(part[5]), 0, 1);
        assert_int_equal(hf_acquire(recipe_reader(rival, "kinds-b"), 0), 0);
        assert_int_equal(hf_acquire(recipe_reader(rival, "kinds-e"), 0), HF_EBUSY);
        assert_int_equal(hf_semaphore(rival, "kinds-d", 3, 2, &other), 0);
        assert_int_equal(hf_acquire(other, 0), HF_EBUSY);
        assert_int_equal(hf_release(all), 0);
    }

    assert_int_equal(hf_claim(rival, "kinds-c", &other), 0);
    assert_int_equal(hf_acquire(other, 0), 0);
    assert_int_equal(hf_acquire(all, 0), HF_EBUSY);
    assert_int_equal(hf_acquire(all, 100), HF_ETIMEOUT);
    witness_await("/kinds-a", 0);
    witness_await("/kinds-f", 0);
    assert_int_equal(hf_acquire_start(all, -1), 0);
    recipe_await(part[0], HF_HELD);
    assert_int_equal(hf_release(other), 0);
    recipe_await(all, HF_HELD);
    assert_int_equal(hf_release(all), 0);
    hf_close(client);
    hf_close(rival);
}

/* If one queue may not get longer, the set enters no other one either. */
static void set_with_a_full_queue_takes_nothing(void **state)
{
    struct hf_client *client = open_client(), *rival = open_client(), *third;
    struct hf_lock   *part[2], *all;

    (void)state;
    third = open_client();
    part[0] = recipe_mutex(client, "full-a");
    part[1] = recipe_mutex(client, "full-b");
    assert_int_equal(hf_set_max_waiters(part[1], 1), 0);
    assert_int_equal(hf_all_of(part, 2, &all), 0);
    assert_int_equal(hf_acquire(recipe_mutex(rival, "full-b"), LIMIT_MS), 0);
    struct hf_lock *waiting = recipe_mutex(third, "full-b");
    assert_int_equal(hf_acquire_start(waiting, -1), 0);
    witness_await("/full-b", 2);
    assert_int_equal(hf_acquire(all, LIMIT_MS), HF_EFULL);
    assert_int_equal(witness_count("/full-a"), 0);
    assert_int_equal(witness_count("/full-b"), 2);
    hf_close(rival);
    recipe_await(waiting, HF_HELD);
    assert_int_equal(hf_acquire(all, 100), HF_ETIMEOUT);
    hf_close(third);
    assert_int_equal(hf_acquire(all, LIMIT_MS), 0);
    hf_close(client);
}

/* The error names the part that is denied, not the first one; and the others have no
 * node. */
static void denied_part_is_named(void **state)
{
    struct hf_client *owner = open_with("/?acl=digest:ana:x");
    struct hf_client *client = open_client();
    struct hf_lock   *part[2], *all;

    (void)state;
    assert_int_equal(witness_create("/denied-a"), 0);
    assert_int_not_equal(hf_acquire(recipe_mutex(owner, "denied-b"), LIMIT_MS), 0);
    hf_close(owner);
    part[0] = recipe_mutex(client, "denied-a");
    part[1] = recipe_mutex(client, "denied-b");
    assert_int_equal(hf_all_of(part, 2, &all), 0);
    assert_int_equal(hf_acquire(all, LIMIT_MS), HF_EDENIED);
    assert_non_null(strstr(hf_errmsg(client), "/denied-b"));
    assert_int_equal(witness_count("/denied-a"), 0);
    hf_close(client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_only),
        cmocka_unit_test(sets_and_single_locks),
        cmocka_unit_test(set_of_all_kinds),
        cmocka_unit_test(set_with_a_full_queue_takes_nothing),
        cmocka_unit_test(denied_part_is_named),
    };

    (void)witness_server();
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : hf_random();
    printf("# seed %#llx\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
