/* hello.c - the first calls on a connection: check whose schema it is, or make one;
 * open the session, or prove that it is still there; then release places that we do not
 * know of.
 *
 *     check_owner --> hello --> reclaim --> keep_history --> READY
 *      (superuser)     | ^   (not if the session is new)
 *                      v |
 *                    make_schema
 */
#include "store/postgres/inner.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say_first(struct hf_pg *pg);

/* ---- The schema ----------------------------------------------------------------- */

static void on_schema(struct hf_pg *pg, void *data, const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    (void)data;
    if (state != NULL && strcmp(state, "42501") == 0) {
        hf_dial_refuse(
            &pg->dial, HF_EDENIED,
            "has no schema \"holdfast\" for us, and we may not make it: let an "
            "administrator run the output of `holdfast init --print --grant ROLE --url "
            "postgres:`");
    } else if (!hf_pg_session_failed(pg, result, hf_pg_hello)) {
        hf_pg_hello(pg);
    }
}

static void make_schema(struct hf_pg *pg)
{
    if (pg->served.only_ends) { /* without a schema there is no such session */
        hf_served_ended(&pg->served);
        return;
    }
    if (pg->session.made) { /* we have made it, and still cannot use it */
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
        "has a schema \"holdfast\" of \"%.60s\", whose functions would run with our rights, "
        "and we are a superuser: connect as that role, or as another",
        hf_pg_text(result, 0, 0));
    hf_dial_refuse(&pg->dial, HF_EDENIED, why);
}

/* A superuser that calls a function trusts its owner with everything. */
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
    hf_pg_session_extend(pg);
    if (pg->served.places > 0)
        pg->session.due = pg->session.sent; /* its answer says who is in our way */
    hf_dial_ready(&pg->dial);
    hf_dial_proven(&pg->dial);
    hf_pg_listen_begin(pg);
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

/* Once for each client, before it is READY. */
static void keep_history(struct hf_pg *pg)
{
    if (pg->config.history < 0 || pg->session.history_kept) {
        session_opened(pg);
        return;
    }
    hf_pg_begin(pg, HF_PG_KEEP_HISTORY);
    hf_pg_add_number(&pg->served, (uint64_t)pg->config.history);
    hf_pg_send(pg, &pg->session.call, true, on_history_kept, NULL);
}

static void reclaim_places(struct hf_pg *pg);

static void on_reclaimed(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)data;
    if (hf_pg_session_failed(pg, result, reclaim_places))
        return;
    if (hf_pg_number(result, 0, 0) == HF_SERVED_DONE)
        keep_history(pg);
    else
        hf_dial_break(&pg->dial, "has a newer connection of ours");
}

/* Tell the server which places we have.  It releases all others. */
static void reclaim_places(struct hf_pg *pg)
{
    uint64_t *ids = malloc((pg->served.places + 1) * sizeof *ids);
    size_t    count = 0;

    if (ids == NULL) {
        hf_dial_break(&pg->dial, "cannot be asked: out of memory");
        return;
    }
    for (size_t i = 0; i < pg->served.buckets; i++)
        for (struct hf_served_place *at = pg->served.place[i]; at != NULL; at = at->next)
            if (!at->leaving && !at->away)
                ids[count++] = at->id;
    assert(count <= pg->served.places && !pg->served.fresh);
    hf_pg_begin(pg, HF_PG_RECLAIM);
    hf_pg_add(&pg->served, pg->served.sid);
    hf_pg_add_number(&pg->served, pg->session.connection);
    hf_pg_add_numbers(&pg->served, ids, count);
    free(ids);
    hf_pg_send(pg, &pg->session.call, true, on_reclaimed, NULL);
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
        make_schema(pg); /* replaces the old one if that has no sessions */
    } else if (code == HF_SERVED_VERSION) {
        other_version(pg, version);
    } else if (code == HF_SERVED_GONE) {
        hf_pg_session_restart(&pg->served);
    } else if (code != HF_SERVED_DONE) {
        hf_dial_break(&pg->dial, "has a newer connection of ours");
    } else {
        pg->link.pooled = hf_pg_number(result, 0, 2) != PQbackendPID(pg->link.conn);
        pg->served.fresh = false;
        hf_expiry_drew(&pg->expiry.plan, hf_pg_number(result, 0, 3),
                       hf_pg_text(result, 0, 4));
        if (fresh)
            keep_history(pg);
        else
            reclaim_places(pg);
    }
}

static void on_hello(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)data;
    if (result != NULL && hf_pg_fault(pg, result) == HF_SERVED_MISSING)
        make_schema(pg);
    else if (!hf_pg_session_failed(pg, result, hf_pg_hello))
        take_hello(pg, result);
}

void hf_pg_hello(struct hf_pg *pg)
{
    struct hf_pg_session *session = &pg->session;

    assert(pg->dial.phase == HF_DIAL_GREETING && !session->call.pending);
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
    if (pg->served.only_ends)
        hf_pg_end_session(pg);
    else
        hf_pg_hello(pg);
}

void hf_pg_session_begin(struct hf_pg *pg)
{
    assert(pg->dial.phase == HF_DIAL_GREETING);
    pg->session.connection++;
    pg->session.again = pg->session.made = false;
    pg->link.pooled = true; /* until we know: prepare nothing */
    const char *super = PQparameterStatus(pg->link.conn, "is_superuser");
    if (super == NULL || strcmp(super, "on") != 0)
        say_first(pg);
    else
        check_owner(pg);
}
