/* network.c - see network.h. */
#include "lib/sim/network.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Messages under way: a heap by arrival, then by sending ------------------------ */

static bool before(const struct sim_message *a, const struct sim_message *b)
{
    return a->arrive != b->arrive ? a->arrive < b->arrive : a->order < b->order;
}

static void push(struct sim_network *net, struct sim_message *message)
{
    size_t at = net->messages++;

    while (at > 0 && before(message, net->heap[(at - 1) / 2])) {
        net->heap[at] = net->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    net->heap[at] = message;
}

static struct sim_message *pop(struct sim_network *net)
{
    struct sim_message *first = net->heap[0];
    struct sim_message *last = net->heap[--net->messages];
    size_t              at = 0;

    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= net->messages)
            break;
        if (child + 1 < net->messages && before(net->heap[child + 1], net->heap[child]))
            child++;
        if (!before(net->heap[child], last))
            break;
        net->heap[at] = net->heap[child];
        at = child;
    }
    net->heap[at] = last;
    return first;
}

static struct sim_message *message_new(struct sim_network *net)
{
    struct sim_message *message = net->unused;

    if (message != NULL) {
        net->unused = message->next;
    } else if (net->used < SIM_MESSAGES) {
        message = &net->pool[net->used++];
    } else {
        fprintf(stderr, "net: more than %d messages under way\n", SIM_MESSAGES);
        abort();
    }
    return message;
}

static void message_free(struct sim_network *net, struct sim_message *message)
{
    message->next = net->unused;
    net->unused = message;
}

static void post(struct sim_network *net, struct sim_message *message)
{
    struct sim_wire *wire = message->wire;
    bool            *dead = message->to_world ? &wire->deaf : &wire->mute;
    hf_time         *last = message->to_world ? &wire->last_asked : &wire->last_answered;
    hf_time          delay = *dead ? SIM_LOST : net->travel(net, wire, message);

    if (delay == SIM_LOST) {
        *dead = true;
        message_free(net, message);
        return;
    }
    message->order = ++net->sent;
    message->arrive = net->now + delay;
    if (message->arrive < *last)
        message->arrive = *last;
    *last = message->arrive;
    push(net, message);
}

/* ---- The client's end ---------------------------------------------------------- */

static void copy_asked(struct sim_message *message)
{
    struct hf_standing *standing = &message->req.standing;

    if (standing->asked == NULL || standing->asked == message->asked)
        return;
    assert(strlen(standing->asked) < SIM_NAME);
    standing->asked = strcpy(message->asked, standing->asked);
}

static void copy_texts(struct sim_message *message)
{
    struct hf_req *req = &message->req;

    assert(strlen(req->name) < SIM_NAME);
    req->name = strcpy(message->name, req->name);
    if (req->op == HF_ASK) {
        assert(strlen(req->note) < SIM_NAME);
        req->note = strcpy(message->note, req->note);
    } else {
        req->note = NULL;
    }
    copy_asked(message);
}

void sim_network_send(struct sim_wire *wire, const struct sim_message *message)
{
    struct sim_message *copy = message_new(wire->net);

    *copy = *message;
    copy->wire = wire;
    copy->to_world = true;
    if (message->kind == SIM_HELLO) {
        wire->deaf = wire->mute = false;
        wire->last_asked = wire->last_answered = 0;
    }
    if (message->kind == SIM_VERB)
        copy_texts(copy);
    post(wire->net, copy);
}

const struct sim_message *sim_network_receive(struct sim_wire *wire)
{
    if (wire->reading != NULL)
        message_free(wire->net, wire->reading);
    wire->reading = wire->pending;
    if (wire->reading != NULL)
        wire->pending = wire->reading->next;
    return wire->reading;
}

void sim_network_close(struct sim_wire *wire)
{
    while (sim_network_receive(wire) != NULL)
        ;
    wire->open = false;
}

struct sim_wire *sim_network_wire(struct sim_network *net)
{
    if (net->wires == SIM_WIRES)
        return NULL;

    struct sim_wire *wire = &net->wire[net->wires];
    *wire = (struct sim_wire){ .net = net, .index = net->wires++, .open = true };
    return wire;
}

void sim_network_cut(struct sim_wire *wire, bool late)
{
    struct sim_network *net = wire->net;
    size_t              kept = 0, count = net->messages;

    wire->broken = true;
    wire->deaf = wire->mute = true;
    if (late)
        return;
    net->messages = 0;
    for (size_t i = 0; i < count; i++) {
        struct sim_message *message = net->heap[i];
        if (message->wire == wire)
            message_free(net, message);
        else
            net->heap[kept++] = message;
    }
    for (size_t i = 0; i < kept; i++)
        push(net, net->heap[i]); /* never before the index that is read next */
}

/* ---- The world's end ----------------------------------------------------------- */

static void answer(struct sim_network *net, struct sim_message *message)
{
    message->to_world = false;
    copy_asked(message);
    post(net, message);
}

static struct sim_message *letter_of(struct hf_req *req)
{
    struct sim_message *message =
        (struct sim_message *)((char *)req - offsetof(struct sim_message, req));

    assert(message->kept);
    message->kept = false;
    return message;
}

