/* store.c - the ZooKeeper store: puts the parts of this folder together.
 *
 * submit() only queues.  process() reads what has come, begins what waits, and sends
 * it all in one piece.  done() is called from wherever an answer is complete: it may
 * submit and cancel, which only queue, so nothing is pulled from under our feet.
 */
#include "store/zookeeper/zookeeper.h"

#include "base/fork.h"
#include "base/random.h"
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define ROUNDS 16 /* of one process() */

/* ---- Tasks ---------------------------------------------------------------------------- */

static struct hf_zk_task *task_new(struct hf_zk *zk, struct hf_req *req)
{
    struct hf_zk_task *task = calloc(1, sizeof *task);
    if (task == NULL)
        return NULL;
    if (req->name != NULL && (task->line = hf_zk_line_get(zk, req->name)) == NULL) {
        free(task);
        return NULL;
    }
    task->zk = zk;
    task->req = req;
    task->next = zk->tasks;
    task->prev = &zk->tasks;
    if (task->next != NULL)
        task->next->prev = &task->next;
    zk->tasks = task;
    req->work = task;
    req->snapshot = (struct hf_line){ 0 };
    req->me = 0;
    req->ahead = 0;
    return task;
}

static bool is_flying(const struct hf_zk_task *task)
{
    for (size_t i = 0; i < sizeof task->call / sizeof *task->call; i++)
        if (task->call[i].flying)
            return true;
    return false;
}

static void mark_canceled(struct hf_zk *zk, struct hf_zk_task *task)
{
    task->next_canceled = zk->canceled;
    task->prev_canceled = &zk->canceled;
    if (task->next_canceled != NULL)
        task->next_canceled->prev_canceled = &task->next_canceled;
    zk->canceled = task;
}

static void unmark_canceled(struct hf_zk_task *task)
{
    if (task->prev_canceled == NULL)
        return;
    *task->prev_canceled = task->next_canceled;
    if (task->next_canceled != NULL)
        task->next_canceled->prev_canceled = task->prev_canceled;
    task->prev_canceled = NULL;
}

void hf_zk_finish(struct hf_zk *zk, struct hf_zk_task *task, int status)
{
    struct hf_req *req = task->req;

    assert(!is_flying(task));
    unmark_canceled(task); /* the answer was quicker */
    hf_zk_vigil_end(zk, task);
    if (task->group != NULL)
        hf_zk_group_leave(zk, task, status);
    *task->prev = task->next;
    if (task->next != NULL)
        task->next->prev = task->prev;
    req->work = NULL;
    req->status = status;
    if (!zk->closing)
        req->done(req);
    if (task->more != NULL)
        task->free_more(task->more);
    if (task->line != NULL)
        hf_zk_line_put(zk, task->line);
    free(task);
}

void hf_zk_fail(struct hf_zk *zk, struct hf_zk_task *task, int status, const char *format,
                ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(zk->base.errmsg, sizeof zk->base.errmsg, format, args);
    va_end(args);
    hf_zk_finish(zk, task, status);
}

static void begin(struct hf_zk *zk, struct hf_zk_task *task)
{
    static void (*const verbs[])(struct hf_zk *, struct hf_zk_task *) = {
        [HF_ENTER] = hf_zk_enter,     [HF_READ] = hf_zk_look, [HF_WATCH] = hf_zk_watch,
        [HF_LEAVE] = hf_zk_leave,     [HF_LIST] = hf_zk_list, [HF_BREAK] = hf_zk_break,
        [HF_AMEND] = hf_zk_amend,     [HF_ASK] = hf_zk_ask,   [HF_PROVE] = hf_zk_prove,
        [HF_EXAMINE] = hf_zk_examine,
    };

    assert(task->req->op != HF_NOTHING);
    verbs[task->req->op](zk, task);
}

/* ---- What the caller calls --------------------------------------------------------------- */

static void submit(struct hf_store *store, struct hf_req *req)
{
    struct hf_zk *zk = (struct hf_zk *)store;

    assert(req->name != NULL || req->op == HF_LIST || req->op == HF_EXAMINE);
    req->canceled = false;
    req->work = NULL;
    hf_requests_append(&zk->waiting, req);
    store->wake = 0;
}

static void cancel(struct hf_store *store, struct hf_req *req)
{
    struct hf_zk *zk = (struct hf_zk *)store;

    if (req->work == NULL)
        zk->cancels = true; /* it still waits */
    else if (req->op == HF_WATCH && !req->canceled)
        mark_canceled(zk, req->work);
    req->canceled = true;
    store->wake = 0;
}

static bool may_end(const struct hf_req *req)
{
    return req->op == HF_READ || req->op == HF_WATCH || req->op == HF_LIST ||
           req->op == HF_ENTER || req->op == HF_EXAMINE;
}

static void end_waiting(struct hf_zk *zk)
{
    struct hf_requests all = zk->waiting;
    struct hf_req     *req;

    if (!zk->cancels)
        return;
    zk->cancels = false;
    zk->waiting = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL) {
        if (req->canceled && may_end(req)) {
            req->status = HF_ECANCELED;
            req->done(req);
        } else {
            hf_requests_append(&zk->waiting, req);
        }
    }
}

static void end_canceled(struct hf_zk *zk)
{
    struct hf_zk_task *task;

    end_waiting(zk);
    while ((task = zk->canceled) != NULL) {
        unmark_canceled(task);
        hf_zk_vigil_cancel(zk, task);
    }
}

/* All servers deny us: say so to everybody.  But a place that they may have is to be left,
 * whenever that will be possible; one that they cannot have is left already. */
