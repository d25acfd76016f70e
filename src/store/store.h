/* store.h - what Holdfast asks of a store.
 *
 * A store keeps lines of tickets.  Every ticket belongs to a session, one per
 * opened store.  The verbs:
 *
 *   ENTER   take a place at the end of a line; the answer is how it stands.
 *           HF_EBUSY: with `only_free` a place is taken only if it holds at once, and
 *           it would not; nothing of ours is in the line then.  HF_EMISMATCH: those
 *           there are of another kind.  HF_ECORRUPT: one of them makes no sense
 *           (hf_store_strange).  HF_EFULL: see `limit`
 *   WATCH   of the own place, by its id: complete when it stands in another way than
 *           the caller knows; the answer is how.  A caller that knows nothing is
 *           answered at once.  HF_EMISMATCH, HF_ECORRUPT: the line makes no sense any
 *           more.  Of a line, without an id: complete when the place with that token
 *           has left; without a token, when the line may have changed since `stamp`
 *   LEAVE   give a place up
 *   LIST    every place in one line, or in all, with notes
 *   BREAK   take a place away from its owner, by its token; HF_ENOTFOUND: it is gone
 *   AMEND   make the own place weigh less; it keeps its seq and token, and places
 *           behind it that fit now are granted.  The answer is how it stands
 *   ASK     leave a reason at a place, by its token, why its owner should give it up;
 *           that changes how the place stands, if it holds.  HF_ENOTFOUND: it is gone
 *   PROVE   is a place held, by the rule of every grant?  Asked with all the authority
 *           of the store: the own place by its id, anybody's by its token (id 0).  0 or
 *           HF_ELOST; where there is a lease, a proof of the own place renews it
 *   EXAMINE what a person should know about the store, and about the line if a
 *           name is given: findings
 *   SURVEY  complete once any line may look different; see `changed`.  The first of a
 *           session completes at once.  From then on the store remembers which lines
 *           change, until the next SURVEY, so that nothing is missed between two of
 *           them; one that is canceled ends this.  One at a time
 *   HISTORY what happened to one line, or to all, as far as it is kept; see `past`
 *
 * Not every store can do SURVEY and HISTORY: `surveys` and `recalls` tell.  The others are
 * never asked to.
 *
 * Promises.  test/promise has one file for each; a store is done when it
 * passes them all, and may be slow but never wrong about any of them.
 *
 *   S1 order   No ticket ever becomes visible ahead of one already seen.
 *   S2 once    ENTER, LEAVE and AMEND may be repeated with the same id after a
 *              lost answer; a repeat takes no second place and is no error.
 *   S3 wake    WATCH never completes too late, and what happened before it arrived
 *              counts.  It may complete although nothing is different, but should not:
 *              the caller asks again after a pause.
 *   S4 tied    A session's tickets go when it dies, and it does not die before
 *              `alive_until` as last reported.
 *   S5 fence   token rises with seq, and never falls back, not even when the
 *              line was empty, deleted or made anew in between.
 *   S6 stale   Once a session is up again, nothing sent on an earlier
 *              connection takes effect any more.
 *   S7 answer  Every request completes exactly once, from process(), never
 *              from inside submit() or cancel().
 *   S8 truth   LEAVE answers 0 only if the place was ours until then, and
 *              HF_ELOST if it was taken from us before.
 *   S9 will    A will ends exactly its session, and only that: all the tickets of
 *              that session, at once, and nothing of any other, earlier or later.
 *
 * Threads: a store is called by one thread at a time and starts none.
 */
#ifndef HF_STORE_H
#define HF_STORE_H

#include "base/clock.h"
#include "core/hold.h"
#include "core/line.h"
#include "holdfast.h"

#define HF_ERRMSG_MAX 256
#define HF_WILL_MAX   256 /* of a store: what is more than its URL */

/* A store whose data have a layout adds this to its number.  It is not 0 in a build of the
 * command for tests alone (cmake/Next.cmake), which meets the usual one as a later version
 * would. */
#ifndef HF_LAYOUT_BUMP
#define HF_LAYOUT_BUMP 0
#endif

/* What happened once to a place in a line, as HISTORY tells it. */
struct hf_past {
    uint64_t        number; /* rising, without gaps; older ones are forgotten first */
    int64_t         time;   /* wall clock us */
    char            what;   /* one of HF_PAST_...; anything else is unknown */
    const char     *line;
    uint64_t        token;
    struct hf_shape shape;
    int             slot;   /* -1: none */
    const char     *note;   /* whose it is, as of struct hf_ticket */
    const char     *reason; /* ASKED: why; BROKEN: by whom; else "" */
};

