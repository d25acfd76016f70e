/* token.c - tokens of the file store rise, whatever loses data: a power loss, an old
 * copy, a clock that was set back. */
/* one thread */
#include "lib/temp_store.h"
#include "sqlite/lib/store_files.h"

#include "base/clock.h"
#include "store/sqlite/inner.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AN_HOUR UINT64_C(3600000000)

static uint64_t take_one(void)
{
    struct player  player;
    struct request request;

    player_open(&player);
    uint64_t id = enter(&player, "x", MUTEX, &request);
    uint64_t token = token_of(&request);
    assert_int_equal(leave(&player, "x", id), 0);
    player_close(&player);
    return token;
}

/* As if the clock had been far ahead when tokens up to `last` were given out, and was
 * set back since. */
static uint64_t run_ahead(const struct temp_store *temp)
{
    struct hf_sq_header header = read_header(temp);

    header.last = (uint64_t)hf_wall_us() + 1000 * AN_HOUR;
    header.hwm = header.last + AN_HOUR;
    write_header(temp, &header);
    char text[100];
    snprintf(text, sizeof text, "UPDATE meta SET hwm = %llu",
             (unsigned long long)header.hwm);
    temp_sql(temp, text);
    return header.last;
}

static void tokens_follow_the_clock(void **state)
{
    (void)state;
    uint64_t before = (uint64_t)hf_wall_us();
    uint64_t token = take_one();
    assert_true(token >= before && token <= (uint64_t)hf_wall_us());
}

static void tokens_rise_after_the_clock_was_set_back(void **state)
{
    struct temp_store *temp = *state;

    take_one();
    uint64_t last = run_ahead(temp);
    for (int i = 0; i < 3; i++) {
        uint64_t token = take_one();
        assert_true(token > last);
        last = token;
    }
}

/* Power loss: the header may be very old; only the mark is certain. */
static void tokens_rise_after_a_power_loss(void **state)
{
    struct temp_store *temp = *state;

    take_one();
    uint64_t            last = run_ahead(temp);
    struct hf_sq_header header = read_header(temp);
    uint64_t            mark = header.hwm;
    header.boot ^= 1;
    header.last = 0;
    header.hwm = 0;
    write_header(temp, &header);
    uint64_t token = take_one();
    assert_true(token > last);
    assert_true(token > mark); /* any number up to it may have been given out */
    assert_true(take_one() > token);
}

static void tokens_rise_without_the_live_file(void **state)
{
    struct temp_store *temp = *state;

    take_one();
    uint64_t last = run_ahead(temp);
    temp_unlink(temp, "-live");
    assert_true(take_one() > last);
}

/* The copy has an older mark than the latest tokens, but the header has the last one. */
static void tokens_rise_after_an_old_copy_was_restored(void **state)
{
    struct temp_store *temp = *state;

    take_one();
    temp_sql(temp, "PRAGMA wal_checkpoint(TRUNCATE)");
    copy_file(temp->path, temp_file(temp, "-backup"));
    uint64_t last = run_ahead(temp);
    unlink(temp_file(temp, "-wal"));
    unlink(temp_file(temp, "-shm"));
    assert_int_equal(rename(temp_file(temp, "-backup"), temp->path), 0);
    assert_true(take_one() > last);
}

/* No token may be above the mark on the disk. */
static void no_token_is_above_the_mark_on_disk(void **state)
{
    struct temp_store *temp = *state;

    for (int i = 0; i < 3; i++) {
        uint64_t token = take_one();
        assert_true((int64_t)token <= temp_sql(temp, "SELECT hwm FROM meta"));

        struct hf_sq_header header = read_header(temp);
        header.last = header.hwm; /* used up */
        write_header(temp, &header);
    }
}

/* Replaces that of the C library, for SQLite. */
static int waits_for_the_disk;

__attribute__((visibility("default"))) int fdatasync(int fd)
{
    waits_for_the_disk++;
    return (int)syscall(SYS_fdatasync, fd);
}

