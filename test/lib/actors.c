/* actors.c - see actors.h. */
#include "lib/actors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char           *folder; /* of histories; NULL: there is no actor */
static unsigned        opened, present;
static bool            writing;
static atomic_bool     watched;

void actors_write(void)
{
    writing = true;
}

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

    char who[32];
    actor->wanted = false;
    actor->history = (struct turns){ 0 };
    if (!writing)
        return;
    if (folder == NULL)
        folder = turns_folder();
    assert_non_null(folder);
    snprintf(who, sizeof who, "actor-%u", ++opened);
    assert_int_equal(turns_open(&actor->history, folder, who, who), 0);
    present++;
}

void actor_close(struct actor *actor)
{
    hf_lock_free(actor->lock);
    hf_close(actor->client);
    if (actor->history.last == NULL)
        return;
    turns_end(&actor->history);
    turns_close(&actor->history);
    if (--present > 0)
        return;
    char *all = folder;
    folder = NULL;
    if (watched)
        assert_true(turns_judge(all));
    else
        turns_forget(all);
    writing = false;
    watched = false;
}

/* ---- Turns ---------------------------------------------------------------------------- */

static void want(struct actor *actor)
{
    if (actor->history.last == NULL)
        return;
    pthread_mutex_lock(&mutex);
    turns_want(&actor->history, hf_name(actor->lock), 1, 1);
    actor->token = 0;
    actor->wanted = true;
    pthread_mutex_unlock(&mutex);
}

static void end_wanting(struct actor *actor)
{
    pthread_mutex_lock(&mutex);
    actor->wanted = false;
    pthread_mutex_unlock(&mutex);
}

bool actor_has(struct actor *actor)
{
    bool has = hf_state(actor->lock) == HF_HELD && hf_left_ms(actor->lock) > 0;

    if (!has)
        return false;
    pthread_mutex_lock(&mutex);
    uint64_t token = hf_token(actor->lock);
    if (actor->wanted && actor->token == 0 && token != 0) {
        turns_granted(&actor->history, actor->lock, false);
        actor->token = token;
    } else if (actor->wanted && actor->token == token) {
        (void)turns_act(&actor->history, actor->lock);
    }
    pthread_mutex_unlock(&mutex);
    return true;
}

int actor_acquire(struct actor *actor, int64_t limit_ms)
{
    want(actor);
    int r = hf_acquire(actor->lock, limit_ms);
    if (r == 0) {
        (void)actor_has(actor);
        return 0;
    }
    if (actor->wanted)
        turns_fail(&actor->history, hf_errname(r));
    end_wanting(actor);
    return r;
}

void actor_start(struct actor *actor)
{
    want(actor);
    assert_int_equal(hf_acquire_start(actor->lock, ACTOR_LIMIT_MS), 0);
}

int actor_release(struct actor *actor)
{
    bool known = actor->wanted;

    (void)actor_has(actor);
    end_wanting(actor);
    return known ? turns_give(&actor->history, actor->lock) : hf_release(actor->lock);
}

void actors_watch(struct actor *actors, size_t count, int ms)
{
    hf_time end = hf_now() + ms * HF_MS;

    watched = writing;
    do {
        for (size_t i = 0; i < count; i++)
            (void)actor_has(&actors[i]);
        poll(NULL, 0, ms > 0 ? 2 : 0);
    } while (hf_now() < end);
}

uint64_t actor_take(struct actor *actor)
{
    int r = actor_acquire(actor, ACTOR_LIMIT_MS);

    if (r != 0)
        fail_msg("acquire: %s: %s", hf_errname(r), hf_errmsg(actor->client));
    return hf_token(actor->lock);
}

void actor_give(struct actor *actor)
{
    int r = actor_release(actor);

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

void actor_await(struct actor *actor, enum hf_state state)
{
    lock_await(actor->lock, state);
    (void)actor_has(actor);
}

/* ---- Rivals ---------------------------------------------------------------------- */

static void *try_and_try(void *data)
{
    struct rival *rival = data;

    while (!rival->ending) {
        rival->tries++;
        if (actor_acquire(&rival->self, 0) == 0) {
            rival->last = hf_token(rival->self.lock);
            (void)actor_release(&rival->self);
        }
        actors_watch(rival->others, rival->count, 3);
    }
    return NULL;
}

void rival_start_url(struct rival *rival, const char *url, const char *name,
                     struct actor *others, size_t count)
{
    assert_true(writing);
    actor_open_url(&rival->self, url, name);
    rival->others = others;
    rival->count = count;
    rival->ending = false;
    rival->tries = 0;
    rival->last = 0;
    assert_int_equal(pthread_create(&rival->thread, NULL, try_and_try, rival), 0);
}

void rival_stop(struct rival *rival)
{
    rival->ending = true;
    pthread_join(rival->thread, NULL);
    actor_close(&rival->self);
    assert_true(rival->tries > 0);
}
