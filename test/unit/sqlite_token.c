/* sqlite_token.c - tokens of the SQLite store after everything that loses data:
 * another boot, an old copy, a clock that was set back. */
/* one thread */
#include "lib/lab.h"

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
    struct player player;
    struct ask    ask;

    player_open(&player);
    uint64_t id = enter(&player, "x", MUTEX, &ask);
    uint64_t token = token_of(&ask);
    assert_int_equal(leave(&player, "x", id), 0);
    player_close(&player);
    return token;
}

static struct hf_sq_head read_head(const struct lab *lab)
{
    struct hf_sq_head head;
    int               fd = open(lab_file(lab, "-live"), O_RDONLY | O_CLOEXEC);

    assert_int_equal(pread(fd, &head, sizeof head, 0), sizeof head);
    close(fd);
    return head;
}

static void write_head(const struct lab *lab, const struct hf_sq_head *head)
{
    int fd = open(lab_file(lab, "-live"), O_WRONLY | O_CLOEXEC);

    assert_int_equal(pwrite(fd, head, sizeof *head, 0), sizeof *head);
    close(fd);
}

/* As if the clock had been far ahead when tokens were given out, and was set
 * back since.  Tokens given so far: up to `last`. */
static uint64_t run_ahead(const struct lab *lab)
{
    struct hf_sq_head head = read_head(lab);

    head.last = (uint64_t)hf_wall_us() + 1000 * AN_HOUR;
    head.hwm = head.last + AN_HOUR;
    write_head(lab, &head);
    char text[100];
    snprintf(text, sizeof text, "UPDATE meta SET hwm = %llu",
             (unsigned long long)head.hwm);
    lab_sql(lab, text);
    return head.last;
}

static void follows_the_clock(void **state)
{
    (void)state;
    uint64_t before = (uint64_t)hf_wall_us();
    uint64_t token = take_one();
    assert_true(token >= before && token <= (uint64_t)hf_wall_us());
}

static void clock_set_back(void **state)
{
    struct lab *lab = *state;

    take_one();
    uint64_t last = run_ahead(lab);
    for (int i = 0; i < 3; i++) {
        uint64_t token = take_one();
        assert_true(token > last);
        last = token;
    }
}

/* Power loss: the head is as old as can be, only the mark is sure. */
static void another_boot(void **state)
{
    struct lab *lab = *state;

    take_one();
    uint64_t          last = run_ahead(lab);
    struct hf_sq_head head = read_head(lab);
    uint64_t          mark = head.hwm;
    head.boot ^= 1;
    head.last = 0;
    head.hwm = 0;
    write_head(lab, &head);
    uint64_t token = take_one();
    assert_true(token > last);
    assert_true(token > mark); /* any number up to it may have been given out */
    assert_true(take_one() > token);
}

static void live_file_lost(void **state)
{
    struct lab *lab = *state;

    take_one();
    uint64_t last = run_ahead(lab);
    lab_unlink(lab, "-live");
    assert_true(take_one() > last);
}

/* The copy's mark is older than tokens given since: the head still knows. */
static void old_copy_put_back(void **state)
{
    struct lab *lab = *state;

    take_one();
    lab_sql(lab, "PRAGMA wal_checkpoint(TRUNCATE)");
    lab_copy(lab->path, lab_file(lab, "-backup"));
    uint64_t last = run_ahead(lab);
    unlink(lab_file(lab, "-wal"));
    unlink(lab_file(lab, "-shm"));
    assert_int_equal(rename(lab_file(lab, "-backup"), lab->path), 0);
    assert_true(take_one() > last);
}

/* Never a token above the mark that is on the disk. */
static void the_mark_comes_first(void **state)
{
    struct lab *lab = *state;

    for (int i = 0; i < 3; i++) {
        uint64_t token = take_one();
        assert_true((int64_t)token <= lab_sql(lab, "SELECT hwm FROM meta"));

        struct hf_sq_head head = read_head(lab);
        head.last = head.hwm; /* used up */
        write_head(lab, &head);
    }
}

/* In place of the C library's, for SQLite. */
static int waits_for_the_disk;

__attribute__((visibility("default"))) int fdatasync(int fd)
{
    waits_for_the_disk++;
    return (int)syscall(SYS_fdatasync, fd);
}

