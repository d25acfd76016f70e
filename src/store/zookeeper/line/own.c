/* own.c - our own places, found by the id that the caller gave them.
 *
 * Each has a uuid that is made from its id and is part of its node's name.  So if the
 * answer to its creation is lost, the place can be found again, and is never created
 * twice.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct hf_zk_own **own_bucket(const struct hf_zk *zk, uint64_t id)
{
    return (struct hf_zk_own **)&zk->own[id % HF_ZK_BUCKETS];
}

struct hf_zk_own *hf_zk_own_find(const struct hf_zk *zk, uint64_t id)
{
    struct hf_zk_own *own = id != 0 ? *own_bucket(zk, id) : NULL;

    while (own != NULL && own->id != id)
        own = own->next;
    return own;
}

#define NUMBER_MOST 12 /* characters behind the name of a place or slot */

/* Of the paths of its nodes, as servers write them; a downgrade may be longer by one. */
static size_t bytes_of(const struct hf_zk *zk, const struct hf_zk_own *own)
{
    size_t folder = 4 + strlen(own->line->folder) + 1;
    char   prefix[HF_ZK_CHILD_MAX];

    hf_zk_child_prefix(zk->config.style, &own->shape, own->uuid, prefix);
    size_t bytes = folder + strlen(prefix) + 1 + NUMBER_MOST;
    if (own->shape.weight > 1)
        bytes += HF_ZK_TOKEN_MOST;
    if (own->shape.claim || hf_shape_has_slots(&own->shape))
        bytes += folder + strlen("slot-") + NUMBER_MOST;
    return bytes;
}

struct hf_zk_own *hf_zk_own_new(struct hf_zk *zk, const struct hf_req *req)
{
    assert(req->id != 0 && hf_zk_own_find(zk, req->id) == NULL);
    struct hf_zk_own  *own = calloc(1, sizeof *own);
    struct hf_zk_line *line = hf_zk_line_get(zk, req->name);
    if (own == NULL || line == NULL) {
        free(own);
        if (line != NULL)
            hf_zk_line_put(zk, line);
        return NULL;
    }
    own->to_listen.own = own->to_read.own = own;
    own->line = line;
    own->id = req->id;
    own->shape = req->shape;
    hf_zk_uuid(zk->salt, req->id, own->uuid);
    assert(strlen(own->uuid) == HF_ZK_UUID);

    own->bytes = bytes_of(zk, own);
    zk->own_bytes += own->bytes;

    struct hf_zk_own **bucket = own_bucket(zk, req->id);
    own->next = *bucket;
    *bucket = own;
    own->line_next = line->own;
    own->line_prev = &line->own;
    if (own->line_next != NULL)
        own->line_next->line_prev = &own->line_next;
    line->own = own;
    return own;
}

/* The table in own.h. */
static bool may_become(enum hf_zk_where from, enum hf_zk_where to)
{
    switch (from) {
    case HF_ZK_NOWHERE:
        return to != HF_ZK_NOWHERE;
    case HF_ZK_UNSURE:
        return to != HF_ZK_UNSURE;
    case HF_ZK_THERE:
        return to == HF_ZK_TAKEN || to == HF_ZK_UNSURE;
    case HF_ZK_TAKEN:
        break;
    }
    return false;
}

static bool may_be_there(const struct hf_zk_own *own)
{
    return own->where == HF_ZK_THERE || own->where == HF_ZK_UNSURE;
}

static void give_bytes_back(struct hf_zk *zk, struct hf_zk_own *own)
{
    assert(zk->own_bytes >= own->bytes);
    zk->own_bytes -= own->bytes;
    own->bytes = 0;
}

void hf_zk_own_set(struct hf_zk *zk, struct hf_zk_own *own, enum hf_zk_where where)
{
    assert(may_become(own->where, where));
    assert(!may_be_there(own) || zk->own_count > 0);
    zk->own_count -= may_be_there(own);
    own->line->own_count -= may_be_there(own);
    own->where = where;
    zk->own_count += may_be_there(own);
    own->line->own_count += may_be_there(own);
    if (!may_be_there(own))
        hf_zk_own_orphan(zk, own);
    if (where == HF_ZK_TAKEN)
        give_bytes_back(zk, own);
}

void hf_zk_own_unlisten(struct hf_zk *zk, struct hf_zk_own *own, bool node_deleted)
{
    hf_zk_timer_stop(&own->to_listen);
    hf_zk_unlisten(zk, &own->node_listener, node_deleted);
    hf_zk_timer_stop(&own->to_read);
}

size_t hf_zk_own_index(const struct hf_zk_own *own)
{
    const struct hf_zk_line *line = own->line;
    size_t                   i = hf_zk_line_find(line, own->seq);

    for (; i < line->count && line->place[i].seq == own->seq; i++)
        if (line->place[i].own == own)
            return i;
    return line->count;
}

