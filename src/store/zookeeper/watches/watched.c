/* watched.c - watched paths and their listeners: see watched.h. */
#include "store/zookeeper/watches/watched.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

size_t hf_zk_hash(const char *text, size_t size)
{
    size_t value = 5381;

    for (size_t i = 0; i < size; i++)
        value = value * 33 + (unsigned char)text[i];
    return value % HF_ZK_BUCKETS;
}

static struct hf_zk_watched **watched_bucket(struct hf_zk *zk, const char *path,
                                             size_t size)
{
    return &zk->watched.bucket[hf_zk_hash(path, size)];
}

struct hf_zk_watched *hf_zk_watched_find(struct hf_zk *zk, enum hf_zk_watched_kind kind,
                                         const char *path, size_t size)
{
    struct hf_zk_watched *watched = *watched_bucket(zk, path, size);

    while (watched != NULL && (watched->kind != kind || strlen(watched->path) != size ||
                               memcmp(watched->path, path, size) != 0))
        watched = watched->next;
    return watched;
}

/* The states in watched.h. */
static bool may_become(enum hf_zk_watched_state from, enum hf_zk_watched_state to)
{
    switch (from) {
    case HF_ZK_WATCH_QUEUED:
        return to == HF_ZK_WATCH_SENT;
    case HF_ZK_WATCH_SENT:
        return to != HF_ZK_WATCH_SENT;
    case HF_ZK_WATCH_SET:
        return to == HF_ZK_WATCH_QUEUED || to == HF_ZK_WATCH_FIRED;
    case HF_ZK_WATCH_FIRED:
        break;
    }
    return false;
}

/* The fields in watched.h. */
static void check_fields(const struct hf_zk_watched *watched)
{
    bool idle = watched->listeners == NULL && watched->to_notify == NULL;

    assert(watched->to_notify == NULL || watched->notifying);
    assert(!watched->notifying || watched->state == HF_ZK_WATCH_SET ||
           watched->state == HF_ZK_WATCH_QUEUED);
    assert(!watched->node_deleted || idle);
}

void hf_zk_watched_become(struct hf_zk_watched *watched, enum hf_zk_watched_state state)
{
    assert(may_become(watched->state, state));
    watched->state = state;
    check_fields(watched);
}

void hf_zk_watched_queue(struct hf_zk *zk, struct hf_zk_watched *watched)
{
    if (watched->state != HF_ZK_WATCH_QUEUED)
        hf_zk_watched_become(watched, HF_ZK_WATCH_QUEUED);
    watched->next_queued = zk->watched.queued;
    zk->watched.queued = watched;
}

/* NULL: no memory. */
static struct hf_zk_watched *watched_new(struct hf_zk *zk, enum hf_zk_watched_kind kind,
                                         const char *path)
{
    size_t                size = strlen(path);
    struct hf_zk_watched *watched = calloc(1, sizeof *watched + size + 1);
    if (watched == NULL)
        return NULL;

    struct hf_zk_watched **bucket = watched_bucket(zk, path, size);
    memcpy(watched->path, path, size + 1);
    watched->kind = kind;
    watched->next = *bucket;
    *bucket = watched;
    if (zk->watched.count++ == 0)
        zk->compare.due = zk->remote.now + zk->link.timeout;
    hf_zk_watched_queue(zk, watched);
    return watched;
}

static void unlink_watched(struct hf_zk *zk, struct hf_zk_watched *watched)
{
    struct hf_zk_watched **at = watched_bucket(zk, watched->path, strlen(watched->path));

    assert(zk->watched.count > 0);
    while (*at != watched) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = watched->next;
    zk->watched.count--;
}

bool hf_zk_watched_is_absent(const struct hf_zk_watched *watched)
{
    return watched->stamp == HF_ZK_STAMP_NONE;
}

/* We have forgotten it already. */
static void on_removed(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    (void)zk, (void)reply;
    free(data);
}

void hf_zk_watched_remove(struct hf_zk *zk, struct hf_zk_watched *watched)
{
    enum { CHILDREN = 1, DATA_OR_EXISTENCE = 2 };
    bool children =
        watched->kind == HF_ZK_WATCHED_CHILDREN && !hf_zk_watched_is_absent(watched);

    assert(watched->listeners == NULL && watched->to_notify == NULL);
    unlink_watched(zk, watched);
    if (watched->state != HF_ZK_WATCH_SET || watched->node_deleted ||
        zk->dial.phase != HF_DIAL_READY) {
        free(watched);
        return;
    }
    hf_zk_call_begin(zk, &watched->call, HF_ZK_REMOVE_WATCHES, on_removed, watched);
    hf_zk_put_string(&zk->calls.out, watched->path);
    hf_zk_put_int(&zk->calls.out, children ? CHILDREN : DATA_OR_EXISTENCE);
    hf_zk_call_end(zk);
}

