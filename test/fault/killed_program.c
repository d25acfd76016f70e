/* killed_program.c - a program with HF_GUARDIAN dies, and the next has the lock long
 * before the lease is over.  A program that is stopped, has closed its descriptors, or
 * has a living child is not dead. */
/* needs zookeeper: standalone --tick 1000 */
/* needs redis: standalone */
/* needs postgres: standalone */
/* needs mariadb: standalone */
#include "lib/guardians.h"
#include "lib/killed_holder.h"
#include "lib/server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Waiting for the lease takes longer than SOON.  (A Redis server that was just started
 * grants nothing for as long.) */
#define LEASE    "8s"
#define SOON     (4 * HF_SEC)
#define QUIET_MS 700 /* how long nothing must happen */

static const char *url(void)
{
    static char text[256];

    if (getenv("HF_ZK") == NULL)
        return server_url("ttl=" LEASE);
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
    signal(SIGSEGV, SIG_DFL); /* without the sanitizer's handler */
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

/* In that process. */
static int               tongue; /* the test sees its end */
static struct hf_client *itself;

/* As a program does that becomes a daemon and does not know the library's descriptors. */
static void close_all_and_live(void)
{
    close_range(STDERR_FILENO + 1, ~0U, 0);
    for (;;)
        pause();
}

/* The new program may act under the lock. */
static void exec_and_live(void)
{
    fcntl(tongue, F_SETFD, FD_CLOEXEC);
    execl("/bin/sleep", "sleep", "1000", (char *)NULL);
}

/* It loses its connections, and cannot open others. */
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

/* Leaves a child behind, which lives until the leash is closed. */
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

/* The process inherits these. */
static void (*die)(void);
static int order[2]; /* to die */

static const char *program; /* of the guardian */

static struct hf_client *open_with_guardian(const char *where, unsigned flags)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;
    char              error[256] = "";

    options.flags = HF_GUARDIAN | flags;
    options.guardian = program;
    options.error = error;
    options.error_size = sizeof error;
    if (hf_open(where, &options, &client) != 0)
        fprintf(stderr, "hf_open: %s\n", error);
    return client;
}

static int hold_until_death(const char *name, int mouth)
{
    struct hf_client *client = open_with_guardian(url(), HF_NO_KEEPER);
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

/* ---- The next client ------------------------------------------------------------------------- */

static struct actor next;

static void queue(const char *name)
{
    actor_open_url(&next, url(), name);
    actor_start(&next);
    recipe_await_line(next.client, name, 2);
    assert_int_equal(hf_state(next.lock), HF_WAITING);
}

/* It has the lock soon after a death. */
static void assert_next_soon(hf_time death, const char *what)
{
    actor_await(&next, HF_HELD);
    print_message("# %s: replaced after %.1f ms\n", what,
                  (double)(next.held - death) / HF_MS);
    assert_true(next.held - death < SOON);
    actor_give(&next);
    actor_close(&next);
    guardians_await(0);
}

static void assert_nothing_happens(void)
{
    poll(NULL, 0, QUIET_MS);
    assert_int_equal(hf_state(next.lock), HF_WAITING);
    assert_int_equal(guardians_count(), 1);
}

/* ---- Deaths --------------------------------------------------------------------------- */

struct victim {
    pid_t pid;
    int   ear;
};

static struct victim start_victim(const char *name, void (*how)(void))
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

static void reap_victim(const struct victim *victim)
{
    assert_int_equal(waitpid(victim->pid, NULL, 0), victim->pid);
    close(victim->ear);
    close(order[0]);
    close(order[1]);
}

/* Kill it, and return when that was. */
static hf_time end_victim(const struct victim *victim)
{
    hf_time death = hf_now();

    assert_int_equal(write(order[1], "!", 1), 1);
    reap_victim(victim);
    return death;
}

static void test_the_next_is_granted_soon_however_a_program_dies(void **state)
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
        struct victim victim = start_victim(ways[i].name, ways[i].die);
        assert_next_soon(end_victim(&victim), ways[i].name);
    }
}

static void test_a_stopped_program_keeps_its_lock(void **state)
{
    struct victim victim = start_victim("stopped", die_of_sigkill);

    (void)state;
    kill(victim.pid, SIGSTOP);
    assert_nothing_happens();
    kill(victim.pid, SIGCONT);
    assert_nothing_happens();
    assert_next_soon(end_victim(&victim), "SIGKILL after SIGSTOP");
}

