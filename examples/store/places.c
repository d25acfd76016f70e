/* places.c - the places, in line; who is granted; the verbs. */
#include "examples/store/shelf.h"

#include "base/name.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#define PLACES_MAX 1024
#define TEXT_MAX   2048

/* A ticket, and what only the store knows of it.  One that a BREAK took away stays, seen by
 * nobody, until its session ends: LEAVE answers HF_ELOST, and if that answer is lost, a
 * repeat must hear the same (S2). */
struct place {
    struct hf_ticket ticket; /* its strings are set when it is looked at */
    struct session  *session;
    uint64_t         id; /* chosen by the session */
    bool             granted, broken;
    uint64_t         asked_at; /* `shelf_counter` after the last ASK */
    char             line[HF_NAME_MAX + 1], note[TEXT_MAX], word[TEXT_MAX];
};

static struct place places[PLACES_MAX]; /* those of a line stand in the order of seq */
static size_t       place_count;
static struct hf_ticket view[PLACES_MAX]; /* a line as last looked at */
static size_t           view_count;

/* S5 fence: every seq, token and stamp is the next number of one counter, which is never
 * set back.  A store that outlives the process keeps it beside its lines.  It begins with 1,
 * because a stamp of 0 means that none is known. */
uint64_t shelf_counter = 1;

/* ---- Lines ---------------------------------------------------------------------------- */

static bool is_in_line(const struct place *place, const char *name)
{
    return !place->broken && (name == NULL || strcmp(place->line, name) == 0);
}

/* Look at a line, or with NULL at all of them. */
static void look_at_line(const char *name)
{
    view_count = 0;
    for (struct place *place = places; place < places + place_count; place++)
        if (is_in_line(place, name)) {
            place->ticket.line = place->line;
            place->ticket.note = place->note;
            place->ticket.asked = place->asked_at != 0 ? place->word : NULL;
            view[view_count++] = place->ticket;
        }
}

/* Does it fit in with the first `ahead` of the view ahead of it?  The rule is the core's. */
static bool fits_in(const struct hf_shape *shape, size_t ahead)
{
    assert(ahead <= view_count);
    return hf_line_judge(&(struct hf_line){ view, ahead }, shape).granted;
}

static int free_slot(void)
{
    int slot = 0;

    for (size_t i = 0; i < view_count;) {
        bool taken = view[i].slot == slot;
        slot += taken;
        i = taken ? 0 : i + 1;
    }
    return slot;
}

static void grant_those_that_fit(const char *name)
{
    size_t ahead = 0;

    for (struct place *place = places; place < places + place_count; place++) {
        if (!is_in_line(place, name))
            continue;
        look_at_line(name);
        if (!place->granted && fits_in(&place->ticket.shape, ahead)) {
            place->granted = true;
            place->ticket.since = hf_wall_us();
            if (hf_shape_has_slots(&place->ticket.shape))
                place->ticket.slot = free_slot();
        }
        ahead++;
    }
}

/* After every change of a line.  S3 wake: who looks from now on sees the change; who looked
 * before is rung, and looks again.  That is too often for most, and too late for nobody. */
static void line_changed(const char *name)
{
    shelf_counter++;
    grant_those_that_fit(name);
    for (struct session *each = shelf_sessions; each != NULL; each = each->next)
        (void)!eventfd_write(each->base.fd, 1);
}

/* The session's own place, broken or not; or NULL. */
static struct place *own_place(const struct session *session, uint64_t id)
{
    for (struct place *place = places; place < places + place_count; place++)
        if (place->session == session && place->id == id)
            return place;
    return NULL;
}

/* The place with that seq in the line, if everybody can see it; or NULL. */
static struct place *seen_place(const char *name, uint64_t seq)
{
    for (struct place *place = places; place < places + place_count; place++)
        if (place->ticket.seq == seq && is_in_line(place, name))
            return place;
    return NULL;
}

__attribute__((format(printf, 3, 4))) static int fail(struct session *session, int code,
                                                      const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(session->base.errmsg, HF_ERRMSG_MAX, format, args);
    va_end(args);
    return code;
}

/* ---- Verbs ---------------------------------------------------------------------------- */

/* READ, and the answer to ENTER and AMEND: what is ahead of us and our place; if we have
 * none, the whole line. */
static int read_line(struct session *session, struct hf_req *req)
{
    const struct place *own = own_place(session, req->id);
    size_t              me = 0;

    look_at_line(req->name);
    while (me < view_count && (own == NULL || view[me].seq != own->ticket.seq))
        me++;
    req->snapshot = (struct hf_line){ view, me < view_count ? me + 1 : me };
    req->me = req->ahead = me;
    return 0;
}

/* S1 order: a new place has the highest seq and stands behind all others, in one step under
 * the mutex. */
static int take_place(struct session *session, const struct hf_req *req)
{
    if (place_count == PLACES_MAX)
        return fail(session, HF_ESTORE, "the shelf is full");
    struct place *place = &places[place_count++];
    *place = (struct place){ .session = session, .id = req->id };
    place->ticket = (struct hf_ticket){ .shape = req->shape, .slot = -1 };
    place->ticket.since = hf_wall_us();
    place->ticket.seq = place->ticket.token = ++shelf_counter;
    snprintf(place->line, sizeof place->line, "%s", req->name);
    snprintf(place->note, sizeof place->note, "%s", req->note != NULL ? req->note : "");
    line_changed(req->name);
    return 0;
}

