/* stale_fifos.c - FIFOs of the file store: stale ones are removed, and waiters do
 * without theirs. */
/* one thread */
#include "lib/temp_store.h"
#include "sqlite/lib/store_files.h"

#include "holdfast.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT 10000 /* ms */

static void stale_fifos_and_dead_rows_are_removed(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;
    struct request     request;
    char               path[256];

    player_open(&player);
    enter(&player, "x", MUTEX, &request);
    player_close(&player);
    for (int i = 0; i < 3000; i++) {
        snprintf(path, sizeof path, "%s/%015x%x", temp_file(temp, "-wake"), i, i % 16);
        assert_int_equal(mkfifo(path, 0600), 0);
    }
    temp_sql(temp,
             "INSERT INTO place VALUES ('dead', 7, 7, 1, 1, 0, 1, 1, -1, '', 0, 0, 0)");
    for (int i = 0; i < 200 && count_files(temp_file(temp, "-wake")) > 0; i++) {
        player_open(&player);
        enter(&player, "y", MUTEX, &request);
        player_close(&player);
    }
    assert_int_equal(count_files(temp_file(temp, "-wake")), 0);
    assert_int_equal(temp_sql(temp, "SELECT count(*) FROM place"), 0);
}

static void remove_wake_folder(const struct temp_store *temp)
{
    DIR           *dir = opendir(temp_file(temp, "-wake"));
    struct dirent *entry;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    assert_int_equal(rmdir(temp_file(temp, "-wake")), 0);
}

/* Without FIFOs no session can be woken.  A grant takes longer, but comes. */
static void waiter_is_granted_without_any_fifo(void **state)
{
    struct temp_store *temp = *state;
    struct player      a, b;
    struct request     held, request, watching;

    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "x", MUTEX, &held);
    enter(&b, "x", MUTEX, &request);
    watch(&b, "x", &request, &watching);
    remove_wake_folder(temp);
    assert_int_equal(leave(&a, "x", id), 0);
    assert_true(player_await(&b, &watching, LIMIT));
    uint64_t next = request.req.id;
    assert_int_equal(look(&b, "x", next, &request), 0);
    assert_true(is_granted(&request));
    player_close(&a);
    player_close(&b);
}

/* A user who shares the folder can replace it by a link to another one after we
 * checked it.  We open, write and remove nothing there. */
static void link_in_place_of_the_fifo_folder_is_not_followed(void **state)
{
    struct temp_store *temp = *state;
    struct player      a, b;
    struct request     held, request, watching;
    char               name[32], fifo[300], aside[256], elsewhere[256];

    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "x", MUTEX, &held);
    find_fifo(temp, name);
    enter(&b, "x", MUTEX, &request);

    snprintf(aside, sizeof aside, "%s", temp_file(temp, "-aside"));
    snprintf(elsewhere, sizeof elsewhere, "%s", temp_file(temp, "-elsewhere"));
    snprintf(fifo, sizeof fifo, "%s/%s", elsewhere, name);
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0); /* without a reader, as if it were stale */
    assert_int_equal(rename(temp_file(temp, "-wake"), aside), 0);
    assert_int_equal(symlink(elsewhere, temp_file(temp, "-wake")), 0);

    watch(&b, "x", &request, &watching);
    assert_int_equal(leave(&a, "x", id), 0);
    assert_true(player_await(&b, &watching, LIMIT));
    player_close(&a);
    assert_int_equal(count_files(elsewhere), 1);

    assert_int_equal(unlink(temp_file(temp, "-wake")), 0);
    assert_int_equal(rename(aside, temp_file(temp, "-wake")), 0);
    player_close(&b);
    assert_int_equal(unlink(fifo), 0);
    assert_int_equal(rmdir(elsewhere), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_setup, temp_teardown)
    const struct CMUnitTest tests[] = {
        TEST(stale_fifos_and_dead_rows_are_removed),
        TEST(waiter_is_granted_without_any_fifo),
        TEST(link_in_place_of_the_fifo_folder_is_not_followed),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
