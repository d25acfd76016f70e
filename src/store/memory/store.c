/* store.c - a memory store: requests in, answers out; the lease.
 *
 * submit() only notes the request.  process() takes one after the other.  Each is
 * carried out under the mutex of the world; a WATCH that has not come true is kept
 * there.  done() is called without the mutex.  Then come the WATCHes that have come
 * true meanwhile; the world's bell, our eventfd, says when to check again.
 *
 * Each process() renews the lease, and asks to be called again a third of it later.  If
 * the session is over by then, or was ended by its session key, the link is LOST, all
 * requests fail, and another session begins.
 */
#include "store/memory/memory.h"

#include "core/lease.h"
#include "holdfast.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct hf_world *lock_world(struct hf_memory *memory)
{
    pthread_mutex_lock(&memory->shared->mutex);
    memory->shared->world.wall = hf_wall_us();
    return &memory->shared->world;
}

static void unlock_world(struct hf_memory *memory)
{
    pthread_mutex_unlock(&memory->shared->mutex);
}

/* S7 answer: nothing is answered here, nor in cancel(). */
static void submit(struct hf_store *store, struct hf_req *req)
{
    assert(req->op != HF_NOTHING && (req->name != NULL || hf_req_may_name_none(req)));
    req->canceled = false;
    req->work = NULL; /* the session, once it is kept */
    hf_requests_append(&((struct hf_memory *)store)->submitted, req);
    store->wake = 0;
}

static void cancel(struct hf_store *store, struct hf_req *req)
{
    struct hf_memory *memory = (struct hf_memory *)store;

    bool kept = hf_world_forget(lock_world(memory), req);
    unlock_world(memory);
    req->canceled = true;
    if (kept) {
        req->status = HF_ECANCELED;
        hf_requests_append(&memory->ended, req);
    }
    store->wake = 0;
}

/* ---- Answers ------------------------------------------------------------------ */

static void explain(struct hf_memory *memory, const struct hf_req *req)
{
    char  *errmsg = memory->base.errmsg;
    size_t size = sizeof memory->base.errmsg;

    if (req->status == HF_EFULL)
        snprintf(errmsg, size, "as many wait for \"%.128s\" as the limit of %u allows",
                 req->name, req->limit);
    else if (req->status < 0 && req->status != HF_EDOWN)
        snprintf(errmsg, size, "%s", hf_strerror(req->status));
}

/* True: answered.  False: kept. */
static bool carry_out(struct hf_memory *memory, struct hf_world *world,
                      struct hf_req *req)
{
    req->line = (struct hf_line){ 0 };
    req->findings = req->changes = 0;
    if (req->canceled && hf_req_may_end(req, false)) {
        req->status = HF_ECANCELED;
        return true;
    }
    return hf_world_ask(world, &memory->session, req);
}

/* The next request with an answer; NULL: there is none now. */
static struct hf_req *next_answer(struct hf_memory *memory)
{
    struct hf_req *req = hf_requests_take(&memory->ended);
    if (req != NULL)
        return req;

    struct hf_world *world = lock_world(memory);
    bool             alive = memory->session.number != 0;
    while (alive && (req = hf_requests_take(&memory->submitted)) != NULL)
        if (carry_out(memory, world, req))
            break;
    if (alive && req == NULL)
        req = hf_session_next_due(&memory->session);
    unlock_world(memory);
    if (req != NULL)
        explain(memory, req);
    return req;
}

/* ---- The session -------------------------------------------------------------- */

static void fail_all(struct hf_requests *list)
{
    struct hf_requests all = *list;
    struct hf_req     *req;

    *list = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL) {
        req->status = HF_EDOWN;
        req->done(req);
    }
}

/* Our places are gone with the session, and so is the sense of all requests. */
static void lose_session(struct hf_memory *memory)
{
    struct hf_store *store = &memory->base;

    if (memory->ttl > 0)
        store->alive_until = 0;
    snprintf(store->errmsg, sizeof store->errmsg,
             "the session in the memory store was ended");
    hf_store_set_link(store, HF_LINK_LOST);
    fail_all(&memory->session.due);
    fail_all(&memory->submitted);
}

/* S6 stale: there is no connection that could break.  S4 tied: a session dies if it is
 * not renewed in time, and the deadline we report is earlier. */
