/* link.h - the lower half of the ZooKeeper store: address, session, calls.
 * See inner.h for the whole. */
#ifndef HF_ZK_LINK_H
#define HF_ZK_LINK_H

#include "core/lease.h"
#include "net/stream.h"
#include "net/tls.h"
#include "store/remote/dial.h"
#include "store/zookeeper/names.h"
#include "store/zookeeper/wire.h"

#define HF_ZK_SERVERS      HF_SERVERS_MAX
#define HF_ZK_CHROOT       256
#define HF_ZK_PATH_MAX     (HF_ZK_CHROOT + HF_ZK_FOLDER_MAX + HF_ZK_CHILD_MAX + 2)
#define HF_ZK_ACL_MAX      1024
#define HF_ZK_BUCKETS      4096
#define HF_ZK_SEQUENCE_END INT32_MAX /* the server's counter gets stuck there */

struct hf_zk;
struct hf_zk_task;
struct hf_zk_ticket;

/* ---- address.c -------------------------------------------------------------------- */

struct hf_zk_config {
    struct hf_server server[HF_ZK_SERVERS];
    size_t           servers;
    char             chroot[HF_ZK_CHROOT]; /* "" or "/a/b" */
    int              session_ms;           /* as the URL wants it */
    enum hf_zk_style style;                /* of new places */
    bool             secure;
    bool             init;      /* the chroot is to be made */
    bool             certified; /* we show a certificate, which is an identity, too */
    char            *auth;      /* "user:password", or NULL */
    char            *acl;       /* "creator", "open", or "scheme:id,..." */
};

int  hf_zk_config_init(struct hf_zk_config *ret, const struct hf_config *config,
                       char *errmsg);
void hf_zk_config_finish(struct hf_zk_config *config);

/* ---- call.c ------------------------------------------------------------------------ */

struct hf_zk_reply {
    int                 error; /* enum hf_zk_error */
    int64_t             zxid;  /* of a write: its own */
    struct hf_zk_reader body;
};

typedef void hf_zk_on_reply(struct hf_zk *zk, void *data, struct hf_zk_reply *reply);

/* An on_reply for answers that nobody needs: it frees `data`, which may be NULL. */
hf_zk_on_reply hf_zk_ignore;

/* Part of whoever makes the call; must stay in place until it is answered. */
struct hf_zk_call {
    int32_t            xid;
    enum hf_zk_opcode  opcode;
    hf_time            sent;
    hf_zk_on_reply    *on_reply;
    void              *data;
    struct hf_zk_call *next;
    bool               flying;
};

struct hf_zk_calls {
    struct hf_zk_call  *first, *last;
    struct hf_zk_writer out;
    size_t              begin; /* where the last message begins in it */
    int32_t             xid;
};

/* Begin a message, and end it; what it says is put to zk->calls.out between. */
void hf_zk_call_begin(struct hf_zk *zk, struct hf_zk_call *call, enum hf_zk_opcode opcode,
                      hf_zk_on_reply *on_reply, void *data);
void hf_zk_call_end(struct hf_zk *zk);

void hf_zk_call_create(struct hf_zk *zk, struct hf_zk_call *call, const char *path,
                       const char *text, enum hf_zk_mode mode, hf_zk_on_reply *on_reply,
                       void *data);
void hf_zk_call_delete(struct hf_zk *zk, struct hf_zk_call *call, const char *path,
                       hf_zk_on_reply *on_reply, void *data);
/* GET_DATA, GET_CHILDREN2, EXISTS and the like.  They set no watch: set_watches.c does. */
void hf_zk_call_get(struct hf_zk *zk, struct hf_zk_call *call, enum hf_zk_opcode opcode,
                    const char *path, hf_zk_on_reply *on_reply, void *data);
/* Is that node there?  A write that changes nothing: the leader says so, and a quorum agrees. */
void hf_zk_call_check(struct hf_zk *zk, struct hf_zk_call *call, const char *path,
                      hf_zk_on_reply *on_reply, void *data);
/* A call behind it shows all that had been done by then.  It is a write that a quorum
 * takes and that changes nothing, whether `path` is there or not.  `sync` would not do:
 * a leader that was deposed and does not know it answers that, too. */
void hf_zk_call_barrier(struct hf_zk *zk, struct hf_zk_call *call, const char *path);
void hf_zk_call_set(struct hf_zk *zk, struct hf_zk_call *call, const char *path,
                    const char *text, size_t size, int32_t version,
                    hf_zk_on_reply *on_reply, void *data);

/* A MULTI: begin it, put its parts, end it. */
void hf_zk_multi_begin(struct hf_zk *zk, struct hf_zk_call *call,
                       hf_zk_on_reply *on_reply, void *data);
void hf_zk_multi_create(struct hf_zk *zk, const char *path, const char *text,
                        enum hf_zk_mode mode);
void hf_zk_multi_delete(struct hf_zk *zk, const char *path);
void hf_zk_multi_check(struct hf_zk *zk, const char *path);
void hf_zk_multi_end(struct hf_zk *zk);