/* Makes one ROLLBACK fail, as for lack of memory. */
static int refuse_one_rollback(void *left, int action, const char *what, const char *b,
                               const char *c, const char *d)
{
    (void)b, (void)c, (void)d;
    bool refuse =
        action == SQLITE_TRANSACTION && strcmp(what, "ROLLBACK") == 0 && *(int *)left > 0;
    *(int *)left -= refuse;
    return refuse ? SQLITE_DENY : SQLITE_OK;
}

/* Inside a transaction SQLite would skip the fsync without an error. */
static void mark_is_flushed_after_a_failed_rollback(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;
    struct request     request;
    int                left = 1;

    player_open(&player);
    uint64_t id = enter(&player, "x", MUTEX, &request);
    assert_int_equal(leave(&player, "x", id), 0);
    struct hf_sq_header header = read_header(temp);
    header.last = header.hwm; /* used up */
    write_header(temp, &header);

    sqlite3 *db = ((struct hf_sq *)player.store)->db.handle;
    sqlite3_set_authorizer(db, refuse_one_rollback, &left);
    waits_for_the_disk = 0;
    id = enter(&player, "x", MUTEX, &request);
    assert_true(is_granted(&request));
    assert_int_equal(left, 0);
    assert_true(waits_for_the_disk > 0);
    assert_int_equal(leave(&player, "x", id), 0);
    player_close(&player);
}

/* A row that we would never write: its number is higher than any given out. */
static uint64_t write_impossible_reader(const struct temp_store *temp)
{
    uint64_t seq = (uint64_t)hf_wall_us() + 1000 * AN_HOUR;
    char     text[160];

    snprintf(
        text, sizeof text,
        "INSERT INTO place VALUES ('x', %llu, 7, 1, 4294967295, 0, 1, 1, -1, '', 0, 0, 0)",
        (unsigned long long)seq);
    temp_sql(temp, text);
    return seq;
}

static int try_to_read(void)
{
    struct player  player;
    struct request request = {
        .req = { .op = HF_ENTER, .name = "x", .id = 1, .shape = READER, .note = "" }
    };

    player_open(&player);
    int r = player_run(&player, &request);
    player_close(&player);
    return r;
}

static void dead_row_with_an_impossible_number_is_swept(void **state)
{
    struct temp_store *temp = *state;

    take_one();
    write_impossible_reader(temp);
    assert_int_equal(try_to_read(), 0);
    assert_int_equal(temp_sql(temp, "SELECT count(*) FROM place"), 0);
}

static void living_row_with_an_impossible_number_is_reported(void **state)
{
    struct temp_store *temp = *state;
    struct player      other; /* so that the files stay in use */
    struct request     request;

    player_open(&other);
    enter(&other, "y", MUTEX, &request);
    int fd = take_liveness_lock(temp, write_impossible_reader(temp));
    assert_int_equal(try_to_read(), HF_ECORRUPT);
    close(fd);
    assert_int_equal(try_to_read(), 0);
    player_close(&other);
}

static void running_out_of_numbers_is_an_error(void **state)
{
    struct temp_store *temp = *state;

    take_one();
    struct hf_sq_header header = read_header(temp);
    header.last = INT64_MAX;
    header.hwm = UINT64_MAX;
    write_header(temp, &header);
    assert_int_equal(try_to_read(), HF_ECORRUPT);
}

/* Starting a session moves the mark by an hour at most. */
static void new_sessions_do_not_use_up_tokens(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        assert_true(take_one() <= (uint64_t)hf_wall_us());
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_setup, temp_teardown)
    const struct CMUnitTest tests[] = {
        TEST(tokens_follow_the_clock),
        TEST(tokens_rise_after_the_clock_was_set_back),
        TEST(tokens_rise_after_a_power_loss),
        TEST(tokens_rise_without_the_live_file),
        TEST(tokens_rise_after_an_old_copy_was_restored),
        TEST(no_token_is_above_the_mark_on_disk),
        TEST(mark_is_flushed_after_a_failed_rollback),
        TEST(new_sessions_do_not_use_up_tokens),
        TEST(dead_row_with_an_impossible_number_is_swept),
        TEST(living_row_with_an_impossible_number_is_reported),
        TEST(running_out_of_numbers_is_an_error),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
