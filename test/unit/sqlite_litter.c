/* sqlite_litter.c - what dead sessions of the SQLite store leave behind, and what
 * others take away from the living. */
/* one thread */
#include "lib/lab.h"

#include "holdfast.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT 10000 /* ms */

static void litter_is_cleared(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct ask    ask;
    char          path[256];

    player_open(&player);
    enter(&player, "x", MUTEX, &ask);
    player_close(&player);
    for (int i = 0; i < 3000; i++) {
        snprintf(path, sizeof path, "%s/%015x%x", lab_file(lab, "-wake"), i, i % 16);
        assert_int_equal(mkfifo(path, 0600), 0);
    }
    lab_sql(lab,
            "INSERT INTO ticket VALUES ('dead', 7, 7, 1, 1, 0, 1, 1, -1, '', 0, 0, 0)");
    for (int i = 0; i < 200 && lab_count(lab_file(lab, "-wake")) > 0; i++) {
        player_open(&player);
        enter(&player, "y", MUTEX, &ask);
        player_close(&player);
    }
    assert_int_equal(lab_count(lab_file(lab, "-wake")), 0);
    assert_int_equal(lab_sql(lab, "SELECT count(*) FROM ticket"), 0);
}

static void remove_wake_folder(const struct lab *lab)
{
    DIR           *dir = opendir(lab_file(lab, "-wake"));
    struct dirent *entry;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    assert_int_equal(rmdir(lab_file(lab, "-wake")), 0);
}

/* Without the FIFOs nobody can be told.  It takes longer, but it works. */
static void without_any_fifo(void **state)
{
    struct lab   *lab = *state;
    struct player a, b;
    struct ask    held, ask, watching;

    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "x", MUTEX, &held);
    enter(&b, "x", MUTEX, &ask);
    watch(&b, "x", &ask, &watching);
    remove_wake_folder(lab);
    assert_int_equal(leave(&a, "x", id), 0);
    assert_true(player_await(&b, &watching, LIMIT));
    uint64_t next = ask.req.id;
    assert_int_equal(look(&b, "x", next, &ask), 0);
    assert_true(is_granted(&ask));
    player_close(&a);
    player_close(&b);
}

/* The only name in the folder of the FIFOs. */
static void find_fifo(const struct lab *lab, char ret[32])
{
    DIR           *dir = opendir(lab_file(lab, "-wake"));
    struct dirent *entry;

    assert_non_null(dir);
    ret[0] = '\0';
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            snprintf(ret, 32, "%.31s", entry->d_name);
    closedir(dir);
    assert_int_equal(strlen(ret), 16);
}

/* Who shares the folder can put a link to another folder in its place, after it was looked
 * at.  There nothing is opened, told or removed. */
static void a_link_in_place_of_the_folder(void **state)
{
    struct lab   *lab = *state;
    struct player a, b;
    struct ask    held, ask, watching;
    char          name[32], fifo[300], aside[256], elsewhere[256];

    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "x", MUTEX, &held);
    find_fifo(lab, name);
    enter(&b, "x", MUTEX, &ask);

    snprintf(aside, sizeof aside, "%s", lab_file(lab, "-aside"));
    snprintf(elsewhere, sizeof elsewhere, "%s", lab_file(lab, "-elsewhere"));
    snprintf(fifo, sizeof fifo, "%s/%s", elsewhere, name);
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    assert_int_equal(mkfifo(fifo, 0600),
                     0); /* nobody reads it, as if it were a dead one's */
    assert_int_equal(rename(lab_file(lab, "-wake"), aside), 0);
    assert_int_equal(symlink(elsewhere, lab_file(lab, "-wake")), 0);

    watch(&b, "x", &ask, &watching);
    assert_int_equal(leave(&a, "x", id), 0);
    assert_true(player_await(&b, &watching, LIMIT));
    player_close(&a);
    assert_int_equal(lab_count(elsewhere), 1);

    assert_int_equal(unlink(lab_file(lab, "-wake")), 0);
    assert_int_equal(rename(aside, lab_file(lab, "-wake")), 0);
    player_close(&b);
    assert_int_equal(unlink(fifo), 0);
    assert_int_equal(rmdir(elsewhere), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(litter_is_cleared),
        TEST(without_any_fifo),
        TEST(a_link_in_place_of_the_folder),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
