/* store_watch.c - WATCH_STORE on the file store: deaths, lost wake-ups, and its end. */
/* one thread */
#include "lib/temp_store.h"
#include "sqlite/lib/store_files.h"

#include "holdfast.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

#define LIMIT 10000 /* ms */

/* A WATCH_STORE, and a copy of its answer. */
struct watch {
    struct hf_req req;
    unsigned      answers;
    int           status;
    size_t        changes;
    char          name[8][64];
};

static void on_done(struct hf_req *req)
{
    struct watch *watch = req->data;

    watch->answers++;
    watch->status = req->status;
    watch->changes = req->changes;
    for (size_t i = 0; i < req->changes && i < 8; i++)
        snprintf(watch->name[i], sizeof watch->name[i], "%s", req->changed[i]);
}

static void submit_store_watch(struct player *player, struct watch *watch)
{
    *watch = (struct watch){ .req = { .op = HF_WATCH_STORE, .done = on_done } };
    watch->req.data = watch;
    player->store->impl->submit(player->store, &watch->req);
    player_turn(player, 0);
}

static bool await_store_watch(struct player *player, const struct watch *watch, int ms)
{
    hf_time end = hf_now() + ms * HF_MS;

    while (watch->answers == 0 && hf_now() < end)
        player_turn(player, hf_poll_ms(hf_now(), end));
    return watch->answers == 1;
}

/* Start, get the first answer, and wait for changes. */
static void start_store_watch(struct player *player, struct watch *watch)
{
    struct request all;

    uint64_t id = enter(player, "first", MUTEX, &all); /* so that there is a store */
    assert_int_equal(leave(player, "first", id), 0);
    submit_store_watch(player, watch);
    assert_true(await_store_watch(player, watch, LIMIT));
    assert_int_equal(watch->status, 0);
    assert_int_equal(watch->changes, 0);
    assert_int_equal(list(player, NULL, &all), 0);
    submit_store_watch(player, watch);
    assert_int_equal(watch->answers, 0);
}

static void expect_change(struct player *player, const struct watch *watch,
                          const char *name)
{
    assert_true(await_store_watch(player, watch, LIMIT));
    assert_int_equal(watch->status, 0);
    assert_int_equal(watch->changes, 1);
    assert_string_equal(watch->name[0], name);
}

static void answer_names_only_changed_lines(void **state)
{
    struct player  watcher, player;
    struct watch   watch;
    struct request request;

    (void)state;
    player_open(&watcher);
    player_open(&player);
    enter(&player, "known", MUTEX, &request);
    uint64_t other = enter(&player, "quiet", MUTEX, &request);
    start_store_watch(&watcher, &watch);
    assert_int_equal(list(&player, "quiet", &request), 0);
    assert_true(request.seen[0].left == INT64_MAX);

    uint64_t id = enter(&player, "new", MUTEX, &request);
    expect_change(&watcher, &watch, "new");
    submit_store_watch(&watcher, &watch);
    assert_int_equal(leave(&player, "new", id), 0);
    expect_change(&watcher, &watch, "new"); /* though its place is gone */
    submit_store_watch(&watcher, &watch);

    /* Nothing is missed between two WATCH_STOREs. */
    id = enter(&player, "new", MUTEX, &request);
    expect_change(&watcher, &watch, "new");
    assert_int_equal(leave(&player, "new", id), 0);
    id = enter(&player, "moment", MUTEX, &request);
    assert_int_equal(leave(&player, "moment", id), 0);
    submit_store_watch(&watcher, &watch);
    assert_true(await_store_watch(&watcher, &watch, LIMIT));
    assert_int_equal(watch.changes, 2);
    assert_string_equal(watch.name[0], "moment");
    assert_string_equal(watch.name[1], "new");
    submit_store_watch(&watcher, &watch);
    assert_int_equal(leave(&player, "quiet", other), 0);
    expect_change(&watcher, &watch, "quiet");
    player_close(&player);
    player_close(&watcher);
}

static void hold_x(struct child *parent)
{
    struct player  player;
    struct request request;

    child_take(parent, &player, READER, &request);
    child_hear(parent, -1);
}

