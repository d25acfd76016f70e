/* line.h - the line of a lock: which places are granted.  Pure: no I/O, no clock, no
 * allocation.  This is the rule of exclusion: every store grants by hf_sum_judge(), or
 * by its copy in Lua (redis/scripts/line.lua) or SQL (postgres/schema.sql); a test
 * compares the three.  A recipe only picks the shape.
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

/* Data in a store can be anything.  A place whose numbers make no sense is invalid.  It
 * is not ignored, since somebody may rely on it: no other place passes it, and it
 * counts as held if it is the first. */
struct hf_shape {
    uint32_t weight;
    uint32_t capacity;
    bool     claim;
};

/* One place in line.  `seq` orders the line, `token` fences the resource. */
struct hf_place {
    uint64_t        seq;
    uint64_t        token;
    struct hf_shape shape;
    int             slot; /* semaphores: 0 .. capacity-1 once granted; else -1 */
    int64_t     since;    /* since when granted, else queued: wall clock us, for people */
    int64_t     left;     /* LIST: us left of its session's lease, for people; 0: not
                              known; INT64_MAX: no lease, it lives as long as its
                              process */
    const char *line;     /* LIST: the lock's name; else may be NULL */
    const char *note;     /* LIST: its owner, for people; else may be NULL */
};

/* A snapshot of a line, sorted by seq.  Lent. */
struct hf_line {
    const struct hf_place *place;
    size_t                 count;
};

/* May a place pass the places ahead of it?
 *
 * It passes if it and everything ahead of it fit the capacity.  That is one sum and one
 * comparison, and the order in which places are added does not matter: a walk from the
 * head of the line, a walk back from our own place and a running total give the same
 * result. */
enum hf_verdict {
    HF_PASSES,
    HF_BLOCKED,    /* too heavy: one of those ahead must leave first */
    HF_MISMATCHED, /* one of those ahead is of another kind */
    HF_BARRED,     /* one of those ahead is invalid */
};

/* The sum of the places ahead.  All zeros: nobody is ahead. */
struct hf_sum {
    size_t          count;
    uint64_t        weight;
    struct hf_shape kind;    /* of the first one added */
    bool            mixed;   /* not all are of that kind */
    bool            invalid; /* one is invalid */
};

void            hf_sum_add(struct hf_sum *sum, const struct hf_shape *ahead);
enum hf_verdict hf_sum_judge(const struct hf_sum *sum, const struct hf_shape *mine);

/* For a walk from the head of a line: does the next place pass?  Adds it to the sum. */
bool hf_sum_next(struct hf_sum *sum, const struct hf_shape *next);

/* 0 for HF_PASSES and HF_BLOCKED; else the code to refuse the caller with. */
int hf_verdict_status(enum hf_verdict verdict);

/* Gets the next place ahead, the nearest first.  1; 0 if there is none; or HF_E... */
typedef int hf_next_ahead(void *from, struct hf_shape *ret);

/* The nearest places ahead, as few as block us by themselves.  Nobody joins ahead of
 * us, so we stay blocked until one of them leaves: watching these is enough, and
 * watching fewer is not. */
struct hf_blockers {
    size_t count;
    bool   alone; /* the farthest of them blocks by itself: watching it is enough */
};

/* Judge a place by walking back from it, no farther than needed.  `who` may be NULL.
 * Returns 0, or the error of next(). */
int hf_line_walk(const struct hf_shape *mine, hf_next_ahead *next, void *from,
                 enum hf_verdict *verdict, struct hf_blockers *who);

/* Do two places belong to the same kind of lock, so that the rule applies? */
bool hf_shape_agrees(const struct hf_shape *a, const struct hf_shape *b);

/* Does this kind have slot numbers? */
bool hf_shape_has_slots(const struct hf_shape *shape);

/* The shape for the numbers that a store has, which may be anything: one of the table
 * above, or an invalid one. */
struct hf_shape hf_shape_read(int64_t weight, int64_t capacity, bool claim);
bool            hf_shape_invalid(const struct hf_shape *shape);

/* "mutex", "reader", "writer", "semaphore", "claim"; "unknown" if it is invalid. */
const char *hf_shape_kind(const struct hf_shape *shape);

#endif
