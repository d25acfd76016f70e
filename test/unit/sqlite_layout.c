/* sqlite_layout.c - files of another layout.  test/cli/layouts.py lets two programs meet. */
/* one thread */
#include "lib/lab.h"

#include "holdfast.h"
#include "store/sqlite/live.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT 10000 /* ms */

#define MARK UINT64_C(4000000000000000000)

static int open_live(const struct lab *lab)
{
    int fd = open(lab_file(lab, "-live"), O_RDWR | O_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

static void set_head(const struct lab *lab, int layout, bool of_no_files)
{
    int               fd = open_live(lab);
    struct hf_sq_head head;

    assert_int_equal(pread(fd, &head, sizeof head, 0), sizeof head);
    head.layout = (uint64_t)layout;
    if (of_no_files)
        head.db = head.wal = head.shm = 0;
    assert_int_equal(pwrite(fd, &head, sizeof head, 0), sizeof head);
    close(fd);
}

static void set_tables(const struct lab *lab, int layout)
{
    char text[60];

    snprintf(text, sizeof text, "UPDATE meta SET hwm = %llu", (unsigned long long)MARK);
    lab_sql(lab, text);
    lab_sql(lab, "ALTER TABLE past RENAME TO \"a \"\"strange\"\" one\"");
    lab_sql(lab, "ALTER TABLE ticket ADD COLUMN more");
    snprintf(text, sizeof text, "PRAGMA user_version = %d", layout);
    lab_sql(lab, text);
}

static void make_own(const struct lab *lab)
{
    struct player player;
    struct ask    ask;

    (void)lab;
    player_open(&player);
    enter(&player, "x", MUTEX, &ask);
    player_close(&player);
}

/* A store as an older version could have left it. */
static void make_older(const struct lab *lab)
{
    make_own(lab);
    lab_sql(
        lab,
        "INSERT INTO ticket VALUES ('x', 7, 7, 1, 1, 0, 1, 1, -1, 'somebody', 0, 0, 0)");
    set_tables(lab, hf_sq_layout - 1);
    set_head(lab, hf_sq_layout - 1, false);
}

static void assert_is_ours(const struct lab *lab)
{
    struct player player;
    struct ask    ask;

    player_open(&player);
    enter(&player, "x", MUTEX, &ask);
    assert_true(is_granted(&ask)); /* whoever had that row is dead */
    assert_true(token_of(&ask) > MARK);
    player_close(&player);
    assert_int_equal(lab_sql(lab, "PRAGMA user_version"), hf_sq_layout);
    assert_int_equal(lab_sql(lab, "SELECT count(*) FROM sqlite_schema "
                                  "WHERE name LIKE '%strange%'"),
                     0);
}

static void assert_refused(const struct lab *lab, int code, const char *text)
{
    char    errmsg[HF_ERRMSG_MAX];
    int64_t version = lab_sql(lab, "PRAGMA user_version");

    int r = lab_try(lab->url, errmsg);
    if (r != code || strstr(errmsg, text) == NULL)
        fail_msg("%d, not %d: %s", r, code, errmsg);
    assert_int_equal(lab_sql(lab, "PRAGMA user_version"), version);
    assert_int_equal(lab_sql(lab, "SELECT count(*) FROM sqlite_schema "
                                  "WHERE name LIKE '%strange%'"),
                     1);
}

/* ---- An older one ----------------------------------------------------------------- */

static void it_is_replaced(void **state)
{
    make_older(*state);
    assert_is_ours(*state);
}

static void the_same_as_a_new_one(void **state)
{
    struct lab *lab = *state;
    const char *columns = "SELECT count(*) FROM sqlite_schema AS s, "
                          "pragma_table_info(s.name) WHERE s.type = 'table'";

    make_own(lab);
    int64_t count = lab_sql(lab, columns);
    make_older(lab);
    assert_is_ours(lab);
    assert_int_equal(lab_sql(lab, columns), count);
}

/* Its head has the last number, too. */
static void only_its_head_is_left(void **state)
{
    struct lab       *lab = *state;
    struct hf_sq_head head;

    make_older(lab);
    int fd = open_live(lab);
    assert_int_equal(pread(fd, &head, sizeof head, 0), sizeof head);
    head.last = MARK;
    assert_int_equal(pwrite(fd, &head, sizeof head, 0), sizeof head);
    close(fd);
    lab_unlink(lab, ""); /* a stranger has removed the log when it closed the file */
    assert_is_ours(lab);
}

/* A byte is locked by somebody. */
static void not_while_it_is_used(void **state)
{
    struct lab  *lab = *state;
    struct flock byte = { .l_type = F_WRLCK, .l_start = 7, .l_len = 1 };
    char         text[40];

    make_older(lab);
    int fd = open_live(lab);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &byte), 0);
    snprintf(text, sizeof text, "layout %d, this one has %d", hf_sq_layout - 1,
             hf_sq_layout);
    assert_refused(lab, HF_EUNSUPPORTED, text);
    assert_refused(lab, HF_EUNSUPPORTED, "fuser -v");
    close(fd);
    assert_is_ours(lab);
}

