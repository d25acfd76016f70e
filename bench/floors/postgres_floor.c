/* postgres_floor.c - the best that a PostgreSQL server can do, by libpq with prepared statements.
 *
 *     postgres_floor CONNINFO FILE updates|lazy|advisory|select|notify
 *
 *     updates   two UPDATEs of one row, each committed with the server's settings
 *     lazy      the same, the second with synchronous_commit off, like Holdfast's release
 *     advisory  pg_advisory_lock, pg_advisory_unlock, which write nothing; readers share it
 *     select    SELECT 1: one round trip
 *     notify    S3:N only: from a NOTIFY until another connection has it, while N LISTEN
 */
#include "bench/common.h"
#include "bench/scene.h"

#include <libpq-fe.h>
#include <string.h>

#define LISTENERS 64

struct link {
    PGconn *plain, *off; /* `off`: synchronous_commit */
    char    key[24];
};

static const char *conninfo;

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

static PGconn *connect_to(const char *first)
{
    static const char *const prepared[][2] = {
        { "select", "SELECT 1" },
        { "update", "UPDATE bench SET n = n + 1" },
        { "notify", "SELECT pg_notify('bench', 'g 1 -1 1700000000000000')" },
        { "lock", "SELECT pg_advisory_lock($1)" },
        { "share", "SELECT pg_advisory_lock_shared($1)" },
        { "unlock", "SELECT pg_advisory_unlock($1)" },
        { "unshare", "SELECT pg_advisory_unlock_shared($1)" },
    };
    PGconn *conn = PQconnectdb(conninfo);

    must(PQstatus(conn) == CONNECTION_OK, PQerrorMessage(conn));
    expect(conn, PQexec(conn, first));
    for (size_t i = 0; i < sizeof prepared / sizeof prepared[0]; i++)
        expect(conn, PQprepare(conn, prepared[i][0], prepared[i][1], 0, NULL));
    return conn;
}

static void *join(const struct seat *seat)
{
    static struct link links[SCENE_SESSIONS];

    must(seat->session < SCENE_SESSIONS, "so many sessions");
    struct link *l = &links[seat->session];
    if (l->plain == NULL)
        l->plain = connect_to("SELECT 1");
    uint64_t hash = 14695981039346656037ULL; /* a hash of the name */
    for (const char *c = seat->lock; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211ULL;
    snprintf(l->key, sizeof l->key, "%llu", (unsigned long long)(hash >> 1));
    return l;
}

static void leave(void *me)
{
    (void)me;
}

static void update(void *me, bool write)
{
    (void)write;
    call(((struct link *)me)->plain, "update");
}

static void update_lazily(void *me, bool write)
{
    struct link *l = me;

    (void)write;
    if (l->off == NULL)
        l->off = connect_to("SET synchronous_commit = off");
    call(l->off, "update");
}

static void select_one(void *me, bool write)
{
    (void)write;
    call(((struct link *)me)->plain, "select");
}

static void nothing(void *me, bool write)
{
    (void)me;
    (void)write;
}

static void with_key(struct link *l, const char *name)
{
    const char *values[] = { l->key };

    expect(l->plain, PQexecPrepared(l->plain, name, 1, values, NULL, NULL, 0));
}

static void lock(void *me, bool write)
{
    with_key(me, write ? "lock" : "share");
}

static void unlock(void *me, bool write)
{
    with_key(me, write ? "unlock" : "unshare");
}

/* ---- NOTIFY ----------------------------------------------------------------------------- */

static void hear(PGconn *listener)
{
    struct pollfd waits = { .fd = PQsocket(listener), .events = POLLIN };
    PGnotify     *told;

    while ((told = PQnotifies(listener)) == NULL) {
        must(poll(&waits, 1, PATIENCE_MS) == 1, "being told");
        must(PQconsumeInput(listener), "reading");
    }
    PQfreemem(told);
}

/* LISTEN or UNLISTEN on all connections. */
static void tell_all(PGconn **listeners, size_t count, const char *sql)
{
    for (size_t i = 0; i < count; i++) {
        if (listeners[i] == NULL)
            listeners[i] = connect_to("SELECT 1");
        expect(listeners[i], PQexec(listeners[i], sql));
    }
}

/* Waits for each listener in turn; the others get the notification, too. */
static unsigned long notify(const struct scene *scene, double seconds, double *ret)
{
    static PGconn *sender, *listeners[LISTENERS];
    unsigned long  count = 0;
    double         total = 0;

    must(scene->count <= LISTENERS, "so many listeners");
    if (sender == NULL)
        sender = connect_to("SELECT 1");
    tell_all(listeners, scene->count, "LISTEN bench");
    for (double end = now_us() + seconds * 1e6; count == 0 || now_us() < end; count++) {
        size_t turn = count % scene->count;
        double begin = now_us();
        must(PQsendQueryPrepared(sender, "notify", 0, NULL, NULL, NULL, 0), "sending");
        hear(listeners[turn]);
        scene_took(now_us() - begin);
        total += now_us() - begin;
        for (PGresult *result; (result = PQgetResult(sender)) != NULL;)
            expect(sender, result);
        for (size_t i = 0; i < scene->count; i++)
            if (i != turn)
                hear(listeners[i]);
    }
    tell_all(listeners, scene->count, "UNLISTEN bench");
    *ret = total / 1e6;
    return count;
}

static const struct {
    const char *name;
    struct way  way;
} ways[] = {
    { "updates", { join, update, update, leave, NULL, true } },
    { "lazy", { join, update, update_lazily, leave, NULL, true } },
    { "advisory", { join, lock, unlock, leave, NULL, true } },
    { "select", { join, select_one, nothing, leave, NULL, true } },
    { "notify", { .special = notify } },
};

int main(int argc, char **argv)
{
    size_t i = 0, count = sizeof ways / sizeof ways[0];

    while (argc == 4 && i < count && strcmp(argv[3], ways[i].name) != 0)
        i++;
    if (argc != 4 || i == count) {
        fprintf(stderr, "usage: %s CONNINFO FILE WHAT\n", argv[0]);
        return 2;
    }
    conninfo = argv[1];
    return scene_main(&ways[i].way, argv[2]);
}
