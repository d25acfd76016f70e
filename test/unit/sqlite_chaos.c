/* sqlite_chaos.c - processes on the SQLite store that are killed and stopped at
 * random, at every kind of lock at once.
 *
 * Each holder also locks a plain file, without waiting: that fails if somebody
 * else holds it at the same time.  And nobody may sleep when its turn has come: a
 * waiter that was not told finds out by itself after two seconds, so waits of that
 * length must be rare.
 */
/* one thread */
#include "lib/lab.h"

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
    unsigned untold; /* waits that nobody ended for us */
};

static struct lab   *lab;
static struct score *scores; /* shared by all processes */
static uint64_t      dice;   /* each process has its own */
static int           myself;

static uint32_t roll(uint32_t sides)
{
    return (uint32_t)(hf_random_next(&dice) % sides);
}

/* ---- A worker --------------------------------------------------------------------- */

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

/* What a killed process has locked is free a moment later than its ticket. */
static int lock_file(const char *name, int slot, int how)
{
    char    ending[40];
    hf_time end = hf_now() + 10 * HF_SEC;

    snprintf(ending, sizeof ending, "-%s-%d", name, slot);
    int fd = open(lab_file(lab, ending), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    must(fd >= 0);
    while (flock(fd, how | LOCK_NB) < 0) {
        must(hf_now() < end);
        usleep(200);
    }
    return fd;
}

static void take_a_turn(struct player *player)
{
    struct kind kind = pick();
    struct ask  ask = { .req = { .op = HF_ENTER, .name = kind.name, .note = "" } };
    bool        patient = roll(8) != 0;

    ask.req.id = ++player->ids;
    ask.req.shape = kind.shape;
    while (player_run(player, &ask) == HF_EDOWN)
        continue;
    must(ask.req.status == 0);
    uint64_t id = ask.req.id;
    hf_time  start = hf_now();
    bool mine = wait_for_turn(player, kind.name, &ask, patient ? LIMIT : (int)roll(3));
    must(mine || !patient);
    scores[myself].waits++;
    scores[myself].untold += hf_now() - start > NOT_TOLD;
    if (mine) {
        int slot = slot_of(&ask);
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

/* ---- What is done to them ----------------------------------------------------------- */

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

static void killed_and_stopped_at_random(void **state)
{
    struct child child[WORKERS];
    struct score sum = { 0 };
    unsigned     killed = 0;

    lab = *state;
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
        sum.untold += scores[i].untold;
    }
    munmap(scores, WORKERS * sizeof *scores);
    print_message("%u turns, %u killed, %u not told\n", sum.turns, killed, sum.untold);
    assert_true(sum.turns > 100 && killed > 10);
    assert_true(sum.untold * 20 <= sum.waits);

    struct player player;
    struct ask    all;
    player_open(&player);
    assert_int_equal(list(&player, NULL, &all), 0);
    assert_int_equal(all.count, 0);
    player_close(&player);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(killed_and_stopped_at_random, lab_setup,
                                        lab_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
