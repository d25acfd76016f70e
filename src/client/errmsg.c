/* errmsg.c - hf_errmsg(): what went wrong, told to the thread that it happened to.
 *
 * Threads share a client.  Between the failure of one and its hf_errmsg() another may fail:
 * so each thread keeps its own last failure, and the client the last of all, for a thread
 * that has none there.  What was started without waiting fails later, in the keeper or in
 * whatever thread turns the engine: that is told to all threads that start or process.
 */
#include "client/client.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Of the calling thread. */
static _Thread_local struct {
    uint64_t client;  /* its number; 0: none */
    uint64_t failure; /* its number; 0: none */
    bool     starts;  /* hears of what was started */
    char     text[HF_ERRMSG_MAX];
} own;

void hf_client_number(struct hf_client *client)
{
    static _Atomic uint64_t opened;

    client->number = atomic_fetch_add(&opened, 1) + 1;
}

static void turn_to(const struct hf_client *client)
{
    assert(client->number != 0);
    if (own.client == client->number)
        return;
    memset(&own, 0, sizeof own);
    own.client = client->number;
}

void hf_client_hear(const struct hf_client *client)
{
    if (client == NULL)
        return;
    turn_to(client);
    own.starts = true;
}

int hf_client_fail(struct hf_client *client, int code, const char *format, ...)
{
    va_list args;

    assert(code < 0);
    va_start(args, format);
    vsnprintf(client->errmsg, sizeof client->errmsg, format, args);
    va_end(args);
    client->failures++;
    if (client->failing_wish) {
        client->wish_failure = client->failures;
        memcpy(client->wish_errmsg, client->errmsg, sizeof client->wish_errmsg);
        return code;
    }
    turn_to(client);
    own.failure = client->failures;
    memcpy(own.text, client->errmsg, sizeof own.text);
    return code;
}

static const char *choose(const struct hf_client *client)
{
    bool mine = own.client == client->number;

    if (mine && own.starts && client->wish_failure > own.failure)
        return client->wish_errmsg;
    return mine && own.failure != 0 ? own.text : client->errmsg;
}

const char *hf_errmsg(struct hf_client *client)
{
    static _Thread_local char text[HF_ERRMSG_MAX];

    int cancel;

    int r = hf_client_begin(client, &cancel);
    if (r == HF_EINVAL)
        return "no client was given";
    if (r < 0)
        return "this client was opened by the parent process; open one of your own";
    memcpy(text, choose(client), sizeof text);
    hf_client_end(client, cancel);
    return text;
}
