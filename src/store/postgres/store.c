/* store.c - the PostgreSQL store: puts the parts of this folder together.
 *
 * process() reads what has come, begins what waits (remote/task.c), and sends the next
 * call.
 */
#include "store/postgres/postgres.h"

#include "base/fork.h"
#include "store/postgres/inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ready(const struct hf_remote *remote)
{
    return hf_dial_status(&((const struct hf_pg *)remote)->dial);
}

/* Who is dead is found out by renewals; there is nothing to look for in between. */
static void look_in(struct hf_served *served, int64_t us)
{
    (void)served;
    (void)us;
}

static const struct hf_served_ops ops = {
    .verb = { [HF_ENTER] = hf_pg_enter,
              [HF_READ] = hf_pg_look,
              [HF_WATCH] = hf_pg_watch,
              [HF_LEAVE] = hf_pg_leave,
              [HF_LIST] = hf_pg_list,
              [HF_BREAK] = hf_pg_reach,
              [HF_AMEND] = hf_pg_amend,
              [HF_ASK] = hf_pg_reach,
              [HF_PROVE] = hf_pg_prove,
              [HF_EXAMINE] = hf_pg_examine },
    .watch_line = hf_pg_watch_line,
    .look_in = look_in,
};

static const struct hf_remote_ops remote_ops = {
    .task_size = sizeof(struct hf_pg_task),
    .ready = ready,
    .begin = hf_served_begin,
    .end_watch = hf_served_end_watch,
    .end_task = hf_served_end_task,
    .may_have = hf_served_may_have,
    .lose = hf_served_lose,
};

static hf_time sooner(hf_time a, hf_time b)
{
    return a < b ? a : b;
}

static hf_time next_wake(const struct hf_pg *pg)
{
    hf_time wake = sooner(hf_dial_wake(&pg->dial), hf_pg_session_wake(pg));

    wake = sooner(wake, hf_pg_cancel_wake(pg));
    wake = sooner(wake, sooner(hf_pg_news_wake(pg), hf_pg_observe_wake(pg)));
    return sooner(wake, hf_served_watches_wake(&pg->served));
}

static void process(struct hf_store *store, hf_time now, bool readable)
{
    struct hf_pg *pg = (struct hf_pg *)store;

    pg->remote.now = now;
    store->wake = HF_NEVER;
    hf_pg_cancel_run(pg);
    hf_dial_run(&pg->dial, readable);
    hf_served_watches_run(&pg->served);
    bool more = hf_remote_run(&pg->remote);
    hf_pg_observe_run(pg);
    hf_pg_news_run(pg);
    hf_pg_session_run(pg);
    hf_pg_link_flush(pg);
    store->wake = more || store->wake == 0 ? 0 : next_wake(pg);
}

/* ---- Both ends of its life ---------------------------------------------------------------------- */

static void close_store(struct hf_store *store)
{
    struct hf_pg *pg = (struct hf_pg *)store;

    hf_remote_hush(&pg->remote);
    hf_pg_session_end(pg);
    hf_pg_link_finish(pg);
    hf_served_finish(&pg->served);
    hf_pg_args_finish(&pg->args);
    hf_pg_config_finish(&pg->config);
    hf_fork_close(store->fd);
    free(pg);
}

static int open_store(const struct hf_config *config, char *errmsg, struct hf_store **ret)
{
    struct hf_pg *pg = calloc(1, sizeof *pg);
    if (pg == NULL) {
        snprintf(errmsg, HF_ERRMSG_MAX, "out of memory");
        return HF_ENOMEM;
    }
    hf_served_init(&pg->served, &ops, &remote_ops);
    int r = hf_pg_config_init(&pg->config, config, errmsg);
    if (r < 0)
        goto fail;
    r = pg->served.base.fd = hf_poll_open(errmsg);
    if (r < 0)
        goto finish_config;
    pg->served.base.impl = strcmp(config->scheme, "postgresql") == 0
                               ? &hf_postgresql_store
                               : &hf_postgres_store;
    hf_pg_session_init(pg);
    hf_pg_observe_init(pg);
    pg->news.wanted = pg->news.poll = HF_NEVER;
    hf_pg_link_init(pg, config->seed);
    *ret = &pg->served.base;
    return 0;
finish_config:
    hf_pg_config_finish(&pg->config);
fail:
    free(pg);
    return r;
}

static const char *const params[] = { "ttl", "polling", NULL };

/* clang-format off */
#define IMPL(name) { .scheme = (name), .params = params, .users = true, .any = true,          \
                     .open = open_store, .close = close_store, .submit = hf_remote_submit, \
                     .cancel = hf_remote_cancel, .process = process,               \
                     .schema = hf_pg_schema_print }
/* clang-format on */

const struct hf_store_impl hf_postgres_store = IMPL("postgres");
const struct hf_store_impl hf_postgresql_store = IMPL("postgresql");
