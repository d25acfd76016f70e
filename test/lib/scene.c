/* scene.c - see scene.h. */
#include "lib/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

void scene_have_and_leave(struct scene *scene)
{
    assert_int_equal(hf_state(scene->a.lock), HF_HELD);
    assert_int_equal(witness_holders(scene->name), 1);
    assert_int_equal(witness_waiters(scene->name), 0);
    assert_true(hf_token(scene->a.lock) > scene->token);
    scene->token = hf_token(scene->a.lock);
    actor_give(&scene->a);
    assert_int_equal(witness_holders(scene->name), 0);
    assert_int_equal(hf_acquire(scene->b.lock, scene->limit_ms), 0);
    assert_true(hf_token(scene->b.lock) > scene->token);
    scene->token = hf_token(scene->b.lock);
    actor_give(&scene->b);
}

void scene_alone(struct scene *scene)
{
    actor_take(&scene->a);
    scene_have_and_leave(scene);
}

void scene_handed_over(struct scene *scene)
{
    actor_take(&scene->b);
    actor_queue(&scene->a, 1);
    actor_give(&scene->b);
    actor_await(&scene->a, HF_HELD);
    scene_have_and_leave(scene);
}

void scene_close(struct scene *scene)
{
    actor_close(&scene->a);
    actor_close(&scene->b);
    witness_empty();
}
