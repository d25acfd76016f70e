/* witness.c - see witness.h. */
#include "lib/witness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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

/* ---- Asking ----------------------------------------------------------------------- */

char *witness_exchange(const char *path, const char *line, size_t size)
{
    static char        said[65536];
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    struct timeval     limit = { .tv_sec = 30 };
    size_t             used = 0;
    ssize_t            n;

    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) < 0)
        fail_msg("nobody listens at %s", path);
    assert_int_equal(send(fd, line, size, MSG_NOSIGNAL), size);
    while ((n = read(fd, said + used, sizeof said - 1 - used)) > 0)
        used += (size_t)n;
    said[used] = '\0';
    close(fd);
    return said;
}

const char *witness_tell(const char *format, ...)
{
    char    line[1024];
    va_list args;

    va_start(args, format);
    int n = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    assert_true((size_t)n < sizeof line - 1);
    line[n] = '\n';
    const char *said = witness_exchange(getenv(store->control), line, (size_t)n + 1);
    if (strncmp(said, "ok", 2) != 0)
        fail_msg("the server's keeper: %.*s: %s", n, line, said);
    return said + 2 + (said[2] == ' ');
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
