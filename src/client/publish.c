/* publish.c - what goes in and out of the engine around a turn. */
#include "client/publish.h"

#include "client/inspect.h"
#include "client/lock.h"

#include <stdlib.h>

struct hf_notice {
    struct hf_lock   *lock;
    enum hf_state     state;
    int               why;
    struct hf_notice *next;
};

void hf_notice_add(struct hf_lock *lock, enum hf_state state, int why)
{
    struct hf_client *client = lock->client;

    if (client->on_state == NULL)
        return;
    struct hf_notice *notice = malloc(sizeof *notice);
    if (notice == NULL) /* hf_state() still tells the truth */
        return;
    *notice = (struct hf_notice){ .lock = lock, .state = state, .why = why };
    *client->last_notice = notice;
    client->last_notice = &notice->next;
    client->drive.pending = true;
}

void hf_notices_drop(struct hf_client *client, const struct hf_lock *lock)
{
    struct hf_notice **at = &client->notices;

    while (*at != NULL) {
        struct hf_notice *notice = *at;
        if (lock != NULL && notice->lock != lock) {
            at = &notice->next;
            continue;
        }
        *at = notice->next;
        free(notice);
    }
    client->last_notice = at;
}

static struct hf_notice *next_notice(struct hf_client *client)
{
    int               cancel = hf_drive_begin(&client->drive);
    struct hf_notice *notice = client->notices;

    if (notice != NULL) {
        client->notices = notice->next;
        if (client->notices == NULL)
            client->last_notice = &client->notices;
    }
    hf_drive_end(&client->drive, cancel);
    return notice;
}

static void deliver(void *owner)
{
    struct hf_client *client = owner;
    struct hf_notice *notice;

    while ((notice = next_notice(client)) != NULL) {
        client->on_state(notice->lock, notice->state, notice->why, client->data);
        free(notice);
    }
}

static void collect(void *owner)
{
    struct hf_client *client = owner;

    while (client->inbox != NULL) {
        struct hf_lock *lock = client->inbox;
        client->inbox = lock->inbox;
        lock->in_inbox = false;
        hf_lock_collect(lock);
    }
    hf_queries_collect(client);
}

static void turn(void *owner, hf_time now, bool readable)
{
    struct hf_client *client = owner;

    hf_engine_turn(&client->engine, now, readable);
}

/* A renewal moved the deadline: alarms that hang on it move along. */
static void publish_deadline(struct hf_client *client)
{
    hf_time until = client->store->alive_until;

    if (until == atomic_load(&client->alive_until))
        return;
    atomic_store(&client->alive_until, until);
    for (struct hf_lock *lock = client->locks; lock != NULL; lock = lock->next)
        hf_lock_set_alarm(lock);
}

static hf_time publish(void *owner)
{
    struct hf_client *client = owner;

    publish_deadline(client);
    while (client->changed != NULL) {
        struct hf_lock *lock = client->changed;
        client->changed = lock->moved;
        lock->is_moved = false;
        hf_lock_publish(lock);
    }
    return hf_engine_wake(&client->engine);
}

const struct hf_drive_ops hf_client_ops = {
    .collect = collect,
    .turn = turn,
    .publish = publish,
    .deliver = deliver,
};
