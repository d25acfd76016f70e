/* store.c - a session: requests in, answers out, its lease.
 *
 * submit() only queues.  process() carries out what is queued and calls done().  A WATCH
 * that has not come true goes back into the queue; when somebody rings it is looked at again.
 *
 * process() holds the mutex also while done() runs.  That is safe: done() calls nothing of a
 * store but submit() and cancel(), and these do not take it.
 */
#include "examples/store/shelf.h"
#include "store/param.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* S7 answer: nothing is answered in here, nor in cancel(). */
static void shelf_submit(struct hf_store *store, struct hf_req *req)
{
    req->canceled = false;
    req->work = NULL;
    hf_requests_append(&((struct shelf_session *)store)->queue, req);
    store->wake = 0;
}

static void shelf_cancel(struct hf_store *store, struct hf_req *req)
{
    req->canceled = true;
    store->wake = 0;
}

/* S7 answer: what is taken from the queue gets its one answer, or is a WATCH that has not
 * come true, and goes back.  What is canceled while it waits here was not begun. */
static void answer_all(struct shelf_session *session, bool refuse)
{
    struct hf_requests all = session->queue;
    struct hf_req     *req;

    session->queue = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL) {
        req->snapshot = (struct hf_line){ 0 };
        req->me = req->ahead = req->findings = 0;
        if (refuse) {
            req->status = HF_EDOWN;
        } else if (req->canceled && hf_req_may_end(req, false)) {
            req->status = HF_ECANCELED;
        } else if (!shelf_carry_out(session, req)) {
            hf_requests_append(&session->queue, req);
            continue;
        }
        req->done(req);
    }
}

/* S4 tied: a session reports `until` as its alive_until, and nobody ends it before.  All go
 * by one clock here; with a server in between, core/lease.h says what may be reported.
 * Returns when the next lease is over. */
static hf_time end_expired(hf_time now)
{
    hf_time next = HF_NEVER;

    for (struct shelf_session *each = shelf_sessions; each != NULL; each = each->next) {
        if (each->until <= now) {
            each->until = HF_NEVER;
            each->dead = true;
            shelf_remove_all(each);
        }
        if (each->until < next)
            next = each->until;
    }
    return next;
}

static void renew(struct shelf_session *session, hf_time now)
{
    struct hf_store *store = &session->base;

    if (session->lease > 0) {
        hf_time due = now + session->lease / 3;
        session->until = store->alive_until = now + session->lease;
        store->wake = due < store->wake ? due : store->wake;
    }
    hf_store_set_link(store, HF_LINK_UP);
}

/* S6 stale: what was asked for in the life that is over is refused, not carried out.  The
 * next process() begins a new life. */
static void lose(struct shelf_session *session)
{
    session->dead = false;
    session->base.alive_until = session->base.wake = 0;
    snprintf(session->base.errmsg, HF_ERRMSG_MAX, "the session was not turned in time");
    hf_store_set_link(&session->base, HF_LINK_LOST);
    answer_all(session, true);
}

/* `wake` is set before any done(), which may submit or cancel and so make it sooner. */
static void shelf_process(struct hf_store *store, hf_time now, bool readable)
{
    struct shelf_session *session = (struct shelf_session *)store;
    eventfd_t             rings;

    pthread_mutex_lock(&mutex);
    if (readable)
        (void)!eventfd_read(store->fd, &rings);
    store->wake = end_expired(now);
    if (session->dead) {
        lose(session);
    } else {
        renew(session, now);
        answer_all(session, false);
    }
    pthread_mutex_unlock(&mutex);
}

static void shelf_close(struct hf_store *store)
{
    struct shelf_session  *session = (struct shelf_session *)store;
    struct shelf_session **at = &shelf_sessions;

    pthread_mutex_lock(&mutex);
    while (*at != session)
        at = &(*at)->next;
    *at = session->next;
    shelf_remove_all(session);
    pthread_mutex_unlock(&mutex);
    close(store->fd);
    hf_finding_list_clear(&session->findings);
    free(session->shelf);
    free(session);
}

static int shelf_open(const struct hf_config *config, char *errmsg, struct hf_store **ret)
{
    const char *lease = hf_config_get(config, "lease");
    int         ms = lease != NULL ? atoi(lease) : 0;
    if (lease != NULL && ms <= 0)
        return hf_param_complain(errmsg, "no lease can be", lease, "write milliseconds");

    struct shelf_session *session = calloc(1, sizeof *session);
    char                 *shelf = strdup(config->rest);
    int                   fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (session == NULL || shelf == NULL || fd < 0)
        goto fail;
    *session = (struct shelf_session){
        .base = { .impl = &hf_shelf_store, .fd = fd, .alive_until = HF_NEVER },
        .shelf = shelf,
        .lease = ms * HF_MS,
        .until = HF_NEVER,
    };
    pthread_mutex_lock(&mutex);
    session->next = shelf_sessions;
    shelf_sessions = session;
    pthread_mutex_unlock(&mutex);
    *ret = &session->base;
    return 0;
fail:
    if (fd >= 0)
        close(fd);
    free(shelf);
    free(session);
    snprintf(errmsg, HF_ERRMSG_MAX, "shelf:%s cannot be opened", config->rest);
    return HF_ENOMEM;
}

static const char *const params[] = { "lease", NULL };

const struct hf_store_impl hf_shelf_store = {
    .scheme = "shelf",
    .params = params,
    .open = shelf_open,
    .close = shelf_close,
    .submit = shelf_submit,
    .cancel = shelf_cancel,
    .process = shelf_process,
};
