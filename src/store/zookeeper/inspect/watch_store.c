/* watch_store.c - WATCH_STORE: which lines have changed since the previous one.
 *
 * One persistent recursive watch covers everything below the chroot.  The server sends
 * the path of every node that is created, changed or deleted.  The lines to which these
 * belong are flagged CHANGED until the next WATCH_STORE.
 *
 *     from       to         when
 *     OFF        ADDING     a WATCH_STORE comes: ADD_WATCH is sent
 *     ADDING     ON         the server watches
 *                POLLING    it cannot, and so it stays until the session ends
 *     ON         REMOVING   a WATCH_STORE was canceled, or none comes any more
 *     REMOVING   OFF        the watch is removed
 *     any other  OFF        the connection broke
 *
 * A new connection has no watch, and we do not know what happened in between.  So the
 * watch is not restored: the next WATCH_STORE starts afresh, and reports that all lines
 * may have changed.
 *
 * Servers before 3.6 do not know such watches: they say so, and hang up.  Then
 * WATCH_STORE reports all lines once a second.  Servers since 3.8.4 (and Debian's) send
 * no events about nodes that we may not read.  So a line with such nodes is reported
 * once a second, and all lines once a minute, as there may be new ones.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>

#define POLL       (1 * HF_SEC)
#define REPORT_ALL (60 * HF_SEC)
#define IDLE       (30 * HF_SEC) /* without a WATCH_STORE, the watch is removed */
#define MANY       256           /* if more lines changed, all are reported */
#define LOSSES     3             /* this many in a row are no accident */

enum { RECURSIVE = 1, ANY_WATCH = 3 }; /* modes of ADD_WATCH, kinds of REMOVE_WATCHES */

/* line->flags */
enum {
    CHANGED = 1,    /* since it was last reported */
    UNREADABLE = 2, /* we may not read some of its places */
    DENIED = 4,     /* we may not list it */
};

/* The table above. */
static bool may_become(enum hf_zk_watch_store_state from, enum hf_zk_watch_store_state to)
{
    switch (from) {
    case HF_ZK_WATCH_STORE_OFF:
        return to == HF_ZK_WATCH_STORE_ADDING;
    case HF_ZK_WATCH_STORE_ADDING:
        return to == HF_ZK_WATCH_STORE_ON || to == HF_ZK_WATCH_STORE_POLLING;
    case HF_ZK_WATCH_STORE_ON:
        return to == HF_ZK_WATCH_STORE_REMOVING;
    case HF_ZK_WATCH_STORE_REMOVING:
        return to == HF_ZK_WATCH_STORE_OFF;
    case HF_ZK_WATCH_STORE_POLLING:
        break;
    }
    return false;
}

static void set_store_watch(struct hf_zk_store_watch    *watch,
                            enum hf_zk_watch_store_state state)
{
    assert(may_become(watch->state, state));
    assert(!watch->call.flying);
    watch->state = state;
}

/* ---- Flags -------------------------------------------------------------------------- */

/* We use a line while it has a flag. */
static void set_line_flags(struct hf_zk *zk, struct hf_zk_line *line, unsigned flags)
{
    struct hf_zk_store_watch *watch = &zk->store_watch;
    unsigned                  before = line->flags;

    watch->changed += (flags & CHANGED) != 0;
    watch->changed -= (before & CHANGED) != 0;
    watch->unreadable += (flags & UNREADABLE) != 0;
    watch->unreadable -= (before & UNREADABLE) != 0;
    line->flags = flags;
    line->users += before == 0 && flags != 0;
    if (before != 0 && flags == 0)
        hf_zk_line_put(zk, line);
}

static void flag_line(struct hf_zk *zk, const char *name, unsigned flag, bool set)
{
    struct hf_zk_line *line = hf_zk_line_get(zk, name);

    if (line != NULL) {
        if (flag != CHANGED || (line->flags & DENIED) == 0)
            set_line_flags(zk, line, set ? line->flags | flag : line->flags & ~flag);
        hf_zk_line_put(zk, line);
    }
    if (line == NULL)
        zk->store_watch.reported_all = 0; /* report all instead */
}

/* Clear `off` and set `on` in all lines that have one of the flags `having`. */
static void change_flags(struct hf_zk *zk, unsigned having, unsigned off, unsigned on)
{
    for (size_t i = 0; i < HF_ZK_BUCKETS; i++)
        for (struct hf_zk_line *line = zk->line[i], *next; line != NULL; line = next) {
            next = line->next;
            if ((line->flags & having) != 0)
                set_line_flags(zk, line, (line->flags & ~off) | on);
        }
}

