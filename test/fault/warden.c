/* warden.c - a program with HF_WARDEN dies in one way or another: the next has the lock long
 * before the lease is over.  One that is stopped, that has closed its descriptors, or whose
 * child lives, is not dead.
 */
/* needs zk: standalone --tick 1000 */
/* needs redis: standalone */
/* needs postgres: standalone */
#include "lib/doomed.h"
#include "lib/wardens.h"
#include "lib/witness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whoever has to wait for the lease waits longer than SOON.  (A Redis server that has just been
 * started grants nothing for as long.) */
#define LEASE    "8s"
#define SOON     (4 * HF_SEC)
#define QUIET_MS 700 /* so long nothing happens */

static const char *url(void)
{
    static char text[256];

    if (getenv("HF_ZK") == NULL)
        return witness_url("ttl=" LEASE);
    snprintf(text, sizeof text, "zk://%s?session=" LEASE, getenv("HF_ZK"));
    return text;
}

/* ---- The program that dies ----------------------------------------------------------- */

static void die_of_sigkill(void)
{
    kill(getpid(), SIGKILL);
}

static void die_of_sigsegv(void)
{
    signal(SIGSEGV, SIG_DFL); /* not a sanitizer's affair */
    raise(SIGSEGV);
}

static void die_of_abort(void)
{
    signal(SIGABRT, SIG_DFL);
    abort();
}

static void die_of_exit(void)
{
    _exit(3);
}

/* Of the process. */
static int               tongue; /* its end is seen */
static struct hf_client *itself;

/* It knows nothing of the library's descriptors, as who makes himself a daemon. */
static void close_all_and_live(void)
{
    close_range(STDERR_FILENO + 1, ~0U, 0);
    for (;;)
        pause();
}

/* The command may act under the lock. */
static void become_another(void)
{
    fcntl(tongue, F_SETFD, FD_CLOEXEC);
    execl("/bin/sleep", "sleep", "1000", (char *)NULL);
}

/* It loses its connections, and can make no other. */
static void close_client_cut_off(void)
{
    int domain;

    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0 });
    for (int fd = STDERR_FILENO + 1; fd < 256; fd++)
        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain,
                       &(socklen_t){ sizeof domain }) == 0 &&
            domain == AF_INET)
            shutdown(fd, SHUT_RDWR);
    hf_close(itself);
    close_all_and_live();
}

/* Leaves a child behind, which lives until it is let go. */
static int leash[2];

static void die_with_a_child(void)
{
    if (fork() == 0) {
        char byte;
        close(leash[1]);
        while (read(leash[0], &byte, 1) > 0)
            continue;
        _exit(0);
    }
    die_of_sigkill();
}

/* Handed to the process by being inherited. */
static void (*die)(void);
static int order[2]; /* to die */

static const char *program; /* of the warden */

static struct hf_client *open_with_warden(const char *where, unsigned flags)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;
    char              error[256] = "";

    options.flags = HF_WARDEN | flags;
    options.warden = program;
    options.error = error;
    options.error_size = sizeof error;
    if (hf_open(where, &options, &client) != 0)
        fprintf(stderr, "hf_open: %s\n", error);
    return client;
}

static int hold_until_death(const char *name, int mouth)
{
    struct hf_client *client = open_with_warden(url(), HF_NO_KEEPER);
    struct hf_lock   *lock = NULL;

    tongue = mouth;
    itself = client;
    if (client == NULL || hf_mutex(client, name, &lock) != 0 ||
        hf_acquire(lock, ACTOR_LIMIT_MS) != 0 || write(mouth, "h", 1) != 1)
        return 1;
    for (;;) {
        struct pollfd on[] = { { .fd = hf_fd(client), .events = POLLIN },
                               { .fd = order[0], .events = POLLIN } };
        poll(on, 2, hf_timeout_ms(client));
        (void)hf_process(client);
        if (hf_state(lock) != HF_HELD)
            return 1;
        if (on[1].revents != 0)
            die();
    }
}

/* ---- The next ------------------------------------------------------------------------- */

static struct actor next;

static void queue(const char *name)
{
    actor_open_url(&next, url(), name);
    assert_int_equal(hf_acquire_start(next.lock, ACTOR_LIMIT_MS), 0);
    recipe_await_line(next.client, name, 2);
    assert_int_equal(hf_state(next.lock), HF_WAITING);
}

/* It has the lock soon after somebody's death. */
static void is_next_soon(hf_time death, const char *what)
{
    actor_await(&next, HF_HELD);
    print_message("# %s: replaced after %.1f ms\n", what,
                  (double)(next.held - death) / HF_MS);
    assert_true(next.held - death < SOON);
    actor_give(&next);
    actor_close(&next);
    wardens_await(0);
}

static void nothing_happens(void)
{
    poll(NULL, 0, QUIET_MS);
    assert_int_equal(hf_state(next.lock), HF_WAITING);
    assert_int_equal(wardens_count(), 1);
}

/* ---- Deaths --------------------------------------------------------------------------- */

struct victim {
    pid_t pid;
    int   ear;
};

static struct victim doom(const char *name, void (*how)(void))
{
    struct victim victim;
    char          byte = 0;

    die = how;
    assert_int_equal(pipe(order), 0);
    victim.pid = recipe_fork(hold_until_death, name, &victim.ear);
    struct pollfd on = { .fd = victim.ear, .events = POLLIN };
    assert_int_equal(poll(&on, 1, ACTOR_LIMIT_MS), 1);
    assert_int_equal(read(victim.ear, &byte, 1), 1);
    queue(name);
    return victim;
}

static void bury(const struct victim *victim)
{
    assert_int_equal(waitpid(victim->pid, NULL, 0), victim->pid);
    close(victim->ear);
    close(order[0]);
    close(order[1]);
}

