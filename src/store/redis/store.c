/* store.c - the Redis store: what the rest of the folder is brought together by.
 *
 * submit() only queues.  process() reads what has come, begins what waits, and sends it
 * all in one piece.  done() is called from wherever an answer is complete: it may submit
 * and cancel, which only queue, so nothing is pulled from under our feet.
 */
#include "store/redis/redis.h"

#include "base/fork.h"
#include "store/redis/inner.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define ROUNDS 16 /* of one process() */

/* ---- Tasks ---------------------------------------------------------------------------------- */

static struct hf_redis_task *task_new(struct hf_redis *redis, struct hf_req *req)
{
    struct hf_redis_task *task = calloc(1, sizeof *task);
    if (task == NULL)
        return NULL;
    task->redis = redis;
    task->req = req;
    task->prev = redis->tasks_end;
    *redis->tasks_end = task;
    redis->tasks_end = &task->next;
    req->work = task;
    req->snapshot = (struct hf_line){ 0 };
    req->me = 0;
    req->ahead = 0;
    if (req->op != HF_WATCH)
        req->stamp = 0;
    return task;
}

/* It is none any more; its request may be asked again. */
static void task_free(struct hf_redis *redis, struct hf_redis_task *task)
{
    assert(!task->call.flying);
    hf_redis_watch_end(redis, task);
    redis->outsiders -= task->outside;
    *task->prev = task->next;
    if (task->next != NULL)
        task->next->prev = task->prev;
    else
        redis->tasks_end = task->prev;
    task->req->work = NULL;
    free(task);
}

void hf_redis_finish(struct hf_redis *redis, struct hf_redis_task *task, int status)
{
    struct hf_req *req = task->req;

    task_free(redis, task);
    req->status = status;
    if (!redis->closing)
        req->done(req);
}

void hf_redis_fail(struct hf_redis *redis, struct hf_redis_task *task, int status,
                   const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(redis->base.errmsg, sizeof redis->base.errmsg, format, args);
    va_end(args);
    hf_redis_finish(redis, task, status);
}

void hf_redis_task_send(struct hf_redis *redis, struct hf_redis_task *task,
                        hf_redis_on_reply *on_reply)
{
    hf_redis_send(redis, &task->call, on_reply, task);
}

/* Those that wait for an answer are ended by it; the others here. */
void hf_redis_tasks_fail(struct hf_redis *redis)
{
    struct hf_redis_task *task = redis->tasks;

    while (task != NULL && task->call.flying)
        task = task->next;
    while (task != NULL) {
        hf_redis_finish(redis, task, HF_EDOWN);
        for (task = redis->tasks; task != NULL && task->call.flying;)
            task = task->next;
    }
}

static void begin(struct hf_redis *redis, struct hf_redis_task *task)
{
    static void (*const verbs[])(struct hf_redis *, struct hf_redis_task *) = {
        [HF_ENTER] = hf_redis_enter, [HF_READ] = hf_redis_look,
        [HF_WATCH] = hf_redis_watch, [HF_LEAVE] = hf_redis_leave,
        [HF_LIST] = hf_redis_list,   [HF_BREAK] = hf_redis_reach,
        [HF_AMEND] = hf_redis_amend, [HF_ASK] = hf_redis_reach,
        [HF_PROVE] = hf_redis_prove, [HF_EXAMINE] = hf_redis_examine,
    };

    assert(task->req->op != HF_NOTHING);
    verbs[task->req->op](redis, task);
}

/* To be asked again, before all that was not asked yet, in the same order. */
static void again(struct hf_redis *redis, struct hf_redis_task *task)
{
    struct hf_req *req = task->req;

    task_free(redis, task);
    hf_requests_append(&redis->repeat, req);
}

static bool fault(struct hf_redis *redis, struct hf_redis_task *task,
                  const redisReply *reply)
{
    enum hf_redis_script script = task->script;

    switch (hf_redis_fault(redis, reply)) {
    case HF_REDIS_FINE:
        return false;
    case HF_REDIS_NO_SCRIPT:
        again(redis, task);
        hf_redis_script_load(redis, script);
        break;
    case HF_REDIS_AGAIN:
        hf_redis_finish(redis, task, HF_EDOWN);
        hf_redis_link_break(redis, NULL);
        break;
    case HF_REDIS_DENIED:
        hf_redis_finish(redis, task, HF_EDENIED);
        break;
    case HF_REDIS_FAILED:
        hf_redis_finish(redis, task, HF_ESTORE);
        break;
    }
    return true;
}

