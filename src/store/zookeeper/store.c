/* store.c - the ZooKeeper store: puts the parts of this folder together.
 *
 * process() reads what has arrived, begins the waiting requests (remote/task.c), and
 * sends everything in one piece.
 */
#include "store/zookeeper/zookeeper.h"

#include "base/fork.h"
#include "base/random.h"
#include "store/remote/tls.h"
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Tasks -------------------------------------------------------------------------- */

static void begin_verb(struct hf_task *base)
{
    static void (*const verbs[])(struct hf_zk *, struct hf_zk_task *) = {
        [HF_ENTER] = hf_zk_enter,       [HF_WATCH] = hf_zk_watch,
        [HF_LEAVE] = hf_zk_leave,       [HF_LIST] = hf_zk_list,
        [HF_BREAK] = hf_zk_break,       [HF_DOWNGRADE] = hf_zk_downgrade,
        [HF_ASK] = hf_zk_ask,           [HF_VERIFY] = hf_zk_verify,
        [HF_DIAGNOSE] = hf_zk_diagnose, [HF_WATCH_STORE] = hf_zk_watch_store,
    };
    struct hf_zk      *zk = (struct hf_zk *)base->remote;
    struct hf_zk_task *task = (struct hf_zk_task *)base;

    assert(zk->dial.phase == HF_DIAL_READY && verbs[base->req->op] != NULL);
    if (base->req->name != NULL &&
        (task->line = hf_zk_line_get(zk, base->req->name)) == NULL)
        hf_task_fail(base, HF_ENOMEM, "out of memory");
    else
        verbs[base->req->op](zk, task);
}

static bool is_flying(const struct hf_zk_task *task)
{
    for (size_t i = 0; i < sizeof task->call / sizeof *task->call; i++)
        if (task->call[i].flying)
            return true;
    return false;
}

static void end_task(struct hf_task *base)
{
    struct hf_zk      *zk = (struct hf_zk *)base->remote;
    struct hf_zk_task *task = (struct hf_zk_task *)base;

    assert(!is_flying(task));
    if (base->req->op == HF_WATCH)
        hf_zk_watch_end(zk, task);
    if (base->req->op == HF_WATCH_STORE)
        hf_zk_watch_store_end(zk, task);
    if (task->group != NULL)
        hf_zk_group_leave(zk, task, base->req->status);
}

static void end_watch(struct hf_task *base)
{
    if (base->req->op == HF_WATCH_STORE)
        hf_zk_watch_store_cancel((struct hf_zk *)base->remote, (struct hf_zk_task *)base);
    else
        hf_zk_watch_cancel(base);
}

void *hf_zk_task_more(struct hf_zk_task *task, size_t size, void (*free_more)(void *more))
{
    assert(task->more == NULL);
    task->more = calloc(1, size);
    if (task->more == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return NULL;
    }
    task->free_more = free_more;
    return task->more;
}

bool hf_zk_task_failed(struct hf_zk *zk, struct hf_zk_task *task, int error,
                       const char *what, const char *path)
{
    if (error == 0 || error == HF_ZK_NO_NODE)
        return false;
    hf_task_finish(&task->base, hf_zk_fault(zk, error, what, path));
    return true;
}

/* done() may have been lent a part of `more`. */
static void free_task(struct hf_task *base)
{
    struct hf_zk_task *task = (struct hf_zk_task *)base;

    if (task->more != NULL)
        task->free_more(task->more);
    if (task->line != NULL)
        hf_zk_line_put((struct hf_zk *)base->remote, task->line);
}

static bool may_have(const struct hf_remote *remote, uint64_t id)
{
    return hf_zk_own_find((const struct hf_zk *)remote, id) != NULL;
}

static void lose_all(struct hf_remote *remote)
{
    struct hf_zk *zk = (struct hf_zk *)remote;

    hf_dial_close(&zk->dial);
    hf_zk_watched_drop(zk);
    while (remote->tasks != NULL)
        hf_task_finish(remote->tasks, HF_EDOWN);
    assert(zk->groups == NULL && zk->to_list == NULL);
    hf_zk_own_drop_all(zk);
    hf_zk_watch_store_drop(zk);
}

static const struct hf_remote_ops remote_ops = {
    .task_size = sizeof(struct hf_zk_task),
    .begin = begin_verb,
    .end_watch = end_watch,
    .end_task = end_task,
    .free_task = free_task,
    .may_have = may_have,
    .lose = lose_all,
};

