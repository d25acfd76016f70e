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
    bool             granted, broken, asked;
    size_t           ahead; /* places, granted or not */
    char             line[HF_NAME_MAX + 1], note[TEXT_MAX], reason[TEXT_MAX];
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
            view[view_count++] = place->ticket;
        }
}

static int free_slot(const char *name)
{
    int slot = 0;

    for (size_t i = 0; i < place_count;) {
        bool taken = is_in_line(&places[i], name) && places[i].ticket.slot == slot;
        slot += taken;
        i = taken ? 0 : i + 1;
    }
    return slot;
}

/* Walk through the line from its head, add the places up, and grant those that pass the
 * ones ahead of them.  The rule is the core's.  Returns the sum: what a newcomer has ahead. */
static struct hf_sum settle_line(const char *name)
{
    struct hf_sum ahead = { 0 };

    for (struct place *place = places; place < places + place_count; place++) {
        if (!is_in_line(place, name))
            continue;
        place->ahead = ahead.count;
        if (!hf_sum_next(&ahead, &place->ticket.shape) || place->granted)
            continue;
        place->granted = true;
        place->ticket.since = hf_wall_us();
        if (hf_shape_has_slots(&place->ticket.shape))
            place->ticket.slot = free_slot(name);
    }
    return ahead;
}

/* After every change of a line.  S3 wake: who looks from now on sees the change; who looked
 * before is rung, and looks again.  That is too often for most, and too late for nobody. */
static void line_changed(const char *name)
{
    shelf_counter++;
    settle_line(name);
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

/* The place with that token in the line, if everybody can see it; or NULL.  Here the token is
 * the seq. */
static struct place *seen_place(const char *name, uint64_t token)
{
    for (struct place *place = places; place < places + place_count; place++)
        if (place->ticket.token == token && is_in_line(place, name))
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

/* The answer to ENTER, AMEND and WATCH: how the own place stands. */
static struct hf_standing standing_of(const struct place *own)
{
    if (own == NULL || own->broken)
        return (struct hf_standing){ .state = HF_STAND_NONE, .slot = -1 };
    return (struct hf_standing){
        .state = own->granted ? HF_STAND_HOLDS : HF_STAND_WAITS,
        .token = own->ticket.token,
        .weight = own->ticket.shape.weight,
        .slot = own->ticket.slot,
        .ahead = own->granted ? 0 : own->ahead,
        .asked = own->granted && own->asked ? own->reason : NULL,
    };
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

/* Why there is no place for it in the line; else 0. */
static int refuse_place(struct session *session, struct hf_req *req)
{
    struct hf_sum   all = settle_line(req->name);
    enum hf_verdict verdict = hf_sum_judge(&all, &req->shape);
    size_t          waiting = 0;

    for (size_t i = 0; i < place_count; i++)
        waiting += is_in_line(&places[i], req->name) && !places[i].granted;
    if (hf_verdict_status(verdict) < 0)
        return fail(session, hf_verdict_status(verdict), "it is a lock of another kind");
    if (verdict == HF_BLOCKED && req->only_free) {
        req->standing = standing_of(NULL);
        return fail(session, HF_EBUSY, "it is taken");
    }
    if (verdict == HF_BLOCKED && req->limit != 0 && waiting >= req->limit)
        return fail(session, HF_EFULL, "as many wait for \"%.128s\" as may", req->name);
    return 0;
}

/* S2 once: an id that has a place, or had one that was taken away, gets no second. */
static int enter_line(struct session *session, struct hf_req *req)
{
    if (own_place(session, req->id) == NULL) {
        int r = refuse_place(session, req);
        if (r == 0)
            r = take_place(session, req);
        if (r < 0)
            return r;
    }
    req->standing = standing_of(own_place(session, req->id));
    return 0;
}

/* S2 once: a place only ever gets lighter, so a repeat changes nothing. */
static int amend_place(struct session *session, struct hf_req *req)
{
    struct place *own = own_place(session, req->id);

    if (own != NULL && !own->broken && req->shape.weight < own->ticket.shape.weight) {
        own->ticket.shape.weight = req->shape.weight;
        line_changed(req->name);
    }
    req->standing = standing_of(own);
    return 0;
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

/* BREAK.  S8 truth: the place stays for its owner, who is told when he leaves. */
static int break_place(struct session *session, struct hf_req *req)
{
    struct place *place = seen_place(req->name, req->token);

    if (place == NULL)
        return fail(session, HF_ENOTFOUND, "there is no such place");
    place->broken = true;
    line_changed(req->name);
    return 0;
}

static int ask_for_place(struct session *session, struct hf_req *req)
{
    struct place *place = seen_place(req->name, req->token);

    if (place == NULL)
        return fail(session, HF_ENOTFOUND, "there is no such place");
    snprintf(place->reason, sizeof place->reason, "%s",
             req->note != NULL ? req->note : "");
    place->asked = true;
    line_changed(req->name);
    return 0;
}

/* The own place by its id; anybody's by its token. */
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
    req->line = (struct hf_line){ view, view_count };
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
 * after every change.  Of the own place it says what is different; of a line, that the place
 * with that token has left, or that anything has changed. */
bool shelf_watch_is_due(const struct session *session, struct hf_req *req)
{
    struct hf_standing now = standing_of(own_place(session, req->id));

    if (req->id != 0 && !hf_standing_differs(&now, req))
        return false;
    req->standing = now;
    if (req->id != 0)
        return true;
    if (req->token != 0)
        return seen_place(req->name, req->token) == NULL;
    req->stamp = req->stamp != 0 ? req->stamp : shelf_counter;
    return shelf_counter > req->stamp;
}

/* S4 tied: with a session go all its places. */
void shelf_give_up_all(const struct session *session)
{
    for (size_t i = place_count; i-- > 0;)
        if (places[i].session == session)
            give_up_place(&places[i]);
}

shelf_verb *const shelf_verbs[] = {
    [HF_ENTER] = enter_line,     [HF_LEAVE] = leave_line,  [HF_AMEND] = amend_place,
    [HF_BREAK] = break_place,    [HF_ASK] = ask_for_place, [HF_PROVE] = prove_place,
    [HF_EXAMINE] = examine_line, [HF_LIST] = list_places,
};
