/* pair.c - a line that we share with one other: listening to him before we know that he is
 * there.
 *
 * Two that take turns come back at the same time as the other deletes its node.  Whoever
 * comes first finds the other still there, and to listen to him costs another round trip.
 * But then his name can be foreseen: ids of a client's tickets rise by one (hf_zk_uuid), and
 * so does the number behind ours.  So if that has been so before, the watches of his node and
 * of ours leave with the create:
 *
 *     create + SET_WATCHES + listing       one flight, in which his delete is heard of
 *
 * Nothing is believed because it was foreseen.  The listing tells who is there; a watch of a
 * node that is not there is told to be over, and is forgotten.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define IDLE_MAX   4
#define NUMBER_MAX (1 << 30) /* beyond that they run out, see leave.c */

enum { AHEAD, OWN }; /* ticket->early[] */

/* ---- What is foreseen -------------------------------------------------------------------- */

/* Is there one ahead of us, and nobody else?  Its id is written to `ret` then. */
static bool is_pair(const struct hf_zk_ticket *ticket, char *ret)
{
    const struct hf_zk_line  *line = ticket->line;
    const struct hf_zk_place *other = line->place;

    return line->count == 2 && line->plain && line->foreign == 0 &&
           other->ticket == NULL && line->place[1].ticket == ticket &&
           other->child.number + 1 == ticket->number &&
           hf_zk_child_uuid(other->name, strlen(other->name), ret);
}

void hf_zk_pair_listed(struct hf_zk_pair *pair, const struct hf_zk_ticket *ticket)
{
    char next[HF_ZK_UUID + 1] = "", seen[HF_ZK_UUID + 1];
    bool alternate = pair->uuid[0] != '\0' && ticket->number == pair->mine + 2 &&
                     hf_zk_uuid_next(pair->uuid, next);

    pair->mine = ticket->number;
    if (is_pair(ticket, seen)) {
        pair->sure = alternate && strcmp(seen, next) == 0 ? pair->sure + 1 : 0;
        pair->idle = 0;
        memcpy(pair->uuid, seen, sizeof seen);
    } else if (alternate && ticket->line->count == 1) { /* it came and went */
        pair->idle++;
        memcpy(pair->uuid, next, sizeof next);
    } else {
        pair->uuid[0] = '\0';
        pair->sure = 0;
    }
}

/* ---- Listening --------------------------------------------------------------------------- */

static void on_own_news(struct hf_zk *zk, struct hf_zk_listener *listener,
                        enum hf_zk_news news)
{
    (void)zk, (void)listener, (void)news; /* those who join it hear what matters */
}

/* Changes of nodes that are just being made tell nothing. */
static void listen_early(struct hf_zk *zk, struct hf_zk_ticket *ticket, int which,
                         const char *name, int64_t number)
{
    struct hf_zk_listener *listener = &ticket->early[which];
    char                   path[HF_ZK_PATH_MAX];

    listener->on_news = which == AHEAD ? hf_zk_near_early_news : on_own_news;
    listener->data = ticket;
    listener->seq = (uint64_t)number + 1;
    hf_zk_path(ticket->line, name, path);
    (void)hf_zk_listen_as_of(zk, listener, path, INT64_MAX);
}

void hf_zk_pair_listen(struct hf_zk *zk, const struct hf_zk_task *task)
{
    struct hf_zk_ticket      *ticket = task->ticket;
    const struct hf_shape    *shape = &task->base.req->shape;
    const struct hf_zk_known *known = hf_zk_known_find(zk, task->line);
    const struct hf_zk_pair  *pair = known != NULL ? &known->pair : NULL;
    char                      next[HF_ZK_UUID + 1], name[HF_ZK_CHILD_MAX];

    if (pair == NULL || pair->sure == 0 || pair->idle > IDLE_MAX || pair->mine < 0 ||
        pair->mine > NUMBER_MAX || !hf_zk_uuid_next(pair->uuid, next))
        return;
    if (shape->capacity != 1 || shape->claim || task->group != NULL || task->step > 0 ||
        ticket->early[AHEAD].watched != NULL || ticket->early[OWN].watched != NULL ||
        !hf_zk_self_is_readable(zk))
        return;
    hf_zk_child_name(HF_ZK_CURATOR, shape, next, pair->mine + 1, name);
    listen_early(zk, ticket, AHEAD, name, pair->mine + 1);
    hf_zk_child_name(zk->config.style, shape, ticket->uuid, pair->mine + 2, name);
    listen_early(zk, ticket, OWN, name, pair->mine + 2);
}
