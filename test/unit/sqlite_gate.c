/* sqlite_gate.c - the gate of the SQLite store is shut: by one process for too long, or by many,
 * one after the other, who get on with their work. */
/* one thread */
#include "lib/lab.h"

#include "holdfast.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static struct lab *lab;
static bool        writes;

/* Keeps the gate shut for two seconds and, as those would who take it in turn, may write. */
static void be_at_the_gate(struct child *parent)
{
    sqlite3 *db;
    int      gate = open(lab_file(lab, "-live"), O_RDWR | O_CLOEXEC);

    must(gate >= 0 && flock(gate, LOCK_EX) == 0);
    must(sqlite3_open(lab_file(lab, ""), &db) == SQLITE_OK);
    child_say(parent);
    for (hf_time end = hf_now() + 2 * HF_SEC; hf_now() < end; usleep(20000))
        must(!writes || sqlite3_exec(db, "UPDATE meta SET hwm = hwm + 1", NULL, NULL,
                                     NULL) == SQLITE_OK);
    sqlite3_close(db);
    close(gate);
}

/* What one gets who tries for a lock meanwhile, and how soon. */
static int try_meanwhile(bool others_write, hf_time *took, char *why)
{
    struct player player;
    struct child  child;
    struct ask    ask = { .req = { .op = HF_ENTER, .name = "x", .note = "" } };

    player_open(&player);
    assert_int_equal(leave(&player, "x", enter(&player, "x", MUTEX, &ask)), 0);
    writes = others_write;
    child_start(&child, be_at_the_gate);
    assert_true(child_hear(&child, 10000));
    ask = (struct ask){ .req = { .op = HF_ENTER, .name = "x", .note = "" } };
    ask.req.id = ++player.ids;
    ask.req.shape = MUTEX;
    ask.req.only_free = true;
    hf_time start = hf_now();
    int     r = player_run(&player, &ask);
    *took = hf_now() - start;
    snprintf(why, HF_ERRMSG_MAX, "%s", player.store->errmsg);
    assert_int_equal(child_status(&child), 0);
    player_close(&player);
    return r;
}

static void one_that_does_nothing(void **state)
{
    char    why[HF_ERRMSG_MAX];
    hf_time took;

    lab = *state;
    assert_int_equal(try_meanwhile(false, &took, why), HF_EDOWN);
    assert_non_null(strstr(why, "is not answering"));
    assert_in_range(took, 900 * HF_MS, 1900 * HF_MS);
}

static void others_who_get_on_with_it(void **state)
{
    char    why[HF_ERRMSG_MAX];
    hf_time took;

    lab = *state;
    assert_int_equal(try_meanwhile(true, &took, why), 0);
    assert_true(took > HF_SEC);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(one_that_does_nothing),
        TEST(others_who_get_on_with_it),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
