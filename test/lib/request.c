/* request.c - see request.h. */
#include "lib/promise.h"

#include "holdfast.h"

#include <stdio.h>
#include <string.h>

#define LIMIT_MS 20000 /* for requests that take no time: sanitizers are slow */

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

static void copy_list(struct request *request)
{
    const struct hf_line *line = &request->req.line;

    request->count = line->count < SEEN_MAX ? line->count : SEEN_MAX;
    for (size_t i = 0; i < request->count; i++) {
        request->seen[i] = line->place[i];
        copy_text(request->text[i][0], &request->seen[i].line);
        copy_text(request->text[i][1], &request->seen[i].note);
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

void request_answered(struct hf_req *req)
{
    struct request *request = (struct request *)req;

    request->answers++;
    request->count = 0;
    if (req->op == HF_LIST)
        copy_list(request);
    else if (req->op == HF_ENTER || req->op == HF_WATCH || req->op == HF_DOWNGRADE)
        copy_standing(&request->view, req);
}

bool has_place(const struct request *request)
{
    return request->req.status == 0 && request->view.standing.state != HF_STAND_NONE;
}

bool is_granted(const struct request *request)
{
    return request->req.status == 0 && request->view.standing.state == HF_STAND_HOLDS;
}

static const struct hf_standing *standing_of(const struct request *request)
{
    if (!has_place(request))
        fail_msg("no place");
    return &request->view.standing;
}

uint64_t token_of(const struct request *request)
{
    return standing_of(request)->token;
}

uint32_t weight_of(const struct request *request)
{
    return standing_of(request)->weight;
}

int slot_of(const struct request *request)
{
    return standing_of(request)->slot;
}

uint64_t ahead_of(const struct request *request)
{
    return standing_of(request)->ahead;
}

const char *asked_of(const struct request *request)
{
    return standing_of(request)->asked;
}

bool is_refused(const struct request *request)
{
    return request->req.status == HF_EBUSY && request->req.only_free;
}

uint64_t place_of(const struct request *request)
{
    return standing_of(request)->token;
}

uint64_t place_in_the_way(const struct request *refused)
{
    assert_true(is_refused(refused));
    return refused->view.standing.token;
}

uint64_t place_listed(const struct hf_place *place)
{
    return place->token;
}

bool is_held(const struct request *list, size_t i)
{
    struct hf_sum ahead = { 0 };

    for (size_t k = 0; k < i; k++)
        hf_sum_add(&ahead, &list->seen[k].shape);
    return hf_sum_judge(&ahead, &list->seen[i].shape) == HF_PASSES;
}

/* ---- Requests ----------------------------------------------------------------- */

/* A database that another thread keeps locked for long, on a busy machine, answers
 * HF_EDOWN. */
static int persist(struct player *player, struct request *request)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;
    int     r;

    do
        r = player_run(player, request);
    while (r == HF_EDOWN && hf_now() < end);
    return r;
}

uint64_t enter(struct player *player, const char *name, struct hf_shape shape,
               struct request *ret)
{
    *ret = (struct request){ .req = { .op = HF_ENTER,
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

int look(struct player *player, const char *name, uint64_t id, struct request *ret)
{
    to_look(ret, name, id);
    return persist(player, ret);
}

int leave(struct player *player, const char *name, uint64_t id)
{
    struct request request = { .req = { .op = HF_LEAVE, .name = name, .id = id } };

    return persist(player, &request);
}

int list(struct player *player, const char *name, struct request *ret)
{
    *ret = (struct request){ .req = { .op = HF_LIST, .name = name } };
    return persist(player, ret);
}

int take_away(struct player *player, const char *name, uint64_t place)
{
    struct request request = { .req = { .op = HF_BREAK, .name = name } };

    name_place(&request.req, place);
    return persist(player, &request);
}

int downgrade(struct player *player, const char *name, uint64_t id, struct hf_shape shape,
              struct request *ret)
{
    *ret = (struct request){
        .req = { .op = HF_DOWNGRADE, .name = name, .id = id, .shape = shape }
    };
    return persist(player, ret);
}

int ask_for(struct player *player, const char *name, uint64_t place, const char *why)
{
    struct request request = { .req = { .op = HF_ASK, .name = name, .note = why } };

    name_place(&request.req, place);
    return persist(player, &request);
}

int verify(struct player *player, const char *name, uint64_t id)
{
    struct request request = { .req = { .op = HF_VERIFY, .name = name, .id = id } };

    return player_run(player, &request);
}

int verify_token(struct player *player, const char *name, uint64_t token)
{
    struct request request = { .req = { .op = HF_VERIFY, .name = name, .token = token } };

    return player_run(player, &request);
}

size_t length(struct player *player, const char *name)
{
    struct request all;

    assert_int_equal(list(player, name, &all), 0);
    return all.count;
}

/* ---- Looking and watching ----------------------------------------------------- */

void name_place(struct hf_req *req, uint64_t place)
{
    req->token = place;
}

void to_look(struct request *ret, const char *name, uint64_t id)
{
    *ret = (struct request){ .req = { .op = HF_WATCH, .name = name, .id = id } };
}

void to_watch(struct request *ret, const char *name, const struct request *view)
{
    *ret = (struct request){ .req = { .op = HF_WATCH,
                                      .name = name,
                                      .id = view->req.id,
                                      .standing = *standing_of(view) } };
}

void to_watch_place(struct request *ret, const char *name, const struct request *view,
                    uint64_t place)
{
    *ret = (struct request){ .req = { .op = HF_WATCH, .name = name, .token = place } };
    ret->req.stamp = view != NULL ? view->req.stamp : 0;
}

static void submit(struct player *player, struct request *request)
{
    player_submit(player, request);
    player_turn(player, 0);
}

void watch(struct player *player, const char *name, const struct request *view,
           struct request *ret)
{
    to_watch(ret, name, view);
    submit(player, ret);
}

void follow(struct player *player, const char *name, const struct request *view,
            struct request *ret)
{
    to_watch(ret, name, view);
    ret->req.follow = true;
    submit(player, ret);
}

void watch_place(struct player *player, const char *name, const struct request *view,
                 uint64_t place, struct request *ret)
{
    to_watch_place(ret, name, view, place);
    submit(player, ret);
}

void watch_line(struct player *player, const char *name, const struct request *listed,
                struct request *ret)
{
    *ret = (struct request){
        .req = { .op = HF_WATCH, .name = name, .stamp = listed->req.stamp }
    };
    submit(player, ret);
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool take_news(struct request *view, const struct request *answer)
{
    const struct hf_standing *known = &view->view.standing, *now = &answer->view.standing;
    bool is_news = now->state != known->state || now->ahead != known->ahead ||
                   !same_text(now->asked, known->asked);

    *view = *answer;
    if (now->asked != NULL)
        view->view.standing.asked = view->view.asked;
    return is_news;
}

void end_watch(struct player *player, struct request *request)
{
    if (request->answers > 0)
        return;
    player->store->impl->cancel(player->store, &request->req);
    assert_true(player_await(player, request, LIMIT_MS));
}

bool wait_for_turn(struct player *player, const char *name, struct request *view, int ms)
{
    struct request watching;
    hf_time        end = hf_now() + ms * HF_MS;

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
