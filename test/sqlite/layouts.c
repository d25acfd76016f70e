/* layouts.c - files of an older or a newer layout.  test/cli/layouts.py runs two
 * programs on one store. */
/* one thread */
#include "lib/temp_store.h"
#include "sqlite/lib/store_files.h"

#include "holdfast.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT 10000 /* ms */

#define MARK UINT64_C(4000000000000000000)

static void set_header(const struct temp_store *temp, int layout, bool of_no_files)
{
    struct hf_sq_header header = read_header(temp);

    header.layout = (uint64_t)layout;
    if (of_no_files)
        header.db = header.wal = header.shm = 0;
    write_header(temp, &header);
}

static void set_tables(const struct temp_store *temp, int layout)
{
    char text[60];

    snprintf(text, sizeof text, "UPDATE meta SET hwm = %llu", (unsigned long long)MARK);
    temp_sql(temp, text);
    temp_sql(temp, "ALTER TABLE past RENAME TO \"a \"\"strange\"\" one\"");
    temp_sql(temp, "ALTER TABLE place ADD COLUMN more");
    snprintf(text, sizeof text, "PRAGMA user_version = %d", layout);
    temp_sql(temp, text);
}

static void make_own(const struct temp_store *temp)
{
    struct player  player;
    struct request request;

    (void)temp;
    player_open(&player);
    enter(&player, "x", MUTEX, &request);
    player_close(&player);
}

/* A store that an older version could have left. */
static void make_older(const struct temp_store *temp)
{
    make_own(temp);
    temp_sql(
        temp,
        "INSERT INTO place VALUES ('x', 7, 7, 1, 1, 0, 1, 1, -1, 'somebody', 0, 0, 0)");
    set_tables(temp, hf_sq_layout - 1);
    set_header(temp, hf_sq_layout - 1, false);
}

static void assert_is_ours(const struct temp_store *temp)
{
    struct player  player;
    struct request request;

    player_open(&player);
    enter(&player, "x", MUTEX, &request);
    assert_true(is_granted(&request)); /* the owner of the old row is dead */
    assert_true(token_of(&request) > MARK);
    player_close(&player);
    assert_int_equal(temp_sql(temp, "PRAGMA user_version"), hf_sq_layout);
    assert_int_equal(temp_sql(temp, "SELECT count(*) FROM sqlite_schema "
                                    "WHERE name LIKE '%strange%'"),
                     0);
}

static void assert_refused(const struct temp_store *temp, int code, const char *text)
{
    char    errmsg[HF_ERRMSG_MAX];
    int64_t version = temp_sql(temp, "PRAGMA user_version");

    int r = temp_try_open(temp->url, errmsg);
    if (r != code || strstr(errmsg, text) == NULL)
        fail_msg("%d, not %d: %s", r, code, errmsg);
    assert_int_equal(temp_sql(temp, "PRAGMA user_version"), version);
    assert_int_equal(temp_sql(temp, "SELECT count(*) FROM sqlite_schema "
                                    "WHERE name LIKE '%strange%'"),
                     1);
}

/* ---- An older layout --------------------------------------------------------- */

static void older_layout_is_replaced(void **state)
{
    make_older(*state);
    assert_is_ours(*state);
}

static void upgraded_store_equals_a_new_one(void **state)
{
    struct temp_store *temp = *state;
    const char        *columns = "SELECT count(*) FROM sqlite_schema AS s, "
                                 "pragma_table_info(s.name) WHERE s.type = 'table'";

    make_own(temp);
    int64_t count = temp_sql(temp, columns);
    make_older(temp);
    assert_is_ours(temp);
    assert_int_equal(temp_sql(temp, columns), count);
}

/* The database is gone; the header has the last number, too. */
static void header_alone_keeps_the_last_token(void **state)
{
    struct temp_store *temp = *state;

    make_older(temp);
    struct hf_sq_header header = read_header(temp);
    header.last = MARK;
    write_header(temp, &header);
    temp_unlink(temp,
                ""); /* another program has removed the log when it closed the file */
    assert_is_ours(temp);
}

/* A client holds a liveness lock. */
static void older_layout_in_use_is_refused(void **state)
{
    struct temp_store *temp = *state;
    char               text[40];

    make_older(temp);
    int fd = take_liveness_lock(temp, 7);
    snprintf(text, sizeof text, "layout %d, this one has %d", hf_sq_layout - 1,
             hf_sq_layout);
    assert_refused(temp, HF_EUNSUPPORTED, text);
    assert_refused(temp, HF_EUNSUPPORTED, "fuser -v");
    close(fd);
    assert_is_ours(temp);
}

