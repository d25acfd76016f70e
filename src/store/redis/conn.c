/* conn.c - one connection to a server, and the commands on it.
 *
 * hiredis reads the protocol, write.c writes it, and the socket is ours.  Answers come in
 * the order of the calls.  Whoever takes an answer may close the connection, so after each
 * of them we look whether it is still the same one.
 */
#include "store/redis/inner.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#define PIECE      (16 * 1024)         /* read at once */
#define PIECES     16                  /* of one run: others have their turn, too */
#define ANSWER_MAX (256 * 1024 * 1024) /* of which no end is seen */
#define PARTS_MAX  (4 * 1024 * 1024)   /* of an answer */

static void give_up(struct hf_redis_conn *conn, const char *why)
{
    snprintf(conn->stream.errmsg, sizeof conn->stream.errmsg, "%s", why);
    conn->stream.state = HF_STREAM_BROKEN;
}

/* Tell epoll what to look for. */
static void look(struct hf_redis *redis, struct hf_redis_conn *conn)
{
    struct epoll_event event = { .events = hf_stream_events(&conn->stream) };
    int                op = conn->polled == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

    if (conn->polled == event.events || conn->stream.state == HF_STREAM_BROKEN)
        return;
    epoll_ctl(redis->served.base.fd, op, conn->stream.fd, &event);
    conn->polled = event.events;
}

/* ---- The reader ------------------------------------------------------------------------ */

/* hiredis makes room for as many parts as a server says will come, before any has. */
static redisReplyObjectFunctions functions;
#if HIREDIS_MAJOR >= 1
typedef size_t parts;
#else
typedef int parts;
#endif
static void *(*make_array)(const redisReadTask *, parts);

static void *make_array_of_sense(const redisReadTask *task, parts count)
{
    bool nested = task->parent != NULL; /* none of our answers is */

    return nested || count > PARTS_MAX ? NULL : make_array(task, count);
}

static void learn_functions(void)
{
    struct redisReader *reader = redisReaderCreate();

    if (reader == NULL)
        return;
    functions = *reader->fn;
    make_array = functions.createArray;
    functions.createArray = make_array_of_sense;
    redisReaderFree(reader);
}

static struct redisReader *new_reader(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, learn_functions);
    return make_array != NULL ? redisReaderCreateWithFunctions(&functions) : NULL;
}

/* ---- Both ends ------------------------------------------------------------------------- */

int hf_redis_conn_open(struct hf_redis *redis, struct hf_redis_conn *conn,
                       const struct hf_address *address, const char *host)
{
    assert(!conn->there && conn->first == NULL && conn->polled == 0);
    conn->reader = new_reader();
    if (conn->reader == NULL)
        return HF_ENOMEM;
    conn->reader->maxbuf = PIECE * 4;
    hf_stream_open(&conn->stream, (const struct sockaddr *)&address->at, address->length,
                   redis->tls, host);
    conn->there = true;
    conn->strange = false;
    conn->more = false;
    conn->heard = 0;
    conn->opened++;
    look(redis, conn);
    return 0;
}

static void answer(struct hf_redis *redis, struct hf_redis_call *call,
                   const redisReply *reply)
{
    call->next = NULL;
    call->flying = false;
    if (call->on_reply != NULL)
        call->on_reply(redis, call->data, reply);
}

void hf_redis_conn_close(struct hf_redis *redis, struct hf_redis_conn *conn)
{
    struct hf_redis_call *call = conn->first;

    if (!conn->there)
        return;
    if (conn->polled != 0 && conn->stream.fd >= 0)
        epoll_ctl(redis->served.base.fd, EPOLL_CTL_DEL, conn->stream.fd, NULL);
    conn->polled = 0;
    hf_stream_close(&conn->stream);
    redisReaderFree(conn->reader);
    conn->reader = NULL;
    conn->there = conn->more = false;
    conn->first = conn->last = NULL;
    while (call != NULL) {
        struct hf_redis_call *next = call->next;
        answer(redis, call, NULL);
        call = next;
    }
}

/* ---- Commands ---------------------------------------------------------------------------- */

static void send_command(struct hf_redis_conn *conn, int argc, const char *const *argv,
                         const size_t *length)
{
    size_t size = HF_REDIS_FRAME, count = (size_t)argc;

    for (size_t i = 0; i < count; i++)
        size += HF_REDIS_FRAME + (length != NULL ? length[i] : strlen(argv[i]));
    char *start = hf_stream_append(&conn->stream, size);
    if (start == NULL) {
        give_up(conn, "out of memory");
        return;
    }
    char *at = hf_redis_write_count(start, '*', count);
    for (size_t i = 0; i < count; i++)
        at = hf_redis_write_text(at, argv[i],
                                 length != NULL ? length[i] : strlen(argv[i]));
    conn->stream.used -= size - (size_t)(at - start);
}

static void enlist(struct hf_redis *redis, struct hf_redis_conn *conn,
                   struct hf_redis_call *call, hf_redis_on_reply *on_reply, void *data)
{
    assert(!call->flying);
    *call = (struct hf_redis_call){
        .sent = redis->remote.now, .on_reply = on_reply, .data = data, .flying = true
    };
    if (conn->first == NULL)
        conn->first = call;
    else
        conn->last->next = call;
    conn->last = call;
}

