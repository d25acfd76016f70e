/* actor.c - see actor.h. */
#include "actor.h"

#include "witness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>

static void on_state(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    struct actor *actor = data;

    (void)why;
    if (lock != actor->lock)
        return;
    if (state == HF_HELD)
        actor->held = hf_now();
    if (state == HF_LOST)
        actor->lost = hf_now();
}

void actor_open(struct actor *actor, const char *address, const char *name)
{
    struct hf_options options = HF_OPTIONS_INIT;
    char              url[128];

    actor->held = actor->lost = 0;
    actor->client = NULL;
    actor->lock = NULL;
    options.on_state = on_state;
    options.data = actor;
    snprintf(url, sizeof url, "zk://%s", address);
    assert_int_equal(hf_open(url, &options, &actor->client), 0);
    assert_int_equal(hf_mutex(actor->client, name, &actor->lock), 0);
    assert_int_equal(hf_set_any_thread(actor->lock, true), 0);
    snprintf(actor->folder, sizeof actor->folder, "/%s", name);
}

void actor_close(struct actor *actor)
{
    hf_lock_free(actor->lock);
    hf_close(actor->client);
}

void actor_take(struct actor *actor)
{
    int r = hf_acquire(actor->lock, ACTOR_LIMIT_MS);

    if (r != 0)
        fail_msg("acquire: %s: %s", hf_errname(r), hf_errmsg(actor->client));
}

void actor_give(struct actor *actor)
{
    int r = hf_release(actor->lock);

    if (r != 0)
        fail_msg("release: %s: %s", hf_errname(r), hf_errmsg(actor->client));
}

void actor_queue(struct actor *actor, size_t nodes)
{
    assert_int_equal(hf_acquire_start(actor->lock, ACTOR_LIMIT_MS), 0);
    witness_await(actor->folder, nodes);
}

void lock_await(const struct hf_lock *lock, enum hf_state state)
{
    hf_time end = hf_now() + ACTOR_LIMIT_MS * HF_MS;

    while (hf_state(lock) != state && hf_now() < end)
        poll(NULL, 0, 1);
    assert_int_equal(hf_state(lock), state);
}

void actor_await(const struct actor *actor, enum hf_state state)
{
    lock_await(actor->lock, state);
}
