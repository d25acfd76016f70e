/* fence_crash.c - hf_fence_file() by many processes, which are killed at any moment.
 *
 *     fence_crash [SEED]
 */
/* one thread */
#include "unit/lib/fence_folder.h"

#include "holdfast.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES 6
#define ROUNDS    250 /* of each process */
#define KILLS     60

static unsigned seed;

/* Shared by all processes. */
static struct shared {
    _Atomic uint64_t claimed; /* the highest token that got through */
    atomic_int       inside;  /* who has the fence; 0: nobody */
    atomic_int       granted, refused;
    char             fault[200]; /* "": none */
} * shared;

/* What PATH.fence says, read as any user would: without the flock.  0: there is none. */
static uint64_t mark(void)
{
    char        rest = '\0', text[64];
    uint64_t    token = 0;
    const char *found = fence_read("data.fence");

    if (strcmp(found, "(none)") == 0)
        return 0;
    snprintf(text, sizeof text, "%s", found);
    if (sscanf(text, "%" SCNu64 "%c", &token, &rest) != 2 || rest != '\n' || token == 0)
        fail_msg("damaged: \"%s\"", text);
    return token;
}

/* ---- Many at once ------------------------------------------------------------ */

static void report(const char *what, uint64_t token)
{
    snprintf(shared->fault, sizeof shared->fault, "token %" PRIu64 " %s", token, what);
    _exit(1);
}

/* The fence is ours.  Whoever was killed in here is no longer inside. */
static void work_inside(uint64_t token)
{
    int before = atomic_exchange(&shared->inside, (int)getpid());

    if (before != 0 && kill(before, 0) == 0)
        report("got in beside another", token);
    if (atomic_load(&shared->claimed) > token)
        report("got in after a higher one", token);
    atomic_store(&shared->claimed, token);
    if (mark() != token)
        report("got in, and is not in the file", token);
    if (atomic_load(&shared->claimed) != token)
        report("was overtaken while it was inside", token);
    atomic_fetch_add(&shared->granted, 1);
    atomic_store(&shared->inside, 0);
}

/* Tokens near the highest one, above and below. */
static void claim_at_random(unsigned *random)
{
    uint64_t near = atomic_load(&shared->claimed) + 20;
    uint64_t token = near - (uint64_t)(rand_r(random) % (near < 40 ? (int)near : 40));
    char     said[512];

    int fd = hf_fence_file(fence_path("data"), token, -1, said, sizeof said);
    if (fd >= 0) {
        work_inside(token);
        close(fd);
    } else if (fd != HF_ELOST) {
        report(said, token);
    } else if (mark() <= token) {
        report("was refused, and is the highest", token);
    } else {
        atomic_fetch_add(&shared->refused, 1);
    }
}

static pid_t start_claimer(unsigned number)
{
    unsigned random = seed + number;

    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < ROUNDS; i++)
        claim_at_random(&random);
    _exit(0);
}

/* Kill one of them now and then, and start another in its place. */
static void kill_some(pid_t *claimers, unsigned *random)
{
    uint64_t highest = 0;

    for (unsigned i = 0; i < KILLS; i++) {
        unsigned        which = (unsigned)rand_r(random) % PROCESSES;
        struct timespec pause = { .tv_nsec = rand_r(random) % 4000000 };
        nanosleep(&pause, NULL);
        kill(claimers[which], SIGKILL);
        assert_int_equal(waitpid(claimers[which], NULL, 0), claimers[which]);
        uint64_t now = mark();
        assert_true(now >= highest);
        highest = now;
        claimers[which] = start_claimer(100 + i);
    }
}

static void test_no_stale_token_gets_through(void **state)
{
    pid_t    claimers[PROCESSES];
    unsigned random = seed;
    int      status, failed = 0;

    (void)state;
    memset(shared, 0, sizeof *shared);
    for (unsigned i = 0; i < PROCESSES; i++)
        claimers[i] = start_claimer(i);
    kill_some(claimers, &random);
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(waitpid(claimers[i], &status, 0), claimers[i]);
        failed += status != 0;
    }
    if (*shared->fault != '\0' || failed > 0)
        fail_msg("%s (seed %u)", shared->fault, seed);
    print_message("%d granted, %d refused\n", shared->granted, shared->refused);
    assert_true(shared->granted > ROUNDS && shared->refused > ROUNDS);
}

/* ---- Killed at every system call --------------------------------------------- */

/* In a child that is traced: claim, once the parent is ready. */
static pid_t start_traced(uint64_t token)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child > 0)
        return child;
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        _exit(77);
    raise(SIGSTOP);
    int fd = hf_fence_file(fence_path("data"), token, 0, NULL, 0);
    _exit(fd >= 0 ? 0 : 1);
}

/* Let it pass `stops` beginnings and ends of system calls, then kill it.  Returns false
 * if it ended before that. */
static bool kill_after(pid_t child, int stops)
{
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_true(WIFSTOPPED(status));
    for (int i = 0; i < stops; i++) {
        assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status)) {
            assert_int_equal(WEXITSTATUS(status), 0);
            return false;
        }
    }
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    return true;
}

static void assert_usable_after(uint64_t before, uint64_t token)
{
    uint64_t now = mark();

    if (now != before && now != token)
        fail_msg("token %" PRIu64 " came from nowhere", now);
    int fd = hf_fence_file(fence_path("data"), token + 1, 0, NULL, 0);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(mark(), token + 1);
    assert_int_equal(hf_fence_file(fence_path("data"), token, 0, NULL, 0), HF_ELOST);
}

/* From the very first claim, and from a later one. */
static void test_killed_at_every_system_call(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        bool killed = true;
        int  stops = 0;
        for (; killed && stops < 1000; stops++) {
            uint64_t token = first ? 7 : 10 * (uint64_t)stops + 10;
            if (first) {
                unlink(fence_path("data.fence"));
                unlink(fence_path("data.fence.lock"));
            }
            uint64_t before = mark();
            killed = kill_after(start_traced(token), stops);
            assert_usable_after(before, token);
        }
        assert_true(stops > 20 && stops < 1000);
        print_message("killed at %d places\n", stops);
    }
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? (unsigned)atoi(argv[1]) : (unsigned)getpid();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    printf("# seed %u\n", seed);

    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_stale_token_gets_through, fence_setup,
                                        fence_teardown),
        cmocka_unit_test_setup_teardown(test_killed_at_every_system_call, fence_setup,
                                        fence_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
