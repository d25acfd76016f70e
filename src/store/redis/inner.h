/* inner.h - what the files of the Redis store share.
 *
 *   config.c   what a URL says                link.c     where the server is
 *   sentinel.c which server is the master     greet.c    what it is told, and says, first
 *   conn.c write.c  commands on a connection  fault.c    what its errors mean
 *   script.c   the scripts, called by name    session.c hello.c  how it begins, when it is lost
 *   news.c     what the server tells us       canary.c   whether there was anybody
 *   renew.c bye.c  the session's renewals, its end   mend.c  when data were lost
 *   store.c    process, open, close           task.c     how a verb is put to the server
 *   replicas.c list.c examine.c  what is special of the verbs (served/served.h)
 *
 * What the server keeps is told in base.lua.
 */
#ifndef HF_REDIS_INNER_H
#define HF_REDIS_INNER_H

#include "store/redis/link.h"
#include "store/redis/redis.h"
#include "store/served/served.h"

/* ---- script.c ------------------------------------------------------------------- */

enum hf_redis_script {
    HF_REDIS_HELLO,
    HF_REDIS_MEND,
    HF_REDIS_RENEW,
    HF_REDIS_BYE,
    HF_REDIS_ENTER,
    HF_REDIS_LEAVE,
    HF_REDIS_READ,
    HF_REDIS_AMEND,
    HF_REDIS_WATCH,
    HF_REDIS_BREAK,
    HF_REDIS_ASK,
    HF_REDIS_PROVE,
    HF_REDIS_LIST,
    HF_REDIS_SURVEY,
    HF_REDIS_HISTORY,
    HF_REDIS_EXAMINE,
    HF_REDIS_SCRIPTS,
};

/* Beside enum hf_served_code: call again, now that the server knows the script, or that we know
 * that it needs all keys; somebody surveys, or history is kept: call again, with keys for that. */
#define HF_REDIS_AGAIN (-1)
#define HF_REDIS_TRAIL 8

/* Its name, worked out when it is first wanted: most sessions need a few of them.  NULL: no
 * memory. */
const char *hf_redis_script_sha(struct hf_redis *redis, enum hf_redis_script script);

/* Call a script: begin, with so many claims; add those; say who calls; add what the
 * script wants; and send it. */
void hf_redis_script(struct hf_redis *redis, enum hf_redis_script script, size_t claims);
void hf_redis_add_claim(struct hf_redis *redis, const char *name);
void hf_redis_add_who(struct hf_redis *redis);
void hf_redis_add_owner(struct hf_redis *redis, uint64_t id); /* who, and its place */
void hf_redis_add(struct hf_served *served, const char *text);
void hf_redis_add_note(struct hf_served *served, const char *text);
void hf_redis_add_number(struct hf_served *served, uint64_t number);
void hf_redis_add_seq(struct hf_served *served, uint64_t seq); /* sixteen digits, or 0 */
void hf_redis_add_kind(struct hf_served *served, const struct hf_shape *shape);
void hf_redis_add_wish(struct hf_served *served, const struct hf_req *req);
void hf_redis_send(struct hf_redis *redis, struct hf_redis_call *call,
                   hf_redis_on_reply *on_reply, void *data);

/* Give the server a script it does not know. */
void hf_redis_script_load(struct hf_redis *redis, enum hf_redis_script script);
void hf_redis_load(struct hf_redis *redis, const char *text);
void hf_redis_sha1(const char *text, char ret[41]); /* sha1.c: its name */

/* The parts of an answer; 0 and NULL where there is none.  A time is told in
 * microseconds, and is a day at most. */
int64_t     hf_redis_number(const void *reply, size_t index);
hf_time     hf_redis_time(const void *reply, size_t index);
const char *hf_redis_text(const void *reply, size_t index);

/* ---- canary.c ------------------------------------------------------------------- */

void hf_redis_canaries_init(struct hf_redis *redis);
void hf_redis_canary_load(struct hf_redis *redis);

/* ---- session.c ------------------------------------------------------------------ */

struct hf_redis_mending {
    uint64_t *id;         /* of all places, sorted */
    size_t    count;      /* of them */
    size_t    start, end; /* those that the server is being told of */
};

struct hf_redis_session {
    uint64_t connection; /* number of the newest */
    char     epoch[24];  /* "0": a new session; "-": one that a will is of */
    bool     unmended;   /* data were lost, our places are not put down again yet */
    bool     locks;      /* we have wanted a place, and do not only look */
    hf_time  longest;    /* ttl of all who lock, as the server says */
    uint64_t token;      /* none given out was higher, as it said ... */
    hf_time  token_at;   /* ... when we asked then */
    uint64_t heard;      /* messages, when the renewal was sent */
    struct hf_redis_mending mending;
    hf_time                 sent; /* the renewal, or hello, last sent */
    hf_time renewed;  /* ... last answered, when that was sent; 0: none here */
    hf_time due;      /* renew then */
    hf_time early;    /* or then, since a session or a hold-off ends */
    bool    held_off; /* nobody is granted anything at present */
    struct hf_redis_call call;
    bool                 again; /* renew once more when it is answered */
    struct hf_redis_call use;   /* another hello: we lock from now on */
    struct hf_redis_call bye;
    bool                 ended; /* ... which was answered: there is no such session now */
    bool                 history_set; /* as the URL wants it */
};

void hf_redis_session_init(struct hf_redis *redis);
void hf_redis_session_begin(struct hf_redis *redis);
void hf_redis_session_broken(struct hf_redis *redis);

