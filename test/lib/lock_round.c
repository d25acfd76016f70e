/* lock_round.c - see lock_round.h. */
#include "lib/lock_round.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

void lock_round_have_and_leave(struct lock_round *round)
{
    assert_int_equal(hf_state(round->a.lock), HF_HELD);
    assert_int_equal(server_holders(round->name), 1);
    assert_int_equal(server_waiters(round->name), 0);
    assert_true(hf_token(round->a.lock) > round->token);
    round->token = hf_token(round->a.lock);
    actor_give(&round->a);
    assert_int_equal(server_holders(round->name), 0);
    assert_int_equal(hf_acquire(round->b.lock, round->limit_ms), 0);
    assert_true(hf_token(round->b.lock) > round->token);
    round->token = hf_token(round->b.lock);
    actor_give(&round->b);
}

void lock_round_alone(struct lock_round *round)
{
    actor_take(&round->a);
    lock_round_have_and_leave(round);
}

void lock_round_handed_over(struct lock_round *round)
{
    actor_take(&round->b);
    actor_queue(&round->a, 1);
    actor_give(&round->b);
    actor_await(&round->a, HF_HELD);
    lock_round_have_and_leave(round);
}

void lock_round_close(struct lock_round *round)
{
    actor_close(&round->a);
    actor_close(&round->b);
    server_expect_empty();
}
