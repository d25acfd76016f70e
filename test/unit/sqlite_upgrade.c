/* sqlite_upgrade.c - files that an older version of the store made. */
/* one thread */
#include "lib/lab.h"

#include "holdfast.h"

#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#define LIMIT 10000 /* ms */

/* Version 1, as it was. */
static const char *const version_1 =
    "PRAGMA application_id = 1215261796;"
    "PRAGMA user_version = 1;"
    "CREATE TABLE meta(one INTEGER PRIMARY KEY CHECK (one = 1), hwm INTEGER NOT NULL);"
    "INSERT INTO meta VALUES (1, 4000000000000000000);"
    "CREATE TABLE ticket(line TEXT NOT NULL, seq INTEGER NOT NULL, sid INTEGER NOT NULL,"
    " weight INTEGER NOT NULL, capacity INTEGER NOT NULL, claim INTEGER NOT NULL,"
    " queued INTEGER NOT NULL, granted INTEGER NOT NULL, slot INTEGER NOT NULL,"
    " note TEXT NOT NULL, PRIMARY KEY (line, seq)) WITHOUT ROWID;"
    "CREATE TABLE watcher(line TEXT NOT NULL, sid INTEGER NOT NULL, any INTEGER NOT NULL,"
    " PRIMARY KEY (line, sid)) WITHOUT ROWID;";

#define A_ROW "INSERT INTO ticket VALUES ('x', 7, 7, 1, 1, 0, 1, 1, -1, 'somebody')"

static sqlite3 *open_old(const struct lab *lab)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(lab->path, &db), SQLITE_OK);
    assert_int_equal(chmod(lab->path, 0600), 0);
    assert_int_equal(sqlite3_exec(db, version_1, NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static void make_old(const struct lab *lab)
{
    sqlite3_close(open_old(lab));
}

static void goes_on_where_it_was(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct ask    ask;

    make_old(lab);
    lab_sql(lab, A_ROW);
    player_open(&player);
    uint64_t id = enter(&player, "x", MUTEX, &ask);
    assert_true(is_granted(&ask)); /* whoever had that row is dead */
    assert_true(my_ticket(&ask)->token > UINT64_C(4000000000000000000));
    assert_int_equal(ask_for(&player, "x", my_ticket(&ask)->seq, "please"), 0);
    assert_int_equal(look(&player, "x", id, &ask), 0);
    assert_string_equal(my_ticket(&ask)->asked, "please");
    player_close(&player);
    assert_int_equal(lab_sql(lab, "PRAGMA user_version"), 2);
}

/* Somebody who came before the upgrade writes as he is used to. */
static void the_old_ones_can_go_on(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct ask    ask;
    sqlite3_stmt *insert, *delete;
    sqlite3      *old = open_old(lab);

    assert_int_equal(sqlite3_exec(old, "PRAGMA journal_mode = WAL", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(old, A_ROW, -1, &insert, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(old, "DELETE FROM ticket WHERE seq = 7", -1,
                                        &delete, NULL),
                     SQLITE_OK);
    player_open(&player);
    enter(&player, "y", MUTEX, &ask);
    assert_int_equal(lab_sql(lab, "PRAGMA user_version"), 2);
    assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
    assert_int_equal(sqlite3_step(delete), SQLITE_DONE);
    sqlite3_finalize(insert);
    sqlite3_finalize(delete);
    sqlite3_close(old);
    player_close(&player);
}

/* A table of that name is in the way: nothing at all is changed then. */
static void all_or_nothing(void **state)
{
    struct lab *lab = *state;
    char        errmsg[HF_ERRMSG_MAX];

    make_old(lab);
    lab_sql(lab, "CREATE TABLE ask(other TEXT)");
    assert_int_equal(lab_try(lab->url, errmsg), HF_ESTORE);
    assert_non_null(strstr(errmsg, "locks.db"));
    assert_int_equal(lab_sql(lab, "PRAGMA user_version"), 1);
    lab_sql(lab, "DROP TABLE ask");
    assert_int_equal(lab_try(lab->url, errmsg), 0);
    assert_int_equal(lab_sql(lab, "PRAGMA user_version"), 2);
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
    struct lab  *lab = *state;
    struct child child[MANY];

    make_old(lab);
    for (int i = 0; i < MANY; i++) {
        child_start(&child[i], open_at_once);
        assert_true(child_hear(&child[i], LIMIT));
    }
    for (int i = 0; i < MANY; i++)
        child_say(&child[i]);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(child_status(&child[i]), 0);
    assert_int_equal(lab_sql(lab, "PRAGMA user_version"), 2);
}

/* A file that was brought up to date is no different from a new one. */
static void the_same_as_a_new_one(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct ask    ask;
    const char   *tables = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'";
    const char   *columns = "SELECT count(*) FROM sqlite_schema AS s, "
                            "pragma_table_info(s.name) WHERE s.type = 'table'";

    make_old(lab);
    player_open(&player);
    player_close(&player);
    int64_t was[] = { lab_sql(lab, tables), lab_sql(lab, columns) };
    lab_unlink(lab, "");
    player_open(&player);
    enter(&player, "x", MUTEX, &ask);
    player_close(&player);
    assert_int_equal(lab_sql(lab, tables), was[0]);
    assert_int_equal(lab_sql(lab, columns), was[1]);
    assert_int_equal(lab_sql(lab, "PRAGMA user_version"), 2);
}

static void a_newer_one_is_left_alone(void **state)
{
    struct lab *lab = *state;
    char        errmsg[HF_ERRMSG_MAX];

    make_old(lab);
    lab_sql(lab, "PRAGMA user_version = 3");
    assert_int_equal(lab_try(lab->url, errmsg), HF_EUNSUPPORTED);
    assert_non_null(strstr(errmsg, "newer"));
    assert_int_equal(lab_sql(lab, "SELECT count(*) FROM sqlite_schema"), 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(goes_on_where_it_was),  TEST(the_old_ones_can_go_on),
        TEST(all_or_nothing),        TEST(by_several_at_once),
        TEST(the_same_as_a_new_one), TEST(a_newer_one_is_left_alone),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
