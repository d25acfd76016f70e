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
#include "common.h"

#include <hiredis/hiredis.h>
#include <string.h>
#include <unistd.h>

static const char *RELEASE =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) "
    "else return 0 end";

static redisContext     *context;
static char              release_sha[41];
static struct hf_client *with_keeper, *without;
static struct hf_lock   *mutex, *other, *in_loop;
static uint64_t          last_token; /* of `mutex` and `other` */

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
    { "ping", ping }, { "bare", bare },   { "mutex", cycle },
    { "loop", loop }, { "eager", eager },
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
    }
    double seconds = (now_us() - start) / 1e6;
    if (once == eager) /* what is on its way is answered before this is */
        cycle();
    printf("%s %zu %.6f %.2f %.2f\n", what, count, seconds, percentile(took, count, 0.5),
           percentile(took, count, 0.99));
    fflush(stdout);
    free(took);
}

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
    char   what[32];
    size_t count;
    long   pause;

    if (argc != 3) {
        fprintf(stderr, "usage: %s SOCKET|PORT URL\n", argv[0]);
        return 2;
    }
    connect_bare(argv[1]);
    with_keeper = open_client(argv[2], 0);
    without = open_client(argv[2], HF_NO_KEEPER);
    must_hf(hf_mutex(with_keeper, "cycle", &mutex), "hf_mutex", with_keeper);
    must_hf(hf_mutex(with_keeper, "cycle", &other), "hf_mutex", with_keeper);
    must_hf(hf_mutex(without, "loop", &in_loop), "hf_mutex", without);
    while (scanf("%31s %zu %ld", what, &count, &pause) == 3)
        run(what, count, pause);
    hf_close(with_keeper);
    hf_close(without);
    redisFree(context);
    return 0;
}
