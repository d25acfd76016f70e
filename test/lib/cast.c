/* cast.c - see cast.h. */
#include "lib/cast.h"

#define LIMIT 10000 /* ms; a store that needs it all is slow, but not wrong */

struct player a, b, c, d;

int open_all(void **state)
{
    (void)state;
    player_open(&a);
    player_open(&b);
    player_open(&c);
    player_open(&d);
    return 0;
}

int close_all(void **state)
{
    (void)state;
    player_close(&a);
    player_close(&b);
    player_close(&c);
    player_close(&d);
    return 0;
}

bool hears(struct player *player, const char *name, struct ask *view,
           struct ask *watching)
{
    hf_time end = hf_now() + LIMIT * HF_MS;

    while (hf_now() < end && player_await(player, watching, LIMIT)) {
        bool follows = watching->req.follow;
        assert_int_equal(watching->req.status, 0);
        if (take_news(view, watching))
            return true;
        if (follows)
            follow(player, name, view, watching);
        else
            watch(player, name, view, watching);
    }
    return false;
}

/* What WATCH said is what anybody sees who looks. */
static void check_granted(struct player *player, const char *name, const struct ask *view)
{
    struct ask now;

    assert_int_equal(look(player, name, view->req.id, &now), 0);
    assert_true(is_granted(&now));
    assert_int_equal(token_of(view), token_of(&now));
    assert_int_equal(slot_of(view), slot_of(&now));
    assert_int_equal(weight_of(view), weight_of(&now));
}

bool comes_true(struct player *player, const char *name, struct ask *view,
                struct ask *watching)
{
    hf_time end = hf_now() + LIMIT * HF_MS;

    while (hf_now() < end && hears(player, name, view, watching)) {
        if (is_granted(view)) {
            check_granted(player, name, view);
            return true;
        }
        if (!has_place(view))
            break;
        watch(player, name, view, watching);
    }
    return false;
}
