/* damaged_rows.c - rows that SQLite accepts, and that are not found by their numbers. */
/* one thread */
#include "lib/temp_store.h"

#include "holdfast.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* SQLite reads these rows one by one, but does not find them by their numbers. */
static void rows_out_of_order_are_refused(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;
    struct request     request;
    char               page[65536];

    player_open(&player);
    enter(&player, "x", MUTEX, &request);
    player_close(&player);
    for (const char *name = "abc"; *name != '\0'; name++) {
        char text[160];
        snprintf(
            text, sizeof text,
            "INSERT INTO place VALUES ('name-%c', 1, 7, 1, 1, 0, 1, 1, -1, '', 0, 0, 0)",
            *name);
        temp_sql(temp, text);
    }
    temp_sql(temp, "PRAGMA wal_checkpoint(TRUNCATE)");

    int     fd = open(temp->path, O_RDWR | O_CLOEXEC);
    ssize_t size = read(fd, page, sizeof page);
    char   *first = size > 0 ? memmem(page, (size_t)size, "name-a", 6) : NULL;
    assert_non_null(first);
    assert_int_equal(pwrite(fd, "name-z", 6, first - page), 6);
    close(fd);
    struct request take = {
        .req = { .op = HF_ENTER, .name = "x", .id = 1, .shape = MUTEX, .note = "" }
    };
    player_open(&player);
    assert_int_equal(player_run(&player, &take), HF_ECORRUPT);
    player_close(&player);
}

/* No statement finds such a row by its number, so none removes it. */
static void dead_row_whose_number_is_no_integer_blocks_nobody(void **state)
{
    struct temp_store *temp = *state;
    struct player      holder, waiter;
    struct request     request;

    player_open(&holder);
    player_open(&waiter);
    uint64_t id = enter(&holder, "x", MUTEX, &request);
    uint64_t waiting = enter(&waiter, "x", MUTEX, &request);
    temp_sql(temp, "INSERT INTO place VALUES "
                   "('x', 1.5, 7, 1, 1, 0, 1, 0, -1, '', 0, 0, 0)");
    alarm(20); /* looking at it for ever is the fault */
    assert_int_equal(leave(&holder, "x", id), 0);
    assert_int_equal(look(&waiter, "x", waiting, &request), 0);
    assert_true(is_granted(&request)); /* the dead rows ahead do not count */
    alarm(0);
    player_close(&waiter);
    player_close(&holder);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_setup, temp_teardown)
    const struct CMUnitTest tests[] = {
        TEST(rows_out_of_order_are_refused),
        TEST(dead_row_whose_number_is_no_integer_blocks_nobody),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
