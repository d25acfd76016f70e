/* client.h - the near side of the memory store, shared by link.c and flight.c. */
#ifndef HF_MEMORY_CLIENT_H
#define HF_MEMORY_CLIENT_H

#include "core/retry.h"
#include "store/memory/memory.h"
#include "store/requests.h"

/* A request that was sent.  It ends with its answer, or with the wire or session that it
 * was sent on.  Without a lease nobody notices that a wire loses answers: what was sent on
 * such a wire does not end. */
struct hf_flight {
    uint64_t       serial; /* 0: unused */
    struct hf_req *req;
    hf_time        sent;
};

struct hf_memory {
    struct hf_store base;
    struct hf_wire *wire;

    /* link.c */
    uint64_t        session;    /* 0: none yet, or no more */
    bool            executes;   /* it is another's: end it, and have none */
    uint64_t        connection; /* number of the newest */
    hf_time         ttl;
    uint64_t        beat; /* serial of the HELLO or RENEW in flight, or 0 */
    hf_time         sent; /* when */
    hf_time         due;  /* when to send the next, or to give this one up */
    struct hf_retry retry;
    uint64_t        serials; /* given out */

    /* flight.c */
    struct hf_requests waiting; /* not yet sent */
    struct hf_requests failed;  /* to be completed with their status */
    struct hf_flight  *flight;
    size_t             room;
    bool               cancels; /* some are to end early */
};

/* A serial is a count and an index into the table of flights, so that an answer
 * finds its request at once, and a late one never finds a later request. */
#define HF_MEMORY_INDEX_BITS 20
#define HF_MEMORY_BEAT       (((size_t)1 << HF_MEMORY_INDEX_BITS) - 1) /* none of them */

static inline uint64_t hf_memory_serial(struct hf_memory *memory, size_t index)
{
    return ++memory->serials << HF_MEMORY_INDEX_BITS | index;
}

/* Send HELLO and RENEW when it is time; notice a dead wire. */
void hf_memory_link_run(struct hf_memory *memory, hf_time now);

/* An answer that is about the session.  False if it is not. */
bool hf_memory_link_take(struct hf_memory *memory, const struct hf_answer *answer,
                         hf_time now);

/* What was sent then was answered: the session lived when it arrived. */
void hf_memory_extend(struct hf_memory *memory, hf_time sent);

/* The world does not know our session any more. */
void hf_memory_lose(struct hf_memory *memory, hf_time now);

/* Fail what is in flight; with `all` also what was not yet sent. */
void hf_memory_fail(struct hf_memory *memory, bool all);

void hf_memory_submit(struct hf_store *store, struct hf_req *req);
void hf_memory_cancel(struct hf_store *store, struct hf_req *req);
void hf_memory_process(struct hf_store *store, hf_time now, bool readable);
void hf_memory_close(struct hf_store *store);

/* will.c: see struct hf_store_impl.  Which session does config->will name?  0: there is
 * none. */
int hf_memory_will(struct hf_store *store, void *ret);
int hf_memory_will_read(const struct hf_config *config, char *errmsg, uint64_t *ret);

#endif
