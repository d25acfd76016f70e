/* listen.c - who listens to a watched path: they come and go. */
#include "store/zookeeper/watched.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct hf_zk_watched *join_watched(struct hf_zk           *zk,
                                          struct hf_zk_listener  *listener,
                                          enum hf_zk_watched_kind kind, const char *path,
                                          int64_t as_of)
{
    struct hf_zk_watched *watched = hf_zk_watched_find(zk, kind, path, strlen(path));

    assert(listener->watched == NULL && listener->on_news != NULL);
    assert(path[0] == '/' && listener->data != NULL);
    if (watched == NULL) {
        watched = hf_zk_watched_new(zk, kind, path);
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
    watched->bare = watched->stamp == HF_ZK_STAMP_NONE;
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
