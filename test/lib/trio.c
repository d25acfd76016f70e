/* trio.c - see trio.h. */
#include "lib/trio.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t highest; /* token of all the tests */

void trio_token(uint64_t token)
{
    assert_true(token > highest);
    highest = token;
}

struct trio *trio_new(const char *name, int ttl_ms)
{
    struct trio *trio = calloc(1, sizeof *trio);

    assert_non_null(trio);
    snprintf(trio->name, sizeof trio->name, "%s", name);
    trio->holder = &trio->actor[0];
    trio->waiter = &trio->actor[1];
    trio->late = &trio->actor[2];
    actor_open(trio->holder, ttl_ms, name);
    actor_open(trio->waiter, ttl_ms, name);
    actor_open(trio->late, ttl_ms, name);
    trio_token(actor_take(trio->holder));
    actor_queue(trio->waiter, 1);
    rival_start(&trio->rival, ttl_ms, name, trio->actor, 3);
    poll(NULL, 0, 50);
    return trio;
}

void trio_free(struct trio *trio)
{
    rival_stop(&trio->rival);
    if (trio->rival.last > highest)
        highest = trio->rival.last;
    actor_close(trio->holder);
    actor_close(trio->waiter);
    actor_close(trio->late);
    free(trio);
    witness_empty();
}

void trio_watch(struct trio *trio, int ms)
{
    hf_time end = hf_now() + ms * HF_MS;

    while (hf_now() < end) {
        if (actor_has(trio->waiter) && actor_has(trio->holder))
            fail_msg("two holders");
        poll(NULL, 0, 2);
    }
}

void trio_end(struct trio *trio, bool kept)
{
    int r = hf_release(trio->holder->lock);

    print_message("# %s\n", r == 0 ? "kept" : hf_errname(r));
    assert_int_equal(r, kept ? 0 : HF_ELOST);
    actor_await(trio->waiter, HF_HELD);
    trio_token(hf_token(trio->waiter->lock));
    actor_give(trio->waiter);
    trio_token(actor_take(trio->late));
    actor_give(trio->late);
    trio_free(trio);
}

void trio_newcomer(struct actor *holder, const char *name, int ms)
{
    static struct actor late;
    hf_time             end = hf_now() + ms * HF_MS;

    actor_open(&late, 500, name);
    while (hf_now() < end) {
        if (hf_acquire(late.lock, 20) == 0 && actor_has(holder) && actor_has(&late))
            fail_msg("two holders");
        if (hf_state(late.lock) == HF_HELD)
            actor_give(&late);
    }
    int r = hf_release(holder->lock);
    assert_true(r == 0 || r == HF_ELOST);
    trio_token(actor_take(&late));
    actor_give(&late);
    actor_close(holder);
    actor_close(&late);
    witness_empty();
}
