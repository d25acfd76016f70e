/* wire.h - servers, connections and commands.
 *
 *   link.c      the connection for commands: where its server is
 *   greet.c     the first commands on it, and whether this server will do
 *   messages.c  the connection for messages: SUBSCRIBE, and messages that were missed
 *   sentinel.c  which server is the master
 *   conn.c      one connection, and the commands on it
 *   write.c     commands as bytes
 *   fault.c     what the server's errors mean
 */
#ifndef HF_REDIS_WIRE_H
#define HF_REDIS_WIRE_H

#include "store/redis/config.h"
#include "store/redis/hiredis.h"
#include "store/remote/dial.h"
#include "store/served/served.h"

struct hf_redis;

/* ---- write.c: the protocol ---------------------------------------------------- */

#define HF_REDIS_DIGITS 24
#define HF_REDIS_FRAME  (HF_REDIS_DIGITS + 5) /* the most that stands around a text */

/* Writes a number of at least `width` digits, without a NUL.  Returns its length. */
size_t hf_redis_digits(uint64_t number, size_t width, char ret[HF_REDIS_DIGITS]);

/* "*2\r\n" or "$3\r\n", and "$3\r\nGET\r\n".  Both return the end of what they wrote. */
char *hf_redis_write_count(char *at, char mark, size_t count);
char *hf_redis_write_text(char *at, const char *text, size_t size);

/* Arguments of a command, copied as they are added. */
struct hf_redis_args {
    char  *text;
    size_t used, room;
    size_t count;
    bool   failed; /* no memory */
};

void hf_redis_args_begin(struct hf_redis_args *args);
void hf_redis_args_add(struct hf_redis_args *args, const char *text, size_t size);
void hf_redis_args_finish(struct hf_redis_args *args);

/* ---- conn.c: one connection, and the commands on it --------------------------- */

/* `reply` is lent for the call; NULL: the connection broke before there was one. */
typedef void hf_redis_on_reply(struct hf_redis *redis, void *data,
                               const redisReply *reply);

/* Embedded in the caller's own struct; must not move until it is answered. */
struct hf_redis_call {
    hf_time               sent;
    hf_redis_on_reply    *on_reply; /* NULL: the answer does not matter */
    void                 *data;
    struct hf_redis_call *next;
    bool                  flying;
};

struct hf_redis_conn {
    struct hf_dial        dial; /* first: they are cast */
    struct redisReader   *reader;
    struct hf_redis_call *first, *last; /* sent, not answered */

    /* Called for a reply that answers no call, such as a published message.  NULL: such a
     * reply breaks the connection. */
    void (*on_push)(struct hf_redis *redis, const redisReply *reply);
};

/* For struct hf_dial_ops.  `over` answers the calls in flight with NULL. */
void hf_redis_conn_read(struct hf_dial *dial);
void hf_redis_conn_over(struct hf_dial *dial);

/* Queue a command for the next flush.  There must be a connection.  `call` NULL: the
 * command has no reply of its own (SUBSCRIBE, whose reply is a push).  `length` NULL:
 * texts end with NUL.  Out of memory breaks the stream. */
void hf_redis_conn_call(struct hf_redis *redis, struct hf_redis_conn *conn,
                        struct hf_redis_call *call, int argc, const char *const *argv,
                        const size_t *length, hf_redis_on_reply *on_reply, void *data);

/* The same with `args`, which must not have failed. */
void hf_redis_conn_send(struct hf_redis *redis, struct hf_redis_conn *conn,
                        struct hf_redis_call *call, const struct hf_redis_args *args,
                        hf_redis_on_reply *on_reply, void *data);

/* AUTH, if we have a password; else nothing, and `call` is not used. */
void hf_redis_conn_auth(struct hf_redis *redis, struct hf_redis_conn *conn,
                        struct hf_redis_call *call, hf_redis_on_reply *on_reply,
                        void *data);

/* Does this reply to AUTH say that the server has no password?  With Sentinels that is no
 * error: our password may be for the Sentinels alone. */
bool hf_redis_auth_is_needless(const struct hf_redis *redis, const redisReply *reply);

/* ---- messages.c: the connection for messages ---------------------------------- */

