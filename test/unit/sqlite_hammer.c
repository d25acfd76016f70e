/* sqlite_hammer.c - sixteen processes on one lock of the SQLite store.
 *
 * They count in plain files, which keep the count only if nobody else counts at
 * the same time.
 */
/* one thread */
#include "lib/lab.h"

#include "holdfast.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUNNERS  16
#define ROUNDS   40
#define CAPACITY 3

static struct lab *lab;

static uint64_t acquire(struct player *player, const char *name, struct hf_shape shape,
                        struct ask *ask)
{
    /* With so many of them the gate may be shut for a while: ask again. */
    *ask = (struct ask){ .req = { .op = HF_ENTER, .name = name, .note = "" } };
    ask->req.id = ++player->ids;
    ask->req.shape = shape;
    while (player_run(player, ask) == HF_EDOWN)
        continue;
    must(ask->req.status == 0);
    uint64_t id = ask->req.id;
    must(wait_for_turn(player, name, ask, 30000));
    return id;
}

static int open_file(const char *ending)
{
    int fd = open(lab_file(lab, ending), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    must(fd >= 0);
    return fd;
}

static uint64_t read_number(int fd, off_t at)
{
    uint64_t number = 0;

    must(pread(fd, &number, sizeof number, at) >= 0);
    return number;
}

static void write_number(int fd, off_t at, uint64_t number)
{
    must(pwrite(fd, &number, sizeof number, at) == (ssize_t)sizeof number);
}

/* One number counted up, and the last token: it must rise from turn to turn. */
static void count_alone(struct child *parent)
{
    struct player player;
    struct ask    ask;
    int           fd = open_file("-count");

    player_open(&player);
    child_hear(parent, -1);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t id = acquire(&player, "alone", MUTEX, &ask);
        uint64_t token = token_of(&ask);
        uint64_t count = read_number(fd, 0);
        must(token > read_number(fd, 8));
        write_number(fd, 0, count + 1);
        write_number(fd, 8, token);
        must(leave(&player, "alone", id) == 0);
    }
    player_close(&player);
}

/* One number per slot: nobody else may have the same slot at that time. */
static void count_by_slot(struct child *parent)
{
    struct player player;
    struct ask    ask;
    int           fd = open_file("-slots");

    player_open(&player);
    child_hear(parent, -1);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t id = acquire(&player, "slots", semaphore(CAPACITY, 1), &ask);
        int      slot = slot_of(&ask);
        must(slot >= 0 && slot < CAPACITY);
        off_t    at = slot * 16;
        uint64_t count = read_number(fd, at);
        must(read_number(fd, at + 8) == 0); /* nobody else has it */
        write_number(fd, at + 8, 1);
        sched_yield();
        write_number(fd, at, count + 1);
        write_number(fd, at + 8, 0);
        must(leave(&player, "slots", id) == 0);
    }
    player_close(&player);
}

static void run_all(void (*body)(struct child *parent))
{
    struct child child[RUNNERS];

    for (int i = 0; i < RUNNERS; i++)
        child_start(&child[i], body);
    for (int i = 0; i < RUNNERS; i++)
        child_say(&child[i]);
    for (int i = 0; i < RUNNERS; i++)
        assert_int_equal(child_status(&child[i]), 0);
}

static void one_at_a_time(void **state)
{
    lab = *state;
    run_all(count_alone);
    int fd = open_file("-count");
    assert_int_equal(read_number(fd, 0), RUNNERS * ROUNDS);
    close(fd);
    assert_int_equal(lab_sql(lab, "SELECT count(*) FROM ticket"), 0);
}

static void one_per_slot(void **state)
{
    uint64_t total = 0;

    lab = *state;
    run_all(count_by_slot);
    int fd = open_file("-slots");
    for (int i = 0; i < CAPACITY; i++)
        total += read_number(fd, i * 16);
    close(fd);
    assert_int_equal(total, RUNNERS * ROUNDS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(one_at_a_time),
        TEST(one_per_slot),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
