/* diagnose.c - DIAGNOSE, for `holdfast doctor`: what a person should know about the
 * database.  hf_overview() answers everything in two rows. */
#include "store/mariadb/inner.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NEARLY_ALL 0.9 /* of the connections that the server allows */

/* Columns of the first row. */
enum total {
    CODE,
    SESSIONS,
    HOLDERS,
    WAITERS,
    EMPTY,
    NAME_HOLDERS,
    NAME_WAITERS,
    TOKEN,
    WRONG
};

/* Columns of the second row. */
enum fact {
    CLOCK,
    USER,
    DEFINER,
    FLUSH,
    BINLOG,
    SYNC_BINLOG,
    MOST_CONNECTIONS,
    CONNECTIONS,
    REPLICAS,
    SEMI_SYNC,
    DOUBLEWRITE,
    FOREIGN_ENGINES,
};

static int64_t total(const struct hf_my_reply *reply, enum total column)
{
    return hf_my_number(reply, 0, column);
}

static int64_t fact(const struct hf_my_reply *reply, enum fact column)
{
    return hf_my_number(reply, 1, column);
}

static const char *fact_text(const struct hf_my_reply *reply, enum fact column)
{
    const char *text = hf_my_text(reply, 1, column);

    return text != NULL ? text : "";
}

/* ---- The server ------------------------------------------------------------------- */

static bool is_near(const struct hf_maria *maria)
{
    const struct hf_server *here = &maria->main.dial.here;

    return maria->config.path[0] != '\0' || strncmp(here->host, "127.", 4) == 0 ||
           strcmp(here->host, "::1") == 0 || strcmp(here->host, "localhost") == 0;
}

static void report_server(const struct hf_maria *maria, const struct hf_my_reply *reply,
                          hf_time took, struct hf_finding_list *list)
{
    char name[160];

    hf_finding_add(list, HF_FINE, "server", NULL, "%s, MariaDB %.*s, by %s",
                   hf_dial_show(&maria->main.dial, name, sizeof name),
                   (int)strcspn(maria->main.version, "-"), maria->main.version,
                   maria->tls != NULL              ? "TLS"
                   : maria->config.path[0] != '\0' ? "a Unix socket"
                                                   : "TCP");
    hf_finding_add(list, HF_FINE, "round trip", NULL,
                   "all of this was answered in %.1f ms", (double)took / (double)HF_MS);
    hf_finding_add(list, HF_FINE, "identity", NULL,
                   "user %s; database %s, whose functions have the rights of %s",
                   fact_text(reply, USER), maria->config.database,
                   fact_text(reply, DEFINER));
    bool bare = maria->tls == NULL && !is_near(maria);
    hf_finding_add(list, bare ? HF_WARNING : HF_FINE, "encryption",
                   bare ? "tls=yes in the URL, and ca" : NULL,
                   maria->tls != NULL ? "TLS; the server's certificate is verified"
                   : bare ? "none: anybody on the network can read everything "
                            "and take locks over"
                          : "none, and not needed: this host");
}

static void report_messages(const struct hf_maria *maria, struct hf_finding_list *list)
{
    if (maria->config.polling)
        hf_finding_add(list, HF_FINE, "messages", NULL,
                       "by polling: polling=yes in the URL");
    else if (maria->waker.pooled)
        hf_finding_add(list, HF_WARNING, "messages",
                       "connect to the server directly, if waiters should be woken at "
                       "once; if not, say polling=yes",
                       "by polling: there is a pooler between");
    else
        hf_finding_add(list, HF_FINE, "messages", NULL,
                       "at once: a second connection of each waiter sleeps in a query, "
                       "which is killed to wake it");
}

static void report_session(const struct hf_maria *maria, const struct hf_my_reply *reply,
                           hf_time took, struct hf_finding_list *list)
{
    hf_time left = maria->served.base.alive_until - hf_now();
    double  clock =
        (double)fact(reply, CLOCK); /* any number: a difference could overflow */
    int64_t then = hf_wall_us() - took / 2000; /* between our question and its answer */
    double  off = (clock - (double)then) / 1e6;
    double  ahead = ((double)total(reply, TOKEN) - clock) / 1e6;

    hf_finding_add(list, HF_FINE, "session", NULL,
                   "%g s: how long others wait for a dead holder",
                   hf_seconds(maria->config.ttl));
    hf_finding_add(
        list, left > 0 ? HF_FINE : HF_WARNING, "deadline", NULL,
        "locks held now are surely ours for %.1f s, even if the server does not "
        "answer",
        left > 0 ? hf_seconds(left) : 0.0);
    hf_finding_add(list, HF_FINE, "clock", NULL,
                   "the server's is %.3f s %s ours; no lease depends on it",
                   off < 0 ? -off : off, off < 0 ? "behind" : "ahead of");
    hf_finding_add(list, HF_FINE, "tokens", NULL, "above %" PRId64 "%s",
                   total(reply, TOKEN),
                   ahead > 1 ? ", ahead of the server's clock, which was set back; they "
                               "go on rising"
                             : "");
}

