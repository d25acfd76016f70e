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

/* A store that is asked to end a session, until that is dead or the time is over. */
struct execution {
    struct hf_store *store;
    struct hf_limit  limit;
    hf_time          start;
    hf_time          lease_end; /* then a dead owner's session is dead in any case */
    int              refused;   /* how the store refused us last, or 0 */
};

/* A server that is a replica for a moment, or has no room, may soon have us. */
static bool may_go_away(int refusal)
{
    return refusal == HF_EDENIED || refusal == HF_EFULL || refusal == HF_ENOMEM ||
           refusal == HF_ESTORE;
}

/* Till when to try.  Who is refused all the time need not go on for longer than the lease:
 * a wrong password may stay wrong for ever. */
static hf_time last_try(const struct execution *run)
{
    hf_time end = run->limit.deadline;

    return run->refused != 0 ? hf_sooner(run->lease_end, end) : end;
}

/* Why it will not be executed; 0: it still may be. */
static int look_for_failure(struct execution *run, hf_time now)
{
    const struct hf_store *store = run->store;

    if (store->refusal != 0)
        run->refused = store->refusal;
    else if (store->absences > 0)
        run->refused = 0; /* it is not even there */
    assert(run->refused <= 0);
    if (store->refusal != 0 && (run->limit.once || !may_go_away(store->refusal)))
        return store->refusal;
    if (run->limit.once && store->absences > 0 && now >= run->start + HF_ABSENCE)
        return HF_EDOWN;
    if (now < last_try(run))
        return 0;
    if (run->refused != 0)
        return run->refused;
    return store->link == HF_LINK_UP ? HF_ETIMEOUT : HF_EDOWN;
}

static void wait_for_store(const struct execution *run, hf_time now)
{
    struct pollfd on = { .fd = run->store->fd, .events = POLLIN };
    hf_time       until = hf_sooner(run->store->wake, last_try(run));

    if (run->limit.once && now < run->start + HF_ABSENCE)
        until = hf_sooner(until, run->start + HF_ABSENCE);
    poll(&on, 1, hf_poll_ms(now, until));
}

static int await_end(struct execution *run, char *errmsg)
{
    struct hf_store *store = run->store;

    for (;;) {
        hf_time now = hf_now();
        store->impl->process(store, now, true);
        if (store->link == HF_LINK_LOST)
            return 0;
        int r = look_for_failure(run, now);
        if (r < 0) {
            snprintf(errmsg, HF_ERRMSG_MAX, "%s",
                     *store->errmsg != '\0' ? store->errmsg : hf_strerror(r));
            return r;
        }
        wait_for_store(run, hf_now());
    }
}

static int execute_at(const char *url, const struct hf_will *will,
                      const struct hf_limit *limit, char *errmsg)
{
    struct hf_url    parsed;
    struct execution run = { .limit = *limit, .start = hf_now() };

    int r = hf_url_parse(url, &parsed, errmsg);
    if (r < 0)
        return r;
    parsed.config.ttl_ms = (int)will->ttl_ms;
    parsed.config.seed = hf_random();
    parsed.config.will = will->own;
    parsed.config.will_size = will->own_size;
    r = hf_store_open(&parsed.config, errmsg, &run.store);
    hf_url_finish(&parsed);
    if (r < 0)
        return r;
    run.lease_end = hf_after_ms(run.start, will->ttl_ms);
    r = await_end(&run, errmsg);
    run.store->impl->close(run.store);
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
