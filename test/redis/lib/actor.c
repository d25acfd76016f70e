/* actor.c - see actor.h. */
#include "actor.h"

#include "witness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>

#define URL_MAX 192

static void write_url(char *url, const char *address, int ttl_ms)
{
    snprintf(url, URL_MAX, "redis://%s?ttl=%dms&prefix=%s", address, ttl_ms,
             witness_prefix());
}

void actor_open(struct actor *actor, const char *address, int ttl_ms, const char *name)
{
    char url[URL_MAX];

    write_url(url, address, ttl_ms);
    actor_open_url(actor, url, name);
}

void actor_queue(struct actor *actor, size_t waiters)
{
    assert_int_equal(hf_acquire_start(actor->lock, ACTOR_LIMIT_MS), 0);
    witness_await(hf_name(actor->lock), 1, waiters);
}

void rival_start(struct rival *rival, const char *address, int ttl_ms, const char *name,
                 const struct actor *others, size_t count)
{
    char url[URL_MAX];

    write_url(url, address, ttl_ms);
    rival_start_url(rival, url, name, others, count);
}
