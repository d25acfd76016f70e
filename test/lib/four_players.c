/* four_players.c - see four_players.h. */
#include "lib/four_players.h"

#define LIMIT 10000 /* ms; a slow store is not wrong */

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

bool await_news(struct player *player, const char *name, struct request *view,
                struct request *watching)
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

/* The answer of the WATCH is what a new look shows. */
static void check_granted(struct player *player, const char *name,
                          const struct request *view)
{
    struct request now;

    assert_int_equal(look(player, name, view->req.id, &now), 0);
    assert_true(is_granted(&now));
    assert_int_equal(token_of(view), token_of(&now));
    assert_int_equal(slot_of(view), slot_of(&now));
    assert_int_equal(weight_of(view), weight_of(&now));
}

bool await_grant(struct player *player, const char *name, struct request *view,
                 struct request *watching)
{
    hf_time end = hf_now() + LIMIT * HF_MS;

    while (hf_now() < end && await_news(player, name, view, watching)) {
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
