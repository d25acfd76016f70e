/* cuts.c - see cuts.h. */
#include "lib/cuts.h"

#include "lib/lock_round.h"
#include "lib/promise.h"
#include "lib/tcpproxy.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_MS 10000
#define SHARES   6

static const struct cuts *how;
static unsigned           share; /* ours */

static struct tcpproxy *proxy;

/* Both must have answered, or a connection for messages must be there. */
static bool has_settled(void)
{
    return !how->has_messages || (tcpproxy_open(proxy, TCPPROXY_MARKED) == 1 &&
                                  tcpproxy_open(proxy, TCPPROXY_PLAIN) == 1);
}

/* Connect first, so that only the scene's own bytes are counted. */
static void settle(struct lock_round *round)
{
    hf_time           end = hf_now() + LIMIT_MS * HF_MS;
    struct hf_report *report;

    int r = hf_inspect(round->a.client, "nothing", LIMIT_MS, &report);
    if (r != 0)
        fail_msg("inspect: %s: %s", hf_errname(r), hf_errmsg(round->a.client));
    hf_report_free(report);
    while (!has_settled()) {
        if (hf_now() > end)
            fail_msg("%u and %u connections after a while",
                     tcpproxy_open(proxy, TCPPROXY_PLAIN),
                     tcpproxy_open(proxy, TCPPROXY_MARKED));
        poll(NULL, 0, 1);
    }
}

static void open_scene(struct lock_round *round, const char *name)
{
    *round = (struct lock_round){ .limit_ms = 0 };
    snprintf(round->name, sizeof round->name, "cut-%s", name);
    actor_open_at(&round->a, tcpproxy_address(proxy), how->ttl_ms, round->name);
    actor_open(&round->b, how->ttl_ms, round->name);
}

static void close_scene(struct lock_round *round)
{
    tcpproxy_forget(proxy);
    lock_round_close(round);
}

/* ---- Cutting -------------------------------------------------------------------------- */

static uint64_t size_of(struct lock_round *round, lock_round_play *play,
                        enum tcpproxy_way way, enum tcpproxy_which which)
{
    uint64_t least = UINT64_MAX;
    int      sizes = 0;

    play(round); /* what happens only once */
    settle(round);
    /* A renewal may come in between; or nothing at all, if a client polls. */
    for (int i = 0; i < 15 && sizes < 3; i++) {
        uint64_t before = tcpproxy_bytes(proxy, way, which);
        play(round);
        uint64_t size = tcpproxy_bytes(proxy, way, which) - before;
        sizes += size > 0;
        if (size > 0 && size < least)
            least = size;
    }
    return sizes > 0 ? least : 0;
}

/* At every `step`th byte. */
static void cut_all(struct lock_round *round, lock_round_play *play,
                    enum tcpproxy_way way, enum tcpproxy_which which, uint64_t step)
{
    uint64_t size = size_of(round, play, way, which), struck = 0, cuts = 0;

    assert_true(size > 0);
    for (uint64_t at = 1 + share * step; at <= size; at += SHARES * step, cuts++) {
        settle(round);
        tcpproxy_cut(proxy, way, which, at);
        play(round);
        for (int i = 0; i < 5 && !how->has_messages && !tcpproxy_has_struck(proxy); i++)
            play(round); /* it may have been told on the other connection */
        struck += tcpproxy_has_struck(proxy);
        tcpproxy_forget(proxy);
    }
    print_message("# %s, %s: %u of %u cuts\n", round->name,
                  way == TCPPROXY_UP ? "up" : "down", (unsigned)struck, (unsigned)cuts);
    assert_true(struck + 2 >= cuts); /* an answer may be shorter the next time */
}

static void every_byte_to_the_server(void **state)
{
    static struct lock_round round;

    (void)state;
    open_scene(&round, "up");
    cut_all(&round, lock_round_alone, TCPPROXY_UP, TCPPROXY_PLAIN, 1);
    close_scene(&round);
}

static void every_byte_from_the_server(void **state)
{
    static struct lock_round round;

    (void)state;
    open_scene(&round, "down");
    cut_all(&round, lock_round_alone, TCPPROXY_DOWN, TCPPROXY_PLAIN, 1);
    close_scene(&round);
}

static void every_byte_of_a_hand_over(void **state)
{
    static struct lock_round round;

    (void)state;
    open_scene(&round, "over");
    cut_all(&round, lock_round_handed_over, TCPPROXY_UP, TCPPROXY_PLAIN, how->step_up);
    cut_all(&round, lock_round_handed_over, TCPPROXY_DOWN, TCPPROXY_PLAIN,
            how->step_down);
    close_scene(&round);
}

