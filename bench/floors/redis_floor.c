/* redis_floor.c - the best that a Redis server can do, by hiredis.
 *
 *     redis_floor SOCKET|HOST:PORT FILE bare|ping|ring
 *
 *     bare    SET NX PX, and a script that deletes the key if it is ours: the usual lock
 *     ping    PING and its answer
 *     ring    S3 only: each client waits in BLPOP on its own list, and RPUSHes to the next one's
 */
#include "bench/common.h"
#include "bench/scene.h"

#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define SECRET 33
#define MOST   64 /* of a ring */

struct owner {
    redisContext      *context;
    unsigned long long number; /* of its turn */
    char               key[32], value[SECRET], sha[41];
};

static const char *address;

static const char *RELEASE =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) "
    "else return 0 end";

/* A reply of this type; the caller frees it. */
static redisReply *expect(redisReply *reply, int type, const struct owner *o,
                          const char *what)
{
    if (reply == NULL || reply->type != type) {
        fprintf(stderr, "bench: %s: %s\n", what,
                reply == NULL ? o->context->errstr : reply->str);
        exit(1);
    }
    return reply;
}

static struct owner *connect_to(void)
{
    struct owner *o = calloc(1, sizeof *o);
    const char   *colon = strrchr(address, ':');

    must(o != NULL, "calloc");
    o->context = colon != NULL ? redisConnect("127.0.0.1", atoi(colon + 1))
                               : redisConnectUnix(address);
    must(o->context != NULL && o->context->err == 0, "connecting");
    redisReply *reply = expect(redisCommand(o->context, "SCRIPT LOAD %s", RELEASE),
                               REDIS_REPLY_STRING, o, "SCRIPT LOAD");
    snprintf(o->sha, sizeof o->sha, "%s", reply->str);
    freeReplyObject(reply);
    return o;
}

static void *join(const struct seat *seat)
{
    static struct owner *owners[SCENE_SESSIONS];

    must(seat->session < SCENE_SESSIONS, "so many sessions");
    if (owners[seat->session] == NULL)
        owners[seat->session] = connect_to();
    struct owner *o = owners[seat->session];
    snprintf(o->key, sizeof o->key, "%s", seat->lock);
    return o;
}

static void take_bare(void *me, bool write)
{
    struct owner *o = me;

    (void)write;
    o->number++;
    snprintf(o->value, sizeof o->value, "%016llx%016llx",
             o->number * 0x9e3779b97f4a7c15ULL, o->number);
    freeReplyObject(
        expect(redisCommand(o->context, "SET %s %s NX PX 30000", o->key, o->value),
               REDIS_REPLY_STATUS, o, "SET NX PX"));
}

static void give_bare(void *me, bool write)
{
    struct owner *o = me;

    (void)write;
    redisReply *reply =
        expect(redisCommand(o->context, "EVALSHA %s 1 %s %s", o->sha, o->key, o->value),
               REDIS_REPLY_INTEGER, o, "EVALSHA");
    must(reply->integer == 1, "release of a bare lock");
    freeReplyObject(reply);
}

static void ping(void *me, bool write)
{
    struct owner *o = me;

    (void)write;
    freeReplyObject(
        expect(redisCommand(o->context, "PING"), REDIS_REPLY_STATUS, o, "PING"));
}

static void nothing(void *me, bool write)
{
    (void)me;
    (void)write;
}

static void leave(void *me)
{
    (void)me;
}

/* ---- A ring ------------------------------------------------------------------------------- */

struct member {
    struct owner  *owner;
    struct member *next;
    pthread_t      thread;
    unsigned long  count;
};

/* Only the client whose turn it is uses these. */
static double     given, end, hold_us;
static atomic_int having; /* how many have their turn: must be one */

static void push(struct owner *by, const char *list)
{
    freeReplyObject(expect(redisCommand(by->context, "RPUSH %s x", list),
                           REDIS_REPLY_INTEGER, by, "RPUSH"));
}

/* Ends only in its turn, or the next clients would wait for ever. */
static void *take_turns(void *data)
{
    struct member *m = data;

    for (bool over = false; !over; m->count++) {
        freeReplyObject(
            expect(redisCommand(m->owner->context, "BLPOP %s 0", m->owner->key),
                   REDIS_REPLY_ARRAY, m->owner, "BLPOP"));
        must(atomic_fetch_add(&having, 1) == 0, "one turn at a time");
        scene_took(now_us() - given);
        pause_us((long)hold_us);
        given = now_us();
        over = given >= end;
        atomic_fetch_sub(&having, 1);
        push(m->owner, m->next->owner->key);
    }
    return NULL;
}

static unsigned long play_ring(const struct scene *scene, double size, double *seconds)
{
    struct member members[MOST] = { 0 };
    unsigned long count = 0;

    must(scene->count <= MOST, "so many");
    hold_us = scene->hold_us;
    for (size_t i = 0; i < scene->count; i++) {
        struct seat seat = { .session = i };
        snprintf(seat.lock, sizeof seat.lock, "ring-%d-%zu", (int)getpid(), i);
        members[i].owner = join(&seat);
        members[i].next = &members[(i + 1) % scene->count];
    }
    double begin = given = now_us();
    end = begin + size * 1e6;
    for (size_t i = 0; i < scene->count; i++)
        must(pthread_create(&members[i].thread, NULL, take_turns, &members[i]) == 0,
             "a thread");
    struct owner *starter = connect_to();
    push(starter, members[0].owner->key);
    for (size_t i = 0; i < scene->count; i++) {
        pthread_join(members[i].thread, NULL);
        count += members[i].count;
    }
    *seconds = (given - begin) / 1e6;
    for (size_t i = 0; i < scene->count;
         i++) /* the last push was to a client that had ended */
        freeReplyObject(
            expect(redisCommand(starter->context, "DEL %s", members[i].owner->key),
                   REDIS_REPLY_INTEGER, starter, "DEL"));
    redisFree(starter->context);
    free(starter);
    return count;
}

static const struct {
    const char *name;
    struct way  way;
} ways[] = {
    { "bare", { join, take_bare, give_bare, leave, NULL, true } },
    { "ping", { join, ping, nothing, leave, NULL, true } },
    { "ring", { .special = play_ring } },
};

int main(int argc, char **argv)
{
    size_t i = 0, count = sizeof ways / sizeof ways[0];

    while (argc == 4 && i < count && strcmp(argv[3], ways[i].name) != 0)
        i++;
    if (argc != 4 || i == count) {
        fprintf(stderr, "usage: %s SOCKET|HOST:PORT FILE bare|ping|ring\n", argv[0]);
        return 2;
    }
    address = argv[1];
    return scene_main(&ways[i].way, argv[2]);
}
