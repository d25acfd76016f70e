/* world.c - see world.h: lines by name, sessions, and answers that have become due. */
#include "store/memory/world.h"

#include "base/grow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void hf_world_init(struct hf_world *world, uint64_t token)
{
    *world = (struct hf_world){ .token = token, .stamp = 1 };
}

/* ---- Lines -------------------------------------------------------------------- */

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
    queue->changed = world->emptied; /* it may have existed before */
    queue->next = *head;
    return *head = queue;
}

void hf_world_tidy(struct hf_world *world, struct hf_queue *queue)
{
    if (queue->first != NULL || queue->watches.first != NULL)
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

/* ---- News --------------------------------------------------------------------- */

static void add_due(struct hf_world *world, struct hf_req *req)
{
    struct hf_session *session = req->work;

    hf_requests_append(&session->due, req);
    if (world->bell != NULL)
        world->bell(session->owner);
}

static void tell_watches(struct hf_world *world, const struct hf_queue *queue,
                         struct hf_requests *list, const struct hf_world_place *place)
{
    struct hf_requests all = *list;
    struct hf_req     *req;

    *list = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL)
        if ((place != NULL && world->eager) || hf_watch_due(queue, place, req))
            add_due(world, req);
        else
            hf_requests_append(list, req);
}

void hf_world_tell(struct hf_world *world, struct hf_queue *queue)
{
    for (struct hf_world_place *place = queue->first; place != NULL; place = place->next)
        tell_watches(world, queue, &place->watches, place);
    tell_watches(world, queue, &queue->watches, NULL);
}

void hf_world_depart(struct hf_world *world, struct hf_world_place *place)
{
    struct hf_queue *queue = place->queue;

    hf_queue_part(place);
    tell_watches(world, queue, &place->watches, place);
    assert(place->watches.first == NULL); /* the change has completed each of them */
    hf_world_changed(world, queue);
    hf_world_tidy(world, queue);
}

void hf_world_changed(struct hf_world *world, struct hf_queue *queue)
{
    struct hf_req *req;

    queue->changed = ++world->stamp;
    hf_queue_settle(queue, world->wall);
    hf_world_tell(world, queue);
    while ((req = hf_requests_take(&world->store_watches)) != NULL) {
        ((struct hf_session *)req->work)->store_seen = world->stamp;
        add_due(world, req);
    }
}

/* The answer is as of now, not as of when the WATCH came true. */
struct hf_req *hf_session_next_due(struct hf_session *session)
{
    struct hf_req *req = hf_requests_take(&session->due);

    if (req != NULL && req->op == HF_WATCH)
        req->status = hf_answer_standing(session, req);
    else if (req != NULL)
        req->status = 0;
    return req;
}

static bool take_out(struct hf_requests *list, const struct hf_req *one)
{
    struct hf_requests all = *list;
    struct hf_req     *req;
    bool               found = false;

    *list = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL)
        if (req == one)
            found = true;
        else
            hf_requests_append(list, req);
    return found;
}

bool hf_world_forget(struct hf_world *world, struct hf_req *req)
{
    if (req->op == HF_WATCH_STORE && take_out(&world->store_watches, req)) {
        ((struct hf_session *)req->work)->store_seen =
            0; /* so the next one is answered at once */
        return true;
    }
    if (req->op != HF_WATCH)
        return false;
    struct hf_world_place *place =
        req->work != NULL ? hf_session_place(req->work, req->id) : NULL;
    if (place != NULL && take_out(&place->watches, req))
        return true;
    struct hf_queue *queue = hf_world_line(world, req->name, false);
    bool             found = queue != NULL && take_out(&queue->watches, req);
    if (found)
        hf_world_tidy(world, queue);
    return found;
}

static void hand_over(struct hf_requests *list, struct hf_session *session)
{
    struct hf_requests all = *list;
    struct hf_req     *req;

    *list = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL)
        hf_requests_append(req->work == session ? &session->due : list, req);
}

void hf_world_unwatch(struct hf_world *world, struct hf_session *session)
{
    for (size_t i = 0; i < HF_WORLD_BUCKETS; i++) {
        struct hf_queue *queue = world->queue[i];
        while (queue != NULL) {
            struct hf_queue *next = queue->next;
            hand_over(&queue->watches, session);
            hf_world_tidy(world, queue);
            queue = next;
        }
    }
    for (struct hf_world_place *place = session->places; place != NULL;
         place = place->beside)
        hand_over(&place->watches, session);
    hand_over(&world->store_watches, session);
    session->store_seen = 0;
}

/* ---- Sessions ----------------------------------------------------------------- */

struct hf_session *hf_world_session(const struct hf_world *world, uint64_t number)
{
    struct hf_session *session = world->sessions;

    while (session != NULL && session->number != number)
        session = session->next;
    return session;
}

struct hf_world_place *hf_session_place(const struct hf_session *session, uint64_t id)
{
    struct hf_world_place *place = id != 0 ? session->places : NULL;

    while (place != NULL && place->id != id)
        place = place->beside;
    return place;
}

char *hf_session_text(struct hf_session *session, size_t size)
{
    char *text = hf_grow(session->text, &session->text_room, size + 1, 1);

    if (text != NULL)
        session->text = text;
    return text;
}

void hf_session_renew(struct hf_session *session, hf_time now)
{
    session->until = session->ttl > 0 ? now + session->ttl : HF_NEVER;
}

void hf_world_begin(struct hf_world *world, struct hf_session *session, hf_time ttl,
                    hf_time now)
{
    assert(session->number == 0 && session->places == NULL);
    session->number = ++world->number;
    session->ttl = ttl;
    hf_session_renew(session, now);
    session->next = world->sessions;
    world->sessions = session;
}

/* S4 tied: all places go with their session. */
void hf_world_end(struct hf_world *world, struct hf_session *session)
{
    struct hf_session **at = &world->sessions;

    hf_world_unwatch(world, session);
    while (session->places != NULL) {
        struct hf_world_place *place = session->places;
        session->places = place->beside;
        if (place->queue != NULL)
            hf_world_depart(world, place);
        hf_world_place_free(place);
    }
    while (*at != session) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = session->next;
    session->number = 0;
    if (world->bell != NULL)
        world->bell(session->owner);
}

void hf_session_finish(struct hf_session *session)
{
    assert(session->number == 0);
    free(session->place);
    free(session->text);
    hf_finding_list_clear(&session->findings);
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
