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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define ROUNDS 16 /* of one process() */

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
        struct hf_redis_task *task =
            redis->link.refused ? NULL : hf_redis_task_new(redis, req);
        if (task != NULL) {
            hf_redis_task_begin(redis, task);
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
    return sooner(sooner(hf_redis_link_wake(redis), hf_redis_renew_wake(redis)),
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
    hf_redis_renew_run(redis);
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
    hf_redis_bye(redis);
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
