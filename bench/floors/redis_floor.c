/* redis_floor.c - what a Redis server can do at best, by hiredis.
 *
 *     redis_floor SOCKET|HOST:PORT FILE bare|ping
 *
 *     bare    SET NX PX, and a script that deletes it if it is ours: the lock most have
 *     ping    PING and its answer
 */
#include "bench/common.h"
#include "bench/scene.h"

#include <hiredis/hiredis.h>
#include <string.h>

#define SECRET 33

struct owner {
    redisContext      *context;
    unsigned long long number; /* of its turn */
    char               key[32], value[SECRET], sha[41];
};

static const char *address;

static const char *RELEASE =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) "
    "else return 0 end";

/* Yours, of this type. */
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

static const struct way bare_way = { join, take_bare, give_bare, leave, NULL };
static const struct way ping_way = { join, ping, nothing, leave, NULL };

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s SOCKET|HOST:PORT FILE bare|ping\n", argv[0]);
        return 2;
    }
    address = argv[1];
    return scene_main(strcmp(argv[3], "ping") == 0 ? &ping_way : &bare_way, argv[2]);
}
