/* checkpoint.c - the write-ahead log of the file store is written back under the write
 * lock only: SQLite up to 3.51.2 can damage the file when one process writes the log
 * back while another restarts it. */
/* one thread */
#include "lib/temp_store.h"
#include "sqlite/lib/store_files.h"

#include "holdfast.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

/* A number of SQLite's shared memory, see sqlite.org/walformat.html. */
static uint32_t shared_number(const struct temp_store *temp, off_t at)
{
    uint32_t number = 0;
    int      fd = open(temp_file(temp, "-shm"), O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &number, sizeof number, at), sizeof number);
    close(fd);
    return number;
}

/* How many pages are in the log; and how many of them are in the database, too. */
static uint32_t log_pages(const struct temp_store *temp)
{
    return shared_number(temp, 16); /* mxFrame */
}

static uint32_t written_back(const struct temp_store *temp)
{
    return shared_number(temp, 96); /* nBackfill */
}

/* Make the log longer, but not so long that a COMMIT writes it back. */
static void fill(const struct temp_store *temp, struct player *player, uint32_t pages)
{
    struct request request;

    do {
        assert_int_equal(leave(player, "x", enter(player, "x", MUTEX, &request)), 0);
    } while (log_pages(temp) < pages);
    assert_int_equal(written_back(temp), 0);
}

static off_t log_size(const struct temp_store *temp)
{
    struct stat st;

    assert_int_equal(stat(temp_file(temp, "-wal"), &st), 0);
    return st.st_size;
}

static void closing_empties_a_long_log(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;

    player_open(&player);
    fill(temp, &player, 300);
    player_close(&player);
    assert_int_equal(log_size(temp), 0);
}

/* One client at a time, each with the log that the last one left. */
static void log_stays_short_with_one_client_after_another(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;
    struct request     request;

    for (int i = 0; i < 300; i++) {
        player_open(&player);
        assert_int_equal(leave(&player, "x", enter(&player, "x", MUTEX, &request)), 0);
        assert_in_range(log_pages(temp), 1, 210);
        player_close(&player);
    }
}

static void closing_does_not_wait_for_readers(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;
    sqlite3           *reader;

    player_open(&player);
    fill(temp, &player, 300);
    assert_int_equal(sqlite3_open(temp_file(temp, ""), &reader), SQLITE_OK);
    assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT * FROM meta", NULL, NULL, NULL),
                     SQLITE_OK);
    player_close(&player);
    assert_in_range(written_back(temp), 300,
                    1000); /* all pages that the reader does not need */
    assert_true(log_size(temp) > 0);
    sqlite3_close(reader);
}

static void log_is_not_written_back_without_the_write_lock(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;

    player_open(&player);
    fill(temp, &player, 300);
    int fd = take_write_lock(temp);
    player_close(&player);
    assert_int_equal(written_back(temp), 0);
    assert_true(log_size(temp) > 0);
    close(fd);

    player_open(&player); /* the next client does it */
    fill(temp, &player, 310);
    player_close(&player);
    assert_int_equal(log_size(temp), 0);
}

static void long_log_is_restarted(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;
    struct request     request;
    uint32_t           most = 0, last = 0;

    player_open(&player);
    for (int i = 0; i < 20000 && last >= most; i++) {
        assert_int_equal(leave(&player, "x", enter(&player, "x", MUTEX, &request)), 0);
        last = log_pages(temp);
        most = last > most ? last : most;
    }
    assert_in_range(most, 990, 1100); /* seen after every other commit */
    assert_true(last < most);
    player_close(&player);
    assert_int_equal(temp_sql(temp, "SELECT count(*) FROM pragma_integrity_check "
                                    "WHERE integrity_check = 'ok'"),
                     1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_setup, temp_teardown)
    const struct CMUnitTest tests[] = {
        TEST(closing_empties_a_long_log),
        TEST(log_stays_short_with_one_client_after_another),
        TEST(closing_does_not_wait_for_readers),
        TEST(log_is_not_written_back_without_the_write_lock),
        TEST(long_log_is_restarted),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
