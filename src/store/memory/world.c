/* world.c - see world.h: sessions, connections, lines by name. */
#include "store/memory/world.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void hf_world_init(struct hf_world *world, uint64_t token)
{
    *world = (struct hf_world){ .token = token, .stamp = 1 };
}

void hf_world_finish(struct hf_world *world)
{
    while (world->sessions != NULL)
        hf_world_end(world, world->sessions);
    for (size_t i = 0; i < HF_WORLD_BUCKETS; i++)
        assert(world->queue[i] == NULL);
}

/* ---- Lines ------------------------------------------------------------------ */

static struct hf_queue **bucket(struct hf_world *world, const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (const char *s = name; *s != '\0'; s++)
        hash = (hash ^ (unsigned char)*s) * 16777619u;
    return &world->queue[hash % HF_WORLD_BUCKETS];
}

struct hf_queue *hf_world_line(struct hf_world *world, const char *name, bool make)
{
    struct hf_queue **head = bucket(world, name);
    struct hf_queue  *queue = *head;

    while (queue != NULL && strcmp(queue->name, name) != 0)
        queue = queue->next;
    if (queue != NULL || !make)
        return queue;

    queue = hf_queue_new(name);
    if (queue == NULL)
        return NULL;
    queue->changed = world->emptied; /* it may have been there before */
    queue->next = *head;
    return *head = queue;
}

void hf_world_tidy(struct hf_world *world, struct hf_queue *queue)
{
    if (queue->first != NULL || queue->watches != NULL)
        return;

    struct hf_queue **at = bucket(world, queue->name);
    while (*at != queue) {
        assert(*at != NULL); /* a line is in the bucket of its name */
        at = &(*at)->next;
    }
    *at = queue->next;
    world->emptied = world->stamp;
    hf_queue_free(queue);
}

/* ---- News ------------------------------------------------------------------- */

static void append_news(struct hf_watch **list, struct hf_watch *watch)
{
    while (*list != NULL)
        list = &(*list)->next;
    watch->next = NULL;
    *list = watch;
}

/* The watch at *at has come true: its session is to hear of it. */
static void fire_watch(struct hf_world *world, struct hf_watch **at,
                       const struct hf_session *by)
{
    struct hf_watch *watch = *at;

    *at = watch->next;
    append_news(&watch->session->news, watch);
    if (world->bell != NULL && watch->session != by)
        world->bell(watch->session->owner);
}

void hf_world_tell(struct hf_world *world, struct hf_queue *queue,
                   const struct hf_session *by)
{
    struct hf_watch **at = &queue->watches;

    while (*at != NULL) {
        bool needless = world->eager && (*at)->req.id != 0;
        if (needless || hf_watch_due(*at, queue))
            fire_watch(world, at, by);
        else
            at = &(*at)->next;
    }
}

void hf_world_changed(struct hf_world *world, struct hf_queue *queue,
                      const struct hf_session *by)
{
    queue->changed = ++world->stamp;
    hf_queue_settle(queue, world->wall);
    hf_world_tell(world, queue, by);
    while (world->surveys != NULL) {
        world->surveys->session->surveyed = world->stamp;
        fire_watch(world, &world->surveys, by);
    }
}

/* The answer is as of now, not as of when it came true. */
bool hf_world_news(struct hf_world *world, uint64_t number, struct hf_answer *answer)
{
    struct hf_session *session = hf_world_session(world, number);
    struct hf_watch   *watch = session != NULL ? session->news : NULL;
    if (watch == NULL)
        return false;

    assert(watch->session == session);
    hf_answer_begin(answer, watch->serial);
    answer->status = hf_answer_standing(answer, hf_session_place(session, watch->req.id));
    session->news = watch->next;
    hf_watch_free(watch);
    return true;
}

/* ---- Sessions --------------------------------------------------------------- */

struct hf_session *hf_world_session(const struct hf_world *world, uint64_t number)
{
    struct hf_session *session = world->sessions;

    while (session != NULL && session->number != number)
        session = session->next;
    return session;
}

