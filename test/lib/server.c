/* server.c - see server.h. */
#include "lib/server.h"

#include "lib/server_control.h"

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

static const struct server_kind *const stores[] = {
    &server_kind_redis,
    &server_kind_postgres,
    &server_kind_mariadb,
};
static const struct server_kind *store;

const char *server_find(void)
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

const char *server_tell(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *said = server_control(store->control, format, args);
    va_end(args);
    return said;
}

/* ---- Data ------------------------------------------------------------------------- */

const char *server_address(void)
{
    return store->server();
}

const char *server_url_at(const char *address, const char *params)
{
    static char     url[4][URL_MAX];
    static unsigned next;
    char           *ret = url[next++ % 4];

    store->write_url(ret, URL_MAX, address, params);
    return ret;
}

const char *server_url(const char *params)
{
    return server_url_at(NULL, params);
}

size_t server_holders(const char *name)
{
    return store->holders(name);
}

size_t server_waiters(const char *name)
{
    return store->waiters(name);
}

void server_await(const char *name, size_t holders, size_t waiters)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;

    while ((server_holders(name) != holders || server_waiters(name) != waiters) &&
           hf_now() < end)
        poll(NULL, 0, 1);
    assert_int_equal(server_holders(name), holders);
    assert_int_equal(server_waiters(name), waiters);
}

void server_expect_empty(void)
{
    hf_time     end = hf_now() + LITTER_MS * HF_MS;
    const char *left;

    while ((left = store->leftovers()) != NULL && hf_now() < end)
        poll(NULL, 0, 5);
    if (left != NULL)
        fail_msg("left behind: %s", left);
}

/* ---- Clients ---------------------------------------------------------------------- */

static const char *url_with(const char *address, int ttl_ms)
{
    char params[32];

    snprintf(params, sizeof params, "ttl=%dms", ttl_ms);
    return server_url_at(address, params);
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
    actor_start(actor);
    server_await(hf_name(actor->lock), 1, waiters);
}

void rival_start_at(struct rival *rival, const char *address, int ttl_ms,
                    const char *name, struct actor *others, size_t count)
{
    rival_start_url(rival, url_with(address, ttl_ms), name, others, count);
}

void rival_start(struct rival *rival, int ttl_ms, const char *name, struct actor *others,
                 size_t count)
{
    rival_start_at(rival, NULL, ttl_ms, name, others, count);
}
