/* inner.h - the Redis store as a whole: what its files share.
 *
 *   store.c     process, open, close          task.c      a verb becomes a script call
 *   config.c auth.c  what the URL says        replicas.c  what replicas confirm
 *   wire/       servers, connections, commands (wire.h)
 *   session/    our session, and data that the server lost (session.h)
 *   scripts/    the Lua scripts, and how one is called (script.h)
 *   look/       LIST, HISTORY and DIAGNOSE (diagnose.h)
 *
 * The verbs are in served/ (served.h).
 */
#ifndef HF_REDIS_INNER_H
#define HF_REDIS_INNER_H

#include "store/redis/redis.h"
#include "store/redis/session/session.h"

/* ---- task.c ------------------------------------------------------------------- */

struct hf_redis_task {
    struct hf_served_task     base;
    struct hf_redis_call      call;
    enum hf_redis_script      script;
    struct hf_redis_diagnose *diagnose;
    struct hf_redis_listing  *listing;
};

/* For struct hf_served_ops. */
void hf_redis_begin(struct hf_served_task *task);
void hf_redis_begin_read(struct hf_served_task *task);
void hf_redis_task_send(struct hf_served_task *task);

/* ---- look/ -------------------------------------------------------------------- */

hf_served_on_answer hf_redis_list;
void                hf_redis_listing_free(struct hf_redis_listing *listing);
void                hf_redis_diagnose(struct hf_served_task *task);
void                hf_redis_diagnose_free(struct hf_served_task *task);
hf_served_on_answer hf_redis_history;

/* Parse a place as the server keeps it.  `text` is cut up in place.  False: it is none.
 */
bool hf_redis_place_parse(char *text, struct hf_place *ret);

/* ---- replicas.c --------------------------------------------------------------- */

/* Answer once enough replicas have the grant, or the break. */
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
    struct hf_redis_conn      message_conn;
    struct hf_redis_messages  messages;
    struct hf_redis_session   session;
    char                      sha[HF_REDIS_SCRIPTS][41];     /* of scripts, or "" */
    char                      canary[HF_REDIS_CANARIES][41]; /* SHA1s */
    struct hf_redis_args      args;
    bool log_keys; /* calls name the keys of the change log and of history */
};

#endif
