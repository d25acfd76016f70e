/* starved.c - memory runs out while somebody waits: he may hear of it, or hear late, but is
 * not granted what another holds.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/connected.h"
#include "lib/witness.h"

#include <stdio.h>
#include <string.h>

#define LIMIT_MS 30000

static bool     starving; /* whoever asks for memory gets none */
static unsigned nth;      /* whoever asks as the nth from now on gets none; 0: nobody */

void *__libc_calloc(size_t count, size_t size);
void *__interceptor_calloc(size_t count, size_t size) __attribute__((weak));

void *calloc(size_t count, size_t size)
{
    if (starving || (nth > 0 && --nth == 0))
        return NULL;
    return __interceptor_calloc != NULL ? __interceptor_calloc(count, size)
                                        : __libc_calloc(count, size);
}

static void open_as(struct player *player, const char *user)
{
    char server[96];

    snprintf(server, sizeof server, "%s:secret@%s", user, witness_server());
    open_connected(player, server);
}

/* The WATCH goes on, or ends; whoever looks then sees who holds the lock. */
static void still_waits(struct player *player, const char *name, uint64_t id,
                        struct ask *view, const struct ask *watching)
{
    bool over = false;

    starving = true;
    for (int turns = 0; turns < 300 && !over; turns++)
        over = player_await(player, watching, 1);
    starving = false;
    assert_int_equal(look(player, name, id, view), 0);
    assert_false(is_granted(view));
}

/* One that went on comes to its end. */
static bool gets_its_turn(struct player *player, const char *name, struct ask *view,
                          const struct ask *watching)
{
    if (watching->answers == 0)
        return player_await(player, watching, LIMIT_MS) && is_granted(watching);
    return wait_for_turn(player, name, view, LIMIT_MS);
}

/* Somebody asks the holder for the lock, which changes its node. */
static void the_one_ahead_changes(void **state)
{
    struct player ana, ben;
    struct ask    held, view, watching, nothing;

    (void)state;
    assert_int_equal(witness_create("/changes"), 0);
    open_as(&ana, "ana");
    open_as(&ben, "ana");
    uint64_t id = enter(&ana, "changes", MUTEX, &held);
    uint64_t mine = enter(&ben, "changes", MUTEX, &view);
    assert_false(is_granted(&view));
    watch(&ben, "changes", &view, &watching);
    for (int times = 0; times < 3; times++) /* it listens by now */
        assert_int_equal(list(&ben, "nothing", &nothing), 0);
    assert_int_equal(ask_for(&ana, "changes", place_of(&held), "please"), 0);
    still_waits(&ben, "changes", mine, &view, &watching);
    assert_int_equal(leave(&ana, "changes", id), 0);
    assert_true(gets_its_turn(&ben, "changes", &view, &watching));
    player_close(&ana);
    player_close(&ben);
}

/* He may not read the holder's node, and is about to listen to the folder. */
static void the_one_ahead_is_hidden(void **state)
{
    struct player ana, ben;
    struct ask    held, view, watching;

    (void)state;
    assert_int_equal(witness_create("/hidden"), 0);
    open_as(&ana, "ana");
    open_as(&ben, "ben");
    uint64_t id = enter(&ana, "hidden", MUTEX, &held);
    uint64_t mine = enter(&ben, "hidden", MUTEX, &view);
    assert_false(is_granted(&view));
    watch(&ben, "hidden", &view, &watching);
    player_turn(&ben, 0); /* he has asked for news of it */
    still_waits(&ben, "hidden", mine, &view, &watching);
    assert_int_equal(leave(&ana, "hidden", id), 0);
    assert_true(gets_its_turn(&ben, "hidden", &view, &watching));
    player_close(&ana);
    player_close(&ben);
}

/* Whatever there is no memory for: a place is made, or not, and can be left. */
static void whoever_enters(void **state)
{
    struct player ana;
    bool          struck = true;

    (void)state;
    assert_int_equal(witness_create("/enters"), 0);
    open_as(&ana, "ana");
    for (unsigned which = 1; struck; which++) {
        struct ask entering = { .req = { .op = HF_ENTER,
                                         .name = "enters",
                                         .id = ++ana.ids,
                                         .shape = MUTEX,
                                         .note = "a note" } };
        nth = which;
        int r = player_run(&ana, &entering);
        struck = nth == 0;
        nth = 0;
        assert_true(r == 0 || r == HF_ENOMEM || r == HF_EDOWN);
        assert_int_equal(leave(&ana, "enters", entering.req.id), 0);
        assert_int_equal(witness_count("/enters"), 0);
    }
    player_close(&ana);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_one_ahead_changes),
        cmocka_unit_test(the_one_ahead_is_hidden),
        cmocka_unit_test(whoever_enters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
