/* link.h - the lower half of the Redis store: servers, connections, commands.
 * See inner.h for the upper one. */
#ifndef HF_REDIS_LINK_H
#define HF_REDIS_LINK_H

#include "core/retry.h"
#include "net/resolve.h"
#include "net/stream.h"
#include "net/tls.h"
#include "store/store.h"

#include <hiredis/hiredis.h>

#define HF_REDIS_SERVERS  16
#define HF_REDIS_PREFIX   128
#define HF_REDIS_CANARIES 14

struct hf_redis;

/* ---- config.c: what a URL says ------------------------------------------------------ */

struct hf_redis_server {
    char host[256];
    char port[6];
};

struct hf_redis_config {
    struct hf_redis_server server[HF_REDIS_SERVERS]; /* the server, some of a cluster, or
                                                        the Sentinels */
    size_t                 servers;
    char                   path[108];    /* of a Unix socket, or "" */
    char                   service[128]; /* what the Sentinels call the master, or "" */
    bool                   secure;
    int                    db;
    char                   prefix[HF_REDIS_PREFIX]; /* "{holdfast}": a hash tag */
    hf_time                ttl;
    int                    replicas; /* that must have heard of a grant */
    bool                   evicting; /* a server that may evict our keys will do */
    char                  *user;     /* NULL: none, or the default one */
    char                  *password; /* NULL: none */
};

int  hf_redis_config_init(struct hf_redis_config *ret, const struct hf_config *config,
                          char *errmsg);
void hf_redis_config_finish(struct hf_redis_config *config);

/* auth.c: user and password, wherever they are given. */
int hf_redis_config_auth(struct hf_redis_config *ret, const struct hf_config *config,
                         char *errmsg);

/* ---- write.c: the protocol ------------------------------------------------------------ */

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

/* ---- conn.c: one connection, and the commands on it ---------------------------------- */

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
    struct hf_stream      stream;
    bool                  there; /* there is a stream, maybe broken */
    struct redisReader   *reader;
    struct hf_redis_call *first, *last; /* asked, not answered */
    hf_time               heard;        /* when something was last read */
    unsigned              polled;       /* what epoll was told to look for */
    bool                  more;         /* to be read, though nobody looked */
    bool                  strange;      /* broken, for it speaks another protocol */
    unsigned              opened; /* how often; tells one connection from the next */

    /* A reply that answers no call: what a subscription brings.  NULL: there must be
     * none. */
    void (*on_push)(struct hf_redis *redis, const redisReply *reply);
};

/* Start to connect; hf_redis_conn_close() first if it was open before. */
int hf_redis_conn_open(struct hf_redis *redis, struct hf_redis_conn *conn,
                       const struct hf_address *address, const char *host);

/* Close, and answer what is in flight with NULL. */
void hf_redis_conn_close(struct hf_redis *redis, struct hf_redis_conn *conn);

/* Send a command, with the next flush; before the stream is open, once it is.  There
 * must be a stream.  A call that is NULL has no answer at all (as SUBSCRIBE, whose answer
 * is a push).  `length` NULL: texts end with NUL.  Without memory the stream breaks. */
void hf_redis_conn_call(struct hf_redis *redis, struct hf_redis_conn *conn,
                        struct hf_redis_call *call, int argc, const char *const *argv,
                        const size_t *length, hf_redis_on_reply *on_reply, void *data);

/* The same for arguments that were gathered, and not in vain. */
void hf_redis_conn_send(struct hf_redis *redis, struct hf_redis_conn *conn,
                        struct hf_redis_call *call, const struct hf_redis_args *args,
                        hf_redis_on_reply *on_reply, void *data);

/* Get on with connecting; read and answer; send.  Returns false when it broke:
 * stream.errmsg tells why, and the caller is to close it.  An answer may close it too:
 * then nothing broke. */
bool hf_redis_conn_run(struct hf_redis *redis, struct hf_redis_conn *conn, bool readable);
bool hf_redis_conn_flush(struct hf_redis *redis, struct hf_redis_conn *conn);

/* AUTH, if we have a password; else nothing, and `call` is not used. */
void hf_redis_conn_auth(struct hf_redis *redis, struct hf_redis_conn *conn,
                        struct hf_redis_call *call, hf_redis_on_reply *on_reply,
                        void *data);

/* ---- lookup.c: the addresses of a host -------------------------------------------------- */

struct hf_redis_lookup {
    struct hf_resolve *resolve; /* NULL: none is under way */
    bool               polled;
    struct hf_address  address[HF_RESOLVE_MAX];
    int                count, next; /* the one before `next` is tried, or in use */
};

int  hf_redis_lookup_start(struct hf_redis *redis, struct hf_redis_lookup *lookup,
                           const char *host, const char *port);
void hf_redis_lookup_end(struct hf_redis *redis, struct hf_redis_lookup *lookup);

/* How many there are; 0: not known yet; less: none, hf_resolve_error() tells why. */
int hf_redis_lookup_get(struct hf_redis *redis, struct hf_redis_lookup *lookup);

/* ---- sentinel.c: who is the master -------------------------------------------------------- */

struct hf_redis_sentinel {
    struct hf_redis_lookup lookup;
    struct hf_redis_conn   conn;
    struct hf_redis_call   call[2]; /* the question, AUTH */
    struct hf_retry        retry;
    hf_time                due;  /* ask, or connect, then; or give up waiting for that */
    bool                   auth; /* it wants our password */
    bool                   greeted;   /* ... and has it */
    bool                   unknown;   /* it knows no such service */
    bool                   useless;   /* it is no Sentinel */
    char                   host[256]; /* of the master, as it says */
    char                   port[6];
    hf_time                named; /* when that was asked; 0: never */
};

