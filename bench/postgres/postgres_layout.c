/* layout.c - two ways to keep a line in a database, by SQL alone; see bench/postgres.py.
 *
 *     layout CONNINFO SCHEMA
 *
 * SCHEMA: holdfast, or one_row (one_row.sql).  Says the process that serves it, then
 * reads from stdin, and answers each by "COUNT SECONDS P50 P99", the last two in
 * microseconds:
 *
 *     free COUNT             enter and leave an empty line
 *     turns PROCESSES COUNT  so many take turns, COUNT each: P50 from the call of leave
 *                            until the message is there for the next, who waits
 *     line WAITERS COUNT     enter and leave at the end of a line of so many
 *     pass WAITERS COUNT     leave at the head of such a line and enter at its end
 */
#include "bench/common.h"

#include <libpq-fe.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURNS 100000 /* of all together */

struct shared {
    atomic_int  ready;
    atomic_bool go;

    /* Under the lock; atomics would hide it if the lock let two in. */
    volatile unsigned long count;
    volatile double        released;
    volatile unsigned long hands;
    double                 took[TURNS];
};

struct link {
    PGconn *conn;
    char    sid[17];
};

static const char    *conninfo, *schema;
static struct shared *shared;
static long           next_id = 1;

static PGresult *expect(PGconn *conn, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        fprintf(stderr, "bench: %s", PQerrorMessage(conn));
        exit(1);
    }
    return result;
}

static void run(PGconn *conn, const char *sql)
{
    PQclear(expect(conn, PQexec(conn, sql)));
}

static void prepare(PGconn *conn, const char *name, const char *arguments)
{
    char text[160];

    snprintf(text, sizeof text, "SELECT * FROM %s.%s(%s)", schema, name, arguments);
    PQclear(expect(conn, PQprepare(conn, name, text, 0, NULL)));
}

static struct link connect_as(const char *sid)
{
    struct link ret = { .conn = PQconnectdb(conninfo) };
    char        sql[160];

    must(PQstatus(ret.conn) == CONNECTION_OK, "connecting");
    snprintf(ret.sid, sizeof ret.sid, "%s", sid);
    snprintf(sql, sizeof sql, "SELECT %s.open('%s')", schema, sid);
    run(ret.conn, sql);
    snprintf(sql, sizeof sql, "LISTEN \"hf_%s\"", sid);
    run(ret.conn, sql);
    prepare(ret.conn, "enter", "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10");
    prepare(ret.conn, "leave", "$1, $2, $3, $4");
    return ret;
}

static void disconnect(struct link *link)
{
    PQfinish(link->conn);
}

/* True: granted at once. */
static bool enter(struct link *link, const char *name, long id)
{
    char        number[24];
    const char *values[] = {
        link->sid, "1", number, name, "1",
        "1",       "f", "f",    "0",  "host\tuser\t1234\tcommand\t"
    };

    snprintf(number, sizeof number, "%ld", id);
    PGresult *result = expect(link->conn, PQexecPrepared(link->conn, "enter", 10, values,
                                                         NULL, NULL, 0));
    must(strcmp(PQgetvalue(result, 0, 0), "0") == 0, "enter");
    bool ret = PQgetvalue(result, 0, 1)[0] == 'g';
    PQclear(result);
    return ret;
}

static void leave(struct link *link, const char *name, long id)
{
    char        number[24];
    const char *values[] = { link->sid, "1", number, name };

    snprintf(number, sizeof number, "%ld", id);
    PGresult *result =
        expect(link->conn, PQexecPrepared(link->conn, "leave", 4, values, NULL, NULL, 0));
    must(strcmp(PQgetvalue(result, 0, 0), "0") == 0, "leave");
    must(PQgetvalue(result, 0, 1)[0] == 'f', "leave what is ours");
    PQclear(result);
}

static void await_message(PGconn *conn, long id)
{
    struct pollfd waits = { .fd = PQsocket(conn), .events = POLLIN };

    for (;;) {
        PGnotify *told = PQnotifies(conn);
        if (told != NULL) {
            bool ours = strncmp(told->extra, "g ", 2) == 0 && atol(told->extra + 2) == id;
            PQfreemem(told);
            if (ours)
                return;
            continue;
        }
        must(poll(&waits, 1, PATIENCE_MS) == 1, "being told in time");
        must(PQconsumeInput(conn) == 1, "reading");
    }
}

static void report(double seconds, double *took, size_t count)
{
    printf("%zu %.6f %.2f %.2f\n", count, seconds, percentile(took, count, 0.5),
           percentile(took, count, 0.99));
    fflush(stdout);
}

