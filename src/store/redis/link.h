/* link.h - the lower half of the Redis store: servers, connections, commands.
 * See inner.h for the upper one. */
#ifndef HF_REDIS_LINK_H
#define HF_REDIS_LINK_H

#include "store/redis/hiredis.h"
#include "store/remote/dial.h"
#include "store/served/served.h"

#define HF_REDIS_SERVERS  16
#define HF_REDIS_PREFIX   128
#define HF_REDIS_CANARIES 14

struct hf_redis;

/* ---- config.c: what a URL says -------------------------------------------------- */

struct hf_redis_config {
    struct hf_server server[HF_REDIS_SERVERS]; /* the server, some of a cluster, or the
                                                  Sentinels */
    size_t           servers;
    char             path[108];    /* of a Unix socket, or "" */
    char             service[128]; /* what the Sentinels call the master, or "" */
    bool             secure;
    int              db;
    char             prefix[HF_REDIS_PREFIX]; /* "{holdfast}": a hash tag */
    hf_time          ttl;
    int              replicas; /* that must have heard of a grant */
    bool             evicting; /* a server that may evict our keys will do */
    int              history;  /* how much is to be kept; -1: as it is */
    char            *user;     /* NULL: none, or the default one */
    char            *password; /* NULL: none */
};

int  hf_redis_config_init(struct hf_redis_config *ret, const struct hf_config *config,
                          char *errmsg);
void hf_redis_config_finish(struct hf_redis_config *config);

/* auth.c: user and password, wherever they are given. */
int hf_redis_config_auth(struct hf_redis_config *ret, const struct hf_config *config,
                         char *errmsg);

/* ---- write.c: the protocol ------------------------------------------------------ */

#define HF_REDIS_DIGITS 24
#define HF_REDIS_FRAME  (HF_REDIS_DIGITS + 5) /* what stands around a text, at most */

/* A number of at least `width` digits, without a NUL; how long it is. */
size_t hf_redis_digits(uint64_t number, size_t width, char ret[HF_REDIS_DIGITS]);

/* "*2\r\n" or "$3\r\n", and "$3\r\nGET\r\n".  They return where it ends. */
char *hf_redis_write_count(char *at, char mark, size_t count);
char *hf_redis_write_text(char *at, const char *text, size_t size);

/* Arguments, written while they are gathered: they may be of the moment. */
struct hf_redis_args {
    char  *text;
    size_t used, room;
    size_t count;
    bool   failed; /* no memory */
};

void hf_redis_args_begin(struct hf_redis_args *args);
void hf_redis_args_add(struct hf_redis_args *args, const char *text, size_t size);
void hf_redis_args_finish(struct hf_redis_args *args);

/* ---- conn.c: one connection, and the commands on it ----------------------------- */

/* `reply` is lent for the call; NULL: the connection broke before there was one. */
typedef void hf_redis_on_reply(struct hf_redis *redis, void *data,
                               const redisReply *reply);

/* Part of whoever makes the call; must stay in place until it is answered. */
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

    /* A reply that answers no call: what a subscription brings.  NULL: there must be
     * none. */
    void (*on_push)(struct hf_redis *redis, const redisReply *reply);
};

/* For the dial's ops: read and answer; it is over, so answer what is in flight with NULL. */
void hf_redis_conn_read(struct hf_dial *dial);
void hf_redis_conn_over(struct hf_dial *dial);

/* Send a command, with the next flush.  There must be a connection.  A call that is NULL
 * has no answer at all (as SUBSCRIBE, whose answer is a push).  `length` NULL: texts end
 * with NUL.  Without memory the stream breaks. */
void hf_redis_conn_call(struct hf_redis *redis, struct hf_redis_conn *conn,
                        struct hf_redis_call *call, int argc, const char *const *argv,
                        const size_t *length, hf_redis_on_reply *on_reply, void *data);