/* ---- Listening ---------------------------------------------------------------------- */

static struct hf_zk_watched *join_watched(struct hf_zk           *zk,
                                          struct hf_zk_listener  *listener,
                                          enum hf_zk_watched_kind kind, const char *path,
                                          int64_t as_of)
{
    struct hf_zk_watched *watched = hf_zk_watched_find(zk, kind, path, strlen(path));

    assert(listener->watched == NULL && listener->on_news != NULL);
    assert(path[0] == '/' && listener->data != NULL);
    if (watched == NULL) {
        watched = watched_new(zk, kind, path);
        if (watched == NULL)
            return NULL;
        watched->as_of = as_of;
    }
    if (as_of < watched->as_of && watched->state != HF_ZK_WATCH_SENT) {
        watched->as_of = as_of; /* this listener asks for earlier changes */
        if (watched->state == HF_ZK_WATCH_SET)
            hf_zk_watched_queue(zk, watched);
    }
    listener->watched = watched;
    listener->next = watched->listeners;
    watched->listeners = listener;
    watched->node_deleted = false;
    check_fields(watched);
    return watched;
}

int hf_zk_listen(struct hf_zk *zk, struct hf_zk_listener *listener, const char *path,
                 int64_t as_of)
{
    return join_watched(zk, listener, HF_ZK_WATCHED_DATA, path, as_of) != NULL
               ? 0
               : HF_ENOMEM;
}

int hf_zk_listen_folder(struct hf_zk *zk, struct hf_zk_listener *listener,
                        const char *path, uint64_t stamp)
{
    int64_t               as_of = stamp != 0 ? (int64_t)stamp : zk->link.zxid;
    struct hf_zk_watched *watched =
        hf_zk_watched_find(zk, HF_ZK_WATCHED_CHILDREN, path, strlen(path));

    if (watched != NULL && stamp != 0 && watched->stamp != 0 && stamp != watched->stamp)
        return 1;
    watched = join_watched(zk, listener, HF_ZK_WATCHED_CHILDREN, path, as_of);
    if (watched == NULL)
        return HF_ENOMEM;
    if (watched->stamp == 0)
        watched->stamp = stamp;
    return 0;
}

static bool take_listener_out(struct hf_zk_listener **list,
                              struct hf_zk_listener  *listener)
{
    while (*list != NULL && *list != listener)
        list = &(*list)->next;
    if (*list == NULL)
        return false;
    *list = listener->next;
    return true;
}

void hf_zk_unlisten(struct hf_zk *zk, struct hf_zk_listener *listener, bool node_deleted)
{
    struct hf_zk_watched *watched = listener->watched;
    if (watched == NULL)
        return;

    bool found = take_listener_out(&watched->listeners, listener) ||
                 take_listener_out(&watched->to_notify, listener);
    assert(found);
    (void)found;
    listener->watched = NULL;
    if (watched->listeners != NULL || watched->to_notify != NULL)
        return;
    watched->node_deleted = node_deleted;
    check_fields(watched);
    if (watched->state == HF_ZK_WATCH_SET && !watched->notifying)
        hf_zk_watched_remove(
            zk, watched); /* else when it is sent, answered, or all are notified */
}

const char *hf_zk_listener_path(const struct hf_zk_listener *listener)
{
    return listener->watched->path;
}

bool hf_zk_is_watch_set(const struct hf_zk_listener *listener)
{
    return listener->watched != NULL && listener->watched->state == HF_ZK_WATCH_SET;
}

bool hf_zk_is_readable(const struct hf_zk_listener *listener)
{
    return listener->watched != NULL && listener->watched->readable;
}

/* ---- Notifying ---------------------------------------------------------------------- */

/* Notify all listeners and free it.  They may listen again, to this path, too. */
static void fire_watched(struct hf_zk *zk, struct hf_zk_watched *watched,
                         enum hf_zk_news news)
{
    assert(!watched->notifying);
    unlink_watched(zk, watched);
    hf_zk_watched_become(watched, HF_ZK_WATCH_FIRED);
    while (watched->listeners != NULL) {
        struct hf_zk_listener *listener = watched->listeners;
        watched->listeners = listener->next;
        listener->watched = NULL;
        zk->seen.path = watched->path;
        listener->on_news(zk, listener, news);
    }
    free(watched);
}

/* Listeners that have been notified go to another list, since any of them may join or
 * stop meanwhile. */
