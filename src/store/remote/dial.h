/* dial.h - the way to a server: find it, connect, greet it; and again when that breaks.
 *
 *     RESTING --> RESOLVING --> CONNECTING --> GREETING --> READY
 *        ^            |              |          |    ^        |
 *        |            |              |          |    +--------+  the same hello, again
 *        +------------+--------------+----------+-------------+  it broke, or was refused
 *
 *     state       meaning                          it ends by
 *     RESTING     a pause, until `due`             the time; `may_begin`
 *     RESOLVING   a name is looked up, or others   an address; no such host; `due`
 *                 are asked where the server is
 *     CONNECTING  to one address                   it is open, or fails; `due`
 *     GREETING    client and server introduce      hf_dial_ready(); hanging up; `due`,
 *                 themselves                       unless the store has put that off
 *     READY       requests and answers             hanging up, or the store gives it up
 *
 * Happy path: look up the next server's name without waiting, connect to its first
 * address, greet the server; the store says when it is ready.
 *
 * Failures: each step has a limit, and the next address or server is tried at once.
 * When all servers were tried, that is a round; then comes a pause, which grows from
 * round to round, but stays short while a session is running out.  A name may stand for
 * several servers, so until one is READY a failure of any kind leads to the next address,
 * and the next look-up goes on behind the address that was tried last.  A failure that will
 * not go away soon is a refusal: the link is reported as UP, and every request fails
 * with the reason at once.  We try again a second later.  If one of several servers
 * rejects us, for a wrong password say, the others are tried first.
 *
 * However a connection ends, `over` is called once the state is RESTING, to answer the
 * calls in flight.  A request that is begun meanwhile finds that there is no
 * connection.
 *
 * A dial may be the store's link, or one of several beside it, as to Redis's Sentinels.
 *
 *   dial.c    the states, and their times       over.c   how it ends; the next server
 *   find.c    look-up and addresses             stream.c a connection that is a stream
 */
#ifndef HF_REMOTE_DIAL_H
#define HF_REMOTE_DIAL_H

#include "core/retry.h"
#include "net/resolve.h"
#include "net/stream.h"
#include "net/tls.h"
#include "store/remote/poll.h"
#include "store/remote/server.h"
#include "store/store.h"

struct hf_dial;

enum hf_dial_phase {
    HF_DIAL_RESTING,
    HF_DIAL_RESOLVING,
    HF_DIAL_CONNECTING,
    HF_DIAL_GREETING,
    HF_DIAL_READY,
};

/* One of these per kind of connection, `static const`.  Members may be NULL where it
 * says so. */
struct hf_dial_ops {
    const char *kind;   /* "Redis": errmsg is "Redis at HOST:PORT why" */
    const char *plain;  /* "redis:" and "rediss:", if a URL has the wrong one; */
    const char *secure; /* ... NULL: there is no such choice */
    const char
        *doubt; /* why a server may be silent or hang up during the greeting; or NULL */

    bool is_link; /* its state is the store's link */
    bool shuffle; /* try the servers in random order, else in the URL's order */
    bool loyal;   /* try a server that was READY, or refused us, again first, and by the
                     same address */

    /* The step that only gets the rest of the previous step's limit; RESTING: each step
     * has a limit of its own. */
    enum hf_dial_phase shares;

    /* May it begin?  If not, the store makes sure that process() is called when it may.
     * NULL: yes. */
    bool (*may_begin)(const struct hf_dial *dial);

    /* RESOLVING: set `here`, then call hf_dial_look_up() or hf_dial_connect(), now or
     * when it is known.  NULL: hf_dial_choose() and hf_dial_look_up(). */
    void (*find)(struct hf_dial *dial);

    /* CONNECTING, if not by `stream`: begin, and continue until hf_dial_greet().
     * `address` NULL: nothing was looked up.  Both NULL: it is a stream. */
    void (*connect)(struct hf_dial *dial, const struct hf_address *address);
    void (*step)(struct hf_dial *dial);

    void (*greet)(struct hf_dial *dial); /* GREETING: send the greeting */
    void (*read)(
        struct hf_dial *dial); /* GREETING, READY: there may be something to read */
    void (*over)(struct hf_dial *dial); /* RESTING: the connection is gone */

    /* How long the step that begins may take, by dial->phase; HF_NEVER: no limit. */
    hf_time (*patience)(const struct hf_dial *dial);
    /* The longest pause; NULL: no limit. */
    hf_time (*pause_most)(const struct hf_dial *dial);
    /* A step other than a look-up took too long: the text to follow the server's name.
     * NULL: "does not answer". */
    void (*late)(const struct hf_dial *dial, char *ret, size_t size);
    /* The server, for errmsg.  NULL: `here`. */
    const char *(*show)(const struct hf_dial *dial, char *ret, size_t size);
    /* Should its failures go unreported?  NULL: no. */
    bool (*is_quiet)(const struct hf_dial *dial);
};

struct hf_dial {
    /* Set by the owner before hf_dial_init(), all else zero. */
    const struct hf_dial_ops *ops;
    struct hf_store          *store;
    const hf_time            *now; /* of the process() in progress */
    const struct hf_server   *list;
    size_t                    servers; /* in the list */
    struct hf_tls            *tls;     /* NULL: plain */
    bool beside; /* several dials make one round, and this is not the last of them */

