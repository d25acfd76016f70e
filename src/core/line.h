/* line.h - who stands in line for a lock, and who may pass.
 *
 * Pure: no I/O, no clock, no allocation.  Everything Holdfast decides about
 * exclusion is decided by hf_line_judge(); a recipe only picks the shape.
 *
 *               weight        capacity
 *   mutex       1             1
 *   semaphore   1..n          n
 *   reader      1             HF_ALL
 *   writer      HF_ALL        HF_ALL
 *   claim       1             1, and takes a place only when the line is free
 */
#ifndef HF_LINE_H
#define HF_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HF_ALL UINT32_MAX /* the weight that leaves room for nobody else */

/* A store's data can be anything.  A place that makes no sense is not left out: somebody
 * may hold it.  It is strange: it agrees with nobody, so nobody gets past it, and it
 * counts as held when it is the first. */

struct hf_shape {
    uint32_t weight;
    uint32_t capacity;
    bool     claim;
};

/* One place in line.  `seq` orders the line, `token` fences the resource. */
struct hf_ticket {
    uint64_t        seq;
    uint64_t        token;
    struct hf_shape shape;
    int             slot;  /* semaphores: 0 .. capacity-1 once granted; else -1 */
    int64_t         since; /* granted, or else queued: wall clock us, for people */
    int64_t         left;  /* LIST: us of its session's lease, as the store has it, for
                              people; 0: not known; INT64_MAX: it has none, and lasts
                              as long as its process */
    const char     *line;  /* LIST: the lock's name; else may be NULL */
    const char     *note;  /* LIST: whose it is, for people; else may be NULL */
    const char     *asked; /* READ of the own place: why somebody asks for it; NULL:
                              nobody does */
};

/* A snapshot of a line, sorted by seq.  Borrowed from the one that handed it out. */
struct hf_line {
    const struct hf_ticket *ticket;
    size_t                  count;
};

struct hf_verdict {
    bool granted;
    /* A ticket ahead, at index `first`, is of another kind than this one; or it is
     * strange. */
    bool mismatch;
    bool strange;
    /* Not granted: the run of tickets of which one must leave first. */
    size_t first;
    size_t count;
};

/* May a ticket of shape `mine` pass when `ahead` stands before it?
 *
 * It is granted when it and everything ahead of it fit the capacity.  When it
 * does not fit, the verdict names the fewest nearest tickets that by
 * themselves keep it out.  Nobody joins ahead of us, so until one of those
 * leaves nothing else can let us in: watching them is enough, and watching
 * fewer is not.  (Watching one is enough only when one alone is too heavy.)
 *
 * So `ahead` may lack its far end, once the near part alone keeps us out.
 */
struct hf_verdict hf_line_judge(const struct hf_line *ahead, const struct hf_shape *mine);

/* The same rule for whole lines, walked from the head: each ticket costs the same, however
 * many stand ahead of it.  Start with { 0 }. */
struct hf_line_walk {
    size_t          count;  /* of tickets so far */
    uint64_t        weight; /* of all of them */
    struct hf_shape kind;   /* of the first */
    bool            mixed;  /* not all agree with it */
};

/* Go on to the next ticket.  Is it granted? */
bool hf_line_walk(struct hf_line_walk *walk, const struct hf_shape *next);

/* The part of a line before the ticket at index `me`. */
struct hf_line hf_line_ahead(const struct hf_line *line, size_t me);

/* Do two places belong to the same kind of lock, so that the rule holds? */
bool hf_shape_agrees(const struct hf_shape *a, const struct hf_shape *b);

/* Does the kind have slot numbers, that is, several holders of one kind? */
bool hf_shape_has_slots(const struct hf_shape *shape);

/* The shape of a place as a store tells it, whatever that may be: one of the table
 * above, or strange. */
struct hf_shape hf_shape_read(int64_t weight, int64_t capacity, bool claim);
bool            hf_shape_strange(const struct hf_shape *shape);

/* "mutex", "reader", "writer", "semaphore", "claim"; "unknown" if it is strange. */
const char *hf_shape_kind(const struct hf_shape *shape);

#endif
