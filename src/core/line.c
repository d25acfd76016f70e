/* line.c - see line.h. */
#include "core/line.h"

#include "holdfast.h"

static bool fits(uint64_t ahead, const struct hf_shape *mine)
{
    return ahead + mine->weight <= mine->capacity;
}

bool hf_shape_invalid(const struct hf_shape *shape)
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
    const struct hf_shape invalid = { .weight = HF_ALL, .capacity = 0 };
    struct hf_shape       shape = { .claim = claim };

    if (weight < 1 || weight > HF_ALL || capacity < 1 || capacity > HF_ALL)
        return invalid;
    shape.weight = (uint32_t)weight;
    shape.capacity = (uint32_t)capacity;
    return hf_shape_invalid(&shape) ? invalid : shape;
}

bool hf_shape_agrees(const struct hf_shape *a, const struct hf_shape *b)
{
    return a->capacity == b->capacity && a->claim == b->claim && !hf_shape_invalid(a) &&
           !hf_shape_invalid(b);
}

bool hf_shape_has_slots(const struct hf_shape *shape)
{
    return shape->capacity > 1 && shape->capacity < HF_ALL;
}

const char *hf_shape_kind(const struct hf_shape *shape)
{
    if (hf_shape_invalid(shape))
        return "unknown";
    if (shape->claim)
        return "claim";
    if (shape->capacity == 1)
        return "mutex";
    if (shape->capacity < HF_ALL)
        return "semaphore";
    return shape->weight == HF_ALL ? "writer" : "reader";
}

void hf_sum_add(struct hf_sum *sum, const struct hf_shape *ahead)
{
    bool first = sum->count++ == 0;

    if (first)
        sum->kind = *ahead;
    sum->invalid = sum->invalid || hf_shape_invalid(ahead);
    sum->mixed = sum->mixed || !hf_shape_agrees(&sum->kind, ahead);
    sum->weight += ahead->weight;
}

enum hf_verdict hf_sum_judge(const struct hf_sum *sum, const struct hf_shape *mine)
{
    if (sum->count == 0)
        return HF_PASSES;
    if (sum->invalid)
        return HF_BARRED;
    if (sum->mixed || !hf_shape_agrees(&sum->kind, mine))
        return HF_MISMATCHED;
    return fits(sum->weight, mine) ? HF_PASSES : HF_BLOCKED;
}

bool hf_sum_next(struct hf_sum *sum, const struct hf_shape *next)
{
    bool passes = hf_sum_judge(sum, next) == HF_PASSES;

    hf_sum_add(sum, next);
    return passes;
}

int hf_verdict_status(enum hf_verdict verdict)
{
    static const int status[] = {
        [HF_PASSES] = 0,
        [HF_BLOCKED] = 0,
        [HF_MISMATCHED] = HF_EMISMATCH,
        [HF_BARRED] = HF_ECORRUPT,
    };

    return status[verdict];
}

int hf_line_walk(const struct hf_shape *mine, hf_next_ahead *next, void *from,
                 enum hf_verdict *verdict, struct hf_blockers *who)
{
    struct hf_sum   sum = { 0 };
    struct hf_shape other = { 0 };
    int             r = 0;

    *verdict = HF_PASSES;
    while (*verdict == HF_PASSES && (r = next(from, &other)) > 0) {
        hf_sum_add(&sum, &other);
        *verdict = hf_sum_judge(&sum, mine);
    }
    if (who != NULL) {
        bool alone =
            sum.count > 0 && !(hf_shape_agrees(&other, mine) && fits(other.weight, mine));
        *who = (struct hf_blockers){ .count = sum.count, .alone = alone };
    }
    return r < 0 ? r : 0;
}
