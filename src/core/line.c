/* line.c - see line.h. */
#include "core/line.h"

#include <assert.h>

static bool fits(uint64_t ahead, const struct hf_shape *mine)
{
    return ahead + mine->weight <= mine->capacity;
}

bool hf_shape_strange(const struct hf_shape *shape)
{
    if (shape->weight < 1 || shape->weight > shape->capacity)
        return true;
    if (shape->claim)
        return shape->capacity != 1;
    return shape->capacity == HF_ALL && shape->weight != 1 && shape->weight != HF_ALL;
}

struct hf_shape hf_shape_read(int64_t weight, int64_t capacity, bool claim)
{
    /* Heavier than any capacity: wherever weights are added up, it does not fit. */
    const struct hf_shape strange = { .weight = HF_ALL, .capacity = 0 };
    struct hf_shape       shape = { .claim = claim };

    if (weight < 1 || weight > HF_ALL || capacity < 1 || capacity > HF_ALL)
        return strange;
    shape.weight = (uint32_t)weight;
    shape.capacity = (uint32_t)capacity;
    return hf_shape_strange(&shape) ? strange : shape;
}

bool hf_shape_agrees(const struct hf_shape *a, const struct hf_shape *b)
{
    return a->capacity == b->capacity && a->claim == b->claim && !hf_shape_strange(a) &&
           !hf_shape_strange(b);
}

bool hf_shape_has_slots(const struct hf_shape *shape)
{
    return shape->capacity > 1 && shape->capacity < HF_ALL;
}

const char *hf_shape_kind(const struct hf_shape *shape)
{
    if (hf_shape_strange(shape))
        return "unknown";
    if (shape->claim)
        return "claim";
    if (shape->capacity == 1)
        return "mutex";
    if (shape->capacity < HF_ALL)
        return "semaphore";
    return shape->weight == HF_ALL ? "writer" : "reader";
}

struct hf_line hf_line_ahead(const struct hf_line *line, size_t me)
{
    assert(me <= line->count);
    return (struct hf_line){ .ticket = line->ticket, .count = me };
}

struct hf_verdict hf_line_judge(const struct hf_line *ahead, const struct hf_shape *mine)
{
    size_t   me = ahead->count;
    uint64_t weight = 0;

    for (size_t i = me; i-- > 0;) {
        const struct hf_shape *other = &ahead->ticket[i].shape;
        if (!hf_shape_agrees(other, mine))
            return (struct hf_verdict){ .mismatch = true,
                                        .strange = hf_shape_strange(other),
                                        .first = i,
                                        .count = 1 };
        weight += other->weight;
        if (fits(weight, mine))
            continue;
        bool alone = !fits(other->weight, mine);
        return (struct hf_verdict){ .first = i, .count = alone ? 1 : me - i };
    }
    return (struct hf_verdict){ .granted = true };
}

bool hf_line_walk(struct hf_line_walk *walk, const struct hf_shape *next)
{
    bool first = walk->count++ == 0;

    if (first)
        walk->kind = *next;
    else if (!hf_shape_agrees(&walk->kind, next))
        walk->mixed = true;
    bool granted = first || (!walk->mixed && fits(walk->weight, next));
    walk->weight += next->weight;
    return granted;
}
