/* watch.c - watched paths and who listens to them.
 *
 * A watch fires once, for whoever asked on this connection.  We keep one for each
 * path and kind, however many listen, and have it restored when a new connection
 * takes over the session: what happened in between is then told.
 *
 *     WANTED --read with watch sent--> ARMING --answered--> ARMED --event--> gone
 *        ^----------connection broke-----+
 *
 * A node is watched by reading it: unlike `exists`, that leaves nothing behind
 * when it is not there.  A folder that is not there has to be waited for with
 * `exists`, though.
 */
#include "store/zookeeper/watch.h"

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

static struct hf_zk_watch **bucket_of(struct hf_zk *zk, const char *path, size_t size)
{
    return &zk->watches.bucket[hf_zk_hash(path, size)];
}

static struct hf_zk_watch *find(struct hf_zk *zk, enum hf_zk_watch_kind kind,
                                const char *path, size_t size)
{
    struct hf_zk_watch *watch = *bucket_of(zk, path, size);

    while (watch != NULL && (watch->kind != kind || strlen(watch->path) != size ||
                             memcmp(watch->path, path, size) != 0))
        watch = watch->next;
    return watch;
}

static void unlink_watch(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    struct hf_zk_watch **at = bucket_of(zk, watch->path, strlen(watch->path));

    while (*at != watch)
        at = &(*at)->next;
    *at = watch->next;
    zk->watches.count--;
}

/* Tell everybody, and forget it.  Those told may listen anew, to this path too. */
static void fire(struct hf_zk *zk, struct hf_zk_watch *watch, enum hf_zk_news news)
{
    assert(!watch->call.flying);
    unlink_watch(zk, watch);
    watch->state = FIRING;
    while (watch->listeners != NULL) {
        struct hf_zk_listener *listener = watch->listeners;
        watch->listeners = listener->next;
        listener->watch = NULL;
        zk->seen.path = watch->path;
        listener->on_news(zk, listener, news);
    }
    free(watch);
}

/* ---- Arming -------------------------------------------------------------------------- */

/* The server is to forget it; we have already. */
static void on_removed(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    (void)zk, (void)reply;
    free(data);
}

static void remove_watch(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    static const int32_t types[] = { [HF_ZK_WATCH_DATA] = 2, [HF_ZK_WATCH_CHILDREN] = 1 };

    unlink_watch(zk, watch);
    if (watch->state != ARMED || watch->goes || zk->dial.phase != HF_DIAL_READY) {
        free(watch);
        return;
    }
    size_t begin =
        hf_zk_call_begin(zk, &watch->call, HF_ZK_REMOVE_WATCHES, on_removed, watch);
    hf_zk_put_string(&zk->calls.out, watch->path);
    hf_zk_put_int(&zk->calls.out, watch->bare ? 2 : types[watch->kind]);
    hf_zk_call_end(zk, begin);
}

/* A listener may end itself or others while it is told, or have others join: so whoever
 * has been told is moved to another list, and the watch stays until all have been. */
static void tell_armed(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    watch->state = ARMED;
    watch->stamp = zk->seen.there ? (uint64_t)zk->seen.stat.pzxid : 1;
    watch->telling = true;
    watch->untold = watch->listeners;
    watch->listeners = NULL;
    while (watch->untold != NULL) {
        struct hf_zk_listener *listener = watch->untold;
        watch->untold = listener->next;
        listener->next = watch->listeners;
        watch->listeners = listener;
        listener->on_news(zk, listener, HF_ZK_NEWS_ARMED);
    }
    watch->telling = false;
    if (watch->listeners == NULL && watch->state == ARMED)
        remove_watch(zk, watch);
}

static void read_seen(struct hf_zk *zk, struct hf_zk_watch *watch,
                      struct hf_zk_reply *reply)
{
    zk->seen = (struct hf_zk_seen){ .there = reply->error == 0 };
    if (reply->error != 0)
        return;
    if (watch->kind == HF_ZK_WATCH_DATA) {
        zk->seen.text = hf_zk_get_text(&reply->body);
    } else {
        size_t count = hf_zk_get_count(&reply->body, 4);
        for (size_t i = 0; i < count; i++)
            hf_zk_get_text(&reply->body);
    }
    hf_zk_get_stat(&reply->body, &zk->seen.stat);
}

static void on_armed(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_watch *watch = data;
    bool                folder = watch->kind == HF_ZK_WATCH_CHILDREN;
    int                 error = reply->error;

    watch->state = WANTED;
    if (watch->listeners == NULL && error != 0) {
        unlink_watch(zk, watch);
        free(watch);
    } else if (error == HF_ZK_CONNECTION_LOSS) {
        return; /* it is armed again on the next connection */
    } else if (error == HF_ZK_NO_NODE && folder && !watch->bare) {
        watch->bare = true;
        hf_zk_watch_arm(zk, watch);
    } else if (error == HF_ZK_NO_AUTH && !folder) {
        fire(zk, watch, HF_ZK_NEWS_HIDDEN);
    } else if (error != 0 && error != HF_ZK_NO_NODE && !folder) {
        zk->watches.again = zk->remote.now + AGAIN; /* not a sign that it is gone */
    } else if (error != 0) {
        fire(zk, watch, HF_ZK_NEWS_GONE);
    } else {
        read_seen(zk, watch, reply);
        tell_armed(zk, watch);
    }
}