/* Without the head nobody knows of which file their bytes are.  Their FIFOs tell. */
static void not_while_anybody_may_live(void **state)
{
    struct lab *lab = *state;
    char        fifo[160];

    make_older(lab);
    lab_unlink(lab, "-live");
    snprintf(fifo, sizeof fifo, "%s/0000000000000007", lab_file(lab, "-wake"));
    assert_int_equal(mkfifo(fifo, 0600), 0);
    int fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_refused(lab, 0, ""); /* it may be in order in a moment, so it is opened */
    struct player player;
    struct ask ask = { .req = { .op = HF_ENTER, .name = "x", .shape = MUTEX, .id = 1 } };
    player_open(&player);
    assert_int_equal(player_run(&player, &ask), HF_EDOWN);
    player_close(&player);
    assert_int_equal(lab_sql(lab, "PRAGMA user_version"), hf_sq_layout - 1);
    close(fd);
    assert_is_ours(lab);
}

/* Killed when the head was written and the tables were not; or the tables were lost again
 * with the machine's power. */
static void half_done(void **state)
{
    struct lab *lab = *state;

    for (int all = 0; all < 2; all++) {
        make_own(lab);
        set_tables(lab, hf_sq_layout - 1);
        set_head(lab, hf_sq_layout, all == 0);
        assert_is_ours(lab);
    }
}

static void open_at_once(struct child *parent)
{
    struct player player;
    struct ask    ask;

    child_say(parent);
    must(child_hear(parent, -1));
    player_open(&player);
    enter(&player, "x", MUTEX, &ask);
    must(wait_for_turn(&player, "x", &ask, LIMIT));
    must(leave(&player, "x", ask.req.id) == 0);
    player_close(&player);
}

static void by_several_at_once(void **state)
{
    enum { MANY = 6 };
    struct child child[MANY];

    make_older(*state);
    for (int i = 0; i < MANY; i++) {
        child_start(&child[i], open_at_once);
        assert_true(child_hear(&child[i], LIMIT));
    }
    for (int i = 0; i < MANY; i++)
        child_say(&child[i]);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(child_status(&child[i]), 0);
    assert_is_ours(*state);
}

/* ---- A newer one ------------------------------------------------------------------ */

static void a_newer_one_is_left_alone(void **state)
{
    struct lab *lab = *state;

    make_own(lab);
    set_tables(lab, hf_sq_layout + 1);
    assert_refused(lab, HF_EUNSUPPORTED, "newer Holdfast (layout");
    set_head(lab, hf_sq_layout + 1, false);
    assert_refused(lab, HF_EUNSUPPORTED, "newer Holdfast (layout");
    lab_unlink(lab, "-live");
    assert_refused(lab, HF_EUNSUPPORTED, "newer Holdfast (layout");
}

/* Its tables may not be there yet. */
static void a_newer_head_is_enough(void **state)
{
    struct lab *lab = *state;

    make_own(lab);
    set_tables(lab, hf_sq_layout);
    set_head(lab, hf_sq_layout + 1, true);
    assert_refused(lab, HF_EUNSUPPORTED, "newer Holdfast (layout");
}

/* A session without a ticket is in nobody's way, and learns that it is outdated. */
static void an_open_one_sees_it(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct ask    ask;

    player_open(&player);
    uint64_t id = enter(&player, "x", MUTEX, &ask);
    assert_int_equal(leave(&player, "x", id), 0);
    set_head(lab, hf_sq_layout + 1, false);
    ask = (struct ask){ .req = { .op = HF_ENTER, .name = "x", .shape = MUTEX, .id = 9 } };
    assert_int_equal(player_run(&player, &ask), HF_EUNSUPPORTED);
    assert_non_null(strstr(player.store->errmsg, "newer"));
    assert_int_equal(lab_sql(lab, "SELECT count(*) FROM ticket"), 0);
    player_close(&player);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(it_is_replaced),
        TEST(the_same_as_a_new_one),
        TEST(only_its_head_is_left),
        TEST(not_while_it_is_used),
        TEST(not_while_anybody_may_live),
        TEST(half_done),
        TEST(by_several_at_once),
        TEST(a_newer_one_is_left_alone),
        TEST(a_newer_head_is_enough),
        TEST(an_open_one_sees_it),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