static void report_connections(const struct hf_my_reply *reply,
                               struct hf_finding_list   *list)
{
    int64_t used = fact(reply, CONNECTIONS), most = fact(reply, MOST_CONNECTIONS);
    bool    full = (double)used > NEARLY_ALL * (double)most;

    hf_finding_add(list, full ? HF_WARNING : HF_FINE, "connections",
                   full ? "raise max_connections: each client that waits has two" : NULL,
                   "%" PRId64 " of %" PRId64 " are in use%s", used, most,
                   full ? "; when all are, no other client can connect" : "");
}

/* ---- The data ----------------------------------------------------------------------- */

static void report_disk(const struct hf_my_reply *reply, struct hf_finding_list *list)
{
    if (fact(reply, FLUSH) != 1)
        hf_finding_add(
            list, HF_WARNING, "disk",
            "innodb_flush_log_at_trx_commit = 1 in its configuration",
            "innodb_flush_log_at_trx_commit is %" PRId64
            ": if the server or its machine fails, the grants of the last second "
            "may be lost and given to others",
            fact(reply, FLUSH));
    else if (fact(reply, BINLOG) != 0 && fact(reply, SYNC_BINLOG) != 1)
        hf_finding_add(
            list, HF_WARNING, "disk", "sync_binlog = 1 in its configuration",
            "sync_binlog is %" PRId64
            ": if its machine fails, the binary log lacks the last grants, and "
            "a crash may undo them or a replica never know them",
            fact(reply, SYNC_BINLOG));
    else if (fact(reply, DOUBLEWRITE) == 0)
        hf_finding_add(list, HF_WARNING, "disk",
                       "innodb_doublewrite = ON in its configuration",
                       "innodb_doublewrite is off: if its machine fails, the data may be "
                       "damaged");
    else
        hf_finding_add(list, HF_FINE, "disk", NULL,
                       "grants and renewals are on disk before they count");
}

static void report_replicas(const struct hf_my_reply *reply, struct hf_finding_list *list)
{
    int64_t count = fact(reply, REPLICAS);
    bool    semi = strcmp(fact_text(reply, SEMI_SYNC), "ON") == 0;

    if (count == 0)
        hf_finding_add(list, HF_FINE, "replicas", NULL,
                       "none: without this server there are no locks");
    else
        hf_finding_add(list, HF_WARNING, "replicas",
                       "check tokens where the data is; see docs/mariadb.md",
                       "%" PRId64
                       ", %s: after a failover the new primary may not know the "
                       "last grants, and two may hold the same lock",
                       count,
                       semi ? "semi-synchronous until one is late" : "asynchronous");
}

static void report_lines(const struct hf_my_reply *reply, const char *name,
                         struct hf_finding_list *list)
{
    int64_t wrong = total(reply, WRONG), engines = fact(reply, FOREIGN_ENGINES);

    hf_finding_add(list, engines > 0 ? HF_FAULT : HF_FINE, "tables",
                   engines > 0 ? "ALTER TABLE ... ENGINE = InnoDB" : NULL,
                   engines > 0
                       ? "hf_..., version %u; %" PRId64
                         " of them are not InnoDB's: a crash or an error there is "
                         "not undone"
                       : "hf_..., version %u",
                   hf_maria_schema_version, engines);
    hf_finding_add(list, wrong > 0 ? HF_FAULT : HF_FINE, "integrity",
                   wrong > 0 ? "it was changed by hand: CALL hf_recount() corrects it"
                             : NULL,
                   wrong > 0 ? "the totals of %" PRId64
                               " queues do not match their places"
                             : "ok",
                   wrong);
    hf_finding_add(list, HF_FINE, "lines", NULL,
                   "%" PRId64 " sessions, ours included; %" PRId64 " hold, %" PRId64
                   " wait, %" PRId64 " queues are empty",
                   total(reply, SESSIONS), total(reply, HOLDERS), total(reply, WAITERS),
                   total(reply, EMPTY));
    if (name != NULL)
        hf_finding_add(list, HF_FINE, "line", NULL,
                       "%" PRId64 " hold \"%s\", %" PRId64 " wait",
                       total(reply, NAME_HOLDERS), name, total(reply, NAME_WAITERS));
}

/* ---- The answer ----------------------------------------------------------------- */

static void on_diagnosed(struct hf_served_task *task, int code, const void *reply)
{
    const struct hf_maria *maria = (const struct hf_maria *)hf_served_of(task);
    hf_time took = hf_now() - ((const struct hf_maria_task *)task)->call.sent;
    struct hf_finding_list list = { 0 };

    (void)code;
    report_server(maria, reply, took, &list);
    report_messages(maria, &list);
    report_session(maria, reply, took, &list);
    report_connections(reply, &list);
    report_disk(reply, &list);
    report_replicas(reply, &list);
    report_lines(reply, task->base.req->name, &list);
    hf_served_findings(task, &list);
}

void hf_maria_diagnose(struct hf_served_task *task)
{
    hf_maria_task_begin(task);
    hf_served_send(task, on_diagnosed);
}
