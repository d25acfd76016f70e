/* write_lock.c - the write lock of the file store is taken: by one process for too
 * long, or by many that write one after the other. */
/* one thread */
#include "lib/temp_store.h"
#include "sqlite/lib/store_files.h"

#include "holdfast.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct temp_store *temp;
static bool               writes;

/* Keep the lock for two seconds and, if `writes`, write as if several processes took
 * it in turn. */
static void keep_the_write_lock(struct child *parent)
{
    sqlite3 *db;
    int      fd = take_write_lock(temp);

    must(sqlite3_open(temp_file(temp, ""), &db) == SQLITE_OK);
    child_say(parent);
    for (hf_time end = hf_now() + 2 * HF_SEC; hf_now() < end; usleep(20000))
        must(!writes || sqlite3_exec(db, "UPDATE meta SET hwm = hwm + 1", NULL, NULL,
                                     NULL) == SQLITE_OK);
    sqlite3_close(db);
    close(fd);
}

/* Try for a lock meanwhile: the result, and how long it took. */
static int try_meanwhile(bool others_write, hf_time *took, char *why)
{
    struct player  player;
    struct child   child;
    struct request request = { .req = { .op = HF_ENTER, .name = "x", .note = "" } };

    player_open(&player);
    assert_int_equal(leave(&player, "x", enter(&player, "x", MUTEX, &request)), 0);
    writes = others_write;
    child_start(&child, keep_the_write_lock);
    assert_true(child_hear(&child, 10000));
    request = (struct request){ .req = { .op = HF_ENTER, .name = "x", .note = "" } };
    request.req.id = ++player.ids;
    request.req.shape = MUTEX;
    request.req.only_free = true;
    hf_time start = hf_now();
    int     r = player_run(&player, &request);
    *took = hf_now() - start;
    snprintf(why, HF_ERRMSG_MAX, "%s", player.store->errmsg);
    assert_int_equal(child_status(&child), 0);
    player_close(&player);
    return r;
}

static void request_fails_if_one_process_keeps_the_lock(void **state)
{
    char    why[HF_ERRMSG_MAX];
    hf_time took;

    temp = *state;
    assert_int_equal(try_meanwhile(false, &took, why), HF_EDOWN);
    assert_non_null(strstr(why, "is not answering"));
    assert_in_range(took, 900 * HF_MS, 1900 * HF_MS);
}

static void request_waits_for_busy_writers(void **state)
{
    char    why[HF_ERRMSG_MAX];
    hf_time took;

    temp = *state;
    assert_int_equal(try_meanwhile(true, &took, why), 0);
    assert_true(took > HF_SEC);
}

/* While we lose the processor, the one that writes may have lost it, too. */
static void time_without_the_processor_does_not_count(void **state)
{
    struct player  player;
    struct request request = { .req = { .op = HF_ENTER, .name = "x", .note = "" } };

    temp = *state;
    player_open(&player);
    assert_int_equal(leave(&player, "x", enter(&player, "x", MUTEX, &request)), 0);
    int fd = take_write_lock(temp);
    request = (struct request){ .req = { .op = HF_ENTER, .name = "x", .note = "" } };
    request.req.id = ++player.ids;
    request.req.shape = MUTEX;
    request.req.only_free = true;
    player_submit(&player, &request);
    for (int i = 0; i < 5; i++) {
        player_turn(&player, 0);
        assert_int_equal(request.answers, 0);
        usleep(300000);
    }
    close(fd);
    assert_true(player_await(&player, &request, 5000));
    assert_int_equal(request.req.status, 0);
    player_close(&player);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_setup, temp_teardown)
    const struct CMUnitTest tests[] = {
        TEST(request_fails_if_one_process_keeps_the_lock),
        TEST(request_waits_for_busy_writers),
        TEST(time_without_the_processor_does_not_count),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
