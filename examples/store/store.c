/* store.c - a session: requests in, answers out.
 *
 * submit() only queues.  process() carries out what is queued and calls done().  A WATCH
 * that has not come true goes back into the queue; when somebody rings it is looked at again.
 *
 * process() holds the mutex also while done() runs.  That is safe: done() calls nothing of a
 * store but submit() and cancel(), and these do not take it.
 */
#include "examples/store/shelf.h"

#include "base/random.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* S9 will: the session's places go, and it has another number from then on.  Whoever opened
 * it hears that it was lost; what he submitted until then was for the session that is gone. */
static void end_session_numbered(uint64_t number)
{
    for (struct session *each = shelf_sessions; each != NULL; each = each->next)
        if (each->number == number) {
            shelf_give_up_all(each);
            each->number = hf_random();
            each->ended = true;
            (void)!eventfd_write(each->base.fd, 1);
        }
}

/* Another process has a shelf of its own, and a forked child a copy of ours: what ended a
 * session there would leave this one alive.  So a will also says whose it is. */
struct will {
    uint64_t number;
    uint64_t pid;
};

static int write_will(struct hf_store *store, void *ret)
{
    pthread_mutex_lock(&mutex);
    struct will will = { ((struct session *)store)->number, (uint64_t)getpid() };
    pthread_mutex_unlock(&mutex);
    memcpy(ret, &will, sizeof will);
    return sizeof will;
}

/* *ret is 0 if there is no will. */
static int read_will(const struct hf_config *config, char *errmsg, uint64_t *ret)
{
    struct will will = { 0 };

    if (config->will_size == sizeof will)
        memcpy(&will, config->will, sizeof will);
    *ret = will.number;
    if (config->will == NULL)
        return 0;
    if (will.number == 0) {
        snprintf(errmsg, HF_ERRMSG_MAX, "the will is not one of shelf:");
        return HF_EINVAL;
    }
    if (will.pid != (uint64_t)getpid()) {
        snprintf(errmsg, HF_ERRMSG_MAX, "the will is of another process and its shelf:");
        return HF_EUNSUPPORTED;
    }
    return 0;
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
    pthread_mutex_lock(&mutex);
    if (session->executes != 0)
        end_session_numbered(session->executes);
    bool ended = session->ended || session->executes != 0;
    session->ended = false;
    store->wake = ended ? 0 : HF_NEVER; /* before any done(), which may submit */
    hf_store_set_link(store, ended ? HF_LINK_LOST : HF_LINK_UP);
    while ((req = hf_requests_take(&all)) != NULL) {
        req->line = (struct hf_line){ 0 };
        req->findings = 0;
        if (ended || (req->canceled && hf_req_may_end(req, false))) {
            req->status = ended ? HF_EDOWN : HF_ECANCELED;
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

/* S4 tied: a session dies here, or by its will. */
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
    uint64_t executes;

    int r = read_will(config, errmsg, &executes);
    if (r < 0)
        return r;
    struct session *session = calloc(1, sizeof *session);
    int             fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (session == NULL || fd < 0) {
        snprintf(errmsg, HF_ERRMSG_MAX, "no memory or no descriptor is left");
        free(session);
        if (fd >= 0)
            close(fd);
        return HF_ENOMEM;
    }
    session->base =
        (struct hf_store){ .impl = &hf_shelf_store, .fd = fd, .alive_until = HF_NEVER };
    session->number = hf_random();
    session->executes = executes;
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
    .will = write_will,
};
