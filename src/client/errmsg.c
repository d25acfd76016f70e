/* errmsg.c - hf_errmsg(): each thread sees its own last failure.
 *
 * Threads share a client, and between the failure of one thread and its hf_errmsg()
 * another may fail.  So each thread keeps the message of its own last failure, and the
 * client the last of all, for threads that have none.  An acquire that was started
 * without waiting fails later, in the thread that turns the engine: its message is for
 * every thread that calls hf_acquire_start() or hf_process().
 */
#include "client/client.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Of the calling thread. */
static _Thread_local struct {
    uint64_t client;  /* its number; 0: none */
    uint64_t failure; /* its number; 0: none */
    bool     starts;  /* it called hf_acquire_start() or hf_process() */
    char     text[HF_ERRMSG_MAX];
} own;

void hf_client_number(struct hf_client *client)
{
    static _Atomic uint64_t opened;

    client->number = atomic_fetch_add(&opened, 1) + 1;
}

static void use_client(const struct hf_client *client)
{
    assert(client->number != 0);
    if (own.client == client->number)
        return;
    memset(&own, 0, sizeof own);
    own.client = client->number;
}

void hf_client_hear_started(const struct hf_client *client)
{
    if (client == NULL)
        return;
    use_client(client);
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
    if (client->failing_started) {
        client->started_failure = client->failures;
        memcpy(client->started_errmsg, client->errmsg, sizeof client->started_errmsg);
        return code;
    }
    use_client(client);
    own.failure = client->failures;
    memcpy(own.text, client->errmsg, sizeof own.text);
    return code;
}

static const char *choose_message(const struct hf_client *client)
{
    bool mine = own.client == client->number;

    if (mine && own.starts && client->started_failure > own.failure)
        return client->started_errmsg;
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
    memcpy(text, choose_message(client), sizeof text);
    hf_client_end(client, cancel);
    return text;
}