/* Of the answer to a MULTI that failed: the error of its part `index`. */
int hf_zk_multi_error(const struct hf_zk_reply *reply, size_t index);
/* One that succeeded: the path that its next create made, "" if the answer makes no sense, and
 * its stat. */
struct hf_zk_text hf_zk_multi_made(const struct hf_zk *zk, struct hf_zk_reply *reply,
                                   struct hf_zk_stat *stat);

/* Take the answer to the oldest call.  False: that one has another xid, or there is none. */
bool hf_zk_calls_answer(struct hf_zk *zk, int32_t xid, struct hf_zk_reply reply,
                        hf_time answered);

/* The connection broke: answer them all so. */
void hf_zk_calls_fail(struct hf_zk *zk);

/* What the caller should be told about an error of ZooKeeper's: HF_E..., and the
 * message in base.errmsg. */
int hf_zk_fault(struct hf_zk *zk, int error, const char *what, const char *path);

/* ---- link.c ------------------------------------------------------------------------ */

struct hf_zk_link {
    hf_time        greeted; /* when the connect request was sent */
    unsigned char *in;      /* a frame and more */
    size_t         used, room;
    size_t         skip; /* bytes to come that nobody wants */

    int64_t       session; /* 0: none */
    unsigned char password[16];
    int64_t       zxid;    /* highest seen, on connections that were READY; 0: none */
    hf_time       timeout; /* the least that this session ever had */

    struct hf_zk_call proof;    /* does the server know all that we have seen? */
    bool              executes; /* the session is that of a will, and to be ended */
    struct hf_zk_call end;      /* ... by this */
};

void hf_zk_link_init(struct hf_zk *zk, uint64_t seed);
void hf_zk_link_finish(struct hf_zk *zk);

/* The first messages on a connection: connect, in a session or (0) in a new one; then who we
 * are, if we have a user. */
void hf_zk_put_connect(const struct hf_zk *zk, int64_t session,
                       const unsigned char password[16], struct hf_zk_writer *out);
void hf_zk_put_auth(const struct hf_zk *zk, struct hf_zk_writer *out);

/* Send what was called. */
void hf_zk_link_flush(struct hf_zk *zk);

/* frames.c: take what has come. */
void hf_zk_frames_read(struct hf_dial *dial);

/* Our session is dead: all that was in it is gone.  `why` is a clause about the server. */
void hf_zk_link_lose(struct hf_zk *zk, const char *why);

/* The server has ended it, as we wanted. */
void hf_zk_link_end(struct hf_zk *zk);

/* An answer showed this zxid. */
void hf_zk_link_saw(struct hf_zk *zk, int64_t zxid);

/* Are we in our session on this connection?  READY follows, if not at once: see link.c. */
bool hf_zk_link_is_greeted(const struct hf_zk *zk);

/* The first frame on a connection has come. */
void hf_zk_link_take_greeting(struct hf_zk *zk, struct hf_zk_reader frame,
                              hf_time answered);

/* ---- will.c ------------------------------------------------------------------------ */

/* For struct hf_store_impl. */
int hf_zk_will_write(struct hf_store *store, void *ret);

/* open(): have the session of config->will; HF_EINVAL: it is of none. */
int hf_zk_will_read(struct hf_zk *zk, const struct hf_config *config, char *errmsg);

/* Greeted: end the session that we are in.  It is LOST when that is answered. */
void hf_zk_will_execute(struct hf_zk *zk);

/* ---- beat.c ------------------------------------------------------------------------ */

#define HF_ZK_BEAT_CHECKS 64 /* places proven by one heartbeat */

struct hf_zk_beat {
    struct hf_lease_quorum lease;
    struct hf_zk_call      call;
    struct hf_zk_call      kick;
    uint64_t               checked[HF_ZK_BEAT_CHECKS]; /* ids */
    size_t                 checks;
    uint64_t               after; /* id of the last one checked: go on there */
    hf_time                wrote; /* when the last committed write was sent */
    hf_time                tried; /* last heartbeat sent */
    hf_time                began; /* when the connection was made */
    hf_time                spoke; /* last anything sent */
    hf_time                heard; /* last anything received */
    hf_time                kicked;
    hf_time                pinged; /* 0: no ping in flight */
};

/* A greeting came, in the same session.  Its timeout counts even if the connection will
 * not be used: the servers count by it. */
void    hf_zk_beat_greeted(struct hf_zk *zk, hf_time timeout, hf_time answered);
void    hf_zk_beat_start(struct hf_zk *zk, hf_time timeout, hf_time answered, bool fresh);
void    hf_zk_beat_run(struct hf_zk *zk);
hf_time hf_zk_beat_wake(const struct hf_zk *zk);
void hf_zk_beat_heard(struct hf_zk *zk, hf_time sent, hf_time answered, bool committed);
void hf_zk_beat_pong(struct hf_zk *zk, hf_time answered);

#endif
