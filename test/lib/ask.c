/* ask.c - see ask.h. */
#include "lib/promise.h"

#include "holdfast.h"

#include <stdio.h>

#define LIMIT_MS 20000 /* for what should take no time: sanitizers are slow */

const struct hf_shape MUTEX = { 1, 1, false };
const struct hf_shape READER = { 1, HF_ALL, false };
const struct hf_shape WRITER = { HF_ALL, HF_ALL, false };
const struct hf_shape CLAIM = { 1, 1, true };

struct hf_shape semaphore(uint32_t capacity, uint32_t weight)
{
    return (struct hf_shape){ weight, capacity, false };
}

/* ---- Answers ------------------------------------------------------------------ */

static void copy_text(char *to, const char **text)
{
    if (*text == NULL)
        return;
    snprintf(to, 64, "%s", *text);
    *text = to;
}

static void copy_list(struct ask *ask)
{
    const struct hf_line *line = &ask->req.snapshot;

    ask->count = line->count < SEEN_MAX ? line->count : SEEN_MAX;
    for (size_t i = 0; i < ask->count; i++) {
        ask->seen[i] = line->ticket[i];
        copy_text(ask->text[i][0], &ask->seen[i].line);
        copy_text(ask->text[i][1], &ask->seen[i].note);
    }
}

static void copy_standing(struct view *view, const struct hf_req *req)
{
    const struct hf_line *line = &req->snapshot;

    *view = (struct view){ .there = req->me < line->count };
    if (!view->there) {
        view->place = line->count > 0 ? line->ticket[0].seq : 0;
        return;
    }
    const struct hf_ticket *mine = &line->ticket[req->me];
    struct hf_line          ahead = hf_line_ahead(line, req->me);
    struct hf_verdict       verdict = hf_line_judge(&ahead, &mine->shape);
    view->granted = verdict.granted;
    view->token = mine->token;
    view->place = mine->seq;
    view->ahead = req->ahead;
    view->weight = mine->shape.weight;
    view->slot = mine->slot;
    view->is_asked = mine->asked != NULL;
    snprintf(view->asked, sizeof view->asked, "%s", view->is_asked ? mine->asked : "");
    view->count = verdict.granted ? 1 : verdict.count;
    view->seqs[0] = mine->seq;
    for (size_t i = 0; i < verdict.count; i++)
        view->seqs[i] = line->ticket[verdict.first + i].seq;
}

void ask_answered(struct hf_req *req)
{
    struct ask *ask = (struct ask *)req;

    ask->answers++;
    ask->count = 0;
    if (req->op == HF_LIST)
        copy_list(ask);
    else if (req->op == HF_ENTER || req->op == HF_READ || req->op == HF_AMEND)
        copy_standing(&ask->view, req);
}

bool has_place(const struct ask *ask)
{
    return ask->req.status == 0 && ask->view.there;
}

bool is_granted(const struct ask *ask)
{
    return has_place(ask) && ask->view.granted;
}

static const struct view *view_of(const struct ask *ask)
{
    if (!has_place(ask))
        fail_msg("not in line");
    return &ask->view;
}

uint64_t token_of(const struct ask *ask)
{
    return view_of(ask)->token;
}

uint32_t weight_of(const struct ask *ask)
{
    return view_of(ask)->weight;
}

int slot_of(const struct ask *ask)
{
    return view_of(ask)->slot;
}

uint64_t ahead_of(const struct ask *ask)
{
    return view_of(ask)->granted ? 0 : ask->view.ahead;
}

const char *asked_of(const struct ask *ask)
{
    return view_of(ask)->is_asked ? ask->view.asked : NULL;
}

bool is_refused(const struct ask *ask)
{
    return ask->req.status == 0 && ask->req.only_free && !ask->view.there;
}

uint64_t place_of(const struct ask *ask)
{
    return view_of(ask)->place;
}

uint64_t place_in_the_way(const struct ask *refused)
{
    assert_true(is_refused(refused));
    return refused->view.place;
}

uint64_t place_listed(const struct hf_ticket *ticket)
{
    return ticket->seq;
}

bool is_held(const struct ask *list, size_t i)
{
    struct hf_line ahead = { list->seen, i };

    return hf_line_judge(&ahead, &list->seen[i].shape).granted;
}

/* ---- Requests ----------------------------------------------------------------- */

/* A file that another thread keeps to itself for long, because the machine is busy, is
 * one that does not answer for now. */
static int persist(struct player *player, struct ask *ask)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;
    int     r;

    do
        r = player_run(player, ask);
    while (r == HF_EDOWN && hf_now() < end);
    return r;
}