void hf_redis_conn_call(struct hf_redis *redis, struct hf_redis_conn *conn,
                        struct hf_redis_call *call, int argc, const char *const *argv,
                        const size_t *length, hf_redis_on_reply *on_reply, void *data)
{
    assert(conn->there);
    if (call != NULL)
        enlist(redis, conn, call, on_reply, data);
    if (conn->stream.state != HF_STREAM_BROKEN)
        send_command(conn, argc, argv, length);
}

void hf_redis_conn_send(struct hf_redis *redis, struct hf_redis_conn *conn,
                        struct hf_redis_call *call, const struct hf_redis_args *args,
                        hf_redis_on_reply *on_reply, void *data)
{
    char   start[HF_REDIS_FRAME];
    size_t size = (size_t)(hf_redis_write_count(start, '*', args->count) - start);

    assert(conn->there && !args->failed);
    enlist(redis, conn, call, on_reply, data);
    if (conn->stream.state == HF_STREAM_BROKEN)
        return;
    char *room = hf_stream_append(&conn->stream, size + args->used);
    if (room == NULL) {
        give_up(conn, "out of memory");
        return;
    }
    memcpy(room, start, size);
    memcpy(room + size, args->text, args->used);
}

void hf_redis_conn_auth(struct hf_redis *redis, struct hf_redis_conn *conn,
                        struct hf_redis_call *call, hf_redis_on_reply *on_reply,
                        void *data)
{
    const struct hf_redis_config *config = &redis->config;
    const char                   *argv[3] = { "AUTH", config->user, config->password };

    assert(conn->there);
    if (config->password == NULL)
        return;
    if (config->user == NULL)
        argv[1] = config->password;
    enlist(redis, conn, call, on_reply, data);
    if (conn->stream.state != HF_STREAM_BROKEN)
        send_command(conn, config->user == NULL ? 2 : 3, argv, NULL);
}

/* ---- Answers ------------------------------------------------------------------------------- */

/* What nobody asked for: "message", and how "subscribe" and its like are answered. */
static bool is_push(const redisReply *reply)
{
    static const char *const words[] = {
        "message",      "subscribe", "unsubscribe", "pmessage",     "psubscribe",
        "punsubscribe", "smessage",  "ssubscribe",  "sunsubscribe",
    };

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 3 ||
        reply->element[0]->type != REDIS_REPLY_STRING)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(reply->element[0]->str, words[i]) == 0)
            return true;
    return false;
}

static void take(struct hf_redis *redis, struct hf_redis_conn *conn,
                 const redisReply *reply)
{
    struct hf_redis_call *call = conn->first;

    if (conn->on_push != NULL && (call == NULL || is_push(reply))) {
        conn->on_push(redis, reply);
    } else if (call == NULL) {
        give_up(conn, "it answers what was not asked");
    } else {
        conn->first = call->next;
        if (conn->first == NULL)
            conn->last = NULL;
        answer(redis, call, reply);
    }
}

/* hiredis cannot read it.  A TLS server's alert begins with byte 0x15. */
static void complain(struct hf_redis_conn *conn)
{
    if (conn->reader->err == REDIS_ERR_OOM) {
        give_up(conn, "it sent more than there is memory for");
        return;
    }
    conn->strange = true;
    give_up(conn, strstr(conn->reader->errstr, "x15") != NULL
                      ? "speaks TLS on this port: write rediss:"
                      : "does not speak Redis's protocol");
}

/* Take every whole answer.  False: the connection broke, or was closed. */
static bool take_all(struct hf_redis *redis, struct hf_redis_conn *conn)
{
    unsigned opened = conn->opened;
    void    *reply;

    for (;;) {
        if (redisReaderGetReply(conn->reader, &reply) != REDIS_OK) {
            complain(conn);
            return false;
        }
        if (reply == NULL)
            return true;
        take(redis, conn, reply);
        freeReplyObject(reply);
        if (!conn->there || conn->opened != opened ||
            conn->stream.state == HF_STREAM_BROKEN)
            return false;
    }
}

static void read_all(struct hf_redis *redis, struct hf_redis_conn *conn)
{
    char piece[PIECE];

    conn->more = false;
    for (int i = 0; i < PIECES; i++) {
        long n = hf_stream_read(&conn->stream, piece, sizeof piece);
        if (n <= 0)
            return;
        conn->heard = hf_now();
        if (conn->reader->len - conn->reader->pos > ANSWER_MAX ||
            redisReaderFeed(conn->reader, piece, (size_t)n) != REDIS_OK) {
            give_up(conn, "it sent more than there is memory for");
            return;
        }
        if (!take_all(redis, conn) ||
            ((size_t)n < sizeof piece && conn->stream.ssl == NULL))
            return;
    }
    conn->more = true;
}

bool hf_redis_conn_run(struct hf_redis *redis, struct hf_redis_conn *conn, bool readable)
{
    if (!conn->there)
        return true;
    if (conn->stream.state < HF_STREAM_OPEN)
        hf_stream_step(&conn->stream);
    if (conn->stream.state == HF_STREAM_OPEN && (readable || conn->more))
        read_all(redis, conn);
    return hf_redis_conn_flush(redis, conn);
}

bool hf_redis_conn_flush(struct hf_redis *redis, struct hf_redis_conn *conn)
{
    if (!conn->there)
        return true;
    hf_stream_flush(&conn->stream);
    look(redis, conn);
    return conn->stream.state != HF_STREAM_BROKEN;
}
