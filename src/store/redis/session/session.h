/* session.h - our session on the server.
 *
 *   session.c  its lease; when it is lost    hello.c    opens it, or proves that it lives
 *   renew.c    renewals                      bye.c      ends it
 *   reclaim.c  after the server lost data    canary.c   was this namespace ever used?
 */
#ifndef HF_REDIS_SESSION_H
#define HF_REDIS_SESSION_H

#include "store/redis/scripts/script.h"

/* ---- canary.c ----------------------------------------------------------------- */

#define HF_REDIS_CANARIES 14

void hf_redis_canaries_init(struct hf_redis *redis);
void hf_redis_canary_load(struct hf_redis *redis);

/* Ask for canaries; and from the answer, the longest lease that one stands for; 0: none. */
void    hf_redis_canaries_ask(struct hf_redis *redis, struct hf_redis_call *call,
                              hf_redis_on_reply *on_reply, void *data);
hf_time hf_redis_canary_longest(const redisReply *reply);

/* Look for canaries, and say hello again with the longest lease that one stands for:
 * hf_redis_hello_found(). */
void hf_redis_canaries_seek(struct hf_redis *redis);

/* ---- session.c ---------------------------------------------------------------- */

struct hf_redis_reclaiming {
    uint64_t *id;         /* of all our places, as the server sees them; sorted */
    size_t    count;      /* of them */
    size_t    start, end; /* the piece being sent */
};

struct hf_redis_session {
    uint64_t connection; /* number of the newest */
    char     epoch[24];  /* "0": a new session; "-": one to be ended by its session key */
    bool     unreclaimed; /* data were lost, and our places are not back yet */
    bool     locks;       /* we have wanted a place: no longer a read-only client */
    bool     blank;       /* a client that locks has to look for canaries first */
    hf_time  longest;     /* ttl of all sessions that lock, says the server */
    uint64_t token;       /* no token was higher, said the server ... */
    hf_time  token_at;    /* ... in answer to what we sent then */
    uint64_t heard;       /* messages received when the renewal was sent */
    struct hf_redis_reclaiming reclaiming;
    hf_time                    sent; /* when the last renewal or hello was sent */
    hf_time renewed; /* when the last one that was answered had been sent; 0: none here */
    hf_time due;     /* renew then */
    hf_time early;   /* or then: a session or the grace period ends */
    bool    in_grace; /* the server grants nothing at present */
    struct hf_redis_call call;
    bool                 again; /* renew once more when that is answered */
    struct hf_redis_call use;   /* the second hello, before our first ENTER */
    struct hf_redis_call bye;
    bool                 ended;       /* bye was answered: the session is gone */
    bool                 history_set; /* hello has applied the URL's history= */
};

void hf_redis_session_init(struct hf_redis *redis);
void hf_redis_session_begin(struct hf_redis *redis);
void hf_redis_session_broken(struct hf_redis *redis);

/* Say hello again: the server has lost data.  Without Sentinels, on the same connection. */
void hf_redis_session_again(struct hf_served *served);

/* Say hello again on the same connection, which is READY. */
void hf_redis_session_greet_again(struct hf_redis *redis);

/* The session and all its places are gone: begin another one. */
void hf_redis_session_restart(struct hf_served *served);

/* True: the script answered, and *code is set.  False: it did not, and the connection has
 * been dealt with. */
bool hf_redis_session_answered(struct hf_redis *redis, const redisReply *reply,
                               enum hf_redis_script script, int *code);

/* Move the deadline to what the answers so far allow. */
void hf_redis_session_extend(struct hf_redis *redis);

/* For hello.c, renew.c and reclaim.c: hello was accepted; a renewal was answered. */
void hf_redis_session_opened(struct hf_redis *redis);
void hf_redis_session_renewed(struct hf_redis *redis);

/* Hello and renewals return the rest of the grace period, the longest ttl in use, and a
 * number that no token exceeds. */
void hf_redis_session_take_limits(struct hf_redis *redis, hf_time grace, hf_time longest,
                                  int64_t token);

/* The server has given out this token, and no higher one before `sent`. */
void hf_redis_session_saw_token(struct hf_redis *redis, uint64_t token, hf_time sent);

/* No token given out so far is higher, as far as we know. */
uint64_t hf_redis_session_token_bound(const struct hf_redis *redis);

/* ---- hello.c ------------------------------------------------------------------ */

void hf_redis_hello(struct hf_redis *redis);

/* The longest ttl of clients that lock, as far as we know, and ours. */
hf_time hf_redis_longest_known(const struct hf_redis *redis);

/* How long the grace period of an epoch without data has to be, if this canary was there
 * after it had begun; 0: none was. */
hf_time hf_redis_blank_grace(const struct hf_redis *redis, hf_time canary);

/* The same, after a canary for such a lease was found, or none: 0. */
void hf_redis_hello_found(struct hf_redis *redis, hf_time canary);

/* Before our first ENTER: tell the server that this client locks from now on. */
void hf_redis_session_use(struct hf_redis *redis);

/* ---- renew.c ------------------------------------------------------------------ */

void    hf_redis_renew_run(struct hf_redis *redis);
hf_time hf_redis_renew_wake(const struct hf_redis *redis);

/* Call `visit`, if it is not NULL, for each claim we hold.  Returns how many there are.
 */
size_t hf_redis_each_claim(struct hf_redis *redis,
                           void (*visit)(struct hf_redis              *redis,
                                         const struct hf_served_place *place));

/* A `visit` for that: add the claim's key to the call. */
void hf_redis_add_claim_key(struct hf_redis *redis, const struct hf_served_place *place);

/* Renew now; false: the link is broken.  Or after `time`, unless that is 0. */
bool hf_redis_renew(struct hf_served *served);
void hf_redis_renew_after(struct hf_redis *redis, hf_time time);

/* ---- bye.c -------------------------------------------------------------------- */

/* Hello was accepted: end the session that the session key names. */
void hf_redis_end_by_key(struct hf_redis *redis);

/* End our own session; waits a moment. */
void hf_redis_bye(struct hf_redis *redis);

/* ---- reclaim.c ---------------------------------------------------------------- */

/* Send our places to a server that has lost data; then hf_redis_reclaimed() is called. */
void hf_redis_reclaim(struct hf_redis *redis);
void hf_redis_reclaimed(struct hf_redis *redis);
void hf_redis_reclaim_end(struct hf_redis *redis); /* done or not */

#endif
