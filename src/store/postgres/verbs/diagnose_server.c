/* diagnose_server.c - findings about a PostgreSQL server and the connection to it. */
#include "store/postgres/verbs/diagnose.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NEARLY_ALL  0.9  /* of the connections that the server allows */
#define MANY_OTHERS 100  /* connections to our database that are not ours */
#define MUCH_UNREAD 0.25 /* of the queue of notifications */

/* ---- The connection ------------------------------------------------------------- */

static bool is_socket(const struct hf_pg *pg)
{
    const char *host = PQhost(pg->link.conn);

    return host != NULL && (host[0] == '/' || host[0] == '@');
}

static bool is_near(const struct hf_pg *pg)
{
    const char *address = PQhostaddr(pg->link.conn);

    return is_socket(pg) || (address != NULL && (strncmp(address, "127.", 4) == 0 ||
                                                 strcmp(address, "::1") == 0));
}

/* Does libpq verify the server's certificate? */
static bool is_verified(const struct hf_pg *pg)
{
    PQconninfoOption *all = PQconninfo(pg->link.conn);
    bool              ret = false;

    for (PQconninfoOption *option = all; option != NULL && option->keyword != NULL;
         option++) {
        if (option->val == NULL)
            continue;
        if (strcmp(option->keyword, "sslmode") == 0)
            ret = strcmp(option->val, "verify-full") == 0;
        explicit_bzero(option->val, strlen(option->val)); /* one is the password */
    }
    PQconninfoFree(all);
    return ret;
}

static void report_postgres_server(const struct hf_pg          *pg,
                                   const struct hf_pg_diagnose *diagnose,
                                   struct hf_finding_list      *list)
{
    const char *version = hf_pg_fact(diagnose, "version"); /* "15.4 (Debian ...)" */
    char        name[160];

    hf_finding_add(list, HF_FINE, "server", NULL, "%s, PostgreSQL %.*s, by %s",
                   hf_dial_show(&pg->dial, name, sizeof name), (int)strcspn(version, " "),
                   version,
                   PQsslInUse(pg->link.conn) ? "TLS"
                   : is_socket(pg)           ? "a Unix socket"
                                             : "TCP");
    hf_finding_add(list, HF_FINE, "round trip", NULL,
                   "all of this was answered in %.1f ms",
                   (double)diagnose->took / (double)HF_MS);
}

/* Our session exists, so this user has all the rights that it needs. */
static void report_identity(const struct hf_pg *pg, const struct hf_pg_diagnose *diagnose,
                            struct hf_finding_list *list)
{
    bool super = hf_pg_fact_is(diagnose, "super", "t");

    hf_finding_add(
        list, super ? HF_WARNING : HF_FINE, "identity",
        super
            ? "have a role for locks alone: holdfast init --print --grant ROLE --url postgres:"
            : NULL,
        "user %s%s%s; database %s", hf_pg_fact(diagnose, "user_name"),
        PQconnectionUsedPassword(pg->link.conn) ? ", by password" : "",
        super ? ", a superuser" : "", hf_pg_fact(diagnose, "database"));
}

static void report_encryption(const struct hf_pg *pg, struct hf_finding_list *list)
{
    if (is_near(pg) && !PQsslInUse(pg->link.conn))
        hf_finding_add(list, HF_FINE, "encryption", NULL,
                       "none, and not needed: this host");
    else if (!PQsslInUse(pg->link.conn))
        hf_finding_add(list, HF_WARNING, "encryption",
                       "ssl = on there, and sslmode=verify-full in the URL",
                       "none: anybody on the network can read everything and take locks "
                       "over");
    else if (is_verified(pg))
        hf_finding_add(list, HF_FINE, "encryption", NULL,
                       "TLS; the server's certificate is verified");
    else
        hf_finding_add(list, is_near(pg) ? HF_FINE : HF_WARNING, "encryption",
                       is_near(pg) ? NULL
                                   : "sslmode=verify-full in the URL, and sslrootcert",
                       "TLS; the server's certificate is not verified");
}

/* ---- Messages from the server --------------------------------------------------- */

static void report_listening(const struct hf_pg_diagnose *diagnose,
                             struct hf_finding_list      *list)
{
    int64_t here = hf_pg_fact_number(diagnose, "connections_here");
    int64_t others = here - hf_pg_fact_number(diagnose, "sessions");
    bool    many = others > MANY_OTHERS;

    hf_finding_add(
        list, many ? HF_WARNING : HF_FINE, "messages",
        many ? "give locks a database of their own on that server" : NULL,
        "by NOTIFY, at once; each wakes every client that listens in this database, "
        "which has %" PRId64 " connection%s",
        here, here == 1 ? "" : "s");
}

