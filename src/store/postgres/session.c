/* session.c - our session in the database, and its lease.
 *
 * Happy path: hello opens it, a renewal a third of the ttl later keeps it, and so on.
 * Each answer moves alive_until, counted from the sending.
 *
 * Failures: no answer for another third: the connection is given up.  On a new one hello
 * proves that the session is still there, and what the server has of us that we do not
 * know of (a release it forgot in a crash) is given up again.  The session is dead: the
 * link is lost, and hello opens a new one.  There is no schema: it is made.
 *
 * A store that executes a will does none of this: see bye.c.
 */
#include "store/postgres/inner.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say_hello(struct hf_pg *pg);
static void say_first(struct hf_pg *pg);

static void extend_session(struct hf_pg *pg)
{
    assert(pg->session.sent > 0);
    pg->served.base.lease = pg->config.ttl;
    hf_served_extend(&pg->served, pg->session.sent, pg->config.ttl);
    pg->session.due = pg->session.sent + pg->config.ttl / 3;
}

bool hf_pg_session_failed(struct hf_pg *pg, const PGresult *result,
                          void (*again)(struct hf_pg *))
{
    if (result == NULL)
        return true;
    switch (hf_pg_fault(pg, result)) {
    case HF_SERVED_FINE:
        return false;
    case HF_SERVED_AGAIN:
        again(pg);
        break;
    case HF_SERVED_DOWN:
        hf_dial_break(&pg->dial, NULL);
        break;
    case HF_SERVED_DENIED:
        hf_dial_refuse(&pg->dial, HF_EDENIED, NULL);
        break;
    case HF_SERVED_OTHER:
        hf_dial_refuse(&pg->dial, HF_EUNSUPPORTED, NULL);
        break;
    default:
        hf_dial_refuse(&pg->dial, HF_ESTORE, NULL);
        break;
    }
    return true;
}

/* ---- The schema ----------------------------------------------------------------- */

static void on_schema(struct hf_pg *pg, void *data, const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    (void)data;
    if (state != NULL && strcmp(state, "42501") == 0) {
        hf_dial_refuse(
            &pg->dial, HF_EDENIED,
            "has no schema \"holdfast\" for us, and we may not make it: let an "
            "administrator run what `holdfast init --print` writes");
    } else if (!hf_pg_session_failed(pg, result, say_hello)) {
        say_hello(pg);
    }
}

static void make_schema(struct hf_pg *pg)
{
    if (pg->served.executes) { /* there is no such session either */
        hf_served_executed(&pg->served);
        return;
    }
    if (pg->session.made) { /* once must do */
        hf_dial_refuse(&pg->dial, HF_ESTORE,
                       "has a schema \"holdfast\" that is not ours");
        return;
    }
    assert(pg->dial.phase == HF_DIAL_GREETING);
    pg->session.made = true;
    hf_pg_schema_make(pg, on_schema);
}

static void check_owner(struct hf_pg *pg);

static void on_owner(struct hf_pg *pg, void *data, const PGresult *result)
{
    char why[HF_ERRMSG_MAX];

    (void)data;
    if (hf_pg_session_failed(pg, result, check_owner))
        return;
    if (PQntuples(result) == 0) {
        make_schema(pg);
        return;
    }
    const char *super = hf_pg_text(result, 0, 1);
    if (super != NULL && super[0] == 't') {
        say_first(pg);
        return;
    }
    snprintf(
        why, sizeof why,
        "has a schema \"holdfast\" of \"%.60s\", whose functions could do all that we "
        "may, and we are a superuser: be that role, or another",
        hf_pg_text(result, 0, 0));
    hf_dial_refuse(&pg->dial, HF_EDENIED, why);
}

/* To call a function is to trust its owner. */
static const char owner_sql[] =
    "SELECT rolname, rolsuper FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles r "
    "ON r.oid OPERATOR(pg_catalog.=) n.nspowner "
    "WHERE nspname OPERATOR(pg_catalog.=) 'holdfast'";

static void check_owner(struct hf_pg *pg)
{
    hf_pg_query(pg, &pg->link.schema, owner_sql, on_owner, NULL);
}

/* ---- Hello ---------------------------------------------------------------------- */

static void session_opened(struct hf_pg *pg)
{
    assert(!pg->served.fresh);
    extend_session(pg);
    if (pg->served.places > 0)
        pg->session.due = pg->session.sent; /* who is in our way?  Only a renewal tells */
    hf_dial_ready(&pg->dial);
    hf_dial_proven(&pg->dial);
    hf_pg_news_begin(pg);
}

static void keep_history(struct hf_pg *pg);