#define HF_PAST_ENTERED  'e' /* queues; a place that is granted at once has only that */
#define HF_PAST_GRANTED  'g'
#define HF_PAST_RELEASED 'r' /* by its holder */
#define HF_PAST_LEFT     'l' /* a waiter's place, in whatever way it went */
#define HF_PAST_LOST     'x' /* a holder's, with its session */
#define HF_PAST_BROKEN   'b' /* a holder's, by BREAK */
#define HF_PAST_ASKED    'a'
#define HF_PAST_LESSENED 'd' /* by AMEND */

/* One request.  The caller owns it and must keep it, and all it points to, in
 * place until done() is called.  What it points to in the answer is lent for the
 * time of done().  done() may submit further requests, this one included. */
struct hf_req {
    enum hf_op      op;
    const char     *name;      /* of the line; LIST, HISTORY: NULL for all of them;
                                  SURVEY: NULL */
    uint64_t        id;        /* ours to choose, rising within the session; WATCH:
                                  0 if we have no place in the line */
    struct hf_shape shape;     /* ENTER, AMEND */
    bool            only_free; /* ENTER */
    const char     *note;      /* ENTER: text for people, stored as it is; ASK: why;
                                  BREAK: by whom, for the history */
    uint32_t        limit;     /* ENTER: HF_EFULL if so many wait already; 0: none */
    bool            follow;    /* WATCH of the own place: it stands in another way, too,
                                  when others are ahead than before */
    uint64_t        token; /* BREAK, ASK, and PROVE and WATCH with id 0: whose place */
    uint64_t        group; /* ENTER: those with the same number that are submitted before
                              the next process() take their places in one step, if the
                              store `groups`: none does if one fails, or may only
                              enter a line that is free and finds it taken; 0: by itself */
    uint64_t        stamp; /* out of LIST, and of ENTER if it is refused: when the line
                              was read, by the store's own count; into WATCH of a line:
                              report what changed since then; 0: not known.  HISTORY: in,
                              what happened after this number; out, the last number
                              given to anything that happened */
    struct hf_standing standing; /* WATCH of the own place: in, what the caller knows.
                                    ENTER, AMEND and that WATCH: out, if the status is 0.
                                    ENTER with HF_EBUSY: out, NONE, with the token of a
                                    place in the way, 0 if that is not known */

    int                      status;  /* 0 or HF_E... */
    struct hf_line           line;    /* LIST: all places */
    const struct hf_finding *finding; /* EXAMINE */
    size_t                   findings;
    const char *const       *changed; /* SURVEY: the lines */
    size_t                   changes; /* 0: it is not known which.  Look at all */
    const struct hf_past    *past;    /* HISTORY: oldest first */
    size_t                   pasts;

    void (*done)(struct hf_req *req);
    void   *data; /* the caller's */
    hf_time sent; /* likewise */

    /* The store's while the request is in flight. */
    struct hf_req *next;
    void          *work;
    bool           canceled;
};

/* Parsed URL and options; lent for the time of open(). */
struct hf_config {
    const char *url;    /* the whole, for messages; passwords removed */
    const char *scheme; /* "sqlite" */
    const char *rest;   /* what follows "scheme:", without user and parameters */
    const char *user;   /* "user:password" of "//user:password@host", or NULL */
    const char *given;  /* the whole as it was written, with any password */
    int         ttl_ms;
    uint64_t    seed; /* for back-off */
    bool        init; /* make what is not made by coming first; see HF_INIT */

    /* As `will` of some store of this URL wrote it, or NULL.  The store that is opened has
     * no session of its own then, and never begins one.  It takes that one over, to end it:
     * its link is LOST as soon as that session is surely dead, whether it died by this or
     * before.  If that cannot be, `refusal` says why, and it is tried again from time to
     * time.  Nothing is submitted to such a store.  Bytes that it cannot have written:
     * open() answers HF_EINVAL. */
    const void *will;
    size_t      will_size;

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

/* One of these per kind of store, `static const`. */
struct hf_store_impl {
    const char *scheme; /* the URL scheme, e.g. "redis" */

    /* NULL-terminated names of the URL parameters it knows. */
    const char *const *params;

    bool groups;  /* see struct hf_req */
    bool surveys; /* it can do SURVEY */
    bool recalls; /* it can do HISTORY */
    bool users;   /* its URL may have a user in it */
    bool any;     /* ... and parameters that only open() knows */

    /* Load the libraries that it needs (net/library.h): open() comes after that.  NULL: it
     * needs none.  On failure `errmsg` tells a person what to install. */
    int (*load)(const char *scheme, char *errmsg, size_t size);

