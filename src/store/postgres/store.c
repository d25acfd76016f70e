/* store.c - the PostgreSQL store: open, close and process, which call the parts in
 * turn. */
#include "store/postgres/postgres.h"

#include "base/fork.h"
#include "store/postgres/inner.h"

#include <assert.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each is cast to its first member, and back. */
static_assert(offsetof(struct hf_pg, served) == 0, "the store");
static_assert(offsetof(struct hf_pg_task, base) == 0, "a task");

/* ---- For served/ ----------------------------------------------------------------- */

static void add_wish(struct hf_served *served, const struct hf_req *req)
{
    hf_pg_add_number(served, req->shape.weight);
    hf_pg_add_number(served, req->shape.capacity);
    hf_pg_add_bool(served, req->shape.claim);
    hf_pg_add_bool(served, req->only_free);
    hf_pg_add_number(served, req->limit);
}

/* A field of the first row.  An answer about one place is a text, with a blank between the
 * fields; the last of them may contain blanks. */
static const char *first_text(const void *reply, size_t index)
{
    if (PQnfields(reply) != 1)
        return hf_pg_text(reply, 0, (int)index);

    const char *at = hf_pg_text(reply, 0, 0);
    for (; at != NULL && index > 0; index--) {
        at = strchr(at, ' ');
        if (at != NULL)
            at++;
    }
    return at;
}

/* True is 1. */
static int64_t first_number(const void *reply, size_t index)
{
    const char *text = first_text(reply, index);

    return text == NULL ? 0 : text[0] == 't' ? 1 : strtoll(text, NULL, 10);
}

/* It is only queued, so the link cannot break now. */
static bool renew(struct hf_served *served)
{
    hf_pg_renew((struct hf_pg *)served);
    return true;
}

/* Ask again then: no message may come, because of a pooler or a full queue in the
 * server. */
static hf_time watch_until(struct hf_served *served, const void *reply)
{
    const struct hf_pg *pg = (const struct hf_pg *)served;

    (void)reply;
    return pg->remote.now + (hf_pg_polls(pg) ? 250 * HF_MS : pg->config.ttl / 3);
}

/* The same; the answer is { 0, stamp, unsettled, unknown }.  Unsettled: a transaction
 * that did not see us waiting may still be in progress. */
static hf_time store_watch_until(struct hf_served *served, const void *reply)
{
    const struct hf_pg *pg = (const struct hf_pg *)served;

    return pg->remote.now + (hf_pg_polls(pg)           ? HF_SEC
                             : hf_pg_bool(reply, 0, 2) ? 20 * HF_MS
                                                       : pg->config.ttl / 3);
}

/* The rows after the first. */
static const char *changed_name(const void *reply, size_t index)
{
    return index < INT_MAX ? hf_pg_text(reply, (int)index + 1, 4) : NULL;
}

/* Send LISTEN before the call that a WATCH is about to make. */
static void want_messages(struct hf_served *served, bool at_once)
{
    hf_pg_listen_want((struct hf_pg *)served, at_once);
    hf_pg_listen_run((struct hf_pg *)served);
}

/* No renew_in: the answer to a renewal tells expiry.c when a session in our way may be
 * dead. */
static const struct hf_served_ops ops = {
    .task_size = sizeof(struct hf_pg_task),
    .begin = hf_pg_task_begin,
    .begin_read = hf_pg_task_begin_read,
    .add_number = hf_pg_add_number,
    .add_text = hf_pg_add,
    .add_note = hf_pg_add_note,
    .add_seq = hf_pg_add_number,
    .add_wish = add_wish,
    .send = hf_pg_task_send,
    .number = first_number,
    .text = first_text,
    .list = hf_pg_list,
    .diagnose = hf_pg_diagnose,
    .session_gone = hf_pg_session_restart,
    .renew = renew,
    .watch_until = watch_until,
    .store_watch_until = store_watch_until,
    .changed = changed_name,
    .history = hf_pg_history,
    .want_messages = want_messages,
    .waiter_may_hold = true,
};

static hf_time postgres_wake(const struct hf_pg *pg)
{
    hf_time wake = hf_sooner(hf_dial_wake(&pg->dial), hf_pg_session_wake(pg));

    wake = hf_sooner(wake, hf_pg_cancel_wake(pg));
    wake = hf_sooner(wake, hf_sooner(hf_pg_listen_wake(pg), hf_pg_expiry_wake(pg)));
    return hf_sooner(wake, hf_served_watches_wake(&pg->served));
}

static void postgres_process(struct hf_store *store, hf_time now, bool readable)
{
    struct hf_pg *pg = (struct hf_pg *)store;

    pg->remote.now = now;
    store->wake = HF_NEVER;
    if (hf_served_is_over(&pg->served))
        return;
    hf_pg_cancel_run(pg);
    hf_dial_run(&pg->dial, readable);
    hf_served_watches_run(&pg->served);
    bool more = hf_remote_run(&pg->remote);
    hf_pg_expiry_run(pg);
    hf_pg_listen_run(pg);
    hf_pg_session_run(pg);
    hf_pg_link_flush(pg);
    store->wake = more || store->wake == 0 ? 0 : postgres_wake(pg);
}

/* ---- Open and close ------------------------------------------------------------- */

static void postgres_close(struct hf_store *store)
{
    struct hf_pg *pg = (struct hf_pg *)store;

    hf_remote_hush(&pg->remote);
    hf_pg_bye(pg);
    hf_pg_link_finish(pg);
    hf_served_finish(&pg->served);
    hf_pg_args_finish(&pg->args);
    hf_pg_config_finish(&pg->config);
    hf_fork_close(store->fd);
    free(pg);
}

static int postgres_open(const struct hf_config *config, char *errmsg,
                         struct hf_store **ret)
{
    struct hf_pg *pg = calloc(1, sizeof *pg);
    if (pg == NULL) {
        snprintf(errmsg, HF_ERRMSG_MAX, "out of memory");
        return HF_ENOMEM;
    }
    hf_served_init(&pg->served, &ops, &pg->dial);
    int r = hf_served_take_session(&pg->served, config, errmsg);
    if (r == 0)
        r = hf_pg_config_init(&pg->config, config, errmsg);
    if (r < 0)
        goto fail;
    r = pg->served.base.fd = hf_poll_open(errmsg);
    if (r < 0)
        goto finish_config;
    pg->served.base.impl = strcmp(config->scheme, "postgresql") == 0
                               ? &hf_postgresql_store
                               : &hf_postgres_store;
    pg->session.due = HF_NEVER;
    pg->remote.now = hf_now();
    hf_expiry_init(&pg->expiry.plan, pg->config.ttl, pg->remote.now);
    pg->listen.wanted = pg->listen.poll = HF_NEVER;
    hf_pg_link_init(pg, config->seed);
    *ret = &pg->served.base;
    return 0;
finish_config:
    hf_pg_config_finish(&pg->config);
fail:
    free(pg);
    return r;
}

static const char *const params[] = { "ttl", "polling", "history", NULL };

/* clang-format off */
#define IMPL(name) { .scheme = (name), .params = params, .users = true, .any = true, .load = hf_pq_load, \
                     .store_watches = true, .recalls = true, \
                     .open = postgres_open, .close = postgres_close, .submit = hf_remote_submit, \
                     .cancel = hf_remote_cancel, .process = postgres_process,               \
                     .key = hf_served_session_key, .schema = hf_pg_schema_print }
/* clang-format on */

const struct hf_store_impl hf_postgres_store = IMPL("postgres");
const struct hf_store_impl hf_postgresql_store = IMPL("postgresql");
