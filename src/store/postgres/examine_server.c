/* examine_server.c - what doctor tells of a PostgreSQL server and of the way there. */
#include "store/postgres/examine.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NEARLY_ALL  0.9  /* of the connections that the server allows */
#define MANY_OTHERS 100  /* connections to our database that are not ours */
#define MUCH_UNREAD 0.25 /* of the queue of notifications */

/* ---- The way there -------------------------------------------------------------- */

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

/* Does libpq make sure of who the server is? */
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

static void tell_postgres_server(const struct hf_pg         *pg,
                                 const struct hf_pg_examine *examine,
                                 struct hf_finding_list     *list)
{
    const char *version = hf_pg_told(examine, "version"); /* "15.4 (Debian ...)" */
    char        name[160];

    hf_finding_add(list, HF_FINE, "server", NULL, "%s, PostgreSQL %.*s, by %s",
                   hf_dial_show(&pg->dial, name, sizeof name), (int)strcspn(version, " "),
                   version,
                   PQsslInUse(pg->link.conn) ? "TLS"
                   : is_socket(pg)           ? "a Unix socket"
                                             : "TCP");
    hf_finding_add(list, HF_FINE, "round trip", NULL,
                   "all of this was answered in %.1f ms",
                   (double)examine->took / (double)HF_MS);
}

/* That this user may do all that is needed is shown by our session being there. */
static void tell_identity(const struct hf_pg *pg, const struct hf_pg_examine *examine,
                          struct hf_finding_list *list)
{
    bool super = hf_pg_told_is(examine, "super", "t");

    hf_finding_add(list, super ? HF_WARNING : HF_FINE, "identity",
                   super
                       ? "have a role for locks alone: holdfast init --print --grant ROLE"
                       : NULL,
                   "user %s%s%s; database %s", hf_pg_told(examine, "user_name"),
                   PQconnectionUsedPassword(pg->link.conn) ? ", by password" : "",
                   super ? ", who may do everything there" : "",
                   hf_pg_told(examine, "database"));
}

static void tell_encryption(const struct hf_pg *pg, struct hf_finding_list *list)
{
    if (is_near(pg) && !PQsslInUse(pg->link.conn))
        hf_finding_add(list, HF_FINE, "encryption", NULL,
                       "none, and not needed: this host");
    else if (!PQsslInUse(pg->link.conn))
        hf_finding_add(list, HF_WARNING, "encryption",
                       "ssl = on there, and sslmode=verify-full in the URL",
                       "none: on the way all can be read and locks be taken over");
    else if (is_verified(pg))
        hf_finding_add(list, HF_FINE, "encryption", NULL,
                       "TLS; the server's certificate is verified");
    else
        hf_finding_add(list, is_near(pg) ? HF_FINE : HF_WARNING, "encryption",
                       is_near(pg) ? NULL
                                   : "sslmode=verify-full in the URL, and sslrootcert",
                       "TLS; nobody makes sure that it is the right server");
}

/* ---- How we hear of things ------------------------------------------------------ */

static void tell_listening(const struct hf_pg_examine *examine,
                           struct hf_finding_list     *list)
{
    int64_t here = hf_pg_told_number(examine, "connections_here");
    int64_t others = here - hf_pg_told_number(examine, "sessions");
    bool    many = others > MANY_OTHERS;

    hf_finding_add(
        list, many ? HF_WARNING : HF_FINE, "news",
        many ? "give locks a database of their own on that server" : NULL,
        "by NOTIFY, at once; one wakes every client that listens in this database, "
        "which has %" PRId64 " connection%s",
        here, here == 1 ? "" : "s");
}

static void tell_news(const struct hf_pg *pg, const struct hf_pg_examine *examine,
                      struct hf_finding_list *list)
{
    double unread = hf_pg_told_real(examine, "queue");

    if (pg->config.polling)
        hf_finding_add(list, HF_FINE, "news", NULL,
                       "by looking now and then: polling=yes in the URL");
    else if (pg->link.pooled)
        hf_finding_add(
            list, HF_WARNING, "news",
            "name the server itself, if waiting should end at once; if not, say "
            "polling=yes",
            "by looking now and then: there is a pooler between");
    else
        tell_listening(examine, list);
    if (unread > MUCH_UNREAD)
        hf_finding_add(list, HF_WARNING, "queue",
                       "end the client that listens and stays in a transaction: see "
                       "pg_stat_activity",
                       "%.0f %% of the room for notifications is used; when it is nearly "
                       "full, hand-overs take up to a third of the ttl",
                       100 * unread);
}

/* ---- Session and clock ---------------------------------------------------------- */

static void tell_postgres_session(const struct hf_pg         *pg,
                                  const struct hf_pg_examine *examine,
                                  struct hf_finding_list     *list)
{
    hf_time left = pg->served.base.alive_until - hf_now(), ttl = pg->config.ttl;
    hf_time idle = hf_pg_told_number(examine, "idle_ms") * HF_MS;

    hf_finding_add(list, HF_FINE, "session", NULL,
                   "%g s: so long a dead holder is waited for", hf_seconds(ttl));
    hf_finding_add(
        list, left > 0 ? HF_FINE : HF_WARNING, "deadline", NULL,
        "what is held now is surely ours for %.1f s, even if the server is not "
        "heard",
        left > 0 ? hf_seconds(left) : 0.0);
    if (idle > 0 && idle < ttl / 2)
        hf_finding_add(
            list, HF_WARNING, "idle",
            "ALTER ROLE ... SET idle_session_timeout = 0, or a shorter ttl",
            "the server ends a connection that is silent for %g s, and ours may be "
            "for %g s",
            hf_seconds(idle), hf_seconds(ttl / 3));
}

/* Of the server's time nothing but tokens and what people are shown is made. */
static void tell_clock(const struct hf_pg_examine *examine, struct hf_finding_list *list)
{
    double  off = (double)examine->ahead / 1e6;
    int64_t token = hf_pg_told_number(examine, "token");
    double  ahead = (double)(token - hf_pg_told_number(examine, "clock")) / 1e6;

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

static void tell_connections(const struct hf_pg_examine *examine,
                             struct hf_finding_list     *list)
{
    int64_t used = hf_pg_told_number(examine, "connections");
    int64_t most = hf_pg_told_number(examine, "most_connections");
    bool    full = (double)used > NEARLY_ALL * (double)most;

    hf_finding_add(list, full ? HF_WARNING : HF_FINE, "connections",
                   full ? "raise max_connections, or let clients share some by a pooler"
                        : NULL,
                   "%" PRId64 " of %" PRId64 " are in use%s", used, most,
                   full ? "; when all are, nobody else gets in" : "");
}

void hf_pg_server_tell(const struct hf_pg *pg, const struct hf_pg_examine *examine,
                       struct hf_finding_list *list)
{
    assert(pg->link.conn != NULL); /* it has just answered */
    tell_postgres_server(pg, examine, list);
    tell_identity(pg, examine, list);
    tell_encryption(pg, list);
    tell_news(pg, examine, list);
    tell_postgres_session(pg, examine, list);
    tell_clock(examine, list);
    tell_connections(examine, list);
}
