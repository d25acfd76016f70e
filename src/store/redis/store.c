/* store.c - the Redis store: process(), open and close.
 *
 * process() reads what has arrived, begins waiting requests (remote/task.c), and
 * flushes once.
 */
#include "store/redis/redis.h"

#include "base/fork.h"
#include "store/redis/inner.h"
#include "store/remote/tls.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PUT_OFF 8 /* messages are read at least in every eighth run */

/* These are cast to their first member, and back. */
static_assert(offsetof(struct hf_redis, served) == 0, "the store");
static_assert(offsetof(struct hf_redis_task, base) == 0, "a task");
static_assert(offsetof(struct hf_redis_conn, dial) == 0, "a connection");
static_assert(offsetof(struct hf_redis_sentinel, conn) == 0, "a Sentinel's");

/* ---- struct hf_served_ops ----------------------------------------------------- */

/* { 0, changed, patience, when a claim of another program may end } */
static hf_time watch_until(struct hf_served *served, const void *reply)
{
    hf_time foreign = hf_redis_time(reply, 3); /* its owner sends no message */

    hf_redis_renew_after((struct hf_redis *)served, hf_redis_time(reply, 2));
    return foreign > 0 ? served->remote.now + foreign + HF_MS : 0;
}

/* { 0, seen, patience, unknown }.  A session may end without a message: renew then. */
static hf_time store_watch_until(struct hf_served *served, const void *reply)
{
    hf_redis_renew_after((struct hf_redis *)served, hf_redis_time(reply, 2));
    return HF_NEVER;
}

static void renew_in(struct hf_served *served, int64_t us)
{
    hf_redis_renew_after((struct hf_redis *)served, us * 1000);
}

/* { 0, seen, patience, unknown, name, ... } */
static const char *changed_name(const void *reply, size_t index)
{
    return hf_redis_text(reply, 4 + index);
}

static void free_task(struct hf_served_task *task)
{
    hf_redis_diagnose_free(task);
    hf_redis_listing_free(((struct hf_redis_task *)task)->listing);
}

static const struct hf_served_ops ops = {
    .task_size = sizeof(struct hf_redis_task),
    .free_task = free_task,
    .begin = hf_redis_begin,
    .begin_read = hf_redis_begin_read,
    .add_number = hf_redis_add_number,
    .add_text = hf_redis_add,
    .add_note = hf_redis_add_note,
    .add_seq = hf_redis_add_seq,
    .add_wish = hf_redis_add_wish,
    .send = hf_redis_task_send,
    .number = hf_redis_number,
    .text = hf_redis_text,
    .list = hf_redis_list,
    .diagnose = hf_redis_diagnose,
    .changed = changed_name,
    .history = hf_redis_history,
    .session_gone = hf_redis_session_restart,
    .session_again = hf_redis_session_again,
    .renew = hf_redis_renew,
    .confirm = hf_redis_replicas_wait,
    .watch_until = watch_until,
    .store_watch_until = store_watch_until,
    .renew_in = renew_in,
};

static hf_time redis_wake(const struct hf_redis *redis)
{
    hf_time wake =
        hf_sooner(hf_dial_wake(redis->remote.dial), hf_redis_renew_wake(redis));

    wake = hf_sooner(wake, hf_redis_messages_wake(redis));
    wake = hf_sooner(wake, hf_redis_sentinels_wake(redis));
    return hf_sooner(wake, hf_served_watches_wake(&redis->served));
}

/* Answers and messages have a connection each, and epoll does not say which one is
 * readable.  If an answer was read, it was usually that one, and messages can wait:
 * they keep the descriptor readable.  Under a steady stream of answers they are still
 * read now and then. */
static bool may_wait(struct hf_redis_messages *messages, bool answered)
{
    messages->put_off = answered ? (messages->put_off + 1) % PUT_OFF : 0;
    return messages->put_off != 0;
}

static void redis_process(struct hf_store *store, hf_time now, bool readable)
{
    struct hf_redis *redis = (struct hf_redis *)store;

    redis->remote.now = now;
    store->wake = HF_NEVER;
    if (hf_served_is_over(&redis->served))
        return;
    hf_time heard = redis->remote.dial->heard;
    hf_dial_run(redis->remote.dial, readable);
    bool answered = redis->remote.dial->heard != heard;
    bool others = readable && !may_wait(&redis->messages, answered);
    hf_redis_sentinels_run(redis, others);
    hf_redis_messages_run(redis, others);
    hf_served_watches_run(&redis->served);
    bool more = hf_remote_run(&redis->remote);
    hf_redis_renew_run(redis);
    hf_dial_flush(redis->remote.dial);
    hf_redis_messages_run(redis, false);
    hf_dial_flush(&redis->message_conn.dial);
    store->wake = more || store->wake == 0 ? 0 : redis_wake(redis);
}

