/* conn.c - one connection to a server, and the commands on it.
 *
 * hiredis parses the protocol, write.c writes it, and the socket is ours.  Replies come
 * in the order of the calls.  A callback may close the connection, so after each of
 * them we check whether it is still the same one.
 */
#include "store/redis/inner.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define PIECE      (16 * 1024)         /* bytes read at once */
#define PIECES     16                  /* in one run: others wait, too */
#define ANSWER_MAX (256 * 1024 * 1024) /* bytes without a complete reply */
#define PARTS_MAX  (4 * 1024 * 1024)   /* of a reply */

/* The next flush breaks the connection, so callers need no check. */
static void run_out_of_memory(struct hf_stream *stream)
{
    snprintf(stream->errmsg, sizeof stream->errmsg, "out of memory");
    stream->state = HF_STREAM_BROKEN;
}

/* ---- The reader --------------------------------------------------------------- */

/* hiredis allocates as many parts as the server announces, before any has come. */
static redisReplyObjectFunctions functions;
#if HIREDIS_MAJOR >= 1
typedef size_t parts;
#else
typedef int parts;
#endif
static void *(*make_array)(const redisReadTask *, parts);

static void *make_checked_array(const redisReadTask *task, parts count)
{
    bool nested = task->parent != NULL; /* no answer to us is nested */

    return nested || count > PARTS_MAX ? NULL : make_array(task, count);
}

static void learn_functions(void)
{
    struct redisReader *reader = redisReaderCreate();

    if (reader == NULL)
        return;
    functions = *reader->fn;
    make_array = functions.createArray;
    functions.createArray = make_checked_array;
    redisReaderFree(reader);
}

static struct redisReader *new_reader(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, learn_functions);
    return make_array != NULL ? redisReaderCreateWithFunctions(&functions) : NULL;
}

/* ---- The end ------------------------------------------------------------------ */

static void answer_call(struct hf_redis *redis, struct hf_redis_call *call,
                        const redisReply *reply)
{
    assert(call->flying);
    call->next = NULL;
    call->flying = false;
    if (call->on_reply != NULL)
        call->on_reply(redis, call->data, reply);
}

void hf_redis_conn_over(struct hf_dial *dial)
{
    struct hf_redis      *redis = (struct hf_redis *)dial->store;
    struct hf_redis_conn *conn = (struct hf_redis_conn *)dial;
    struct hf_redis_call *call = conn->first;

    assert(dial->phase == HF_DIAL_RESTING);
    redisReaderFree(conn->reader);
    conn->reader = NULL;
    conn->first = conn->last = NULL;
    while (call != NULL) {
        struct hf_redis_call *next = call->next;
        answer_call(redis, call, NULL);
        call = next;
    }
    assert(conn->first == NULL); /* callbacks could send nothing new */
}

/* ---- Commands ----------------------------------------------------------------- */

static void send_command(struct hf_redis_conn *conn, int argc, const char *const *argv,
                         const size_t *length)
{
    size_t size = HF_REDIS_FRAME, count = (size_t)argc;

    assert(argc > 0);
    for (size_t i = 0; i < count; i++)
        size += HF_REDIS_FRAME + (length != NULL ? length[i] : strlen(argv[i]));
    char *start = hf_stream_append(&conn->dial.stream, size);
    if (start == NULL) {
        run_out_of_memory(&conn->dial.stream);
        return;
    }
    char *at = hf_redis_write_count(start, '*', count);
    for (size_t i = 0; i < count; i++)
        at = hf_redis_write_text(at, argv[i],
                                 length != NULL ? length[i] : strlen(argv[i]));
    assert((size_t)(at - start) <= size);
    conn->dial.stream.used -= size - (size_t)(at - start);
}

static void enlist_call(struct hf_redis *redis, struct hf_redis_conn *conn,
                        struct hf_redis_call *call, hf_redis_on_reply *on_reply,
                        void *data)
{
    assert(!call->flying && (conn->first == NULL) == (conn->last == NULL));
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
    assert(conn->dial.phase >= HF_DIAL_GREETING);
    if (call != NULL)
        enlist_call(redis, conn, call, on_reply, data);
    if (conn->dial.stream.state != HF_STREAM_BROKEN)
        send_command(conn, argc, argv, length);
}

