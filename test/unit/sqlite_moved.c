/* sqlite_moved.c - files of the SQLite store that are deleted, moved or replaced
 * while in use: every holder hears of it, and there are never two. */
/* one thread */
#include "lib/lab.h"

#include "holdfast.h"
#include "store/sqlite/live.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT 10000 /* ms */

static int enter_once(struct player *player, const char *name, struct ask *ret)
{
    *ret = (struct ask){ .req = { .op = HF_ENTER, .name = name, .note = "" } };
    ret->req.id = ++player->ids;
    ret->req.shape = MUTEX;
    return player_run(player, ret);
}

/* As an engine does: again while the store says it may be better soon. */
static int enter_in_time(struct player *player, const char *name, int ms, struct ask *ret)
{
    hf_time end = hf_now() + ms * HF_MS;
    int     r;

    while ((r = enter_once(player, name, ret)) == HF_EDOWN && hf_now() < end)
        player_turn(player, 5);
    return r;
}

/* Turn until the watch over the files is set: it takes a moment of holding. */
static void settle_in(struct player *player)
{
    hf_time end = hf_now() + 60 * HF_MS;

    while (hf_now() < end)
        player_turn(player, 10);
}

/* `harm` is done while a holds and b waits: both must hear of it. */
static void check_harm(struct lab *lab, void (*harm)(struct lab *lab))
{
    struct player a, b, c;
    struct ask    held, waits, watching;

    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "x", MUTEX, &held);
    uint64_t next = enter(&b, "x", MUTEX, &waits);
    watch(&b, "x", &waits, &watching);
    settle_in(&a);
    settle_in(&b);
    harm(lab);

    hf_time start = hf_now();
    assert_true(lab_loses(&a, LIMIT));
    assert_true(hf_now() - start < 3 * HF_SEC); /* by inotify, not by looking */
    assert_true(lab_loses(&b, LIMIT));
    assert_int_equal(watching.answers, 1);
    assert_true(watching.req.status == 0 || watching.req.status == HF_EDOWN);
    assert_int_equal(leave(&a, "x", id), HF_ELOST);
    assert_int_equal(leave(&b, "x", next), HF_ELOST);

    /* And everything goes on, with new files if need be. */
    player_open(&c);
    assert_int_equal(enter_in_time(&c, "x", LIMIT, &held), 0);
    assert_true(is_granted(&held));
    assert_int_equal(enter_in_time(&a, "x", LIMIT, &waits), 0);
    assert_false(is_granted(&waits));
    player_close(&a);
    player_close(&b);
    player_close(&c);
}

static void delete_db(struct lab *lab)
{
    lab_unlink(lab, "");
}

static void delete_live(struct lab *lab)
{
    lab_unlink(lab, "-live");
}

static void delete_log(struct lab *lab)
{
    lab_unlink(lab, "-wal");
}

static void delete_both(struct lab *lab)
{
    lab_unlink(lab, "");
    lab_unlink(lab, "-live");
}

static void move_db(struct lab *lab)
{
    assert_int_equal(rename(lab->path, lab_file(lab, "-old")), 0);
}

static void replace_db(struct lab *lab)
{
    lab_copy(lab->path, lab_file(lab, "-copy"));
    assert_int_equal(rename(lab_file(lab, "-copy"), lab->path), 0);
}

static void move_folder(struct lab *lab)
{
    char other[128];

    snprintf(other, sizeof other, "%s/elsewhere", lab->top);
    assert_int_equal(rename(lab->folder, other), 0);
}

static void move_top(struct lab *lab)
{
    char other[128];

    snprintf(other, sizeof other, "%s.moved", lab->top);
    assert_int_equal(rename(lab->top, other), 0);
    assert_int_equal(mkdir(lab->top, 0700), 0);
    snprintf(other, sizeof other, "%s.moved", lab->top);
    struct lab old = *lab;
    snprintf(old.top, sizeof old.top, "%.56s.moved", lab->top);
    lab_close(&old);
}

static void db_deleted(void **state)
{
    check_harm(*state, delete_db);
}

static void live_deleted(void **state)
{
    check_harm(*state, delete_live);
}

static void log_deleted(void **state)
{
    check_harm(*state, delete_log);
}

static void both_deleted(void **state)
{
    check_harm(*state, delete_both);
}

static void db_moved(void **state)
{
    check_harm(*state, move_db);
}

static void db_replaced(void **state)
{
    check_harm(*state, replace_db);
}

static void folder_moved(void **state)
{
    check_harm(*state, move_folder);
}

static void a_folder_above_moved(void **state)
{
    check_harm(*state, move_top);
}

/* Copies of the lifeline keep a ticket alive, but not one that was lost. */
/* Who only waits looks at the files now and then.  When the holder has let go of what is
 * gone, it must not be granted there what others get in the new files. */
static void no_grant_in_what_is_gone(void **state)
{
    struct lab   *lab = *state;
    struct player a, b, c;
    struct ask    held, waits;

    player_open(&a);
    player_open(&b);
    enter(&a, "x", MUTEX, &held);
    uint64_t next = enter(&b, "x", MUTEX, &waits);
    settle_in(&a);
    settle_in(&b); /* it looks again in half a second */
    move_folder(lab);
    assert_true(lab_loses(&a, LIMIT));
    player_open(&c);
    assert_int_equal(enter_in_time(&c, "x", LIMIT, &held), 0);
    assert_true(is_granted(&held));

    struct ask view;
    to_look(&view, "x", next);
    int r = player_run(&b, &view); /* 0: it has looked already, and has no place */
    assert_true(r == HF_EDOWN || (r == 0 && !has_place(&view)));
    assert_int_equal(b.lost, 1);
    player_close(&a);
    player_close(&b);
    player_close(&c);
}