static void send_news(struct sim_network *net)
{
    struct hf_req *req;

    for (struct hf_session *s = net->world.sessions; s != NULL; s = s->next)
        while ((req = hf_session_next_due(s)) != NULL)
            answer(net, letter_of(req));
}

/* Requests of a closed connection will be sent again. */
static void drop_watches(struct sim_network *net, struct hf_session *session)
{
    struct hf_req *req;

    hf_world_unwatch(&net->world, session);
    while ((req = hf_requests_take(&session->due)) != NULL)
        message_free(net, letter_of(req));
}

/* Free the sessions that have ended. */
static void reap(struct sim_network *net)
{
    struct sim_session **at = &net->sessions;

    while (*at != NULL) {
        struct sim_session *session = *at;
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

static struct sim_session *session_new(struct sim_network       *net,
                                       const struct sim_message *message)
{
    struct sim_session *session = calloc(1, sizeof *session);

    if (session == NULL)
        abort();
    hf_world_begin(&net->world, &session->base, message->ttl, net->now);
    session->next = net->sessions;
    return net->sessions = session;
}

static bool hello(struct sim_network *net, struct sim_message *message)
{
    struct sim_session *session = sim_network_session(net, message->session);

    if (message->session == 0)
        session = session_new(net, message);
    message->gone = session == NULL;
    if (session == NULL)
        return true;
    if (message->connection <= session->connection)
        return false;
    drop_watches(net, &session->base);
    session->connection = message->connection;
    session->base.owner = message->wire;
    hf_session_renew(&session->base, net->now);
    message->session = session->base.number;
    return true;
}

static void forget(struct sim_network *net, const struct sim_message *order)
{
    for (size_t i = 0; i < net->used; i++) {
        struct sim_message *message = &net->pool[i];
        if (message->kept && message->wire == order->wire &&
            message->serial == order->serial &&
            hf_world_forget(&net->world, &message->req))
            message_free(net, letter_of(&message->req));
    }
}

/* True: it is answered. */
static bool deal_with(struct sim_network *net, struct sim_message *message)
{
    if (message->kind == SIM_HELLO)
        return hello(net, message);

    struct sim_session *session = sim_network_session(net, message->session);
    message->gone = session == NULL;
    if (session == NULL)
        return message->kind != SIM_FORGET && message->kind != SIM_BYE;
    if (message->connection != session->connection)
        return false;

    switch (message->kind) {
    case SIM_RENEW:
        hf_session_renew(&session->base, net->now);
        return true;
    case SIM_VERB:
        message->kept = !hf_world_ask(&net->world, &session->base, &message->req);
        return !message->kept;
    case SIM_FORGET:
        forget(net, message);
        return false;
    default:
        hf_world_end(&net->world, &session->base);
        return false;
    }
}

static void serve(struct sim_network *net, struct sim_message *message)
{
    hf_world_pass(&net->world, net->now);

    bool answered = deal_with(net, message);
    if (net->served != NULL)
        net->served(net, message, answered);
    if (answered)
        answer(net, message);
    else if (!message->kept)
        message_free(net, message);
    send_news(net);
    net->expiry = hf_world_pass(&net->world, net->now);
    reap(net);
}

struct sim_session *sim_network_session(const struct sim_network *net, uint64_t number)
{
    return number != 0 ? (struct sim_session *)hf_world_session(&net->world, number)
                       : NULL;
}

static void deliver(struct sim_network *net, struct sim_message *message)
{
    struct sim_message **at = &message->wire->pending;

    if (!message->wire->open) {
        message_free(net, message);
        return;
    }
    while (*at != NULL)
        at = &(*at)->next;
    message->next = NULL;
    *at = message;
}

/* A session has ended: answer the watches of those that this grants. */
static void after_death(struct sim_network *net)
{
    if (net->served != NULL)
        net->served(net, NULL, false);
    send_news(net);
    reap(net);
}

void sim_network_kill(struct sim_network *net, struct hf_session *session)
{
    hf_world_end(&net->world, session);
    after_death(net);
}

hf_time sim_network_next(const struct sim_network *net)
{
    hf_time arrival = net->messages > 0 ? net->heap[0]->arrive : HF_NEVER;

    return arrival < net->expiry ? arrival : net->expiry;
}

void sim_network_run(struct sim_network *net, hf_time now)
{
    assert(now >= net->now && now <= sim_network_next(net));
    net->now = now;
    if (net->expiry <= now) {
        net->expiry = hf_world_pass(&net->world, now);
        after_death(net);
    }
    while (net->messages > 0 && net->heap[0]->arrive <= now) {
        struct sim_message *message = pop(net);
        if (message->to_world)
            serve(net, message);
        else
            deliver(net, message);
    }
}

void sim_network_init(struct sim_network *net)
{
    net->messages = 0;
    net->wires = 0;
    net->sent = 0;
    net->now = 0;
    net->expiry = HF_NEVER;
    net->unused = NULL, net->used = 0;
    net->sessions = NULL;
    hf_world_init(&net->world, 0);
}

void sim_network_finish(struct sim_network *net)
{
    while (net->world.sessions != NULL)
        hf_world_end(&net->world, net->world.sessions);
    reap(net);
}
