/* chaos.c - processes with every kind of lock of the file store are killed and stopped at
 * random.
 *
 * Each holder also locks a plain file, without waiting: that fails if another process
 * holds it at the same time.  And no waiter may miss its grant: one that was not woken
 * finds out by itself after two seconds, so waits of that length must be rare.
 */
/* one thread */
#include "lib/temp_store.h"

#include "base/random.h"
#include "holdfast.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
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

static struct temp_store *temp;
static struct score      *scores; /* shared by all processes */
static uint64_t           dice;   /* each process has its own */
static int                myself;

static uint32_t roll(uint32_t sides)
{
    return (uint32_t)(hf_random_next(&dice) % sides);
}

/* ---- A worker ---------------------------------------------------------------- */

struct kind {
    const char     *name;
    struct hf_shape shape;
    int             how; /* of flock() */
};

static struct kind pick(void)
{
    switch (roll(4)) {
    case 0:
        return (struct kind){ "mutex", MUTEX, LOCK_EX };
    case 1:
        return (struct kind){ "slots", semaphore(3, 1 + roll(2)), LOCK_EX };
    case 2:
        return (struct kind){ "rw", READER, LOCK_SH };
    default:
        return (struct kind){ "rw", WRITER, LOCK_EX };
    }
}

/* The kernel releases the file lock of a killed process a moment after its place. */
static int lock_file(const char *name, int slot, int how)
{
    char    ending[40];
    hf_time end = hf_now() + 10 * HF_SEC;

    snprintf(ending, sizeof ending, "-%s-%d", name, slot);
    int fd = open(temp_file(temp, ending), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    must(fd >= 0);
    while (flock(fd, how | LOCK_NB) < 0) {
        must(hf_now() < end);
        usleep(200);
    }
    return fd;
}

static void take_a_turn(struct player *player)
{
    struct kind    kind = pick();
    struct request request = { .req = { .op = HF_ENTER, .name = kind.name, .note = "" } };
    bool           patient = roll(8) != 0;

    request.req.id = ++player->ids;
    request.req.shape = kind.shape;
    while (player_run(player, &request) == HF_EDOWN)
        continue;
    must(request.req.status == 0);
    uint64_t id = request.req.id;
    hf_time  start = hf_now();
    bool     mine =
        wait_for_turn(player, kind.name, &request, patient ? LIMIT : (int)roll(3));
    must(mine || !patient);
    scores[myself].waits++;
    scores[myself].unwoken += hf_now() - start > NOT_TOLD;
    if (mine) {
        int slot = slot_of(&request);
        int fd = lock_file(kind.name, slot >= 0 ? slot : 0, kind.how);
        if (roll(3) == 0)
            usleep(roll(300));
        close(fd);
    }
    must(leave(player, kind.name, id) == 0);
    scores[myself].turns++;
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

static void start(struct child *child, int number)
{
    uint64_t own = hf_random_next(&dice), here = dice;

    myself = number;
    dice = own;
    child_start(child, work);
    dice = here;
}

static void stop_for_a_moment(const struct child *child)
{
    kill(child->pid, SIGSTOP);
    usleep(roll(20000));
    kill(child->pid, SIGCONT);
}

static void random_kills_and_stops_never_give_two_holders(void **state)
{
    struct child child[WORKERS];
    struct score sum = { 0 };
    unsigned     killed = 0;

    temp = *state;
    dice = hf_random();
    print_message("seed %llu\n", (unsigned long long)dice);
    scores = mmap(NULL, WORKERS * sizeof *scores, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(scores != MAP_FAILED);
    for (int i = 0; i < WORKERS; i++)
        start(&child[i], i);
    hf_time end = hf_now() + SECONDS * HF_SEC;
    while (hf_now() < end) {
        int victim = (int)roll(WORKERS);
        usleep(5000 + roll(20000));
        if (roll(4) == 0) {
            stop_for_a_moment(&child[victim]);
            continue;
        }
        child_kill(&child[victim]);
        start(&child[victim], victim);
        killed++;
    }
    for (int i = 0; i < WORKERS; i++)
        child_end(&child[i]);
    for (int i = 0; i < WORKERS; i++) {
        sum.turns += scores[i].turns;
        sum.waits += scores[i].waits;
        sum.unwoken += scores[i].unwoken;
    }
    munmap(scores, WORKERS * sizeof *scores);
    print_message("%u turns, %u killed, %u not woken\n", sum.turns, killed, sum.unwoken);
    assert_true(sum.turns > 100 && killed > 10);
    assert_true(sum.unwoken * 20 <= sum.waits);

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
