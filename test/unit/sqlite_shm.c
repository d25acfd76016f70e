/* sqlite_shm.c - PATH-shm is truncated, to any length and at any moment, by somebody who may
 * write to it: nobody is killed by that, and there is never a second holder. */
/* one thread */
#include "lib/lab.h"

#include "base/random.h"
#include "holdfast.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORKERS 6
#define SECONDS 3
#define REGION  32768 /* the file grows by these */

static struct lab *lab;
static uint64_t    dice;  /* each process has its own */
static unsigned   *turns; /* shared by all processes */

static uint32_t roll(uint32_t sides)
{
    return (uint32_t)(hf_random_next(&dice) % sides);
}

static void cut(off_t length)
{
    assert_int_equal(truncate(lab_file(lab, "-shm"), length), 0);
}

static void must_be_sound(void)
{
    assert_int_equal(lab_sql(lab, "SELECT count(*) FROM pragma_integrity_check "
                                  "WHERE integrity_check = 'ok'"),
                     1);
}

/* ---- At rest ------------------------------------------------------------------------ */

/* Sees whether the lock is held, and tries to have it. */
static void must_be_held(struct player *player)
{
    struct ask ask;

    assert_int_equal(list(player, "x", &ask), 0);
    assert_int_equal(ask.count, 1);
    uint64_t id = enter(player, "x", MUTEX, &ask);
    assert_false(is_granted(&ask));
    assert_int_equal(leave(player, "x", id), 0);
}

/* One that comes, one that is there, and the holder itself find what they should. */
static void cut_to_any_length(void **state)
{
    struct player holder, other, comer;
    struct ask    ask;

    lab = *state;
    for (off_t length = 0; length <= REGION + 1000; length += 331) {
        player_open(&holder);
        player_open(&other);
        uint64_t id = enter(&holder, "x", MUTEX, &ask);
        assert_true(is_granted(&ask));
        if (length % 2 == 0)
            must_be_held(&other);
        cut(length);
        player_open(&comer);
        must_be_held(&comer);
        must_be_held(&other);
        cut(length);
        must_be_held(&other);
        must_be_held(&comer);
        cut(length);
        assert_int_equal(leave(&holder, "x", id), 0);
        assert_int_equal(list(&comer, "x", &ask), 0);
        assert_int_equal(ask.count, 0);
        player_close(&comer);
        player_close(&other);
        player_close(&holder);
    }
    must_be_sound();
}

/* SQLite looks up a page of the log in one of several regions if the log is long. */
static void a_log_of_several_regions(void **state)
{
    struct player holder, other;
    struct ask    ask;
    sqlite3      *reader;

    lab = *state;
    player_open(&holder);
    player_open(&other);
    uint64_t id = enter(&holder, "x", MUTEX, &ask);
    assert_int_equal(sqlite3_open(lab_file(lab, ""), &reader), SQLITE_OK);
    assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT * FROM meta", NULL, NULL, NULL),
                     SQLITE_OK); /* so the log cannot start anew */
    for (int i = 0; i < 5000; i++)
        assert_int_equal(leave(&other, "y", enter(&other, "y", MUTEX, &ask)), 0);
    sqlite3_close(reader);
    struct stat st;
    assert_int_equal(stat(lab_file(lab, "-shm"), &st), 0);
    assert_true(st.st_size > 2 * REGION);
    for (off_t length = st.st_size - 1; length > 0; length -= 7919) {
        cut(length);
        must_be_held(&other);
        struct player comer;
        player_open(&comer);
        must_be_held(&comer);
        player_close(&comer);
    }
    assert_int_equal(leave(&holder, "x", id), 0);
    player_close(&other);
    player_close(&holder);
    must_be_sound();
}

/* ---- While processes take turns ------------------------------------------------------- */

static void take_a_turn(struct player *player)
{
    struct ask ask = { .req = { .op = HF_ENTER, .name = "x", .note = "" } };

    ask.req.id = ++player->ids;
    ask.req.shape = MUTEX;
    while (player_run(player, &ask) == HF_EDOWN)
        continue;
    must(ask.req.status == 0);
    uint64_t id = ask.req.id;
    must(wait_for_turn(player, "x", &ask, 20000));
    int fd = open(lab_file(lab, "-held"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    must(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0); /* nobody else holds it */
    if (roll(4) == 0)
        usleep(roll(500));
    close(fd);
    must(leave(player, "x", id) == 0);
    __atomic_add_fetch(turns, 1, __ATOMIC_RELAXED);
}

static void work(struct child *parent)
{
    struct player player;

    player_open(&player);
    while (!child_hear(parent, 0)) {
        take_a_turn(&player);
        if (roll(30) == 0) {
            player_close(&player);
            player_open(&player);
        }
    }
    player_close(&player);
}

static void start(struct child *child)
{
    dice = hf_random();
    print_message("seed %llu\n", (unsigned long long)dice);
    turns = mmap(NULL, sizeof *turns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                 -1, 0);
    assert_true(turns != MAP_FAILED);
    for (int i = 0; i < WORKERS; i++) {
        uint64_t here = dice;
        dice += (uint64_t)i;
        child_start(&child[i], work);
        dice = here;
    }
}

static void end(struct child *child)
{
    for (int i = 0; i < WORKERS; i++)
        child_end(&child[i]);
    print_message("%u turns\n", *turns);
    assert_true(*turns > 100);
    munmap(turns, sizeof *turns);
    must_be_sound();
}

static void cut_at_any_moment(void **state)
{
    struct child child[WORKERS];
    unsigned     cuts = 0;

    lab = *state;
    start(child);
    for (hf_time over = hf_now() + SECONDS * HF_SEC; hf_now() < over;) {
        usleep(roll(4000));
        if (access(lab_file(lab, "-shm"), F_OK) == 0) {
            cut((off_t)roll(1U << (2 + roll(15))));
            cuts++;
        }
    }
    end(child);
    print_message("%u cuts\n", cuts);
    assert_true(cuts > 100);
}

/* The sqlite3 shell, say: it maps the file, and reads and writes in between. */
static void with_one_that_maps_it(void **state)
{
    struct child child[WORKERS];
    sqlite3     *db;
    int64_t      count = 0, seen = 0;

    lab = *state;
    start(child);
    while (*(volatile unsigned *)turns == 0)
        usleep(1000);
    assert_int_equal(sqlite3_open(lab_file(lab, ""), &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    assert_int_equal(sqlite3_exec(db,
                                  "PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(n);"
                                  "INSERT INTO t VALUES (0)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    for (hf_time over = hf_now() + SECONDS * HF_SEC; hf_now() < over; count++) {
        assert_int_equal(sqlite3_exec(db, "UPDATE t SET n = n + 1", NULL, NULL, NULL),
                         SQLITE_OK);
        seen += lab_sql(lab, "SELECT count(*) FROM ticket") > 0;
        usleep(roll(3000));
    }
    end(child);
    sqlite3_close(db);
    print_message("%lld changes\n", (long long)count);
    assert_int_equal(lab_sql(lab, "SELECT n FROM t"), count);
    assert_true(count > 50 && seen > 10);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(cut_to_any_length),
        TEST(a_log_of_several_regions),
        TEST(cut_at_any_moment),
        TEST(with_one_that_maps_it),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
