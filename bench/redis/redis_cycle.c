/* redis_cycle.c - a free lock, beside what the server can do at best; see bench/redis.py.
 *
 *     redis_cycle SOCKET|PORT URL
 *
 * Reads "WHAT COUNT PAUSE" from stdin, does WHAT so many times, sleeping PAUSE
 * microseconds before each, and answers "WHAT COUNT SECONDS P50 P99": the last two in
 * microseconds, of one.  Connections and sessions stay open.
 *
 *     ping    PING and its answer, by hiredis
 *     bare    SET NX PX, and a script that deletes it if it is ours, by hiredis
 *     mutex   hf_acquire, hf_release
 *     loop    the same in a loop of our own, without a thread of the library
 *     eager   as mutex, but the answer to the release is not waited for
 */
#include "bench/cycle.h"

#include <hiredis/hiredis.h>
#include <unistd.h>

static const char *RELEASE =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) "
    "else return 0 end";

static redisContext *context;
static char          release_sha[41];

static void expect(redisReply *reply, int type, const char *what)
{
    if (reply == NULL || reply->type != type) {
        fprintf(stderr, "bench: %s: %s\n", what,
                reply == NULL ? context->errstr : reply->str);
        exit(1);
    }
}

static void ping(void)
{
    redisReply *reply = redisCommand(context, "PING");

    expect(reply, REDIS_REPLY_STATUS, "PING");
    freeReplyObject(reply);
}

/* As the many libraries do it that lock by SET NX. */
static void bare(void)
{
    static unsigned long long number;
    char                      value[33];

    snprintf(value, sizeof value, "%016llx%016lx", ++number * 0x9e3779b97f4a7c15ULL,
             (unsigned long)getpid());
    redisReply *reply = redisCommand(context, "SET bare %s NX PX 30000", value);
    expect(reply, REDIS_REPLY_STATUS, "SET NX PX");
    freeReplyObject(reply);
    reply = redisCommand(context, "EVALSHA %s 1 bare %s", release_sha, value);
    expect(reply, REDIS_REPLY_INTEGER, "EVALSHA");
    must(reply->integer == 1, "release of a bare lock");
    freeReplyObject(reply);
}

static const struct thing things[] = {
    { "ping", ping, NULL }, { "bare", bare, NULL },   { "mutex", cycle, NULL },
    { "loop", loop, NULL }, { "eager", eager, NULL },
};

static void connect_bare(const char *where)
{
    int port = atoi(where);

    context = port > 0 ? redisConnect("127.0.0.1", port) : redisConnectUnix(where);
    must(context != NULL && context->err == 0, "connecting");
    redisReply *reply = redisCommand(context, "SCRIPT LOAD %s", RELEASE);
    expect(reply, REDIS_REPLY_STRING, "SCRIPT LOAD");
    snprintf(release_sha, sizeof release_sha, "%s", reply->str);
    freeReplyObject(reply);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s SOCKET|PORT URL\n", argv[0]);
        return 2;
    }
    connect_bare(argv[1]);
    cycle_serve(argv[2], things, sizeof things / sizeof things[0]);
    redisFree(context);
    return 0;
}