/* Say hello again on the same connection: the data are not what they were. */
void hf_redis_session_again(struct hf_served *served);

/* It is dead, and all that was in it: begin another one. */
void hf_redis_session_restart(struct hf_served *served);

/* Is this an answer of a script to go on with?  If not, all that is needed was done. */
bool hf_redis_session_answered(struct hf_redis *redis, const redisReply *reply,
                               enum hf_redis_script script, int *code);

/* What we have is ours for longer, if all that it takes was answered. */
void hf_redis_session_extend(struct hf_redis *redis);

/* For those who speak to the server of it: open it, or prove that it is there; that is done; a
 * renewal was answered; how long nobody is granted anything, the longest ttl in use, and a token
 * that none is above. */
void hf_redis_hello(struct hf_redis *redis);
void hf_redis_session_opened(struct hf_redis *redis);
void hf_redis_session_renewed(struct hf_redis *redis);
void hf_redis_session_told(struct hf_redis *redis, hf_time held_off, hf_time longest,
                           int64_t token);

/* A token of that number was given out, and none higher when `sent`; and no token given out so far
 * is higher than the other, as far as we know. */
void     hf_redis_session_saw_token(struct hf_redis *redis, uint64_t token, hf_time sent);
uint64_t hf_redis_session_token_bound(const struct hf_redis *redis);

/* ENTER is to be sent: see to it that the server knows that we lock. */
void hf_redis_session_use(struct hf_redis *redis);

/* ---- renew.c -------------------------------------------------------------------- */

void    hf_redis_renew_run(struct hf_redis *redis);
hf_time hf_redis_renew_wake(const struct hf_redis *redis);

/* Call `visit`, if there is one, for each claim we hold; how many there are. */
size_t hf_redis_each_claim(struct hf_redis *redis,
                           void (*visit)(struct hf_redis              *redis,
                                         const struct hf_served_place *place));

/* For that: add the key of a claim. */
void hf_redis_add_claim_key(struct hf_redis *redis, const struct hf_served_place *place);

/* Renew now, false: the link is broken; or after a while, if that is not 0. */
bool hf_redis_renew(struct hf_served *served);
void hf_redis_renew_after(struct hf_redis *redis, hf_time time);

/* ---- bye.c ---------------------------------------------------------------------- */

/* Hello is answered: end the session that a will is of. */
void hf_redis_execute(struct hf_redis *redis);

/* End our own, for good; waits a moment. */
void hf_redis_bye(struct hf_redis *redis);

/* ---- mend.c --------------------------------------------------------------------- */

/* Tell the server, which has lost data, of our places; then hf_redis_mended(). */
void hf_redis_mend(struct hf_redis *redis);
void hf_redis_mended(struct hf_redis *redis);
void hf_redis_mend_end(struct hf_redis *redis); /* whether it is done or not */

/* ---- news.c: the other connection ----------------------------------------------- */

struct hf_redis_news {
    struct hf_redis_call call;    /* AUTH */
    uint64_t             heard;   /* number of the last message */
    uint64_t             sent;    /* ... and of the last one sent, as far as we know */
    hf_time              miss;    /* if they differ by then, one was lost */
    unsigned             put_off; /* how often in a row */
};

void    hf_redis_news_init(struct hf_redis *redis, uint64_t seed);
void    hf_redis_news_run(struct hf_redis *redis, bool readable);
void    hf_redis_news_close(struct hf_redis *redis);
hf_time hf_redis_news_wake(const struct hf_redis *redis);

/* The server says how many messages it sent.  `heard`: how many had come when the renewal
 * was sent. */
void hf_redis_news_count(struct hf_redis *redis, uint64_t sent, uint64_t heard);

/* ---- task.c --------------------------------------------------------------------- */

struct hf_redis_task {
    struct hf_served_task    base;
    struct hf_redis_call     call;
    enum hf_redis_script     script;
    struct hf_redis_examine *examine;
    struct hf_redis_listing *listing;
};

/* For struct hf_served_ops: a call. */
void hf_redis_begin(struct hf_served_task *task);
void hf_redis_begin_read(struct hf_served_task *task);
void hf_redis_task_send(struct hf_served_task *task);

/* ... and what is special. */
hf_served_on_answer hf_redis_list;
void                hf_redis_listing_free(struct hf_redis_listing *listing);
void                hf_redis_examine(struct hf_served_task *task);
void                hf_redis_examine_free(struct hf_served_task *task);
hf_served_on_answer hf_redis_history;

/* list.c: a place as the server keeps it, cut up where it is.  False: it is none. */
bool hf_redis_ticket_parse(char *text, struct hf_ticket *ret);

/* replicas.c: answer once enough of them have heard that it is granted. */
void hf_redis_replicas_wait(struct hf_served_task *task);

struct hf_redis {
    union { /* the same by two names */
        struct hf_remote remote;
        struct hf_served served;
    };
    struct hf_redis_config    config;
    struct hf_tls            *tls;
    struct hf_redis_link      link;
    struct hf_redis_sentinel *sentinel; /* all of them; NULL: there are none */
    struct hf_redis_conn      news_conn;
    struct hf_redis_news      news;
    struct hf_redis_session   session;
    char                      sha[HF_REDIS_SCRIPTS][41];     /* of scripts, or "" */
    char                      canary[HF_REDIS_CANARIES][41]; /* SHA1s */
    struct hf_redis_args      args;
    bool                      trail; /* scripts need keys of survey and history */
};

#endif
