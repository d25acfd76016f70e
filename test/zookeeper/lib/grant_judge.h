/* grant_judge.h - was a grant right?  Judged by the nodes on the server.
 *
 * A client may hear late that its place was broken, even after it was granted the lock:
 * so what clients believe proves nothing.  At each grant a witness lists the folder.
 * Numbers rise, so a node with a lower number was there all the time.
 *
 *     a node ahead that keeps it out exists                            a fault
 *     its node exists, and so does that of a holder that it excludes   a fault
 *     one of these is gone, and nobody has broken it                   a fault
 *
 * But to a client, a place of its own that it is leaving is gone: the server carries out
 * later requests later.
 */
#ifndef HF_TEST_ZK_JUDGE_H
#define HF_TEST_ZK_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#define JUDGE_MAX 32

struct judged {
    const char *name;   /* of the lock; NULL: not in use */
    const void *client; /* which client it belongs to */
    uint64_t    token;
    uint64_t    seq; /* of its node; 0: not known */
    bool        reads;
    bool        holds; /* from the grant until LEAVE is submitted */
    bool        leaves;
    bool        broken; /* a BREAK was submitted */
};

void judge_open(void);
void judge_add(const struct judged *judged); /* must stay in place */
void judge_close(void);

/* `self` got a place with this token: find its node. */
void judge_learn(struct judged *self, uint64_t token);

/* `self`, one of these, was just granted the lock.  True: another one believes the same,
 * and one of the two has not heard yet that it was broken. */
bool judge_grant(struct judged *self);

#endif
