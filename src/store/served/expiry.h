/* expiry.h - when to look for sessions that have expired, on servers that count no time;
 * drawn.h says how we know that a session has.
 *
 * The answer to a renewal names the sessions in our way, at the head of the lines that we
 * wait for, and so tells us when one of them may be dead.  Every now and then, in a round,
 * we expire all other dead sessions, and sweep. */
#ifndef HF_SERVED_EXPIRY_H
#define HF_SERVED_EXPIRY_H

#include "store/served/drawn.h"

#define HF_EXPIRY_LINES 1000 /* to sweep in a round */

struct hf_expiry {
    struct hf_drawn drawn;     /* our own renewal numbers */
    hf_time         ttl;       /* of our own session */
    hf_time         expire_at; /* a session in our way may be dead then */
    hf_time         round;     /* expire and sweep the rest then */
};

enum hf_expiry_due { HF_EXPIRY_NONE, HF_EXPIRY_IN_OUR_WAY, HF_EXPIRY_ROUND };

/* Zero it before. */
void hf_expiry_init(struct hf_expiry *expiry, hf_time ttl, hf_time now);

/* Hello was answered, with a number. */
void hf_expiry_drew(struct hf_expiry *expiry, int64_t number, const char *era);

/* A renewal was answered, with a number; then hf_expiry_in_our_way() for each session that
 * the answer names. */
void hf_expiry_renewed(struct hf_expiry *expiry, int64_t number, const char *era);
void hf_expiry_in_our_way(struct hf_expiry *expiry, int64_t number, int64_t ttl_ms);

/* What to do now.  It is not due again until it is planned again. */
enum hf_expiry_due hf_expiry_run(struct hf_expiry *expiry, hf_time now);
hf_time            hf_expiry_wake(const struct hf_expiry *expiry);

/* How many of our numbers, from the oldest, are old enough to expire a session. */
size_t hf_expiry_old(const struct hf_expiry *expiry, enum hf_expiry_due due, hf_time now);

/* The server has expired some sessions in that call; -1: the call failed.  True: renew, to
 * learn what is in our way now. */
bool hf_expiry_ended(struct hf_expiry *expiry, enum hf_expiry_due due, int64_t count,
                     hf_time now);

/* The server has swept away so many lines. */
void hf_expiry_swept(struct hf_expiry *expiry, int64_t count, hf_time now);

#endif
