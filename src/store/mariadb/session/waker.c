/* waker.c - how we learn what happens to our places: by a connection that sleeps, or by
 * polling.
 *
 * Messages are rows in the database.  hf_fetch() reads and deletes those of our session,
 * on the connection for calls.  While a request waits, and for a while after, a second
 * connection sleeps in hf_await() until there are messages.  A function that sends us one
 * ends that query with KILL QUERY, before its commit: error 1317.  hf_fetch() then waits
 * for the commit.
 *
 *     not wanted --a request waits--> connecting --> asleep --error 1317, or time-->  fetch
 *         ^                                            ^  |                              |
 *         +------------ idle: RELEASE_LOCK() ----------|--+                              |
 *                                                      +-------------- answered ---------+
 *
 * No message is lost: hf_await() takes a user lock, which says which connection sleeps, then
 * looks for messages, and then sleeps, and KILL QUERY ends it at any of these points.  While
 * no connection sleeps we poll: when it is being made, when that fails, and behind a pooler,
 * which would have to give us a server connection of our own.
 */
#include "store/mariadb/inner.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define SOON     (200 * HF_MS) /* sleep for ASK if a lock is held for that long */
#define IDLE     (3 * HF_SEC)  /* end the connection if nothing waits for that long */
#define SHORTEST (20 * HF_MS)  /* between two fetches */
#define LONGEST  (250 * HF_MS)

#define KILLED 1317

static bool link_is_ready(const struct hf_dial *dial)
{
    return ((const struct hf_maria *)dial->store)->main.dial.phase == HF_DIAL_READY;
}

bool hf_maria_polls(const struct hf_maria *maria)
{
    return maria->waker.pooled || maria->config.polling;
}

static bool is_asleep(const struct hf_maria *maria)
{
    return maria->waker.await.flying;
}

/* ---- Sleeping ----------------------------------------------------------------------- */

/* If the sleep was too short, because somebody has set the server's clock, or an old
 * connection of ours had the lock and ended, do not sleep again at once: meanwhile we
 * poll. */
static void sleep_ended(struct hf_maria *maria)
{
    struct hf_maria_waker *waker = &maria->waker;

    if (maria->remote.now - waker->await.sent < maria->config.ttl / 6)
        waker->rested = maria->remote.now + LONGEST;
}

static void on_awake(struct hf_my_conn *conn, void *data, const struct hf_my_reply *reply)
{
    struct hf_maria *maria = (struct hf_maria *)conn->dial.store;
    char             why[HF_ERRMSG_MAX];

    (void)data;
    if (reply == NULL || maria->main.dial.phase != HF_DIAL_READY)
        return; /* poll from now on */
    if (reply->error != 0 && reply->error != KILLED) {
        hf_maria_fault_text(reply->error, reply->state, reply->message, why, sizeof why);
        hf_dial_break(&conn->dial, why);
    } else if (reply->error == 0 && hf_my_number(reply, 0, 0) == HF_SERVED_GONE) {
        hf_maria_renew(maria);
    } else {
        if (reply->error == 0 && hf_my_number(reply, 0, 1) != 0)
            sleep_ended(maria);
        hf_maria_fetch(maria); /* and sleep again when that is answered */
    }
}

static void sleep_on(struct hf_maria *maria)
{
    struct hf_maria_waker *waker = &maria->waker;
    char                   text[128];

    assert(waker->conn.dial.phase == HF_DIAL_READY && !is_asleep(maria));
    snprintf(text, sizeof text, "CALL `%s`.hf_await(", maria->config.database);
    hf_my_query_begin(&waker->query, text);
    hf_my_query_text(&waker->query, maria->served.sid);
    hf_my_query_number(&waker->query, maria->config.ttl / 3 / HF_MS);
    hf_my_query_number(&waker->query, maria->served.watch.task != NULL);
    hf_my_query_put(&waker->query, ")");
    if (waker->query.failed)
        hf_dial_break(&waker->conn.dial, "cannot be asked: out of memory");
    else
        hf_my_send(&waker->conn, &waker->await, &waker->query, on_awake, NULL);
}