static void refuse_waiting(struct hf_zk *zk)
{
    struct hf_requests all = zk->waiting;
    struct hf_req     *req;

    zk->waiting = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL) {
        bool leave = req->op == HF_LEAVE;
        if (leave && hf_zk_ticket_find(zk, req->id) != NULL) {
            hf_requests_append(&zk->waiting, req);
            continue;
        }
        req->status = leave ? 0 : HF_EDENIED;
        req->done(req);
    }
}

static bool may_begin(const struct hf_zk *zk)
{
    return zk->waiting.first != NULL && zk->base.link == HF_LINK_UP && !zk->link.refused;
}

/* Begin what waits.  Nothing can be begun while there is no link. */
static void begin_waiting(struct hf_zk *zk)
{
    if (zk->link.refused)
        refuse_waiting(zk);
    while (may_begin(zk)) {
        struct hf_req     *req = hf_requests_take(&zk->waiting);
        struct hf_zk_task *task = task_new(zk, req);
        if (task != NULL) {
            begin(zk, task);
            continue;
        }
        req->status = HF_ENOMEM;
        req->done(req);
    }
}

static hf_time sooner(hf_time a, hf_time b)
{
    return a < b ? a : b;
}

static hf_time next_wake(const struct hf_zk *zk)
{
    hf_time wake = sooner(sooner(hf_zk_link_wake(zk), hf_zk_beat_wake(zk)),
                          sooner(hf_zk_vigils_wake(zk), hf_zk_words_wake(zk)));

    return zk->link.phase == HF_ZK_READY ? sooner(wake, zk->watches.again) : wake;
}

static void process(struct hf_store *store, hf_time now, bool readable)
{
    struct hf_zk *zk = (struct hf_zk *)store;
    int           rounds = ROUNDS;

    zk->now = now;
    store->wake = HF_NEVER;
    hf_zk_link_run(zk, readable);
    hf_zk_words_run(zk);
    do {
        end_canceled(zk);
        begin_waiting(zk);
    } while ((zk->canceled != NULL || zk->cancels || may_begin(zk)) && --rounds > 0);
    hf_zk_vigils_run(zk);
    hf_zk_watches_run(zk);
    if (zk->link.phase == HF_ZK_READY)
        hf_zk_lines_flush(zk);
    hf_zk_beat_run(zk);
    hf_zk_link_flush(zk);
    if (rounds == 0 || store->wake == 0)
        store->wake = 0;
    else
        store->wake = next_wake(zk);
}

/* ---- Both ends of its life ---------------------------------------------------------------- */

static void close_store(struct hf_store *store)
{
    struct hf_zk *zk = (struct hf_zk *)store;

    zk->closing = true;
    store->on_link = NULL;
    hf_zk_link_finish(zk);
    hf_zk_calls_fail(zk);
    hf_zk_lines_fail(zk);
    hf_zk_watches_drop(zk);
    while (zk->tasks != NULL)
        hf_zk_finish(zk, zk->tasks, HF_ECANCELED);
    hf_zk_tickets_drop(zk);
    hf_zk_writer_finish(&zk->calls.out);
    hf_zk_config_finish(&zk->config);
    hf_tls_free(zk->tls);
    hf_fork_close(store->fd);
    free(zk->snapshot);
    free(zk);
}

static int open_tls(struct hf_zk *zk, const struct hf_config *config, char *errmsg)
{
    struct hf_tls_options options = { .ca = hf_config_get(config, "ca"),
                                      .cert = hf_config_get(config, "cert"),
                                      .key = hf_config_get(config, "key") };
    bool                  any = options.ca || options.cert || options.key;

    if (zk->config.secure)
        return hf_tls_new(&options, errmsg, HF_ERRMSG_MAX, &zk->tls);
    if (any)
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "store URL: zk: has no TLS; write zks: to use ca, cert and key");
    return any ? HF_EINVAL : 0;
}

static int open_store(const struct hf_config *config, char *errmsg, struct hf_store **ret)
{
    struct hf_zk *zk = calloc(1, sizeof *zk);
    if (zk == NULL) {
        snprintf(errmsg, HF_ERRMSG_MAX, "out of memory");
        return HF_ENOMEM;
    }
    int r = hf_zk_config_init(&zk->config, config, errmsg);
    if (r < 0)
        goto fail;
    zk->config.init = config->init;
    r = open_tls(zk, config, errmsg);
    if (r < 0)
        goto finish_config;
    hf_fork_pause();
    zk->base.fd = hf_fork_adopt(epoll_create1(EPOLL_CLOEXEC));
    if (zk->base.fd < 0) {
        snprintf(errmsg, HF_ERRMSG_MAX, "no descriptor is left to watch the server with");
        r = HF_ESTORE;
        goto free_tls;
    }
    zk->base.impl = zk->config.secure ? &hf_zks_store : &hf_zk_store;
    zk->base.shared = true;
    zk->base.link = HF_LINK_DOWN;
    zk->salt[0] = hf_random();
    zk->salt[1] = hf_random();
    zk->arm_last = &zk->arm_first;
    zk->watches.again = HF_NEVER;
    hf_zk_link_init(zk, config->seed);
    *ret = &zk->base;
    return 0;
free_tls:
    hf_tls_free(zk->tls);
finish_config:
    hf_zk_config_finish(&zk->config);
fail:
    free(zk);
    return r;
}

static const char *const params[] = { "session", "style", "auth", "acl",
                                      "ca",      "cert",  "key",  NULL };

/* clang-format off */
#define IMPL(name) { .scheme = (name), .params = params, .users = true, .groups = true, \
                     .open = open_store, .close = close_store, .submit = submit,        \
                     .cancel = cancel, .process = process }
/* clang-format on */

const struct hf_store_impl hf_zk_store = IMPL("zk");
const struct hf_store_impl hf_zks_store = IMPL("zks");