void hf_redis_conn_send(struct hf_redis *redis, struct hf_redis_conn *conn,
                        struct hf_redis_call *call, const struct hf_redis_args *args,
                        hf_redis_on_reply *on_reply, void *data)
{
    char   start[HF_REDIS_FRAME];
    size_t size = (size_t)(hf_redis_write_count(start, '*', args->count) - start);

    assert(conn->dial.phase >= HF_DIAL_GREETING);
    assert(!args->failed && args->count > 0);
    enlist_call(redis, conn, call, on_reply, data);
    if (conn->dial.stream.state == HF_STREAM_BROKEN)
        return;
    char *room = hf_stream_append(&conn->dial.stream, size + args->used);
    if (room == NULL) {
        run_out_of_memory(&conn->dial.stream);
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

    assert(conn->dial.phase >= HF_DIAL_GREETING);
    hf_redis_config_reread(&redis->config);
    if (config->password == NULL)
        return;
    const char *argv[3] = { "AUTH", config->user, config->password };
    if (config->user == NULL)
        argv[1] = config->password;
    enlist_call(redis, conn, call, on_reply, data);
    if (conn->dial.stream.state != HF_STREAM_BROKEN)
        send_command(conn, config->user == NULL ? 2 : 3, argv, NULL);
}

bool hf_redis_auth_is_needless(const struct hf_redis *redis, const redisReply *reply)
{
    return redis->config.service[0] != '\0' && reply != NULL &&
           reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "ERR AUTH", 8) == 0;
}

/* ---- Answers ------------------------------------------------------------------ */

/* A reply that answers no call: a message, or the reply to SUBSCRIBE and the like. */
static bool is_push(const redisReply *reply)
{
    static const char *const kinds[] = {
        "message",      "subscribe", "unsubscribe", "pmessage",     "psubscribe",
        "punsubscribe", "smessage",  "ssubscribe",  "sunsubscribe",
    };

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 3 ||
        reply->element[0]->type != REDIS_REPLY_STRING)
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(reply->element[0]->str, kinds[i]) == 0)
            return true;
    return false;
}

static void take_reply(struct hf_redis *redis, struct hf_redis_conn *conn,
                       const redisReply *reply)
{
    struct hf_redis_call *call = conn->first;

    assert(conn->dial.phase >= HF_DIAL_GREETING);
    if (conn->on_push != NULL && (call == NULL || is_push(reply))) {
        conn->on_push(redis, reply);
    } else if (call == NULL) {
        hf_dial_break(&conn->dial, "sends an answer that nobody asked for");
    } else {
        conn->first = call->next;
        if (conn->first == NULL)
            conn->last = NULL;
        answer_call(redis, call, reply);
    }
}

/* hiredis cannot parse it.  An alert from a TLS server begins with byte 0x15. */
static void break_unreadable(struct hf_redis_conn *conn)
{
    if (conn->reader->err == REDIS_ERR_OOM)
        hf_dial_break(&conn->dial, "sent more than there is memory for");
    else
        hf_dial_break(&conn->dial, strstr(conn->reader->errstr, "x15") != NULL
                                       ? "speaks TLS on this port: write rediss:"
                                       : "does not speak Redis's protocol");
}

/* Handle every complete reply.  False: the connection broke, or was closed. */
static bool take_replies(struct hf_redis *redis, struct hf_redis_conn *conn)
{
    unsigned opened = conn->dial.opened;
    void    *reply;

    assert(conn->reader != NULL); /* it was fed */
    for (;;) {
        if (redisReaderGetReply(conn->reader, &reply) != REDIS_OK) {
            break_unreadable(conn);
            return false;
        }
        if (reply == NULL)
            return true;
        take_reply(redis, conn, reply);
        freeReplyObject(reply);
        if (conn->dial.phase < HF_DIAL_GREETING || conn->dial.opened != opened ||
            conn->dial.stream.state == HF_STREAM_BROKEN)
            return false;
    }
}

static bool feed(struct hf_redis_conn *conn, const char *piece, size_t size)
{
    assert(size > 0 && size <= PIECE);
    if (conn->reader == NULL && (conn->reader = new_reader()) == NULL)
        return false;
    conn->reader->maxbuf = PIECE * 4;
    return conn->reader->len - conn->reader->pos <= ANSWER_MAX &&
           redisReaderFeed(conn->reader, piece, size) == REDIS_OK;
}

void hf_redis_conn_read(struct hf_dial *dial)
{
    struct hf_redis      *redis = (struct hf_redis *)dial->store;
    struct hf_redis_conn *conn = (struct hf_redis_conn *)dial;
    char                  piece[PIECE];

    dial->more = false;
    for (int i = 0; i < PIECES; i++) {
        size_t n = hf_dial_read(dial, piece, sizeof piece);
        if (n == 0)
            return;
        if (!feed(conn, piece, n)) {
            hf_dial_break(dial, "sent more than there is memory for");
            return;
        }
        if (!take_replies(redis, conn) || (n < sizeof piece && dial->stream.ssl == NULL))
            return;
    }
    dial->more = true;
}
