/* connect.c - libpq connects, and is never waited for. */
#include "store/postgres/inner.h"

#include "base/fork.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#define STEPS 16 /* in one turn */

static void cannot_connect(struct hf_pg *pg)
{
    PGconn *conn = pg->link.conn;
    bool    no_password = PQconnectionNeedsPassword(conn);
    char    why[HF_ERRMSG_MAX];
    int refusal = hf_pg_fault_connect(PQerrorMessage(conn), no_password, why, sizeof why);

    /* With several servers, another one may know us. */
    if (refusal != 0 && pg->link.tried + 1 >= pg->config.servers)
        hf_pg_link_refuse(pg, refusal, why);
    else
        hf_pg_link_break(pg, why);
}

/* Every call is warned that numbers of transactions run out, long before they do. */
static bool is_about_numbers(const PGresult *notice)
{
    const char *file = PQresultErrorField(notice, PG_DIAG_SOURCE_FILE);

    return file != NULL &&
           (strcmp(file, "varsup.c") == 0 || strcmp(file, "multixact.c") == 0);
}

/* The last thing a server says may be why it ends the connection.  A warning during a call:
 * see call.c.  The rest is chatter. */
static void on_notice(void *data, const PGresult *notice)
{
    struct hf_pg_link *link = &((struct hf_pg *)data)->link;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
    const char *words = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);

    if (severity == NULL || state == NULL)
        return;
    if (strcmp(severity, "FATAL") == 0)
        hf_pg_fault_words(state, words, link->parting, sizeof link->parting);
    else if (strcmp(severity, "WARNING") == 0 && link->busy && !is_about_numbers(notice))
        snprintf(link->warning, sizeof link->warning, "warns: %s",
                 words != NULL ? words : state);
}

static void connected(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;

    link->phase = HF_PG_OPENING;
    link->addresses = 0;
    if (PQsetnonblocking(link->conn, 1) != 0 || !hf_pg_socket_look(pg, EPOLLIN))
        hf_pg_link_break(pg, "cannot be reached: out of memory");
    else
        hf_pg_session_begin(pg);
}

/* SO_ERROR is 0 also while nothing is decided, and libpq would believe it. */
static bool is_due(const struct hf_pg_link *link)
{
    struct pollfd poller = { .fd = link->fd,
                             .events = link->polled == EPOLLIN ? POLLIN : POLLOUT };

    return poll(&poller, 1, 0) > 0;
}

void hf_pg_connect_more(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;
    bool               fine = true;

    for (int i = 0; i < STEPS && fine && is_due(link); i++) {
        link->due = pg->remote.now + hf_pg_link_patience(pg); /* each step has its own */
        switch (hf_pg_socket_step(pg)) {
        case PGRES_POLLING_OK:
            connected(pg);
            return;
        case PGRES_POLLING_FAILED:
            cannot_connect(pg);
            return;
        case PGRES_POLLING_READING:
            fine = hf_pg_socket_look(pg, EPOLLIN);
            break;
        default:
            fine = hf_pg_socket_look(pg, EPOLLOUT);
            break;
        }
    }
    if (!fine)
        hf_pg_link_break(pg, "cannot be reached: out of memory");
}

void hf_pg_connect(struct hf_pg *pg, const char *hostaddr)
{
    struct hf_pg_link    *link = &pg->link;
    struct hf_pg_keywords keywords;

    assert(link->conn == NULL && link->first == NULL);
    link->phase = HF_PG_CONNECTING;
    link->due = pg->remote.now + hf_pg_link_patience(pg);
    link->generation = hf_fork_generation();
    link->opened++;
    link->pooled = link->more = false;
    link->parting[0] = link->warning[0] = '\0';
    memset(link->use, 0, sizeof link->use);
    hf_pg_config_keywords(&pg->config, link->server, hostaddr, &keywords);
    if (!hf_pg_socket_open(pg, &keywords)) {
        hf_pg_link_break(pg, "cannot be reached: out of memory");
        return;
    }
    PQsetErrorVerbosity(link->conn, PQERRORS_VERBOSE); /* with SQLSTATE */
    PQsetNoticeReceiver(link->conn, on_notice, pg);
    if (PQstatus(link->conn) == CONNECTION_BAD)
        cannot_connect(pg);
    else if (!hf_pg_socket_look(pg, EPOLLOUT))
        hf_pg_link_break(pg, "cannot be reached: out of memory");
}
