/* listen.c - who listens to a watched path: they come, ask what they need to know, and go.
 */
#include "store/zookeeper/watched.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct hf_zk_watched *hf_zk_listener_join(struct hf_zk           *zk,
                                          struct hf_zk_listener  *listener,
                                          enum hf_zk_watched_kind kind, const char *path,
                                          bool *fresh)
{
    struct hf_zk_watched *watched = hf_zk_watched_find(zk, kind, path, strlen(path));

    assert(listener->watched == NULL && listener->on_news != NULL);
    assert(path[0] == '/' && listener->data != NULL);
    *fresh = watched == NULL && zk->dial.phase == HF_DIAL_READY;
    if (watched == NULL)
        watched = hf_zk_watched_new(zk, kind, path);
    if (watched == NULL)
        return NULL;
    listener->watched = watched;
    listener->next = watched->listeners;
    watched->listeners = listener;
    watched->goes = false;
    return watched;
}

int hf_zk_listen(struct hf_zk *zk, struct hf_zk_listener *listener,
                 enum hf_zk_watched_kind kind, const char *path)
{
    bool                  fresh;
    struct hf_zk_watched *watched = hf_zk_listener_join(zk, listener, kind, path, &fresh);

    if (watched == NULL)
        return HF_ENOMEM;
    if (fresh)
        hf_zk_watched_arm(zk, watched);
    else
        hf_zk_read_blind(zk, listener);
    return 0;
}

int hf_zk_listen_place(struct hf_zk *zk, struct hf_zk_listener *listener,
                       const struct hf_zk_line *line, const struct hf_zk_place *place)
{
    char *path = hf_zk_path_new(line, place->name);
    int   r = HF_ENOMEM;

    if (path != NULL)
        r = hf_zk_listen(zk, listener, HF_ZK_WATCHED_DATA, path);
    free(path);
    return r;
}

/* An event that comes meanwhile says nothing new: what is read shows it. */
void hf_zk_reread(struct hf_zk *zk, struct hf_zk_listener *listener)
{
    struct hf_zk_watched *watched = listener->watched;

    if (watched == NULL)
        return;
    watched->unread = watched->state == QUEUED || watched->batched;
    if (watched->state != ARMED)
        return;
    hf_zk_watched_set(watched, WANTED);
    if (zk->dial.phase == HF_DIAL_READY)
        hf_zk_watched_arm(zk, watched);
}

void hf_zk_read_blind(struct hf_zk *zk, struct hf_zk_listener *listener)
{
    const struct hf_zk_watched *watched = listener->watched;

    if (watched != NULL && (watched->state == QUEUED || watched->blind))
        hf_zk_reread(zk, listener);
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
    if ((watched->state == WANTED || watched->state == ARMED) && !watched->telling)
        hf_zk_watched_remove(zk,
                             watched); /* else when it is answered, or all were told */
}

const char *hf_zk_listener_path(const struct hf_zk_listener *listener)
{
    return listener->watched != NULL ? listener->watched->path : NULL;
}

bool hf_zk_is_armed(const struct hf_zk *zk, const struct hf_zk_listener *listener)
{
    return listener->watched != NULL && listener->watched->state == ARMED &&
           zk->watched.restoring == 0;
}

bool hf_zk_has_joined(const struct hf_zk_listener *listener)
{
    return listener->watched != NULL && listener->watched->state == ARMED;
}

uint64_t hf_zk_watched_stamp(const struct hf_zk_listener *listener)
{
    assert(listener->watched != NULL &&
           listener->watched->kind == HF_ZK_WATCHED_CHILDREN);
    return listener->watched->stamp;
}
