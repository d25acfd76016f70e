/* watched.c - watched paths: how they are armed, and what becomes of them.
 *
 * A server's watch fires once, on the connection that set it.  We keep one for each path
 * and kind, however many listen.  All are set by SET_WATCHES (set_watches.c), for which it
 * makes no difference whether a watch is new or a new connection takes over the session.
 *
 *     from     to       when
 *     QUEUED   ARMING   it is sent, with others
 *     ARMING   QUEUED   the connection broke, or the server would not
 *              ARMED    it was answered, and the watch is set
 *              FIRING   it was answered, and an event came in front of that
 *     ARMED    FIRING   an event has come
 *              QUEUED   there is a new connection
 *     FIRING            the listeners are told, and it is freed
 *
 * A server gives no news of a node to those who may not read it, not even that it is deleted
 * (since CVE-2024-23944), and SET_WATCHES does not say so.  A waiter that depends on
 * a node for longer reads it (hf_zk_read_watched).
 */
#include "store/zookeeper/watched.h"

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

/* The table above. */
static bool may_go(enum hf_zk_watched_state from, enum hf_zk_watched_state to)
{
    switch (from) {
    case QUEUED:
        return to == ARMING;
    case ARMING:
        return to != ARMING;
    case ARMED:
        return to == QUEUED || to == FIRING;
    case FIRING:
        break;
    }
    return false;
}

void hf_zk_watched_set(struct hf_zk_watched *watched, enum hf_zk_watched_state state)
{
    assert(may_go(watched->state, state));
    watched->state = state;
}

void hf_zk_watched_queue(struct hf_zk *zk, struct hf_zk_watched *watched)
{
    if (watched->state != QUEUED)
        hf_zk_watched_set(watched, QUEUED);
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

/* The server is to forget it; we have already. */
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

    assert(watched->listeners == NULL && watched->untold == NULL);
    unlink_watched(zk, watched);
    if (watched->state != ARMED || watched->goes || zk->dial.phase != HF_DIAL_READY) {
        free(watched);
        return;
    }
    hf_zk_call_begin(zk, &watched->call, HF_ZK_REMOVE_WATCHES, on_removed, watched);
    hf_zk_put_string(&zk->calls.out, watched->path);
    hf_zk_put_int(&zk->calls.out, children ? CHILDREN : DATA_OR_EXISTENCE);
    hf_zk_call_end(zk);
}

/* ---- Listening ----------------------------------------------------------------------- */

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
    if (as_of < watched->as_of && watched->state != ARMING) {
        watched->as_of = as_of; /* this one wants to know more */
        if (watched->state == ARMED)
            hf_zk_watched_queue(zk, watched);
    }
    listener->watched = watched;
    listener->next = watched->listeners;
    watched->listeners = listener;
    watched->goes = false;
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

void hf_zk_unlisten(struct hf_zk *zk, struct hf_zk_listener *listener, bool goes)
{
    struct hf_zk_watched *watched = listener->watched;
    if (watched == NULL)
        return;

    bool found = take_listener_out(&watched->listeners, listener) ||
                 take_listener_out(&watched->untold, listener);
    assert(found);
    (void)found;
    listener->watched = NULL;
    if (watched->listeners != NULL || watched->untold != NULL)
        return;
    watched->goes = goes;
    if (watched->state == ARMED && !watched->telling)
        hf_zk_watched_remove(zk, watched); /* else when it is sent, or all were told */
}

const char *hf_zk_listener_path(const struct hf_zk_listener *listener)
{
    return listener->watched->path;
}

bool hf_zk_is_armed(const struct hf_zk_listener *listener)
{
    return listener->watched != NULL && listener->watched->state == ARMED;
}

bool hf_zk_is_read(const struct hf_zk_listener *listener)
{
    return listener->watched != NULL && listener->watched->read;
}

/* ---- Telling ------------------------------------------------------------------------- */