bool hf_redis_answered(struct hf_redis *redis, struct hf_redis_task *task,
                       const redisReply *reply, int *code)
{
    if (reply == NULL) {
        hf_redis_finish(redis, task, HF_EDOWN);
        return false;
    }
    if (fault(redis, task, reply))
        return false;
    *code = (int)hf_redis_number(reply, 0);
    switch (*code) {
    case HF_REDIS_EPOCH:
        again(redis, task);
        hf_redis_session_again(redis);
        return false;
    case HF_REDIS_GONE:
        hf_redis_finish(redis, task, HF_EDOWN);
        if (redis->link.phase == HF_REDIS_READY)
            hf_redis_session_restart(redis);
        return false;
    case HF_REDIS_STALE:
        hf_redis_finish(redis, task, HF_EDOWN);
        hf_redis_link_break(redis, "has a newer connection of ours");
        return false;
    default:
        return true;
    }
}

/* ---- What the caller calls -------------------------------------------------------------------- */

static void submit(struct hf_store *store, struct hf_req *req)
{
    struct hf_redis *redis = (struct hf_redis *)store;

    assert(req->name != NULL || req->op == HF_LIST || req->op == HF_EXAMINE);
    req->canceled = false;
    req->work = NULL;
    hf_requests_append(&redis->waiting, req);
    store->wake = 0;
}

static void cancel(struct hf_store *store, struct hf_req *req)
{
    struct hf_redis *redis = (struct hf_redis *)store;

    req->canceled = true;
    redis->cancels = true;
    store->wake = 0;
}

static bool may_end(const struct hf_req *req)
{
    return req->op == HF_READ || req->op == HF_WATCH || req->op == HF_LIST ||
           req->op == HF_ENTER || req->op == HF_EXAMINE;
}

static void end_waiting(struct hf_requests *list)
{
    struct hf_requests all = *list;
    struct hf_req     *req;

    *list = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL) {
        if (req->canceled && may_end(req)) {
            req->status = HF_ECANCELED;
            req->done(req);
        } else {
            hf_requests_append(list, req);
        }
    }
}

/* A WATCH that only waits.  One whose call is under way ends with the answer. */
static struct hf_redis_task *find_canceled(const struct hf_redis *redis)
{
    struct hf_redis_task *task = redis->tasks;

    while (task != NULL &&
           !(task->req->canceled && task->req->op == HF_WATCH && !task->call.flying))
        task = task->next;
    return task;
}

static void end_canceled(struct hf_redis *redis)
{
    struct hf_redis_task *task;

    if (!redis->cancels)
        return;
    redis->cancels = false;
    end_waiting(&redis->repeat);
    end_waiting(&redis->waiting);
    while ((task = find_canceled(redis)) != NULL)
        hf_redis_finish(redis, task, HF_ECANCELED);
}

static bool may_begin(const struct hf_redis *redis)
{
    return (redis->waiting.first != NULL || redis->repeat.first != NULL) &&
           (redis->link.phase == HF_REDIS_READY || redis->link.refused);
}

static void begin_waiting(struct hf_redis *redis)
{
    while (may_begin(redis)) {
        struct hf_req *req = hf_requests_take(
            redis->repeat.first != NULL ? &redis->repeat : &redis->waiting);
        struct hf_redis_task *task = redis->link.refused ? NULL : task_new(redis, req);
        if (task != NULL) {
            begin(redis, task);
            continue;
        }
        req->status = redis->link.refused ? redis->link.refusal : HF_ENOMEM;
        req->done(req);
    }
}

static hf_time sooner(hf_time a, hf_time b)
{
    return a < b ? a : b;
}

static hf_time next_wake(const struct hf_redis *redis)
{
    return sooner(sooner(hf_redis_link_wake(redis), hf_redis_session_wake(redis)),
                  sooner(hf_redis_news_wake(redis), hf_redis_watches_wake(redis)));
}

static void process(struct hf_store *store, hf_time now, bool readable)
{
    struct hf_redis *redis = (struct hf_redis *)store;
    int              rounds = ROUNDS;

    redis->now = now;
    store->wake = HF_NEVER;
    hf_redis_news_run(redis, readable);
    hf_redis_link_run(redis, readable);
    hf_redis_watches_run(redis);
    do {
        end_canceled(redis);
        begin_waiting(redis);
    } while ((redis->cancels || may_begin(redis)) && --rounds > 0);
    hf_redis_session_run(redis);
    hf_redis_link_flush(redis);
    hf_redis_news_run(redis, false);
    hf_redis_news_flush(redis);
    store->wake = rounds == 0 || store->wake == 0 ? 0 : next_wake(redis);
}

