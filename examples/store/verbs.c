/* verbs.c - what the verbs do, and which answer they give. */
#include "examples/store/shelf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int shelf_verb(struct shelf_session *session, struct hf_req *req);

/* READ, and the answer to ENTER and AMEND: what is ahead of us and our place; if we have
 * none, the whole line. */
static int read_line(struct shelf_session *session, struct hf_req *req)
{
    const struct shelf_place *own = shelf_find_own(session, req->id);
    size_t                    me = 0;

    shelf_look(session, req->name);
    while (me < shelf_view.count &&
           (own == NULL || shelf_view.ticket[me].seq != own->ticket.seq))
        me++;
    req->snapshot.ticket = shelf_view.ticket;
    req->snapshot.count = me < shelf_view.count ? me + 1 : me;
    req->me = req->ahead = me;
    return 0;
}

/* S2 once: an id that has a place, or had one that was taken away, gets no second. */
static int enter(struct shelf_session *session, struct hf_req *req)
{
    shelf_look(session, req->name);
    bool at_once = shelf_fits(&req->shape, shelf_view.count);
    bool full = req->limit != 0 && shelf_view.waiting >= req->limit;
    bool repeat = shelf_find_own(session, req->id) != NULL;

    if (repeat || (req->only_free && !at_once))
        return read_line(session, req);
    if (full && !at_once) {
        snprintf(session->base.errmsg, HF_ERRMSG_MAX,
                 "as many wait for \"%.128s\" as may", req->name);
        return HF_EFULL;
    }
    int r = shelf_add(session, req);
    return r < 0 ? r : read_line(session, req);
}

/* S2 once: a place only ever gets lighter, so a repeat changes nothing. */
static int amend(struct shelf_session *session, struct hf_req *req)
{
    struct shelf_place *own = shelf_find_own(session, req->id);

    if (own != NULL && !own->broken && req->shape.weight < own->ticket.shape.weight) {
        own->ticket.shape.weight = req->shape.weight;
        shelf_changed(session, req->name);
    }
    return read_line(session, req);
}

/* S2 once: who has no place has left before.  S8 truth: or it was taken from him. */
static int leave(struct shelf_session *session, struct hf_req *req)
{
    struct shelf_place *own = shelf_find_own(session, req->id);

    if (own == NULL || own->broken)
        return own == NULL ? 0 : HF_ELOST;
    for (struct hf_req *each = session->queue.first; each != NULL; each = each->next)
        if (each->work == own)
            each->work = NULL; /* a WATCH of it */
    shelf_remove(own);
    return 0;
}

/* The place that a BREAK or ASK is about, or NULL. */
static struct shelf_place *find_named(const struct shelf_session *session,
                                      const struct hf_req        *req)
{
    struct shelf_place *place = shelf_find(session, req->seq);
    bool named = place != NULL && strcmp(place->ticket.line, req->name) == 0 &&
                 (req->token == 0 || req->token == place->ticket.token);

    return named ? place : NULL;
}

/* S8 truth: the place stays for its owner, who must be told when he leaves. */
static int take_away(struct shelf_session *session, struct hf_req *req)
{
    struct shelf_place *place = find_named(session, req);
    if (place == NULL)
        return HF_ENOTFOUND;

    place->broken = true;
    shelf_changed(session, req->name);
    return 0;
}

static int ask(struct shelf_session *session, struct hf_req *req)
{
    struct shelf_place *place = find_named(session, req);
    if (place == NULL)
        return HF_ENOTFOUND;

    char *word = strdup(req->note != NULL ? req->note : "");
    if (word == NULL)
        return HF_ENOMEM;
    free((char *)place->ticket.asked);
    place->ticket.asked = word;
    shelf_changed(session, req->name);
    place->asked_at = shelf_counter;
    return 0;
}

/* The own place by its id; anybody's by its token, and then it must be granted. */
static int prove(struct shelf_session *session, struct hf_req *req)
{
    const struct shelf_place *own = shelf_find_own(session, req->id);

    if (req->id != 0)
        return own != NULL && !own->broken ? 0 : HF_ELOST;
    shelf_look(session, req->name);
    for (size_t i = 0; i < shelf_view.count; i++)
        if (shelf_view.ticket[i].token == req->token)
            return shelf_fits(&shelf_view.ticket[i].shape, i) ? 0 : HF_ELOST;
    return HF_ELOST;
}

static int list(struct shelf_session *session, struct hf_req *req)
{
    shelf_look(session, req->name);
    req->snapshot = (struct hf_line){ shelf_view.ticket, shelf_view.count };
    req->me = shelf_view.count;
    return 0;
}

static int examine(struct shelf_session *session, struct hf_req *req)
{
    struct hf_finding_list *found = &session->findings;

    shelf_look(session, req->name);
    hf_finding_list_clear(found);
    hf_finding_add(found, HF_FINE, "reach", NULL, "this process alone: an example");
    if (req->name != NULL)
        hf_finding_add(found, HF_FINE, "line", NULL, "%zu are in it, %zu of them wait",
                       shelf_view.count, shelf_view.waiting);
    req->finding = found->finding;
    req->findings = found->count;
    return found->failed ? HF_ENOMEM : 0;
}

/* S3 wake: it is looked at when it comes, so what happened before counts, and again after
 * every change.  With a place in line it is about that place alone: who waits is told when
 * it is granted or gone, a holder when it is gone or asked for. */
static bool watch_is_due(const struct shelf_session *session, struct hf_req *req)
{
    if (req->count == 0) {
        req->stamp = req->stamp != 0 ? req->stamp : shelf_counter;
        return shelf_counter > req->stamp;
    }
    if (req->id != 0) {
        if (req->work == NULL) /* kept, because a thousand may wait in one session */
            req->work = shelf_find_own(session, req->id);
        const struct shelf_place *own = req->work;
        if (own == NULL || own->broken || own->asked_at > req->stamp)
            return true;
        return own->granted && req->seqs[0] != own->ticket.seq;
    }
    for (size_t i = 0; i < req->count; i++)
        if (shelf_find(session, req->seqs[i]) == NULL)
            return true;
    return false;
}

bool shelf_carry_out(struct shelf_session *session, struct hf_req *req)
{
    static shelf_verb *const verbs[] = {
        [HF_ENTER] = enter, [HF_READ] = read_line, [HF_AMEND] = amend,
        [HF_LEAVE] = leave, [HF_LIST] = list,      [HF_BREAK] = take_away,
        [HF_ASK] = ask,     [HF_PROVE] = prove,    [HF_EXAMINE] = examine,
    };

    if (req->op == HF_WATCH) {
        req->status = 0;
        return watch_is_due(session, req);
    }
    req->status = verbs[req->op](session, req);
    req->stamp = shelf_counter; /* the answer is as of now */
    return true;
}
