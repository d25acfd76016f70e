/* cut.c - the connection is cut at every byte of an acquire and a release, each way; then
 * in the middle of a hand-over and of its message; then in the middle of greetings.
 *
 * What must be true whatever is lost: see lib/scene.h.  Mostly it is waiting until the next
 * try to connect: so some processes share the work, each in a namespace of its own.
 */
/* needs: standalone */
#include "lib/promise.h"
#include "lib/scene.h"
#include "lib/tcpproxy.h"
#include "lib/witness_redis.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TTL_MS   2000 /* so long that no cut ends a session */
#define LIMIT_MS 10000
#define SHARES   6

static unsigned share; /* ours */

static struct tcpproxy *proxy;

/* Connected, both ways, so that what is counted is the scene's alone. */
static void settle(struct scene *scene)
{
    hf_time           end = hf_now() + LIMIT_MS * HF_MS;
    struct hf_report *report;

    int r = hf_inspect(scene->a.client, "nothing", LIMIT_MS, &report);
    if (r != 0)
        fail_msg("inspect: %s: %s", hf_errname(r), hf_errmsg(scene->a.client));
    hf_report_free(report);
    while (tcpproxy_open(proxy, TCPPROXY_MARKED) != 1 ||
           tcpproxy_open(proxy, TCPPROXY_PLAIN) != 1) {
        if (hf_now() > end)
            fail_msg("%u and %u connections after a while",
                     tcpproxy_open(proxy, TCPPROXY_PLAIN),
                     tcpproxy_open(proxy, TCPPROXY_MARKED));
        poll(NULL, 0, 1);
    }
}

static void open_scene(struct scene *scene, const char *name)
{
    *scene = (struct scene){ .limit_ms = 0 };
    snprintf(scene->name, sizeof scene->name, "cut-%s", name);
    actor_open_at(&scene->a, tcpproxy_address(proxy), TTL_MS, scene->name);
    actor_open(&scene->b, TTL_MS, scene->name);
}

static void close_scene(struct scene *scene)
{
    tcpproxy_forget(proxy);
    scene_close(scene);
}

/* ---- Cutting -------------------------------------------------------------------------- */

static uint64_t size_of(struct scene *scene, scene_play *play, enum tcpproxy_way way,
                        enum tcpproxy_which which)
{
    play(scene); /* all that comes once only */
    settle(scene);
    uint64_t before = tcpproxy_bytes(proxy, way, which);
    play(scene);
    return tcpproxy_bytes(proxy, way, which) - before;
}

/* At every `step`th byte. */
static void cut_all(struct scene *scene, scene_play *play, enum tcpproxy_way way,
                    enum tcpproxy_which which, uint64_t step)
{
    uint64_t size = size_of(scene, play, way, which), struck = 0, cuts = 0;

    assert_true(size > 0);
    for (uint64_t at = 1 + share * step; at <= size; at += SHARES * step, cuts++) {
        settle(scene);
        tcpproxy_cut(proxy, way, which, at);
        play(scene);
        struck += tcpproxy_has_struck(proxy);
        tcpproxy_forget(proxy);
    }
    print_message("# %s, %s: %u of %u cuts\n", scene->name,
                  way == TCPPROXY_UP ? "up" : "down", (unsigned)struck, (unsigned)cuts);
    assert_true(struck + 2 >= cuts); /* a renewal may be among what was counted */
}

static void every_byte_to_the_server(void **state)
{
    static struct scene scene;

    (void)state;
    open_scene(&scene, "up");
    cut_all(&scene, scene_alone, TCPPROXY_UP, TCPPROXY_PLAIN, 1);
    close_scene(&scene);
}

static void every_byte_from_the_server(void **state)
{
    static struct scene scene;

    (void)state;
    open_scene(&scene, "down");
    cut_all(&scene, scene_alone, TCPPROXY_DOWN, TCPPROXY_PLAIN, 1);
    close_scene(&scene);
}

static void hand_overs(void **state)
{
    static struct scene scene;

    (void)state;
    open_scene(&scene, "over");
    cut_all(&scene, scene_handed_over, TCPPROXY_UP, TCPPROXY_PLAIN, 13);
    cut_all(&scene, scene_handed_over, TCPPROXY_DOWN, TCPPROXY_PLAIN, 3);
    close_scene(&scene);
}

/* On the connection by which the server tells of a grant. */
static void every_byte_of_a_message(void **state)
{
    static struct scene scene;

    (void)state;
    open_scene(&scene, "news");
    cut_all(&scene, scene_handed_over, TCPPROXY_DOWN, TCPPROXY_MARKED, 1);
    close_scene(&scene);
}

/* ---- Greetings ------------------------------------------------------------------------ */

static void come_back(struct scene *scene)
{
    tcpproxy_drop(proxy, TCPPROXY_ALL);
    settle(scene);
}

/* What is held stays held, however often the way back is cut. */
static void while_greeting_again(void **state)
{
    static struct scene scene;

    (void)state;
    for (enum tcpproxy_way way = TCPPROXY_UP; way <= TCPPROXY_DOWN; way++) {
        open_scene(&scene, "again");
        settle(&scene);
        uint64_t before = tcpproxy_bytes(proxy, way, TCPPROXY_ALL);
        come_back(&scene);
        uint64_t size = tcpproxy_bytes(proxy, way, TCPPROXY_ALL) - before;
        actor_take(&scene.a);
        for (uint64_t at = share; at <= size; at += SHARES * (1 + size / 60)) {
            tcpproxy_cut(proxy, way, TCPPROXY_ALL, at);
            come_back(&scene);
            assert_int_equal(hf_state(scene.a.lock), HF_HELD);
            assert_int_equal(witness_holders(scene.name), 1);
            assert_int_equal(hf_acquire(scene.b.lock, 0), HF_EBUSY);
        }
        scene_have_and_leave(&scene);
        close_scene(&scene);
    }
}

static void while_connecting_first(void **state)
{
    static struct scene scene;

    (void)state;
    for (enum tcpproxy_way way = TCPPROXY_UP; way <= TCPPROXY_DOWN; way++) {
        uint64_t before = tcpproxy_bytes(proxy, way, TCPPROXY_ALL);
        open_scene(&scene, "first");
        scene_alone(&scene);
        settle(&scene);
        close_scene(&scene);
        uint64_t size = tcpproxy_bytes(proxy, way, TCPPROXY_ALL) - before;
        for (uint64_t at = share; at <= size; at += SHARES * (1 + size / 40)) {
            tcpproxy_cut(proxy, way, TCPPROXY_ALL, at);
            open_scene(&scene, "first");
            scene_alone(&scene);
            close_scene(&scene);
        }
    }
}

/* ---- Sharing the work ------------------------------------------------------------------ */

static int work(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_to_the_server),
        cmocka_unit_test(every_byte_from_the_server),
        cmocka_unit_test(hand_overs),
        cmocka_unit_test(every_byte_of_a_message),
        cmocka_unit_test(while_greeting_again),
        cmocka_unit_test(while_connecting_first),
    };
    char prefix[16];

    snprintf(prefix, sizeof prefix, "cut-%u", share);
    redis_use(prefix);
    proxy = tcpproxy_start(witness_server(), "SUBSCRIBE");
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    tcpproxy_stop(proxy);
    return status;
}

/* What it says goes to a file, to be told in one piece. */
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

int main(void)
{
    FILE *file[SHARES];
    pid_t pid[SHARES];
    int   failed = 0, status;

    witness_start();
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