static void on_history_kept(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)data;
    if (hf_pg_session_failed(pg, result, keep_history))
        return;
    pg->session.history_kept = true;
    session_opened(pg);
}

/* Once for each client, before it is ready. */
static void keep_history(struct hf_pg *pg)
{
    if (pg->config.history < 0 || pg->session.history_kept) {
        session_opened(pg);
        return;
    }
    hf_pg_begin(pg, HF_PG_KEEP);
    hf_pg_add_number(&pg->served, (uint64_t)pg->config.history);
    hf_pg_send(pg, &pg->session.call, true, on_history_kept, NULL);
}

static void tell_places(struct hf_pg *pg);

static void on_mended(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)data;
    if (hf_pg_session_failed(pg, result, tell_places))
        return;
    if (hf_pg_number(result, 0, 0) == HF_SERVED_DONE)
        keep_history(pg);
    else
        hf_dial_break(&pg->dial, "has a newer connection of ours");
}

/* Tell which places we have.  The server gives up all others, and those that we know to be
 * taken away. */
static void tell_places(struct hf_pg *pg)
{
    uint64_t *ids = malloc((pg->served.places + 1) * sizeof *ids);
    size_t    count = 0;

    if (ids == NULL) {
        hf_dial_break(&pg->dial, "cannot be asked: out of memory");
        return;
    }
    for (size_t i = 0; i < HF_SERVED_BUCKETS; i++)
        for (struct hf_served_place *at = pg->served.place[i]; at != NULL; at = at->next)
            if (!at->leaving && !at->away)
                ids[count++] = at->id;
    assert(count <= pg->served.places && !pg->served.fresh);
    hf_pg_begin(pg, HF_PG_MEND);
    hf_pg_add(&pg->served, pg->served.sid);
    hf_pg_add_number(&pg->served, pg->session.connection);
    hf_pg_add_numbers(&pg->served, ids, count);
    free(ids);
    hf_pg_send(pg, &pg->session.call, true, on_mended, NULL);
}

static void other_version(struct hf_pg *pg, int64_t version)
{
    char why[HF_ERRMSG_MAX];

    snprintf(why, sizeof why,
             "has a schema \"holdfast\" of another version than ours: it is of version "
             "%" PRId64 ", ours of %u",
             version, hf_pg_schema_version);
    hf_dial_refuse(&pg->dial, HF_EUNSUPPORTED, why);
}

static void take_hello(struct hf_pg *pg, const PGresult *result)
{
    int64_t code = hf_pg_number(result, 0, 0), version = hf_pg_number(result, 0, 1);
    bool    fresh = pg->served.fresh;

    if (code == HF_SERVED_VERSION && version < hf_pg_schema_version &&
        !pg->session.made) {
        make_schema(pg); /* if nobody lives in the old one any more */
    } else if (code == HF_SERVED_VERSION) {
        other_version(pg, version);
    } else if (code == HF_SERVED_GONE) {
        hf_pg_session_restart(&pg->served);
    } else if (code != HF_SERVED_DONE) {
        hf_dial_break(&pg->dial, "has a newer connection of ours");
    } else {
        pg->link.pooled = hf_pg_number(result, 0, 2) != PQbackendPID(pg->link.conn);
        pg->served.fresh = false;
        hf_pg_observe_begin(pg, hf_pg_number(result, 0, 3), hf_pg_text(result, 0, 4));
        if (fresh)
            keep_history(pg);
        else
            tell_places(pg);
    }
}

static void on_hello(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)data;
    if (result != NULL && hf_pg_fault(pg, result) == HF_SERVED_MISSING)
        make_schema(pg);
    else if (!hf_pg_session_failed(pg, result, say_hello))
        take_hello(pg, result);
}

static void say_hello(struct hf_pg *pg)
{
    struct hf_pg_session *session = &pg->session;

    assert(pg->dial.phase == HF_DIAL_GREETING && !session->call.flying);
    session->sent = hf_now();
    hf_pg_begin(pg, HF_PG_HELLO);
    hf_pg_add_number(&pg->served, hf_pg_schema_version);
    hf_pg_add(&pg->served, pg->served.sid);
    hf_pg_add_number(&pg->served, session->connection);
    hf_pg_add_number(&pg->served, (uint64_t)(pg->config.ttl / HF_MS));
    hf_pg_add_bool(&pg->served, pg->served.fresh);
    hf_pg_add(&pg->served, HF_PG_WHO);
    hf_pg_send(pg, &session->call, true, on_hello, NULL);
}

static void say_first(struct hf_pg *pg)
{
    if (pg->served.executes)
        hf_pg_execute(pg);
    else
        say_hello(pg);
}