/* The child may act under the lock. */
static void test_a_program_with_a_living_child_keeps_its_lock(void **state)
{
    (void)state;
    assert_int_equal(pipe(leash), 0);
    struct victim victim = start_victim("child", die_with_a_child);
    end_victim(&victim);
    close(leash[0]);
    assert_nothing_happens();
    hf_time death = hf_now();
    close(leash[1]);
    assert_next_soon(death, "end of a child");
}

/* It lives on without descriptors. */
static void make_it_close_all(const struct victim *victim)
{
    struct pollfd on = { .fd = victim->ear, .events = POLLIN };

    assert_int_equal(write(order[1], "!", 1), 1);
    assert_int_equal(poll(&on, 1, ACTOR_LIMIT_MS), 1);
}

static void test_a_program_without_descriptors_keeps_its_lock(void **state)
{
    static void (*const ways[])(void) = { close_all_and_live, exec_and_live };

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct victim victim = start_victim("alive", ways[i]);
        make_it_close_all(&victim);
        assert_nothing_happens();
        hf_time death = hf_now();
        kill(victim.pid, SIGKILL);
        reap_victim(&victim);
        assert_next_soon(death, "SIGKILL without descriptors");
    }
}

/* The holder cannot reach the server, the guardian can. */
static void test_the_guardian_ends_a_session_that_hf_close_could_not(void **state)
{
    struct victim victim = start_victim("cut off", close_client_cut_off);

    (void)state;
    make_it_close_all(&victim);
    assert_next_soon(hf_now(), "hf_close() of one that is cut off");
    kill(victim.pid, SIGKILL);
    reap_victim(&victim);
}

/* ---- The guardian's own death ------------------------------------------------------------ */

/* A script in front of the guardian's program.  It leaves a file if it is started without
 * HF_TEST_SET=early. */
static char recorder[GUARDIANS_PATH_MAX];

static void make_recorder(void)
{
    char text[512];
    snprintf(text, sizeof text,
             "#!/bin/sh\n[ \"$HF_TEST_SET\" = early ] || touch \"$0.late\"\n"
             "exec '%.400s' \"$@\"\n",
             guardians_program());
    guardians_script(text, recorder);
}

static bool was_started_late(void)
{
    char path[160];

    snprintf(path, sizeof path, "%s.late", recorder);
    unlink(recorder);
    return unlink(path) == 0;
}

/* Until there is a session, and the guardian has its key. */
static struct hf_client *open_and_connect(void)
{
    struct hf_client   *client = open_with_guardian(server_url("ttl=60s"), 0);
    struct hf_findings *findings = NULL;

    assert_non_null(client);
    assert_int_equal(hf_doctor(client, NULL, ACTOR_LIMIT_MS, &findings), 0);
    hf_findings_free(findings);
    return client;
}

/* The new guardian has the environment of the time of hf_open(). */
static void test_a_guardian_that_is_killed_is_replaced(void **state)
{
    (void)state;
    make_recorder();
    program = recorder;
    setenv("HF_TEST_SET", "early", 1);
    struct hf_client *client = open_and_connect();
    setenv("HF_TEST_SET", "late", 1);
    kill(guardians_one(), SIGKILL);
    guardians_await(0);
    server_tell("restart");
    guardians_await(1); /* with the next connection */
    hf_close(client);
    guardians_await(0);
    program = guardians_program();
    assert_false(was_started_late());
}

/* It would retry for long on a server that does not answer. */
static void test_a_dismissed_guardian_does_not_connect(void **state)
{
    (void)state;
    struct hf_client *client = open_and_connect();
    pid_t             pid = guardians_one();
    kill(pid, SIGSTOP);
    hf_close(client);
    server_tell("freeze");
    kill(pid, SIGCONT);
    guardians_await(0);
    server_tell("thaw");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_next_is_granted_soon_however_a_program_dies),
        cmocka_unit_test(test_a_stopped_program_keeps_its_lock),
        cmocka_unit_test(test_a_program_with_a_living_child_keeps_its_lock),
        cmocka_unit_test(test_a_program_without_descriptors_keeps_its_lock),
        cmocka_unit_test(test_the_guardian_ends_a_session_that_hf_close_could_not),
    };
    const struct CMUnitTest tests_with_a_witness[] = {
        cmocka_unit_test(test_a_guardian_that_is_killed_is_replaced),
        cmocka_unit_test(test_a_dismissed_guardian_does_not_connect),
    };

    bool witness = getenv("HF_ZK") == NULL;
    if (witness)
        server_find();
    guardians_start();
    program = guardians_program();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (witness)
        failed += cmocka_run_group_tests(tests_with_a_witness, NULL, NULL);
    return failed;
}
