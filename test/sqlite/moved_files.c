/* moved_files.c - files of the file store are deleted, moved or replaced while in use:
 * every holder notices, and there are never two holders. */
/* one thread */
#include "lib/temp_store.h"

#include "holdfast.h"
#include "store/sqlite/files/live.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT 10000 /* ms */

static int enter_once(struct player *player, const char *name, struct request *ret)
{
    *ret = (struct request){ .req = { .op = HF_ENTER, .name = name, .note = "" } };
    ret->req.id = ++player->ids;
    ret->req.shape = MUTEX;
    return player_run(player, ret);
}

/* Retry as the engine does while the store says HF_EDOWN. */
static int enter_in_time(struct player *player, const char *name, int ms,
                         struct request *ret)
{
    hf_time end = hf_now() + ms * HF_MS;
    int     r;

    while ((r = enter_once(player, name, ret)) == HF_EDOWN && hf_now() < end)
        player_turn(player, 5);
    return r;
}

/* Run until the files are watched, which starts after a moment of holding. */
static void settle_in(struct player *player)
{
    hf_time end = hf_now() + 60 * HF_MS;

    while (hf_now() < end)
        player_turn(player, 10);
}

/* `harm` is done while a holds and b waits: both must notice. */
static void check_harm(struct temp_store *temp, void (*harm)(struct temp_store *temp))
{
    struct player  a, b, c;
    struct request held, waits, watching;

    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "x", MUTEX, &held);
    uint64_t next = enter(&b, "x", MUTEX, &waits);
    watch(&b, "x", &waits, &watching);
    settle_in(&a);
    settle_in(&b);
    harm(temp);

    hf_time start = hf_now();
    assert_true(player_loses_session(&a, LIMIT));
    assert_true(hf_now() - start < 3 * HF_SEC); /* by inotify, not by a later check */
    assert_true(player_loses_session(&b, LIMIT));
    assert_int_equal(watching.answers, 1);
    assert_true(watching.req.status == 0 || watching.req.status == HF_EDOWN);
    assert_int_equal(leave(&a, "x", id), HF_ELOST);
    assert_int_equal(leave(&b, "x", next), HF_ELOST);

    /* Both can go on, with new files if need be. */
    player_open(&c);
    assert_int_equal(enter_in_time(&c, "x", LIMIT, &held), 0);
    assert_true(is_granted(&held));
    assert_int_equal(enter_in_time(&a, "x", LIMIT, &waits), 0);
    assert_false(is_granted(&waits));
    player_close(&a);
    player_close(&b);
    player_close(&c);
}

static void delete_db(struct temp_store *temp)
{
    temp_unlink(temp, "");
}

static void delete_live(struct temp_store *temp)
{
    temp_unlink(temp, "-live");
}

static void delete_log(struct temp_store *temp)
{
    temp_unlink(temp, "-wal");
}

static void delete_both(struct temp_store *temp)
{
    temp_unlink(temp, "");
    temp_unlink(temp, "-live");
}

static void move_db(struct temp_store *temp)
{
    assert_int_equal(rename(temp->path, temp_file(temp, "-old")), 0);
}

static void replace_db(struct temp_store *temp)
{
    copy_file(temp->path, temp_file(temp, "-copy"));
    assert_int_equal(rename(temp_file(temp, "-copy"), temp->path), 0);
}

static void move_folder(struct temp_store *temp)
{
    char other[128];

    snprintf(other, sizeof other, "%s/elsewhere", temp->top);
    assert_int_equal(rename(temp->folder, other), 0);
}

static void move_top(struct temp_store *temp)
{
    char other[128];

    snprintf(other, sizeof other, "%s.moved", temp->top);
    assert_int_equal(rename(temp->top, other), 0);
    assert_int_equal(mkdir(temp->top, 0700), 0);
    snprintf(other, sizeof other, "%s.moved", temp->top);
    struct temp_store old = *temp;
    snprintf(old.top, sizeof old.top, "%.56s.moved", temp->top);
    temp_close(&old);
}

