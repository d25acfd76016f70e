/* followers.c - waiters of one client that follow how many are ahead of them: a change of the
 * line costs each of them the same, however many there are. */
#include "lib/promise.h"

#include "holdfast.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/wake/wake.h"

#include <dlfcn.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define MOST     400
#define LIMIT_MS 20000

static long steps; /* rows and statements that SQLite was asked for */

/* Instead of SQLite's. */
int sqlite3_step(sqlite3_stmt *statement)
{
    static int (*real)(sqlite3_stmt *);

    if (real == NULL)
        real = (int (*)(sqlite3_stmt *))dlsym(RTLD_NEXT, "sqlite3_step");
    steps++;
    return real(statement);
}

struct queue {
    struct hf_client *client;
    struct hf_lock   *lock[MOST];
    size_t            count;
};

static char url[128];

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct hf_client *open_client(void)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client;

    options.flags = HF_NO_KEEPER;
    assert_int_equal(hf_open(url, &options, &client), 0);
    return client;
}

static void turn(struct hf_client *client)
{
    struct pollfd poll_fd = { .fd = hf_fd(client), .events = POLLIN };
    int           ms = hf_timeout_ms(client);

    poll(&poll_fd, 1, ms < 0 || ms > 20 ? 20 : ms);
    assert_int_equal(hf_process(client), 0);
}

/* The locks `from` and on are in a queue, with `first` places ahead of the first. */
static bool stands(const struct queue *queue, size_t from, int64_t first)
{
    for (size_t i = from; i < queue->count; i++)
        if (hf_ahead(queue->lock[i]) != first + (int64_t)(i - from))
            return false;
    return true;
}

static void await(struct queue *queue, size_t from, int64_t first)
{
    int64_t end = now_ms() + LIMIT_MS;

    while (!stands(queue, from, first) && now_ms() < end)
        turn(queue->client);
    assert_true(stands(queue, from, first));
}

/* `count` that follow, behind `ahead` places. */
static void join(struct queue *queue, const char *name, size_t count, int64_t ahead)
{
    *queue = (struct queue){ .client = open_client(), .count = count };
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(hf_mutex(queue->client, name, &queue->lock[i]), 0);
        assert_int_equal(hf_set_follow(queue->lock[i], true), 0);
        assert_int_equal(hf_acquire_start(queue->lock[i], -1), 0);
    }
    await(queue, 0, ahead);
}

/* How many steps it takes until all of them know that the holder has left. */
static long cost_of_departure(size_t count)
{
    struct hf_client *other = open_client();
    struct hf_lock   *holder;
    struct queue      queue;
    char              name[24];

    snprintf(name, sizeof name, "cost-%zu", count);
    assert_int_equal(hf_mutex(other, name, &holder), 0);
    assert_int_equal(hf_acquire(holder, LIMIT_MS), 0);
    join(&queue, name, count, 1);
    steps = 0;
    assert_int_equal(hf_release(holder), 0);
    await(&queue, 1, 1);
    long cost = steps;
    assert_int_equal(hf_state(queue.lock[0]), HF_HELD);
    hf_close(queue.client);
    hf_close(other);
    return cost;
}

static void test_a_departure_costs_each_follower_the_same(void **state)
{
    long few = cost_of_departure(MOST / 4), many = cost_of_departure(MOST);

    (void)state;
    print_message("# %ld steps for %d, %ld for %d\n", few, MOST / 4, many, MOST);
    assert_true(many < 8 * few); /* with the square it would be 16 times as many */
    assert_true(many < 40 * MOST);
}