/* The same for arguments that were gathered, and not in vain. */
void hf_redis_conn_send(struct hf_redis *redis, struct hf_redis_conn *conn,
                        struct hf_redis_call *call, const struct hf_redis_args *args,
                        hf_redis_on_reply *on_reply, void *data);

/* AUTH, if we have a password; else nothing, and `call` is not used. */
void hf_redis_conn_auth(struct hf_redis *redis, struct hf_redis_conn *conn,
                        struct hf_redis_call *call, hf_redis_on_reply *on_reply,
                        void *data);

/* Does this reply to AUTH say that the server has no password?  With Sentinels that is
 * fine: ours may be theirs alone. */
bool hf_redis_auth_is_needless(const struct hf_redis *redis, const redisReply *reply);

/* ---- sentinel.c: who is the master ---------------------------------------------- */

struct hf_redis_sentinel {
    struct hf_redis_conn conn;    /* first: they are cast */
    struct hf_redis_call call[2]; /* the question, AUTH */
    hf_time              due;     /* READY: ask then; or give up waiting for the answer */
    bool                 auth;    /* it wants our password */
    bool                 greeted; /* ... and has it */
    bool                 unknown; /* it knows no such service */
    struct hf_server     master;  /* as it says */
    hf_time              named_at; /* when that was asked; 0: never */
};

int     hf_redis_sentinels_init(struct hf_redis *redis, uint64_t seed);
void    hf_redis_sentinels_finish(struct hf_redis *redis);
void    hf_redis_sentinels_run(struct hf_redis *redis, bool readable);
hf_time hf_redis_sentinels_wake(const struct hf_redis *redis);

/* Ask all of them now.  Once most of them agree, that server is looked up. */
void hf_redis_sentinels_seek(struct hf_redis *redis);

/* A majority names the server in use, and was asked at this time or later; 0: none does. */
hf_time hf_redis_sentinels_since(const struct hf_redis *redis);

/* ---- link.c: the connection by which commands are sent ---------------------------------
 *
 * After the greeting (AUTH, INFO and the like) comes hf_redis_session_begin(); that ends
 * with hf_dial_ready().  From `introduced` on it is the session that notices silence. */

/* What the server says of itself when greeted. */
struct hf_redis_server_info {
    char      run_id[41];
    char      version[32];
    char      policy[32]; /* maxmemory_policy */
    long long maxmemory;
    long long uptime;   /* seconds */
    bool      cluster;  /* it is in one */
    bool      replica;  /* it is one, so it is read-only */
    bool      promoted; /* it was one: master_replid2 is set */
    hf_time   longest;  /* lease in the namespace since the server started, at most */
};

struct hf_redis_link {
    struct hf_redis_conn        conn;
    struct hf_redis_server_info info;
    struct hf_server            moved;     /* the cluster sends us there, or "" */
    bool                        moving;    /* ... and it does not own our keys yet */
    bool                        following; /* ... and there we go */
    bool                        asking; /* ... where each call is to begin with ASKING */
    bool                        introduced; /* we know whom we speak to */
    hf_time                     seek_began; /* the Sentinels are asked since then */
    struct hf_redis_call        call[8];    /* of the greeting */
    int                         calls;      /* of them used */
};

void hf_redis_link_init(struct hf_redis *redis, uint64_t seed);

/* How long a step may take, of the Sentinels' dials, too. */
hf_time hf_redis_patience(const struct hf_dial *dial);

/* greet.c: say what is said first. */
void hf_redis_greet(struct hf_dial *dial);

/* canary.c: of the answer to SCRIPT EXISTS, the longest lease they speak of; 0: none. */
hf_time hf_redis_canary_longest(const redisReply *reply);

/* ---- fault.c -------------------------------------------------------------------- */

/* What an error reply means.  base.errmsg tells it to a person: which server, what to do. */
enum hf_served_fault hf_redis_fault(struct hf_redis *redis, const redisReply *reply);

/* The same, but only as a clause about the server, for hf_dial_break(). */
enum hf_served_fault hf_redis_fault_clause(const redisReply *reply, char *ret,
                                           size_t size);

#endif