static void holder_notices_a_deleted_database(void **state)
{
    check_harm(*state, delete_db);
}

static void holder_notices_a_deleted_live_file(void **state)
{
    check_harm(*state, delete_live);
}

static void holder_notices_a_deleted_log(void **state)
{
    check_harm(*state, delete_log);
}

static void holder_notices_that_both_are_deleted(void **state)
{
    check_harm(*state, delete_both);
}

static void holder_notices_a_moved_database(void **state)
{
    check_harm(*state, move_db);
}

static void holder_notices_a_replaced_database(void **state)
{
    check_harm(*state, replace_db);
}

static void holder_notices_a_moved_folder(void **state)
{
    check_harm(*state, move_folder);
}

static void holder_notices_a_moved_parent_folder(void **state)
{
    check_harm(*state, move_top);
}

/* A waiter checks the files now and then only.  When the holder has lost the deleted
 * files, the waiter must not be granted there the lock that others get in the new
 * files. */
static void deleted_files_grant_no_lock(void **state)
{
    struct temp_store *temp = *state;
    struct player      a, b, c;
    struct request     held, waits;

    player_open(&a);
    player_open(&b);
    enter(&a, "x", MUTEX, &held);
    uint64_t next = enter(&b, "x", MUTEX, &waits);
    settle_in(&a);
    settle_in(&b); /* it checks again in half a second */
    move_folder(temp);
    assert_true(player_loses_session(&a, LIMIT));
    player_open(&c);
    assert_int_equal(enter_in_time(&c, "x", LIMIT, &held), 0);
    assert_true(is_granted(&held));

    struct request view;
    to_look(&view, "x", next);
    int r = player_run(&b, &view); /* 0: it has checked already, and has no place */
    assert_true(r == HF_EDOWN || (r == 0 && !has_place(&view)));
    assert_int_equal(b.lost, 1);
    player_close(&a);
    player_close(&b);
    player_close(&c);
}

/* Copies of the lifeline keep a place alive, but not one that was lost. */
static void guardian_does_not_keep_a_lost_place(void **state)
{
    struct player  a, b;
    struct request request;
    int            fds[2];

    player_open(&a);
    enter(&a, "x", MUTEX, &request);
    assert_int_equal(a.store->impl->lifeline(a.store, fds, 2), 2);
    int copies[2] = { dup(fds[0]), dup(fds[1]) };
    settle_in(&a);
    delete_db(*state);
    assert_true(player_loses_session(&a, LIMIT));
    player_open(&b);
    assert_int_equal(enter_in_time(&b, "x", LIMIT, &request), 0);
    assert_true(is_granted(&request));
    close(copies[0]);
    close(copies[1]);
    player_close(&a);
    player_close(&b);
}

/* ---- While the holder is stopped --------------------------------------------- */

static void hold(struct child *parent)
{
    struct player  player;
    struct request request;

    child_take(parent, &player, MUTEX, &request);
    while (!child_hear(parent, 0) && player.lost == 0)
        player_turn(&player, 10);
    must(leave(&player, "x", request.req.id) == (player.lost > 0 ? HF_ELOST : 0));
    child_say(parent);
    player_close(&player);
}

/* A stopped holder still holds: nobody may be granted in new files. */
static void check_stopped(struct temp_store *temp, void (*harm)(struct temp_store *temp))
{
    struct player  player;
    struct child   child;
    struct request request;

    child_start(&child, hold);
    assert_true(child_hear(&child, LIMIT));
    kill(child.pid, SIGSTOP);
    harm(temp);

    player_open(&player);
    assert_int_equal(enter_in_time(&player, "x", LIMIT, &request), HF_ESTORE);
    assert_non_null(strstr(player.store->errmsg, "while in use"));
    assert_non_null(strstr(player.store->errmsg, "-live"));

    kill(child.pid, SIGCONT); /* it notices, and releases its locks */
    assert_true(child_hear(&child, LIMIT));
    assert_int_equal(enter_in_time(&player, "x", LIMIT, &request), 0);
    assert_true(is_granted(&request));
    child_end(&child);
    player_close(&player);
}