/* Tell everybody, and forget it.  Those told may listen anew, to this path too. */
static void fire_watched(struct hf_zk *zk, struct hf_zk_watched *watched,
                         enum hf_zk_news news)
{
    assert(!watched->telling);
    unlink_watched(zk, watched);
    hf_zk_watched_set(watched, FIRING);
    while (watched->listeners != NULL) {
        struct hf_zk_listener *listener = watched->listeners;
        watched->listeners = listener->next;
        listener->watched = NULL;
        zk->seen.path = watched->path;
        listener->on_news(zk, listener, news);
    }
    free(watched);
}

/* While it is told, a listener may end itself or others, or have others join.  So those who
 * were told are moved to another list, and the path stays until all of them were. */
static void tell_watched(struct hf_zk *zk, struct hf_zk_watched *watched,
                         enum hf_zk_news news)
{
    assert(!watched->telling && watched->untold == NULL);
    watched->telling = true;
    watched->untold = watched->listeners;
    watched->listeners = NULL;
    while (watched->untold != NULL) {
        struct hf_zk_listener *listener = watched->untold;
        watched->untold = listener->next;
        listener->next = watched->listeners;
        watched->listeners = listener;
        listener->on_news(zk, listener, news);
    }
    watched->telling = false;
    if (watched->listeners == NULL && watched->state == ARMED)
        hf_zk_watched_remove(zk, watched);
}

void hf_zk_watched_settle(struct hf_zk *zk, struct hf_zk_watched *watched, int error,
                          int64_t as_of)
{
    assert(watched->state == ARMING);
    if (error != 0 && watched->listeners == NULL) {
        hf_zk_watched_remove(zk, watched);
    } else if (error != 0) {
        hf_zk_watched_queue(zk, watched);
        if (error != HF_ZK_CONNECTION_LOSS)
            zk->watched.again = zk->remote.now + HF_ZK_AGAIN;
    } else if (watched->early != HF_ZK_NEWS_ARMED) {
        fire_watched(zk, watched, watched->early);
    } else {
        hf_zk_watched_set(watched, ARMED);
        zk->seen = (struct hf_zk_seen){ .gap = as_of > watched->as_of };
        tell_watched(zk, watched, HF_ZK_NEWS_ARMED);
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
            continue; /* an old one: nobody listens any more */
        if (type == HF_ZK_EVENT_CHANGED && watched->kind != HF_ZK_WATCHED_DATA)
            continue;
        if (type == HF_ZK_EVENT_CHILDREN && watched->kind != HF_ZK_WATCHED_CHILDREN)
            continue;
        if (watched->state == ARMED)
            fire_watched(zk, watched, news);
        else if (watched->state == ARMING && watched->early != HF_ZK_NEWS_GONE)
            watched->early = news; /* told when it is settled */
    }
}

/* ---- Reading -------------------------------------------------------------------------- */

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
    bool settled = watched != NULL && watched->state == ARMED;

    zk->seen = (struct hf_zk_seen){ .text = hf_zk_get_text(&reply->body) };
    hf_zk_get_stat(&reply->body, &zk->seen.stat);
    if (watched != NULL) {
        watched->reading = false;
        watched->read = watched->read || reply->error == 0;
    }
    if (settled && reply->error == 0)
        tell_watched(zk, watched, HF_ZK_NEWS_READ);
    else if (settled && reply->error == HF_ZK_NO_AUTH)
        fire_watched(zk, watched, HF_ZK_NEWS_HIDDEN);
    else if (settled && reply->error == HF_ZK_NO_NODE) /* it was hidden, and is gone */
        fire_watched(zk, watched, HF_ZK_NEWS_GONE);
    free(reading);
}

void hf_zk_read_watched(struct hf_zk *zk, const struct hf_zk_listener *listener)
{
    struct hf_zk_watched *watched = listener->watched;

    if (watched == NULL || watched->state != ARMED || watched->reading ||
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
