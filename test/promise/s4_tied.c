/* s4_tied.c - a session's places go when it dies, and not before. */
/* one thread */
#include "lib/promise.h"

#include "holdfast.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT 10000 /* ms */

static bool becomes_empty(struct player *player, const char *name)
{
    hf_time end = hf_now() + LIMIT * HF_MS;

    while (hf_now() < end) {
        if (length(player, name) == 0)
            return true;
        player_turn(player, 1);
    }
    return false;
}

static void close_removes_all_places_of_the_session(void **state)
{
    struct player  a, b;
    struct request request;

    (void)state;
    player_open(&a);
    player_open(&b);
    enter(&a, "close", MUTEX, &request);
    enter(&a, "close", MUTEX, &request);
    enter(&a, "close_too", READER, &request);
    enter(&b, "close_too", READER, &request);
    player_close(&a);
    assert_int_equal(length(&b, "close"), 0);
    assert_int_equal(length(&b, "close_too"), 1);
    player_close(&b);
}

static void places_of_other_sessions_stay(void **state)
{
    struct player  a, b, c;
    struct request request;

    (void)state;
    player_open(&a);
    player_open(&b);
    player_open(&c);
    enter(&a, "stay", MUTEX, &request);
    enter(&b, "stay", MUTEX, &request);
    enter(&c, "stay", MUTEX, &request);
    player_close(&b);
    assert_int_equal(length(&a, "stay"), 2);
    player_close(&a);
    uint64_t id = request.req.id;
    assert_int_equal(look(&c, "stay", id, &request), 0);
    assert_true(is_granted(&request));
    player_close(&c);
}

/* It leaves no weight behind. */
static void a_downgraded_place_is_removed_with_its_session(void **state)
{
    struct player  a, b, c;
    struct request request, waits;

    (void)state;
    player_open(&a);
    player_open(&b);
    player_open(&c);
    uint64_t id = enter(&a, "amended", semaphore(4, 4), &request);
    assert_int_equal(downgrade(&a, "amended", id, semaphore(4, 2), &request), 0);
    enter(&b, "amended", semaphore(4, 1), &request);
    assert_true(is_granted(&request));
    uint64_t last = enter(&c, "amended", semaphore(4, 3), &waits);
    assert_false(is_granted(&waits));
    player_close(&a);
    assert_int_equal(look(&c, "amended", last, &waits), 0);
    assert_true(is_granted(&waits));
    enter(&b, "amended", semaphore(4, 1), &request);
    assert_false(is_granted(&request));
    player_close(&b);
    player_close(&c);
}

/* ---- Processes --------------------------------------------------------------------- */

static void hold(struct child *parent)
{
    struct player  player;
    struct request request;

    player_open(&player);
    enter(&player, "process", MUTEX, &request);
    must(is_granted(&request));
    child_say(parent);
    while (!child_hear(parent, 0))
        player_turn(&player, 10);
    must(leave(&player, "process", request.req.id) == 0);
    player_close(&player);
}

static void places_of_a_killed_process_are_removed(void **state)
{
    struct player  a;
    struct child   child;
    struct request request;

    (void)state;
    if (!promise_is_shared())
        skip();
    player_open(&a);
    child_start(&child, hold);
    assert_true(child_hear(&child, LIMIT));
    assert_int_equal(length(&a, "process"), 1);
    child_kill(&child);
    assert_true(becomes_empty(&a, "process"));
    enter(&a, "process", MUTEX, &request);
    assert_true(is_granted(&request));
    player_close(&a);
}

static void places_of_a_stopped_process_stay_for_its_lease(void **state)
{
    struct player  a;
    struct child   child;
    struct request request;

    (void)state;
    if (!promise_is_shared())
        skip();
    player_open(&a);
    child_start(&child, hold);
    assert_true(child_hear(&child, LIMIT));
    kill(child.pid, SIGSTOP);
    enter(&a, "process", MUTEX, &request);
    assert_false(is_granted(&request));

    hf_time  end = hf_now() + 300 * HF_MS; /* the ttl is 2 s */
    uint64_t id = request.req.id;
    while (hf_now() < end) {
        assert_int_equal(look(&a, "process", id, &request), 0);
        assert_false(is_granted(&request));
        player_turn(&a, 10);
    }
    kill(child.pid, SIGCONT);
    child_end(&child); /* its LEAVE succeeds */
    assert_int_equal(look(&a, "process", id, &request), 0);
    assert_true(is_granted(&request));
    player_close(&a);
}

/* ---- Children of the holder ---------------------------------------------------- */

/* Says a word when it holds; its own child lives on until the pipe closes. */
static void hold_and_fork(struct child *parent, bool exec)
{
    struct player  player;
    struct request request;

    player_open(&player);
    enter(&player, "offspring", MUTEX, &request);
    must(is_granted(&request));
    pid_t pid = fork();
    must(pid >= 0);
    if (pid == 0) {
        if (exec) {
            dup2(parent->talk, STDIN_FILENO);
            execlp("cat", "cat", (char *)NULL);
            _exit(127);
        }
        child_hear(parent, -1);
        _exit(0);
    }
    child_say(parent);
    pause();
}

static void hold_and_only_fork(struct child *parent)
{
    hold_and_fork(parent, false);
}

static void hold_and_exec(struct child *parent)
{
    hold_and_fork(parent, true);
}

static void check_offspring(void (*body)(struct child *))
{
    struct player  a;
    struct child   child;
    struct request request;

    player_open(&a);
    child_start(&child, body);
    assert_true(child_hear(&child, LIMIT));
    kill(child.pid, SIGKILL);
    assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
    assert_true(becomes_empty(&a, "offspring")); /* though the grandchild lives */
    enter(&a, "offspring", MUTEX, &request);
    assert_true(is_granted(&request));
    player_close(&a);
    close(child.talk); /* the grandchild ends */
    while (waitpid(-1, NULL, 0) > 0)
        continue;
}

/* Become the parent of orphans, so that no grandchild is left behind. */
static int adopt(void **state)
{
    (void)state;
    return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void a_forked_child_keeps_no_place_of_its_parent(void **state)
{
    (void)state;
    if (!promise_is_shared())
        skip();
    check_offspring(hold_and_only_fork);
}

static void a_child_that_execs_keeps_no_place_of_its_parent(void **state)
{
    (void)state;
    if (!promise_is_shared())
        skip();
    check_offspring(hold_and_exec);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_removes_all_places_of_the_session),
        cmocka_unit_test(places_of_other_sessions_stay),
        cmocka_unit_test(a_downgraded_place_is_removed_with_its_session),
        cmocka_unit_test(places_of_a_killed_process_are_removed),
        cmocka_unit_test(places_of_a_stopped_process_stay_for_its_lease),
        cmocka_unit_test_setup(a_forked_child_keeps_no_place_of_its_parent, adopt),
        cmocka_unit_test_setup(a_child_that_execs_keeps_no_place_of_its_parent, adopt),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