uint64_t enter(struct player *player, const char *name, struct hf_shape shape,
               struct ask *ret)
{
    *ret = (struct ask){ .req = { .op = HF_ENTER,
                                  .name = name,
                                  .id = ++player->ids,
                                  .shape = shape,
                                  .only_free = shape.claim,
                                  .note = "a note" } };
    int r = persist(player, ret);
    if (r < 0)
        fail_msg("ENTER %s: %s: %s", name, hf_errname(r), player->store->errmsg);
    return ret->req.id;
}

int look(struct player *player, const char *name, uint64_t id, struct ask *ret)
{
    to_look(ret, name, id);
    return persist(player, ret);
}

int leave(struct player *player, const char *name, uint64_t id)
{
    struct ask ask = { .req = { .op = HF_LEAVE, .name = name, .id = id } };

    return persist(player, &ask);
}

int list(struct player *player, const char *name, struct ask *ret)
{
    *ret = (struct ask){ .req = { .op = HF_LIST, .name = name } };
    return persist(player, ret);
}

int take_away(struct player *player, const char *name, uint64_t place)
{
    struct ask ask = { .req = { .op = HF_BREAK, .name = name } };

    name_place(&ask.req, place);
    return persist(player, &ask);
}

int amend(struct player *player, const char *name, uint64_t id, struct hf_shape shape,
          struct ask *ret)
{
    *ret =
        (struct ask){ .req = { .op = HF_AMEND, .name = name, .id = id, .shape = shape } };
    return persist(player, ret);
}

int ask_for(struct player *player, const char *name, uint64_t place, const char *why)
{
    struct ask ask = { .req = { .op = HF_ASK, .name = name, .note = why } };

    name_place(&ask.req, place);
    return persist(player, &ask);
}

int prove(struct player *player, const char *name, uint64_t id)
{
    struct ask ask = { .req = { .op = HF_PROVE, .name = name, .id = id } };

    return player_run(player, &ask);
}

int prove_token(struct player *player, const char *name, uint64_t token)
{
    struct ask ask = { .req = { .op = HF_PROVE, .name = name, .token = token } };

    return player_run(player, &ask);
}

size_t length(struct player *player, const char *name)
{
    struct ask all;

    assert_int_equal(list(player, name, &all), 0);
    return all.count;
}

/* ---- Looking and watching ----------------------------------------------------- */

void name_place(struct hf_req *req, uint64_t place)
{
    req->seq = place;
}

void to_look(struct ask *ret, const char *name, uint64_t id)
{
    *ret = (struct ask){ .req = { .op = HF_READ, .name = name, .id = id } };
}

void to_watch(struct ask *ret, const char *name, const struct ask *view)
{
    *ret = (struct ask){ .req = { .op = HF_WATCH,
                                  .name = name,
                                  .id = view->req.id,
                                  .stamp = view->req.stamp } };
    ret->req.seqs = ret->seqs;
    ret->req.count = view_of(view)->count;
    for (size_t i = 0; i < view->view.count; i++)
        ret->seqs[i] = view->view.seqs[i];
}

void to_watch_place(struct ask *ret, const char *name, const struct ask *view,
                    uint64_t place)
{
    *ret = (struct ask){ .req = { .op = HF_WATCH, .name = name, .count = 1 } };
    ret->req.stamp = view != NULL ? view->req.stamp : 0;
    ret->req.seqs = ret->seqs;
    ret->seqs[0] = place;
}

static void submit(struct player *player, struct ask *ask)
{
    player_submit(player, ask);
    player_turn(player, 0);
}

void watch(struct player *player, const char *name, const struct ask *view,
           struct ask *ret)
{
    to_watch(ret, name, view);
    submit(player, ret);
}

void follow(struct player *player, const char *name, const struct ask *view,
            struct ask *ret)
{
    to_watch(ret, name, view);
    ret->req.count = 0;
    submit(player, ret);
}

void watch_place(struct player *player, const char *name, const struct ask *view,
                 uint64_t place, struct ask *ret)
{
    to_watch_place(ret, name, view, place);
    submit(player, ret);
}

void watch_line(struct player *player, const char *name, const struct ask *listed,
                struct ask *ret)
{
    *ret = (struct ask){ .req = {
                             .op = HF_WATCH, .name = name, .stamp = listed->req.stamp } };
    submit(player, ret);
}

bool wait_for_turn(struct player *player, const char *name, struct ask *view, int ms)
{
    struct ask watching;
    hf_time    end = hf_now() + ms * HF_MS;
    uint64_t   id = view->req.id;

    while (!is_granted(view)) {
        watch(player, name, view, &watching);
        if (!player_await(player, &watching, hf_poll_ms(hf_now(), end))) {
            player->store->impl->cancel(player->store, &watching.req);
            player_await(player, &watching, LIMIT_MS);
            return false;
        }
        if (look(player, name, id, view) != 0)
            return false;
    }
    return true;
}