/* The names of the CHANGED lines, to be freed; NULL: no memory. */
static const char **list_changed(const struct hf_zk *zk)
{
    const char **names = calloc(zk->store_watch.changed + 1, sizeof *names);
    size_t       count = 0;

    for (size_t i = 0; i < HF_ZK_BUCKETS && names != NULL; i++)
        for (const struct hf_zk_line *line = zk->line[i]; line != NULL; line = line->next)
            if ((line->flags & CHANGED) != 0)
                names[count++] = line->name;
    assert(names == NULL || count == zk->store_watch.changed);
    return names;
}

/* The next WATCH_STORE starts afresh. */
static void forget_flags(struct hf_zk *zk)
{
    change_flags(zk, ~0u, ~0u, 0);
    zk->store_watch.reported = 0;
}

/* ---- The server's watch ------------------------------------------------------------- */

static void on_store_watch_added(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_store_watch *watch = data;

    (void)zk;
    if (reply->error == HF_ZK_CONNECTION_LOSS) {
        if (++watch->losses >= LOSSES)
            set_store_watch(watch, HF_ZK_WATCH_STORE_POLLING);
        return; /* hf_zk_watch_store_disconnected() follows */
    }
    watch->losses = 0;
    set_store_watch(watch,
                    reply->error == 0 ? HF_ZK_WATCH_STORE_ON : HF_ZK_WATCH_STORE_POLLING);
}

/* Changes before the watch was added are unknown: the answer will report all lines. */
static void store_watch_start(struct hf_zk *zk)
{
    struct hf_zk_store_watch *watch = &zk->store_watch;

    set_store_watch(watch, HF_ZK_WATCH_STORE_ADDING);
    hf_zk_call_begin(zk, &watch->call, HF_ZK_ADD_WATCH, on_store_watch_added, watch);
    hf_zk_put_string(&zk->calls.out, hf_zk_root(zk));
    hf_zk_put_int(&zk->calls.out, RECURSIVE);
    hf_zk_call_end(zk);
}

static void on_store_watch_removed(struct hf_zk *zk, void *data,
                                   struct hf_zk_reply *reply)
{
    struct hf_zk_store_watch *watch = data;

    set_store_watch(watch, HF_ZK_WATCH_STORE_OFF);
    if (watch->task != NULL && reply->error != HF_ZK_CONNECTION_LOSS)
        store_watch_start(zk);
}

/* While it is ADDING, it is removed when that is answered. */
static void store_watch_stop(struct hf_zk *zk)
{
    struct hf_zk_store_watch *watch = &zk->store_watch;

    assert(watch->task == NULL);
    forget_flags(zk);
    if (watch->state != HF_ZK_WATCH_STORE_ON)
        return;
    set_store_watch(watch, HF_ZK_WATCH_STORE_REMOVING);
    hf_zk_call_begin(zk, &watch->call, HF_ZK_REMOVE_WATCHES, on_store_watch_removed,
                     watch);
    hf_zk_put_string(&zk->calls.out, hf_zk_root(zk));
    hf_zk_put_int(&zk->calls.out, ANY_WATCH);
    hf_zk_call_end(zk);
}

void hf_zk_watch_store_disconnected(struct hf_zk *zk)
{
    struct hf_zk_store_watch *watch = &zk->store_watch;

    assert(!watch->call.flying);
    if (watch->state != HF_ZK_WATCH_STORE_POLLING)
        watch->state = HF_ZK_WATCH_STORE_OFF;
    forget_flags(zk);
    if (watch->task != NULL)
        hf_task_finish(&watch->task->base, HF_EDOWN);
}

/* A new session may use newer servers. */
void hf_zk_watch_store_drop(struct hf_zk *zk)
{
    assert(zk->store_watch.task == NULL);
    zk->store_watch.state = HF_ZK_WATCH_STORE_OFF;
    zk->store_watch.losses = 0;
}

/* ---- Events ------------------------------------------------------------------------- */

/* A folder that is created again may have another ACL. */
void hf_zk_watch_store_event(struct hf_zk *zk, struct hf_zk_text path)
{
    struct hf_zk_store_watch *watch = &zk->store_watch;
    char                      name[256];

    assert(watch->state == HF_ZK_WATCH_STORE_ON);
    if (watch->changed > MANY)
        return;
    switch (hf_zk_path_parse(zk->config.chroot, path.bytes, path.size, name)) {
    case HF_ZK_PATH_FOREIGN:
        break;
    case HF_ZK_PATH_FOLDER:
        flag_line(zk, name, DENIED, false);
        break;
    case HF_ZK_PATH_PLACE:
        flag_line(zk, name, CHANGED, true);
    }
}