/* Lets one ROLLBACK fail, as without memory. */
static int refuse_one_rollback(void *left, int action, const char *what, const char *b,
                               const char *c, const char *d)
{
    (void)b, (void)c, (void)d;
    bool refuse =
        action == SQLITE_TRANSACTION && strcmp(what, "ROLLBACK") == 0 && *(int *)left > 0;
    *(int *)left -= refuse;
    return refuse ? SQLITE_DENY : SQLITE_OK;
}

/* Within a transaction SQLite would not wait for the disk, and not say so. */
static void the_mark_is_pressed_to_disk_though_a_change_was_not_undone(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct ask    ask;
    int           left = 1;

    player_open(&player);
    uint64_t id = enter(&player, "x", MUTEX, &ask);
    assert_int_equal(leave(&player, "x", id), 0);
    struct hf_sq_head head = read_head(lab);
    head.last = head.hwm; /* used up */
    write_head(lab, &head);

    sqlite3 *db = ((struct hf_sq *)player.store)->db.handle;
    sqlite3_set_authorizer(db, refuse_one_rollback, &left);
    waits_for_the_disk = 0;
    id = enter(&player, "x", MUTEX, &ask);
    assert_true(is_granted(&ask));
    assert_int_equal(left, 0);
    assert_true(waits_for_the_disk > 0);
    assert_int_equal(leave(&player, "x", id), 0);
    player_close(&player);
}

/* A row as no program of ours writes it: its number is higher than any given out. */
static uint64_t write_impossible_reader(const struct lab *lab)
{
    uint64_t seq = (uint64_t)hf_wall_us() + 1000 * AN_HOUR;
    char     text[160];

    snprintf(
        text, sizeof text,
        "INSERT INTO ticket VALUES ('x', %llu, 7, 1, 4294967295, 0, 1, 1, -1, '', 0, 0, 0)",
        (unsigned long long)seq);
    lab_sql(lab, text);
    return seq;
}

static int try_to_read(void)
{
    struct player player;
    struct ask    ask = {
           .req = { .op = HF_ENTER, .name = "x", .id = 1, .shape = READER, .note = "" }
    };

    player_open(&player);
    int r = player_run(&player, &ask);
    player_close(&player);
    return r;
}

static void impossible_row_of_nobody(void **state)
{
    struct lab *lab = *state;

    take_one();
    write_impossible_reader(lab);
    assert_int_equal(try_to_read(), 0);
    assert_int_equal(lab_sql(lab, "SELECT count(*) FROM ticket"), 0);
}

static void impossible_row_of_somebody(void **state)
{
    struct lab   *lab = *state;
    struct player other; /* keeps the files as they are */
    struct ask    ask;

    player_open(&other);
    enter(&other, "y", MUTEX, &ask);
    struct flock byte = { .l_type = F_WRLCK,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)write_impossible_reader(lab),
                          .l_len = 1 };
    int          fd = open(lab_file(lab, "-live"), O_RDWR | O_CLOEXEC);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &byte), 0);
    assert_int_equal(try_to_read(), HF_ECORRUPT);
    close(fd);
    assert_int_equal(try_to_read(), 0);
    player_close(&other);
}

static void no_number_is_left(void **state)
{
    struct lab *lab = *state;

    take_one();
    struct hf_sq_head head = read_head(lab);
    head.last = INT64_MAX;
    head.hwm = UINT64_MAX;
    write_head(lab, &head);
    assert_int_equal(try_to_read(), HF_ECORRUPT);
}

/* Nothing above an hour is given away by an ordinary start. */
static void starts_do_not_run_ahead(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        assert_true(take_one() <= (uint64_t)hf_wall_us());
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(follows_the_clock),
        TEST(clock_set_back),
        TEST(another_boot),
        TEST(live_file_lost),
        TEST(old_copy_put_back),
        TEST(the_mark_comes_first),
        TEST(the_mark_is_pressed_to_disk_though_a_change_was_not_undone),
        TEST(starts_do_not_run_ahead),
        TEST(impossible_row_of_nobody),
        TEST(impossible_row_of_somebody),
        TEST(no_number_is_left),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
