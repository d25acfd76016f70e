/* connect.c - connect with libpq, without blocking. */
#include "store/postgres/inner.h"

#include "base/fork.h"

#include <assert.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#define STEPS     16 /* in one process() */
#define WINDOW    2  /* calls in flight at first: see call.c */
#define NO_MEMORY "cannot be connected to: out of memory"

/* libpq reads certificates and keys again for each connection.  A file that was good
 * before is being replaced: try again. */
static bool is_about_renewal(const struct hf_pg *pg, const char *why)
{
    return pg->link.let_in && strstr(why, " file \"") != NULL;
}

static void cannot_connect(struct hf_pg *pg)
{
    PGconn *conn = pg->link.conn;
    bool    no_password = PQconnectionNeedsPassword(conn), absent;
    char    why[HF_ERRMSG_MAX];
    int     refusal =
        hf_pg_fault_connect(PQerrorMessage(conn), no_password, why, sizeof why, &absent);

    assert(pg->dial.phase == HF_DIAL_CONNECTING);
    if (refusal != 0 &&
        !is_about_renewal(pg, why)) /* another of several servers may let us in */
        hf_dial_deny(&pg->dial, refusal, why);
    else if (absent)
        hf_dial_absent(&pg->dial, why);
    else
        hf_dial_break(&pg->dial, why);
}

/* The server warns in every call that transaction numbers run out, long before they
 * do. */
static bool is_about_transaction_numbers(const PGresult *notice)
{
    const char *file = PQresultErrorField(notice, PG_DIAG_SOURCE_FILE);

    return file != NULL &&
           (strcmp(file, "varsup.c") == 0 || strcmp(file, "multixact.c") == 0);
}

/* A FATAL notice says why the server ends the connection.  For a warning during a call
 * see call.c.  Other notices do not matter. */
static void on_notice(void *data, const PGresult *notice)
{
    struct hf_pg_link *link = &((struct hf_pg *)data)->link;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
    const char *said = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);

    if (severity == NULL || state == NULL)
        return;
    if (strcmp(severity, "FATAL") == 0)
        hf_pg_fault_text(state, said, link->end_reason, sizeof link->end_reason);
    else if (strcmp(severity, "WARNING") == 0 && link->flight.count > 0 &&
             !is_about_transaction_numbers(notice))
        snprintf(link->warning, sizeof link->warning, "warns: %s",
                 said != NULL ? said : state);
}

/* libpq believes SO_ERROR, which is 0 while the kernel is still connecting: poll
 * first. */
static bool is_ready(const struct hf_polled *polled)
{
    struct pollfd poller = { .fd = polled->fd,
                             .events = polled->events == EPOLLIN ? POLLIN : POLLOUT };

    assert(polled->events == EPOLLIN || polled->events == EPOLLOUT);
    return poll(&poller, 1, 0) > 0;
}

void hf_pg_connect_step(struct hf_dial *dial)
{
    struct hf_pg *pg = (struct hf_pg *)dial->store;
    bool          fine = true;

    assert(dial->phase == HF_DIAL_CONNECTING && pg->link.conn != NULL);
    for (int i = 0; i < STEPS && fine && is_ready(&dial->polled); i++) {
        hf_dial_allow(dial); /* each step has its own time limit */
        switch (hf_pg_socket_step(pg)) {
        case PGRES_POLLING_OK:
            hf_dial_greet(dial);
            return;
        case PGRES_POLLING_FAILED:
            cannot_connect(pg);
            return;
        case PGRES_POLLING_READING:
            fine = hf_pg_socket_poll(pg, EPOLLIN);
            break;
        default:
            fine = hf_pg_socket_poll(pg, EPOLLOUT);
            break;
        }
    }
    if (!fine)
        hf_dial_break(dial, NO_MEMORY);
}

static void connect_to(struct hf_pg *pg, const char *hostaddr)
{
    struct hf_pg_link    *link = &pg->link;
    struct hf_pg_keywords keywords;

    assert(link->conn == NULL && link->fd < 0 && link->flight.count == 0);
    assert(pg->dial.phase == HF_DIAL_CONNECTING);
    link->generation = hf_fork_generation();
    link->pooled = link->pipelined = link->ended = link->skip_cancel = false;
    link->window = WINDOW;
    link->progress = 0;
    link->end_reason[0] = link->warning[0] = '\0';
    memset(link->use, 0, sizeof link->use);
    link->tuned = false;
    hf_pg_config_keywords(&pg->config, pg->dial.server, hostaddr, &keywords);
    if (!hf_pg_socket_open(pg, &keywords)) {
        hf_dial_break(&pg->dial, NO_MEMORY);
        return;
    }
    PQsetErrorVerbosity(link->conn, PQERRORS_VERBOSE); /* with SQLSTATE */
    PQsetNoticeReceiver(link->conn, on_notice, pg);
    if (PQstatus(link->conn) == CONNECTION_BAD)
        cannot_connect(pg);
    else if (!hf_pg_socket_poll(pg, EPOLLOUT))
        hf_dial_break(&pg->dial, NO_MEMORY);
}

/* Pass libpq the address, so that it does not look up the name. */
void hf_pg_connect(struct hf_dial *dial, const struct hf_address *address)
{
    struct hf_pg *pg = (struct hf_pg *)dial->store;
    char          text[NI_MAXHOST];

    if (address == NULL)
        connect_to(pg, NULL);
    else if (getnameinfo((const struct sockaddr *)&address->at, address->length, text,
                         sizeof text, NULL, 0, NI_NUMERICHOST) != 0)
        hf_dial_break(dial, "has an invalid address");
    else
        connect_to(pg, text);
}
