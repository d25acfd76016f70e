/* ticket.c - our own places, by the number the caller gave them.
 *
 * Each has a uuid made of that number, which is part of its node's name: so a place
 * whose creation was not confirmed can be found again, and is never made twice.
 *
 * Each has two timers: to_listen, for self.c, and to_read, for wait.c.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct hf_zk_ticket **ticket_bucket(const struct hf_zk *zk, uint64_t id)
{
    return (struct hf_zk_ticket **)&zk->ticket[id % HF_ZK_BUCKETS];
}

struct hf_zk_ticket *hf_zk_ticket_find(const struct hf_zk *zk, uint64_t id)
{
    struct hf_zk_ticket *ticket = id != 0 ? *ticket_bucket(zk, id) : NULL;

    while (ticket != NULL && ticket->id != id)
        ticket = ticket->next;
    return ticket;
}

struct hf_zk_ticket *hf_zk_ticket_new(struct hf_zk *zk, const struct hf_req *req)
{
    assert(req->id != 0 && hf_zk_ticket_find(zk, req->id) == NULL);
    struct hf_zk_ticket *ticket = calloc(1, sizeof *ticket);
    struct hf_zk_line   *line = hf_zk_line_get(zk, req->name);
    if (ticket == NULL || line == NULL) {
        free(ticket);
        if (line != NULL)
            hf_zk_line_put(zk, line);
        return NULL;
    }
    ticket->to_listen.ticket = ticket->to_read.ticket = ticket;
    ticket->line = line;
    ticket->id = req->id;
    ticket->shape = req->shape;
    ticket->slot = ticket->slot_tried = -1;
    hf_zk_uuid(zk->salt, req->id, ticket->uuid);
    assert(strlen(ticket->uuid) == HF_ZK_UUID);

    struct hf_zk_ticket **bucket = ticket_bucket(zk, req->id);
    ticket->next = *bucket;
    *bucket = ticket;
    ticket->line_next = line->tickets;
    ticket->line_prev = &line->tickets;
    if (ticket->line_next != NULL)
        ticket->line_next->line_prev = &ticket->line_next;
    line->tickets = ticket;
    return ticket;
}

/* The table of enum hf_zk_where. */
static bool may_become(enum hf_zk_where from, enum hf_zk_where to)
{
    switch (from) {
    case HF_ZK_NOWHERE:
        return to != HF_ZK_NOWHERE;
    case HF_ZK_UNSURE:
        return to == HF_ZK_NOWHERE || to == HF_ZK_THERE;
    case HF_ZK_THERE:
        return to == HF_ZK_AWAY || to == HF_ZK_UNSURE;
    case HF_ZK_AWAY:
        break;
    }
    return false;
}

static bool may_be_there(const struct hf_zk_ticket *ticket)
{
    return ticket->where == HF_ZK_THERE || ticket->where == HF_ZK_UNSURE;
}

void hf_zk_ticket_set(struct hf_zk *zk, struct hf_zk_ticket *ticket,
                      enum hf_zk_where where)
{
    assert(may_become(ticket->where, where));
    assert(!may_be_there(ticket) || zk->tickets > 0);
    zk->tickets -= may_be_there(ticket);
    ticket->line->standing -= may_be_there(ticket);
    ticket->where = where;
    if (where == HF_ZK_NOWHERE) { /* the next node is another one, with its own token */
        ticket->token = 0;
        ticket->ctime = 0;
    }
    zk->tickets += may_be_there(ticket);
    ticket->line->standing += may_be_there(ticket);
}

void hf_zk_ticket_quiet(struct hf_zk *zk, struct hf_zk_ticket *ticket, bool goes)
{
    hf_zk_timer_stop(&ticket->to_listen);
    hf_zk_unlisten(zk, &ticket->self, goes);
    hf_zk_timer_stop(&ticket->to_read);
}

size_t hf_zk_ticket_index(const struct hf_zk_ticket *ticket)
{
    const struct hf_zk_line *line = ticket->line;
    size_t                   i = hf_zk_line_find(line, ticket->seq);

    for (; i < line->count && line->place[i].seq == ticket->seq; i++)
        if (line->place[i].ticket == ticket)
            return i;
    return line->count;
}

void hf_zk_ticket_free(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    struct hf_zk_ticket **at = ticket_bucket(zk, ticket->id);

    assert(ticket->watch == NULL); /* that ends first */
    while (*at != ticket) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = ticket->next;
    *ticket->line_prev = ticket->line_next;
    if (ticket->line_next != NULL)
        ticket->line_next->line_prev = ticket->line_prev;

    size_t index;
    while ((index = hf_zk_ticket_index(ticket)) < ticket->line->count)
        ticket->line->place[index].ticket = NULL;
    hf_zk_ticket_quiet(zk, ticket, true);
    zk->tickets -= may_be_there(ticket);
    ticket->line->standing -= may_be_there(ticket);
    if (ticket->line->standing == 0)
        hf_zk_ears_drop(zk, ticket->line);
    hf_zk_line_put(zk, ticket->line);
    free(ticket->path);
    free(ticket->asked);
    free(ticket);
}

