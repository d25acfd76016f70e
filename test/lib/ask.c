/* ask.c - see ask.h. */
#include "lib/promise.h"

#include "holdfast.h"

#include <stdio.h>
#include <string.h>

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
    const struct hf_line *line = &ask->req.line;

    ask->count = line->count < SEEN_MAX ? line->count : SEEN_MAX;
    for (size_t i = 0; i < ask->count; i++) {
        ask->seen[i] = line->ticket[i];
        copy_text(ask->text[i][0], &ask->seen[i].line);
        copy_text(ask->text[i][1], &ask->seen[i].note);
    }
}

static void copy_standing(struct view *view, const struct hf_req *req)
{
    view->standing = req->standing;
    if (req->standing.asked == NULL)
        return;
    snprintf(view->asked, sizeof view->asked, "%s", req->standing.asked);
    view->standing.asked = view->asked;
}

void ask_answered(struct hf_req *req)
{
    struct ask *ask = (struct ask *)req;

    ask->answers++;
    ask->count = 0;
    if (req->op == HF_LIST)
        copy_list(ask);
    else if (req->op == HF_ENTER || req->op == HF_WATCH || req->op == HF_AMEND)
        copy_standing(&ask->view, req);
}

bool has_place(const struct ask *ask)
{
    return ask->req.status == 0 && ask->view.standing.state != HF_STAND_NONE;
}

bool is_granted(const struct ask *ask)
{
    return ask->req.status == 0 && ask->view.standing.state == HF_STAND_HOLDS;
}

static const struct hf_standing *standing_of(const struct ask *ask)
{
    if (!has_place(ask))
        fail_msg("not in line");
    return &ask->view.standing;
}

uint64_t token_of(const struct ask *ask)
{
    return standing_of(ask)->token;
}

uint32_t weight_of(const struct ask *ask)
{
    return standing_of(ask)->weight;
}

int slot_of(const struct ask *ask)
{
    return standing_of(ask)->slot;
}

uint64_t ahead_of(const struct ask *ask)
{
    return standing_of(ask)->ahead;
}

const char *asked_of(const struct ask *ask)
{
    return standing_of(ask)->asked;
}

bool is_refused(const struct ask *ask)
{
    return ask->req.status == HF_EBUSY && ask->req.only_free;
}

uint64_t place_of(const struct ask *ask)
{
    return standing_of(ask)->token;
}

uint64_t place_in_the_way(const struct ask *refused)
{
    assert_true(is_refused(refused));
    return refused->view.standing.token;
}

uint64_t place_listed(const struct hf_ticket *ticket)
{
    return ticket->token;
}

bool is_held(const struct ask *list, size_t i)
{
    struct hf_sum ahead = { 0 };

    for (size_t k = 0; k < i; k++)
        hf_sum_add(&ahead, &list->seen[k].shape);
    return hf_sum_judge(&ahead, &list->seen[i].shape) == HF_PASSES;
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
    if (r < 0 && !is_refused(ret))
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
    req->token = place;
}

void to_look(struct ask *ret, const char *name, uint64_t id)
{
    *ret = (struct ask){ .req = { .op = HF_WATCH, .name = name, .id = id } };
}

void to_watch(struct ask *ret, const char *name, const struct ask *view)
{
    *ret = (struct ask){ .req = { .op = HF_WATCH,
                                  .name = name,
                                  .id = view->req.id,
                                  .standing = *standing_of(view) } };
}

void to_watch_place(struct ask *ret, const char *name, const struct ask *view,
                    uint64_t place)
{
    *ret = (struct ask){ .req = { .op = HF_WATCH, .name = name, .token = place } };
    ret->req.stamp = view != NULL ? view->req.stamp : 0;
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
    ret->req.follow = true;
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

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool take_news(struct ask *view, const struct ask *answer)
{
    const struct hf_standing *known = &view->view.standing, *now = &answer->view.standing;
    bool is_news = now->state != known->state || now->ahead != known->ahead ||
                   !same_text(now->asked, known->asked);

    *view = *answer;
    if (now->asked != NULL)
        view->view.standing.asked = view->view.asked;
    return is_news;
}

void end_watch(struct player *player, struct ask *ask)
{
    if (ask->answers > 0)
        return;
    player->store->impl->cancel(player->store, &ask->req);
    assert_true(player_await(player, ask, LIMIT_MS));
}

bool wait_for_turn(struct player *player, const char *name, struct ask *view, int ms)
{
    struct ask watching;
    hf_time    end = hf_now() + ms * HF_MS;

    while (!is_granted(view)) {
        watch(player, name, view, &watching);
        if (!player_await(player, &watching, hf_poll_ms(hf_now(), end))) {
            end_watch(player, &watching);
            return false;
        }
        if (watching.req.status == HF_EDOWN)
            continue;
        take_news(view, &watching);
        if (!has_place(view))
            return false;
    }
    return true;
}
