/* observe.c - who is dead.
 *
 * No time of day decides.  Every renewal shows us the renewal numbers of others: of those in
 * whose line we wait, and of those that have been silent longest.  A session whose number we
 * have seen unchanged for longer than its ttl, by our own clock, counted from when we had
 * read it, is buried; the server makes sure that the number is still the same.
 */
#include "store/postgres/inner.h"

#include "core/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hf_pg_seen *find(const struct hf_pg_observe *observe, const char *sid)
{
    for (size_t i = 0; i < observe->count; i++)
        if (strcmp(observe->seen[i].sid, sid) == 0)
            return &observe->seen[i];
    return NULL;
}

static struct hf_pg_seen *add(struct hf_pg_observe *observe, const char *sid)
{
    if (observe->count == observe->room) {
        size_t             room = observe->room * 2 + 16;
        struct hf_pg_seen *grown = realloc(observe->seen, room * sizeof *grown);
        if (grown == NULL) /* somebody else will look */
            return NULL;
        observe->seen = grown;
        observe->room = room;
    }
    struct hf_pg_seen *seen = &observe->seen[observe->count++];
    *seen = (struct hf_pg_seen){ 0 };
    snprintf(seen->sid, sizeof seen->sid, "%s", sid);
    return seen;
}

static void note(struct hf_pg_observe *observe, const char *sid, int64_t renewal,
                 hf_time ttl, hf_time now)
{
    struct hf_pg_seen *seen = find(observe, sid);

    if (seen == NULL)
        seen = add(observe, sid);
    if (seen == NULL)
        return;
    if (seen->renewal != renewal || seen->ttl != ttl)
        seen->since = now;
    seen->renewal = renewal;
    seen->ttl = ttl;
    seen->listed = true;
}

static void forget_unlisted(struct hf_pg_observe *observe)
{
    size_t kept = 0;

    for (size_t i = 0; i < observe->count; i++)
        if (observe->seen[i].listed)
            observe->seen[kept++] = observe->seen[i];
    observe->count = kept;
}

void hf_pg_observe(struct hf_pg *pg, const PGresult *result)
{
    struct hf_pg_observe *observe = &pg->observe;
    hf_time               now = hf_now(); /* not earlier than the server looked */

    for (size_t i = 0; i < observe->count; i++)
        observe->seen[i].listed = false;
    for (int row = 1; row < PQntuples(result); row++) {
        const char *sid = hf_pg_text(result, row, 1);
        if (sid != NULL && strlen(sid) < sizeof observe->seen->sid)
            note(observe, sid, hf_pg_number(result, row, 2),
                 hf_pg_number(result, row, 3) * HF_MS, now);
    }
    forget_unlisted(observe);
}

/* ---- Burials --------------------------------------------------------------------------------- */

static const struct hf_pg_seen *first_stale(const struct hf_pg *pg, hf_time *when)
{
    const struct hf_pg_seen *first = NULL;

    *when = HF_NEVER;
    for (size_t i = 0; i < pg->observe.count; i++) {
        const struct hf_pg_seen *seen = &pg->observe.seen[i];
        hf_time                  at = hf_lease_stale_at(seen->since, seen->ttl);
        if (at < *when) {
            *when = at;
            first = seen;
        }
    }
    return first;
}

/* Whoever was faster, it is over; there may be more of them. */
static void on_buried(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)data;
    if (result == NULL)
        return;
    if (hf_pg_fault(pg, result) == HF_PG_FINE && hf_pg_bool(result, 0, 0))
        hf_pg_renew(pg);
}

static void bury(struct hf_pg *pg, const struct hf_pg_seen *seen)
{
    struct hf_pg_observe *observe = &pg->observe;

    hf_pg_begin(pg, HF_PG_BURY);
    hf_pg_add(pg, seen->sid);
    hf_pg_add_number(pg, seen->renewal);
    observe->seen[seen - observe->seen] = observe->seen[--observe->count];
    hf_pg_send(pg, &observe->call, false, on_buried, NULL);
}

void hf_pg_observe_run(struct hf_pg *pg)
{
    hf_time                  when;
    const struct hf_pg_seen *seen = first_stale(pg, &when);

    if (seen != NULL && pg->link.phase == HF_PG_READY && !pg->observe.call.flying &&
        when <= pg->served.now)
        bury(pg, seen);
}

hf_time hf_pg_observe_wake(const struct hf_pg *pg)
{
    hf_time when;

    first_stale(pg, &when);
    return pg->link.phase == HF_PG_READY && !pg->observe.call.flying ? when : HF_NEVER;
}

void hf_pg_observe_finish(struct hf_pg *pg)
{
    free(pg->observe.seen);
    pg->observe = (struct hf_pg_observe){ 0 };
}