static void keep_session(struct hf_memory *memory, hf_time now)
{
    hf_world_pass(lock_world(memory), now);
    bool over = memory->session.number == 0;
    if (!over)
        hf_session_renew(&memory->session, now);
    unlock_world(memory);
    if (over && memory->base.link == HF_LINK_UP)
        lose_session(memory);
    if (over) {
        hf_world_begin(lock_world(memory), &memory->session, memory->ttl, now);
        unlock_world(memory);
    }
    if (memory->ttl > 0)
        memory->base.alive_until = hf_lease_deadline(now, memory->ttl, 0);
    hf_store_set_link(&memory->base, HF_LINK_UP);
}

static hf_time next_wake(struct hf_memory *memory, hf_time now)
{
    if (memory->submitted.first != NULL || memory->ended.first != NULL)
        return 0;
    hf_time next = hf_world_pass(lock_world(memory), now);
    unlock_world(memory);
    if (memory->ttl > 0 && now + memory->ttl / 3 < next)
        next = now + memory->ttl / 3;
    return next;
}

/* S9 session key: end the session of that number, and ring its owner. */
static void end_by_key(struct hf_memory *memory)
{
    struct hf_world   *world = lock_world(memory);
    struct hf_session *session = hf_world_session(world, memory->ends_session);

    if (session != NULL)
        hf_world_end(world, session);
    unlock_world(memory);
    hf_store_set_link(&memory->base, HF_LINK_LOST);
    memory->base.wake = HF_NEVER; /* the store has done its work */
}

static void process(struct hf_store *store, hf_time now, bool readable)
{
    struct hf_memory *memory = (struct hf_memory *)store;
    struct hf_req    *req;
    eventfd_t         rings;

    if (readable)
        (void)!eventfd_read(store->fd, &rings);
    if (memory->ends_session != 0) {
        end_by_key(memory);
        return;
    }
    keep_session(memory, now);
    while ((req = next_answer(memory)) != NULL)
        req->done(req);
    store->wake = next_wake(memory, now);
}

/* ---- Both ends of its life ---------------------------------------------------- */

/* "lease" in milliseconds; 0: none was given. */
static int parse_lease(const struct hf_config *config, char *errmsg, hf_time *ret)
{
    const char *text = hf_config_get(config, "lease");
    char       *end;

    if (text == NULL) {
        *ret = 0;
        return 0;
    }
    errno = 0;
    long ms = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || ms < 1 || ms > 86400000) {
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "store URL: lease=%s is not a number of milliseconds, 1 to 86400000",
                 text);
        return HF_EINVAL;
    }
    *ret = ms * HF_MS;
    return 0;
}

static int open_store(const struct hf_config *config, char *errmsg, struct hf_store **ret)
{
    uint64_t ends_session;
    hf_time  lease;

    int r = parse_lease(config, errmsg, &lease);
    if (r == 0)
        r = hf_memory_session_key_read(config, errmsg, &ends_session);
    if (r < 0)
        return r;
    struct hf_memory *memory = calloc(1, sizeof *memory);
    int               fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    struct hf_shared *shared =
        memory != NULL && fd >= 0 ? hf_shared_join(config->rest) : NULL;
    if (shared == NULL) {
        r = fd < 0 ? HF_ESTORE : HF_ENOMEM;
        snprintf(errmsg, HF_ERRMSG_MAX, "memory:%s cannot be opened: %s", config->rest,
                 hf_strerror(r));
        if (fd >= 0)
            close(fd);
        free(memory);
        return r;
    }
    memory->base = (struct hf_store){ .impl = &hf_memory_store,
                                      .fd = fd,
                                      .link = HF_LINK_DOWN,
                                      .alive_until = lease > 0 ? 0 : HF_NEVER };
    memory->session.owner = memory;
    memory->shared = shared;
    memory->ttl = lease;
    memory->ends_session = ends_session;
    *ret = &memory->base;
    return 0;
}

static void close_store(struct hf_store *store)
{
    struct hf_memory *memory = (struct hf_memory *)store;

    struct hf_world *world = lock_world(memory);
    if (memory->session.number != 0)
        hf_world_end(world, &memory->session);
    unlock_world(memory);
    hf_shared_part(memory->shared);
    hf_session_finish(&memory->session);
    close(store->fd);
    free(memory);
}

static const char *const params[] = { "lease", NULL };

const struct hf_store_impl hf_memory_store = {
    .scheme = "memory",
    .store_watches = true,
    .params = params,
    .open = open_store,
    .close = close_store,
    .submit = submit,
    .cancel = cancel,
    .process = process,
    .key = hf_memory_session_key,
};