/* Without the header the liveness locks belong to no known file.  But a FIFO is being
 * read. */
static void older_layout_with_a_living_fifo_is_refused(void **state)
{
    struct temp_store *temp = *state;
    char               fifo[160];

    make_older(temp);
    temp_unlink(temp, "-live");
    snprintf(fifo, sizeof fifo, "%s/0000000000000007", temp_file(temp, "-wake"));
    assert_int_equal(mkfifo(fifo, 0600), 0);
    int fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_refused(temp, 0, ""); /* it opens, as the client may end in a moment */
    struct player  player;
    struct request request = {
        .req = { .op = HF_ENTER, .name = "x", .shape = MUTEX, .id = 1 }
    };
    player_open(&player);
    assert_int_equal(player_run(&player, &request), HF_EDOWN);
    player_close(&player);
    assert_int_equal(temp_sql(temp, "PRAGMA user_version"), hf_sq_layout - 1);
    close(fd);
    assert_is_ours(temp);
}

/* The upgrade was killed after it wrote the header and before it wrote the tables; or
 * a power loss took the tables. */
static void interrupted_upgrade_is_completed(void **state)
{
    struct temp_store *temp = *state;

    for (int all = 0; all < 2; all++) {
        make_own(temp);
        set_tables(temp, hf_sq_layout - 1);
        set_header(temp, hf_sq_layout, all == 0);
        assert_is_ours(temp);
    }
}

static void open_at_once(struct child *parent)
{
    struct player  player;
    struct request request;

    child_say(parent);
    must(child_hear(parent, -1));
    player_open(&player);
    enter(&player, "x", MUTEX, &request);
    must(wait_for_turn(&player, "x", &request, LIMIT));
    must(leave(&player, "x", request.req.id) == 0);
    player_close(&player);
}

static void several_processes_can_upgrade_at_once(void **state)
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

/* ---- A newer layout ---------------------------------------------------------- */

static void newer_layout_is_refused_and_untouched(void **state)
{
    struct temp_store *temp = *state;

    make_own(temp);
    set_tables(temp, hf_sq_layout + 1);
    assert_refused(temp, HF_EUNSUPPORTED, "newer Holdfast (layout");
    set_header(temp, hf_sq_layout + 1, false);
    assert_refused(temp, HF_EUNSUPPORTED, "newer Holdfast (layout");
    temp_unlink(temp, "-live");
    assert_refused(temp, HF_EUNSUPPORTED, "newer Holdfast (layout");
}

/* The tables may still be old ones. */
static void newer_header_is_refused(void **state)
{
    struct temp_store *temp = *state;

    make_own(temp);
    set_tables(temp, hf_sq_layout);
    set_header(temp, hf_sq_layout + 1, true);
    assert_refused(temp, HF_EUNSUPPORTED, "newer Holdfast (layout");
}

/* A client without a place does not prevent the upgrade, and notices it. */
static void open_client_notices_a_newer_layout(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;
    struct request     request;

    player_open(&player);
    uint64_t id = enter(&player, "x", MUTEX, &request);
    assert_int_equal(leave(&player, "x", id), 0);
    set_header(temp, hf_sq_layout + 1, false);
    request = (struct request){
        .req = { .op = HF_ENTER, .name = "x", .shape = MUTEX, .id = 9 }
    };
    assert_int_equal(player_run(&player, &request), HF_EUNSUPPORTED);
    assert_non_null(strstr(player.store->errmsg, "newer"));
    assert_int_equal(temp_sql(temp, "SELECT count(*) FROM place"), 0);
    player_close(&player);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_setup, temp_teardown)
    const struct CMUnitTest tests[] = {
        TEST(older_layout_is_replaced),
        TEST(upgraded_store_equals_a_new_one),
        TEST(header_alone_keeps_the_last_token),
        TEST(older_layout_in_use_is_refused),
        TEST(older_layout_with_a_living_fifo_is_refused),
        TEST(interrupted_upgrade_is_completed),
        TEST(several_processes_can_upgrade_at_once),
        TEST(newer_layout_is_refused_and_untouched),
        TEST(newer_header_is_refused),
        TEST(open_client_notices_a_newer_layout),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
