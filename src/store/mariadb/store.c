/* store.c - the MariaDB store: open, close and process, which call the parts in turn. */
#include "store/mariadb/mariadb.h"

#include "base/fork.h"
#include "store/mariadb/inner.h"
#include "store/remote/tls.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each is cast to its first member, and back. */
static_assert(offsetof(struct hf_maria, served) == 0, "the store");
static_assert(offsetof(struct hf_maria_task, base) == 0, "a task");

/* ---- For served/ ----------------------------------------------------------------- */

static void add_wish(struct hf_served *served, const struct hf_req *req)
{
    hf_maria_add_number(served, req->shape.weight);
    hf_maria_add_number(served, req->shape.capacity);
    hf_maria_add_number(served, req->shape.claim);
    hf_maria_add_number(served, req->only_free);
    hf_maria_add_number(served, req->limit);
}

static int64_t first_number(const void *reply, size_t index)
{
    return hf_maria_number(reply, index);
}

static const char *first_text(const void *reply, size_t index)
{
    return hf_maria_text(reply, index);
}

/* It is only queued, so the link cannot break now. */
static bool renew(struct hf_served *served)
{
    hf_maria_renew((struct hf_maria *)served);
    return true;
}

/* Messages are rows, so none is lost; a sender that dies before it wakes us makes it
 * late. */
static hf_time watch_until(struct hf_served *served, const void *reply)
{
    (void)served;
    (void)reply;
    return 0;
}

static const char *changed_name(const void *reply, size_t index)
{
    return hf_maria_item(reply, index);
}

static hf_time store_watch_until(struct hf_served *served, const void *reply)
{
    const struct hf_maria *maria = (const struct hf_maria *)served;

    (void)reply;
    return maria->remote.now + (hf_maria_polls(maria) ? HF_SEC : maria->config.ttl / 3);
}

static void want_messages(struct hf_served *served, bool at_once)
{
    hf_maria_waker_want((struct hf_maria *)served, at_once);
}

/* No renew_in: the answer to a renewal tells expiry.c when a session in our way may be
 * dead. */
static const struct hf_served_ops ops = {
    .task_size = sizeof(struct hf_maria_task),
    .free_task = hf_maria_task_free,
    .begin = hf_maria_task_begin,
    .begin_read = hf_maria_task_begin_read,
    .add_number = hf_maria_add_number,
    .add_text = hf_maria_add,
    .add_note = hf_maria_add_note,
    .add_seq = hf_maria_add_number,
    .add_wish = add_wish,
    .send = hf_maria_task_send,
    .number = first_number,
    .text = first_text,
    .list = hf_maria_list,
    .diagnose = hf_maria_diagnose,
    .session_gone = hf_maria_session_restart,
    .renew = renew,
    .watch_until = watch_until,
    .store_watch_until = store_watch_until,
    .changed = changed_name,
    .history = hf_maria_history,
    .want_messages = want_messages,
};

static hf_time mariadb_wake(const struct hf_maria *maria)
{
    hf_time wake =
        hf_sooner(hf_dial_wake(&maria->main.dial), hf_maria_session_wake(maria));

    wake = hf_sooner(wake,
                     hf_sooner(hf_maria_waker_wake(maria), hf_maria_expiry_wake(maria)));
    return hf_sooner(wake, hf_served_watches_wake(&maria->served));
}

static void mariadb_process(struct hf_store *store, hf_time now, bool readable)
{
    struct hf_maria *maria = (struct hf_maria *)store;

    maria->remote.now = now;
    store->wake = HF_NEVER;
    if (hf_served_is_over(&maria->served))
        return;
    hf_dial_run(&maria->main.dial, readable);
    hf_maria_waker_run(maria, readable);
    hf_served_watches_run(&maria->served);
    bool more = hf_remote_run(&maria->remote);
    hf_maria_waker_run(maria, false); /* a request may have begun to wait */
    hf_maria_expiry_run(maria);
    hf_maria_session_run(maria);
    hf_maria_calls_run(maria);
    hf_dial_flush(&maria->main.dial);
    store->wake = more || store->wake == 0 ? 0 : mariadb_wake(maria);
}

/* ---- Open and close ------------------------------------------------------------- */

static void mariadb_close(struct hf_store *store)
{
    struct hf_maria *maria = (struct hf_maria *)store;

    hf_remote_hush(&maria->remote);
    hf_my_conn_finish(&maria->waker.conn);
    hf_maria_bye(maria);
    hf_served_finish(&maria->served);
    hf_my_query_finish(&maria->args);
    hf_my_query_finish(&maria->waker.query);
    hf_my_query_finish(&maria->waker.fetch.query);
    hf_my_query_finish(&maria->waker.rest.query);
    hf_my_query_finish(&maria->session.call.query);
    hf_my_query_finish(&maria->session.tune.query);
    hf_my_query_finish(&maria->expiry.call.query);
    hf_my_query_finish(&maria->schema.call.query);
    hf_maria_config_finish(&maria->config);
    hf_tls_free(maria->tls);
    hf_fork_close(store->fd);
    free(maria);
}

static int mariadb_open(const struct hf_config *config, char *errmsg,
                        struct hf_store **ret)
{
    struct hf_maria *maria = calloc(1, sizeof *maria);
    if (maria == NULL) {
        snprintf(errmsg, HF_ERRMSG_MAX, "out of memory");
        return HF_ENOMEM;
    }
    hf_served_init(&maria->served, &ops, &maria->main.dial);
    int r = hf_served_take_session(&maria->served, config, errmsg);
    if (r == 0)
        r = hf_maria_config_init(&maria->config, config, errmsg);
    if (r < 0)
        goto fail;
    r = hf_remote_open_tls(config, maria->config.secure,
                           "write tls=yes to use ca, cert and key", errmsg, &maria->tls);
    if (r < 0)
        goto finish_config;
    r = maria->served.base.fd = hf_poll_open(errmsg);
    if (r < 0)
        goto free_tls;
    maria->served.base.impl =
        strcmp(config->scheme, "mysql") == 0 ? &hf_mysql_store : &hf_mariadb_store;
    maria->session.due = HF_NEVER;
    maria->remote.now = hf_now();
    hf_expiry_init(&maria->expiry.plan, maria->config.ttl, maria->remote.now);
    hf_maria_link_init(maria, config->seed);
    hf_maria_waker_init(maria, config->seed + 1);
    *ret = &maria->served.base;
    return 0;
free_tls:
    hf_tls_free(maria->tls);
finish_config:
    hf_maria_config_finish(&maria->config);
fail:
    free(maria);
    return r;
}

static const char *const params[] = { "ttl", "polling", "history", "auth", "socket",
                                      "tls", "ca",      "cert",    "key",  NULL };

/* OpenSSL proves that we know the password, with TLS or without. */
/* clang-format off */
#define IMPL(name) { .scheme = (name), .params = params, .users = true, .load = hf_tls_load, \
                     .store_watches = true, .recalls = true, \
                     .open = mariadb_open, .close = mariadb_close, .submit = hf_remote_submit, \
                     .cancel = hf_remote_cancel, .process = mariadb_process,               \
                     .key = hf_served_session_key, .schema = hf_maria_schema_print }
/* clang-format on */

const struct hf_store_impl hf_mariadb_store = IMPL("mariadb");
const struct hf_store_impl hf_mysql_store = IMPL("mysql");