struct hf_redis_messages {
    struct hf_redis_call call;    /* AUTH */
    uint64_t             heard;   /* number of the last message received */
    uint64_t             sent;    /* number of the last one sent, as far as we know */
    hf_time              miss;    /* if they differ by then, a message was lost */
    unsigned             put_off; /* see store.c */
};

void hf_redis_messages_init(struct hf_redis *redis, uint64_t seed);
void hf_redis_messages_run(struct hf_redis *redis, bool readable);
/* Read what is there: it may say that a place was taken from us. */
void    hf_redis_messages_drain(struct hf_redis *redis);
void    hf_redis_messages_close(struct hf_redis *redis);
hf_time hf_redis_messages_wake(const struct hf_redis *redis);

/* The server says how many messages it has sent.  `heard`: how many we had received
 * when we sent the renewal. */
void hf_redis_messages_count(struct hf_redis *redis, uint64_t sent, uint64_t heard);

/* ---- sentinel.c: which server is the master ----------------------------------- */

/* The same server under another config epoch is another master: see sentinel.c. */
struct hf_redis_master {
    struct hf_server server;
    uint64_t         config_epoch; /* of the Sentinels: 0 until the first failover */
};

struct hf_redis_sentinel {
    struct hf_redis_conn   conn;    /* first: they are cast */
    struct hf_redis_call   call[3]; /* the two commands of a question; AUTH */
    hf_time                due;     /* READY: ask then, or stop waiting for the answer */
    bool                   auth;    /* it wants our password ... */
    bool                   greeted; /* ... and has it */
    bool                   unknown; /* it knows no such service */
    bool                   has_config_epoch; /* the first command was answered: */
    uint64_t               config_epoch;
    struct hf_redis_master master;   /* the one it named ... */
    hf_time                named_at; /* ... when we sent that question; 0: never */
};

int     hf_redis_sentinels_init(struct hf_redis *redis, uint64_t seed);
void    hf_redis_sentinels_finish(struct hf_redis *redis);
void    hf_redis_sentinels_run(struct hf_redis *redis, bool readable);
hf_time hf_redis_sentinels_wake(const struct hf_redis *redis);

/* Ask all of them now.  The server that a majority names is looked up. */
void hf_redis_sentinels_seek(struct hf_redis *redis);

/* The latest time since when a majority, if asked then or later, has named the master in
 * use; 0: no majority does. */
hf_time hf_redis_sentinels_since(const struct hf_redis *redis);

/* ---- link.c, greet.c: the connection for commands --------------------------------
 *
 * After the greeting (AUTH, INFO and the like) comes hf_redis_session_begin(), which ends
 * with hf_dial_ready().  From `introduced` on, the session notices a silent server. */

/* From the server's INFO. */
struct hf_redis_server_info {
    char      run_id[41];
    char      version[32];
    char      policy[32]; /* maxmemory_policy */
    long long maxmemory;
    hf_time   started; /* no later than this, by our clock, give or take a second */
    bool      cluster; /* it is part of one */
    bool      replica; /* it is one, so it is read-only */
};

struct hf_redis_link {
    struct hf_redis_conn        conn;
    struct hf_redis_server_info info;
    struct hf_server            moved;      /* the cluster redirects us there, or "" */
    bool                        moving;     /* that server does not own our keys yet */
    bool                        following;  /* we are on our way there */
    bool                        asking;     /* every call there begins with ASKING */
    bool                        introduced; /* the server has answered the greeting */
    struct hf_redis_master      master;     /* named by the Sentinels: we go there */
    hf_time                     seek_began; /* when we began to ask the Sentinels */
    struct hf_redis_call        call[8];    /* of the greeting */
    int                         calls;      /* of them used */
};

void hf_redis_link_init(struct hf_redis *redis, uint64_t seed);

/* How long a step of a dial may take, those to Sentinels included. */
hf_time hf_redis_patience(const struct hf_dial *dial);

/* For struct hf_dial_ops: send the first commands. */
void hf_redis_greet(struct hf_dial *dial);

/* ---- fault.c ------------------------------------------------------------------ */

/* Classify an error reply.  Sets errmsg: which server, and what to do. */
enum hf_served_fault hf_redis_fault(struct hf_redis *redis, const redisReply *reply);

/* The same, but only the text to follow the server's name, for hf_dial_break(). */
enum hf_served_fault hf_redis_fault_text(const redisReply *reply, char *ret, size_t size);

#endif
