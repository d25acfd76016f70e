/* full_disk.c - the file store on a full disk: new places are refused, and held locks
 * can still be released.  And a ROLLBACK that fails for lack of memory. */
/* one thread */
#include "lib/temp_store.h"

#include "holdfast.h"
#include "store/sqlite/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define NO_MOUNTS 77 /* exit status of a child that may not mount a disk */
#define LIMIT     10000

static struct temp_store *temp;

static void write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd >= 0) {
        (void)!write(fd, text, strlen(text));
        close(fd);
    }
}

/* A small disk that only this process sees, and that disappears with it. */
static void mount_disk(const char *size)
{
    char  map[64], options[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();

    if (unshare(CLONE_NEWNS) < 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
            _exit(NO_MOUNTS);
        write_text("/proc/self/setgroups", "deny");
        snprintf(map, sizeof map, "0 %u 1", uid);
        write_text("/proc/self/uid_map", map);
        snprintf(map, sizeof map, "0 %u 1", gid);
        write_text("/proc/self/gid_map", map);
    }
    snprintf(options, sizeof options, "size=%s,mode=700", size);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", temp->folder, "tmpfs", 0, options) < 0)
        _exit(NO_MOUNTS);
}

static void fill_disk(void)
{
    char block[512];
    char path[160];

    memset(block, 'x', sizeof block);
    snprintf(path, sizeof path, "%s/ballast", temp->folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    must(fd >= 0);
    while (write(fd, block, sizeof block) > 0)
        continue;
    must(errno == ENOSPC);
    close(fd);
}

static void drop_ballast(void)
{
    char path[160];

    snprintf(path, sizeof path, "%s/ballast", temp->folder);
    must(unlink(path) == 0);
}

static int try_enter(struct player *player, const char *name, struct hf_shape shape,
                     struct request *ret)
{
    *ret = (struct request){ .req = { .op = HF_ENTER, .name = name, .note = "" } };
    ret->req.id = ++player->ids;
    ret->req.shape = shape;
    return player_run(player, ret);
}

/* Use up the room that log and database still have when the disk is full. */
static void use_up_the_files(struct player *player)
{
    struct request request;
    int            r = 0;

    for (int i = 0; i < 1000 && r == 0; i++)
        r = try_enter(player, "used_up", READER, &request);
    must(r == HF_EFULL);
    must(strstr(player->store->errmsg, "full") != NULL);
    must(strstr(player->store->errmsg, "locks.db") != NULL);
}

static void in_a_full_disk(struct child *parent)
{
    struct player  a, b, c;
    struct request held, waits, watching, request;

    (void)parent;
    mount_disk("512k");
    player_open(&a);
    player_open(&b);
    player_open(&c);
    uint64_t id = enter(&a, "x", MUTEX, &held);
    uint64_t next = enter(&b, "x", MUTEX, &waits);
    watch(&b, "x", &waits, &watching);
    fill_disk();
    use_up_the_files(&c);

    /* New places are refused, and leave nothing behind. */
    must(try_enter(&c, "y", MUTEX, &request) == HF_EFULL);
    must(list(&c, "y", &request) == 0 && request.count == 0);
    must(leave(&c, "y", request.req.id) == 0);

    /* A release works, and the waiter is granted. */
    must(leave(&a, "x", id) == 0);
    must(player_await(&b, &watching, LIMIT));
    must(look(&b, "x", next, &waits) == 0);
    must(is_granted(&waits));
    must(list(&c, "x", &request) == 0 && request.count == 1);
    must(leave(&b, "x", next) == 0);
    must(list(&c, "x", &request) == 0 && request.count == 0);

    /* All works again once there is room. */
    drop_ballast();
    must(try_enter(&c, "x", MUTEX, &request) == 0);
    must(is_granted(&request));
    must(list(&c, "x", &request) == 0 && request.count == 1);
    player_close(&a);
    player_close(&b);
    player_close(&c);
}

static void with_no_room_to_begin_with(struct child *parent)
{
    struct player  player;
    struct request request;

    (void)parent;
    mount_disk("512k");
    fill_disk();
    player_open(&player);
    must(try_enter(&player, "x", MUTEX, &request) == HF_EFULL);
    must(strstr(player.store->errmsg, "locks.db") != NULL);
    drop_ballast();
    must(try_enter(&player, "x", MUTEX, &request) == 0);
    must(is_granted(&request));
    player_close(&player);
}

/* The log takes all the room there is.  Writing it back needs none, and then it is
 * reused. */
static void in_a_small_disk(struct child *parent)
{
    struct player  a, b;
    struct request request;

    (void)parent;
    mount_disk("512k");
    player_open(&a);
    must(leave(&a, "x", enter(&a, "x", MUTEX, &request)) == 0);
    temp_sql(temp, "PRAGMA wal_checkpoint"); /* as the database of a store in use */
    for (int i = 0; i < 1500; i++) {
        must(try_enter(&a, "x", MUTEX, &request) == 0 && is_granted(&request));
        must(leave(&a, "x", request.req.id) == 0);
    }
    fill_disk();
    player_open(&b);
    for (int i = 0; i < 300; i++) {
        struct player *player = i % 2 == 0 ? &a : &b;
        must(try_enter(player, "x", MUTEX, &request) == 0 && is_granted(&request));
        must(leave(player, "x", request.req.id) == 0);
    }
    player_close(&a);
    player_close(&b);
}

static void take_turns(struct player *player, int times, const char *note)
{
    for (int i = 0; i < times; i++) {
        struct request request = {
            .req = { .op = HF_ENTER, .name = "x", .id = ++player->ids }
        };
        request.req.shape = MUTEX;
        request.req.note = note;
        must(player_run(player, &request) == 0);
        must(is_granted(&request));
        must(leave(player, "x", request.req.id) == 0);
    }
}

static void count_entries(struct hf_req *req)
{
    *(size_t *)req->data = req->entries;
}

/* The log has its full length, and then the disk is full before the history is:
 * entries become longer, and there is no room for them. */
static void while_history_grows(struct child *parent)
{
    static char   note[1500];
    struct player player;
    size_t        records = 0;
    struct hf_req read_entries = { .op = HF_HISTORY,
                                   .done = count_entries,
                                   .data = &records };

    (void)parent;
    mount_disk("4m");
    player_open(&player);
    take_turns(&player, 300, "");
    fill_disk();
    for (size_t length = 0; length < sizeof note; length += 100) {
        memset(note, 'n', length);
        take_turns(&player, 100, note);
    }
    player.store->impl->submit(player.store, &read_entries);
    for (int i = 0; i < LIMIT && records == 0; i++)
        player_turn(&player, 1);
    must(records > 0 && records < 1000);

    drop_ballast();
    take_turns(&player, 1000, "");
    records = 0;
    player.store->impl->submit(player.store, &read_entries);
    for (int i = 0; i < LIMIT && records == 0; i++)
        player_turn(&player, 1);
    must(records == 1000);
    player_close(&player);
}

static void run(void **state, void (*body)(struct child *parent))
{
    struct child child;
    int          status;

    temp = *state;
    child_start(&child, body);
    status = child_status(&child);
    if (status == NO_MOUNTS)
        skip();
    assert_int_equal(status, 0);
}

static void release_works_on_a_full_disk(void **state)
{
    run(state, in_a_full_disk);
}

static void new_store_on_a_full_disk_fails_cleanly(void **state)
{
    run(state, with_no_room_to_begin_with);
}

static void full_log_is_written_back_and_reused(void **state)
{
    run(state, in_a_small_disk);
}

static void history_costs_no_locks(void **state)
{
    run(state, while_history_grows);
}

/* For lack of memory, say. */
static void failed_rollback_is_done_before_the_next_transaction(void **state)
{
    struct player  player;
    struct request request;

    (void)state;
    player_open(&player);
    uint64_t id = enter(&player, "x", MUTEX, &request);
    sqlite3 *db = ((struct hf_sq *)player.store)->db.handle;
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE; DELETE FROM place", NULL, NULL,
                                  NULL),
                     SQLITE_OK);
    enter(&player, "y", MUTEX, &request);
    assert_true(is_granted(&request));
    assert_int_equal(leave(&player, "y", request.req.id), 0);
    assert_int_equal(leave(&player, "x", id), 0);
    player_close(&player);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_setup, temp_teardown)
    const struct CMUnitTest tests[] = {
        TEST(release_works_on_a_full_disk),
        TEST(new_store_on_a_full_disk_fails_cleanly),
        TEST(full_log_is_written_back_and_reused),
        TEST(history_costs_no_locks),
        TEST(failed_rollback_is_done_before_the_next_transaction),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
