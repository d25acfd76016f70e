/* postgres_cycle.c - a free lock, beside what the server can do at best; see
 * bench/postgres.py.
 *
 *     postgres_cycle CONNINFO URL
 *
 * Reads "WHAT COUNT PAUSE" from stdin, does WHAT so many times, sleeping PAUSE
 * microseconds before each, and answers "WHAT COUNT SECONDS P50 P99": the last two in
 * microseconds, of one.  Connections and sessions stay open.
 *
 *     select    SELECT 1, by libpq, prepared, as all here: one round trip
 *     updates   two UPDATEs of one row, each committed as the server has it
 *     lazy      the same, the second with synchronous_commit off, as Holdfast's release
 *     advisory  pg_advisory_lock, pg_advisory_unlock: nothing is written
 *     notify    NOTIFY by one connection until another that LISTENs has it
 *     mutex     hf_acquire, hf_release
 *     loop      the same in a loop of our own, without a thread of the library
 *     eager     as mutex, but the answer to the release is not waited for
 */
#include "bench/cycle.h"

#include <libpq-fe.h>

static PGconn *plain, *off, *listener; /* `off`: synchronous_commit */

/* ---- By libpq --------------------------------------------------------------------- */

static void expect(PGconn *conn, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        fprintf(stderr, "bench: %s", PQerrorMessage(conn));
        exit(1);
    }
    PQclear(result);
}

static void call(PGconn *conn, const char *name)
{
    expect(conn, PQexecPrepared(conn, name, 0, NULL, NULL, NULL, 0));
}

static PGconn *connect_to(const char *conninfo, const char *first)
{
    static const char *const prepared[][2] = {
        { "select", "SELECT 1" },
        { "update", "UPDATE bench SET n = n + 1" },
        { "lock", "SELECT pg_advisory_lock(1)" },
        { "unlock", "SELECT pg_advisory_unlock(1)" },
        { "notify", "SELECT pg_notify('bench', 'g 1 -1 1700000000000000')" },
    };
    PGconn *conn = PQconnectdb(conninfo);

    must(PQstatus(conn) == CONNECTION_OK, PQerrorMessage(conn));
    expect(conn, PQexec(conn, first));
    for (size_t i = 0; i < sizeof prepared / sizeof prepared[0]; i++)
        expect(conn, PQprepare(conn, prepared[i][0], prepared[i][1], 0, NULL));
    return conn;
}

static void select_one(void)
{
    call(plain, "select");
}

static void updates(void)
{
    call(plain, "update");
    call(plain, "update");
}

static void lazy(void)
{
    call(plain, "update");
    call(off, "update");
}

static void advisory(void)
{
    call(plain, "lock");
    call(plain, "unlock");
}

static void notify(void)
{
    struct pollfd waits = { .fd = PQsocket(listener), .events = POLLIN };
    PGnotify     *told;

    must(PQsendQueryPrepared(plain, "notify", 0, NULL, NULL, NULL, 0), "sending");
    while ((told = PQnotifies(listener)) == NULL) {
        must(poll(&waits, 1, PATIENCE_MS) == 1, "being told");
        must(PQconsumeInput(listener), "reading");
    }
    PQfreemem(told);
}

/* What NOTIFY is answered: the one who is told does not wait for it. */
static void read_answers(void)
{
    for (PGresult *result; (result = PQgetResult(plain)) != NULL;)
        expect(plain, result);
}

static const struct thing things[] = {
    { "select", select_one, NULL },
    { "updates", updates, NULL },
    { "lazy", lazy, NULL },
    { "advisory", advisory, NULL },
    { "notify", notify, read_answers },
    { "mutex", cycle, NULL },
    { "loop", loop, NULL },
    { "eager", eager, NULL },
};

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s CONNINFO URL\n", argv[0]);
        return 2;
    }
    plain = connect_to(argv[1], "SELECT 1");
    off = connect_to(argv[1], "SET synchronous_commit = off");
    listener = connect_to(argv[1], "LISTEN bench");
    cycle_serve(argv[2], things, sizeof things / sizeof things[0]);
    PQfinish(plain);
    PQfinish(off);
    PQfinish(listener);
    return 0;
}