/* The other leaves when the client listens. */
static void told(struct lock_round *round)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;

    actor_take(&round->b);
    actor_queue(&round->a, 1);
    while (tcpproxy_open(proxy, TCPPROXY_MARKED) == 0 && hf_now() < end)
        poll(NULL, 0, 1);
    actor_give(&round->b);
    actor_await(&round->a, HF_HELD);
    lock_round_have_and_leave(round);
}

/* On the message connection. */
static void every_byte_of_a_message(void **state)
{
    static struct lock_round round;

    (void)state;
    open_scene(&round, "news");
    cut_all(&round, told, TCPPROXY_DOWN, TCPPROXY_MARKED, 1);
    close_scene(&round);
}

/* ---- Greetings ------------------------------------------------------------------------ */

static void come_back(struct lock_round *round)
{
    tcpproxy_drop(proxy, TCPPROXY_ALL);
    settle(round);
}

/* A holder keeps its lock, however often reconnecting is cut off. */
static void a_holder_is_cut_off_while_reconnecting(void **state)
{
    static struct lock_round round;

    (void)state;
    for (enum tcpproxy_way way = TCPPROXY_UP; way <= TCPPROXY_DOWN; way++) {
        open_scene(&round, "again");
        settle(&round);
        uint64_t before = tcpproxy_bytes(proxy, way, TCPPROXY_ALL);
        come_back(&round);
        uint64_t size = tcpproxy_bytes(proxy, way, TCPPROXY_ALL) - before;
        actor_take(&round.a);
        for (uint64_t at = share; at <= size; at += SHARES * (1 + size / 60)) {
            tcpproxy_cut(proxy, way, TCPPROXY_ALL, at);
            come_back(&round);
            assert_int_equal(hf_state(round.a.lock), HF_HELD);
            assert_int_equal(server_holders(round.name), 1);
            assert_int_equal(actor_acquire(&round.b, 0), HF_EBUSY);
        }
        lock_round_have_and_leave(&round);
        close_scene(&round);
    }
}

static void a_client_is_cut_off_while_first_connecting(void **state)
{
    static struct lock_round round;

    (void)state;
    for (enum tcpproxy_way way = TCPPROXY_UP; way <= TCPPROXY_DOWN; way++) {
        uint64_t before = tcpproxy_bytes(proxy, way, TCPPROXY_ALL);
        open_scene(&round, "first");
        lock_round_alone(&round);
        settle(&round);
        close_scene(&round);
        uint64_t size = tcpproxy_bytes(proxy, way, TCPPROXY_ALL) - before;
        for (uint64_t at = share; at <= size; at += SHARES * (1 + size / 40)) {
            tcpproxy_cut(proxy, way, TCPPROXY_ALL, at);
            open_scene(&round, "first");
            lock_round_alone(&round);
            close_scene(&round);
        }
    }
}

/* ---- Sharing the work ------------------------------------------------------------------ */

static int work(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_to_the_server),
        cmocka_unit_test(every_byte_from_the_server),
        cmocka_unit_test(every_byte_of_a_hand_over),
        cmocka_unit_test(every_byte_of_a_message),
        cmocka_unit_test(a_holder_is_cut_off_while_reconnecting),
        cmocka_unit_test(a_client_is_cut_off_while_first_connecting),
    };
    char prefix[16];

    snprintf(prefix, sizeof prefix, "cut-%u", share);
    how->use(prefix);
    proxy = tcpproxy_start(server_address(), how->word);
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    tcpproxy_stop(proxy);
    return status;
}

/* Its output goes to a file, and is printed in one piece. */
static pid_t start_worker(FILE *file)
{
    pid_t self = getpid(), pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != self)
        _exit(1);
    dup2(fileno(file), STDOUT_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    int status = work();
    fflush(NULL);
    _exit(status);
}

static void tell(FILE *file)
{
    char line[512];

    rewind(file);
    while (fgets(line, sizeof line, file) != NULL)
        fputs(line, stdout);
}

int cuts_run(const struct cuts *cuts)
{
    FILE *file[SHARES];
    pid_t pid[SHARES];
    int   failed = 0, status;

    how = cuts;
    server_find();
    for (share = 0; share < SHARES; share++) {
        file[share] = tmpfile();
        pid[share] = file[share] != NULL ? start_worker(file[share]) : -1;
    }
    for (share = 0; share < SHARES; share++) {
        if (pid[share] < 0 || waitpid(pid[share], &status, 0) < 0 || status != 0)
            failed++;
        tell(file[share]);
    }
    return failed;
}
