/* survey_old.c - SURVEY with a server that does not know recursive watches: before 3.6 they
 * say so and hang up.  It is not asked twice, and all lines are looked at once a second.
 */
#include "lib/fake.h"
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

/* Again if the connection breaks, as clients do.  How long it took. */
static hf_time survey(struct player *player)
{
    struct ask ask = { .req = { .op = HF_SURVEY } };
    hf_time    begun = hf_now();

    for (int i = 0; i < 10 && player_run(player, &ask) == HF_EDOWN; i++)
        continue;
    assert_int_equal(ask.req.status, 0);
    assert_int_equal(ask.req.changes, 0);
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
    survey(&player); /* at once, but for the new connections */
    survey(&player);
    for (int i = 0; i < 2; i++) {
        hf_time took = survey(&player);
        assert_true(took > 500 * HF_MS && took < 5 * HF_SEC);
    }
    assert_int_equal(asked, silent ? 3 : 1);
    assert_true(fake.connections <= asked + 1);

    struct ask ask = { .req = { .op = HF_SURVEY } };
    player_submit(&player, &ask);
    player_turn(&player, 0);
    player.store->impl->cancel(player.store, &ask.req);
    assert_true(player_await(&player, &ask, LIMIT_MS));
    assert_int_equal(ask.req.status, HF_ECANCELED);
    assert_true(survey(&player) < 500 * HF_MS); /* it begins anew */
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
