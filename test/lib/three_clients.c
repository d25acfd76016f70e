/* three_clients.c - see three_clients.h. */
#include "lib/three_clients.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t highest; /* token of all cases */

void three_clients_token(uint64_t token)
{
    assert_true(token > highest);
    highest = token;
}

struct three_clients *three_clients_new(const char *name, int ttl_ms)
{
    struct three_clients *three = calloc(1, sizeof *three);

    assert_non_null(three);
    actors_write();
    snprintf(three->name, sizeof three->name, "%s", name);
    three->holder = &three->actor[0];
    three->waiter = &three->actor[1];
    three->late = &three->actor[2];
    actor_open(three->holder, ttl_ms, name);
    actor_open(three->waiter, ttl_ms, name);
    actor_open(three->late, ttl_ms, name);
    three_clients_token(actor_take(three->holder));
    actor_queue(three->waiter, 1);
    rival_start(&three->rival, ttl_ms, name, three->actor, 3);
    poll(NULL, 0, 50);
    return three;
}

void three_clients_free(struct three_clients *three)
{
    rival_stop(&three->rival);
    if (three->rival.last > highest)
        highest = three->rival.last;
    actor_close(three->holder);
    actor_close(three->waiter);
    actor_close(three->late);
    free(three);
    server_expect_empty();
}

void three_clients_watch(struct three_clients *three, int ms)
{
    actors_watch(three->actor, 2, ms);
}

void three_clients_end(struct three_clients *three, bool kept)
{
    int r = actor_release(three->holder);

    print_message("# %s\n", r == 0 ? "kept" : hf_errname(r));
    assert_int_equal(r, kept ? 0 : HF_ELOST);
    actor_await(three->waiter, HF_HELD);
    three_clients_token(hf_token(three->waiter->lock));
    actor_give(three->waiter);
    three_clients_token(actor_take(three->late));
    actor_give(three->late);
    three_clients_free(three);
}

void three_clients_see_newcomer(struct actor *holder, struct actor *late, int ms)
{
    hf_time end = hf_now() + ms * HF_MS;

    while (hf_now() < end) {
        int r = actor_acquire(late, 20);
        actors_watch(holder, 1, 0);
        if (r == 0)
            actor_give(late);
    }
    int r = actor_release(holder);
    assert_true(r == 0 || r == HF_ELOST);
    three_clients_token(actor_take(late));
    actor_give(late);
    actor_close(holder);
    actor_close(late);
    server_expect_empty();
}

void three_clients_newcomer(struct actor *holder, const char *name, int ms)
{
    static struct actor late;

    actor_open(&late, 500, name);
    three_clients_see_newcomer(holder, &late, ms);
}
