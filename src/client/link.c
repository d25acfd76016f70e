/* link.c - see link.h.
 *
 * A store that refuses us (a wrong password) has its link up to tell so to whoever asks;
 * to the user it is down.  And a client that has just been opened is not connected yet,
 * which is nothing to tell before it has been tried.
 */
#include "client/link.h"

#include "client/publish.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void tell_link(struct hf_client *client, enum hf_link link, const char *why)
{
    client->link = link;
    snprintf(client->link_why, sizeof client->link_why, "%s", why);
    hf_notice_link(client, link, why);
}

static void tell_loss(struct hf_client *client)
{
    const char *why = client->store->errmsg;

    assert(client->losses != client->engine.losses);
    client->losses = client->engine.losses;
    tell_link(client, HF_LINK_LOST, *why != '\0' ? why : "the session has ended");
}

/* Of several servers each is tried in turn: that is no news if the reason is the same. */
static const char *reason(const char *why)
{
    const char *at = strstr(why, " cannot be reached: ");

    return at != NULL ? at : why;
}

static void tell_down(struct hf_client *client)
{
    const struct hf_store *store = client->store;
    const char *why = *store->errmsg != '\0' ? store->errmsg : hf_strerror(HF_EDOWN);
    assert(store->link != HF_LINK_UP || store->refusal != 0);
    bool news = store->failures > 0 && strcmp(reason(why), reason(client->link_why)) != 0;

    if (client->link == HF_LINK_UP || news)
        tell_link(client, HF_LINK_DOWN, why);
}

void hf_link_publish(struct hf_client *client)
{
    const struct hf_store *store = client->store;

    if (client->engine.losses != client->losses)
        tell_loss(client);
    if (store->link != HF_LINK_UP || store->refusal != 0)
        tell_down(client);
    else if (client->link != HF_LINK_UP)
        tell_link(client, HF_LINK_UP, "");
}
