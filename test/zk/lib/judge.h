/* judge.h - may somebody be told that it holds a lock?  Judged by what is at the server.
 *
 * A client may hear late that its place was taken away, even after it was told that it holds
 * the lock: so what clients believe says nothing.  At each grant a witness lists the folder.
 * Numbers rise, so whoever is there with a lower number was there all the time.
 *
 *     a node ahead that keeps it out is there                         a fault
 *     its node is there, and that of one who holds what it excludes   a fault
 *     one of these is gone, and nobody has broken it                  a fault
 *
 * But a client's own place that is being left is gone to that client: what it does later the
 * server does later.
 */
#ifndef HF_TEST_ZK_JUDGE_H
#define HF_TEST_ZK_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#define JUDGE_MAX 32

struct judged {
    const char *name;   /* of the lock; NULL: not in use */
    const void *client; /* whose it is */
    uint64_t    token;
    uint64_t    seq; /* of its node; 0: not known */
    bool        reads;
    bool        holds; /* from the grant until LEAVE is submitted */
    bool        leaves;
    bool        broken; /* a BREAK was submitted */
};

void judge_open(void);
void judge_add(const struct judged *judged); /* it stays */
void judge_close(void);

/* `self` was told that it has a place with this token: which node is it? */
void judge_learn(struct judged *self, uint64_t token);

/* `self`, one of these, was just told that it holds the lock.  True: another believes the
 * same, and one of both has not heard yet that it was broken. */
bool judge_grant(struct judged *self);

#endif
