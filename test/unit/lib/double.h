/* double.h - a client on the memory store that does not answer, or not in time, at will.
 *
 * What a test sets holds from the next process() on, for the one client it has opened.
 */
#ifndef HF_TEST_DOUBLE_H
#define HF_TEST_DOUBLE_H

#include "client/lock.h"

#include <stdatomic.h>

struct double_store {
    atomic_bool stalled; /* process() does nothing: no request is answered */
    atomic_int  grants;  /* ENTERs that are let through once it is stalled */
    /* Called after each process(), in the middle of a turn; NULL: nothing is. */
    void (*_Atomic after)(struct hf_store *store, hf_time now);
};

extern struct double_store double_store;

/* Opened, and connected; nothing is stalled yet. */
struct hf_client *double_open(unsigned flags, const char *url);

/* Lets the store answer, or hf_close() would wait for it. */
void double_close(struct hf_client *client);

#endif