static void give_up_place(struct place *place)
{
    char   line[sizeof place->line];
    size_t behind = (size_t)(places + --place_count - place);

    memcpy(line, place->line, sizeof line);
    memmove(place, place + 1, behind * sizeof *place);
    line_changed(line);
}

/* S2 once: an id that has a place, or had one that was taken away, gets no second. */
static int enter_line(struct session *session, struct hf_req *req)
{
    size_t waiting = 0;

    for (size_t i = 0; i < place_count; i++)
        waiting += is_in_line(&places[i], req->name) && !places[i].granted;
    look_at_line(req->name);
    bool at_once = fits_in(&req->shape, view_count);
    if (own_place(session, req->id) != NULL || (req->only_free && !at_once))
        return read_line(session, req);
    if (!at_once && req->limit != 0 && waiting >= req->limit)
        return fail(session, HF_EFULL, "as many wait for \"%.128s\" as may", req->name);
    int r = take_place(session, req);
    return r < 0 ? r : read_line(session, req);
}

/* S2 once: a place only ever gets lighter, so a repeat changes nothing. */
static int amend_place(struct session *session, struct hf_req *req)
{
    struct place *own = own_place(session, req->id);

    if (own != NULL && !own->broken && req->shape.weight < own->ticket.shape.weight) {
        own->ticket.shape.weight = req->shape.weight;
        line_changed(req->name);
    }
    return read_line(session, req);
}

/* S2 once: a session without the place has left before.  S8 truth: or it was taken away. */
static int leave_line(struct session *session, struct hf_req *req)
{
    struct place *own = own_place(session, req->id);

    if (own != NULL && own->broken)
        return fail(session, HF_ELOST, "the place was taken away");
    if (own != NULL)
        give_up_place(own);
    return 0;
}

/* The place that a BREAK or ASK means, or NULL. */
static struct place *named_place(const struct hf_req *req)
{
    struct place *place = seen_place(req->name, req->seq);

    return place != NULL && (req->token == 0 || req->token == place->ticket.token) ? place
                                                                                   : NULL;
}

/* BREAK.  S8 truth: the place stays for its owner, who is told when he leaves. */
static int break_place(struct session *session, struct hf_req *req)
{
    struct place *place = named_place(req);

    if (place == NULL)
        return fail(session, HF_ENOTFOUND, "there is no such place");
    place->broken = true;
    line_changed(req->name);
    return 0;
}

static int ask_for_place(struct session *session, struct hf_req *req)
{
    struct place *place = named_place(req);

    if (place == NULL)
        return fail(session, HF_ENOTFOUND, "there is no such place");
    snprintf(place->word, sizeof place->word, "%s", req->note != NULL ? req->note : "");
    line_changed(req->name);
    place->asked_at = shelf_counter;
    return 0;
}

/* The own place by its id; anybody's by its token, which here is the seq. */
static int prove_place(struct session *session, struct hf_req *req)
{
    const struct place *place =
        req->id != 0 ? own_place(session, req->id) : seen_place(req->name, req->token);

    bool held = place != NULL && !place->broken && place->granted;
    return held ? 0 : fail(session, HF_ELOST, "the place does not hold (any more)");
}

static int list_places(struct session *session, struct hf_req *req)
{
    (void)session;
    look_at_line(req->name);
    req->snapshot = (struct hf_line){ view, view_count };
    req->me = view_count;
    return 0;
}

static int examine_line(struct session *session, struct hf_req *req)
{
    struct hf_finding_list *found = &session->findings;

    look_at_line(req->name);
    hf_finding_list_clear(found);
    hf_finding_add(found, HF_FINE, "reach", NULL, "this process alone: an example");
    if (req->name != NULL)
        hf_finding_add(found, HF_FINE, "line", NULL, "%zu are in it", view_count);
    req->finding = found->finding;
    req->findings = found->count;
    return found->failed ? fail(session, HF_ENOMEM, "out of memory") : 0;
}

/* S3 wake: a WATCH is looked at when it comes, so what happened before counts, and again
 * after every change.  With a place in line it is about that place: who waits is told when
 * it is granted or gone, a holder when it is gone or asked for. */
bool shelf_watch_is_due(const struct session *session, struct hf_req *req)
{
    const struct place *own = own_place(session, req->id);

    if (req->count == 0) {
        req->stamp = req->stamp != 0 ? req->stamp : shelf_counter;
        return shelf_counter > req->stamp;
    }
    if (req->id != 0)
        return own == NULL || own->broken || own->asked_at > req->stamp ||
               (own->granted && req->seqs[0] != own->ticket.seq);
    for (size_t i = 0; i < req->count; i++)
        if (seen_place(req->name, req->seqs[i]) == NULL)
            return true;
    return false;
}

/* S4 tied: with a session go all its places. */
void shelf_give_up_all(const struct session *session)
{
    for (size_t i = place_count; i-- > 0;)
        if (places[i].session == session)
            give_up_place(&places[i]);
}

shelf_verb *const shelf_verbs[] = {
    [HF_ENTER] = enter_line,  [HF_READ] = read_line,       [HF_LEAVE] = leave_line,
    [HF_AMEND] = amend_place, [HF_BREAK] = break_place,    [HF_ASK] = ask_for_place,
    [HF_PROVE] = prove_place, [HF_EXAMINE] = examine_line, [HF_LIST] = list_places,
};
