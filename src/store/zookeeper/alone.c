/* alone.c - a line that we have to ourselves: a new place in it need not be listed.
 *
 * A folder counts the nodes that were ever made in it, whoever made them, whatever they are
 * called and whether we may read them; the number of a new place is that count.  So
 *
 *     our place had the number n, and a listing behind it showed nobody else
 *     we have deleted it
 *     our next place has the number n + 1
 *
 * proves that nobody else is there: those who were are gone, and nobody came.  But the
 * folder must be the same.  One that was deleted and made anew counts from 0, and for n + 1
 * to be next, n + 1 nodes must have been made in it.  Each is a transaction, as are the two
 * about the folder.  If there were fewer since n was deleted, it is the same: until then it
 * could not be deleted.  (Nobody makes several places of one line in one transaction.)
 *
 * If the proof fails, the listing is made late, which costs a round trip.  So it is left out
 * only where nobody else has come for some turns, and for more of them each time that was
 * wrong.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>

#define NEED_FIRST 2
#define NEED_LAST  64

/* Were there too few transactions up to this one for another folder to count as far?  Zxids
 * of another leader's time tell nothing. */
static bool is_same_folder(const struct hf_zk_alone *alone, int64_t zxid)
{
    return zxid > alone->gone && zxid >> 32 == alone->gone >> 32 &&
           zxid - alone->gone <= alone->number + 2;
}

static bool is_proven(const struct hf_zk_alone *alone, const struct hf_zk_ticket *ticket)
{
    return alone->gone != 0 && ticket->number == alone->number + 1 &&
           is_same_folder(alone, (int64_t)ticket->token);
}

/* Its delete is on its way. */
static bool is_leaving(const struct hf_zk_ticket *ticket)
{
    const struct hf_zk_line *line = ticket->line;
    size_t                   index = hf_zk_line_find(line, ticket->seq);

    return index < line->count && line->place[index].gone;
}

bool hf_zk_alone_likely(struct hf_zk *zk, const struct hf_zk_task *task)
{
    const struct hf_req      *req = task->base.req;
    const struct hf_zk_line  *line = task->line;
    const struct hf_zk_known *known = hf_zk_known_find(zk, line);
    const struct hf_zk_alone *alone = known != NULL ? &known->alone : NULL;

    if (alone == NULL || alone->turns < NEED_FIRST || alone->turns < alone->need ||
        (alone->gone != 0 && !is_same_folder(alone, zk->link.zxid + 1)))
        return false;
    if (req->shape.claim || hf_shape_has_slots(&req->shape) || req->only_free ||
        req->limit != 0 || task->group != NULL || task->step > 0 || line->queued)
        return false;
    for (const struct hf_zk_ticket *t = line->tickets; t != NULL; t = t->beside)
        if (t != task->ticket && !(t->number == alone->number && is_leaving(t)))
            return false;
    return true;
}

bool hf_zk_alone_proven(struct hf_zk *zk, const struct hf_zk_ticket *ticket)
{
    struct hf_zk_known *known = hf_zk_known_find(zk, ticket->line);

    assert(ticket->where == HF_ZK_THERE);
    if (known == NULL)
        return false;
    if (is_proven(&known->alone, ticket) && ticket->line->tickets == ticket &&
        ticket->beside == NULL)
        return true;
    known->alone.need = known->alone.need < NEED_FIRST ? NEED_FIRST : known->alone.need;
    if (known->alone.need < NEED_LAST)
        known->alone.need *= 2;
    return false;
}

void hf_zk_alone_listed(struct hf_zk_alone *alone, const struct hf_zk_ticket *ticket)
{
    const struct hf_zk_line *line = ticket->line;
    bool by_itself = line->count == 1 && line->place[0].ticket == ticket &&
                     line->foreign == 0 && line->slots == 0;

    alone->turns = by_itself && is_proven(alone, ticket) ? alone->turns + 1 : 0;
    alone->number = by_itself ? ticket->number : -1;
    alone->token = ticket->token;
    alone->gone = 0;
}

void hf_zk_alone_left(struct hf_zk *zk, const struct hf_zk_ticket *ticket, int64_t zxid)
{
    struct hf_zk_known *known = hf_zk_known_find(zk, ticket->line);

    if (known != NULL && known->alone.number == ticket->number &&
        known->alone.token == ticket->token)
        known->alone.gone = zxid;
}
