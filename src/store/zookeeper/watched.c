/* watched.c - watched paths: how they are armed, and what becomes of them.
 *
 * A server's watch fires once, on the connection that set it.  We keep one for each path
 * and kind, however many listen, and have it restored when a new connection takes over the
 * session: what happened in between is then told.
 *
 *     from     to       when
 *     WANTED   ARMING   a read that sets the watch is sent
 *              QUEUED   it is to be armed with others, see together.c
 *              ARMED    it was answered, and the watch is set
 *              FIRING   it was answered: the node is gone, or hidden
 *     QUEUED   WANTED   its turn has come
 *     ARMING   WANTED   answered, whatever the answer; or the connection broke
 *     ARMED    FIRING   an event has come
 *              WANTED   it is to be read again
 *     FIRING            the listeners are told, and it is freed
 *
 * A node is watched by reading it: unlike `exists`, that leaves nothing behind
 * when it is not there.  A folder that is not there has to be waited for with
 * `exists`, though.
 */
#include "store/zookeeper/watched.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN (200 * HF_MS) /* after so long, what a server would not let us watch */

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
    case WANTED:
        return to != WANTED;
    case QUEUED:
    case ARMING:
        return to == WANTED;
    case ARMED:
        return to == WANTED || to == FIRING;
    case FIRING:
        break;
    }
    return false;
}

void hf_zk_watched_set(struct hf_zk_watched *watched, enum hf_zk_watched_state state)
{
    assert(may_go(watched->state, state));
    assert(!watched->call.flying); /* what flies is ARMING */
    watched->state = state;
}

