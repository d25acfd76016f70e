/* listen.c - how we learn what happens to our places: by LISTEN, or by polling.
 *
 * We LISTEN to our session's channel, on the same connection, while a request waits for
 * a message, and for a while after.  (A NOTIFY wakes all listeners of a database, so a
 * client that waits for nothing should not be one.)  Right after LISTEN we *fetch*:
 * messages() says which places messages were sent about before.  Behind a pooler there
 * is no LISTEN, and we fetch again and again.  We also fetch after every renewal, since
 * the server sends no message while its queue is nearly full.
 */
#include "store/postgres/inner.h"

#include <assert.h>
#include <stdio.h>

#define SOON     (200 * HF_MS) /* listen for ASK if a lock is held for that long */
#define IDLE     (3 * HF_SEC)  /* stop listening if nothing waits for that long */
#define SHORTEST (20 * HF_MS)  /* between two fetches */
#define LONGEST  (250 * HF_MS)

bool hf_pg_polls(const struct hf_pg *pg)
{
    return pg->link.pooled || pg->config.polling;
}

/* ---- Fetching ------------------------------------------------------------------- */

/* Make a WATCH of the place read it: messages() itself does not wait for the disk. */
static void pass_missed_message(struct hf_pg *pg, const PGresult *result, int row)
{
    int64_t     id = hf_pg_number(result, row, 0);
    const char *state = hf_pg_text(result, row, 1);
    char        text[32];

    struct hf_served_place *place = hf_served_place_find(&pg->served, (uint64_t)id);
    uint64_t                version = (uint64_t)hf_pg_number(result, row, 2);
    if (place == NULL || state == NULL || place->version == version)
        return;
    place->version = version;
    pg->listen.pause = SHORTEST;
    snprintf(text, sizeof text, "%c %lld", state[0] == 'b' ? 'b' : 'n', (long long)id);
    hf_served_message(&pg->served, text);
}

static void on_fetched(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)data;
    if (result == NULL)
        return; /* on the next connection every place is read */
    bool fine =
        hf_pg_fault(pg, result) == HF_SERVED_FINE; /* else wait for the next fetch */
    for (int row = 0; fine && row < PQntuples(result); row++)
        pass_missed_message(pg, result, row);
    if (pg->listen.again)
        hf_pg_listen_fetch(pg);
}

void hf_pg_listen_fetch(struct hf_pg *pg)
{
    struct hf_pg_listen *listen = &pg->listen;

    listen->poll = HF_NEVER;
    if (hf_pg_polls(pg)) {
        listen->poll = pg->remote.now + listen->pause;
        listen->pause = listen->pause * 2 < LONGEST ? listen->pause * 2 : LONGEST;
    }
    listen->again =
        listen->fetch.pending && !hf_pg_polls(pg); /* it may be ahead of LISTEN */
    if (listen->fetch.pending)
        return;
    hf_pg_begin(pg, HF_PG_MESSAGES);
    hf_pg_add(&pg->served, pg->served.sid);
    hf_pg_send(pg, &listen->fetch, false, on_fetched, NULL);
}

/* ---- Listening ------------------------------------------------------------------ */

static void on_listening(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)data;
    if (result != NULL && hf_pg_fault(pg, result) != HF_SERVED_FINE)
        pg->link.pooled = true; /* then poll */
}

static void listen_or_not(struct hf_pg *pg, bool on)
{
    char text[64];
    int  used = snprintf(text, sizeof text, "%s \"hf_%s\"", on ? "LISTEN" : "UNLISTEN",
                         pg->served.sid);

    assert(pg->dial.phase == HF_DIAL_READY && pg->listen.listening != on);
    assert(used > 0 && (size_t)used < sizeof text);
    pg->listen.listening = on;
    hf_pg_query(pg, &pg->listen.listen_call, text, on_listening, NULL);
}

void hf_pg_listen_want(struct hf_pg *pg, bool at_once)
{
    struct hf_pg_listen *listen = &pg->listen;
    hf_time              when = pg->remote.now + (at_once ? 0 : SOON);

    if (when < listen->wanted)
        listen->wanted = when;
    if (hf_pg_polls(pg) && at_once) {
        listen->pause = SHORTEST;
        if (listen->poll > pg->remote.now + SHORTEST)
            listen->poll = pg->remote.now + SHORTEST;
    }
}

void hf_pg_listen_begin(struct hf_pg *pg)
{
    struct hf_pg_listen *listen = &pg->listen;

    assert(pg->dial.phase == HF_DIAL_READY);
    listen->listening = listen->again = false;
    listen->wanted = listen->poll = HF_NEVER;
    listen->pause = SHORTEST;
    if (pg->served.places > 0) /* messages may have been lost with the old connection */
        hf_served_reread_all(&pg->served);
}

/* Stop listening if nothing has waited for a while. */
static void stop_if_idle(struct hf_pg *pg)
{
    struct hf_pg_listen *listen = &pg->listen;

    if (pg->remote.tasks != NULL) {
        listen->idle = 0;
        return;
    }
    if (listen->idle == 0)
        listen->idle = pg->remote.now;
    listen->wanted = HF_NEVER;
    if (hf_pg_polls(pg))
        listen->poll = HF_NEVER;
    if (listen->listening && !listen->listen_call.pending &&
        pg->remote.now >= listen->idle + IDLE)
        listen_or_not(pg, false);
}

/* The fetch covers our places.  Messages about lines can only have been missed if
 * LISTEN had to wait for the answer to an UNLISTEN, so look at these lines again, too. */
static void start_listening(struct hf_pg *pg)
{
    listen_or_not(pg, true);
    hf_pg_listen_fetch(pg);
    hf_served_changed(&pg->served, NULL);
    hf_served_watch_store_ring(&pg->served);
}

void hf_pg_listen_run(struct hf_pg *pg)
{
    struct hf_pg_listen *listen = &pg->listen;

    if (pg->dial.phase != HF_DIAL_READY)
        return;
    stop_if_idle(pg);
    if (hf_pg_polls(pg)) {
        if (listen->wanted <= pg->remote.now && listen->poll == HF_NEVER)
            listen->poll = pg->remote.now + listen->pause;
        if (listen->poll <= pg->remote.now)
            hf_pg_listen_fetch(pg);
    } else if (listen->wanted <= pg->remote.now && !listen->listening &&
               !listen->listen_call.pending) {
        start_listening(pg);
    }
}

hf_time hf_pg_listen_wake(const struct hf_pg *pg)
{
    const struct hf_pg_listen *listen = &pg->listen;
    hf_time                    wake = HF_NEVER;

    if (pg->dial.phase != HF_DIAL_READY)
        return HF_NEVER;
    if (hf_pg_polls(pg) && listen->poll < wake)
        wake = listen->poll;
    if (listen->wanted < wake &&
        (hf_pg_polls(pg) ? listen->poll == HF_NEVER
                         : !listen->listening && !listen->listen_call.pending))
        wake = listen->wanted;
    if (listen->listening && listen->idle != 0 && !listen->listen_call.pending &&
        listen->idle + IDLE < wake)
        wake = listen->idle + IDLE;
    return wake;
}
