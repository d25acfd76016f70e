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

bool comes_true(struct player *player, const char *name, struct ask *view,
                struct ask *watching)
{
    hf_time end = hf_now() + LIMIT * HF_MS;

    while (hf_now() < end && player_await(player, watching, LIMIT)) {
        uint64_t id = view->req.id;
        assert_int_equal(watching->req.status, 0);
        assert_int_equal(look(player, name, id, view), 0);
        if (is_granted(view))
            return true;
        watch(player, name, view, watching);
    }
    return false;
}
