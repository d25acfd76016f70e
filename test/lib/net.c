/* net.c - see net.h. */
#include "lib/net.h"

#include <assert.h>
#include <stddef.h>
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

static struct net_letter *letter_new(struct net *net)
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
    letter->order = ++net->sent;
    letter->arrive = net->now + delay;
    if (letter->arrive < *last)
        letter->arrive = *last;
    *last = letter->arrive;
    push(net, letter);
}

/* ---- The client's end --------------------------------------------------------------- */

static void copy_asked(struct net_letter *letter)
{
    struct hf_standing *standing = &letter->req.standing;

    if (standing->asked == NULL || standing->asked == letter->asked)
        return;
    assert(strlen(standing->asked) < NET_NAME);
    standing->asked = strcpy(letter->asked, standing->asked);
}

static void copy_texts(struct net_letter *letter)
{
    struct hf_req *req = &letter->req;

    assert(strlen(req->name) < NET_NAME);
    req->name = strcpy(letter->name, req->name);
    if (req->op == HF_ASK) {
        assert(strlen(req->note) < NET_NAME);
        req->note = strcpy(letter->note, req->note);
    } else {
        req->note = NULL;
    }
    copy_asked(letter);
}

void net_send(struct net_wire *wire, const struct net_letter *letter)
{
    struct net_letter *copy = letter_new(wire->net);

    *copy = *letter;
    copy->wire = wire;
    copy->to_world = true;
    if (letter->kind == NET_HELLO) {
        wire->deaf = wire->mute = false;
        wire->last_asked = wire->last_answered = 0;
    }
    if (letter->kind == NET_VERB)
        copy_texts(copy);
    post(wire->net, copy);
}

const struct net_letter *net_receive(struct net_wire *wire)
{
    if (wire->reading != NULL)
        letter_free(wire->net, wire->reading);
    wire->reading = wire->inbox;
    if (wire->reading != NULL)
        wire->inbox = wire->reading->next;
    return wire->reading;
}

void net_close(struct net_wire *wire)
{
    while (net_receive(wire) != NULL)
        ;
    wire->open = false;
}

struct net_wire *net_wire(struct net *net)
{
    if (net->wires == NET_WIRES)
        return NULL;

    struct net_wire *wire = &net->wire[net->wires];
    *wire = (struct net_wire){ .net = net, .index = net->wires++, .open = true };
    return wire;
}

void net_cut(struct net_wire *wire, bool late)
{
    struct net *net = wire->net;
    size_t      kept = 0, count = net->letters;

    wire->broken = true;
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

static void answer(struct net *net, struct net_letter *letter)
{
    letter->to_world = false;
    copy_asked(letter);
    post(net, letter);
}

static struct net_letter *letter_of(struct hf_req *req)
{
    struct net_letter *letter =
        (struct net_letter *)((char *)req - offsetof(struct net_letter, req));

    assert(letter->kept);
    letter->kept = false;
    return letter;
}

static void send_news(struct net *net)
{
    struct hf_req *req;

    for (struct hf_session *s = net->world.sessions; s != NULL; s = s->next)
        while ((req = hf_session_news(s)) != NULL)
            answer(net, letter_of(req));
}

/* What was asked on a connection that is gone will be asked again. */
static void drop_watches(struct net *net, struct hf_session *session)
{
    struct hf_req *req;

    hf_world_unwatch(&net->world, session);
    while ((req = hf_requests_take(&session->news)) != NULL)
        letter_free(net, letter_of(req));
}

/* Free the sessions that are over. */
static void reap(struct net *net)
{
    struct net_session **at = &net->sessions;

    while (*at != NULL) {
        struct net_session *session = *at;
        if (session->base.number != 0) {
            at = &session->next;
            continue;
        }
        *at = session->next;
        drop_watches(net, &session->base);
        hf_session_finish(&session->base);
        free(session);
    }
}

static struct net_session *session_new(struct net *net, const struct net_letter *letter)
{
    struct net_session *session = calloc(1, sizeof *session);

    if (session == NULL)
        abort();
    hf_world_begin(&net->world, &session->base, letter->ttl, net->now);
    session->next = net->sessions;
    return net->sessions = session;
}

static bool hello(struct net *net, struct net_letter *letter)
{
    struct net_session *session = net_session(net, letter->session);

    if (letter->session == 0)
        session = session_new(net, letter);
    letter->gone = session == NULL;
    if (session == NULL)
        return true;
    if (letter->connection <= session->connection)
        return false;
    drop_watches(net, &session->base);
    session->connection = letter->connection;
    session->base.owner = letter->wire;
    hf_session_renew(&session->base, net->now);
    letter->session = session->base.number;
    return true;
}

static void forget(struct net *net, const struct net_letter *order)
{
    for (size_t i = 0; i < net->used; i++) {
        struct net_letter *letter = &net->pool[i];
        if (letter->kept && letter->wire == order->wire &&
            letter->serial == order->serial && hf_world_forget(&net->world, &letter->req))
            letter_free(net, letter_of(&letter->req));
    }
}

/* True: it is answered. */
static bool deal_with(struct net *net, struct net_letter *letter)
{
    if (letter->kind == NET_HELLO)
        return hello(net, letter);

    struct net_session *session = net_session(net, letter->session);
    letter->gone = session == NULL;
    if (session == NULL)
        return letter->kind != NET_FORGET && letter->kind != NET_BYE;
    if (letter->connection != session->connection)
        return false;

    switch (letter->kind) {
    case NET_RENEW:
        hf_session_renew(&session->base, net->now);
        return true;
    case NET_VERB:
        letter->kept = !hf_world_ask(&net->world, &session->base, &letter->req);
        return !letter->kept;
    case NET_FORGET:
        forget(net, letter);
        return false;
    default:
        hf_world_end(&net->world, &session->base);
        return false;
    }
}

static void serve(struct net *net, struct net_letter *letter)
{
    hf_world_pass(&net->world, net->now);

    bool answered = deal_with(net, letter);
    if (net->served != NULL)
        net->served(net, letter, answered);
    if (answered)
        answer(net, letter);
    else if (!letter->kept)
        letter_free(net, letter);
    send_news(net);
    net->expiry = hf_world_pass(&net->world, net->now);
    reap(net);
}

struct net_session *net_session(const struct net *net, uint64_t number)
{
    return number != 0 ? (struct net_session *)hf_world_session(&net->world, number)
                       : NULL;
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
        net->served(net, NULL, false);
    send_news(net);
    reap(net);
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
    net->sessions = NULL;
    hf_world_init(&net->world, 0);
}

void net_finish(struct net *net)
{
    while (net->world.sessions != NULL)
        hf_world_end(&net->world, net->world.sessions);
    reap(net);
}