int     hf_redis_sentinels_init(struct hf_redis *redis, uint64_t seed);
void    hf_redis_sentinels_finish(struct hf_redis *redis);
void    hf_redis_sentinels_run(struct hf_redis *redis, bool readable);
hf_time hf_redis_sentinels_wake(const struct hf_redis *redis);

/* Ask all of them now.  Once most of them agree, it is hf_redis_find_named(). */
void hf_redis_sentinels_seek(struct hf_redis *redis);

/* A majority names the server in use, and was asked at this time or later; 0: none does. */
hf_time hf_redis_sentinels_since(const struct hf_redis *redis);

/* ---- link.c: find the server, connect, greet it ----------------------------------------
 *
 * After the greeting it calls hf_redis_session_begin(); that ends with
 * hf_redis_link_ready().  Should the connection break at any time, link.c calls
 * hf_redis_session_broken().  From OPENING on it is the session that notices silence. */

enum hf_redis_phase {
    HF_REDIS_RESTING,   /* until `due` */
    HF_REDIS_SEEKING,   /* the Sentinels are asked */
    HF_REDIS_RESOLVING, /* a name */
    HF_REDIS_REACHING,  /* the stream is not open yet */
    HF_REDIS_GREETING,  /* AUTH, SELECT, INFO: asked */
    HF_REDIS_OPENING,   /* the session's hello is on its way */
    HF_REDIS_READY,
};

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
    enum hf_redis_phase         phase;
    struct hf_redis_conn        conn;
    struct hf_redis_server_info info;
    struct hf_redis_lookup      lookup;
    struct hf_address           at; /* the one in use; a Unix socket's too */
    char                        host[256], port[6]; /* being tried, or in use */
    char                        moved_host[256]; /* the cluster sends us there, or "" */
    char                        moved_port[6];
    bool                        following;   /* ... and there we go */
    hf_time                     sought;      /* SEEKING: since when */
    size_t                      next_server; /* to be tried */
    size_t                      tried;       /* in a row, without success */
    struct hf_retry             retry;
    hf_time                     due; /* RESTING: try then; before OPENING: give up then */
    bool                        refused; /* it makes no sense to try again soon */
    int                         refusal; /* the HF_E... of everything then */
    struct hf_redis_call        call[8]; /* of the greeting */
    int                         calls;   /* of them used */
};

void    hf_redis_link_init(struct hf_redis *redis, uint64_t seed);
void    hf_redis_link_finish(struct hf_redis *redis); /* close everything */
void    hf_redis_link_run(struct hf_redis *redis, bool readable);
void    hf_redis_link_flush(struct hf_redis *redis);
hf_time hf_redis_link_wake(const struct hf_redis *redis);

/* The hello was answered: calls may flow. */
void hf_redis_link_ready(struct hf_redis *redis);

/* Give the connection up and try again soon; `why` as a clause about the server: "does
 * not answer"; NULL: base.errmsg says it already. */
void hf_redis_link_break(struct hf_redis *redis, const char *why);

/* The same, but it makes no sense to try again soon: the link is UP for show, so that
 * whoever asks is told `status` and base.errmsg at once; tried again a second later. */
void hf_redis_link_refuse(struct hf_redis *redis, int status, const char *why);

/* "host:port", or the path, of the server in use or last tried. */
const char *hf_redis_link_server(const struct hf_redis *redis, char *ret, size_t size);

/* For link.c, find.c, greet.c and sentinel.c alone: how long one step may take; the next
 * server, or the next address of the same one; the one that Sentinels name; a look-up that
 * may be over; the greeting, asked; errmsg, set. */
hf_time hf_redis_link_patience(const struct hf_redis *redis);
void    hf_redis_link_say(struct hf_redis *redis, const char *why);
void    hf_redis_find_next(struct hf_redis *redis);
void    hf_redis_find_addresses(struct hf_redis *redis);
void    hf_redis_find_named(struct hf_redis *redis, const char *host, const char *port);
void    hf_redis_greet(struct hf_redis *redis);

/* canary.c: of the answer to SCRIPT EXISTS, the longest lease they speak of; 0: none. */
hf_time hf_redis_canary_longest(const redisReply *reply);

/* ---- fault.c ---------------------------------------------------------------------------- */

/* What an error reply means. */
enum hf_redis_fault {
    HF_REDIS_FINE,      /* none */
    HF_REDIS_NO_SCRIPT, /* NOSCRIPT: load it, ask again */
    HF_REDIS_AGAIN,     /* LOADING, BUSY, MASTERDOWN, CLUSTERDOWN, TRYAGAIN, READONLY,
                           UNBLOCKED: this server cannot serve now; connect anew */
    HF_REDIS_DENIED,    /* NOAUTH, WRONGPASS, NOPERM: HF_EDENIED */
    HF_REDIS_FAILED,    /* OOM, MISCONF, WRONGTYPE, what we do not know: HF_ESTORE */
};

/* Tell; and say it in base.errmsg, in words for a person: which server, what to do. */
enum hf_redis_fault hf_redis_fault(struct hf_redis *redis, const redisReply *reply);

/* The same, but only as a clause about the server, for hf_redis_link_break(). */
enum hf_redis_fault hf_redis_fault_words(const redisReply *reply, char *ret, size_t size);

#endif
