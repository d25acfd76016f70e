/* mariadb_floor.c - the best that a MariaDB server can do, by libmariadb.
 *
 *     mariadb_floor USER:PASSWORD@HOST:PORT/DATABASE FILE updates|getlock|select
 *
 *     updates   two UPDATEs of one row, each committed with the server's settings
 *     getlock   GET_LOCK, RELEASE_LOCK, which write nothing and have no readers
 *     select    SELECT 1: one round trip
 *
 * The library comes with the server; its headers would be one package more, for six
 * functions that have not changed in twenty years.
 */
#include "bench/common.h"
#include "bench/scene.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#define LIBRARY "libmariadb.so.3"

static struct {
    void *(*init)(void *);
    void *(*connect)(void *, const char *host, const char *user, const char *password,
                     const char *database, unsigned port, const char *socket,
                     unsigned long flags);
    int (*query)(void *, const char *);
    void *(*store_result)(void *);
    char **(*fetch_row)(void *);
    void (*free_result)(void *);
    const char *(*error)(void *);
} mysql;

static struct {
    char     user[64], password[64], host[64], database[64];
    unsigned port;
} server;

struct link {
    void *plain;
    char  get[128], release[128];
};

static void load(void)
{
    static const struct {
        const char *name;
        void       *function;
    } wanted[] = {
        { "mysql_init", &mysql.init },
        { "mysql_real_connect", &mysql.connect },
        { "mysql_query", &mysql.query },
        { "mysql_store_result", &mysql.store_result },
        { "mysql_fetch_row", &mysql.fetch_row },
        { "mysql_free_result", &mysql.free_result },
        { "mysql_error", &mysql.error },
    };
    void *library = dlopen(LIBRARY, RTLD_NOW);

    must(library != NULL, "loading " LIBRARY);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *found = dlsym(library, wanted[i].name);
        must(found != NULL, wanted[i].name);
        memcpy(wanted[i].function, &found, sizeof found);
    }
}

static void *join(const struct seat *seat)
{
    static struct link links[SCENE_SESSIONS];

    must(seat->session < SCENE_SESSIONS, "so many sessions");
    struct link *l = &links[seat->session];
    if (l->plain == NULL) {
        l->plain = mysql.init(NULL);
        must(l->plain != NULL &&
                 mysql.connect(l->plain, server.host, server.user, server.password,
                               server.database, server.port, NULL, 0) != NULL,
             "connecting");
    }
    snprintf(l->get, sizeof l->get, "SELECT GET_LOCK('%s', %d)", seat->lock,
             PATIENCE_MS / 1000);
    snprintf(l->release, sizeof l->release, "SELECT RELEASE_LOCK('%s')", seat->lock);
    return l;
}

static void leave(void *me)
{
    (void)me;
}

/* Without a result, or with a row that has a 1. */
static void call(struct link *l, const char *sql)
{
    if (mysql.query(l->plain, sql) != 0) {
        fprintf(stderr, "bench: %s: %s\n", sql, mysql.error(l->plain));
        exit(1);
    }
    void *result = mysql.store_result(l->plain);
    if (result == NULL)
        return;
    char **row = mysql.fetch_row(result);
    must(row != NULL && row[0] != NULL && strcmp(row[0], "1") == 0, sql);
    mysql.free_result(result);
}

static void update(void *me, bool write)
{
    (void)write;
    call(me, "UPDATE bench SET n = n + 1");
}

static void select_one(void *me, bool write)
{
    (void)write;
    call(me, "SELECT 1");
}

static void nothing(void *me, bool write)
{
    (void)me;
    (void)write;
}

static void lock(void *me, bool write)
{
    must(write, "GET_LOCK for a reader");
    call(me, ((struct link *)me)->get);
}

static void unlock(void *me, bool write)
{
    (void)write;
    call(me, ((struct link *)me)->release);
}

static const struct {
    const char *name;
    struct way  way;
} ways[] = {
    { "updates", { join, update, update, leave, NULL, true } },
    { "getlock", { join, lock, unlock, leave, NULL, true } },
    { "select", { join, select_one, nothing, leave, NULL, true } },
};

int main(int argc, char **argv)
{
    size_t i = 0, count = sizeof ways / sizeof ways[0];

    while (argc == 4 && i < count && strcmp(argv[3], ways[i].name) != 0)
        i++;
    if (argc != 4 || i == count ||
        sscanf(argv[1], "%63[^:]:%63[^@]@%63[^:]:%u/%63s", server.user, server.password,
               server.host, &server.port, server.database) != 5) {
        fprintf(stderr, "usage: %s USER:PASSWORD@HOST:PORT/DATABASE FILE WHAT\n",
                argv[0]);
        return 2;
    }
    load();
    return scene_main(&ways[i].way, argv[2]);
}
