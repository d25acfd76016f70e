/* link.h - the URL, the session on its connection, and the heartbeat of the ZooKeeper
 * store.
 *
 *   address.c  parses the URL
 *   link.c     the session; store/remote/dial.h has the connection
 *   frames.c   splits what a server sends into frames: answers, events, the greeting
 *   beat.c     pings, heartbeats through a quorum, the deadline
 */
#ifndef HF_ZK_LINK_H
#define HF_ZK_LINK_H

#include "core/lease.h"
#include "net/stream.h"
#include "net/tls.h"
#include "store/remote/dial.h"
#include "store/zookeeper/line/names.h"
#include "store/zookeeper/wire/call.h"

/* ---- address.c ---------------------------------------------------------------------- */

#define HF_ZK_SERVERS HF_SERVERS_MAX
#define HF_ZK_CHROOT  256
#define HF_ZK_ACL_MAX 1024

struct hf_zk_config {
    struct hf_server server[HF_ZK_SERVERS];
    size_t           servers;
    char             chroot[HF_ZK_CHROOT]; /* "" or "/a/b" */
    int              session_ms;           /* as requested in the URL */
    int              buffer;               /* jute.maxbuffer of the servers */
    enum hf_zk_style style;                /* of new places */
    bool             secure;
    bool             init; /* create the chroot */
    bool  certified;       /* we have a client certificate, which is an identity, too */
    char *auth;            /* "user:password", or NULL */
    char *former;          /* what `auth` was before the file changed, or NULL */
    char *auth_file;       /* NULL: none */
    char *acl;             /* "creator", "open", or "scheme:id,..." */
};

/* When a session ends, a server sends the paths of all its nodes in one piece.  One that
 * is too long for the others stops them all, for good.  So this is the most that a session
 * may have. */
size_t hf_zk_config_most(const struct hf_zk_config *config);

int  hf_zk_config_init(struct hf_zk_config *ret, const struct hf_config *config,
                       char *errmsg);
void hf_zk_config_finish(struct hf_zk_config *config);

/* Read the file again, if there is one; what is wrong with it changes nothing. */
void hf_zk_config_reread(struct hf_zk_config *config);

/* ---- link.c ------------------------------------------------------------------------- */

struct hf_zk_link {
    hf_time        greeted; /* when the connect request was sent */
    unsigned char *in;      /* received bytes: a frame and more */
    size_t         used, room;
    size_t         skip; /* bytes still to come that are to be thrown away */

    int64_t       session; /* 0: none */
    unsigned char password[16];
    int64_t       zxid;    /* highest seen, on connections that were READY; 0: none */
    hf_time       timeout; /* the shortest that this session ever had */

    struct hf_zk_call proof; /* the write that shows whether the server is up to date */
    struct hf_zk_call end;   /* CLOSE */
    bool ends_session; /* opened with a session key: only to end that key's session */
};

void hf_zk_link_init(struct hf_zk *zk, uint64_t seed);
void hf_zk_link_finish(struct hf_zk *zk);

/* The first messages on a connection: connect, to a session or (0) for a new one; then
 * user and password, if there are any. */
void hf_zk_put_connect(const struct hf_zk *zk, int64_t session,
                       const unsigned char password[16], struct hf_zk_writer *out);
void hf_zk_put_auth(struct hf_zk *zk, struct hf_zk_writer *out);

/* Send the calls that were put into the buffer. */
void hf_zk_link_flush(struct hf_zk *zk);

/* The session is dead, with everything in it.  `why` is a clause about the server. */
void hf_zk_link_lose(struct hf_zk *zk, const char *why);

/* The server has closed the session because we sent CLOSE. */
void hf_zk_link_end(struct hf_zk *zk);

/* An answer carried this zxid. */
void hf_zk_link_saw(struct hf_zk *zk, int64_t zxid);

/* Has the server accepted our session on this connection?  It may not be READY yet: see
 * link.c. */
bool hf_zk_link_is_greeted(const struct hf_zk *zk);

/* The first frame on a connection has arrived. */
void hf_zk_link_take_greeting(struct hf_zk *zk, struct hf_zk_reader frame,
                              hf_time answered);

/* frames.c: read and handle what has arrived. */
void hf_zk_frames_read(struct hf_dial *dial);

/* ---- session_key.c ------------------------------------------------------------------ */

/* For struct hf_store_impl. */
int hf_zk_session_key_write(struct hf_store *store, void *ret);
/* open(): take over the session of config->key.  HF_EINVAL: that is not a ZooKeeper
 * session. */
int hf_zk_session_key_read(struct hf_zk *zk, const struct hf_config *config,
                           char *errmsg);
/* Send CLOSE for the session that we are in.  It is LOST when that is answered. */
void hf_zk_end_session(struct hf_zk *zk);

/* ---- beat.c ------------------------------------------------------------------------- */

#define HF_ZK_BEAT_CHECKS 64 /* places checked by one heartbeat */

struct hf_zk_beat {
    struct hf_lease_quorum lease;
    struct hf_zk_call      call;
    struct hf_zk_call      kick;
    uint64_t               checked[HF_ZK_BEAT_CHECKS]; /* ids */
    size_t                 checks;
    uint64_t               after; /* id of the last one checked: continue there */
    hf_time                wrote; /* when the last committed write was sent */
    hf_time                tried; /* last heartbeat sent */
    hf_time                began; /* when the connection was made */
    hf_time                spoke; /* last anything sent */
    hf_time                heard; /* last anything received */
    hf_time                kicked;
    hf_time                pinged; /* 0: no ping in flight */
};

/* A greeting came, in the same session.  Its timeout counts even if the connection will
 * not be used: the servers go by it. */
void    hf_zk_beat_greeted(struct hf_zk *zk, hf_time timeout, hf_time answered);
void    hf_zk_beat_start(struct hf_zk *zk, hf_time timeout, hf_time answered, bool fresh);
void    hf_zk_beat_run(struct hf_zk *zk);
hf_time hf_zk_beat_wake(const struct hf_zk *zk);
void hf_zk_beat_heard(struct hf_zk *zk, hf_time sent, hf_time answered, bool committed);
void hf_zk_beat_pong(struct hf_zk *zk, hf_time answered);

#endif
