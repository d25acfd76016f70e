/* link.c - the connection: its time limits, how it begins and ends, reading and
 * sending.
 *
 * store/remote/dial.h draws its states.  The dial looks up names; libpq connects, with
 * TLS and password (connect.c).  In GREETING the session says hello (session.c).
 *
 * A forked child does not have our descriptors, and their numbers may belong to other
 * files.  There we leave libpq's connection alone: PQfinish() would write to it and
 * close it.
 */
#include "store/postgres/inner.h"

#include "base/fork.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#define STEP_MOST   (2 * HF_SEC)
#define HELLO_MOST  (60 * HF_SEC)
#define CANCEL_WAIT (100 * HF_MS) /* at close */

#define ANY_PORT "5432" /* for the look-up; libpq gets the address alone */
#define PIECES   16     /* to read in one go, if TLS has more */

/* ---- Time limits ---------------------------------------------------------------- */

/* Doubled after every round in which no server could be reached. */
static hf_time step_patience(const struct hf_pg *pg)
{
    return hf_dial_doubled(pg->config.ttl / 6, pg->dial.rounds, STEP_MOST);
}

hf_time hf_pg_cancel_limit(const struct hf_pg *pg)
{
    return hf_dial_doubled(pg->config.ttl / 6, 0, STEP_MOST);
}

/* A server that does not answer hello may be waiting for its standby, or for a lock on
 * our tables.  Trying again soon does not help, unless there is another server. */
hf_time hf_pg_link_limit(const struct hf_pg *pg)
{
    hf_time limit = pg->config.ttl / 3;

    assert(pg->dial.phase >= HF_DIAL_GREETING); /* a call is under way */
    return pg->dial.phase == HF_DIAL_GREETING && hf_dial_is_alone(&pg->dial) &&
                   limit < HELLO_MOST
               ? hf_dial_doubled(limit, pg->dial.rounds, HELLO_MOST)
               : limit;
}

/* In GREETING the session checks how long hello takes. */
static hf_time postgres_patience(const struct hf_dial *dial)
{
    return dial->phase == HF_DIAL_GREETING
               ? HF_NEVER
               : step_patience((const struct hf_pg *)dial->store);
}

/* Short pauses while a session with places is running out. */
static hf_time postgres_pause_most(const struct hf_dial *dial)
{
    const struct hf_pg *pg = (const struct hf_pg *)dial->store;

    return pg->served.places > 0 ? pg->config.ttl / 20 : HF_NEVER;
}

static void say_late(hf_time limit, char *ret, size_t size)
{
    snprintf(ret, size, "does not answer within %.1f s", (double)limit / HF_SEC);
}

static void say_late_step(const struct hf_dial *dial, char *ret, size_t size)
{
    say_late(step_patience((const struct hf_pg *)dial->store), ret, size);
}

void hf_pg_link_hung(struct hf_pg *pg)
{
    char why[HF_ERRMSG_MAX];

    say_late(hf_pg_link_limit(pg), why, sizeof why);
    snprintf(
        why + strlen(why), sizeof why - strlen(why),
        ": is it overloaded, or slowed down by an open transaction? See `holdfast doctor`");
    hf_dial_hung(&pg->dial, why);
}

/* ---- Begin and end of a connection ---------------------------------------------- */

static const char *show_postgres(const struct hf_dial *dial, char *ret, size_t size)
{
    return hf_pg_config_show(&((const struct hf_pg *)dial->store)->config, dial->server,
                             ret, size);
}

static bool cancel_is_over(const struct hf_dial *dial)
{
    return !hf_pg_cancel_is_awaited((const struct hf_pg *)dial->store);
}

/* We look up names; the folder of a socket, an abstract socket and "" are left to
 * libpq. */
static void find_postgres_server(struct hf_dial *dial)
{
    const struct hf_pg *pg = (const struct hf_pg *)dial->store;

    assert(pg->link.conn == NULL);
    hf_dial_choose(dial);
    if (pg->config.hostaddr[dial->server][0] != '\0' ||
        strchr("/@", dial->here.host[0]) != NULL) { /* "" too */
        hf_dial_connect(dial, NULL);
        return;
    }
    if (dial->here.port[0] == '\0')
        snprintf(dial->here.port, sizeof dial->here.port, ANY_PORT);
    hf_dial_look_up(dial);
}

