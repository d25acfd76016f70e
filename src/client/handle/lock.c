/* lock.c - creating and freeing a handle; see lock.h. */
#include "client/handle/lock.h"

#include "base/name.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void hf_lock_on_change(struct hf_job *job)
{
    struct hf_lock *lock = (struct hf_lock *)job;

    if (lock->is_changed)
        return;
    lock->is_changed = true;
    lock->next_changed = lock->client->changed;
    lock->client->changed = lock;
}

void hf_lock_link(struct hf_lock *lock, enum hf_lock_list list, struct hf_lock **head)
{
    struct hf_lock_links *in = &lock->in[list];

    if (in->prev != NULL) {
        *in->prev = in->next;
        if (in->next != NULL)
            in->next->in[list].prev = in->prev;
    }
    in->prev = head;
    in->next = head != NULL ? *head : NULL;
    if (head != NULL)
        *head = lock;
    if (in->next != NULL)
        in->next->in[list].prev = &in->next;
}

/* Its job is created when its first pending operation is collected; see pending.c. */
static int make_lock(struct hf_client *client, const char *name,
                     const struct hf_shape *shape, struct hf_lock **ret)
{
    struct hf_lock *lock = calloc(1, sizeof *lock);
    char           *copy = strdup(name);

    if (lock == NULL || copy == NULL) {
        free(lock);
        free(copy);
        return hf_client_fail(client, HF_ENOMEM, "out of memory");
    }
    lock->client = client;
    lock->name = copy;
    lock->hash = hf_name_hash(copy);
    lock->ops = &hf_plain_ops;
    lock->job.hold.shape = *shape;
    hf_published_init(&lock->published);
    hf_stats_init(&lock->counts.stats);
    hf_asked_init(&lock->asked);
    hf_lock_link(lock, HF_LIST_LOCKS, &client->locks);
    *ret = lock;
    return 0;
}

int hf_lock_new(struct hf_client *client, const char *name, const struct hf_shape *shape,
                struct hf_lock **ret)
{
    int cancel;

    assert(!hf_shape_invalid(shape)); /* recipes check the arguments of users */
    int r = hf_client_begin(client, &cancel);
    if (r < 0)
        return r;
    r = ret != NULL
            ? hf_client_check_name(client, name)
            : hf_client_fail(client, HF_EINVAL,
                             "nowhere to put the lock: the last argument is NULL");
    if (r == 0)
        r = make_lock(client, name, shape, ret);
    hf_client_end(client, cancel);
    return r;
}

void hf_lock_destroy(struct hf_lock *lock)
{
    assert(!lock->is_changed && !hf_lock_is_posted(lock));
    for (int list = 0; list < HF_LISTS; list++)
        hf_lock_link(lock, (enum hf_lock_list)list, NULL);
    hf_callbacks_drop(lock->client, lock);
    hf_published_finish(&lock->published);
    hf_asked_finish(&lock->asked);
    free(lock->settings.note);
    free(lock->name);
    free(lock);
}

void hf_lock_free(struct hf_lock *lock)
{
    int cancel;

    if (hf_client_begin(hf_lock_client(lock), &cancel) < 0)
        return;
    struct hf_client *client = lock->client;
    hf_callbacks_drop(client, lock);
    hf_callbacks_settle(client, lock);
    if (lock->ops->free != NULL)
        lock->ops->free(lock);
    hf_lock_post_free(lock);
    hf_drive_turn(&client->drive, false); /* it may be gone after this */
    hf_drive_nudge(&client->drive);
    hf_client_end(client, cancel);
}
