/* sqlite_pages.c - what SQLite writes to its log by two calls is written by one, and is all there
 * whatever SQLite does. */
/* one thread */
#include "lib/lab.h"

#include "holdfast.h"
#include "store/sqlite/inner.h"

#include <stdio.h>
#include <string.h>

static sqlite3 *handle_of(struct player *player)
{
    return ((struct hf_sq *)player->store)->db.handle;
}

static void run_sql(sqlite3 *db, const char *text)
{
    char *error = NULL;

    if (sqlite3_exec(db, text, NULL, NULL, &error) != SQLITE_OK)
        fail_msg("%s: %s", text, error);
}

static void start(struct player *player)
{
    struct ask ask;

    player_open(player);
    enter(player, "x", MUTEX, &ask);
    run_sql(handle_of(player), "CREATE TABLE t(n INTEGER PRIMARY KEY, text)");
}

/* Of a copy SQLite knows nothing but what is in it, and so reads what is about each page. */
static void must_be_whole(const struct lab *lab, int64_t count)
{
    struct lab copy = *lab;

    snprintf(copy.path, sizeof copy.path, "%s/copy", lab->top);
    lab_copy(lab->path, copy.path);
    lab_copy(lab_file(lab, "-wal"), lab_file(&copy, "-wal"));
    assert_int_equal(lab_sql(&copy, "SELECT count(*) FROM t"), count);
    assert_int_equal(lab_sql(&copy, "SELECT count(*) FROM pragma_integrity_check WHERE "
                                    "integrity_check <> 'ok'"),
                     0);
    assert_int_equal(lab_sql(lab, "SELECT count(*) FROM t"), count);
}

/* What does not fit into memory is written before the commit, some of it twice: then SQLite reads
 * what is about those pages and writes it anew, without the pages. */
static void pages_that_are_written_twice(void **state)
{
    const struct lab *lab = *state;
    struct player     player;

    start(&player);
    run_sql(handle_of(&player), "PRAGMA cache_size = 10");
    for (int round = 0; round < 5; round++) {
        run_sql(
            handle_of(&player),
            "BEGIN IMMEDIATE;"
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 300) "
            "INSERT INTO t(text) SELECT hex(randomblob(200)) FROM c;"
            "UPDATE t SET text = hex(randomblob(200)) WHERE n % 3 = 0;"
            "UPDATE t SET text = hex(randomblob(199)) WHERE n % 7 = 0;"
            "COMMIT");
        must_be_whole(lab, 300 * (round + 1));
    }
    player_close(&player);
}

static void what_is_rolled_back_or_emptied(void **state)
{
    const struct lab *lab = *state;
    struct player     player;

    start(&player);
    run_sql(handle_of(&player), "INSERT INTO t(text) VALUES ('a')");
    run_sql(handle_of(&player), "PRAGMA cache_size = 10");
    run_sql(handle_of(&player),
            "BEGIN IMMEDIATE;"
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 300) "
            "INSERT INTO t(text) SELECT hex(randomblob(200)) FROM c;"
            "SAVEPOINT s; UPDATE t SET text = 'b'; ROLLBACK TO s; ROLLBACK");
    must_be_whole(lab, 1);
    run_sql(handle_of(&player), "PRAGMA wal_checkpoint(TRUNCATE)");
    must_be_whole(lab, 1);
    run_sql(handle_of(&player), "INSERT INTO t(text) VALUES ('c')");
    must_be_whole(lab, 2);
    lab_sql(lab, "INSERT INTO t(text) VALUES ('d')"); /* by the other way */
    run_sql(handle_of(&player), "INSERT INTO t(text) VALUES ('e')");
    must_be_whole(lab, 4);
    player_close(&player);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages_that_are_written_twice, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(what_is_rolled_back_or_emptied, lab_setup,
                                        lab_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
