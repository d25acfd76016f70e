/* net.c - see net.h. */
#include "lib/net.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Letters under way: a heap by arrival, then by sending ------------------------ */

static bool before(const struct net_letter *a, const struct net_letter *b)
{
    return a->arrive != b->arrive ? a->arrive < b->arrive : a->order < b->order;
}

static void push(struct net *net, struct net_letter *letter)
{
    size_t at = net->letters++;

    while (at > 0 && before(letter, net->heap[(at - 1) / 2])) {
        net->heap[at] = net->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    net->heap[at] = letter;
}

static struct net_letter *pop(struct net *net)
{
    struct net_letter *first = net->heap[0];
    struct net_letter *last = net->heap[--net->letters];
    size_t             at = 0;

    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= net->letters)
            break;
        if (child + 1 < net->letters && before(net->heap[child + 1], net->heap[child]))
            child++;
        if (!before(net->heap[child], last))
            break;
        net->heap[at] = net->heap[child];
        at = child;
    }
    net->heap[at] = last;
    return first;
}

static struct net_letter *letter_new(struct net *net, struct net_wire *wire)
{
    struct net_letter *letter = net->unused;

    if (letter != NULL) {
        net->unused = letter->next;
    } else if (net->used < NET_LETTERS) {
        letter = &net->pool[net->used++];
    } else {
        fprintf(stderr, "net: more than %d letters under way\n", NET_LETTERS);
        abort();
    }
    letter->wire = wire;
    letter->connection = wire->connection;
    letter->order = ++net->sent;
    letter->next = NULL;
    return letter;
}

static void letter_free(struct net *net, struct net_letter *letter)
{
    letter->next = net->unused;
    net->unused = letter;
}

static void post(struct net *net, struct net_letter *letter)
{
    struct net_wire *wire = letter->wire;
    bool            *dead = letter->to_world ? &wire->deaf : &wire->mute;
    hf_time         *last = letter->to_world ? &wire->last_asked : &wire->last_answered;
    hf_time          delay = *dead ? NET_LOST : net->travel(net, wire, letter);

    if (delay == NET_LOST) {
        *dead = true;
        letter_free(net, letter);
        return;
    }
    letter->arrive = net->now + delay;
    if (letter->arrive < *last)
        letter->arrive = *last;
    *last = letter->arrive;
    push(net, letter);
}

/* ---- The client's end --------------------------------------------------------------- */

static void copy_asked(struct net_letter *letter, struct hf_standing *standing)
{
    if (standing->asked == NULL)
        return;
    assert(strlen(standing->asked) < NET_NAME);
    standing->asked = strcpy(letter->asked, standing->asked);
}

static void copy_req(struct net_letter *letter, const struct hf_req *req)
{
    assert(strlen(req->name) < NET_NAME);
    letter->req = *req;
    letter->req.note = NULL;
    if (req->op == HF_ASK) {
        assert(strlen(req->note) < NET_NAME);
        letter->req.note = strcpy(letter->note, req->note);
    }
    strcpy(letter->name, req->name);
    letter->req.name = letter->name;
    copy_asked(letter, &letter->req.standing);
    letter->call.req = &letter->req;
}

static void wire_send(struct hf_wire *base, const struct hf_call *call, hf_time now)
{
    struct net_wire *wire = (struct net_wire *)base;

    (void)now; /* by the client's clock */
    if (call->kind == HF_CALL_HELLO) {
        wire->connection = call->connection;
        wire->deaf = wire->mute = false;
        wire->last_asked = wire->last_answered = 0;
    }
    struct net_letter *letter = letter_new(wire->net, wire);
    letter->to_world = true;
    letter->call = *call;
    if (call->req != NULL)
        copy_req(letter, call->req);
    post(wire->net, letter);
}

static const struct hf_answer *wire_receive(struct hf_wire *base, hf_time now)
{
    struct net_wire *wire = (struct net_wire *)base;

    (void)now;
    if (wire->reading != NULL)
        letter_free(wire->net, wire->reading);
    wire->reading = wire->inbox;
    if (wire->reading == NULL)
        return NULL;
    wire->inbox = wire->reading->next;
    return &wire->reading->answer;
}

