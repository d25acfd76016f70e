/* s4_tied.c - a session's tickets go when it dies, and not before. */
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

static void close_gives_everything_up(void **state)
{
    struct player a, b;
    struct ask    ask;

    (void)state;
    player_open(&a);
    player_open(&b);
    enter(&a, "close", MUTEX, &ask);
    enter(&a, "close", MUTEX, &ask);
    enter(&a, "close_too", READER, &ask);
    enter(&b, "close_too", READER, &ask);
    player_close(&a);
    assert_int_equal(length(&b, "close"), 0);
    assert_int_equal(length(&b, "close_too"), 1);
    player_close(&b);
}

static void the_others_stay(void **state)
{
    struct player a, b, c;
    struct ask    ask;

    (void)state;
    player_open(&a);
    player_open(&b);
    player_open(&c);
    enter(&a, "stay", MUTEX, &ask);
    enter(&b, "stay", MUTEX, &ask);
    enter(&c, "stay", MUTEX, &ask);
    player_close(&b);
    assert_int_equal(length(&a, "stay"), 2);
    player_close(&a);
    uint64_t id = ask.req.id;
    assert_int_equal(look(&c, "stay", id, &ask), 0);
    assert_true(is_granted(&ask));
    player_close(&c);
}

/* What shrank goes as it is, and leaves no weight behind. */
static void an_amended_place_goes_too(void **state)
{
    struct player a, b, c;
    struct ask    ask, waits;

    (void)state;
    player_open(&a);
    player_open(&b);
    player_open(&c);
    uint64_t id = enter(&a, "amended", semaphore(4, 4), &ask);
    assert_int_equal(amend(&a, "amended", id, semaphore(4, 2), &ask), 0);
    enter(&b, "amended", semaphore(4, 1), &ask);
    assert_true(is_granted(&ask));
    uint64_t last = enter(&c, "amended", semaphore(4, 3), &waits);
    assert_false(is_granted(&waits));
    player_close(&a);
    assert_int_equal(look(&c, "amended", last, &waits), 0);
    assert_true(is_granted(&waits));
    enter(&b, "amended", semaphore(4, 1), &ask);
    assert_false(is_granted(&ask));
    player_close(&b);
    player_close(&c);
}

/* ---- Processes --------------------------------------------------------------------- */

static void hold(struct child *parent)
{
    struct player player;
    struct ask    ask;

    player_open(&player);
    enter(&player, "process", MUTEX, &ask);
    must(is_granted(&ask));
    child_say(parent);
    while (!child_hear(parent, 0))
        player_turn(&player, 10);
    must(leave(&player, "process", ask.req.id) == 0);
    player_close(&player);
}

static void a_killed_process_is_gone(void **state)
{
    struct player a;
    struct child  child;
    struct ask    ask;

    (void)state;
    if (!promise_is_shared())
        skip();
    player_open(&a);
    child_start(&child, hold);
    assert_true(child_hear(&child, LIMIT));
    assert_int_equal(length(&a, "process"), 1);
    child_kill(&child);
    assert_true(becomes_empty(&a, "process"));
    enter(&a, "process", MUTEX, &ask);
    assert_true(is_granted(&ask));
    player_close(&a);
}

/* Stopped for less than it said it would live: nobody may take its place. */
static void a_stopped_process_is_not(void **state)
{
    struct player a;
    struct child  child;
    struct ask    ask;

    (void)state;
    if (!promise_is_shared())
        skip();
    player_open(&a);
    child_start(&child, hold);
    assert_true(child_hear(&child, LIMIT));
    kill(child.pid, SIGSTOP);
    enter(&a, "process", MUTEX, &ask);
    assert_false(is_granted(&ask));

    hf_time  end = hf_now() + 300 * HF_MS; /* the ttl is 2 s */
    uint64_t id = ask.req.id;
    while (hf_now() < end) {
        assert_int_equal(look(&a, "process", id, &ask), 0);
        assert_false(is_granted(&ask));
        player_turn(&a, 10);
    }
    kill(child.pid, SIGCONT);
    child_end(&child); /* it can release what it held to the end */
    assert_int_equal(look(&a, "process", id, &ask), 0);
    assert_true(is_granted(&ask));
    player_close(&a);
}

/* ---- Children of the holder --------------------------------------------------------- */

/* Says one word when it holds; its own child lives on until the pipe closes. */
static void hold_and_fork(struct child *parent, bool exec)
{
    struct player player;
    struct ask    ask;

    player_open(&player);
    enter(&player, "offspring", MUTEX, &ask);
    must(is_granted(&ask));
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
    struct player a;
    struct child  child;
    struct ask    ask;

    player_open(&a);
    child_start(&child, body);
    assert_true(child_hear(&child, LIMIT));
    kill(child.pid, SIGKILL);
    assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
    assert_true(becomes_empty(&a, "offspring")); /* though the grandchild lives */
    enter(&a, "offspring", MUTEX, &ask);
    assert_true(is_granted(&ask));
    player_close(&a);
    close(child.talk); /* now it goes */
    while (waitpid(-1, NULL, 0) > 0)
        continue;
}

/* So that grandchildren come to us, and none is left behind. */
static int adopt(void **state)
{
    (void)state;
    return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void a_forked_child_keeps_nothing(void **state)
{
    (void)state;
    if (!promise_is_shared())
        skip();
    check_offspring(hold_and_only_fork);
}

static void nor_does_one_that_runs_another_program(void **state)
{
    (void)state;
    if (!promise_is_shared())
        skip();
    check_offspring(hold_and_exec);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_gives_everything_up),
        cmocka_unit_test(the_others_stay),
        cmocka_unit_test(an_amended_place_goes_too),
        cmocka_unit_test(a_killed_process_is_gone),
        cmocka_unit_test(a_stopped_process_is_not),
        cmocka_unit_test_setup(a_forked_child_keeps_nothing, adopt),
        cmocka_unit_test_setup(nor_does_one_that_runs_another_program, adopt),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
