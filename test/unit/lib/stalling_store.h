/* stalling_store.h - a client on a memory store that stops answering when the test says
 * so.
 *
 * Settings take effect at the next process() of the one client that the test has opened.
 */
#ifndef HF_TEST_DOUBLE_H
#define HF_TEST_DOUBLE_H

#include "client/handle/lock.h"

#include <stdatomic.h>

struct stalling_store {
    atomic_bool stalled; /* process() does nothing, so no request is answered */
    atomic_int  grants;  /* ENTERs that are still answered after that */
    /* Called after each process(), in the middle of a turn; or NULL. */
    void (*_Atomic after)(struct hf_store *store, hf_time now);
};

extern struct stalling_store stalling_store;

/* Opened and connected, not stalled yet. */
struct hf_client *stalling_store_open(unsigned flags, const char *url);

/* Lets the store answer first, since hf_close() waits for it. */
void stalling_store_close(struct hf_client *client);

#endif