static void wire_quiet(struct hf_wire *base)
{
    (void)base; /* there is no descriptor */
}

static hf_time wire_next(struct hf_wire *base)
{
    (void)base;
    return HF_NEVER;
}

static void wire_close(struct hf_wire *base)
{
    struct net_wire *wire = (struct net_wire *)base;

    while (wire_receive(base, 0) != NULL)
        ;
    wire->open = false;
}

struct net_wire *net_wire(struct net *net)
{
    if (net->wires == NET_WIRES)
        return NULL;

    struct net_wire *wire = &net->wire[net->wires];
    *wire = (struct net_wire){ .base = { .fd = -1,
                                         .send = wire_send,
                                         .receive = wire_receive,
                                         .quiet = wire_quiet,
                                         .next = wire_next,
                                         .close = wire_close },
                               .net = net,
                               .index = net->wires++,
                               .open = true };
    return wire;
}

void net_cut(struct net_wire *wire, bool late)
{
    struct net *net = wire->net;
    size_t      kept = 0, count = net->letters;

    wire->base.broken = true;
    wire->deaf = wire->mute = true;
    if (late)
        return;
    net->letters = 0;
    for (size_t i = 0; i < count; i++) {
        struct net_letter *letter = net->heap[i];
        if (letter->wire == wire)
            letter_free(net, letter);
        else
            net->heap[kept++] = letter;
    }
    for (size_t i = 0; i < kept; i++)
        push(net, net->heap[i]); /* never ahead of where it is read */
}

/* ---- The world's end ------------------------------------------------------------------ */

static void answer(struct net_wire *wire, const struct hf_answer *text)
{
    struct net_letter *letter = letter_new(wire->net, wire);

    assert(text->count == 0);
    letter->to_world = false;
    letter->answer = *text;
    copy_asked(letter, &letter->answer.standing);
    post(wire->net, letter);
}

static void send_news(struct net *net)
{
    struct hf_session *session = net->world.sessions;

    for (; session != NULL; session = session->next)
        while (session->news != NULL &&
               hf_world_news(&net->world, session->number, &net->scratch))
            answer(session->owner, &net->scratch);
}

static void serve(struct net *net, struct net_letter *letter)
{
    bool answered = hf_world_call(&net->world, &letter->call, net->now, &net->scratch);

    if (net->served != NULL)
        net->served(net, letter, answered ? &net->scratch : NULL);
    if (answered)
        answer(letter->wire, &net->scratch);
    letter_free(net, letter);
    send_news(net);
    net->expiry = hf_world_pass(&net->world, net->now);
}

static void deliver(struct net *net, struct net_letter *letter)
{
    struct net_letter **at = &letter->wire->inbox;

    if (!letter->wire->open) {
        letter_free(net, letter);
        return;
    }
    while (*at != NULL)
        at = &(*at)->next;
    letter->next = NULL;
    *at = letter;
}

/* Somebody's session is over: tell those whom that lets in. */
static void after_death(struct net *net)
{
    if (net->served != NULL)
        net->served(net, NULL, NULL);
    send_news(net);
}

void net_kill(struct net *net, struct hf_session *session)
{
    hf_world_end(&net->world, session);
    after_death(net);
}

hf_time net_next(const struct net *net)
{
    hf_time arrival = net->letters > 0 ? net->heap[0]->arrive : HF_NEVER;

    return arrival < net->expiry ? arrival : net->expiry;
}

void net_run(struct net *net, hf_time now)
{
    assert(now >= net->now && now <= net_next(net));
    net->now = now;
    if (net->expiry <= now) {
        net->expiry = hf_world_pass(&net->world, now);
        after_death(net);
    }
    while (net->letters > 0 && net->heap[0]->arrive <= now) {
        struct net_letter *letter = pop(net);
        if (letter->to_world)
            serve(net, letter);
        else
            deliver(net, letter);
    }
}

void net_init(struct net *net)
{
    net->letters = 0;
    net->wires = 0;
    net->sent = 0;
    net->now = 0;
    net->expiry = HF_NEVER;
    net->unused = NULL;
    net->used = 0;
    hf_world_init(&net->world, 0);
}

void net_finish(struct net *net)
{
    hf_world_finish(&net->world);
    hf_answer_finish(&net->scratch);
}
