/* witness.c - see witness.h. */
#include "lib/witness.h"

#include "lib/control.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_MS  10000
#define LITTER_MS 1500
#define URL_MAX   256

static const struct witness_store *const stores[] = { &witness_redis, &witness_postgres };
static const struct witness_store       *store;

const char *witness_start(void)
{
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++)
        if (getenv(stores[i]->control) != NULL &&
            strstr(hf_stores(), stores[i]->name) != NULL)
            store = stores[i];
    if (store == NULL) {
        puts("# SKIP no server, see test/server; or no store for it");
        exit(77);
    }
    return store->name;
}

const char *witness_tell(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *said = control_tell(store->control, format, args);
    va_end(args);
    return said;
}

/* ---- Looking ---------------------------------------------------------------------- */

const char *witness_server(void)
{
    return store->server();
}

const char *witness_url_at(const char *address, const char *params)
{
    static char     url[4][URL_MAX];
    static unsigned next;
    char           *ret = url[next++ % 4];

    store->write_url(ret, URL_MAX, address, params);
    return ret;
}

const char *witness_url(const char *params)
{
    return witness_url_at(NULL, params);
}

size_t witness_holders(const char *name)
{
    return store->holders(name);
}

size_t witness_waiters(const char *name)
{
    return store->waiters(name);
}

void witness_await(const char *name, size_t holders, size_t waiters)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;

    while ((witness_holders(name) != holders || witness_waiters(name) != waiters) &&
           hf_now() < end)
        poll(NULL, 0, 1);
    assert_int_equal(witness_holders(name), holders);
    assert_int_equal(witness_waiters(name), waiters);
}

void witness_empty(void)
{
    hf_time     end = hf_now() + LITTER_MS * HF_MS;
    const char *left;

    while ((left = store->litter()) != NULL && hf_now() < end)
        poll(NULL, 0, 5);
    if (left != NULL)
        fail_msg("left behind: %s", left);
}

/* ---- Clients ---------------------------------------------------------------------- */

static const char *url_with(const char *address, int ttl_ms)
{
    char params[32];

    snprintf(params, sizeof params, "ttl=%dms", ttl_ms);
    return witness_url_at(address, params);
}

void actor_open_at(struct actor *actor, const char *address, int ttl_ms, const char *name)
{
    actor_open_url(actor, url_with(address, ttl_ms), name);
}

void actor_open(struct actor *actor, int ttl_ms, const char *name)
{
    actor_open_at(actor, NULL, ttl_ms, name);
}

void actor_queue(struct actor *actor, size_t waiters)
{
    assert_int_equal(hf_acquire_start(actor->lock, ACTOR_LIMIT_MS), 0);
    witness_await(hf_name(actor->lock), 1, waiters);
}

void rival_start_at(struct rival *rival, const char *address, int ttl_ms,
                    const char *name, const struct actor *others, size_t count)
{
    rival_start_url(rival, url_with(address, ttl_ms), name, others, count);
}

void rival_start(struct rival *rival, int ttl_ms, const char *name,
                 const struct actor *others, size_t count)
{
    rival_start_at(rival, NULL, ttl_ms, name, others, count);
}