void hf_zk_watch_store_listed(struct hf_zk *zk, const char *name, bool denied)
{
    if (zk->store_watch.state == HF_ZK_WATCH_STORE_ON)
        flag_line(zk, name, DENIED, denied);
}

void hf_zk_watch_store_found(struct hf_zk *zk, const char *name,
                             const struct hf_zk_entries *entries)
{
    struct hf_zk_store_watch *watch = &zk->store_watch;

    if (watch->state != HF_ZK_WATCH_STORE_ON)
        return;
    if (name == NULL)
        change_flags(zk, UNREADABLE, UNREADABLE, 0);
    else
        flag_line(zk, name, UNREADABLE, false);
    for (size_t i = 0; i < entries->count; i++)
        if (entries->entry[i].unreadable && entries->entry[i].there)
            flag_line(zk, entries->entry[i].line, UNREADABLE, true);
}

/* ---- Answers ------------------------------------------------------------------------ */

/* When to answer although no line is known to have changed. */
static hf_time store_watch_due(const struct hf_zk_store_watch *watch)
{
    if (watch->reported == 0)
        return 0;
    if (watch->state == HF_ZK_WATCH_STORE_POLLING || watch->unreadable > 0)
        return watch->reported + POLL;
    return watch->reported_all + REPORT_ALL;
}

/* When to remove the watch, if no WATCH_STORE comes. */
static hf_time idle_due(const struct hf_zk_store_watch *watch)
{
    if (watch->state != HF_ZK_WATCH_STORE_ON)
        return HF_NEVER;
    return watch->reported == 0 ? 0 : watch->reported + IDLE;
}

static void answer_store_watch(struct hf_zk *zk)
{
    struct hf_zk_store_watch *watch = &zk->store_watch;
    struct hf_req            *req = watch->task->base.req;

    if (zk->remote.now >= watch->reported + POLL)
        change_flags(zk, UNREADABLE, 0, CHANGED);
    bool all = watch->reported == 0 || watch->state == HF_ZK_WATCH_STORE_POLLING ||
               watch->changed > MANY ||
               zk->remote.now >= watch->reported_all + REPORT_ALL;
    const char **names = all ? NULL : list_changed(zk);
    watch->reported = zk->remote.now;
    req->changed = names;
    req->changes = names != NULL ? watch->changed : 0;
    if (req->changes == 0)
        watch->reported_all = zk->remote.now;
    hf_task_finish(&watch->task->base, 0); /* the names are lent until this returns */
    change_flags(zk, CHANGED, CHANGED, 0);
    free(names);
}

void hf_zk_watch_store_run(struct hf_zk *zk)
{
    struct hf_zk_store_watch *watch = &zk->store_watch;
    hf_time                   now = zk->remote.now;

    if (watch->state != HF_ZK_WATCH_STORE_ON && watch->state != HF_ZK_WATCH_STORE_POLLING)
        return;
    if (watch->task == NULL && now >= idle_due(watch))
        store_watch_stop(zk);
    else if (watch->task != NULL && (watch->changed > 0 || now >= store_watch_due(watch)))
        answer_store_watch(zk);
}

hf_time hf_zk_watch_store_wake(const struct hf_zk *zk)
{
    const struct hf_zk_store_watch *watch = &zk->store_watch;

    if (watch->state != HF_ZK_WATCH_STORE_ON && watch->state != HF_ZK_WATCH_STORE_POLLING)
        return HF_NEVER;
    return watch->task == NULL ? idle_due(watch) : store_watch_due(watch);
}

/* ---- Begin and end ------------------------------------------------------------------ */

void hf_zk_watch_store(struct hf_zk *zk, struct hf_zk_task *task)
{
    assert(zk->store_watch.task == NULL); /* one at a time */
    zk->store_watch.task = task;
    if (zk->store_watch.state == HF_ZK_WATCH_STORE_OFF)
        store_watch_start(zk);
}

void hf_zk_watch_store_end(struct hf_zk *zk, const struct hf_zk_task *task)
{
    assert(zk->store_watch.task == task);
    (void)task;
    zk->store_watch.task = NULL;
}

void hf_zk_watch_store_cancel(struct hf_zk *zk, struct hf_zk_task *task)
{
    assert(zk->store_watch.task == task && task->base.req->canceled);
    hf_task_finish(&task->base, HF_ECANCELED);
    store_watch_stop(zk);
}

/* Unless another one comes at once, the watch is removed; that one starts afresh. */
void hf_zk_watch_store_cancel_early(struct hf_zk *zk)
{
    zk->store_watch.reported = 0;
}
