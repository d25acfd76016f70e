/* dial.h - the way to a server: found, connected to, greeted, and found again.
 *
 *     RESTING --> RESOLVING --> CONNECTING --> GREETING --> READY
 *        ^            |              |          |    ^        |
 *        |            |              |          |    +--------+  the same hello, again
 *        +------------+--------------+----------+-------------+  it broke, or was refused
 *
 *     state       what is going on                 it ends by
 *     RESTING     nothing, until `due`             the time; `may_begin`
 *     RESOLVING   where is it?  A name is looked   an address; no such host; `due`
 *                 up, or somebody else is asked
 *     CONNECTING  to one address                   the stream, or what it is, is open; it
 *                                                  cannot be; `due`
 *     GREETING    the server is told who we are,   hf_dial_ready(); hanging up; `due`, if
 *                 and says who it is               the store has not put that off
 *     READY       requests and answers             hanging up, or the store gives it up
 *
 * Happy path: the next server's name is looked up without waiting, its first address is
 * connected to, the server greeted; the store says when it is ready.
 *
 * Failures: each step has a limit, and the next address or server is tried at once.  When
 * all servers were tried that is a round, and there is a pause that grows from round to
 * round; but it stays short of a session that is running out meanwhile.  A failure that
 * will not go away soon is a refusal: the link is UP for show, so that every request is
 * told why at once.  It is tried again a second later.  If one of several servers will not
 * have us, for a wrong password say, the others are tried first.
 *
 * Whatever ends a connection, `over` is called once RESTING is the state: it answers calls
 * in flight.  A request that is begun meanwhile finds that there is no connection.
 *
 * A dial may be the store's link, or one of several beside it, as to Redis's Sentinels.
 *
 *   dial.c    the states, and their times       over.c   how it ends, and who is next
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

/* One of these per kind of connection, `static const`.  What may be NULL says so. */
struct hf_dial_ops {
    const char *kind;   /* "Redis": errmsg is "Redis at HOST:PORT why" */
    const char *plain;  /* "redis:" and "rediss:", if a URL has the wrong one; */
    const char *secure; /* ... NULL: there is no such choice */
    const char
        *doubt; /* about one that is silent, or hangs up, when it is greeted; NULL */

    bool is_link; /* its state is the store's link */
    bool shuffle; /* the servers are tried in random order, else as they are named */
    bool loyal;   /* a server that was READY, or refused us, is tried again first */

    /* The step that has only what is left of the limit of the step before; RESTING: each
     * has a limit of its own. */
    enum hf_dial_phase shares;

    /* May it begin?  If not, the store sees to it that process() is called when it may.
     * NULL: yes. */
    bool (*may_begin)(const struct hf_dial *dial);

    /* RESOLVING: set `here`, then call hf_dial_look_up() or hf_dial_connect(); or later,
     * when it is known.  NULL: hf_dial_choose() and hf_dial_look_up(). */
    void (*find)(struct hf_dial *dial);

    /* CONNECTING, if that is not by `stream`: begin; and go on, until hf_dial_greet().
     * `address` NULL: nothing was looked up.  NULL: it is a stream. */
    void (*connect)(struct hf_dial *dial, const struct hf_address *address);
    void (*step)(struct hf_dial *dial);

    void (*greet)(struct hf_dial *dial); /* GREETING: say it */
    void (*read)(struct hf_dial *dial);  /* GREETING, READY: there may be something */
    void (*over)(struct hf_dial *dial);  /* RESTING: there is no connection any more */

    /* How long the step that begins may take, by dial->phase; HF_NEVER: for ever. */
    hf_time (*patience)(const struct hf_dial *dial);
    /* How long a pause may be; NULL: as long as it will. */
    hf_time (*pause_most)(const struct hf_dial *dial);
    /* It took longer, and was no look-up: a clause about the server.  NULL: that it does
     * not answer. */
    void (*late)(const struct hf_dial *dial, char *ret, size_t size);
    /* The server, for errmsg.  NULL: `here`. */
    const char *(*show)(const struct hf_dial *dial, char *ret, size_t size);
    /* Is nobody to hear of its failures?  NULL: somebody is. */
    bool (*is_quiet)(const struct hf_dial *dial);
};

struct hf_dial {
    /* The owner's: set before hf_dial_init(), all else zero. */
    const struct hf_dial_ops *ops;
    struct hf_store          *store;
    const hf_time            *now; /* as process() was told */
    const struct hf_server   *list;
    size_t                    servers; /* of the list */
    struct hf_tls            *tls;     /* NULL: plain */
    bool beside; /* several dials are one round, and this is not the last of them */

    /* To be read by the owner. */
    enum hf_dial_phase phase;
    struct hf_server   here;    /* being tried or in use, or the last that was */
    size_t             server;  /* ... its index in the list, if it is of that */
    struct hf_address  at;      /* ... its address */
    int                refusal; /* the HF_E... of everything; 0: none */
    size_t             tried;   /* servers in a row, without success */
    unsigned           rounds;  /* of all of them, without success */
    unsigned           slow;    /* greetings in a row that took too long */
    unsigned           opened;  /* connections so far: tells one from the next */
    hf_time            heard;   /* when something was last read; 0: never, on this one */

