/* client.c - open and close; see client.h. */
#include "client/client.h"

#include "base/fork.h"
#include "base/name.h"
#include "base/random.h"
#include "client/callback.h"
#include "client/end/end.h"
#include "client/handle/lock.h"
#include "client/look/note.h"
#include "client/look/sync_query.h"
#include "client/look/watch.h"
#include "client/url.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long hf_close() waits for the store to confirm the releases. */
#define CLOSE_LIMIT (2 * HF_SEC)

/* How long a call with a timeout of 0 waits for its answer. */
#define ANSWER_LIMIT (5 * HF_SEC)

struct hf_limit hf_client_limit(int64_t timeout_ms)
{
    hf_time now = hf_now();
    bool    once = timeout_ms == 0;

    return (struct hf_limit){ once ? now + ANSWER_LIMIT : hf_after_ms(now, timeout_ms),
                              once };
}

int hf_client_check(const struct hf_client *client)
{
    if (client == NULL)
        return HF_EINVAL;
    return client->generation == hf_fork_generation() ? 0 : HF_EFORK;
}

int hf_client_begin(struct hf_client *client, int *cancel)
{
    int r = hf_client_check(client);

    if (r == 0)
        *cancel = hf_drive_begin(&client->drive);
    return r;
}

void hf_client_end(struct hf_client *client, int cancel)
{
    hf_drive_end(&client->drive, cancel);
}

int hf_client_check_name(struct hf_client *client, const char *name)
{
    const char *fault = hf_name_fault(name);

    if (fault == NULL)
        return 0;
    const char *last = name != NULL ? strrchr(name, '/') : NULL;
    if (last != NULL && strstr(name, "://") == NULL && hf_name_fault(last + 1) == NULL)
        return hf_client_fail(client, HF_EINVAL, "the lock name %s; try \"%s\"", fault,
                              last + 1);
    return hf_client_fail(client, HF_EINVAL,
                          "the lock name %s; use 1 to 255 bytes of plain text", fault);
}

int hf_client_need_fd(struct hf_client *client, int fd)
{
    if (fd >= 0)
        return fd;
    return hf_client_fail(client, HF_ESTORE,
                          "no descriptor left; raise the limit (ulimit -n)");
}

static int open_url(struct hf_client *client, const char *url,
                    const struct hf_options *options, char *errmsg)
{
    struct hf_url    parsed;
    struct hf_store *store;

    int r = hf_url_parse(url, &parsed, errmsg);
    if (r < 0)
        return r;
    parsed.config.ttl_ms = options->ttl_ms > 0 ? options->ttl_ms : 15000;
    parsed.config.seed = hf_random();
    parsed.config.init = (options->flags & HF_INIT) != 0;
    client->url = strdup(parsed.config.url);
    client->given = strdup(parsed.config.given);
    client->ttl_ms = parsed.config.ttl_ms;
    r = client->url != NULL && client->given != NULL
            ? hf_store_open(&parsed.config, errmsg, &store)
            : HF_ENOMEM;
    hf_url_finish(&parsed);
    if (r < 0)
        return r;
    if (options->on_trace != NULL) {
        r = hf_trace_open(store, options->on_trace, options->data, &store);
        if (r < 0) {
            store->impl->close(store);
            return r;
        }
    }
    client->store = store;
    return 0;
}

static char *copy_of(const char *text)
{
    return strdup(text != NULL ? text : "");
}

static int start_client(struct hf_client *client, const struct hf_options *options,
                        char *errmsg)
{
    const char *command = options->command;

    assert(client->store != NULL);
    if (client->store->shared && options->public_command != NULL)
        command = options->public_command;
    client->bare = command != NULL && options->public_command == NULL;
    client->command = copy_of(command);
    client->note = hf_note_encode(command, options->note);
    if (client->command == NULL || client->note == NULL)
        return HF_ENOMEM;
    client->generation = hf_fork_generation();
    hf_client_number(client);
    client->on_state = options->on_state;
    client->on_ask = options->on_ask;
    client->on_place = options->on_place;
    client->on_link = options->on_link;
    client->on_session_key = options->on_session_key;
    client->data = options->data;
    client->last_callback = &client->callbacks;
    client->last_pending = &client->pending;
    client->alive_until = client->store->alive_until;
    hf_engine_init(&client->engine, client->store, hf_random());
    client->engine.clock = hf_now;
    if ((options->flags & HF_GUARDIAN) != 0 && client->store->outlives) {
        int r = hf_guardian_start(client, options->guardian, errmsg);
        if (r < 0)
            return r;
    }
    if (client->store->outlives)
        hf_session_key_hand_out(client);
    int error = hf_drive_init(&client->drive, &hf_client_ops, client, client->store->fd,
                              (options->flags & HF_NO_KEEPER) == 0);
    if (error == 0)
        return 0;
    snprintf(errmsg, HF_ERRMSG_MAX,
             "the system refuses a client its descriptors or its thread: %s",
             strerror(error));
    return error == ENOMEM ? HF_ENOMEM : HF_ESTORE;
}

static void destroy_client(struct hf_client *client)
{
    if (client->store != NULL)
        client->store->impl->close(client->store);
    hf_guardian_dismiss(client, true);
    if (client->given != NULL) /* it may hold a password */
        explicit_bzero(client->given, strlen(client->given));
    free(client->given);
    free(client->url);
    free(client->command);
    free(client->note);
    free(client);
}