void hf_zk_tickets_drop(struct hf_zk *zk)
{
    for (size_t i = 0; i < HF_ZK_BUCKETS; i++)
        while (zk->ticket[i] != NULL)
            hf_zk_ticket_free(zk, zk->ticket[i]);
    assert(zk->tickets == 0 && zk->to_listen.first == NULL && zk->to_read.first == NULL);
}

int hf_zk_ticket_found(struct hf_zk *zk, struct hf_zk_ticket *ticket,
                       struct hf_zk_text path, const struct hf_zk_stat *stat)
{
    size_t             folder = strlen(ticket->line->folder) + 1;
    size_t             size = path.size > folder ? path.size - folder : 0;
    struct hf_zk_child child;

    assert(ticket->where == HF_ZK_NOWHERE || ticket->where == HF_ZK_UNSURE);
    hf_zk_child_parse(path.bytes + path.size - size, size, &child);
    /* One of an earlier session is about to be swept away: not ours to hold by. */
    if (child.style == HF_ZK_FOREIGN || size >= HF_ZK_CHILD_MAX ||
        stat->owner != zk->link.session)
        return HF_ELOST;
    char *copy = strndup(path.bytes, path.size);
    if (copy == NULL)
        return HF_ENOMEM;
    free(ticket->path);
    ticket->path = copy;
    ticket->seq = hf_zk_child_seq(&child);
    if (ticket->shape.capacity == child.shape.capacity)
        ticket->shape.weight = child.shape.weight;
    if (ticket->token == 0)
        ticket->token = (uint64_t)stat->czxid;
    if (ticket->ctime == 0) {
        ticket->ctime = stat->ctime;
        ticket->made_at = zk->remote.now;
    }
    ticket->number = child.number;
    hf_zk_ticket_set(zk, ticket, HF_ZK_THERE);
    return 0;
}

void hf_zk_ticket_unsure(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    if (ticket->where != HF_ZK_THERE)
        return;
    hf_zk_ticket_quiet(zk, ticket, false);
    hf_zk_ticket_set(zk, ticket, HF_ZK_UNSURE);
}

/* ---- Taken away ------------------------------------------------------------------------- */

struct cleaning {
    struct hf_zk_call call;
    char              uuid[HF_ZK_UUID + 1];
    char              path[HF_ZK_PATH_MAX];
};

bool hf_zk_is_uuid_read(struct hf_zk_reply *reply, const char *uuid)
{
    struct hf_zk_text text = hf_zk_get_text(&reply->body);

    return reply->error == 0 && text.size == HF_ZK_UUID &&
           memcmp(text.bytes, uuid, HF_ZK_UUID) == 0;
}

static void on_slot_to_clean(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct cleaning *cleaning = data;

    if (hf_zk_is_uuid_read(reply, cleaning->uuid))
        hf_zk_call_delete(zk, &cleaning->call, cleaning->path, hf_zk_ignore, cleaning);
    else
        free(cleaning);
}

bool hf_zk_ticket_beside(const struct hf_zk_ticket *ticket, char *ret)
{
    if (ticket->shape.claim)
        hf_zk_path(ticket->line, "claim", ret);
    else if (ticket->slot >= 0)
        hf_zk_slot_path(ticket->line, ticket->slot, ret);
    return ticket->shape.claim || ticket->slot >= 0;
}

/* The place was taken away: delete what went with it.  Whoever took the place may have
 * deleted that, too, and it may be another's by now.  So it is read first. */
static void give_slot_up(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    char path[HF_ZK_PATH_MAX];

    assert(ticket->where == HF_ZK_AWAY);
    if (!hf_zk_ticket_beside(ticket, path) || zk->dial.phase != HF_DIAL_READY)
        return;
    struct cleaning *cleaning = calloc(1, sizeof *cleaning);
    if (cleaning == NULL)
        return;
    memcpy(cleaning->uuid, ticket->uuid, sizeof cleaning->uuid);
    memcpy(cleaning->path, path, sizeof cleaning->path);
    hf_zk_call_get(zk, &cleaning->call, HF_ZK_GET_DATA, cleaning->path, on_slot_to_clean,
                   cleaning);
    ticket->slot = -1;
}

void hf_zk_ticket_step_aside(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    size_t index = hf_zk_ticket_index(ticket);

    if (index < ticket->line->count)
        hf_zk_line_ended(zk, ticket->line, index);
}

void hf_zk_ticket_away(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    if (ticket->where != HF_ZK_THERE)
        return;
    hf_zk_ticket_set(zk, ticket, HF_ZK_AWAY);
    hf_zk_ticket_quiet(zk, ticket, true);
    give_slot_up(zk, ticket);
    hf_zk_wait_review(zk, ticket);
    hf_zk_ticket_step_aside(zk, ticket);
    if (ticket->line->standing == 0)
        hf_zk_ears_drop(zk, ticket->line);
}

void hf_zk_ticket_confirm(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    if (hf_zk_ticket_index(ticket) == ticket->line->count)
        hf_zk_ticket_away(zk, ticket);
}

/* ---- Timers ------------------------------------------------------------------------------ */

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
