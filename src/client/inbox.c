/* inbox.c - see inbox.h. */
#include "client/inbox.h"

#include "client/lock.h"

#include <assert.h>

bool hf_lock_is_posted(const struct hf_lock *lock)
{
    return lock->letter.posted != 0;
}

static void post(struct hf_lock *lock, enum hf_posted posted)
{
    struct hf_letter *letter = &lock->letter;

    if (!hf_lock_is_posted(lock)) {
        assert(*lock->client->last_inbox == NULL);
        letter->next = NULL; /* last: who wished first stands in line first */
        *lock->client->last_inbox = lock;
        lock->client->last_inbox = &letter->next;
    }
    letter->posted |= posted;
    hf_drive_post(&lock->client->drive);
}

void hf_lock_post_want(struct hf_lock *lock, bool once, hf_time deadline)
{
    assert(hf_state(lock) == HF_IDLE);
    assert(lock->owner.state == HF_OWNER_TAKEN || lock->owner.state == HF_OWNER_STARTED);
    assert(lock->settings.note != NULL); /* see hf_lock_prepare() */
    lock->letter.once = once;
    lock->letter.deadline = deadline;
    hf_lock_show(lock, HF_WAITING, 0);
    post(lock, HF_POSTED_WANT);
}

void hf_lock_post_drop(struct hf_lock *lock, int why)
{
    assert(why <= 0);
    lock->letter.why = why;
    hf_lock_show(lock, HF_LEAVING, why);
    post(lock, HF_POSTED_DROP);
}

void hf_lock_post_lessen(struct hf_lock *lock, const struct hf_shape *shape)
{
    assert(shape->weight <= lock->job.hold.shape.weight); /* more would have to wait */
    lock->letter.lesser = *shape;
    post(lock, HF_POSTED_LESSEN);
}

void hf_lock_post_free(struct hf_lock *lock)
{
    lock->freeing = true;
    hf_notices_drop(lock->client, lock);
    if (lock->owner.state == HF_OWNER_GUEST)
        (void)hf_shelter_leave(lock);
    if (lock->owner.state == HF_OWNER_LENT) /* its guests keep it until they go */
        return;
    hf_shelter_fall(lock);
    enum hf_state state = hf_state(lock);
    if (state != HF_IDLE && state != HF_LEAVING)
        hf_lock_post_drop(lock, state == HF_WAITING ? HF_ECANCELED : 0);
    else
        post(lock, HF_POSTED_FREE);
}

/* The engine takes new jobs on only while nobody turns it. */
static void make_job(struct hf_lock *lock)
{
    struct hf_shape shape = lock->job.hold.shape;

    if (lock->job.engine != NULL)
        return;
    hf_job_init(&lock->job, &lock->client->engine, lock->name, &shape);
    lock->job.on_change = hf_lock_on_change;
}

static void hand_want(struct hf_lock *lock)
{
    struct hf_letter *letter = &lock->letter;

    lock->job.note = lock->settings.note;
    lock->job.limit = lock->settings.limit;
    lock->job.follow = lock->settings.follow;
    lock->job.group = letter->group;
    letter->group = 0;
    hf_job_want(&lock->job, letter->once, letter->deadline);
}

/* What was held or wished for may have ended before the letter was read. */
static void hand_over(struct hf_lock *lock)
{
    struct hf_job *job = &lock->job;
    unsigned       posted = lock->letter.posted;

    assert(posted != 0);
    lock->letter.posted = 0;
    make_job(lock);
    if (posted & HF_POSTED_WANT)
        hand_want(lock);
    if ((posted & HF_POSTED_LESSEN) && job->hold.state == HF_HOLD_HELD)
        hf_job_lessen(job, &lock->letter.lesser);
    if ((posted & HF_POSTED_DROP) && job->hold.state != HF_HOLD_IDLE)
        hf_job_drop(job, lock->letter.why);
    hf_lock_on_change(job); /* so that it is published in any case */
}

void hf_inbox_collect(struct hf_client *client)
{
    while (client->inbox != NULL) {
        struct hf_lock *lock = client->inbox;
        client->inbox = lock->letter.next;
        if (client->inbox == NULL)
            client->last_inbox = &client->inbox;
        hand_over(lock);
    }
}
