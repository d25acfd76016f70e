/* watch.c - WATCH, as the world carries it out: kept until it comes true.
 *
 * It is looked at when it arrives and after every change of its line, in the same way: the
 * own place is compared with what the caller knows of it.  So what happened before it arrived
 * counts (S3).
 */
#include "store/memory/world.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct hf_watch *hf_watch_new(struct hf_session *session, uint64_t serial,
                              const struct hf_req *req)
{
    struct hf_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return NULL;
    assert(serial != 0);
    *watch = (struct hf_watch){ .session = session, .serial = serial, .req = *req };
    if (req->op == HF_WATCH && req->standing.asked != NULL) {
        watch->asked = strdup(req->standing.asked);
        if (watch->asked == NULL) {
            free(watch);
            return NULL;
        }
    }
    watch->req.standing.asked = watch->asked;
    return watch;
}

void hf_watch_free(struct hf_watch *watch)
{
    free(watch->asked);
    free(watch);
}

bool hf_watch_due(const struct hf_watch *watch, const struct hf_queue *queue)
{
    const struct hf_req *req = &watch->req;

    if (req->id == 0)
        return req->token != 0 ? hf_queue_find(queue, req->token) == NULL
                               : queue->changed > req->stamp;
    struct hf_standing now = hf_place_standing(hf_session_place(watch->session, req->id));
    return hf_standing_differs(&now, req);
}

/* True if it has come true already. */
bool hf_world_watch(struct hf_world *world, struct hf_session *session, uint64_t serial,
                    const struct hf_req *req, struct hf_answer *answer)
{
    struct hf_queue *queue = hf_world_line(world, req->name, true);
    struct hf_watch *new = hf_watch_new(session, serial, req);

    if (queue != NULL && new != NULL) {
        if (new->req.stamp == 0) /* what happened before is not asked for */
            new->req.stamp = world->stamp;
        if (!hf_watch_due(new, queue)) {
            new->next = queue->watches;
            queue->watches = new;
            return false;
        }
        answer->status = hf_answer_standing(answer, hf_session_place(session, req->id));
    } else {
        answer->status = HF_ENOMEM;
    }
    if (new != NULL)
        hf_watch_free(new);
    if (queue != NULL)
        hf_world_tidy(world, queue);
    return true;
}

/* Take those of the session out of a list: one, or with serial 0 every one. */
bool hf_watch_forget(struct hf_watch **at, const struct hf_session *session,
                     uint64_t serial)
{
    bool any = false;

    while (*at != NULL) {
        struct hf_watch *found = *at;
        if (found->session != session || (serial != 0 && found->serial != serial)) {
            at = &found->next;
            continue;
        }
        *at = found->next;
        hf_watch_free(found);
        any = true;
    }
    return any;
}

void hf_world_unwatch(struct hf_world *world, struct hf_session *session, uint64_t serial)
{
    for (size_t i = 0; i < HF_WORLD_BUCKETS; i++) {
        struct hf_queue *queue = world->queue[i];
        while (queue != NULL) {
            struct hf_queue *next = queue->next;
            hf_watch_forget(&queue->watches, session, serial);
            hf_world_tidy(world, queue);
            queue = next;
        }
    }
    if (hf_watch_forget(&world->surveys, session, serial))
        session->surveyed = 0; /* the next is the first of another survey */
}
