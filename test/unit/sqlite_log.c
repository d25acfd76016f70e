/* sqlite_log.c - the write-ahead log of the SQLite store is written back while the gate is
 * ours, and never while it is somebody else's: SQLite up to 3.51.2 can damage the file when
 * one process writes the log back while another starts it anew. */
/* one thread */
#include "lib/lab.h"

#include "holdfast.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A number of SQLite's shared memory, see sqlite.org/walformat.html. */
static uint32_t shared_number(const struct lab *lab, off_t at)
{
    uint32_t number = 0;
    int      fd = open(lab_file(lab, "-shm"), O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &number, sizeof number, at), sizeof number);
    close(fd);
    return number;
}

/* How many pages there are in the log; and how many of them are in the database too. */
static uint32_t log_pages(const struct lab *lab)
{
    return shared_number(lab, 16); /* mxFrame */
}

static uint32_t written_back(const struct lab *lab)
{
    return shared_number(lab, 96); /* nBackfill */
}

/* Make the log longer, but not so long that it is written back by the way. */
static void fill(const struct lab *lab, struct player *player, uint32_t pages)
{
    struct ask ask;

    do {
        assert_int_equal(leave(player, "x", enter(player, "x", MUTEX, &ask)), 0);
    } while (log_pages(lab) < pages);
    assert_int_equal(written_back(lab), 0);
}

static int shut_gate(const struct lab *lab)
{
    int fd = open(lab_file(lab, "-live"), O_RDWR | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    return fd;
}

static off_t log_size(const struct lab *lab)
{
    struct stat st;

    assert_int_equal(stat(lab_file(lab, "-wal"), &st), 0);
    return st.st_size;
}

static void closing_empties_a_long_log(void **state)
{
    struct lab   *lab = *state;
    struct player player;

    player_open(&player);
    fill(lab, &player, 300);
    player_close(&player);
    assert_int_equal(log_size(lab), 0);
}

/* Each of them is alone, and finds what the one before has left. */
static void it_stays_short_for_one_after_the_other(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct ask    ask;

    for (int i = 0; i < 300; i++) {
        player_open(&player);
        assert_int_equal(leave(&player, "x", enter(&player, "x", MUTEX, &ask)), 0);
        assert_in_range(log_pages(lab), 1, 210);
        player_close(&player);
    }
}

static void nobody_who_reads_is_waited_for(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    sqlite3      *reader;

    player_open(&player);
    fill(lab, &player, 300);
    assert_int_equal(sqlite3_open(lab_file(lab, ""), &reader), SQLITE_OK);
    assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT * FROM meta", NULL, NULL, NULL),
                     SQLITE_OK);
    player_close(&player);
    assert_in_range(written_back(lab), 300, 1000); /* all that he does not need */
    assert_true(log_size(lab) > 0);
    sqlite3_close(reader);
}

static void not_while_another_is_at_the_gate(void **state)
{
    struct lab   *lab = *state;
    struct player player;

    player_open(&player);
    fill(lab, &player, 300);
    int gate = shut_gate(lab);
    player_close(&player);
    assert_int_equal(written_back(lab), 0);
    assert_true(log_size(lab) > 0);
    close(gate);

    player_open(&player); /* whoever comes next does it */
    fill(lab, &player, 310);
    player_close(&player);
    assert_int_equal(log_size(lab), 0);
}

static void a_long_log_starts_anew(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct ask    ask;
    uint32_t      most = 0, last = 0;

    player_open(&player);
    for (int i = 0; i < 20000 && last >= most; i++) {
        assert_int_equal(leave(&player, "x", enter(&player, "x", MUTEX, &ask)), 0);
        last = log_pages(lab);
        most = last > most ? last : most;
    }
    assert_in_range(most, 990, 1100); /* seen after every other commit */
    assert_true(last < most);
    player_close(&player);
    assert_int_equal(lab_sql(lab, "SELECT count(*) FROM pragma_integrity_check "
                                  "WHERE integrity_check = 'ok'"),
                     1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(closing_empties_a_long_log),
        TEST(it_stays_short_for_one_after_the_other),
        TEST(nobody_who_reads_is_waited_for),
        TEST(not_while_another_is_at_the_gate),
        TEST(a_long_log_starts_anew),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
