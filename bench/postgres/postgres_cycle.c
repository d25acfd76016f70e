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
#include "bench/redis/common.h"

#include <libpq-fe.h>
#include <string.h>

static PGconn           *plain, *off, *listener; /* `off`: synchronous_commit */
static struct hf_client *with_keeper, *without;
static struct hf_lock   *mutex, *other, *in_loop;
static uint64_t          last_token; /* of `mutex` and `other` */

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

/* ---- By Holdfast ------------------------------------------------------------------- */

static void check_token(struct hf_lock *lock)
{
    must(hf_token(lock) > last_token, "ascending token");
    last_token = hf_token(lock);
}

static void cycle(void)
{
    must_hf(hf_acquire(mutex, PATIENCE_MS), "hf_acquire", with_keeper);
    check_token(mutex);
    must_hf(hf_release(mutex), "hf_release", with_keeper);
}

/* The other handle is free again when its turn comes. */
static void eager(void)
{
    static unsigned long count;
    struct hf_lock      *lock = count++ % 2 ? mutex : other;

    must_hf(hf_acquire(lock, PATIENCE_MS), "hf_acquire", with_keeper);
    check_token(lock);
    must_hf(hf_release_start(lock), "hf_release_start", with_keeper);
}

static void loop(void)
{
    must_hf(hf_acquire_start(in_loop, PATIENCE_MS), "hf_acquire_start", without);
    while (hf_state(in_loop) == HF_WAITING)
        turn_loop(without);
    must(hf_state(in_loop) == HF_HELD, "acquire by a loop");
    must_hf(hf_release_start(in_loop), "hf_release_start", without);
    while (hf_state(in_loop) == HF_LEAVING)
        turn_loop(without);
    must(hf_state(in_loop) == HF_IDLE, "release by a loop");
}

static const struct {
    const char *name;
    void (*once)(void);
} things[] = {
    { "select", select_one }, { "updates", updates }, { "lazy", lazy },
    { "advisory", advisory }, { "notify", notify },   { "mutex", cycle },
    { "loop", loop },         { "eager", eager },
};

static void run(const char *what, size_t count, long pause)
{
    void (*once)(void) = NULL;
    double *took = calloc(count + 1, sizeof *took);

    must(took != NULL, "calloc");
    for (size_t i = 0; i < sizeof things / sizeof things[0]; i++)
        if (strcmp(what, things[i].name) == 0)
            once = things[i].once;
    must(once != NULL, what);
    double start = now_us();
    for (size_t i = 0; i < count; i++) {
        pause_us(pause);
        double begin = now_us();
        once();
        took[i] = now_us() - begin;
        read_answers();
    }
    double seconds = (now_us() - start) / 1e6;
    if (once == eager) /* what is on its way is answered before this is */
        cycle();
    printf("%s %zu %.6f %.2f %.2f\n", what, count, seconds, percentile(took, count, 0.5),
           percentile(took, count, 0.99));
    fflush(stdout);
    free(took);
}

int main(int argc, char **argv)
{
    char   what[32];
    size_t count;
    long   pause;

    if (argc != 3) {
        fprintf(stderr, "usage: %s CONNINFO URL\n", argv[0]);
        return 2;
    }
    plain = connect_to(argv[1], "SELECT 1");
    off = connect_to(argv[1], "SET synchronous_commit = off");
    listener = connect_to(argv[1], "LISTEN bench");
    with_keeper = open_client(argv[2], 0);
    without = open_client(argv[2], HF_NO_KEEPER);
    must_hf(hf_mutex(with_keeper, "cycle", &mutex), "hf_mutex", with_keeper);
    must_hf(hf_mutex(with_keeper, "cycle", &other), "hf_mutex", with_keeper);
    must_hf(hf_mutex(without, "loop", &in_loop), "hf_mutex", without);
    while (scanf("%31s %zu %ld", what, &count, &pause) == 3)
        run(what, count, pause);
    hf_close(with_keeper);
    hf_close(without);
    PQfinish(plain);
    PQfinish(off);
    PQfinish(listener);
    return 0;
}