static void greet_postgres(struct hf_dial *dial)
{
    struct hf_pg *pg = (struct hf_pg *)dial->store;

    assert(dial->phase == HF_DIAL_GREETING);
    assert(pg->link.conn != NULL && pg->link.flight.count == 0);
    pg->link.let_in = true;
    if (PQsetnonblocking(pg->link.conn, 1) != 0 || !hf_pg_socket_poll(pg, EPOLLIN))
        hf_dial_break(dial, "cannot be watched: out of memory");
    else
        hf_pg_session_begin(pg);
}

static void close_conn(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;

    if (link->conn == NULL)
        return;
    if (link->generation == hf_fork_generation()) {
        if (link->flight.count > 0 && !link->skip_cancel &&
            PQstatus(link->conn) == CONNECTION_OK)
            hf_pg_cancel_begin(pg);
        else
            hf_pg_socket_close(pg);
    }
    link->conn = NULL;
    link->fd = -1;
}

static void postgres_link_over(struct hf_dial *dial)
{
    struct hf_pg *pg = (struct hf_pg *)dial->store;

    assert(dial->phase == HF_DIAL_RESTING);
    close_conn(pg);
    hf_pg_calls_drop(pg);
    hf_pg_session_broken(pg);
}

/* libpq noticed that the connection is gone. */
static void hung_up(struct hf_pg *pg)
{
    char line[160], why[HF_ERRMSG_MAX];

    assert(pg->link.conn != NULL);
    hf_pg_fault_line(PQerrorMessage(pg->link.conn), line, sizeof line);
    if (pg->link.end_reason[0] != '\0')
        snprintf(why, sizeof why, "%s", pg->link.end_reason);
    else
        snprintf(why, sizeof why, "hung up: %s", line);
    hf_dial_break(&pg->dial, why);
}

/* ---- Reading and sending -------------------------------------------------------- */

/* Has TLS read more already?  epoll would not report it. */
static bool has_more(PGconn *conn)
{
    SSL *ssl = PQsslStruct(conn, "OpenSSL");

    return ssl != NULL && HF_HAS(SSL_pending) && SSL_pending(ssl) > 0;
}

static void read_more(struct hf_dial *dial)
{
    struct hf_pg *pg = (struct hf_pg *)dial->store;

    assert(dial->phase >= HF_DIAL_GREETING);
    dial->more = false;
    for (int i = 0; i == 0 || (i < PIECES && dial->more); i++) {
        if (!PQconsumeInput(pg->link.conn)) {
            hung_up(pg);
            return;
        }
        if (!hf_pg_calls_take(pg))
            return;
        dial->more = has_more(pg->link.conn);
    }
}

void hf_pg_link_flush(struct hf_pg *pg)
{
    if (pg->dial.phase < HF_DIAL_GREETING || !hf_pg_calls_send(pg))
        return;
    assert(pg->link.conn != NULL);
    int rest = PQflush(pg->link.conn);
    if (rest < 0)
        hung_up(pg);
    else if (!hf_pg_socket_poll(pg, rest > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN))
        hf_dial_break(&pg->dial, "cannot be watched: out of memory");
}

/* ---- Init and finish ------------------------------------------------------------ */

static const struct hf_dial_ops ops = {
    .kind = "PostgreSQL",
    .is_link = true,
    .loyal = true,
    .may_begin = cancel_is_over,
    .find = find_postgres_server,
    .connect = hf_pg_connect,
    .step = hf_pg_connect_step,
    .greet = greet_postgres,
    .read = read_more,
    .over = postgres_link_over,
    .patience = postgres_patience,
    .pause_most = postgres_pause_most,
    .late = say_late_step,
    .show = show_postgres,
};

void hf_pg_link_init(struct hf_pg *pg, uint64_t seed)
{
    pg->link.fd = -1;
    pg->dial = (struct hf_dial){ .ops = &ops,
                                 .store = &pg->served.base,
                                 .now = &pg->remote.now,
                                 .list = pg->config.server,
                                 .servers = pg->config.servers };
    hf_dial_init(&pg->dial, seed);
}

void hf_pg_link_finish(struct hf_pg *pg)
{
    hf_dial_close(&pg->dial);
    hf_pg_cancel_await(pg, hf_now() + CANCEL_WAIT);
    hf_pg_cancel_end(pg);
    assert(pg->link.conn == NULL && pg->link.flight.count == 0);
}
