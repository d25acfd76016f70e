/* exclusion.c - sixteen processes take one lock of the file store in turn.
 *
 * They count in plain files, which is right only if no two count at the same time.
 */
/* one thread */
#include "lib/temp_store.h"

#include "holdfast.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RUNNERS  16
#define ROUNDS   40
#define CAPACITY 3

static struct temp_store *temp;

static uint64_t acquire(struct player *player, const char *name, struct hf_shape shape,
                        struct request *request)
{
    /* With so many processes the write lock may be taken for a while: retry. */
    *request = (struct request){ .req = { .op = HF_ENTER, .name = name, .note = "" } };
    request->req.id = ++player->ids;
    request->req.shape = shape;
    while (player_run(player, request) == HF_EDOWN)
        continue;
    must(request->req.status == 0);
    uint64_t id = request->req.id;
    must(wait_for_turn(player, name, request, 30000));
    return id;
}

static int open_file(const char *ending)
{
    int fd = open(temp_file(temp, ending), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

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

/* Count up one number, and check that the token rises from turn to turn. */
static void count_alone(struct child *parent)
{
    struct player  player;
    struct request request;
    int            fd = open_file("-count");

    player_open(&player);
    child_hear(parent, -1);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t id = acquire(&player, "alone", MUTEX, &request);
        uint64_t token = token_of(&request);
        uint64_t count = read_number(fd, 0);
        must(token > read_number(fd, 8));
        write_number(fd, 0, count + 1);
        write_number(fd, 8, token);
        must(leave(&player, "alone", id) == 0);
    }
    player_close(&player);
}

/* One number per slot: no other process may have the slot at the same time. */
static void count_by_slot(struct child *parent)
{
    struct player  player;
    struct request request;
    int            fd = open_file("-slots");

    player_open(&player);
    child_hear(parent, -1);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t id = acquire(&player, "slots", semaphore(CAPACITY, 1), &request);
        int      slot = slot_of(&request);
        must(slot >= 0 && slot < CAPACITY);
        off_t    at = slot * 16;
        uint64_t count = read_number(fd, at);
        must(read_number(fd, at + 8) == 0); /* no other process has it */
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

static void mutex_has_one_holder_at_a_time(void **state)
{
    temp = *state;
    run_all(count_alone);
    int fd = open_file("-count");
    assert_int_equal(read_number(fd, 0), RUNNERS * ROUNDS);
    close(fd);
    assert_int_equal(temp_sql(temp, "SELECT count(*) FROM place"), 0);
}

static void slot_has_one_holder_at_a_time(void **state)
{
    uint64_t total = 0;

    temp = *state;
    run_all(count_by_slot);
    int fd = open_file("-slots");
    for (int i = 0; i < CAPACITY; i++)
        total += read_number(fd, i * 16);
    close(fd);
    assert_int_equal(total, RUNNERS * ROUNDS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_setup, temp_teardown)
    const struct CMUnitTest tests[] = {
        TEST(mutex_has_one_holder_at_a_time),
        TEST(slot_has_one_holder_at_a_time),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