/* Returns when that was; it is dead then. */
static hf_time end_victim(const struct victim *victim)
{
    hf_time death = hf_now();

    assert_int_equal(write(order[1], "!", 1), 1);
    bury(victim);
    return death;
}

static void test_whatever_it_dies_of_it_is_replaced(void **state)
{
    static const struct {
        const char *name;
        void (*die)(void);
    } ways[] = {
        { "SIGKILL", die_of_sigkill },
        { "SIGSEGV", die_of_sigsegv },
        { "abort", die_of_abort },
        { "exit", die_of_exit },
    };

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct victim victim = doom(ways[i].name, ways[i].die);
        is_next_soon(end_victim(&victim), ways[i].name);
    }
}

static void test_one_that_is_stopped_is_not_dead(void **state)
{
    struct victim victim = doom("stopped", die_of_sigkill);

    (void)state;
    kill(victim.pid, SIGSTOP);
    nothing_happens();
    kill(victim.pid, SIGCONT);
    nothing_happens();
    is_next_soon(end_victim(&victim), "SIGKILL after SIGSTOP");
}

/* The child may act under the lock. */
static void test_one_whose_child_lives_is_not_dead(void **state)
{
    (void)state;
    assert_int_equal(pipe(leash), 0);
    struct victim victim = doom("child", die_with_a_child);
    end_victim(&victim);
    close(leash[0]);
    nothing_happens();
    hf_time death = hf_now();
    close(leash[1]);
    is_next_soon(death, "end of a child");
}

/* It lives, and has no descriptor any more. */
static void make_it_mute(const struct victim *victim)
{
    struct pollfd on = { .fd = victim->ear, .events = POLLIN };

    assert_int_equal(write(order[1], "!", 1), 1);
    assert_int_equal(poll(&on, 1, ACTOR_LIMIT_MS), 1);
}

static void test_one_without_descriptors_is_not_dead(void **state)
{
    static void (*const ways[])(void) = { close_all_and_live, become_another };

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct victim victim = doom("alive", ways[i]);
        make_it_mute(&victim);
        nothing_happens();
        hf_time death = hf_now();
        kill(victim.pid, SIGKILL);
        bury(&victim);
        is_next_soon(death, "SIGKILL without descriptors");
    }
}

/* hf_close() of a holder that cannot reach the server: the warden can. */
static void test_what_hf_close_could_not_tell_is_told(void **state)
{
    struct victim victim = doom("cut off", close_client_cut_off);

    (void)state;
    make_it_mute(&victim);
    is_next_soon(hf_now(), "hf_close() of one that is cut off");
    kill(victim.pid, SIGKILL);
    bury(&victim);
}

/* ---- The warden's own death ------------------------------------------------------------ */

/* Stands before the command as the warden's program: leaves a file if it is not started with
 * HF_TEST_SET=early. */
static char teller[WARDENS_PATH_MAX];

static void make_teller(void)
{
    char text[512];
    snprintf(text, sizeof text,
             "#!/bin/sh\n[ \"$HF_TEST_SET\" = early ] || touch \"$0.late\"\n"
             "exec '%.400s' \"$@\"\n",
             wardens_program());
    wardens_script(text, teller);
}

static bool has_told(void)
{
    char path[160];

    snprintf(path, sizeof path, "%s.late", teller);
    unlink(teller);
    return unlink(path) == 0;
}

/* With a session, and the warden has its will. */
static struct hf_client *open_and_reach(void)
{
    struct hf_client   *client = open_with_warden(witness_url("ttl=60s"), 0);
    struct hf_findings *findings = NULL;

    assert_non_null(client);
    assert_int_equal(hf_doctor(client, NULL, ACTOR_LIMIT_MS, &findings), 0);
    hf_findings_free(findings);
    return client;
}

/* The other has the environment that there was in hf_open(). */
static void test_a_warden_that_is_killed_is_replaced(void **state)
{
    (void)state;
    make_teller();
    program = teller;
    setenv("HF_TEST_SET", "early", 1);
    struct hf_client *client = open_and_reach();
    setenv("HF_TEST_SET", "late", 1);
    kill(wardens_one(), SIGKILL);
    wardens_await(0);
    witness_tell("restart");
    wardens_await(1); /* with the next connection */
    hf_close(client);
    wardens_await(0);
    program = wardens_program();
    assert_false(has_told());
}

/* It would try for long to reach a server that does not answer. */
static void test_one_that_is_dismissed_asks_nothing_of_the_server(void **state)
{
    (void)state;
    struct hf_client *client = open_and_reach();
    pid_t             pid = wardens_one();
    kill(pid, SIGSTOP);
    hf_close(client);
    witness_tell("freeze");
    kill(pid, SIGCONT);
    wardens_await(0);
    witness_tell("thaw");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whatever_it_dies_of_it_is_replaced),
        cmocka_unit_test(test_one_that_is_stopped_is_not_dead),
        cmocka_unit_test(test_one_whose_child_lives_is_not_dead),
        cmocka_unit_test(test_one_without_descriptors_is_not_dead),
        cmocka_unit_test(test_what_hf_close_could_not_tell_is_told),
    };
    const struct CMUnitTest tests_with_a_witness[] = {
        cmocka_unit_test(test_a_warden_that_is_killed_is_replaced),
        cmocka_unit_test(test_one_that_is_dismissed_asks_nothing_of_the_server),
    };

    bool witness = getenv("HF_ZK") == NULL;
    if (witness)
        witness_start();
    wardens_start();
    program = wardens_program();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (witness)
        failed += cmocka_run_group_tests(tests_with_a_witness, NULL, NULL);
    return failed;
}