    /* Start.  Does not wait for a server.  On failure *ret is left alone and
     * `errmsg` (HF_ERRMSG_MAX bytes) tells a person why. */
    int (*open)(const struct hf_config *config, char *errmsg, struct hf_store **ret);

    /* End the session, then free.  A server that does not answer is waited for a
     * moment only (0.1 s), and only if there are tickets that would stay behind.
     * Requests still in flight, which are in place until then, are forgotten: done() is
     * not called. */
    void (*close)(struct hf_store *store);

    /* Take a request on.  Sets `wake` so that process() is called. */
    void (*submit)(struct hf_store *store, struct hf_req *req);

    /* Ask for an early end.  done() still comes, once, with HF_ECANCELED, and then
     * nothing was done, or with the answer.  What has been begun is answered; of
     * that a WATCH alone ends early.  Of what has not, all but LEAVE and AMEND do:
     * hf_req_may_end() in requests.h. */
    void (*cancel)(struct hf_store *store, struct hf_req *req);

    /* Do what can be done without waiting and call done() for what is
     * finished.  `readable`: fd polled readable, or nobody looked. */
    void (*process)(struct hf_store *store, hf_time now, bool readable);

    /* Write down what another process needs to end this session (S9): HF_WILL_MAX bytes at
     * most.  Returns how many; 0: there is no session yet; or HF_E..., with errmsg.  What
     * was written stays true for the whole session, whatever connection it is on.  NULL:
     * sessions here cannot be ended by others. */
    int (*will)(struct hf_store *store, void *ret);

    /* See hf_lifeline() in holdfast.h; NULL if there is none. */
    int (*lifeline)(struct hf_store *store, int *fds, int size);

    /* See hf_schema() in holdfast.h; NULL if nothing has to be made.  It returns NULL if
     * there is no memory. */
    char *(*schema)(const char *role);
};

/* The part every store has.  Embed it first. */
struct hf_store {
    const struct hf_store_impl *impl;

    int     fd;   /* poll this for input; the same for the store's whole life */
    hf_time wake; /* call process() by then even if fd is not readable */

    bool shared;   /* others than this user can look at what it keeps; set by open() */
    bool outlives; /* a session outlives its process, until a lease ends; likewise */

    enum hf_link link;
    hf_time      alive_until;           /* see S4; HF_NEVER where no lease is needed */
    hf_time      lease;                 /* known with the link, where it outlives */
    char         errmsg[HF_ERRMSG_MAX]; /* about the last failure */

    /* HF_E...: why the store cannot be used at present, or why a will cannot be executed;
     * else 0.  A server's link is UP then, to tell so to whoever asks. */
    int refusal;

    /* Of servers, see hf_store_tried(). */
    unsigned failures; /* tries in vain since there was a link */
    unsigned absences; /* rounds in a row in which no server was there at all */
    bool     present;  /* this round one was */

    /* Called from process() when `link` has changed. */
    void (*on_link)(struct hf_store *store, void *data);
    void *on_link_data;
};

/* Remember that a place makes no sense (see core/line.h), by its token if that is known,
 * else 0; returns HF_ECORRUPT. */
int hf_store_strange(struct hf_store *store, uint64_t token);

/* Does the place of this WATCH stand in another way than the caller knows?  Of a reason as
 * much is compared as a caller can keep. */
bool hf_standing_differs(const struct hf_standing *now, const struct hf_req *watch);

/* Set the link, and tell. */
void hf_store_set_link(struct hf_store *store, enum hf_link link);

/* A server was tried in vain, errmsg says why; `last`: so was every other, it is the end
 * of a round.  A server that does not resolve or cannot be connected to is absent; one that
 * accepts but stays silent, or turns us away, is present. */
void hf_store_tried(struct hf_store *store, bool absent, bool last);

/* Open the store that a configuration's scheme names. */
int hf_store_open(const struct hf_config *config, char *errmsg, struct hf_store **ret);

/* See hf_load() in holdfast.h; of the configuration only the scheme counts. */
int hf_store_load(const struct hf_config *config, char *errmsg);

/* The schemes built in, separated by blanks. */
const char *hf_store_schemes(void);

/* See hf_schema() in holdfast.h. */
int hf_store_schema(const char *scheme, const char *role, char **ret);

/* Wrap a store so that every request and answer is told as one line of text.
 * The wrapper owns `inner`.  On failure `inner` is untouched. */
int hf_trace_open(struct hf_store *inner, void (*tell)(const char *text, void *data),
                  void *data, struct hf_store **ret);

#endif