static void a_guardian_does_not_hold_it_back(void **state)
{
    struct player a, b;
    struct ask    ask;
    int           fds[2];

    player_open(&a);
    enter(&a, "x", MUTEX, &ask);
    assert_int_equal(a.store->impl->lifeline(a.store, fds, 2), 2);
    int copies[2] = { dup(fds[0]), dup(fds[1]) };
    settle_in(&a);
    delete_db(*state);
    assert_true(lab_loses(&a, LIMIT));
    player_open(&b);
    assert_int_equal(enter_in_time(&b, "x", LIMIT, &ask), 0);
    assert_true(is_granted(&ask));
    close(copies[0]);
    close(copies[1]);
    player_close(&a);
    player_close(&b);
}

/* ---- By those who cannot hear of it ------------------------------------------------ */

static void hold(struct child *parent)
{
    struct player player;
    struct ask    ask;

    child_take(parent, &player, MUTEX, &ask);
    while (!child_hear(parent, 0) && player.lost == 0)
        player_turn(&player, 10);
    must(leave(&player, "x", ask.req.id) == (player.lost > 0 ? HF_ELOST : 0));
    child_say(parent);
    player_close(&player);
}

/* The holder is stopped, and so holds: nobody may be granted in new files. */
static void check_stopped(struct lab *lab, void (*harm)(struct lab *lab))
{
    struct player player;
    struct child  child;
    struct ask    ask;

    child_start(&child, hold);
    assert_true(child_hear(&child, LIMIT));
    kill(child.pid, SIGSTOP);
    harm(lab);

    player_open(&player);
    assert_int_equal(enter_in_time(&player, "x", LIMIT, &ask), HF_ESTORE);
    assert_non_null(strstr(player.store->errmsg, "while in use"));
    assert_non_null(strstr(player.store->errmsg, "-live"));

    kill(child.pid, SIGCONT); /* it finds out, and lets go */
    assert_true(child_hear(&child, LIMIT));
    assert_int_equal(enter_in_time(&player, "x", LIMIT, &ask), 0);
    assert_true(is_granted(&ask));
    child_end(&child);
    player_close(&player);
}

static void db_deleted_under_a_stopped_one(void **state)
{
    check_stopped(*state, delete_db);
}

static void live_deleted_under_a_stopped_one(void **state)
{
    check_stopped(*state, delete_live);
}

static void log_deleted_under_a_stopped_one(void **state)
{
    check_stopped(*state, delete_log);
}

static void db_replaced_under_a_stopped_one(void **state)
{
    check_stopped(*state, replace_db);
}

/* ---- By those who have nothing to lose ------------------------------------------------ */

static void nothing_held_nothing_lost(void **state)
{
    struct lab   *lab = *state;
    struct player a, b;
    struct ask    ask;

    player_open(&a);
    uint64_t id = enter(&a, "x", MUTEX, &ask);
    assert_int_equal(leave(&a, "x", id), 0);
    delete_both(lab);
    player_open(&b);
    enter(&b, "x", MUTEX, &ask);
    assert_true(is_granted(&ask));
    enter(&a, "x", MUTEX, &ask); /* in the new files, behind b */
    assert_false(is_granted(&ask));
    assert_int_equal(a.lost, 0);
    assert_int_equal(list(&b, "x", &ask), 0);
    assert_int_equal(ask.count, 2);
    player_close(&a);
    player_close(&b);
}

static void a_list_follows(void **state)
{
    struct lab   *lab = *state;
    struct player a, b;
    struct ask    ask;

    player_open(&a);
    enter(&a, "x", MUTEX, &ask);
    player_close(&a);
    player_open(&b);
    assert_int_equal(list(&b, NULL, &ask), 0);
    delete_both(lab);
    assert_int_equal(list(&b, NULL, &ask), 0);
    assert_int_equal(ask.count, 0);
    player_open(&a);
    enter(&a, "y", MUTEX, &ask);
    assert_int_equal(list(&b, NULL, &ask), 0);
    assert_int_equal(ask.count, 1);
    player_close(&a);
    player_close(&b);
}

/* An old copy put back while nobody looked: dead tickets in it are dead. */
static void a_copy_put_back(void **state)
{
    struct lab   *lab = *state;
    struct player a;
    struct ask    ask;

    player_open(&a);
    enter(&a, "x", MUTEX, &ask);
    lab_sql(lab, "PRAGMA wal_checkpoint(TRUNCATE)");
    lab_copy(lab->path, lab_file(lab, "-backup"));
    player_close(&a);
    unlink(lab_file(lab, "-wal"));
    unlink(lab_file(lab, "-shm"));
    assert_int_equal(rename(lab_file(lab, "-backup"), lab->path), 0);

    player_open(&a);
    assert_int_equal(list(&a, "x", &ask), 0);
    assert_int_equal(ask.count, 0);
    enter(&a, "x", MUTEX, &ask);
    assert_true(is_granted(&ask));
    player_close(&a);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(db_deleted),
        TEST(live_deleted),
        TEST(log_deleted),
        TEST(both_deleted),
        TEST(db_moved),
        TEST(db_replaced),
        TEST(folder_moved),
        TEST(a_folder_above_moved),
        TEST(no_grant_in_what_is_gone),
        TEST(a_guardian_does_not_hold_it_back),
        TEST(db_deleted_under_a_stopped_one),
        TEST(live_deleted_under_a_stopped_one),
        TEST(log_deleted_under_a_stopped_one),
        TEST(db_replaced_under_a_stopped_one),
        TEST(nothing_held_nothing_lost),
        TEST(a_list_follows),
        TEST(a_copy_put_back),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