struct hf_zk_watched *hf_zk_watched_new(struct hf_zk *zk, enum hf_zk_watched_kind kind,
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
    zk->watched.count++;
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

/* ---- Arming -------------------------------------------------------------------------- */

/* The server is to forget it; we have already. */
static void on_removed(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    (void)zk, (void)reply;
    free(data);
}

void hf_zk_watched_remove(struct hf_zk *zk, struct hf_zk_watched *watched)
{
    static const int32_t types[] = {
        [HF_ZK_WATCHED_DATA] = 2, [HF_ZK_WATCHED_CHILDREN] = 1
    };

    assert(watched->listeners == NULL && watched->untold == NULL);
    assert(watched->state == WANTED || watched->state == ARMED);
    unlink_watched(zk, watched);
    if (watched->state != ARMED || watched->goes || zk->dial.phase != HF_DIAL_READY) {
        free(watched);
        return;
    }
    size_t begin =
        hf_zk_call_begin(zk, &watched->call, HF_ZK_REMOVE_WATCHES, on_removed, watched);
    hf_zk_put_string(&zk->calls.out, watched->path);
    hf_zk_put_int(&zk->calls.out, watched->bare ? 2 : types[watched->kind]);
    hf_zk_call_end(zk, begin);
}

/* While it is told, a listener may end itself or others, or have others join.  So those who
 * were told are moved to another list, and the path stays until all of them were. */
static void tell_armed(struct hf_zk *zk, struct hf_zk_watched *watched)
{
    assert(!watched->telling && watched->untold == NULL);
    hf_zk_watched_set(watched, ARMED);
    watched->stamp = zk->seen.there ? (uint64_t)zk->seen.stat.pzxid : 1;
    watched->telling = true;
    watched->untold = watched->listeners;
    watched->listeners = NULL;
    while (watched->untold != NULL) {
        struct hf_zk_listener *listener = watched->untold;
        watched->untold = listener->next;
        listener->next = watched->listeners;
        watched->listeners = listener;
        listener->on_news(zk, listener, HF_ZK_NEWS_ARMED);
    }
    watched->telling = false;
    if (watched->listeners == NULL && watched->state == ARMED)
        hf_zk_watched_remove(zk, watched);
}

static void read_seen(struct hf_zk *zk, const struct hf_zk_watched *watched,
                      struct hf_zk_reply *reply)
{
    assert(reply->error == 0 && !watched->bare);
    zk->seen = (struct hf_zk_seen){ .there = true };
    if (watched->kind == HF_ZK_WATCHED_DATA) {
        zk->seen.text = hf_zk_get_text(&reply->body);
    } else {
        size_t count = hf_zk_get_count(&reply->body, 4);
        for (size_t i = 0; i < count; i++)
            hf_zk_get_text(&reply->body);
    }
    hf_zk_get_stat(&reply->body, &zk->seen.stat);
}

static void not_armed(struct hf_zk *zk, struct hf_zk_watched *watched, int error)
{
    bool folder = watched->kind == HF_ZK_WATCHED_CHILDREN;

    assert(error != 0 && watched->state == WANTED);
    if (watched->listeners == NULL) {
        unlink_watched(zk, watched);
        free(watched);
    } else if (error == HF_ZK_CONNECTION_LOSS) {
        return; /* it is armed again on the next connection */
    } else if (error == HF_ZK_NO_NODE && folder && !watched->bare) {
        watched->bare = true;
        hf_zk_watched_arm(zk, watched);
    } else if (error == HF_ZK_NO_AUTH && !folder) {
        fire_watched(zk, watched, HF_ZK_NEWS_HIDDEN);
    } else if (error != HF_ZK_NO_NODE && !folder) {
        zk->watched.again = zk->remote.now + AGAIN; /* not a sign that it is gone */
    } else {
        fire_watched(zk, watched, HF_ZK_NEWS_GONE);
    }
}

static void on_armed(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_watched *watched = data;

    hf_zk_watched_set(watched, WANTED);
    if (reply->error != 0) {
        not_armed(zk, watched, reply->error);
        return;
    }
    read_seen(zk, watched, reply);
    tell_armed(zk, watched);
}

/* `exists` on a folder that is not there leaves a watch that fires when it is made.
 * If it was made meanwhile it can be listed after all. */
static void on_folder_awaited(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_watched *watched = data;

    assert(watched->bare && watched->kind == HF_ZK_WATCHED_CHILDREN);
    hf_zk_watched_set(watched, WANTED);
    zk->seen = (struct hf_zk_seen){ 0 };
    if (reply->error == 0) {
        watched->bare = false;
        hf_zk_watched_arm(zk, watched);
    } else if (reply->error == HF_ZK_NO_NODE) {
        tell_armed(zk, watched);
    } else {
        not_armed(zk, watched, reply->error);
    }
}

void hf_zk_watched_arm(struct hf_zk *zk, struct hf_zk_watched *watched)
{
    bool folder = watched->kind == HF_ZK_WATCHED_CHILDREN;

    assert(zk->dial.phase == HF_DIAL_READY);
    hf_zk_watched_set(watched, ARMING);
    watched->unread = watched->blind = false;
    hf_zk_call_get(zk, &watched->call,
                   watched->bare ? HF_ZK_EXISTS
                   : folder      ? HF_ZK_GET_CHILDREN2
                                 : HF_ZK_GET_DATA,
                   watched->path, true, watched->bare ? on_folder_awaited : on_armed,
                   watched);
}

void hf_zk_watched_settle(struct hf_zk *zk, struct hf_zk_watched *watched, int error,
                          int64_t as_of)
{
    assert(watched->batched && watched->kind == HF_ZK_WATCHED_DATA);
    watched->batched = false;
    hf_zk_watched_set(watched, WANTED);
    zk->seen = (struct hf_zk_seen){ .text = { .bytes = "" }, .as_of = as_of };
    if (error == HF_ZK_CONNECTION_LOSS || (error != 0 && watched->listeners == NULL))
        not_armed(zk, watched, error);
    else if (watched->heard != HF_ZK_NEWS_ARMED)
        fire_watched(zk, watched, watched->heard);
    else if (error != 0 || (watched->unread && watched->listeners != NULL))
        hf_zk_watched_arm(zk, watched);
    else
        tell_armed(zk, watched);
}

/* ---- Events -------------------------------------------------------------------------- */

void hf_zk_watched_event(struct hf_zk *zk, int32_t type, struct hf_zk_text path)
{
    static const enum hf_zk_watched_kind kinds[] = { HF_ZK_WATCHED_DATA,
                                                     HF_ZK_WATCHED_CHILDREN };
    enum hf_zk_news                      news =
        type == HF_ZK_EVENT_DELETED ? HF_ZK_NEWS_GONE : HF_ZK_NEWS_CHANGED;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct hf_zk_watched *watched =
            hf_zk_watched_find(zk, kinds[i], path.bytes, path.size);
        if (watched != NULL && watched->batched && watched->heard != HF_ZK_NEWS_GONE)
            watched->heard = news; /* told when it is settled */
        if (watched == NULL || watched->state != ARMED)
            continue; /* an old one: nobody listens any more */
        if (type == HF_ZK_EVENT_CHANGED && watched->kind != HF_ZK_WATCHED_DATA)
            continue;
        if (type == HF_ZK_EVENT_CHILDREN && watched->kind != HF_ZK_WATCHED_CHILDREN)
            continue;
        fire_watched(zk, watched, news);
    }
}