    /* Read by the owner. */
    enum hf_dial_phase phase;
    struct hf_server   here;    /* the server being tried or in use, or the last one */
    size_t             server;  /* ... its index, if it is in the list */
    struct hf_address  at;      /* ... its address */
    int                refusal; /* the HF_E... with which all requests fail; 0: none */
    size_t             tried;   /* servers in a row without success */
    unsigned           rounds;  /* rounds in a row without success */
    unsigned           slow;    /* greetings in a row that took too long */
    unsigned           opened;  /* connections so far, to tell one from the next */
    hf_time heard; /* when something was last read; 0: nothing on this connection */

    /* Also set by the owner. */
    bool more;   /* there is more to read, though epoll does not say so */
    bool detour; /* `find` knows a better server: go there, and do not count this try */
    struct hf_stream stream; /* unless ops->connect is used */
    struct hf_polled polled; /* of the look-up, then of the connection */

    /* The dial's own. */
    hf_time            due; /* RESTING: begin then; else give up then */
    struct hf_resolve *resolve;
    struct hf_address  address[HF_RESOLVE_MAX];
    int                addresses, next_address; /* until READY */
    bool               stays; /* begin with the address that was tried last */
    unsigned char      order[HF_SERVERS_MAX];
    size_t             next; /* index into `order` */
    struct hf_retry    retry;
    int                denial; /* a server of this round rejected us: why, ... */
    char               denied[HF_ERRMSG_MAX]; /* ... and errmsg then */
};

/* ---- dial.c ------------------------------------------------------------------- */

void hf_dial_init(struct hf_dial *dial, uint64_t seed);

/* End it silently: RESTING; `over` is called if there was a connection.  The next run
 * begins again, unless there is none. */
void hf_dial_close(struct hf_dial *dial);

/* Go on as far as possible without waiting.  `readable`: the store's descriptor is
 * readable, or may be. */
void    hf_dial_run(struct hf_dial *dial, bool readable);
hf_time hf_dial_wake(const struct hf_dial *dial);

/* CONNECTING, GREETING: is there no other server, and no other address, to try? */
bool hf_dial_is_alone(const struct hf_dial *dial);

/* 1: READY; 0: not yet; else the refusal. */
int hf_dial_status(const struct hf_dial *dial);

/* GREETING: the connection is open.  Called by ops->step. */
void hf_dial_greet(struct hf_dial *dial);

/* GREETING to READY: the link is UP, errmsg empty. */
void hf_dial_ready(struct hf_dial *dial);

/* The server does more than greet us: the next pause will be short. */
void hf_dial_proven(struct hf_dial *dial);

/* Back to GREETING on the same connection; the store notices silence. */
void hf_dial_greet_again(struct hf_dial *dial);

/* The current step may take as long as ops->patience says, from now on; or any time,
 * because the store notices silence. */
void hf_dial_allow(struct hf_dial *dial);
void hf_dial_allow_all(struct hf_dial *dial);

/* For find.c: set the limit of the step that begins, or let it share the previous one. */
void hf_dial_limit(struct hf_dial *dial);

/* `limit`, doubled so many times, but no more than `most`. */
hf_time hf_dial_doubled(hf_time limit, unsigned times, hf_time most);

/* ---- find.c ------------------------------------------------------------------- */

/* Make the next server of the list `here`. */
void hf_dial_choose(struct hf_dial *dial);
/* RESTING: the index of the server that will be tried next. */
size_t hf_dial_next_server(const struct hf_dial *dial);

/* RESOLVING: look `here` up; or connect to this address, NULL: ops->connect knows it. */
void hf_dial_look_up(struct hf_dial *dial);
void hf_dial_connect(struct hf_dial *dial, const struct hf_address *address);

/* The same, to a Unix socket; the path has 107 bytes at most. */
void hf_dial_connect_path(struct hf_dial *dial, const char *path);

/* RESOLVING without a look-up: others find out where the server is. */
bool hf_dial_is_sought(const struct hf_dial *dial);

/* For dial.c and over.c: connect to the next address of the same server; take the
 * result of a look-up, or drop it. */
void hf_dial_connect_next(struct hf_dial *dial);
void hf_dial_take_addresses(struct hf_dial *dial);
void hf_dial_end_look_up(struct hf_dial *dial);

/* ---- over.c ----------------------------------------------------------------------
 *
 * All of them do nothing if it is RESTING.  `why` follows the server's name in errmsg:
 * "does not answer"; NULL: errmsg is set already. */

/* Give the connection up, and try again soon. */
void hf_dial_break(struct hf_dial *dial, const char *why);
/* The same: the server does not resolve, or refuses the connection. */
void hf_dial_absent(struct hf_dial *dial, const char *why);
/* The same: it is there but hangs.  Another one is tried first, whatever ops->loyal
 * says. */
void hf_dial_hung(struct hf_dial *dial, const char *why);
/* The same: it rejects us.  If no other server accepts us either, that becomes a
 * refusal at the end of the round. */
void hf_dial_deny(struct hf_dial *dial, int status, const char *why);
/* A refusal, whatever other servers would say. */
void hf_dial_refuse(struct hf_dial *dial, int status, const char *why);

/* errmsg: "KIND at HOST:PORT why". */
void        hf_dial_say(struct hf_dial *dial, const char *why);
const char *hf_dial_show(const struct hf_dial *dial, char *ret, size_t size);

/* ---- stream.c ----------------------------------------------------------------- */

/* Read from the stream.  Returns how many bytes; 0: none now, or it broke and was given
 * up. */
size_t hf_dial_read(struct hf_dial *dial, void *ret, size_t size);

/* Send what can be sent, and let epoll wait for the rest. */
void hf_dial_flush(struct hf_dial *dial);

/* For dial.c and find.c. */
void hf_dial_stream_open(struct hf_dial *dial, const struct hf_address *address);
void hf_dial_stream_step(struct hf_dial *dial);

#endif
