/* store.h - what Holdfast requires of a store.
 *
 * A store keeps a line of places for each lock.  Every place belongs to a session, one
 * per opened store.  The verbs:
 *
 *   ENTER   take a place at the end of a line.  The answer is its standing.  HF_EBUSY:
 *           with `only_free` a place is taken only if it is granted at once, and it
 *           would not be; then the line has no place of ours.  HF_EMISMATCH: the places
 *           ahead are of another kind.  HF_ECORRUPT: one of them makes no sense
 *           (hf_store_invalid).  HF_EFULL: see `limit`
 *   WATCH   by id: completes when the standing of our own place differs from the one
 *           that the caller knows; the answer is the new one.  A caller that knows
 *           nothing is answered at once.  HF_EMISMATCH, HF_ECORRUPT: the line makes no
 *           sense any more.  By name, id 0: completes when the place with that token has
 *           left; without a token, when the line may have changed since `stamp`
 *   LEAVE   give our own place up
 *   LIST    all places of one line, or of all lines, with notes
 *   BREAK   take a place away from its owner, by its token.  HF_ENOTFOUND: it is gone
 *   DOWNGRADE
 *           reduce the weight of our own place; it keeps its seq and token, and places
 *           behind it that fit now are granted.  The answer is its standing
 *   ASK     leave a reason at a place, by its token, why its owner should give it up;
 *           that changes the standing of a holder.  HF_ENOTFOUND: it is gone
 *   VERIFY  is a place held, by the rule of every grant?  Checked in the strictest way
 *           that the store offers: our own place by its id, any place by its token (id
 *           0).  0 or HF_ELOST.  Where there is a lease, verifying our own place renews
 *           it
 *   DIAGNOSE
 *           findings for a person: about the store, and about one line if a name is given
 *   WATCH_STORE
 *           completes when any line may have changed; see `changed`.  The first one of a
 *           session completes at once.  From then on the store remembers which lines
 *           change, until the next WATCH_STORE, so that no change is missed between two
 *           of them; canceling one ends this.  One at a time
 *   HISTORY past events of one line, or of all lines; see `entry`
 *
 * Not every store can do WATCH_STORE and HISTORY: struct hf_store_impl says so, and
 * then the store never gets one.
 *
 * Promises.  test/promise has one program for each; a store is done when it
 * passes them all.  It may be slow, but never wrong about any of them.
 *
 *   S1 order   No place ever becomes visible ahead of one already seen.
 *   S2 once    ENTER, LEAVE and DOWNGRADE may be repeated with the same id after a
 *              lost answer; a repeat takes no second place and is no error.
 *   S3 wake    WATCH never completes too late, and events before it arrived count.  It
 *              may complete although nothing differs, but should not: the caller asks
 *              again after a pause.
 *   S4 tied    The places of a session vanish when it dies, and it does not die before
 *              `alive_until` as last reported.
 *   S5 fence   token rises with seq, and never falls back, not even when the
 *              line was empty, or deleted and created again in between.
 *   S6 stale   Once a session is up again, nothing sent on an earlier
 *              connection takes effect any more.
 *   S7 answer  Every request completes exactly once, from process(), never
 *              from inside submit() or cancel().
 *   S8 truth   LEAVE answers 0 only if the place was ours until then, and
 *              HF_ELOST if it was taken from us before.
 *   S9 key     A session key ends exactly its own session: all its places, at once, and
 *              none of any earlier or later session.
 *
 * Threads: a store is called by one thread at a time and starts none.
 */
#ifndef HF_STORE_H
#define HF_STORE_H

#include "base/clock.h"
#include "core/hold.h"
#include "core/line.h"
#include "holdfast.h"

#define HF_ERRMSG_MAX      256
#define HF_SESSION_KEY_MAX 256 /* the store's part of it, beside the URL */

/* A store that numbers the layout of its data adds this to the number.  It is not 0 in
 * a build that only tests use (cmake/Next.cmake): that one plays a later version. */
#ifndef HF_LAYOUT_BUMP
#define HF_LAYOUT_BUMP 0
#endif

/* One entry of the history: what happened to a place. */
struct hf_history_row {
    uint64_t        number; /* rising, without gaps; the oldest are deleted first */
    int64_t         time;   /* wall clock us */
    char            what;   /* one of HF_HISTORY_...; anything else is unknown */
    const char     *line;
    uint64_t        token;
    struct hf_shape shape;
    int             slot;   /* -1: none */
    const char     *note;   /* as in struct hf_place */
    const char     *reason; /* ASKED: why; BROKEN: by whom; else "" */
};

