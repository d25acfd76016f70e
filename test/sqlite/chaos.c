/* chaos.c - processes with every kind of lock of the file store are killed and stopped at
 * random.
 *
 * Each process writes a history, which the checker of test/chaos judges; a slot of the
 * semaphore counts as a mutex of its own there.  And no waiter may miss its grant: one that was not woken
 * finds out by itself after two seconds, so waits of that length must be rare.
 */
/* one thread */
#include "lib/temp_store.h"
#include "lib/turns.h"

#include "base/random.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define WORKERS  8
#define SECONDS  4
#define NOT_TOLD (1900 * HF_MS)
#define LIMIT    20000 /* ms */

struct score {
    unsigned turns;
    unsigned waits;
    unsigned unwoken; /* waits that no wake-up ended */
};

/* A process, and those that replaced it. */
static struct worker {
    struct child child;
    struct turns history, slot;
} workers[WORKERS];

static struct score  *scores; /* shared by all processes */
static uint64_t       dice;   /* each process has its own */
static struct worker *myself;

static uint32_t roll(uint32_t sides)
{
    return (uint32_t)(hf_random_next(&dice) % sides);
}

/* ---- A worker ---------------------------------------------------------------- */

struct kind {
    const char     *name;
    struct hf_shape shape;
};

static struct kind pick(void)
{
    switch (roll(4)) {
    case 0:
        return (struct kind){ "mutex", MUTEX };
    case 1:
        return (struct kind){ "slots", semaphore(3, 1 + roll(2)) };
    case 2:
        return (struct kind){ "rw", READER };
    default:
        return (struct kind){ "rw", WRITER };
    }
}

/* A slot has one holder at a time. */
static void take_slot(struct turns *history, int slot)
{
    char name[16];

    snprintf(name, sizeof name, "slot-%d", slot);
    turns_want(history, name, 1, 1);
    turns_grant(history, 0);
}

static void act(const struct kind *kind, const struct request *request)
{
    bool has_slot = kind->shape.capacity == 3 && kind->shape.weight == 1;

    turns_grant(&myself->history, token_of(request));
    if (has_slot)
        take_slot(&myself->slot, slot_of(request));
    if (roll(3) == 0)
        usleep(roll(300));
    if (has_slot)
        turns_release(&myself->slot, turns_now(), 0);
    turns_touch(&myself->history);
}

static void take_a_turn(struct player *player)
{
    struct kind    kind = pick();
    struct request request = { .req = { .op = HF_ENTER, .name = kind.name, .note = "" } };
    bool           patient = roll(8) != 0;
    struct score  *score = &scores[myself - workers];

    turns_want(&myself->history, kind.name, kind.shape.weight, kind.shape.capacity);
    request.req.id = ++player->ids;
    request.req.shape = kind.shape;
    while (player_run(player, &request) == HF_EDOWN)
        continue;
    must(request.req.status == 0);
    turns_place(&myself->history);
    uint64_t id = request.req.id;
    hf_time  start = hf_now();
    bool     mine =
        wait_for_turn(player, kind.name, &request, patient ? LIMIT : (int)roll(3));
    must(mine || !patient);
    score->waits++;
    score->unwoken += hf_now() - start > NOT_TOLD;
    if (mine)
        act(&kind, &request);
    int64_t begun = turns_now();
    must(leave(player, kind.name, id) == 0);
    if (mine)
        turns_release(&myself->history, begun, 0);
    else
        turns_fail(&myself->history, "gave up");
    score->turns++;
}

static void work(struct child *parent)
{
    struct player player;

    player_open(&player);
    while (!child_hear(parent, 0)) {
        take_a_turn(&player);
        if (roll(50) == 0) {
            player_close(&player);
            player_open(&player);
        }
    }
    player_close(&player);
}

/* ---- Killing and stopping them ----------------------------------------------- */

static void start(struct worker *worker, const char *folder)
{
    static unsigned count;
    uint64_t        own = hf_random_next(&dice), here = dice;
    char            who[32], slot[sizeof who + 8];

    snprintf(who, sizeof who, "w%u", ++count);
    snprintf(slot, sizeof slot, "%s-slot", who);
    assert_int_equal(turns_open(&worker->history, folder, who, who), 0);
    assert_int_equal(turns_open(&worker->slot, folder, slot, slot), 0);
    myself = worker;
    dice = own;
    child_start(&worker->child, work);
    dice = here;
}

/* It was killed, or has ended. */
static void close_histories(struct worker *worker)
{
    turns_end(&worker->history);
    turns_end(&worker->slot);
    turns_close(&worker->history);
    turns_close(&worker->slot);
}

static void stop_for_a_moment(const struct child *child)
{
    kill(child->pid, SIGSTOP);
    usleep(roll(20000));
    kill(child->pid, SIGCONT);
}

static void random_kills_and_stops_never_give_two_holders(void **state)
{
    struct score sum = { 0 };
    unsigned     killed = 0;
    char        *folder = turns_folder();

    (void)state;
    dice = hf_random();
    print_message("seed %llu\n", (unsigned long long)dice);
    scores = mmap(NULL, WORKERS * sizeof *scores, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(scores != MAP_FAILED && folder != NULL);
    for (int i = 0; i < WORKERS; i++)
        start(&workers[i], folder);
    hf_time end = hf_now() + SECONDS * HF_SEC;
    while (hf_now() < end) {
        struct worker *victim = &workers[roll(WORKERS)];
        usleep(5000 + roll(20000));
        if (roll(4) == 0) {
            stop_for_a_moment(&victim->child);
            continue;
        }
        child_kill(&victim->child);
        close_histories(victim);
        start(victim, folder);
        killed++;
    }
    for (int i = 0; i < WORKERS; i++) {
        child_end(&workers[i].child);
        close_histories(&workers[i]);
    }
    for (int i = 0; i < WORKERS; i++) {
        sum.turns += scores[i].turns;
        sum.waits += scores[i].waits;
        sum.unwoken += scores[i].unwoken;
    }
    munmap(scores, WORKERS * sizeof *scores);
    print_message("%u turns, %u killed, %u not woken\n", sum.turns, killed, sum.unwoken);
    assert_true(sum.turns > 100 && killed > 10);
    assert_true(sum.unwoken * 20 <= sum.waits);
    assert_true(turns_judge(folder));

    struct player  player;
    struct request all;
    player_open(&player);
    assert_int_equal(list(&player, NULL, &all), 0);
    assert_int_equal(all.count, 0);
    player_close(&player);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_kills_and_stops_never_give_two_holders,
                                        temp_setup, temp_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
