/* line.h - who stands in line for a lock, and who may pass.
 *
 * Pure: no I/O, no clock, no allocation.  This is the rule of exclusion: every store
 * grants by hf_sum_judge(), or by its one copy in Lua (redis/line.lua) or SQL
 * (postgres/schema.sql), and test/served compares the three.  A recipe only picks the shape.
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
};

/* A line as it stood, sorted by seq.  Borrowed from the one that handed it out. */
struct hf_line {
    const struct hf_ticket *ticket;
    size_t                  count;
};

/* May a place pass those ahead of it?
 *
 * It passes when it and everything ahead of it fit the capacity.  That is one sum and one
 * comparison, and the order in which places are added does not matter: a walk from the head
 * of the line, a walk back from the own place and a running total are the same rule. */
enum hf_verdict {
    HF_PASSES,
    HF_BLOCKED,    /* those added are too heavy: one of them must leave first */
    HF_MISMATCHED, /* one of them is of another kind */
    HF_BARRED,     /* one of them is strange */
};

/* Places ahead, added up.  All zeros: nobody is ahead. */
struct hf_sum {
    size_t          count;
    uint64_t        weight;
    struct hf_shape kind;    /* of the first one added */
    bool            mixed;   /* not all agree with it */
    bool            strange; /* one makes no sense */
};

void            hf_sum_add(struct hf_sum *sum, const struct hf_shape *ahead);
enum hf_verdict hf_sum_judge(const struct hf_sum *sum, const struct hf_shape *mine);

/* For those who list a line from its head: does the next place pass?  Then it is added. */
bool hf_sum_next(struct hf_sum *sum, const struct hf_shape *next);

/* HF_PASSES and HF_BLOCKED: 0.  Else the code that tells a caller why it cannot wait. */
int hf_verdict_status(enum hf_verdict verdict);

/* The next place ahead, the nearest first: 1; 0 if there is none; or HF_E... */
typedef int hf_next_ahead(void *from, struct hf_shape *ret);

/* The nearest places ahead, as few as decide by themselves.  Nobody joins ahead of us, so
 * until one of those that block us leaves nothing else can let us in: listening to them is
 * enough, and listening to fewer is not. */
struct hf_blockers {
    size_t count;
    bool   alone; /* the farthest of them blocks by itself: listening to it is enough */
};

/* Judge a place by walking back from it, no farther than needed.  `who` may be NULL.
 * Returns 0, or the error of next(). */
int hf_line_walk(const struct hf_shape *mine, hf_next_ahead *next, void *from,
                 enum hf_verdict *verdict, struct hf_blockers *who);

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