static int open_client(const char *url, const struct hf_options *given,
                       struct hf_client **ret)
{
    struct hf_options options;
    char              errmsg[HF_ERRMSG_MAX] = "out of memory";
    struct hf_client *client = NULL;

    int r = hf_options_read(given, &options, errmsg);
    if (r < 0)
        goto fail;
    r = HF_ENOMEM;
    client = calloc(1, sizeof *client);
    if (client == NULL)
        goto fail;
    hf_stats_init(&client->all_stats);
    r = open_url(client, url, &options, errmsg);
    if (r < 0)
        goto fail;
    r = start_client(client, &options, errmsg);
    if (r < 0)
        goto fail;
    *ret = client;
    return 0;
fail:
    if (options.error != NULL && options.error_size > 0)
        snprintf(options.error, options.error_size, "%s", errmsg);
    if (client != NULL)
        destroy_client(client);
    return r;
}

int hf_open(const char *url, const struct hf_options *options, struct hf_client **ret)
{
    int cancel;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    int r = ret != NULL ? open_client(url, options, ret) : HF_EINVAL;
    pthread_setcancelstate(cancel, &cancel);
    return r;
}

static bool has_no_locks(void *arg)
{
    struct hf_client *client = arg;

    return client->locks == NULL;
}

/* A set of locks that still has its members. */
static struct hf_lock *find_set(const struct hf_client *client)
{
    struct hf_lock *lock = client->locks;

    while (lock != NULL && lock->set == NULL)
        lock = hf_lock_next(lock, HF_LIST_LOCKS);
    return lock;
}

static void close_client(struct hf_client *client)
{
    int cancel;

    /* In a forked child everything belongs to the parent, the mutex included. */
    if (hf_client_begin(client, &cancel) < 0) {
        hf_guardian_leave_to_parent(client);
        return;
    }
    client->closing = true;
    hf_callbacks_settle(client, NULL); /* a callback may be using a lock */
    for (struct hf_lock *lock; (lock = find_set(client)) != NULL;)
        lock->ops->free(lock);
    for (struct hf_lock *lock = client->locks, *next; lock != NULL; lock = next) {
        next = hf_lock_next(lock, HF_LIST_LOCKS);
        hf_lock_post_free(lock);
    }
    (void)hf_drive_wait(&client->drive, has_no_locks, client, hf_now() + CLOSE_LIMIT);
    hf_client_end(client, cancel);

    hf_drive_finish(&client->drive);
    assert(client->changed == NULL && client->answered == NULL); /* all published */
    hf_callbacks_drop(client, NULL);
    client->store->impl->close(client->store); /* the places that are left vanish */
    client->store = NULL;
    hf_guardian_dismiss(client, client->locks == NULL);
    while (client->locks != NULL)
        hf_lock_destroy(client->locks);
    hf_sync_queries_drop(client);
    hf_store_watches_drop(client);
    hf_lock_watches_drop(client);
    destroy_client(client);
}

void hf_close(struct hf_client *client)
{
    int cancel;

    if (client == NULL)
        return;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    close_client(client);
    pthread_setcancelstate(cancel, &cancel);
}

const char *hf_where(const struct hf_client *client)
{
    return client != NULL ? client->url : "";
}

int hf_fd(struct hf_client *client)
{
    int cancel;

    int r = hf_client_begin(client, &cancel);
    if (r < 0)
        return r;
    r = hf_drive_fd(&client->drive);
    hf_client_end(client, cancel);
    return r;
}

int hf_timeout_ms(struct hf_client *client)
{
    int cancel;

    if (hf_client_begin(client, &cancel) < 0)
        return -1;
    bool    now = client->drive.posted || client->drive.pending;
    hf_time wake = now ? 0 : client->drive.wake;
    hf_client_end(client, cancel);
    return hf_poll_ms(hf_now(), wake);
}

int hf_process(struct hf_client *client)
{
    int cancel;

    int r = hf_client_begin(client, &cancel);
    if (r < 0)
        return r;
    hf_client_hear_started(client);
    hf_drive_process(&client->drive);
    hf_client_end(client, cancel);
    return 0;
}

struct lifeline {
    struct hf_store *store;
    int             *fds, size, result;
    char             why[HF_ERRMSG_MAX];
};

static void get_lifeline(void *arg)
{
    struct lifeline *line = arg;

    line->result = line->store->impl->lifeline(line->store, line->fds, line->size);
    snprintf(line->why, sizeof line->why, "%s", line->store->errmsg);
}

int hf_lifeline(struct hf_client *client, int *fds, int size)
{
    int cancel;

    int r = fds != NULL || size <= 0 ? hf_client_begin(client, &cancel) : HF_EINVAL;
    if (r < 0)
        return r;
    struct lifeline line = { .store = client->store, .fds = fds, .size = size };
    if (client->store->impl->lifeline != NULL)
        hf_drive_run(&client->drive, get_lifeline, &line);
    if (line.result < 0)
        hf_client_fail(client, line.result, "%s", line.why);
    hf_client_end(client, cancel);
    return line.result;
}
