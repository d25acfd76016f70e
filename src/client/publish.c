/* publish.c - what goes in and out of the engine around a turn. */
#include "client/publish.h"

#include "client/inspect.h"
#include "client/lock.h"

#include <stdlib.h>
#include <string.h>

enum kind { STATE, ASK, PLACE };

struct hf_notice {
    enum kind         kind;
    struct hf_lock   *lock;
    enum hf_state     state;
    int               why;
    int64_t           ahead;
    struct hf_notice *next;
    char              reason[];
};

static void add(struct hf_lock *lock, const struct hf_notice *what, const char *reason)
{
    struct hf_client *client = lock->client;
    size_t            size = strlen(reason) + 1;
    struct hf_notice *notice = malloc(sizeof *notice + size);

    if (notice == NULL) /* hf_state() and its like still tell the truth */
        return;
    *notice = *what;
    notice->lock = lock;
    memcpy(notice->reason, reason, size);
    *client->last_notice = notice;
    client->last_notice = &notice->next;
    client->drive.pending = true;
}

void hf_notice_state(struct hf_lock *lock, enum hf_state state, int why)
{
    if (lock->client->on_state != NULL || lock->hook != NULL)
        add(lock, &(struct hf_notice){ .kind = STATE, .state = state, .why = why }, "");
}

void hf_notice_ask(struct hf_lock *lock, const char *reason)
{
    if (lock->client->on_ask != NULL)
        add(lock, &(struct hf_notice){ .kind = ASK }, reason);
}

void hf_notice_place(struct hf_lock *lock, int64_t ahead)
{
    if (lock->client->on_place != NULL)
        add(lock, &(struct hf_notice){ .kind = PLACE, .ahead = ahead }, "");
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

/* A lock inside an election or a bundle tells that, and nobody else. */
static void make_call(struct hf_client *client, const struct hf_notice *notice)
{
    struct hf_lock *lock = notice->lock;

    if (notice->kind == ASK)
        client->on_ask(lock, notice->reason, client->data);
    else if (notice->kind == PLACE)
        client->on_place(lock, notice->ahead, client->data);
    else if (lock->hook != NULL)
        lock->hook(lock, notice->state, notice->why);
    else
        client->on_state(lock, notice->state, notice->why, client->data);
}

static void deliver(void *owner)
{
    struct hf_client *client = owner;
    struct hf_notice *notice;

    while ((notice = next_notice(client)) != NULL) {
        make_call(client, notice);
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
