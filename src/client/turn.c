/* turn.c - what goes into the engine before a turn, and what is published after it.
 *
 * The link, as the user sees it, differs from the store's in two ways.  A store that
 * refuses us (a wrong password) has its link up, to answer requests with the reason; to
 * the user it is down.  And a client that has just been opened is not connected yet,
 * which is not worth a callback before a connection was tried.
 */
#include "client/callback.h"
#include "client/handle/lock.h"
#include "client/look/sync_query.h"
#include "client/look/watch.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void publish_link(struct hf_client *client, enum hf_link link, const char *why)
{
    client->link = link;
    snprintf(client->link_why, sizeof client->link_why, "%s", why);
    hf_callback_link(client, link, why);
}

static void publish_loss(struct hf_client *client)
{
    const char *why = client->store->errmsg;

    assert(client->losses != client->engine.losses);
    client->losses = client->engine.losses;
    publish_link(client, HF_LINK_LOST, *why != '\0' ? why : "the session has ended");
}

/* The message without the server: servers are tried in turn, and the next one that
 * fails for the same reason is not worth a callback. */
static const char *reason_of(const char *why)
{
    const char *at = strstr(why, " cannot be reached: ");

    return at != NULL ? at : why;
}

static void publish_down(struct hf_client *client)
{
    const struct hf_store *store = client->store;
    const char *why = *store->errmsg != '\0' ? store->errmsg : hf_strerror(HF_EDOWN);
    assert(store->link != HF_LINK_UP || store->refusal != 0);
    bool news =
        store->failures > 0 && strcmp(reason_of(why), reason_of(client->link_why)) != 0;

    if (client->link == HF_LINK_UP || news)
        publish_link(client, HF_LINK_DOWN, why);
}

static void check_link(struct hf_client *client)
{
    const struct hf_store *store = client->store;

    if (client->engine.losses != client->losses)
        publish_loss(client);
    if (store->link != HF_LINK_UP || store->refusal != 0)
        publish_down(client);
    else if (client->link != HF_LINK_UP)
        publish_link(client, HF_LINK_UP, "");
}

static void collect(void *owner)
{
    struct hf_client *client = owner;

    hf_pending_collect(client);
    hf_sync_queries_collect(client);
    hf_lock_watches_collect(client);
    hf_store_watches_collect(client);
}

static void turn(void *owner, hf_time now, bool readable)
{
    struct hf_client *client = owner;

    hf_engine_turn(&client->engine, now, readable);
}

/* A renewal moved the deadline: move the alarms of hf_lost_fd() as well. */
static void publish_deadline(struct hf_client *client)
{
    hf_time until = client->store->alive_until;

    if (until == atomic_load(&client->alive_until))
        return;
    hf_stats_renewed(client);
    atomic_store(&client->alive_until, until);
    for (struct hf_lock *lock = client->held; lock != NULL;
         lock = hf_lock_next(lock, HF_LIST_HELD))
        hf_lock_set_alarm(lock);
}

static hf_time publish(void *owner)
{
    struct hf_client *client = owner;

    publish_deadline(client);
    check_link(client);
    hf_stats_publish(client);
    while (client->changed != NULL) {
        struct hf_lock *lock = client->changed;
        client->changed = lock->next_changed;
        assert(lock->is_changed);
        lock->is_changed = false;
        hf_lock_publish(lock);
    }
    hf_sync_queries_publish(client);
    return hf_engine_wake(&client->engine);
}

const struct hf_drive_ops hf_client_ops = {
    .collect = collect,
    .turn = turn,
    .publish = publish,
    .deliver = hf_callbacks_deliver,
};