static void report_messages(const struct hf_pg *pg, const struct hf_pg_diagnose *diagnose,
                            struct hf_finding_list *list)
{
    double unread = hf_pg_fact_real(diagnose, "queue");

    if (pg->config.polling)
        hf_finding_add(list, HF_FINE, "messages", NULL,
                       "by polling: polling=yes in the URL");
    else if (pg->link.pooled)
        hf_finding_add(
            list, HF_WARNING, "messages",
            "connect to the server directly, if waiters should be woken at once; if not, "
            "say polling=yes",
            "by polling: there is a pooler between");
    else
        report_listening(diagnose, list);
    if (unread > MUCH_UNREAD)
        hf_finding_add(
            list, HF_WARNING, "queue",
            "end the client that listens and stays in a transaction: see "
            "pg_stat_activity",
            "%.0f %% of the queue for notifications is used; when it is nearly "
            "full, hand-overs take up to a third of the ttl",
            100 * unread);
}

/* ---- Session and clock ---------------------------------------------------------- */

/* More than the ttl does not matter. */
static hf_time within_ttl(int64_t ms, hf_time ttl)
{
    return ms <= 0 ? 0 : ms < ttl / HF_MS ? ms * HF_MS : ttl;
}

static void report_postgres_session(const struct hf_pg          *pg,
                                    const struct hf_pg_diagnose *diagnose,
                                    struct hf_finding_list      *list)
{
    hf_time left = pg->served.base.alive_until - hf_now(), ttl = pg->config.ttl;
    hf_time idle = within_ttl(hf_pg_fact_number(diagnose, "idle_ms"), ttl);

    hf_finding_add(list, HF_FINE, "session", NULL,
                   "%g s: how long others wait for a dead holder", hf_seconds(ttl));
    hf_finding_add(
        list, left > 0 ? HF_FINE : HF_WARNING, "deadline", NULL,
        "locks held now are surely ours for %.1f s, even if the server does not "
        "answer",
        left > 0 ? hf_seconds(left) : 0.0);
    if (idle > 0 && idle < ttl / 2)
        hf_finding_add(
            list, HF_WARNING, "idle",
            "ALTER ROLE ... SET idle_session_timeout = 0, or a shorter ttl",
            "the server ends a connection that is idle for %g s, and ours may be for "
            "%g s",
            hf_seconds(idle), hf_seconds(ttl / 3));
}

/* The server's time is only used for tokens, and shown to people. */
static void report_clock(const struct hf_pg_diagnose *diagnose,
                         struct hf_finding_list      *list)
{
    double  off = (double)diagnose->ahead / 1e6;
    int64_t token = hf_pg_fact_number(diagnose, "token");
    double  ahead = (double)(token - hf_pg_fact_number(diagnose, "clock")) / 1e6;

    hf_finding_add(list, HF_FINE, "clock", NULL,
                   "the server's is %.3f s %s ours; no lease depends on it",
                   off < 0 ? -off : off, off < 0 ? "behind" : "ahead of");
    if (ahead > 1)
        hf_finding_add(
            list, HF_FINE, "tokens", NULL,
            "above %" PRId64
            ", %.0f s ahead of the server's clock, which was set back; they go on "
            "rising",
            token, ahead);
    else
        hf_finding_add(list, HF_FINE, "tokens", NULL, "above %" PRId64, token);
}

/* ---- Connections ---------------------------------------------------------------- */

static void report_connections(const struct hf_pg_diagnose *diagnose,
                               struct hf_finding_list      *list)
{
    int64_t used = hf_pg_fact_number(diagnose, "connections");
    int64_t most = hf_pg_fact_number(diagnose, "most_connections");
    bool    full = (double)used > NEARLY_ALL * (double)most;

    hf_finding_add(list, full ? HF_WARNING : HF_FINE, "connections",
                   full ? "raise max_connections, or use a pooler" : NULL,
                   "%" PRId64 " of %" PRId64 " are in use%s", used, most,
                   full ? "; when all are, no other client can connect" : "");
}

void hf_pg_report_server(const struct hf_pg *pg, const struct hf_pg_diagnose *diagnose,
                         struct hf_finding_list *list)
{
    assert(pg->link.conn != NULL); /* it has just answered */
    report_postgres_server(pg, diagnose, list);
    report_identity(pg, diagnose, list);
    report_encryption(pg, list);
    report_messages(pg, diagnose, list);
    report_postgres_session(pg, diagnose, list);
    report_clock(diagnose, list);
    report_connections(diagnose, list);
}
