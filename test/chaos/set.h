/* set.h - a set in a file, which its users change under a lock: read it, pause, write it back
 * with one element more.  FOLDER/LOCK.set has an element per line; README.md explains the rule. */
#ifndef HF_TEST_CHAOS_SET_H
#define HF_TEST_CHAOS_SET_H

#include "lib/turns.h"

enum set_kind { NO_SET, PLAIN_SET, FENCED_SET };

/* Of one turn. */
struct set {
    const char   *lock;
    enum set_kind kind;
    int           fence;
    uint64_t      token;
    char         *text; /* as it was read */
};

/* Read it; with a fence, claim it first.  False: the fence refused that. */
bool set_begin(struct set *set, struct turns *history);

/* Write it back.  Both write down what they did. */
void set_finish(struct set *set, struct turns *history);

#endif
