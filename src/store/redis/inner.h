/* inner.h - what the files of the Redis store share.
 *
 *   config.c   what a URL says                link.c     find, reach and greet the server
 *   conn.c     commands on a connection       fault.c    what its errors mean
 *   script.c   the scripts, called by name    session.c  hello, mend, lost; renewals
 *   place.c    places we have                 news.c     what the server tells us
 *   enter.c leave.c look.c watch.c list.c reach.c examine.c   the verbs
 *
 * What the server keeps is told in base.lua.
 */
#ifndef HF_REDIS_INNER_H
#define HF_REDIS_INNER_H

#include "store/redis/link.h"
#include "store/redis/redis.h"
#include "store/requests.h"

#define HF_REDIS_BUCKETS 1024 /* of places */

struct hf_redis_task;

/* ---- script.c -------------------------------------------------------------------------- */

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
    HF_REDIS_REACH,
    HF_REDIS_LIST,
    HF_REDIS_LOOK,
    HF_REDIS_SCRIPTS,
};

/* What a script answers first. */
enum hf_redis_code {
    HF_REDIS_DONE,
    HF_REDIS_EPOCH, /* say hello again */
    HF_REDIS_GONE,  /* no such session */
    HF_REDIS_STALE, /* a newer connection than this one */
    HF_REDIS_MISMATCH,
    HF_REDIS_FULL,
    HF_REDIS_NOWHERE,
};

/* Arguments while they are gathered.  Texts are lent until the script is called. */
struct hf_redis_args {
    const char **arg;
    size_t      *length;
    char       (*number)[24]; /* where numbers are written */
    size_t       count, room, numbers;
    bool         failed; /* no memory */
};

#endif
