/* end_session.c - hf_end_session().
 *
 * The store is opened with the key of the session: it takes the session over, as after
 * a broken connection, and ends it.  Then its link is LOST.  No engine or thread is
 * involved.
 */
#include "base/random.h"
#include "client/end/end.h"
#include "client/url.h"
#include "holdfast.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct attempt {
    struct hf_store *store;
    struct hf_limit  limit;
    hf_time          start;
    hf_time          lease_end; /* a dead owner's session has ended by then */
    int              refused;   /* the last refusal of the store, or 0 */
};

/* May the store soon accept us?  A server may be a replica for a moment, or full. */
static bool is_temporary(int refusal)
{
    return refusal == HF_EDENIED || refusal == HF_EFULL || refusal == HF_ENOMEM ||
           refusal == HF_ESTORE;
}

/* A store that keeps refusing us is not tried for longer than the lease: a wrong
 * password may stay wrong for ever. */
static hf_time last_retry(const struct attempt *attempt)
{
    hf_time end = attempt->limit.deadline;

    return attempt->refused != 0 ? hf_sooner(attempt->lease_end, end) : end;
}

/* The code to give up with; 0: keep trying. */
static int check_failure(struct attempt *attempt, hf_time now)
{
    const struct hf_store *store = attempt->store;

    if (store->refusal != 0)
        attempt->refused = store->refusal;
    else if (store->absences > 0)
        attempt->refused = 0; /* it is unreachable now */
    assert(attempt->refused <= 0);
    if (store->refusal != 0 && (attempt->limit.once || !is_temporary(store->refusal)))
        return store->refusal;
    if (attempt->limit.once && store->absences > 0 && now >= attempt->start + HF_ABSENCE)
        return HF_EDOWN;
    if (now < last_retry(attempt))
        return 0;
    if (attempt->refused != 0)
        return attempt->refused;
    return store->link == HF_LINK_UP ? HF_ETIMEOUT : HF_EDOWN;
}

static void wait_for_store(const struct attempt *attempt, hf_time now)
{
    struct pollfd on = { .fd = attempt->store->fd, .events = POLLIN };
    hf_time       until = hf_sooner(attempt->store->wake, last_retry(attempt));

    if (attempt->limit.once && now < attempt->start + HF_ABSENCE)
        until = hf_sooner(until, attempt->start + HF_ABSENCE);
    poll(&on, 1, hf_poll_ms(now, until));
}

static int await_end(struct attempt *attempt, char *errmsg)
{
    struct hf_store *store = attempt->store;

    for (;;) {
        hf_time now = hf_now();
        store->impl->process(store, now, true);
        if (store->link == HF_LINK_LOST)
            return 0;
        int r = check_failure(attempt, now);
        if (r < 0) {
            snprintf(errmsg, HF_ERRMSG_MAX, "%s",
                     *store->errmsg != '\0' ? store->errmsg : hf_strerror(r));
            return r;
        }
        wait_for_store(attempt, hf_now());
    }
}

static int end_session_at(const char *url, const struct hf_session_key *key,
                          const struct hf_limit *limit, char *errmsg)
{
    struct hf_url  parsed;
    struct attempt attempt = { .limit = *limit, .start = hf_now() };

    int r = hf_url_parse(url, &parsed, errmsg);
    if (r < 0)
        return r;
    parsed.config.ttl_ms = (int)key->ttl_ms;
    parsed.config.seed = hf_random();
    parsed.config.key = key->own;
    parsed.config.key_size = key->own_size;
    r = hf_store_open(&parsed.config, errmsg, &attempt.store);
    hf_url_finish(&parsed);
    if (r < 0)
        return r;
    attempt.lease_end = hf_after_ms(attempt.start, key->ttl_ms);
    r = await_end(&attempt, errmsg);
    attempt.store->impl->close(attempt.store);
    return r;
}

static int end_session_by_key(const void *bytes, size_t size,
                              const struct hf_limit *limit, char *errmsg)
{
    struct hf_session_key key;

    int r = hf_session_key_read(bytes, size, &key, errmsg);
    if (r < 0)
        return r;
    char *url = strndup(key.url, key.url_size);
    if (url == NULL)
        return HF_ENOMEM;
    r = end_session_at(url, &key, limit, errmsg);
    explicit_bzero(url, key.url_size); /* it may hold a password */
    free(url);
    return r;
}

int hf_end_session(const void *bytes, size_t size, int64_t timeout_ms, char *error,
                   size_t error_size)
{
    struct hf_limit limit = hf_client_limit(timeout_ms);
    char            errmsg[HF_ERRMSG_MAX] = "out of memory";
    int             cancel;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    int r = end_session_by_key(bytes, size, &limit, errmsg);
    pthread_setcancelstate(cancel, &cancel);
    if (r < 0 && error != NULL && error_size > 0)
        snprintf(error, error_size, "%s", errmsg);
    return r;
}
