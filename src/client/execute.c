/* execute.c - hf_execute(): ends the session that a will is of.
 *
 * The store takes the session over, as after a broken connection, and ends it.  Its link
 * is LOST then.  Nobody else is involved: no engine, no thread.
 */
#include "base/random.h"
#include "client/client.h"
#include "client/url.h"
#include "client/will.h"
#include "holdfast.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 1: it is dead; 0: not yet; else why it will not be. */
static int look_at_end(const struct hf_store *store, const struct hf_limit *limit,
                       hf_time now, char *errmsg)
{
    int r = 0;

    if (store->link == HF_LINK_LOST)
        return 1;
    if (store->refusal != 0)
        r = store->refusal;
    else if (limit->once && store->absences > 0)
        r = HF_EDOWN;
    else if (now >= limit->deadline)
        r = HF_ETIMEOUT;
    if (r < 0)
        snprintf(errmsg, HF_ERRMSG_MAX, "%s",
                 *store->errmsg != '\0' ? store->errmsg : hf_strerror(r));
    return r;
}

static int end_session(struct hf_store *store, const struct hf_limit *limit, char *errmsg)
{
    for (;;) {
        hf_time now = hf_now();
        store->impl->process(store, now, true);
        int r = look_at_end(store, limit, now, errmsg);
        if (r != 0)
            return r < 0 ? r : 0;
        hf_time until = store->wake < limit->deadline ? store->wake : limit->deadline;
        struct pollfd on = { .fd = store->fd, .events = POLLIN };
        poll(&on, 1, hf_poll_ms(hf_now(), until));
    }
}

static int execute_at(const char *url, const struct hf_will *will,
                      const struct hf_limit *limit, char *errmsg)
{
    struct hf_url    parsed;
    struct hf_store *store;

    int r = hf_url_parse(url, &parsed, errmsg);
    if (r < 0)
        return r;
    parsed.config.ttl_ms = (int)will->ttl_ms;
    parsed.config.seed = hf_random();
    parsed.config.will = will->own;
    parsed.config.will_size = will->own_size;
    r = hf_store_open(&parsed.config, errmsg, &store);
    hf_url_finish(&parsed);
    if (r < 0)
        return r;
    r = end_session(store, limit, errmsg);
    store->impl->close(store);
    return r;
}

static int execute_will(const void *bytes, size_t size, const struct hf_limit *limit,
                        char *errmsg)
{
    struct hf_will will;

    int r = hf_will_read(bytes, size, &will, errmsg);
    if (r < 0)
        return r;
    char *url = strndup(will.url, will.url_size);
    if (url == NULL)
        return HF_ENOMEM;
    r = execute_at(url, &will, limit, errmsg);
    explicit_bzero(url, will.url_size); /* it may hold a password */
    free(url);
    return r;
}

int hf_execute(const void *bytes, size_t size, int64_t timeout_ms, char *error,
               size_t error_size)
{
    struct hf_limit limit = hf_client_limit(timeout_ms);
    char            errmsg[HF_ERRMSG_MAX] = "out of memory";
    int             cancel;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    int r = execute_will(bytes, size, &limit, errmsg);
    pthread_setcancelstate(cancel, &cancel);
    if (r < 0 && error != NULL && error_size > 0)
        snprintf(error, error_size, "%s", errmsg);
    return r;
}