/* ---- Both ends of its life ---------------------------------------------------- */

static void redis_close(struct hf_store *store)
{
    struct hf_redis *redis = (struct hf_redis *)store;

    hf_remote_hush(&redis->remote);
    hf_dial_close(&redis->message_conn.dial);
    hf_redis_bye(redis);
    hf_redis_sentinels_finish(redis);
    hf_dial_close(redis->remote.dial);
    hf_redis_reclaim_end(redis);
    assert(redis->link.conn.first == NULL && redis->message_conn.first == NULL);
    hf_served_finish(&redis->served);
    hf_redis_args_finish(&redis->args);
    hf_redis_config_finish(&redis->config);
    hf_tls_free(redis->tls);
    hf_fork_close(store->fd);
    free(redis);
}

static int redis_open_tls(struct hf_redis *redis, const struct hf_config *config,
                          char *errmsg)
{
    return hf_remote_open_tls(config, redis->config.secure,
                              redis->config.service[0] != '\0'
                                  ? "redis+sentinel: does not support TLS"
                                  : "write rediss: to use ca, cert and key",
                              errmsg, &redis->tls);
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

static int redis_open(const struct hf_config *config, char *errmsg, struct hf_store **ret)
{
    struct hf_redis *redis = calloc(1, sizeof *redis);
    if (redis == NULL) {
        snprintf(errmsg, HF_ERRMSG_MAX, "out of memory");
        return HF_ENOMEM;
    }
    hf_served_init(&redis->served, &ops, &redis->link.conn.dial);
    int r = hf_served_take_session(&redis->served, config, errmsg);
    if (r == 0)
        r = hf_redis_config_init(&redis->config, config, errmsg);
    if (r < 0)
        goto fail;
    redis->served.confirms = redis->config.replicas > 0;
    r = redis_open_tls(redis, config, errmsg);
    if (r < 0)
        goto finish_config;
    hf_redis_canaries_init(redis);
    r = hf_redis_sentinels_init(redis, config->seed + 2);
    if (r < 0) {
        snprintf(errmsg, HF_ERRMSG_MAX, "out of memory");
        goto free_tls;
    }
    r = redis->served.base.fd = hf_poll_open(errmsg);
    if (r < 0)
        goto free_tls;
    redis->served.base.impl = impl_of(config->scheme);
    hf_redis_session_init(redis);
    hf_redis_link_init(redis, config->seed);
    hf_redis_messages_init(redis, config->seed + 1);
    *ret = &redis->served.base;
    return 0;
free_tls:
    free(redis->sentinel);
    hf_tls_free(redis->tls);
finish_config:
    hf_redis_config_finish(&redis->config);
fail:
    free(redis);
    return r;
}

static int load_with_tls(const char *scheme, char *errmsg, size_t size)
{
    int r = hf_hiredis_load(scheme, errmsg, size);

    return r == 0 ? hf_tls_load(scheme, errmsg, size) : r;
}

static const char *const params[] = { "ttl", "prefix",  "replicas", "evicting",
                                      "db",  "auth",    "ca",       "cert",
                                      "key", "history", NULL };

/* clang-format off */
#define IMPL(name, loads) { .scheme = (name), .params = params, .users = true, .load = (loads), \
                     .store_watches = true, .recalls = true, \
                     .open = redis_open, .close = redis_close,           \
                     .submit = hf_remote_submit, .cancel = hf_remote_cancel, .process = redis_process, \
                     .key = hf_served_session_key }
/* clang-format on */

const struct hf_store_impl hf_redis_store = IMPL("redis", hf_hiredis_load);
const struct hf_store_impl hf_rediss_store = IMPL("rediss", load_with_tls);
const struct hf_store_impl hf_redis_unix_store = IMPL("redis+unix", hf_hiredis_load);
const struct hf_store_impl hf_redis_sentinel_store =
    IMPL("redis+sentinel", hf_hiredis_load);
