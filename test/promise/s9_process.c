/* s9_process.c - a will is executed by another process, as after its owner's death. */
/* one thread */
#include "lib/testament.h"

#include "holdfast.h"

#include <sys/socket.h>

#define LIMIT 20000 /* ms, for what must come: machines are slow */
#define LONG  60000 /* a ttl; a server may make it shorter */
#define TRIES 5

static struct testament inherited;

static void execute_inherited(struct child *parent)
{
    (void)parent;
    must(hf_execute(inherited.bytes, inherited.size, LIMIT, NULL, 0) == 0);
}

static void execute_in_vain(struct child *parent)
{
    (void)parent;
    must(hf_execute(inherited.bytes, inherited.size, LIMIT, NULL, 0) == HF_EUNSUPPORTED);
}

/* "It is dead" would be a lie there. */
static void another_process_may_have_no_such_session(void **state)
{
    struct player a;
    struct child  child;
    struct ask    ask;

    (void)state;
    if (promise_is_shared())
        skip();
    player_open(&a);
    uint64_t id = enter(&a, "not_there", MUTEX, &ask);
    testament_write(&a, &inherited);
    child_start(&child, execute_in_vain);
    assert_int_equal(child_status(&child), 0);
    assert_int_equal(look(&a, "not_there", id, &ask), 0);
    assert_true(is_granted(&ask));
    player_close(&a);
}

static void another_process_executes_it(void **state)
{
    struct player a, b;
    struct child  child;
    struct ask    held, waits;

    (void)state;
    if (!promise_is_shared())
        skip();
    player_open(&a);
    player_open(&b);
    enter(&a, "elsewhere", MUTEX, &held);
    enter(&b, "elsewhere", MUTEX, &waits);
    testament_write(&a, &inherited);
    child_start(&child, execute_inherited);
    await_turn(&b, "elsewhere", &waits, &a);
    assert_int_equal(child_status(&child), 0);
    player_close(&a);
    player_close(&b);
}

static void hold_and_send_will(struct child *parent)
{
    struct player    player;
    struct ask       ask;
    struct testament will;

    player_open_for(&player, LONG);
    enter(&player, "dead", MUTEX, &ask);
    must(is_granted(&ask));
    testament_write(&player, &will);
    must(send(parent->talk, &will, sizeof will, MSG_NOSIGNAL) == sizeof will);
    for (;;)
        player_turn(&player, 10);
}

/* True if that was before its lease could have ended it. */
static bool replace_killed(struct player *next)
{
    struct child     child;
    struct ask       waits;
    struct testament will;

    child_start(&child, hold_and_send_will);
    assert_int_equal(recv(child.talk, &will, sizeof will, MSG_WAITALL), sizeof will);
    uint64_t id = enter(next, "dead", MUTEX, &waits);
    child_kill(&child);
    testament_execute(&will);
    await_turn(next, "dead", &waits, next);
    bool at_once = hf_now() < will.alive_until;
    assert_int_equal(leave(next, "dead", id), 0);
    return at_once;
}

static void a_dead_owner_is_replaced_at_once(void **state)
{
    struct player a;

    (void)state;
    if (!promise_is_shared())
        skip();
    player_open(&a);
    /* Where the lease is short, a busy machine may need longer than that. */
    for (int i = 0; !replace_killed(&a); i++)
        assert_true(i < TRIES);
    player_close(&a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_process_may_have_no_such_session),
        cmocka_unit_test(another_process_executes_it),
        cmocka_unit_test(a_dead_owner_is_replaced_at_once),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