/* `exists` on a folder that is not there leaves a watch that fires when it is made.
 * If it was made meanwhile it can be listed after all. */
static void on_exists(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_watch *watch = data;

    zk->seen = (struct hf_zk_seen){ 0 };
    if (reply->error == 0) {
        watch->bare = false;
        hf_zk_watch_arm(zk, watch);
    } else if (reply->error == HF_ZK_NO_NODE) {
        tell_armed(zk, watch);
    } else {
        on_armed(zk, watch, reply);
    }
}

void hf_zk_watch_arm(struct hf_zk *zk, struct hf_zk_watch *watch)
{
    bool folder = watch->kind == HF_ZK_WATCH_CHILDREN;

    watch->state = ARMING;
    hf_zk_call_get(zk, &watch->call,
                   watch->bare ? HF_ZK_EXISTS
                   : folder    ? HF_ZK_GET_CHILDREN2
                               : HF_ZK_GET_DATA,
                   watch->path, true, watch->bare ? on_exists : on_armed, watch);
}

/* ---- Listening ----------------------------------------------------------------------- */

static struct hf_zk_watch *watch_new(struct hf_zk *zk, enum hf_zk_watch_kind kind,
                                     const char *path)
{
    size_t              size = strlen(path);
    struct hf_zk_watch *watch = calloc(1, sizeof *watch + size + 1);
    if (watch == NULL)
        return NULL;

    struct hf_zk_watch **bucket = bucket_of(zk, path, size);
    memcpy(watch->path, path, size + 1);
    watch->kind = kind;
    watch->next = *bucket;
    *bucket = watch;
    zk->watches.count++;
    return watch;
}

int hf_zk_listen(struct hf_zk *zk, struct hf_zk_listener *listener,
                 enum hf_zk_watch_kind kind, const char *path)
{
    struct hf_zk_watch *watch = find(zk, kind, path, strlen(path));
    bool                fresh = watch == NULL;

    assert(listener->watch == NULL && listener->on_news != NULL);
    if (fresh)
        watch = watch_new(zk, kind, path);
    if (watch == NULL)
        return HF_ENOMEM;
    listener->watch = watch;
    listener->next = watch->listeners;
    watch->listeners = listener;
    watch->goes = false;
    if (fresh && zk->dial.phase == HF_DIAL_READY)
        hf_zk_watch_arm(zk, watch);
    return 0;
}

/* What fires while it is read again is in what is read. */
void hf_zk_reread(struct hf_zk *zk, struct hf_zk_listener *listener)
{
    struct hf_zk_watch *watch = listener->watch;

    if (watch == NULL || watch->state != ARMED)
        return;
    watch->state = WANTED;
    if (zk->dial.phase == HF_DIAL_READY)
        hf_zk_watch_arm(zk, watch);
}

static bool take_out(struct hf_zk_listener **list, struct hf_zk_listener *listener)
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
    struct hf_zk_watch *watch = listener->watch;
    if (watch == NULL)
        return;

    if (!take_out(&watch->listeners, listener))
        take_out(&watch->untold, listener);
    listener->watch = NULL;
    if (watch->listeners != NULL || watch->untold != NULL)
        return;
    watch->goes = goes;
    if ((watch->state == WANTED || watch->state == ARMED) && !watch->telling)
        remove_watch(zk, watch); /* else when it is answered, or all were told */
}

bool hf_zk_is_armed(const struct hf_zk *zk, const struct hf_zk_listener *listener)
{
    return listener->watch != NULL && listener->watch->state == ARMED &&
           zk->watches.restoring == 0;
}

bool hf_zk_has_joined(const struct hf_zk_listener *listener)
{
    return listener->watch != NULL && listener->watch->state == ARMED;
}

uint64_t hf_zk_watch_stamp(const struct hf_zk_listener *listener)
{
    return listener->watch->stamp;
}

/* ---- Events -------------------------------------------------------------------------- */

void hf_zk_watches_event(struct hf_zk *zk, int32_t type, struct hf_zk_text path)
{
    static const enum hf_zk_watch_kind kinds[] = { HF_ZK_WATCH_DATA,
                                                   HF_ZK_WATCH_CHILDREN };
    enum hf_zk_news                    news =
        type == HF_ZK_EVENT_DELETED ? HF_ZK_NEWS_GONE : HF_ZK_NEWS_CHANGED;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct hf_zk_watch *watch = find(zk, kinds[i], path.bytes, path.size);
        if (watch == NULL || watch->state != ARMED)
            continue; /* an old one: nobody listens any more */
        if (type == HF_ZK_EVENT_CHANGED && watch->kind != HF_ZK_WATCH_DATA)
            continue;
        if (type == HF_ZK_EVENT_CHILDREN && watch->kind != HF_ZK_WATCH_CHILDREN)
            continue;
        fire(zk, watch, news);
    }
}
