/* sqlite_floor.c - the best that SQLite and the kernel can do with a file.
 *
 *     sqlite_floor FOLDER FILE writes|flock
 *
 *     writes  two bare transactions that write one row each, with Holdfast's settings; threads
 *             share a connection, under a mutex
 *     flock   flock(2) on a file; the kernel wakes any waiter
 */
#include "bench/common.h"
#include "bench/scene.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const char *folder;

/* ---- Two writes ------------------------------------------------------------------------ */

struct writer {
    sqlite3        *db;
    sqlite3_stmt   *begin, *write, *commit;
    pthread_mutex_t mutex;
};

static sqlite3_stmt *prepared(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;

    must(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, sql);
    return stmt;
}

static void *join_writes(const struct seat *seat)
{
    static struct writer writer = { .mutex = PTHREAD_MUTEX_INITIALIZER };
    struct writer       *w = &writer;
    char                 path[256];

    (void)seat;
    if (w->db != NULL)
        return w;
    snprintf(path, sizeof path, "%s/floor.db", folder);
    must(sqlite3_open(path, &w->db) == SQLITE_OK, "sqlite3_open");
    must(sqlite3_exec(w->db,
                      "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                      "CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, n INTEGER);"
                      "INSERT OR IGNORE INTO t VALUES(1, 0);",
                      NULL, NULL, NULL) == SQLITE_OK,
         "schema");
    w->begin = prepared(w->db, "BEGIN IMMEDIATE");
    w->write = prepared(w->db, "UPDATE t SET n = n + 1 WHERE id = 1");
    w->commit = prepared(w->db, "COMMIT");
    return w;
}

static void step(sqlite3_stmt *stmt)
{
    must(sqlite3_step(stmt) == SQLITE_DONE, "step");
    sqlite3_reset(stmt);
}

static void write_row(void *me, bool write)
{
    struct writer *w = me;

    (void)write;
    pthread_mutex_lock(&w->mutex);
    step(w->begin);
    step(w->write);
    step(w->commit);
    pthread_mutex_unlock(&w->mutex);
}

static void leave_writes(void *me)
{
    (void)me;
}

/* ---- flock ----------------------------------------------------------------------------- */

static void *join_flock(const struct seat *seat)
{
    int *fd = malloc(sizeof *fd);
    char path[256];

    must(fd != NULL, "malloc");
    snprintf(path, sizeof path, "%s/%s.lock", folder, seat->lock);
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    must(*fd >= 0, "open");
    return fd;
}

static void take_flock(void *me, bool write)
{
    must(flock(*(int *)me, write ? LOCK_EX : LOCK_SH) == 0, "flock");
}

static void give_flock(void *me, bool write)
{
    (void)write;
    must(flock(*(int *)me, LOCK_UN) == 0, "flock");
}

static void leave_flock(void *me)
{
    close(*(int *)me);
    free(me);
}

static const struct way writes = {
    .join = join_writes, .take = write_row, .give = write_row, .leave = leave_writes
};
static const struct way by_flock = {
    .join = join_flock, .take = take_flock, .give = give_flock, .leave = leave_flock
};

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s FOLDER FILE writes|flock\n", argv[0]);
        return 2;
    }
    folder = argv[1];
    return scene_main(strcmp(argv[3], "flock") == 0 ? &by_flock : &writes, argv[2]);
}
