/* s9_process.c - another process ends a session by its key, as after its owner's
 * death. */
/* one thread */
#include "lib/session_keys.h"

#include "holdfast.h"

#include <sys/socket.h>

#define LIMIT 20000 /* ms; machines are slow */
#define LONG  60000 /* a ttl; a server may make it shorter */
#define TRIES 5

static struct session_key inherited;

static void execute_inherited(struct child *parent)
{
    (void)parent;
    must(hf_end_session(inherited.bytes, inherited.size, LIMIT, NULL, 0) == 0);
}

static void end_in_vain(struct child *parent)
{
    (void)parent;
    must(hf_end_session(inherited.bytes, inherited.size, LIMIT, NULL, 0) ==
         HF_EUNSUPPORTED);
}

/* It cannot know whether the session has ended. */
static void a_private_store_refuses_the_key_in_another_process(void **state)
{
    struct player  a;
    struct child   child;
    struct request request;

    (void)state;
    if (promise_is_shared())
        skip();
    player_open(&a);
    uint64_t id = enter(&a, "not_there", MUTEX, &request);
    session_key_write(&a, &inherited);
    child_start(&child, end_in_vain);
    assert_int_equal(child_status(&child), 0);
    assert_int_equal(look(&a, "not_there", id, &request), 0);
    assert_true(is_granted(&request));
    player_close(&a);
}

static void another_process_ends_the_session(void **state)
{
    struct player  a, b;
    struct child   child;
    struct request held, waits;

    (void)state;
    if (!promise_is_shared())
        skip();
    player_open(&a);
    player_open(&b);
    enter(&a, "elsewhere", MUTEX, &held);
    enter(&b, "elsewhere", MUTEX, &waits);
    session_key_write(&a, &inherited);
    child_start(&child, execute_inherited);
    await_turn(&b, "elsewhere", &waits, &a);
    assert_int_equal(child_status(&child), 0);
    player_close(&a);
    player_close(&b);
}

static void hold_and_send_key(struct child *parent)
{
    struct player      player;
    struct request     request;
    struct session_key key;

    player_open_for(&player, LONG);
    enter(&player, "dead", MUTEX, &request);
    must(is_granted(&request));
    session_key_write(&player, &key);
    must(send(parent->talk, &key, sizeof key, MSG_NOSIGNAL) == sizeof key);
    for (;;)
        player_turn(&player, 10);
}

/* True: before its lease could have ended it. */
static bool replace_killed(struct player *next)
{
    struct child       child;
    struct request     waits;
    struct session_key key;

    child_start(&child, hold_and_send_key);
    assert_int_equal(recv(child.talk, &key, sizeof key, MSG_WAITALL), sizeof key);
    uint64_t id = enter(next, "dead", MUTEX, &waits);
    child_kill(&child);
    session_key_end(&key);
    await_turn(next, "dead", &waits, next);
    bool at_once = hf_now() < key.alive_until;
    assert_int_equal(leave(next, "dead", id), 0);
    return at_once;
}

static void the_lock_of_a_dead_owner_is_free_at_once(void **state)
{
    struct player a;

    (void)state;
    if (!promise_is_shared())
        skip();
    player_open(&a);
    /* If the lease is short, a busy machine may take longer. */
    for (int i = 0; !replace_killed(&a); i++)
        assert_true(i < TRIES);
    player_close(&a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_private_store_refuses_the_key_in_another_process),
        cmocka_unit_test(another_process_ends_the_session),
        cmocka_unit_test(the_lock_of_a_dead_owner_is_free_at_once),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