    /* To be set by the owner, too. */
    bool more;   /* there is something to be read of which epoll does not know */
    bool detour; /* `find` knows a better server: go there at once, and do not
                                count this one as tried */
    struct hf_stream stream; /* unless ops->connect is another way */
    struct hf_polled polled; /* of the look-up, then of the connection */

    /* The dial's own. */
    hf_time            due; /* RESTING: begin then; else give up then */
    struct hf_resolve *resolve;
    struct hf_address  address[HF_RESOLVE_MAX];
    int                addresses, next_address;
    unsigned char      order[HF_SERVERS_MAX];
    size_t             next; /* in that order */
    struct hf_retry    retry;
    int                denial; /* a server of this round will not have us: why, ... */
    char               denied[HF_ERRMSG_MAX]; /* ... and as errmsg said it */
};

/* ---- dial.c --------------------------------------------------------------------- */

void hf_dial_init(struct hf_dial *dial, uint64_t seed);

/* End it without a word: RESTING, and `over` is called if there was anything to end.  To
 * be begun again at once, unless this was for good. */
void hf_dial_close(struct hf_dial *dial);

/* Go on, as far as that needs no waiting.  `readable`: the store's descriptor is, or
 * nobody looked. */
void    hf_dial_run(struct hf_dial *dial, bool readable);
hf_time hf_dial_wake(const struct hf_dial *dial);

/* 1: READY; 0: not yet; else the refusal. */
int hf_dial_status(const struct hf_dial *dial);

/* GREETING: the connection is open.  Called by ops->step. */
void hf_dial_greet(struct hf_dial *dial);

/* GREETING to READY: the link is UP, errmsg empty. */
void hf_dial_ready(struct hf_dial *dial);

/* The server does more than greet us: the next pause is a short one. */
void hf_dial_proven(struct hf_dial *dial);

/* Back to GREETING, on the same connection; silence is noticed by the store. */
void hf_dial_greet_again(struct hf_dial *dial);

/* The step under way may take as long as ops->patience says, from now on; or for ever:
 * the store notices silence. */
void hf_dial_allow(struct hf_dial *dial);
void hf_dial_allow_all(struct hf_dial *dial);

/* For find.c: the step that begins has a limit, or shares one. */
void hf_dial_limit(struct hf_dial *dial);

/* `limit`, doubled so many times, and `most` at most. */
hf_time hf_dial_doubled(hf_time limit, unsigned times, hf_time most);

/* ---- find.c --------------------------------------------------------------------- */

/* The next of the list is `here`. */
void hf_dial_choose(struct hf_dial *dial);
/* RESTING: the index of the server that will be tried next. */
size_t hf_dial_next_server(const struct hf_dial *dial);

/* RESOLVING: look `here` up; or connect to an address of it, NULL: ops->connect knows. */
void hf_dial_look_up(struct hf_dial *dial);
void hf_dial_connect(struct hf_dial *dial, const struct hf_address *address);

/* RESOLVING, and it is for somebody else to find out where. */
bool hf_dial_is_sought(const struct hf_dial *dial);

/* For dial.c and over.c: the next address of the same server; a look-up that may be over,
 * or is not wanted any more. */
void hf_dial_connect_next(struct hf_dial *dial);
void hf_dial_take_addresses(struct hf_dial *dial);
void hf_dial_end_look_up(struct hf_dial *dial);

/* ---- over.c ------------------------------------------------------------------------
 *
 * All of them do nothing if it is RESTING.  `why` is a clause about the server, "does not
 * answer"; NULL: errmsg says it already. */

/* Give the connection up, and try again soon. */
void hf_dial_break(struct hf_dial *dial, const char *why);
/* The same: the server is not there, or not to be found. */
void hf_dial_absent(struct hf_dial *dial, const char *why);
/* The same: it is there and hangs.  Another one comes first, whatever ops->loyal says. */
void hf_dial_hung(struct hf_dial *dial, const char *why);
/* The same: it will not have us.  If no other server has us either, that becomes a
 * refusal when the round is over. */
void hf_dial_deny(struct hf_dial *dial, int status, const char *why);
/* A refusal, whatever other servers would say. */
void hf_dial_refuse(struct hf_dial *dial, int status, const char *why);

/* errmsg: "KIND at HOST:PORT why". */
void        hf_dial_say(struct hf_dial *dial, const char *why);
const char *hf_dial_show(const struct hf_dial *dial, char *ret, size_t size);

/* ---- stream.c ------------------------------------------------------------------- */

/* Read from the stream: how many bytes; 0: none now, or it broke and was given up. */
size_t hf_dial_read(struct hf_dial *dial, void *ret, size_t size);

/* Send what can be sent, and have epoll look for the rest. */
void hf_dial_flush(struct hf_dial *dial);

/* For dial.c and find.c. */
void hf_dial_stream_open(struct hf_dial *dial, const struct hf_address *address);
void hf_dial_stream_step(struct hf_dial *dial);

#endif
