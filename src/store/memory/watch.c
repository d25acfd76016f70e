/* watch.c - WATCH, as the world carries it out: kept until it comes true. */
#include "store/memory/world.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct hf_watch *copy_watch(struct hf_session *session, uint64_t serial,
                                   const struct hf_req *req)
{
    struct hf_watch *watch = calloc(1, sizeof *watch + req->count * sizeof *req->seqs);
    if (watch == NULL)
        return NULL;
    assert(req->op == HF_WATCH && serial != 0);
    watch->session = session;
    watch->serial = serial;
    watch->count = req->count;
    if (req->count > 0)
        memcpy(watch->seqs, req->seqs, req->count * sizeof *req->seqs);

    struct hf_place *mine = hf_session_place(session, req->id);
    if (mine != NULL && mine->queue != NULL)
        watch->mine = mine;
    /* A holder watches its own ticket: that it is granted is no news. */
    bool own = false;
    for (size_t i = 0; i < req->count; i++)
        own |= mine != NULL && req->seqs[i] == mine->ticket.seq;
    watch->waits = req->id != 0 && !own;
    return watch;
}

/* True if it has come true already. */
bool hf_world_watch(struct hf_world *world, struct hf_session *session, uint64_t serial,
                    const struct hf_req *req, struct hf_answer *answer)
{
    struct hf_queue *queue = hf_world_line(world, req->name, true);
    struct hf_watch *new = copy_watch(session, serial, req);

    if (queue != NULL && new != NULL) {
        new->queue = queue;
        if (!hf_watch_due(new, world->habit, req->stamp)) {
            assert(new->mine == NULL || new->mine->queue == queue);
            new->next = queue->watches;
            queue->watches = new;
            return false;
        }
    } else {
        answer->status = HF_ENOMEM;
    }
    free(new);
    if (queue != NULL)
        hf_world_tidy(world, queue);
    return true;
}

static void unwatch_line(struct hf_world *world, struct hf_queue *queue,
                         const struct hf_session *session, uint64_t serial)
{
    struct hf_watch **at = &queue->watches;

    while (*at != NULL) {
        struct hf_watch *found = *at;
        if (found->session != session || (serial != 0 && found->serial != serial)) {
            at = &found->next;
            continue;
        }
        *at = found->next;
        free(found);
    }
    hf_world_tidy(world, queue);
}

/* One watch of the session, or with serial 0 every one. */
void hf_world_unwatch(struct hf_world *world, const struct hf_session *session,
                      uint64_t serial)
{
    for (size_t i = 0; i < HF_WORLD_BUCKETS; i++) {
        struct hf_queue *queue = world->queue[i];
        while (queue != NULL) {
            struct hf_queue *next = queue->next;
            unwatch_line(world, queue, session, serial);
            queue = next;
        }
    }
}