#define HF_HISTORY_ENTERED    'e' /* queues; a place granted at once has GRANTED only */
#define HF_HISTORY_GRANTED    'g'
#define HF_HISTORY_RELEASED   'r' /* by its holder */
#define HF_HISTORY_LEFT       'l' /* a waiter's place is gone, however it went */
#define HF_HISTORY_LOST       'x' /* a holder's session ended */
#define HF_HISTORY_BROKEN     'b' /* a holder's place, by BREAK */
#define HF_HISTORY_ASKED      'a'
#define HF_HISTORY_DOWNGRADED 'd'

/* One request.  The caller owns it and must keep it, and all it points to, in place
 * until done() is called.  Pointers in the answer are lent until done() returns.
 * done() may submit further requests, this one included. */
struct hf_req {
    enum hf_op      op;
    const char     *name;      /* of the line; LIST, HISTORY: NULL for all of them;
                                  WATCH_STORE: NULL */
    uint64_t        id;        /* ours to choose, rising within the session; WATCH:
                                  0 if we have no place in the line */
    struct hf_shape shape;     /* ENTER, DOWNGRADE */
    bool            only_free; /* ENTER */
    const char     *note;      /* ENTER: text for people, stored unchanged; ASK: why;
                                  BREAK: by whom, for the history */
    uint32_t        limit;     /* ENTER: HF_EFULL if that many wait already; 0: none */
    bool            follow;    /* WATCH by id: a change of `ahead` completes it, too */
    uint64_t        token; /* BREAK, ASK, and VERIFY and WATCH with id 0: which place */
    uint64_t group; /* ENTER: requests with the same number that are submitted before
                              the next process() take their places in one step, if the
                              store can (impl->groups): none does if one of them fails, or
                              is refused because of `only_free`; 0: by itself */
    uint64_t stamp; /* out of LIST, and of ENTER with HF_EBUSY: when the line was read,
                              by the store's own count; into WATCH by name: complete if
                              the line changed since; 0: not known.  HISTORY: in, the last
                              entry that the caller knows; out, the last one there is */
    /* WATCH by id: in, what the caller knows.  ENTER, DOWNGRADE and WATCH by id: out,
     * if the status is 0.  ENTER with HF_EBUSY: out, NONE, with the token of a place in
     * the way, or 0 if that is not known. */
    struct hf_standing standing;

    int                          status;  /* 0 or HF_E... */
    struct hf_line               line;    /* LIST: all places */
    const struct hf_finding     *finding; /* DIAGNOSE */
    size_t                       findings;
    const char *const           *changed; /* WATCH_STORE: the lines */
    size_t                       changes; /* 0: unknown which: list all */
    const struct hf_history_row *entry;   /* HISTORY: oldest first */
    size_t                       entries;

    void (*done)(struct hf_req *req);
    void   *data; /* for the caller */
    hf_time sent; /* for the caller */

    /* For the store, while the request is in flight. */
    struct hf_req *next;
    void          *work;
    bool           canceled;
};

/* Parsed URL and options; lent until open() returns. */
struct hf_config {
    const char *url;    /* all of it, for messages; passwords removed */
    const char *scheme; /* "sqlite" */
    const char *rest;   /* after "scheme:", without user and parameters */
    const char *user;   /* "user:password" of "//user:password@host", or NULL */
    const char *given;  /* all of it, with any password */
    int         ttl_ms;
    uint64_t    seed; /* for back-off */
    bool        init; /* create what clients do not create by themselves; see HF_INIT */

    /* NULL, or the key of a session that is to be ended, as written by impl->key().
     * Such a store has no session of its own, and never begins one.  It takes that
     * session over and ends it.  Its link becomes LOST as soon as that session is
     * certainly dead, whether it died by this or before.  If that fails, `refusal` says
     * why, and the store retries from time to time.  Nothing is submitted to such a
     * store.  open() answers HF_EINVAL if it cannot have written these bytes. */
    const void *key;
    size_t      key_size;

    const struct hf_param *param;
    size_t                 params;
};

struct hf_param {
    const char *key;
    const char *value;
};

/* The value of a URL parameter, or NULL. */
const char *hf_config_get(const struct hf_config *config, const char *key);

struct hf_store;

/* One of these for each scheme. */
struct hf_store_impl {
    const char *scheme; /* the URL scheme, e.g. "redis" */

    /* The names of its URL parameters, NULL at the end.  hf_store_open() refuses any
     * other; the value is read by hf_config_get() or the functions of param.h. */
    const char *const *params;

    bool groups;        /* it can enter several lines in one step; see struct hf_req */
    bool store_watches; /* it can do WATCH_STORE */
    bool recalls;       /* it can do HISTORY */
    bool users;         /* its URL may have a user */
    bool any;           /* its URL may have parameters that are not in `params` */