static void cancel(struct hf_store *store, struct hf_req *req)
{
    if (req->op == HF_WATCH_STORE && req->work == NULL)
        hf_zk_watch_store_cancel_early((struct hf_zk *)store);
    hf_remote_cancel(store, req);
}

/* ---- One turn ----------------------------------------------------------------------- */

static hf_time soonest_wake(const struct hf_zk *zk)
{
    hf_time wake =
        hf_sooner(hf_sooner(hf_dial_wake(&zk->dial), hf_zk_beat_wake(zk)),
                  hf_sooner(hf_zk_timers_wake(&zk->to_listen), hf_zk_probes_wake(zk)));

    wake = hf_sooner(wake, hf_sooner(hf_zk_watch_store_wake(zk),
                                     hf_zk_timers_wake(&zk->to_read)));
    wake = hf_sooner(wake, hf_zk_compare_wake(zk));
    bool queued = zk->dial.phase == HF_DIAL_READY && zk->watched.queued != NULL;
    return queued ? hf_sooner(wake, zk->watched.retry) : wake;
}

static void process(struct hf_store *store, hf_time now, bool readable)
{
    struct hf_zk *zk = (struct hf_zk *)store;

    zk->remote.now = now;
    store->wake = HF_NEVER;
    hf_dial_run(&zk->dial, readable);
    if (now >= hf_zk_compare_wake(zk))
        hf_zk_compare_run(zk);
    if (zk->probes != NULL)
        hf_zk_probes_run(zk, readable);
    bool more = hf_remote_run(&zk->remote);
    if (zk->store_watch.state != HF_ZK_WATCH_STORE_OFF)
        hf_zk_watch_store_run(zk);
    hf_zk_own_node_run(zk);
    hf_zk_wait_run(zk);
    if (zk->dial.phase == HF_DIAL_READY) {
        hf_zk_watched_flush(zk);
        hf_zk_groups_run(zk);
        hf_zk_lines_flush(zk); /* last: a listing shows the nodes made in this turn */
    }
    hf_zk_beat_run(zk);
    hf_zk_link_flush(zk);
    store->wake = more || store->wake == 0 ? 0 : soonest_wake(zk);
}

/* ---- Open and close ----------------------------------------------------------------- */

static void close_store(struct hf_store *store)
{
    struct hf_zk *zk = (struct hf_zk *)store;

    hf_remote_hush(&zk->remote);
    hf_zk_link_finish(zk);
    lose_all(&zk->remote);
    hf_remote_finish(&zk->remote);
    hf_zk_writer_finish(&zk->calls.out);
    hf_zk_config_finish(&zk->config);
    hf_tls_free(zk->tls);
    hf_fork_close(store->fd);
    free(zk);
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
    r = hf_remote_open_tls(config, zk->config.secure,
                           "write zks: to use ca, cert and key", errmsg, &zk->tls);
    if (r < 0)
        goto finish_config;
    r = zk->base.fd = hf_poll_open(errmsg);
    if (r < 0)
        goto free_tls;
    zk->base.impl = zk->config.secure ? &hf_zks_store : &hf_zk_store;
    hf_remote_init(&zk->remote, &remote_ops, &zk->dial);
    zk->salt[0] = hf_random();
    zk->salt[1] = hf_random();
    if (config->key != NULL && (r = hf_zk_session_key_read(zk, config, errmsg)) < 0)
        goto close_poll;
    hf_zk_link_init(zk, config->seed);
    *ret = &zk->base;
    return 0;
close_poll:
    hf_fork_close(zk->base.fd);
free_tls:
    hf_tls_free(zk->tls);
finish_config:
    hf_zk_config_finish(&zk->config);
fail:
    free(zk);
    return r;
}

static const char *const params[] = { "session", "style", "maxbuffer", "auth", "acl",
                                      "ca",      "cert",  "key",       NULL };

/* clang-format off */
#define IMPL(name, loads) { .scheme = (name), .load = (loads), .params = params, .users = true, .groups = true, .store_watches = true, \
                     .open = open_store, .close = close_store, .submit = hf_remote_submit, \
                     .cancel = cancel, .process = process, \
                     .key = hf_zk_session_key_write }
/* clang-format on */

const struct hf_store_impl hf_zk_store = IMPL("zk", NULL);
const struct hf_store_impl hf_zks_store = IMPL("zks", hf_tls_load);