void hf_pg_session_begin(struct hf_pg *pg)
{
    assert(pg->dial.phase == HF_DIAL_GREETING);
    pg->session.connection++;
    pg->session.again = pg->session.made = false;
    pg->link.pooled = true; /* until we know: nothing is prepared */
    const char *super = PQparameterStatus(pg->link.conn, "is_superuser");
    if (super == NULL || strcmp(super, "on") != 0)
        say_first(pg);
    else
        check_owner(pg);
}

void hf_pg_session_restart(struct hf_served *served)
{
    struct hf_pg *pg = (struct hf_pg *)served;

    if (pg->remote.closing) /* we were to end it, and want no other */
        return;
    pg->session.due = HF_NEVER;
    hf_dial_say(
        &pg->dial,
        "does not know our session any more: its lease ended, or somebody ended it");
    hf_served_start_afresh(&pg->served);
    hf_remote_lose(&pg->remote);
    assert(pg->served.places == 0);
    hf_pg_tasks_drop(pg);
    if (pg->dial.phase < HF_DIAL_GREETING)
        return;
    hf_dial_greet_again(&pg->dial);
    pg->session.again = pg->session.call.flying; /* after that renewal */
    if (!pg->session.again)
        say_hello(pg);
}

void hf_pg_session_broken(struct hf_pg *pg)
{
    assert(!pg->session.call.flying && pg->link.flight.count == 0);
    pg->session.due = HF_NEVER;
    pg->news.listening = false;
    hf_served_tasks_fail(&pg->served);
}

/* ---- Renewal -------------------------------------------------------------------- */

static void on_renewed(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)data;
    if (result != NULL && pg->dial.phase == HF_DIAL_GREETING) { /* hello waits for us */
        pg->session.again = false;
        say_hello(pg); /* whatever became of the old session's renewal */
        return;
    }
    if (hf_pg_session_failed(pg, result, hf_pg_renew))
        return;
    int64_t code = hf_pg_number(result, 0, 0);
    if (code == HF_SERVED_GONE) {
        hf_pg_session_restart(&pg->served);
    } else if (code != HF_SERVED_DONE) {
        hf_dial_break(&pg->dial, "has a newer connection of ours");
    } else {
        assert(pg->dial.phase == HF_DIAL_READY);
        extend_session(pg);
        hf_pg_observe(pg, result);
        if (pg->served.places > 0)
            hf_pg_news_fetch(pg);
        if (pg->session.again)
            hf_pg_renew(pg);
    }
}

void hf_pg_renew(struct hf_pg *pg)
{
    struct hf_pg_session *session = &pg->session;

    session->again = session->call.flying;
    if (session->again || pg->dial.phase != HF_DIAL_READY)
        return;
    assert(!pg->served.fresh); /* READY comes after hello */
    session->sent = hf_now();
    session->due = session->sent + pg->config.ttl / 3;
    hf_pg_begin(pg, HF_PG_RENEW);
    hf_pg_add(&pg->served, pg->served.sid);
    hf_pg_add_number(&pg->served, session->connection);
    hf_pg_send(pg, &session->call, true, on_renewed, NULL);
}

/* ---- Time ----------------------------------------------------------------------- */

/* Too long without any answer, though one is due; or without that to our renewal, which
 * waits for those before it, and may not be sent yet. */
static hf_time is_late_at(const struct hf_pg *pg)
{
    const struct hf_pg_call *oldest = pg->link.flight.first;
    const struct hf_pg_call *renewal = &pg->session.call;
    hf_time wanted = pg->dial.phase == HF_DIAL_READY ? pg->session.sent : renewal->sent;

    if (oldest == NULL)
        return HF_NEVER;
    assert(oldest->sent > 0);
    hf_time since = oldest->sent > pg->link.progress ? oldest->sent : pg->link.progress;
    if (renewal->flying && wanted > 0 && wanted < since)
        since = wanted;
    return since + hf_pg_link_limit(pg);
}

void hf_pg_session_run(struct hf_pg *pg)
{
    if (pg->dial.phase < HF_DIAL_GREETING)
        return;
    if (pg->remote.now >= is_late_at(pg))
        hf_pg_link_hung(pg);
    else if (pg->dial.phase == HF_DIAL_READY && pg->remote.now >= pg->session.due &&
             !pg->session.call.flying)
        hf_pg_renew(pg);
}

hf_time hf_pg_session_wake(const struct hf_pg *pg)
{
    hf_time wake = is_late_at(pg);

    if (pg->dial.phase < HF_DIAL_GREETING)
        return HF_NEVER;
    if (pg->dial.phase == HF_DIAL_READY && !pg->session.call.flying &&
        pg->session.due < wake)
        wake = pg->session.due;
    return wake;
}