/* ---- Both ends of its life ---------------------------------------------------------------------- */

static void close_store(struct hf_store *store)
{
    struct hf_redis *redis = (struct hf_redis *)store;

    redis->closing = true;
    redis->now = hf_now();
    store->on_link = NULL;
    hf_redis_news_close(redis);
    hf_redis_session_end(redis);
    hf_redis_link_finish(redis);
    while (redis->tasks != NULL)
        hf_redis_finish(redis, redis->tasks, HF_ECANCELED);
    hf_redis_places_drop(redis);
    hf_redis_args_finish(&redis->args);
    hf_redis_config_finish(&redis->config);
    hf_tls_free(redis->tls);
    if (store->fd >= 0) {
        hf_fork_unguard(store->fd);
        close(store->fd);
    }
    free(redis->snapshot);
    free(redis);
}

static int open_tls(struct hf_redis *redis, const struct hf_config *config, char *errmsg)
{
    struct hf_tls_options options = { .ca = hf_config_get(config, "ca"),
                                      .cert = hf_config_get(config, "cert"),
                                      .key = hf_config_get(config, "key") };
    bool                  any = options.ca || options.cert || options.key;

    if (redis->config.secure)
        return hf_tls_new(&options, errmsg, HF_ERRMSG_MAX, &redis->tls);
    if (any)
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "store URL: %s: has no TLS; write rediss: to use ca, cert and key",
                 config->scheme);
    return any ? HF_EINVAL : 0;
}

static const struct hf_store_impl *impl_of(const char *scheme)
{
    static const struct hf_store_impl *const impls[] = {
        &hf_redis_store, &hf_rediss_store, &hf_redis_unix_store, &hf_redis_sentinel_store
    };

    for (size_t i = 0; i < sizeof impls / sizeof *impls; i++)
        if (strcmp(impls[i]->scheme, scheme) == 0)
            return impls[i];
    return &hf_redis_store;
}

static int open_store(const struct hf_config *config, char *errmsg, struct hf_store **ret)
{
    struct hf_redis *redis = calloc(1, sizeof *redis);
    if (redis == NULL) {
        snprintf(errmsg, HF_ERRMSG_MAX, "out of memory");
        return HF_ENOMEM;
    }
    redis->tasks_end = &redis->tasks;
    int r = hf_redis_config_init(&redis->config, config, errmsg);
    if (r < 0)
        goto fail;
    r = open_tls(redis, config, errmsg);
    if (r < 0)
        goto finish_config;
    r = hf_redis_scripts_init(redis);
    if (r < 0) {
        snprintf(errmsg, HF_ERRMSG_MAX, "out of memory");
        goto free_tls;
    }
    redis->base.fd = epoll_create1(EPOLL_CLOEXEC);
    if (redis->base.fd < 0 || hf_fork_guard(redis->base.fd) < 0) {
        snprintf(errmsg, HF_ERRMSG_MAX, "no descriptor is left to watch the server with");
        r = HF_ESTORE;
        goto close_fd;
    }
    redis->base.impl = impl_of(config->scheme);
    redis->base.link = HF_LINK_DOWN;
    hf_redis_session_init(redis);
    hf_redis_link_init(redis, config->seed);
    hf_redis_news_init(redis, config->seed + 1);
    *ret = &redis->base;
    return 0;
close_fd:
    if (redis->base.fd >= 0)
        close(redis->base.fd);
free_tls:
    hf_tls_free(redis->tls);
finish_config:
    hf_redis_config_finish(&redis->config);
fail:
    free(redis);
    return r;
}

static const char *const params[] = { "ttl",  "prefix", "replicas", "evicting", "db",
                                      "auth", "ca",     "cert",     "key",      NULL };

/* clang-format off */
#define IMPL(name) { .scheme = (name), .params = params, .users = true, \
                     .open = open_store, .close = close_store,           \
                     .submit = submit, .cancel = cancel, .process = process }
/* clang-format on */

const struct hf_store_impl hf_redis_store = IMPL("redis");
const struct hf_store_impl hf_rediss_store = IMPL("rediss");
const struct hf_store_impl hf_redis_unix_store = IMPL("redis+unix");
const struct hf_store_impl hf_redis_sentinel_store = IMPL("redis+sentinel");