/* ---- Fetching ----------------------------------------------------------------------- */

/* { code, have lines of the store watch changed }, and a message in each item */
static void on_fetched(struct hf_maria *maria, void *data,
                       const struct hf_my_reply *reply)
{
    unsigned opened = maria->main.dial.opened;
    uint64_t session = maria->served.session;

    (void)data;
    if (maria->main.dial.phase != HF_DIAL_READY ||
        hf_maria_session_failed(maria, reply, hf_maria_fetch))
        return; /* on the next connection every place is read */
    int64_t     code = hf_maria_number(reply, 0);
    const char *text;
    if (code == HF_SERVED_GONE) {
        hf_maria_renew(maria); /* its answer says the same */
        return;
    }
    if (hf_maria_number(reply, 1) != 0)
        hf_served_watch_store_ring(&maria->served);
    for (size_t i = 0; (text = hf_maria_item(reply, i)) != NULL; i++) {
        maria->waker.pause = SHORTEST;
        hf_served_message(&maria->served, text);
        if (maria->main.dial.opened != opened || maria->served.session != session)
            return;
    }
    if (maria->waker.again)
        hf_maria_fetch(maria);
}

void hf_maria_fetch(struct hf_maria *maria)
{
    struct hf_maria_waker *waker = &maria->waker;

    waker->again = waker->fetch.pending && waker->fetch.sent != 0;
    if (waker->fetch.pending || maria->main.dial.phase != HF_DIAL_READY)
        return;
    hf_maria_begin(maria, "hf_fetch");
    hf_maria_add(&maria->served, maria->served.sid);
    hf_maria_add_number(&maria->served, maria->session.connection);
    waker->bedded = waker->conn.dial.phase == HF_DIAL_READY; /* once it is answered */
    hf_maria_add_number(&maria->served, waker->bedded);
    hf_maria_send(maria, &waker->fetch, true, on_fetched, NULL);
}

/* ---- The connection ----------------------------------------------------------------- */

/* To the same address as the calls. */
static void find_same_server(struct hf_dial *dial)
{
    const struct hf_maria *maria = (const struct hf_maria *)dial->store;

    assert(maria->main.dial.phase == HF_DIAL_READY); /* its address works */
    dial->here = maria->main.dial.here;
    if (maria->config.path[0] != '\0')
        hf_dial_connect_path(dial, maria->config.path);
    else
        hf_dial_connect(dial, &maria->main.dial.at);
}

static void on_login(struct hf_my_conn *conn)
{
    hf_dial_ready(&conn->dial);
    hf_dial_proven(&conn->dial);
}

static hf_time waker_patience(const struct hf_dial *dial)
{
    return ((const struct hf_maria *)dial->store)->config.ttl / 3;
}

/* Failures are not reported: we poll meanwhile. */
static bool waker_is_quiet(const struct hf_dial *dial)
{
    (void)dial;
    return true;
}

static const struct hf_dial_ops ops = {
    .kind = "MariaDB",
    .shares = HF_DIAL_GREETING,
    .may_begin = link_is_ready,
    .find = find_same_server,
    .greet = hf_maria_greet,
    .read = hf_my_conn_read,
    .over = hf_my_conn_over,
    .patience = waker_patience,
    .is_quiet = waker_is_quiet,
};

void hf_maria_waker_init(struct hf_maria *maria, uint64_t seed)
{
    maria->waker.wanted = maria->waker.poll = HF_NEVER;
    maria->waker.pause = SHORTEST;
    maria->waker.conn = (struct hf_my_conn){
        .dial = { .ops = &ops, .store = &maria->served.base, .now = &maria->remote.now },
        .login = &maria->login,
        .on_login = on_login
    };
    hf_dial_init(&maria->waker.conn.dial, seed);
}

void hf_maria_waker_close(struct hf_maria *maria)
{
    hf_dial_close(&maria->waker.conn.dial);
    maria->waker.wanted = maria->waker.poll = HF_NEVER;
    maria->waker.bedded = false;
}

