/* callback.c - see callback.h. */
#include "client/callback.h"

#include "client/handle/lock.h"
#include "client/look/watch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum kind { STATE, ASK, PLACE, LINK, REPORT, STORE_WATCH };

struct hf_callback {
    enum kind              kind;
    struct hf_lock        *lock;
    hf_lock_hook          *hook; /* STATE: called instead of on_state, unless NULL */
    enum hf_state          state;
    int                    why;
    int64_t                ahead;
    enum hf_link           link;
    struct hf_lock_watch  *watch;
    struct hf_store_watch *store_watch;
    struct hf_report      *report; /* STORE_WATCH: NULL: a round is complete */
    struct hf_callback    *next;
    char                   reason[];
};

/* Out of memory: the callback is left out; hf_state() and the like still tell the
 * truth. */
static int enqueue(struct hf_client *client, const struct hf_callback *what,
                   const char *reason)
{
    size_t              size = strlen(reason) + 1;
    struct hf_callback *callback = malloc(sizeof *callback + size);

    if (callback == NULL)
        return HF_ENOMEM;
    *callback = *what;
    memcpy(callback->reason, reason, size);
    assert(*client->last_callback == NULL && callback->next == NULL);
    *client->last_callback = callback;
    client->last_callback = &callback->next;
    client->drive.pending = true;
    return 0;
}

void hf_callback_state(struct hf_lock *lock, enum hf_state state, int why)
{
    struct hf_callback callback = {
        .kind = STATE, .lock = lock, .state = state, .why = why
    };

    callback.hook = lock->member.hook;
    bool users = lock->member.of == NULL && lock->client->on_state != NULL;
    if (callback.hook != NULL || users)
        (void)enqueue(lock->client, &callback, "");
}

void hf_callback_ask(struct hf_lock *lock, const char *reason)
{
    struct hf_callback callback = { .kind = ASK, .lock = lock };

    if (lock->client->on_ask != NULL)
        (void)enqueue(lock->client, &callback, reason);
}

void hf_callback_place(struct hf_lock *lock, int64_t ahead)
{
    struct hf_callback callback = { .kind = PLACE, .lock = lock, .ahead = ahead };

    if (lock->client->on_place != NULL)
        (void)enqueue(lock->client, &callback, "");
}

void hf_callback_link(struct hf_client *client, enum hf_link link, const char *why)
{
    struct hf_callback callback = { .kind = LINK, .link = link };

    if (client->on_link != NULL)
        (void)enqueue(client, &callback, why);
}

int hf_callback_report(struct hf_lock_watch *watch, struct hf_report *report)
{
    struct hf_callback callback = { .kind = REPORT, .watch = watch, .report = report };

    assert(report != NULL && !watch->stopped);
    return enqueue(watch->client, &callback, "");
}

int hf_callback_store_watch(struct hf_store_watch *watch, const char *name,
                            struct hf_report *line)
{
    struct hf_callback callback = { .kind = STORE_WATCH,
                                    .store_watch = watch,
                                    .report = line };

    return enqueue(hf_store_watch_client(watch), &callback, name);
}

static void callback_free(struct hf_callback *callback)
{
    hf_report_free(callback->report);
    free(callback);
}

static const void *subject(const struct hf_callback *callback)
{
    if (callback->kind == STORE_WATCH)
        return callback->store_watch;
    return callback->kind == REPORT ? (const void *)callback->watch : callback->lock;
}

void hf_callbacks_drop(struct hf_client *client, const void *about)
{
    struct hf_callback **at = &client->callbacks;

    while (*at != NULL) {
        struct hf_callback *callback = *at;
        if (about != NULL && subject(callback) != about) {
            at = &callback->next;
            continue;
        }
        *at = callback->next;
        callback_free(callback);
    }
    client->last_callback = at;
}

static struct hf_callback *dequeue(struct hf_client *client)
{
    struct hf_callback *callback = client->closing ? NULL : client->callbacks;

    if (callback != NULL) {
        client->callbacks = callback->next;
        if (client->callbacks == NULL)
            client->last_callback = &client->callbacks;
    }
    return callback;
}

static void call_store_watch(struct hf_callback *callback)
{
    struct hf_report *line = callback->report;

    callback->report = NULL; /* the user frees it */
    hf_store_watch_call(callback->store_watch, callback->reason, line);
}

static void run_callback(struct hf_client *client, struct hf_callback *callback)
{
    struct hf_lock *lock = callback->lock;

    if (callback->kind == STORE_WATCH)
        call_store_watch(callback);
    else if (callback->kind == REPORT)
        callback->watch->on_report(callback->watch, callback->report);
    else if (callback->kind == ASK)
        client->on_ask(lock, callback->reason, client->data);
    else if (callback->kind == PLACE)
        client->on_place(lock, callback->ahead, client->data);
    else if (callback->kind == LINK)
        client->on_link(client, callback->link, callback->reason, client->data);
    else if (callback->hook != NULL)
        callback->hook(lock, callback->state, callback->why);
    else
        client->on_state(lock, callback->state, callback->why, client->data);
}

/* One at a time: a thread that is already running callbacks runs the new ones, too. */
void hf_callbacks_deliver(void *owner)
{
    struct hf_client   *client = owner;
    struct hf_drive    *drive = &client->drive;
    struct hf_callback *callback;
    int                 cancel = hf_drive_begin(drive);

    if (client->calling) {
        hf_drive_end(drive, cancel);
        return;
    }
    assert(client->called == NULL);
    client->calling = true;
    client->caller = pthread_self();
    while ((callback = dequeue(client)) != NULL) {
        client->called = subject(callback);
        hf_drive_end(drive, cancel);
        run_callback(client, callback);
        callback_free(callback);
        cancel = hf_drive_begin(drive);
        client->called = NULL;
        hf_drive_rouse(drive);
    }
    client->calling = false;
    hf_drive_rouse(drive);
    hf_drive_end(drive, cancel);
}

struct call {
    const struct hf_client *client;
    const void             *about;
};

static bool is_over(void *arg)
{
    const struct call      *call = arg;
    const struct hf_client *client = call->client;

    return call->about != NULL ? client->called != call->about : !client->calling;
}

void hf_callbacks_settle(struct hf_client *client, const void *about)
{
    struct call call = { client, about };

    if (client->calling && !pthread_equal(client->caller, pthread_self()))
        (void)hf_drive_wait(&client->drive, is_over, &call, HF_NEVER);
}
