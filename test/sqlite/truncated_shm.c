/* truncated_shm.c - another process truncates PATH-shm, to any length and at any
 * moment: that kills no client, and there is never a second holder. */
/* one thread */
#include "lib/temp_store.h"

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
#define REGION  32768 /* the file grows by regions */
#define HEADER  136   /* bytes before the page numbers, one for each page of the log */
#define COUNT   16    /* where the header says how many they are */

static struct temp_store *temp;
static uint64_t           dice;  /* each process has its own */
static unsigned          *turns; /* shared by all processes */

static uint32_t roll(uint32_t sides)
{
    return (uint32_t)(hf_random_next(&dice) % sides);
}

static void cut(off_t length)
{
    assert_int_equal(truncate(temp_file(temp, "-shm"), length), 0);
}

static void must_be_sound(void)
{
    assert_int_equal(temp_sql(temp, "SELECT count(*) FROM pragma_integrity_check "
                                    "WHERE integrity_check = 'ok'"),
                     1);
}

/* ---- Between two requests ---------------------------------------------------- */

/* Check that the lock is held, and that a try for it fails. */
static void must_be_held(struct player *player)
{
    struct request request;

    assert_int_equal(list(player, "x", &request), 0);
    assert_int_equal(request.count, 1);
    uint64_t id = enter(player, "x", MUTEX, &request);
    assert_false(is_granted(&request));
    assert_int_equal(leave(player, "x", id), 0);
}

/* A new client, an old one and the holder itself all see the holder. */
static void truncation_to_any_length_does_no_harm(void **state)
{
    struct player  holder, other, comer;
    struct request request;

    temp = *state;
    for (off_t length = 0; length <= REGION + 1000; length += 331) {
        player_open(&holder);
        player_open(&other);
        uint64_t id = enter(&holder, "x", MUTEX, &request);
        assert_true(is_granted(&request));
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
        assert_int_equal(list(&comer, "x", &request), 0);
        assert_int_equal(request.count, 0);
        player_close(&comer);
        player_close(&other);
        player_close(&holder);
    }
    must_be_sound();
}

static uint32_t count_pages_of_log(void)
{
    uint32_t count = 0;
    int      fd = open(temp_file(temp, "-shm"), O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &count, sizeof count, COUNT), sizeof count);
    close(fd);
    return count;
}

/* The header is complete, and counts pages that are missing: those with the holder. */
static void index_without_its_last_pages_is_not_used(void **state)
{
    struct player  holder, comer;
    struct request request;

    temp = *state;
    player_open(&holder);
    for (uint32_t missing = 1; missing <= 20; missing++) {
        uint64_t id = enter(&holder, "x", MUTEX, &request);
        assert_true(is_granted(&request));
        uint32_t pages = count_pages_of_log();
        if (pages >= missing)
            cut(HEADER + (off_t)sizeof pages * (pages - missing));
        player_open(&comer);
        must_be_held(&comer);
        player_close(&comer);
        assert_int_equal(leave(&holder, "x", id), 0);
    }
    player_close(&holder);
    must_be_sound();
}

/* The index of a long log has several regions. */
static void log_of_several_regions_is_read_right(void **state)
{
    struct player  holder, other;
    struct request request;
    sqlite3       *reader;

    temp = *state;
    player_open(&holder);
    player_open(&other);
    uint64_t id = enter(&holder, "x", MUTEX, &request);
    assert_int_equal(sqlite3_open(temp_file(temp, ""), &reader), SQLITE_OK);
    assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT * FROM meta", NULL, NULL, NULL),
                     SQLITE_OK); /* so that the log cannot be restarted */
    for (int i = 0; i < 5000; i++)
        assert_int_equal(leave(&other, "y", enter(&other, "y", MUTEX, &request)), 0);
    sqlite3_close(reader);
    struct stat st;
    assert_int_equal(stat(temp_file(temp, "-shm"), &st), 0);
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

/* ---- While processes take turns ---------------------------------------------- */

static void take_a_turn(struct player *player)
{
    struct request request = { .req = { .op = HF_ENTER, .name = "x", .note = "" } };

    request.req.id = ++player->ids;
    request.req.shape = MUTEX;
    while (player_run(player, &request) == HF_EDOWN)
        continue;
    must(request.req.status == 0);
    uint64_t id = request.req.id;
    must(wait_for_turn(player, "x", &request, 20000));
    int fd = open(temp_file(temp, "-held"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    must(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0); /* no other process holds it */
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

static void truncation_at_any_moment_does_no_harm(void **state)
{
    struct child child[WORKERS];
    unsigned     cuts = 0;

    temp = *state;
    start(child);
    for (hf_time over = hf_now() + SECONDS * HF_SEC; hf_now() < over;) {
        usleep(roll(4000));
        if (access(temp_file(temp, "-shm"), F_OK) == 0) {
            cut((off_t)roll(1U << (2 + roll(15))));
            cuts++;
        }
    }
    end(child);
    print_message("%u cuts\n", cuts);
    assert_true(cuts > 100);
}

/* Such as the sqlite3 shell: it maps the file, and reads and writes in between. */
static void program_that_maps_the_file_can_join(void **state)
{
    struct child child[WORKERS];
    sqlite3     *db;
    int64_t      count = 0, seen = 0;

    temp = *state;
    start(child);
    while (*(volatile unsigned *)turns == 0)
        usleep(1000);
    assert_int_equal(sqlite3_open(temp_file(temp, ""), &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    assert_int_equal(sqlite3_exec(db,
                                  "PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(n);"
                                  "INSERT INTO t VALUES (0)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    for (hf_time over = hf_now() + SECONDS * HF_SEC; hf_now() < over; count++) {
        assert_int_equal(sqlite3_exec(db, "UPDATE t SET n = n + 1", NULL, NULL, NULL),
                         SQLITE_OK);
        seen += temp_sql(temp, "SELECT count(*) FROM place") > 0;
        usleep(roll(3000));
    }
    end(child);
    sqlite3_close(db);
    print_message("%lld changes\n", (long long)count);
    assert_int_equal(temp_sql(temp, "SELECT n FROM t"), count);
    assert_true(count > 50 && seen > 10);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_setup, temp_teardown)
    const struct CMUnitTest tests[] = {
        TEST(truncation_to_any_length_does_no_harm),
        TEST(index_without_its_last_pages_is_not_used),
        TEST(log_of_several_regions_is_read_right),
        TEST(truncation_at_any_moment_does_no_harm),
        TEST(program_that_maps_the_file_can_join),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