static void stopped_holder_of_a_deleted_database_still_holds(void **state)
{
    check_stopped(*state, delete_db);
}

static void stopped_holder_of_a_deleted_live_file_still_holds(void **state)
{
    check_stopped(*state, delete_live);
}

static void stopped_holder_of_a_deleted_log_still_holds(void **state)
{
    check_stopped(*state, delete_log);
}

static void stopped_holder_of_a_replaced_database_still_holds(void **state)
{
    check_stopped(*state, replace_db);
}

/* ---- Clients without places -------------------------------------------------- */

static void client_without_places_uses_the_new_files(void **state)
{
    struct temp_store *temp = *state;
    struct player      a, b;
    struct request     request;

    player_open(&a);
    uint64_t id = enter(&a, "x", MUTEX, &request);
    assert_int_equal(leave(&a, "x", id), 0);
    delete_both(temp);
    player_open(&b);
    enter(&b, "x", MUTEX, &request);
    assert_true(is_granted(&request));
    enter(&a, "x", MUTEX, &request); /* in the new files, behind b */
    assert_false(is_granted(&request));
    assert_int_equal(a.lost, 0);
    assert_int_equal(list(&b, "x", &request), 0);
    assert_int_equal(request.count, 2);
    player_close(&a);
    player_close(&b);
}

static void list_reads_the_new_files(void **state)
{
    struct temp_store *temp = *state;
    struct player      a, b;
    struct request     request;

    player_open(&a);
    enter(&a, "x", MUTEX, &request);
    player_close(&a);
    player_open(&b);
    assert_int_equal(list(&b, NULL, &request), 0);
    delete_both(temp);
    assert_int_equal(list(&b, NULL, &request), 0);
    assert_int_equal(request.count, 0);
    player_open(&a);
    enter(&a, "y", MUTEX, &request);
    assert_int_equal(list(&b, NULL, &request), 0);
    assert_int_equal(request.count, 1);
    player_close(&a);
    player_close(&b);
}

/* An old copy is put back while no client runs. */
static void places_in_a_restored_copy_are_dead(void **state)
{
    struct temp_store *temp = *state;
    struct player      a;
    struct request     request;

    player_open(&a);
    enter(&a, "x", MUTEX, &request);
    temp_sql(temp, "PRAGMA wal_checkpoint(TRUNCATE)");
    copy_file(temp->path, temp_file(temp, "-backup"));
    player_close(&a);
    unlink(temp_file(temp, "-wal"));
    unlink(temp_file(temp, "-shm"));
    assert_int_equal(rename(temp_file(temp, "-backup"), temp->path), 0);

    player_open(&a);
    assert_int_equal(list(&a, "x", &request), 0);
    assert_int_equal(request.count, 0);
    enter(&a, "x", MUTEX, &request);
    assert_true(is_granted(&request));
    player_close(&a);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_setup, temp_teardown)
    const struct CMUnitTest tests[] = {
        TEST(holder_notices_a_deleted_database),
        TEST(holder_notices_a_deleted_live_file),
        TEST(holder_notices_a_deleted_log),
        TEST(holder_notices_that_both_are_deleted),
        TEST(holder_notices_a_moved_database),
        TEST(holder_notices_a_replaced_database),
        TEST(holder_notices_a_moved_folder),
        TEST(holder_notices_a_moved_parent_folder),
        TEST(deleted_files_grant_no_lock),
        TEST(guardian_does_not_keep_a_lost_place),
        TEST(stopped_holder_of_a_deleted_database_still_holds),
        TEST(stopped_holder_of_a_deleted_live_file_still_holds),
        TEST(stopped_holder_of_a_deleted_log_still_holds),
        TEST(stopped_holder_of_a_replaced_database_still_holds),
        TEST(client_without_places_uses_the_new_files),
        TEST(list_reads_the_new_files),
        TEST(places_in_a_restored_copy_are_dead),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
