/* pending.c - see pending.h. */
#include "client/pending.h"

#include "client/handle/lock.h"

#include <assert.h>

bool hf_lock_is_posted(const struct hf_lock *lock)
{
    return lock->pending.posted != 0;
}

static void post(struct hf_lock *lock, enum hf_posted posted)
{
    struct hf_pending *pending = &lock->pending;

    if (!hf_lock_is_posted(lock)) {
        assert(*lock->client->last_pending == NULL);
        pending->next = NULL; /* at the end: the first one wanted enters first */
        *lock->client->last_pending = lock;
        lock->client->last_pending = &pending->next;
    }
    pending->posted |= posted;
    hf_drive_post(&lock->client->drive);
}

void hf_lock_post_want(struct hf_lock *lock, bool once, hf_time deadline)
{
    assert(hf_state(lock) == HF_IDLE);
    assert(lock->owner.state == HF_OWNER_TAKEN || lock->owner.state == HF_OWNER_STARTED);
    assert(lock->settings.note != NULL); /* see hf_lock_prepare() */
    lock->pending.once = once;
    lock->pending.deadline = deadline;
    hf_lock_set_state(lock, HF_WAITING, 0);
    post(lock, HF_POSTED_WANT);
}

void hf_lock_post_drop(struct hf_lock *lock, int why)
{
    assert(why <= 0);
    lock->pending.why = why;
    hf_lock_set_state(lock, HF_LEAVING, why);
    post(lock, HF_POSTED_DROP);
}

void hf_lock_post_downgrade(struct hf_lock *lock, const struct hf_shape *shape)
{
    /* A heavier one would have to wait. */
    assert(shape->weight <= lock->job.hold.shape.weight);
    lock->pending.lesser = *shape;
    post(lock, HF_POSTED_DOWNGRADE);
}

void hf_lock_post_free(struct hf_lock *lock)
{
    lock->freeing = true;
    hf_callbacks_drop(lock->client, lock);
    if (lock->owner.state == HF_OWNER_INNER)
        (void)hf_nested_release_inner(lock);
    if (lock->owner.state == HF_OWNER_OUTLIVED) /* inner handles use its place */
        return;
    hf_nested_lose_inner(lock);
    enum hf_state state = hf_state(lock);
    if (state != HF_IDLE && state != HF_LEAVING)
        hf_lock_post_drop(lock, state == HF_WAITING ? HF_ECANCELED : 0);
    else
        post(lock, HF_POSTED_FREE);
}

/* Created here, because here nobody else turns the engine. */
static void make_job(struct hf_lock *lock)
{
    struct hf_shape shape = lock->job.hold.shape;

    if (lock->job.engine != NULL)
        return;
    hf_job_init(&lock->job, &lock->client->engine, lock->name, &shape);
    lock->job.on_change = hf_lock_on_change;
}

static void want(struct hf_lock *lock)
{
    struct hf_pending *pending = &lock->pending;

    lock->job.note = lock->settings.note;
    lock->job.limit = lock->settings.limit;
    lock->job.follow = lock->settings.follow;
    lock->job.group = pending->group;
    pending->group = 0;
    hf_job_want(&lock->job, pending->once, pending->deadline);
}

/* The hold may have ended between the posting and now. */
static void carry_out(struct hf_lock *lock)
{
    struct hf_job *job = &lock->job;
    unsigned       posted = lock->pending.posted;

    assert(posted != 0);
    lock->pending.posted = 0;
    make_job(lock);
    if (posted & HF_POSTED_WANT)
        want(lock);
    if ((posted & HF_POSTED_DOWNGRADE) && job->hold.state == HF_HOLD_HELD)
        hf_job_downgrade(job, &lock->pending.lesser);
    if ((posted & HF_POSTED_DROP) && job->hold.state != HF_HOLD_IDLE)
        hf_job_drop(job, lock->pending.why);
    hf_lock_on_change(job); /* publish it even if nothing changed */
}

void hf_pending_collect(struct hf_client *client)
{
    while (client->pending != NULL) {
        struct hf_lock *lock = client->pending;
        client->pending = lock->pending.next;
        if (client->pending == NULL)
            client->last_pending = &client->pending;
        carry_out(lock);
    }
}