    /* Load the libraries that it needs (net/library.h); called before open().  NULL: it
     * needs none.  On failure `errmsg` tells a person what to install. */
    int (*load)(const char *scheme, char *errmsg, size_t size);

    /* Start, without waiting for a server.  On failure *ret is untouched and `errmsg`
     * (HF_ERRMSG_MAX bytes) tells a person why. */
    int (*open)(const struct hf_config *config, char *errmsg, struct hf_store **ret);

    /* End the session, then free.  Waits only a moment (0.1 s) for a server that does
     * not answer, and only if places would stay behind.  Requests still in flight,
     * which stay in place until then, are forgotten: their done() is not called. */
    void (*close)(struct hf_store *store);

    /* Accept a request.  Sets `wake` so that process() is called. */
    void (*submit)(struct hf_store *store, struct hf_req *req);

    /* Ask for an early end.  done() is still called, once: with HF_ECANCELED, and then
     * nothing was done, or with the answer.  hf_req_may_end() in requests.h says which
     * requests may end early. */
    void (*cancel)(struct hf_store *store, struct hf_req *req);

    /* Do what can be done without waiting, and call done() of requests that are finished.
     * `readable`: fd is readable, or nobody has polled it. */
    void (*process)(struct hf_store *store, hf_time now, bool readable);

    /* Write what another process needs to end this session (S9), HF_SESSION_KEY_MAX
     * bytes at most.  Returns how many; 0: there is no session yet; or HF_E..., with
     * errmsg.  The bytes stay valid for the whole session, on whatever connection.
     * NULL: sessions of this store cannot be ended by others. */
    int (*key)(struct hf_store *store, void *ret);

    /* See hf_lifeline() in holdfast.h; NULL if there is none. */
    int (*lifeline)(struct hf_store *store, int *fds, int size);

    /* See hf_schema() in holdfast.h; NULL if it needs no SQL.  Returns NULL if there is
     * no memory. */
    char *(*schema)(const char *role);
};

/* The part that all stores have.  Embed it first. */
struct hf_store {
    const struct hf_store_impl *impl;

    int     fd;   /* poll this for input; the same for the store's whole life */
    hf_time wake; /* call process() by then even if fd is not readable */

    bool shared;   /* other users can read it; set by open() */
    bool outlives; /* a session outlives its process, by its lease; set by open() */

    enum hf_link link;
    hf_time      alive_until; /* see S4; HF_NEVER where no lease is needed */
    hf_time      lease; /* of the session, if it outlives; valid while the link is up */
    char         errmsg[HF_ERRMSG_MAX]; /* of the last failure */

    /* HF_E...: why the store cannot be used at present, or why the session of
     * config->key cannot be ended; else 0.  A server's link is UP then, to answer
     * requests with the reason. */
    int refusal;

    /* Of stores with servers; see hf_store_tried(). */
    unsigned failures; /* failed attempts to connect since the link was up */
    unsigned absences; /* rounds in a row in which every server was absent */
    bool     present;  /* one was not, in this round */

    /* Called from process() when `link` has changed. */
    void (*on_link)(struct hf_store *store, void *data);
    void *on_link_data;
};

/* Set errmsg: a place is invalid (see core/line.h).  `token` is 0 if it is not known.
 * Returns HF_ECORRUPT. */
int hf_store_invalid(struct hf_store *store, uint64_t token);

/* Does the standing differ from the one that this WATCH knows?  Of a reason only as
 * much is compared as a caller can keep. */
bool hf_standing_differs(const struct hf_standing *now, const struct hf_req *watch);

/* Set the link; calls on_link if it changed. */
void hf_store_set_link(struct hf_store *store, enum hf_link link);

/* An attempt to connect to a server failed, errmsg says why; `last`: this was the last
 * server of a round.  A server whose name does not resolve, or that refuses the
 * connection, is absent; one that accepts the connection but stays silent, or denies us
 * access, is present. */
void hf_store_tried(struct hf_store *store, bool absent, bool last);

/* Open the store that a configuration's scheme names. */
int hf_store_open(const struct hf_config *config, char *errmsg, struct hf_store **ret);

/* See hf_load() in holdfast.h; of the configuration only the scheme counts. */
int hf_store_load(const struct hf_config *config, char *errmsg);

/* The schemes built in, separated by blanks. */
const char *hf_store_schemes(void);

/* See hf_schema() in holdfast.h. */
int hf_store_schema(const char *scheme, const char *role, char **ret);

/* Wrap a store so that `tell` gets every request and answer as one line of text.  The
 * wrapper owns `inner`.  On failure `inner` is untouched. */
int hf_trace_open(struct hf_store *inner, void (*tell)(const char *text, void *data),
                  void *data, struct hf_store **ret);

#endif
