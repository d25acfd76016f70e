/* news.c - how we hear of what happens to our places.
 *
 * By LISTEN on our session's channel, on the same connection, from when somebody waits
 * for news until a while after.  (A NOTIFY wakes all listeners of a database, so a client
 * that waits for nothing should not be one.)  What happened before is fetched right behind
 * it.  Behind a pooler there is no LISTEN: then we fetch every now and then.  We fetch
 * after every renewal, too: the server may have had no room for a message.
 */
#include "store/postgres/inner.h"

#include <assert.h>
#include <stdio.h>

#define SOON     (200 * HF_MS) /* a lock held that long may be asked for */
#define IDLE     (3 * HF_SEC)  /* without anybody waiting: stop listening */
#define SHORTEST (20 * HF_MS)  /* between two fetches */
#define LONGEST  (250 * HF_MS)

bool hf_pg_polls(const struct hf_pg *pg)
{
    return pg->link.pooled || pg->config.polling;
}

/* ---- Fetching ------------------------------------------------------------------- */

/* Make a WATCH of the place read it: news() itself does not wait for the disk. */
static void tell_place_news(struct hf_pg *pg, const PGresult *result, int row)
{
    int64_t     id = hf_pg_number(result, row, 0);
    const char *state = hf_pg_text(result, row, 1);
    char        text[32];

    struct hf_served_place *place = hf_served_place_find(&pg->served, (uint64_t)id);
    uint64_t                version = (uint64_t)hf_pg_number(result, row, 2);
    if (place == NULL || state == NULL || place->version == version)
        return;
    place->version = version;
    pg->news.pause = SHORTEST;
    snprintf(text, sizeof text, "%c %lld", state[0] == 'b' ? 'b' : 'n', (long long)id);
    hf_served_message(&pg->served, text);
}

static void on_fetched(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)data;
    if (result == NULL)
        return; /* on the next connection everybody reads */
    bool fine = hf_pg_fault(pg, result) == HF_SERVED_FINE; /* else the next fetch tells */
    for (int row = 0; fine && row < PQntuples(result); row++)
        tell_place_news(pg, result, row);
    if (pg->news.again)
        hf_pg_news_fetch(pg);
}

void hf_pg_news_fetch(struct hf_pg *pg)
{
    struct hf_pg_news *news = &pg->news;

    news->poll = HF_NEVER;
    if (hf_pg_polls(pg)) {
        news->poll = pg->remote.now + news->pause;
        news->pause = news->pause * 2 < LONGEST ? news->pause * 2 : LONGEST;
    }
    news->again =
        news->call.flying && !hf_pg_polls(pg); /* it may be ahead of our LISTEN */
    if (news->call.flying)
        return;
    hf_pg_begin(pg, HF_PG_NEWS);
    hf_pg_add(&pg->served, pg->served.sid);
    hf_pg_send(pg, &news->call, false, on_fetched, NULL);
}

/* ---- Listening ------------------------------------------------------------------ */

static void on_listening(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)data;
    if (result != NULL && hf_pg_fault(pg, result) != HF_SERVED_FINE)
        pg->link.pooled = true; /* then by fetching */
}

static void listen_or_not(struct hf_pg *pg, bool on)
{
    char text[64];
    int  used = snprintf(text, sizeof text, "%s \"hf_%s\"", on ? "LISTEN" : "UNLISTEN",
                         pg->served.sid);

    assert(pg->dial.phase == HF_DIAL_READY && pg->news.listening != on);
    assert(used > 0 && (size_t)used < sizeof text);
    pg->news.listening = on;
    hf_pg_query(pg, &pg->news.listen, text, on_listening, NULL);
}

void hf_pg_news_want(struct hf_pg *pg, bool at_once)
{
    struct hf_pg_news *news = &pg->news;
    hf_time            when = pg->remote.now + (at_once ? 0 : SOON);

    if (when < news->wanted)
        news->wanted = when;
    if (hf_pg_polls(pg) && at_once) {
        news->pause = SHORTEST;
        if (news->poll > pg->remote.now + SHORTEST)
            news->poll = pg->remote.now + SHORTEST;
    }
}

void hf_pg_news_begin(struct hf_pg *pg)
{
    struct hf_pg_news *news = &pg->news;

    assert(pg->dial.phase == HF_DIAL_READY);
    news->listening = news->again = false;
    news->wanted = news->poll = HF_NEVER;
    news->pause = SHORTEST;
    if (pg->served.places > 0) /* what happened while we were away? */
        hf_served_news_all(&pg->served);
}

/* Does nobody wait for anything? */
static void notice_idleness(struct hf_pg *pg)
{
    struct hf_pg_news *news = &pg->news;

    if (pg->remote.tasks != NULL) {
        news->idle = 0;
        return;
    }
    if (news->idle == 0)
        news->idle = pg->remote.now;
    news->wanted = HF_NEVER;
    if (hf_pg_polls(pg))
        news->poll = HF_NEVER;
    if (news->listening && !news->listen.flying && pg->remote.now >= news->idle + IDLE)
        listen_or_not(pg, false);
}

/* A fetch tells what happened to places before.  As a rule nobody watches a line yet: only
 * if LISTEN had to wait for the answer to an UNLISTEN.  Then the message may have been
 * missed. */
static void start_listening(struct hf_pg *pg)
{
    listen_or_not(pg, true);
    hf_pg_news_fetch(pg);
    hf_served_changed(&pg->served, NULL);
    hf_served_survey_ring(&pg->served);
}

void hf_pg_news_run(struct hf_pg *pg)
{
    struct hf_pg_news *news = &pg->news;

    if (pg->dial.phase != HF_DIAL_READY)
        return;
    notice_idleness(pg);
    if (hf_pg_polls(pg)) {
        if (news->wanted <= pg->remote.now && news->poll == HF_NEVER)
            news->poll = pg->remote.now + news->pause;
        if (news->poll <= pg->remote.now)
            hf_pg_news_fetch(pg);
    } else if (news->wanted <= pg->remote.now && !news->listening &&
               !news->listen.flying) {
        start_listening(pg);
    }
}

hf_time hf_pg_news_wake(const struct hf_pg *pg)
{
    const struct hf_pg_news *news = &pg->news;
    hf_time                  wake = HF_NEVER;

    if (pg->dial.phase != HF_DIAL_READY)
        return HF_NEVER;
    if (hf_pg_polls(pg) && news->poll < wake)
        wake = news->poll;
    if (news->wanted < wake &&
        (hf_pg_polls(pg) ? news->poll == HF_NEVER
                         : !news->listening && !news->listen.flying))
        wake = news->wanted;
    if (news->listening && news->idle != 0 && !news->listen.flying &&
        news->idle + IDLE < wake)
        wake = news->idle + IDLE;
    return wake;
}
