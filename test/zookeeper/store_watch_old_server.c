/* store_watch_old_server.c - WATCH_STORE with a server that does not know recursive
 * watches: servers before 3.6 say so and hang up.  The client asks once, and then reports
 * all lines once a second. */
#include "lib/fake_server.h"
#include "lib/promise.h"

#include <stdatomic.h>

#define LIMIT_MS 20000

enum { ADD_WATCH = 106, UNIMPLEMENTED = -6, NO_NODE = -101 };

static atomic_uint asked, silent;

static bool answer_old(int fd, const unsigned char *frame, size_t size)
{
    (void)size;
    if (fake_int(frame, 4) != ADD_WATCH)
        return fake_reply(fd, fake_int(frame, 0), NO_NODE, NULL, 0);
    asked++;
    if (!silent)
        fake_reply(fd, fake_int(frame, 0), UNIMPLEMENTED, NULL, 0);
    return false;
}

/* Repeat it if the connection breaks, as clients do.  Returns how long it took. */
static hf_time watch_all(struct player *player)
{
    struct request request = { .req = { .op = HF_WATCH_STORE } };
    hf_time        begun = hf_now();

    for (int i = 0; i < 10 && player_run(player, &request) == HF_EDOWN; i++)
        continue;
    assert_int_equal(request.req.status, 0);
    assert_int_equal(request.req.changes, 0);
    return hf_now() - begun;
}

static void once_a_second(void **state)
{
    struct fake   fake = { .greet = fake_welcome, .answer = answer_old };
    struct player player;

    silent = *(const unsigned *)*state;
    asked = 0;
    fake_start(&fake);
    promise_use(fake.url);
    player_open_for(&player, 20000);
    watch_all(&player); /* at once, except for the new connections */
    watch_all(&player);
    for (int i = 0; i < 2; i++) {
        hf_time took = watch_all(&player);
        assert_true(took > 500 * HF_MS && took < 5 * HF_SEC);
    }
    assert_int_equal(asked, silent ? 3 : 1);
    assert_true(fake.connections <= asked + 1);

    struct request request = { .req = { .op = HF_WATCH_STORE } };
    player_submit(&player, &request);
    player_turn(&player, 0);
    player.store->impl->cancel(player.store, &request.req);
    assert_true(player_await(&player, &request, LIMIT_MS));
    assert_int_equal(request.req.status, HF_ECANCELED);
    assert_true(watch_all(&player) < 500 * HF_MS); /* it starts afresh */
    player_close(&player);
    fake_stop(&fake);
}

int main(void)
{
    static unsigned         says_so = 0, says_nothing = 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(once_a_second, &says_so),
        cmocka_unit_test_prestate(once_a_second, &says_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
