/* memory.h - lines inside this process, for tests and for trying things out.
 *
 *     memory:NAME            stores opened on the same NAME share one world
 *     memory:NAME?lease=MS   sessions die when not renewed for MS; without it
 *                            they live as long as their store is open
 *
 * The store proper (link.c, flight.c) knows a world (world.h) only through a
 * wire.  The one used for URLs calls it at once, under a mutex, and rings the other
 * clients' eventfd (local.c).  A simulation brings wires of its own, that lose
 * and delay what it likes in a time it makes up.
 */
#ifndef HF_MEMORY_H
#define HF_MEMORY_H

#include "store/memory/world.h"

extern const struct hf_store_impl hf_memory_store;

/* How calls get to a world, and answers back.  Embed it first. */
struct hf_wire {
    int  fd;     /* readable when answers came; -1 if time alone tells */
    bool broken; /* the connection is gone; a HELLO makes a new one */

    /* Takes a copy of what it needs. */
    void (*send)(struct hf_wire *wire, const struct hf_call *call, hf_time now);

    /* The next answer, lent until the next call; NULL: none yet.  Serial 0: nobody
     * asked, the session is gone. */
    const struct hf_answer *(*receive)(struct hf_wire *wire, hf_time now);

    /* Clear what made fd readable. */
    void (*quiet)(struct hf_wire *wire);

    /* When receive() wants to be called again although fd is not readable. */
    hf_time (*next)(struct hf_wire *wire);

    void (*close)(struct hf_wire *wire);
};

/* A store at the end of a wire, which it then owns.  ttl 0: no lease.  `seed`
 * is for back-off.  On failure the wire is untouched. */
int hf_memory_open(struct hf_wire *wire, hf_time ttl, uint64_t seed,
                   struct hf_store **ret);

#endif