static void do_free(struct link *link, size_t count, double *took)
{
    double start = now_us();

    for (size_t i = 0; i < count; i++) {
        double begin = now_us();
        long   id = next_id++;
        must(enter(link, "free", id), "a free line");
        leave(link, "free", id);
        took[i] = now_us() - begin;
    }
    report((now_us() - start) / 1e6, took, count);
}

/* ---- Turns --------------------------------------------------------------------- */

static void take_turn(struct link *link, long id)
{
    double since = now_us();

    if (!enter(link, "turns", id))
        await_message(link->conn, id);
    unsigned long count = shared->count;
    if (shared->released > since)
        shared->took[shared->hands++] = now_us() - shared->released;
    shared->count = count + 1;
    shared->released = now_us();
    leave(link, "turns", id);
}

static void process(int number, size_t count)
{
    char sid[17];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(sid, sizeof sid, "%08x%08x", (unsigned)getpid(), (unsigned)number);
    struct link link = connect_as(sid);
    atomic_fetch_add(&shared->ready, 1);
    while (!atomic_load(&shared->go))
        pause_us(500);
    for (size_t i = 0; i < count; i++)
        take_turn(&link, (long)i + 1);
    disconnect(&link);
    _exit(0);
}

static void do_turns(int processes, size_t count)
{
    int status;

    must((size_t)processes * count <= TURNS, "so many turns");
    memset(shared, 0, sizeof *shared);
    for (int i = 0; i < processes; i++)
        if (fork() == 0)
            process(i, count);
    while (atomic_load(&shared->ready) < processes)
        pause_us(500);
    double start = now_us();
    atomic_store(&shared->go, true);
    for (int i = 0; i < processes; i++)
        must(wait(&status) > 0 && status == 0, "a process");
    must(shared->count == (unsigned long)processes * count, "exclusion");
    double seconds = (shared->released - start) / 1e6;
    printf("%zu %.6f %.2f %.2f\n", (size_t)processes * count, seconds,
           percentile(shared->took, shared->hands, 0.5),
           percentile(shared->took, shared->hands, 0.99));
    fflush(stdout);
}

/* ---- A long line ----------------------------------------------------------------- */

/* Each waiter is a session of its own, as it would be, but all use one connection. */
static void fill(struct link *link, const char *name, long waiters)
{
    for (long i = 0; i <= waiters; i++)
        enter(link, name, next_id + i);
}

static void drain(struct link *link, const char *name, long first, long count)
{
    for (long i = count - 1; i >= 0; i--) /* those who wait first: none is granted */
        leave(link, name, first + i);
}

static void do_line(struct link *link, long waiters, size_t count, double *took)
{
    long first = next_id;

    fill(link, "line", waiters);
    next_id += waiters + 1;
    double start = now_us();
    for (size_t i = 0; i < count; i++) {
        double begin = now_us();
        long   id = next_id++;
        must(!enter(link, "line", id), "a place at the end");
        leave(link, "line", id);
        took[i] = now_us() - begin;
    }
    double seconds = (now_us() - start) / 1e6;
    drain(link, "line", first, waiters + 1);
    report(seconds, took, count);
}

static void do_pass(struct link *link, long waiters, size_t count, double *took)
{
    long head = next_id;

    fill(link, "pass", waiters);
    next_id += waiters + 1;
    double start = now_us();
    for (size_t i = 0; i < count; i++) {
        double begin = now_us();
        leave(link, "pass", head++);
        await_message(link->conn, head);
        must(!enter(link, "pass", next_id++), "a place at the end");
        took[i] = now_us() - begin;
    }
    double seconds = (now_us() - start) / 1e6;
    drain(link, "pass", head, next_id - head);
    report(seconds, took, count);
}

int main(int argc, char **argv)
{
    char   line[80], what[16], sid[17];
    long   size;
    size_t count;

    if (argc != 3) {
        fprintf(stderr, "usage: %s CONNINFO SCHEMA\n", argv[0]);
        return 2;
    }
    conninfo = argv[1];
    schema = argv[2];
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double *took = calloc(TURNS, sizeof *took);
    must(shared != MAP_FAILED && took != NULL, "memory");
    snprintf(sid, sizeof sid, "%016x", (unsigned)getpid());
    struct link link = connect_as(sid);
    printf("%d\n", PQbackendPID(link.conn));
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        must(sscanf(line, "%15s %ld %zu", what, &size, &count) == 3 && count <= TURNS,
             line);
        if (strcmp(what, "free") == 0)
            do_free(&link, count, took);
        else if (strcmp(what, "turns") == 0)
            do_turns((int)size, count);
        else if (strcmp(what, "line") == 0)
            do_line(&link, size, count, took);
        else
            do_pass(&link, size, count, took);
    }
    disconnect(&link);
    free(took);
    return 0;
}
