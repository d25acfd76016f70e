/* line.c - see line.h. */
#include "core/line.h"

#include <assert.h>

static bool fits(uint64_t ahead, const struct hf_shape *mine)
{
    return ahead + mine->weight <= mine->capacity;
}

bool hf_shape_agrees(const struct hf_shape *a, const struct hf_shape *b)
{
    return a->capacity == b->capacity && a->claim == b->claim;
}

bool hf_shape_has_slots(const struct hf_shape *shape)
{
    return shape->capacity > 1 && shape->capacity < HF_ALL;
}

const char *hf_shape_kind(const struct hf_shape *shape)
{
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
    assert(mine->weight >= 1 && mine->weight <= mine->capacity);

    size_t   me = ahead->count;
    uint64_t weight = 0;

    for (size_t i = me; i-- > 0;) {
        const struct hf_shape *other = &ahead->ticket[i].shape;
        if (!hf_shape_agrees(other, mine))
            return (struct hf_verdict){ .mismatch = true, .first = i, .count = 1 };
        weight += other->weight;
        if (fits(weight, mine))
            continue;
        bool alone = !fits(other->weight, mine);
        return (struct hf_verdict){ .first = i, .count = alone ? 1 : me - i };
    }
    return (struct hf_verdict){ .granted = true };
}
