/* diagnose.h - shared by the files of DIAGNOSE.
 *
 *   diagnose.c         sends all calls in one flight, and answers when all are answered
 *   diagnose_server.c  findings about the server and the connection to it
 *   diagnose_data.c    findings about our data, and what could happen to them
 */
#ifndef HF_REDIS_DIAGNOSE_H
#define HF_REDIS_DIAGNOSE_H

#include "store/findings.h"
#include "store/redis/inner.h"

struct hf_redis_diagnose {
    struct hf_redis_call call[8];
    size_t               calls;
    hf_time              began;
    hf_time              took;
    hf_time              longest; /* ttl of all sessions that lock */
    hf_time              canary;  /* the longest lease that one stands for */
    int64_t              ahead;   /* of the server's clock, in microseconds */
    char                *text;    /* INFO and CONFIG GET: lines "key:value" */
    bool                 failed;
};

/* The parts of diagnose.lua's answer. */
enum {
    HF_REDIS_ANSWER_SESSIONS = 1,
    HF_REDIS_ANSWER_HOLDERS,
    HF_REDIS_ANSWER_WAITERS,
    HF_REDIS_ANSWER_GRACE, /* what is left of the grace period */
    HF_REDIS_ANSWER_TTL,   /* the longest of all sessions that lock */
    HF_REDIS_ANSWER_TOKEN,
    HF_REDIS_ANSWER_EPOCH,
    HF_REDIS_ANSWER_NAME_HOLDERS,
    HF_REDIS_ANSWER_NAME_WAITERS,
    HF_REDIS_ANSWER_NOW,
    HF_REDIS_ANSWER_FOREIGN,   /* time left of another program's claim; -1: no expiry */
    HF_REDIS_ANSWER_LONGEST,   /* a place of the session with that ttl, or "" */
    HF_REDIS_ANSWER_READ_ONLY, /* the first client that locks begins a grace period: 1; 2:
                                  if there was a canary, or the server is young */
};

/* A setting, or a value from INFO; "" and false if the server did not reveal it. */
bool hf_redis_setting(const struct hf_redis_diagnose *diagnose, const char *key,
                      char *ret, size_t size);

/* The same as a number; `otherwise` if the server did not reveal it. */
long long hf_redis_setting_number(const struct hf_redis_diagnose *diagnose,
                                  const char *key, long long otherwise);

void hf_redis_server_tell(const struct hf_redis          *redis,
                          const struct hf_redis_diagnose *diagnose,
                          struct hf_finding_list         *list);
void hf_redis_data_tell(const struct hf_redis          *redis,
                        const struct hf_redis_diagnose *diagnose, const redisReply *reply,
                        const char *name, struct hf_finding_list *list);

#endif