void hf_zk_own_free(struct hf_zk *zk, struct hf_zk_own *own)
{
    struct hf_zk_own **at = own_bucket(zk, own->id);

    assert(own->watch == NULL);
    while (*at != own) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = own->next;
    *own->line_prev = own->line_next;
    if (own->line_next != NULL)
        own->line_next->line_prev = own->line_prev;

    size_t index;
    while ((index = hf_zk_own_index(own)) < own->line->count)
        own->line->place[index].own = NULL;
    hf_zk_own_unlisten(zk, own, true);
    give_bytes_back(zk, own);
    zk->own_count -= may_be_there(own);
    own->line->own_count -= may_be_there(own);
    if (own->line->own_count == 0)
        hf_zk_line_unlisten(zk, own->line);
    hf_zk_line_put(zk, own->line);
    hf_zk_own_orphan(zk, own);
    free(own->path);
    free(own->asked);
    free(own);
}

void hf_zk_own_drop_all(struct hf_zk *zk)
{
    for (size_t i = 0; i < HF_ZK_BUCKETS; i++)
        while (zk->own[i] != NULL)
            hf_zk_own_free(zk, zk->own[i]);
    hf_zk_orphans_drop(zk);
    assert(zk->own_count == 0 && zk->own_bytes == 0 && zk->to_listen.first == NULL &&
           zk->to_read.first == NULL);
}

int hf_zk_own_found(struct hf_zk *zk, struct hf_zk_own *own, struct hf_zk_text path,
                    const struct hf_zk_stat *stat)
{
    size_t             folder = strlen(own->line->folder) + 1;
    size_t             size = path.size > folder ? path.size - folder : 0;
    struct hf_zk_child child;

    assert(own->where == HF_ZK_NOWHERE || own->where == HF_ZK_UNSURE);
    hf_zk_child_parse(path.bytes + path.size - size, size, &child);
    /* A node of an earlier session is about to be removed by the server: it must not be
     * adopted. */
    if (child.style == HF_ZK_FOREIGN || size >= HF_ZK_CHILD_MAX ||
        stat->owner != zk->link.session)
        return HF_ELOST;
    char *copy = strndup(path.bytes, path.size);
    if (copy == NULL)
        return HF_ENOMEM;
    free(own->path);
    own->path = copy;
    own->seq = hf_zk_child_seq(&child);
    if (own->shape.capacity == child.shape.capacity)
        own->shape.weight = child.shape.weight;
    if (own->token == 0)
        own->token = (uint64_t)stat->czxid;
    if (own->ctime == 0) {
        own->ctime = stat->ctime;
        own->made_at = zk->remote.now;
    }
    own->number = child.number;
    hf_zk_own_set(zk, own, HF_ZK_THERE);
    return 0;
}

void hf_zk_own_unsure(struct hf_zk *zk, struct hf_zk_own *own)
{
    if (own->where != HF_ZK_THERE)
        return;
    hf_zk_own_unlisten(zk, own, false);
    hf_zk_own_set(zk, own, HF_ZK_UNSURE);
}

/* ---- Taken by somebody else --------------------------------------------------------- */

void hf_zk_own_left_line(struct hf_zk *zk, struct hf_zk_own *own)
{
    size_t index = hf_zk_own_index(own);

    if (index < own->line->count)
        hf_zk_line_place_ended(zk, own->line, index);
}

void hf_zk_own_taken(struct hf_zk *zk, struct hf_zk_own *own)
{
    if (own->where != HF_ZK_THERE)
        return;
    hf_zk_own_set(zk, own, HF_ZK_TAKEN);
    hf_zk_own_unlisten(zk, own, true);
    hf_zk_wait_review(zk, own);
    hf_zk_own_left_line(zk, own);
    if (own->line->own_count == 0)
        hf_zk_line_unlisten(zk, own->line);
}

void hf_zk_own_confirm(struct hf_zk *zk, struct hf_zk_own *own)
{
    if (hf_zk_own_index(own) == own->line->count)
        hf_zk_own_taken(zk, own);
}

/* ---- Timers ------------------------------------------------------------------------- */

void hf_zk_timer_start(struct hf_zk_timers *list, struct hf_zk_timer *timer, hf_time at)
{
    if (timer->list != NULL)
        return;
    if (list->first == NULL)
        list->last = &list->first;
    assert(*list->last == NULL);
    timer->list = list;
    timer->at = at;
    timer->next = NULL;
    timer->prev = list->last;
    *list->last = timer;
    list->last = &timer->next;
}

void hf_zk_timer_stop(struct hf_zk_timer *timer)
{
    if (timer->list == NULL)
        return;
    assert(*timer->prev == timer);
    *timer->prev = timer->next;
    if (timer->next != NULL)
        timer->next->prev = timer->prev;
    else
        timer->list->last = timer->prev;
    timer->list = NULL;
}

struct hf_zk_timer *hf_zk_timer_take(struct hf_zk_timers *list, hf_time now)
{
    struct hf_zk_timer *timer = list->first;

    if (timer == NULL || timer->at > now)
        return NULL;
    hf_zk_timer_stop(timer);
    return timer;
}

hf_time hf_zk_timers_wake(const struct hf_zk_timers *list)
{
    return list->first != NULL ? list->first->at : HF_NEVER;
}
