/* memory.h - lines inside this process, for tests and for trying things out.
 *
 *     memory:NAME            stores opened on the same NAME share one world
 *     memory:NAME?lease=MS   sessions die when not renewed for MS; without it
 *                            they live as long as their store is open
 *
 * It is also the store to learn from, and to copy: it has every verb but HISTORY, and
 * keeps the promises S1 to S9 (store/store.h).  A comment marks each of them.
 *
 *     world.h    the data: places in lines, sessions; pure
 *     queue.c    one line: its places and grants
 *     world.c    lines by name, sessions, and answers that have become due
 *     verbs.c    the verbs; look.c: LIST and DIAGNOSE
 *     store.c    requests in, answers out; the lease
 *     shared.c   worlds by name, under a mutex
 *     session_key.c  the session key
 *
 * The simulation (test/lib/sim/network.h) has the same world at the far end of a network.
 */
#ifndef HF_MEMORY_H
#define HF_MEMORY_H

#include "store/memory/world.h"

#include <pthread.h>

extern const struct hf_store_impl hf_memory_store;

/* A world that several stores use. */
struct hf_shared {
    struct hf_world   world;
    pthread_mutex_t   mutex;
    char             *name;
    size_t            stores; /* under the list's mutex, as is next */
    struct hf_shared *next;
};

/* One opened store. */
struct hf_memory {
    struct hf_store    base; /* first: they are cast */
    struct hf_shared  *shared;
    struct hf_session  session;
    hf_time            ttl;
    uint64_t           ends_session; /* opened to end the session of that number; or 0 */
    struct hf_requests submitted;    /* not yet begun */
    struct hf_requests ended;        /* to be answered with the status they have */
};

/* The world of that name, created if there is none; NULL: no memory.  It is freed with
 * the last store that uses it. */
struct hf_shared *hf_shared_join(const char *name);
void              hf_shared_part(struct hf_shared *shared);

/* session_key.c: see struct hf_store_impl.  Which session does config->key name?  0:
 * there is no key. */
int hf_memory_session_key(struct hf_store *store, void *ret);
int hf_memory_session_key_read(const struct hf_config *config, char *errmsg,
                               uint64_t *ret);

#endif