/* What was asked on a connection that is gone will be asked again. */
static void drop_watches(struct hf_world *world, struct hf_session *session)
{
    hf_world_unwatch(world, session, 0);
    hf_watch_forget(&session->news, session, 0);
    session->surveyed = 0;
}

void hf_world_end(struct hf_world *world, struct hf_session *session)
{
    struct hf_session **at = &world->sessions;

    drop_watches(world, session);
    while (session->places != NULL) {
        struct hf_place *place = session->places;
        struct hf_queue *queue = place->queue;
        session->places = place->beside;
        if (queue != NULL) {
            hf_queue_part(queue, place);
            hf_world_changed(world, queue, session);
            hf_world_tidy(world, queue);
        }
        hf_place_free(place);
    }
    while (*at != session) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = session->next;
    free(session);
}

hf_time hf_world_pass(struct hf_world *world, hf_time now)
{
    struct hf_session *session = world->sessions;
    hf_time            next = HF_NEVER;

    while (session != NULL) {
        struct hf_session *after = session->next;
        if (session->until <= now)
            hf_world_end(world, session);
        else if (session->until < next)
            next = session->until;
        session = after;
    }
    return next;
}

static void renew_lease(struct hf_session *session, hf_time now)
{
    session->until = session->ttl > 0 ? now + session->ttl : HF_NEVER;
}

static struct hf_session *session_new(struct hf_world *world, const struct hf_call *call)
{
    struct hf_session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return NULL;
    session->number = ++world->number;
    session->ttl = call->ttl;
    session->next = world->sessions;
    return world->sessions = session;
}

static bool hello_session(struct hf_world *world, const struct hf_call *call, hf_time now,
                          struct hf_answer *answer)
{
    struct hf_session *session = call->session == 0
                                     ? session_new(world, call)
                                     : hf_world_session(world, call->session);

    if (session == NULL) {
        answer->gone = call->session != 0;
        answer->status = call->session != 0 ? HF_ELOST : HF_ENOMEM;
        return true;
    }
    assert(call->connection > 0); /* 0 is before the first */
    if (call->connection <= session->connection)
        return false;
    drop_watches(world, session);
    session->connection = call->connection;
    session->owner = call->owner;
    assert(session->news ==
           NULL); /* nothing of an older connection is told on this one */
    renew_lease(session, now);
    answer->session = session->number;
    return true;
}

/* Its owner is told: it may be asleep. */
static bool end_by_will(struct hf_world *world, uint64_t number, struct hf_answer *answer)
{
    struct hf_session *session = hf_world_session(world, number);

    answer->gone = true;
    if (session == NULL)
        return true;
    if (world->bell != NULL)
        world->bell(session->owner);
    hf_world_end(world, session);
    return true;
}

bool hf_world_call(struct hf_world *world, const struct hf_call *call, hf_time now,
                   struct hf_answer *answer)
{
    hf_answer_begin(answer, call->serial);
    hf_world_pass(world, now);
    if (call->kind == HF_CALL_HELLO)
        return hello_session(world, call, now, answer);
    if (call->kind == HF_CALL_END)
        return end_by_will(world, call->session, answer);

    struct hf_session *session = hf_world_session(world, call->session);
    if (session == NULL) {
        answer->gone = true;
        return call->kind != HF_CALL_FORGET && call->kind != HF_CALL_BYE;
    }
    if (call->connection != session->connection)
        return false;

    switch (call->kind) {
    case HF_CALL_RENEW:
        renew_lease(session, now);
        return true;
    case HF_CALL_VERB:
        assert(session->until > now); /* hf_world_pass() ended the others */
        if (call->req->op == HF_PROVE && call->req->id != 0)
            renew_lease(session, now);
        return hf_world_verb(world, session, call->serial, call->req, answer);
    case HF_CALL_FORGET:
        hf_world_unwatch(world, session, call->serial);
        return false;
    default:
        assert(call->kind == HF_CALL_BYE);
        hf_world_end(world, session);
        return false;
    }
}