/* Messages may have been lost with the old connection. */
void hf_maria_waker_begin(struct hf_maria *maria)
{
    assert(maria->main.dial.phase == HF_DIAL_READY);
    maria->waker.again = false;
    maria->waker.pause = SHORTEST;
    if (maria->served.places > 0)
        hf_served_reread_all(&maria->served);
}

void hf_maria_waker_want(struct hf_maria *maria, bool at_once)
{
    struct hf_maria_waker *waker = &maria->waker;
    hf_time                when = maria->remote.now + (at_once ? 0 : SOON);

    waker->wanted = hf_sooner(waker->wanted, when);
    if (at_once) {
        waker->pause = SHORTEST;
        if (waker->poll != HF_NEVER)
            waker->poll = hf_sooner(waker->poll, maria->remote.now + SHORTEST);
    }
}

/* ---- Time --------------------------------------------------------------------------- */

static void on_rested(struct hf_maria *maria, void *data, const struct hf_my_reply *reply)
{
    (void)maria;
    (void)data;
    (void)reply;
}

/* End the connection if nothing has waited for a while: without the lock that it waits for, it
 * notices that we are gone. */
static void stop_if_idle(struct hf_maria *maria)
{
    struct hf_maria_waker *waker = &maria->waker;
    char                   text[64];

    if (maria->remote.tasks != NULL) {
        waker->idle = 0;
        return;
    }
    if (waker->idle == 0)
        waker->idle = maria->remote.now;
    waker->poll = HF_NEVER;
    if (waker->wanted == HF_NEVER || maria->remote.now < waker->idle + IDLE)
        return;
    bool sleeps = is_asleep(maria);
    hf_maria_waker_close(maria);
    if (!sleeps || waker->rest.pending)
        return;
    snprintf(text, sizeof text, "DO RELEASE_LOCK('holdfast.%s')", maria->served.sid);
    hf_maria_query(maria, &waker->rest, text, on_rested, NULL);
}

static void poll_now(struct hf_maria *maria)
{
    struct hf_maria_waker *waker = &maria->waker;

    waker->poll = maria->remote.now + waker->pause;
    waker->pause = waker->pause * 2 < LONGEST ? waker->pause * 2 : LONGEST;
    hf_maria_fetch(maria);
}

void hf_maria_waker_run(struct hf_maria *maria, bool readable)
{
    struct hf_maria_waker *waker = &maria->waker;

    if (maria->main.dial.phase != HF_DIAL_READY)
        return;
    stop_if_idle(maria);
    if (waker->wanted > maria->remote.now)
        return;
    if (!hf_maria_polls(maria)) {
        hf_dial_run(&waker->conn.dial, readable);
        if (maria->main.dial.phase != HF_DIAL_READY)
            return;
        if (waker->conn.dial.phase == HF_DIAL_READY && !is_asleep(maria) &&
            !waker->fetch.pending && maria->remote.now >= waker->rested) {
            if (waker->bedded)
                sleep_on(maria);
            else
                hf_maria_fetch(maria);
        }
    }
    if (is_asleep(maria) || maria->remote.tasks == NULL)
        waker->poll = HF_NEVER;
    else if (waker->poll == HF_NEVER)
        waker->poll = maria->remote.now + waker->pause;
    else if (maria->remote.now >= waker->poll)
        poll_now(maria);
    hf_dial_flush(&waker->conn.dial);
}

hf_time hf_maria_waker_wake(const struct hf_maria *maria)
{
    const struct hf_maria_waker *waker = &maria->waker;
    hf_time                      wake = waker->poll;

    if (maria->main.dial.phase != HF_DIAL_READY)
        return HF_NEVER;
    if (waker->wanted != HF_NEVER && waker->wanted > maria->remote.now)
        return hf_sooner(wake, waker->wanted);
    if (waker->wanted != HF_NEVER && !hf_maria_polls(maria))
        wake = hf_sooner(wake, hf_dial_wake(&waker->conn.dial));
    if (waker->wanted != HF_NEVER && waker->idle != 0)
        wake = hf_sooner(wake, waker->idle + IDLE);
    return wake;
}
