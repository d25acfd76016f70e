/* actors.c - see actors.h. */
#include "lib/actors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <poll.h>

static void on_state(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    struct actor *actor = data;

    (void)why;
    if (lock != actor->lock) /* another lock of the same client */
        return;
    if (state == HF_HELD)
        actor->held = hf_now();
    if (state == HF_LOST)
        actor->lost = hf_now();
}

void actor_open_url(struct actor *actor, const char *url, const char *name)
{
    struct hf_options options = HF_OPTIONS_INIT;
    char              error[256] = "";

    actor->held = actor->lost = 0;
    actor->client = NULL;
    actor->lock = NULL;
    options.on_state = on_state;
    options.data = actor;
    options.error = error;
    options.error_size = sizeof error;
    if (hf_open(url, &options, &actor->client) != 0)
        fail_msg("%s: %s", url, error);
    assert_int_equal(hf_mutex(actor->client, name, &actor->lock), 0);
    assert_int_equal(hf_set_any_thread(actor->lock, true), 0);
}

void actor_close(struct actor *actor)
{
    hf_lock_free(actor->lock);
    hf_close(actor->client);
}

uint64_t actor_take(struct actor *actor)
{
    int r = hf_acquire(actor->lock, ACTOR_LIMIT_MS);

    if (r != 0)
        fail_msg("acquire: %s: %s", hf_errname(r), hf_errmsg(actor->client));
    return hf_token(actor->lock);
}

void actor_give(struct actor *actor)
{
    int r = hf_release(actor->lock);

    if (r != 0)
        fail_msg("release: %s: %s", hf_errname(r), hf_errmsg(actor->client));
}

void lock_await(const struct hf_lock *lock, enum hf_state state)
{
    hf_time end = hf_now() + ACTOR_LIMIT_MS * HF_MS;

    while (hf_state(lock) != state && hf_now() < end)
        poll(NULL, 0, 1);
    if (hf_state(lock) != state)
        fail_msg("\"%s\" is in state %d, not %d: %s", hf_name(lock), hf_state(lock),
                 state, hf_errname(hf_why(lock)));
}

void actor_await(const struct actor *actor, enum hf_state state)
{
    lock_await(actor->lock, state);
}

bool actor_has(const struct actor *actor)
{
    return hf_state(actor->lock) == HF_HELD && hf_left_ms(actor->lock) > 0;
}

/* ---- Rivals ---------------------------------------------------------------------- */

/* The rival holds the lock now, so none of the others may.  An actor whose deadline has
 * passed knows by its own clock, before the server grants the lock to another. */
static void look_around(struct rival *rival)
{
    uint64_t token = hf_token(rival->self.lock);

    for (size_t i = 0; i < rival->count; i++)
        if (actor_has(&rival->others[i]) && actor_has(&rival->self))
            rival->wrongs++;
    rival->fallen += token <= rival->last;
    rival->last = token;
    rival->wins++;
}

static void *try_and_try(void *data)
{
    struct rival *rival = data;

    while (!rival->ending) {
        rival->tries++;
        if (hf_acquire(rival->self.lock, 0) == 0) {
            look_around(rival);
            (void)hf_release(rival->self.lock);
        }
        poll(NULL, 0, 3);
    }
    return NULL;
}

void rival_start_url(struct rival *rival, const char *url, const char *name,
                     const struct actor *others, size_t count)
{
    actor_open_url(&rival->self, url, name);
    rival->others = others;
    rival->count = count;
    rival->ending = false;
    rival->tries = rival->wins = rival->wrongs = 0;
    rival->last = rival->fallen = 0;
    assert_int_equal(pthread_create(&rival->thread, NULL, try_and_try, rival), 0);
}

void rival_stop(struct rival *rival)
{
    rival->ending = true;
    pthread_join(rival->thread, NULL);
    actor_close(&rival->self);
    assert_true(rival->tries > 0);
    assert_int_equal(rival->wrongs, 0);
    assert_int_equal(rival->fallen, 0);
}
