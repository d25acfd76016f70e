/* store.c - a session: requests in, answers out.
 *
 * submit() only queues.  process() carries out what is queued and calls done().  A WATCH
 * that has not come true goes back into the queue; when somebody rings it is looked at again.
 *
 * process() holds the mutex also while done() runs.  That is safe: done() calls nothing of a
 * store but submit() and cancel(), and these do not take it.
 */
#include "examples/store/shelf.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
struct session        *shelf_sessions;

/* S7 answer: nothing is answered in here, nor in cancel(). */
static void submit(struct hf_store *store, struct hf_req *req)
{
    req->canceled = false;
    hf_requests_append(&((struct session *)store)->queue, req);
    store->wake = 0;
}

static void cancel(struct hf_store *store, struct hf_req *req)
{
    req->canceled = true;
    store->wake = 0;
}

/* S7 answer: what is taken from the queue gets its one answer, or is a WATCH that has not
 * come true, and goes back.  S6 stale: there is no connection that could break. */
static void process(struct hf_store *store, hf_time now, bool readable)
{
    struct session    *session = (struct session *)store;
    struct hf_requests all = session->queue;
    struct hf_req     *req;
    eventfd_t          rings;

    (void)now;
    if (readable)
        (void)!eventfd_read(store->fd, &rings);
    session->queue = (struct hf_requests){ 0 };
    store->wake = HF_NEVER; /* before any done(), which may submit */
    hf_store_set_link(store, HF_LINK_UP);
    pthread_mutex_lock(&mutex);
    while ((req = hf_requests_take(&all)) != NULL) {
        req->snapshot = (struct hf_line){ 0 };
        req->me = req->ahead = req->findings = 0;
        if (req->canceled && hf_req_may_end(req, false)) {
            req->status = HF_ECANCELED;
        } else if (req->op == HF_WATCH) {
            req->status = 0;
            if (!shelf_watch_is_due(session, req)) {
                hf_requests_append(&session->queue, req);
                continue;
            }
        } else {
            req->status = shelf_verbs[req->op](session, req);
            req->stamp = shelf_counter; /* the answer is as of now */
        }
        req->done(req);
    }
    pthread_mutex_unlock(&mutex);
}

/* S4 tied: a session dies here and nowhere else. */
static void close_store(struct hf_store *store)
{
    struct session  *session = (struct session *)store;
    struct session **at = &shelf_sessions;

    pthread_mutex_lock(&mutex);
    while (*at != session)
        at = &(*at)->next;
    *at = session->next;
    shelf_give_up_all(session);
    pthread_mutex_unlock(&mutex);
    close(store->fd);
    hf_finding_list_clear(&session->findings);
    free(session);
}

static int open_store(const struct hf_config *config, char *errmsg, struct hf_store **ret)
{
    struct session *session = calloc(1, sizeof *session);
    int             fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

    (void)config;
    if (session == NULL || fd < 0) {
        snprintf(errmsg, HF_ERRMSG_MAX, "no memory or no descriptor is left");
        free(session);
        if (fd >= 0)
            close(fd);
        return HF_ENOMEM;
    }
    session->base =
        (struct hf_store){ .impl = &hf_shelf_store, .fd = fd, .alive_until = HF_NEVER };
    pthread_mutex_lock(&mutex);
    session->next = shelf_sessions;
    shelf_sessions = session;
    pthread_mutex_unlock(&mutex);
    *ret = &session->base;
    return 0;
}

static const char *const params[] = { NULL };

const struct hf_store_impl hf_shelf_store = {
    .scheme = "shelf",
    .params = params,
    .open = open_store,
    .close = close_store,
    .submit = submit,
    .cancel = cancel,
    .process = process,
};