/* No waiter is behind it, so no other client would notice. */
static void death_is_reported_at_once(void **state)
{
    struct player  watcher;
    struct watch   watch;
    struct child   child;
    struct request all;

    (void)state;
    player_open(&watcher);
    start_store_watch(&watcher, &watch);
    child_start(&child, hold_x); /* it starts after the store watch */
    assert_true(child_hear(&child, LIMIT));
    expect_change(&watcher, &watch, "x");
    submit_store_watch(&watcher, &watch);
    child_kill(&child);
    hf_time killed = hf_now();
    expect_change(&watcher, &watch, "x");
    assert_true(hf_now() - killed < 900 * HF_MS); /* before the next check */
    assert_int_equal(list(&watcher, "x", &all), 0);
    assert_int_equal(all.count, 0);
    player_close(&watcher);
}

static void hold_a_line_of_its_own(struct child *parent)
{
    struct player  player;
    struct request request;
    char           name[32];

    snprintf(name, sizeof name, "%d", (int)getpid());
    player_open(&player);
    enter(&player, name, MUTEX, &request);
    must(is_granted(&request));
    child_say(parent);
    child_hear(parent, -1);
}

/* There are not enough descriptors to watch each of them. */
static void deaths_of_many_are_reported(void **state)
{
    enum { MANY = 80 };
    struct player watcher;
    struct watch  watch;
    struct child  child[MANY];
    struct rlimit old, few;
    size_t        reported = 0;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        child_start(&child[i], hold_a_line_of_its_own);
        assert_true(child_hear(&child[i], LIMIT));
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = old;
    few.rlim_cur = 256; /* a quarter of that is less than their number */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    player_open(&watcher);
    start_store_watch(&watcher, &watch);
    for (int i = 0; i < MANY; i++)
        child_kill(&child[i]);
    while (reported < MANY) {
        assert_true(await_store_watch(&watcher, &watch, LIMIT));
        if (watch.changes > 0)
            reported += watch.changes;
        else /* all lines may have changed: a child wrote after it had its place */
            reported = MANY - length(&watcher, NULL);
        submit_store_watch(&watcher, &watch);
    }
    assert_int_equal(length(&watcher, NULL), 0);
    player_close(&watcher);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

/* All lines may have changed: the answer has no names. */
static void expect_any_change(struct player *player, struct watch *watch)
{
    assert_true(await_store_watch(player, watch, LIMIT));
    assert_int_equal(watch->status, 0);
    assert_int_equal(watch->changes, 0);
    submit_store_watch(player, watch);
    assert_int_equal(watch->answers, 0);
}

/* A program that knows nothing of store watches changes a line. */
static void change_by_another_program_is_reported(void **state)
{
    struct temp_store *temp = *state;
    struct player      watcher;
    struct watch       watch;

    player_open(&watcher);
    start_store_watch(&watcher, &watch);
    temp_sql(temp,
             "INSERT INTO place VALUES ('x', 7, 7, 1, 1, 0, 1, 1, -1, 'old', 0, 0, 0)");
    expect_any_change(&watcher, &watch);
    player_close(&watcher);
}

static void keep_history(const struct temp_store *temp, int keep)
{
    char url[200], why[HF_ERRMSG_MAX];

    snprintf(url, sizeof url, "%s?history=%d", temp->url, keep);
    assert_int_equal(temp_try_open(url, why), 0);
}

static void changes_missing_in_the_history_are_reported(void **state)
{
    struct player  watcher, player;
    struct watch   watch;
    struct request request;

    player_open(&player);
    enter(&player, "x", MUTEX, &request);
    keep_history(*state, 10);
    player_open(&watcher);
    start_store_watch(&watcher, &watch);
    enter(&player, "y", MUTEX, &request);
    expect_change(&watcher, &watch, "y");
    for (int i = 0; i < 100; i++)
        assert_int_equal(leave(&player, "z", enter(&player, "z", MUTEX, &request)), 0);
    submit_store_watch(&watcher, &watch);
    expect_any_change(&watcher, &watch);

    keep_history(*state, 0);
    expect_any_change(&watcher, &watch);
    hf_time start = hf_now();
    enter(&player, "w", MUTEX, &request);
    expect_any_change(&watcher, &watch);
    assert_true(hf_now() - start < 900 * HF_MS);

    enter(&player, "u", MUTEX,
          &request); /* no entry is added for it, but for the next change */
    keep_history(*state, 10);
    enter(&player, "v", MUTEX, &request);
    expect_any_change(&watcher, &watch);
    player_close(&watcher);
    player_close(&player);
}

/* Another process has the write lock, so the row of a released place stays. */
static void release_without_the_write_lock_is_reported(void **state)
{
    struct temp_store *temp = *state;
    struct player      watcher, player;
    struct watch       watch;
    struct request     request;

    player_open(&watcher);
    player_open(&player);
    uint64_t id = enter(&player, "x", MUTEX, &request);
    start_store_watch(&watcher, &watch);
    int fd = take_write_lock(temp);
    assert_int_equal(leave(&player, "x", id), 0);
    expect_any_change(&watcher, &watch);
    assert_int_equal(length(&watcher, "x"), 0);
    close(fd);
    player_close(&player);
    player_close(&watcher);
}

/* The user has no inotify instance left. */
static void works_without_inotify(void **state)
{
    enum { MOST = 4096 };
    static int     fd[MOST];
    struct player  watcher, player;
    struct watch   watch;
    struct request request;
    int            count = 0;

    (void)state;
    player_open(&watcher);
    player_open(&player);
    while (count < MOST && (fd[count] = inotify_init1(IN_CLOEXEC)) >= 0)
        count++;
    start_store_watch(&watcher, &watch);
    while (count > 0)
        close(fd[--count]);
    enter(&player, "x", MUTEX, &request);
    expect_change(&watcher, &watch, "x");
    player_close(&player);
    player_close(&watcher);
}

static size_t count_open(void)
{
    size_t count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void store_watch_writes_nothing_and_ends(void **state)
{
    struct temp_store *temp = *state;
    struct player      watcher, player;
    struct watch       watch;
    struct request     request;

    player_open(&player);
    enter(&player, "x", MUTEX, &request);
    player_open(&watcher);
    submit_store_watch(&watcher, &watch);
    assert_true(await_store_watch(&watcher, &watch, LIMIT));
    assert_int_equal(count_files(temp_file(temp, "-wake")), 1); /* the player's */
    size_t before = count_open();
    submit_store_watch(&watcher, &watch);
    watcher.store->impl->cancel(watcher.store, &watch.req);
    assert_true(await_store_watch(&watcher, &watch, LIMIT));
    assert_int_equal(watch.status, HF_ECANCELED);
    assert_true(count_open() < before);

    submit_store_watch(&watcher, &watch); /* another one starts over */
    assert_true(await_store_watch(&watcher, &watch, LIMIT));
    assert_int_equal(watch.status, 0);
    assert_int_equal(watch.changes, 0);
    player_close(&watcher);
    player_close(&player);
}

/* It starts over when the files were replaced, and makes no files. */
static void replaced_files_are_reported(void **state)
{
    struct temp_store *temp = *state;
    struct player      watcher, player;
    struct watch       watch;
    struct request     request;

    player_open(&watcher);
    submit_store_watch(&watcher, &watch);
    assert_int_equal(watch.answers, 1);
    submit_store_watch(&watcher, &watch);
    assert_int_equal(watch.answers, 0);
    assert_false(temp_has(temp, ""));
    player_open(&player);
    uint64_t id = enter(&player, "x", MUTEX, &request);
    assert_true(await_store_watch(&watcher, &watch, LIMIT));
    assert_int_equal(watch.changes, 0);
    assert_int_equal(length(&watcher, "x"), 1);
    submit_store_watch(&watcher, &watch);
    assert_int_equal(leave(&player, "x", id), 0);
    player_close(&player);
    assert_true(await_store_watch(&watcher, &watch, LIMIT));
    submit_store_watch(&watcher, &watch);

    temp_unlink(temp, "");
    temp_unlink(temp, "-live");
    assert_true(await_store_watch(&watcher, &watch, LIMIT));
    assert_int_equal(watch.status, 0);
    assert_int_equal(watch.changes, 0);
    player_close(&watcher);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_setup, temp_teardown)
    const struct CMUnitTest tests[] = {
        TEST(answer_names_only_changed_lines),
        TEST(death_is_reported_at_once),
        TEST(deaths_of_many_are_reported),
        TEST(change_by_another_program_is_reported),
        TEST(changes_missing_in_the_history_are_reported),
        TEST(release_without_the_write_lock_is_reported),
        TEST(works_without_inotify),
        TEST(store_watch_writes_nothing_and_ends),
        TEST(replaced_files_are_reported),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