static void notify_listeners(struct hf_zk *zk, struct hf_zk_watched *watched,
                             enum hf_zk_news news)
{
    assert(!watched->notifying && watched->to_notify == NULL);
    watched->notifying = true;
    watched->to_notify = watched->listeners;
    watched->listeners = NULL;
    while (watched->to_notify != NULL) {
        struct hf_zk_listener *listener = watched->to_notify;
        watched->to_notify = listener->next;
        listener->next = watched->listeners;
        watched->listeners = listener;
        listener->on_news(zk, listener, news);
    }
    watched->notifying = false;
    check_fields(watched);
    if (watched->listeners == NULL && watched->state == HF_ZK_WATCH_SET)
        hf_zk_watched_remove(zk, watched);
}

void hf_zk_watched_settle(struct hf_zk *zk, struct hf_zk_watched *watched, int error,
                          int64_t as_of)
{
    assert(watched->state == HF_ZK_WATCH_SENT);
    if (error != 0 && watched->listeners == NULL) {
        hf_zk_watched_remove(zk, watched);
    } else if (error != 0) {
        hf_zk_watched_queue(zk, watched);
        if (error != HF_ZK_CONNECTION_LOSS)
            zk->watched.retry = zk->remote.now + HF_ZK_RETRY;
    } else if (watched->early != HF_ZK_NEWS_SET) {
        fire_watched(zk, watched, watched->early);
    } else {
        hf_zk_watched_become(watched, HF_ZK_WATCH_SET);
        zk->seen = (struct hf_zk_seen){ .gap = as_of > watched->as_of };
        notify_listeners(zk, watched, HF_ZK_NEWS_SET);
    }
}

void hf_zk_watched_event(struct hf_zk *zk, int32_t type, struct hf_zk_text path)
{
    static const enum hf_zk_watched_kind kinds[] = { HF_ZK_WATCHED_DATA,
                                                     HF_ZK_WATCHED_CHILDREN };
    enum hf_zk_news                      news =
        type == HF_ZK_EVENT_DELETED ? HF_ZK_NEWS_GONE : HF_ZK_NEWS_CHANGED;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct hf_zk_watched *watched =
            hf_zk_watched_find(zk, kinds[i], path.bytes, path.size);
        if (watched == NULL)
            continue; /* nobody listens any more */
        if (type == HF_ZK_EVENT_CHANGED && watched->kind != HF_ZK_WATCHED_DATA)
            continue;
        if (type == HF_ZK_EVENT_CHILDREN && watched->kind != HF_ZK_WATCHED_CHILDREN)
            continue;
        if (watched->state == HF_ZK_WATCH_SET)
            fire_watched(zk, watched, news);
        else if (watched->state == HF_ZK_WATCH_SENT && watched->early != HF_ZK_NEWS_GONE)
            watched->early = news;
    }
}

/* ---- Reading ------------------------------------------------------------------------ */

struct reading {
    struct hf_zk_call call;
    char              path[];
};

static void on_watched_read(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct reading       *reading = data;
    size_t                size = strlen(reading->path);
    struct hf_zk_watched *watched =
        hf_zk_watched_find(zk, HF_ZK_WATCHED_DATA, reading->path, size);
    bool settled = watched != NULL && watched->state == HF_ZK_WATCH_SET;

    zk->seen = (struct hf_zk_seen){ .text = hf_zk_get_text(&reply->body) };
    hf_zk_get_stat(&reply->body, &zk->seen.stat);
    if (watched != NULL) {
        watched->reading = false;
        watched->readable = watched->readable || reply->error == 0;
    }
    if (settled && reply->error == 0)
        notify_listeners(zk, watched, HF_ZK_NEWS_READ);
    else if (settled && reply->error == HF_ZK_NO_AUTH)
        fire_watched(zk, watched, HF_ZK_NEWS_UNREADABLE);
    else if (settled &&
             reply->error == HF_ZK_NO_NODE) /* it was unreadable, and is gone */
        fire_watched(zk, watched, HF_ZK_NEWS_GONE);
    free(reading);
}

void hf_zk_read_watched(struct hf_zk *zk, const struct hf_zk_listener *listener)
{
    struct hf_zk_watched *watched = listener->watched;

    if (watched == NULL || watched->state != HF_ZK_WATCH_SET || watched->reading ||
        zk->dial.phase != HF_DIAL_READY)
        return;
    struct reading *reading = calloc(1, sizeof *reading + strlen(watched->path) + 1);
    if (reading == NULL)
        return;
    memcpy(reading->path, watched->path, strlen(watched->path) + 1);
    watched->reading = true;
    hf_zk_call_get(zk, &reading->call, HF_ZK_GET_DATA, reading->path, on_watched_read,
                   reading);
}
