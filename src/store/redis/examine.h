/* examine.h - what the files of EXAMINE share.
 *
 *   examine.c         sends all calls in one flight, and answers when all are answered
 *   examine_server.c  what is told of the server and of the way there
 *   examine_data.c    what is told of our data, and of what could happen to them
 */
#ifndef HF_REDIS_EXAMINE_H
#define HF_REDIS_EXAMINE_H

#include "store/findings.h"
#include "store/redis/inner.h"

struct hf_redis_examine {
    struct hf_redis_call call[8];
    size_t               calls;
    hf_time              began;
    hf_time              took;
    hf_time              longest; /* ttl of all who lock */
    int64_t              ahead;   /* its clock of ours, in microseconds */
    char                *text;    /* INFO and CONFIG GET: lines "key:value" */
    bool                 failed;
};

/* What the script examine.lua answers. */
enum {
    HF_REDIS_TOLD_SESSIONS = 1,
    HF_REDIS_TOLD_HOLDERS,
    HF_REDIS_TOLD_WAITERS,
    HF_REDIS_TOLD_HOLD, /* nobody is granted anything for so long */
    HF_REDIS_TOLD_TTL,  /* the longest of all who lock */
    HF_REDIS_TOLD_TOKEN,
    HF_REDIS_TOLD_EPOCH,
    HF_REDIS_TOLD_NAME_HOLDERS,
    HF_REDIS_TOLD_NAME_WAITERS,
    HF_REDIS_TOLD_NOW,
    HF_REDIS_TOLD_FOREIGN, /* how long a claim of that name lives that is none of ours; -1: it
                              has no end */
    HF_REDIS_TOLD_LONGEST, /* a place of the session with that ttl, or "" */
    HF_REDIS_TOLD_LOOKED,  /* the first client that locks begins a hold-off */
};

/* The value that the server has for `key`; "" and false if it did not tell. */
bool hf_redis_told(const struct hf_redis_examine *examine, const char *key, char *ret,
                   size_t size);

/* The same as a number; `otherwise` if it did not tell. */
long long hf_redis_told_number(const struct hf_redis_examine *examine, const char *key,
                               long long otherwise);

void hf_redis_server_tell(const struct hf_redis         *redis,
                          const struct hf_redis_examine *examine,
                          struct hf_finding_list        *list);
void hf_redis_data_tell(const struct hf_redis         *redis,
                        const struct hf_redis_examine *examine, const redisReply *reply,
                        const char *name, struct hf_finding_list *list);

#endif