static void test_followers_of_two_lines_do_not_disturb_each_other(void **state)
{
    struct hf_client *client = open_client();
    struct queue      queue[2] = { { .client = client, .count = 20 },
                                   { .client = client, .count = 20 } };

    (void)state;
    for (size_t i = 0; i < 20; i++) {
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(hf_mutex(client, k == 0 ? "left" : "right",
                                      &queue[k].lock[i]),
                             0);
            assert_int_equal(hf_set_follow(queue[k].lock[i], true), 0);
            assert_int_equal(hf_acquire_start(queue[k].lock[i], -1), 0);
        }
    }
    await(&queue[0], 0, 0);
    await(&queue[1], 0, 0);
    for (size_t k = 0; k < 2; k++) { /* the holder, and one from the middle */
        assert_int_equal(hf_release_start(queue[k].lock[0]), 0);
        hf_lock_free(queue[k].lock[5]);
        for (size_t i = 5; i + 1 < queue[k].count; i++)
            queue[k].lock[i] = queue[k].lock[i + 1];
        queue[k].count--;
    }
    await(&queue[0], 1, 0);
    await(&queue[1], 1, 0);
    hf_close(client);
}

/* A process that holds, or waits, and is killed. */
static pid_t start_process(const char *name, bool waits)
{
    int   ends[2];
    char  byte;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        struct hf_client *client;
        struct hf_lock   *lock;
        bool              fine =
            hf_open(url, NULL, &client) == 0 && hf_mutex(client, name, &lock) == 0;
        fine = fine && hf_acquire_start(lock, -1) == 0;
        while (fine && (waits ? hf_ahead(lock) <= 0 : hf_state(lock) != HF_HELD))
            poll(NULL, 0, 1);
        fine = fine && write(ends[1], "x", 1) == 1;
        pause();
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return pid;
}

static void kill_process(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Which wakes nobody: all followers notice. */
static void test_followers_notice_deaths_ahead(void **state)
{
    struct queue queue;
    pid_t        holder = start_process("deaths", false);
    pid_t        waiter = start_process("deaths", true);

    (void)state;
    join(&queue, "deaths", 30, 2);
    kill_process(waiter);
    await(&queue, 0, 1);
    assert_int_equal(hf_state(queue.lock[0]), HF_WAITING);
    kill_process(holder);
    await(&queue, 0, 0);
    assert_int_equal(hf_state(queue.lock[0]), HF_HELD);
    assert_int_equal(hf_state(queue.lock[1]), HF_WAITING);
    hf_close(queue.client);
}

/* A session in the line is checked when nobody happens to wait for it: an answer was just given.
 * Then nobody watches it, and the line is as it was. */
static void test_the_next_watch_watches_all_sessions_again(void **state)
{
    struct player  a, b;
    struct request held, waits, watching, again;

    (void)state;
    promise_use(url);
    player_open(&a);
    player_open(&b);
    enter(&a, "again", MUTEX, &held);
    enter(&b, "again", MUTEX, &waits);
    struct hf_sq *sq = (struct hf_sq *)b.store;
    follow(&b, "again", &waits, &watching);
    assert_false(player_await(&b, &watching, 10));
    assert_true(hf_sq_peers_next_check(sq) != HF_NEVER);
    b.store->impl->cancel(b.store, &watching.req);
    assert_true(player_await(&b, &watching, LIMIT_MS));
    hf_sq_peer_gone(sq, ((struct hf_sq *)a.store)->sid);
    assert_true(hf_sq_peers_next_check(sq) == HF_NEVER);
    follow(&b, "again", &waits, &again);
    assert_false(player_await(&b, &again, 10));
    assert_true(hf_sq_peers_next_check(sq) != HF_NEVER);
    player_close(&a);
    assert_true(player_await(&b, &again, LIMIT_MS));
    player_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_departure_costs_each_follower_the_same),
        cmocka_unit_test(test_followers_of_two_lines_do_not_disturb_each_other),
        cmocka_unit_test(test_followers_notice_deaths_ahead),
        cmocka_unit_test(test_the_next_watch_watches_all_sessions_again),
    };
    char folder[] = "/tmp/holdfast-followers.XXXXXX", command[128];

    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(url, sizeof url, "sqlite:%s/locks.db", folder);
    int r = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 ? r : 1;
}
