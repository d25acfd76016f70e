/* session.c - see session.h. */
#include "session.h"

#include "complain.h"
#include "run/messages.h"
#include "run/status.h"
#include "store_url.h"

#include <stdio.h>
#include <stdlib.h>

static const char withheld[] =
    "the store of the `holdfast run` around this one has a password, which is not passed "
    "on; name a store by --url-file or --url";

static const char alone[] =
    "memory: is the memory of one process, so that its locks exclude nobody else; name a "
    "file, as in sqlite:/path/to/locks.db, or a server";

static void on_trace(const char *text, void *data)
{
    (void)data;
    complain("%s", text);
}

static void on_ask(struct hf_lock *lock, const char *reason, void *data)
{
    const struct session_holder *holder = data;

    (void)lock;
    requests_on_ask(holder->requests, reason);
}

static void on_session_key(const void *key, size_t size, void *data)
{
    const struct session_holder *holder = data;

    guard_key_set(holder->key, key, size);
}

static void hold_by(struct hf_options *options, const struct session_holder *holder)
{
    options->command = holder->to_owner;
    options->public_command = holder->to_all;
    options->on_ask = on_ask;
    options->on_session_key = holder->key != NULL ? on_session_key : NULL;
    options->data = (void *)holder;
}

/* On failure `error` tells why. */
static int open_client(const struct args *args, const struct session_holder *holder,
                       char *error, size_t size, struct hf_client **ret)
{
    struct hf_options options = HF_OPTIONS_INIT;

    error[0] = '\0';
    if (session_withheld(args) != NULL) {
        snprintf(error, size, "%s", withheld);
        return HF_EINVAL;
    }
    options.flags = HF_NO_KEEPER | (args->verb->bit == IN_INIT ? HF_INIT : 0);
    if (holder != NULL)
        hold_by(&options, holder);
    options.note = args->note;
    options.on_trace = args->verbose ? on_trace : NULL;
    options.on_link = store_message_on_link;
    options.on_place = status_place;
    options.error = error;
    options.error_size = size;

    if (holder != NULL && url_is_memory(args->url)) {
        snprintf(error, size, "%s", alone);
        return HF_EINVAL;
    }
    bool limited = args->wait_ms >= 0 || args->observe ||
                   (args->verb->bit & (IN_RUN | IN_HOLD | IN_ELECT | IN_WAIT)) == 0;
    store_message_start(args->quiet, !limited);
    int r = hf_open(args->url, &options, ret);
    if (r < 0 && error[0] == '\0')
        snprintf(error, size, "%s", hf_strerror(r));
    return r;
}

const char *session_withheld(const struct args *args)
{
    return args->url == NULL && url_is_withheld() ? withheld : NULL;
}

bool session_refuse_withheld(const struct args *args)
{
    const char *text = session_withheld(args);

    if (text != NULL)
        complain("%s", text);
    return text != NULL;
}

void session_load(const struct args *args)
{
    int r = hf_load(args->url, NULL, 0); /* hf_open() tells what is missing */

    (void)r;
}

int session_open_to_hold(const struct args *args, const struct session_holder *holder,
                         struct hf_client **ret)
{
    char error[512];

    int r = open_client(args, holder, error, sizeof error, ret);
    if (r < 0) {
        complain("%s", error);
        status_failed(r, error);
    }
    return r < 0 ? exit_for(r) : 0;
}

int session_try(const struct args *args, char *error, size_t size, struct hf_client **ret)
{
    int r = open_client(args, NULL, error, size, ret);

    return r < 0 ? exit_for(r) : 0;
}

int session_open(const struct args *args, struct hf_client **ret)
{
    return session_open_to_hold(args, NULL, ret);
}

int session_inspect(struct hf_client *client, const char *name, struct hf_report **ret)
{
    int r = hf_inspect(client, name, SESSION_PATIENCE_MS, ret);

    return r < 0 ? complain_failure(client, r) : 0;
}

int session_look(const struct args *args, const char *name,
                 int (*use)(const struct args *args, struct hf_client *client,
                            const struct hf_report *report))
{
    struct hf_client *client;
    struct hf_report *report;

    int code = session_open(args, &client);
    if (code != 0)
        return code;
    code = session_inspect(client, name, &report);
    if (code == 0) {
        code = use(args, client, report);
        hf_report_free(report);
    }
    hf_close(client);
    return code;
}
