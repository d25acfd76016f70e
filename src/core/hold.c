/* hold.c - see hold.h. */
#include "core/hold.h"

#include "holdfast.h"

#include <assert.h>

static const enum hf_op needs[] = {
    [HF_HOLD_IDLE] = HF_NOTHING,  [HF_HOLD_ENTERING] = HF_ENTER,
    [HF_HOLD_WAITING] = HF_WATCH, [HF_HOLD_OUTSIDE] = HF_WATCH,
    [HF_HOLD_HELD] = HF_WATCH,    [HF_HOLD_LEAVING] = HF_LEAVE,
    [HF_HOLD_LOST] = HF_NOTHING,
};

void hf_hold_init(struct hf_hold *hold, const struct hf_shape *shape, uint64_t *ids)
{
    assert(shape->weight >= 1 && shape->weight <= shape->capacity);
    *hold = (struct hf_hold){ .shape = *shape, .ids = ids, .slot = -1 };
}

enum hf_op hf_hold_needs(const struct hf_hold *hold)
{
    if (hold->state == HF_HOLD_HELD && hold->downgrade)
        return HF_DOWNGRADE;
    return needs[hold->state];
}

const struct hf_shape *hf_hold_shape(const struct hf_hold *hold)
{
    bool lesser = hold->state == HF_HOLD_HELD && hold->lesser.weight != 0;

    return lesser ? &hold->lesser : &hold->shape;
}

bool hf_hold_only_free(const struct hf_hold *hold)
{
    return hold->once || hold->shape.claim;
}

static void enter(struct hf_hold *hold)
{
    /* A new id: a late answer about the old place must not be taken for this one. */
    hold->id = ++*hold->ids;
    hold->state = HF_HOLD_ENTERING;
}

static void come_to_rest(struct hf_hold *hold, enum hf_hold_state state, int why)
{
    assert(state == HF_HOLD_IDLE || state == HF_HOLD_LOST);
    hold->why = why;
    hold->token = 0;
    hold->slot = -1;
    hold->downgrade = false;
    hold->lesser.weight = 0;
    hold->state = state;
}

static void start_leaving(struct hf_hold *hold, int why)
{
    come_to_rest(hold, HF_HOLD_IDLE, why);
    hold->state = HF_HOLD_LEAVING;
}

static void lose(struct hf_hold *hold, bool away)
{
    assert(hold->state == HF_HOLD_HELD);
    hold->away = away;
    come_to_rest(hold, HF_HOLD_LOST, HF_ELOST);
}

static void hold_it(struct hf_hold *hold, const struct hf_standing *standing)
{
    assert(standing->token != 0);
    hold->token = standing->token;
    hold->slot = standing->slot;
    hold->why = 0;
    hold->state = HF_HOLD_HELD;
}

static void on_standing(struct hf_hold *hold, const struct hf_standing *standing)
{
    bool there = standing->state != HF_STAND_NONE;

    assert(standing->state != HF_STAND_UNKNOWN);
    if (hold->state == HF_HOLD_HELD) {
        if (!there)
            lose(hold, true);
        else if (hold->downgrade) /* by now an even lighter one may be wanted */
            hold->downgrade = standing->weight > hf_hold_shape(hold)->weight;
    } else if (!there) { /* removed while we waited, or forgotten by the store */
        enter(hold);
    } else if (standing->state == HF_STAND_HOLDS) {
        hold_it(hold, standing);
    } else if (hold->once) { /* the store cannot refuse, and made us queue */
        start_leaving(hold, HF_EBUSY);
    } else {
        hold->state = HF_HOLD_WAITING;
    }
}

/* Only to a lighter shape: a heavier one might have to wait. */
static void on_downgrade(struct hf_hold *hold, const struct hf_shape *shape)
{
    assert(shape->weight >= 1 && shape->weight <= hf_hold_shape(hold)->weight);
    assert(hf_shape_agrees(shape, &hold->shape));
    hold->lesser = *shape;
    hold->downgrade = true;
}

static void on_failed(struct hf_hold *hold, int why)
{
    /* While holding or leaving we never give up: the same request is needed again. */
    if (why == HF_EDOWN || hold->state == HF_HOLD_HELD || hold->state == HF_HOLD_LEAVING)
        return;
    bool refused = why == HF_EBUSY && hold->state == HF_HOLD_ENTERING;
    if (refused && hold->shape.claim && !hold->once)
        hold->state = HF_HOLD_OUTSIDE;
    else if (refused)
        come_to_rest(hold, HF_HOLD_IDLE, HF_EBUSY);
    else /* an ENTER that failed may still have taken a place */
        start_leaving(hold, why);
}

static void on_drop(struct hf_hold *hold, int why)
{
    if (hold->state == HF_HOLD_LEAVING)
        return;
    if (hold->state == HF_HOLD_OUTSIDE)
        come_to_rest(hold, HF_HOLD_IDLE, why);
    else if (hold->state != HF_HOLD_LOST)
        start_leaving(hold, why);
    else if (hold->away)
        come_to_rest(hold, HF_HOLD_IDLE, HF_ELOST);
    else
        start_leaving(hold, HF_ELOST);
}

static void on_left(struct hf_hold *hold, int why)
{
    /* Keep the first reason: a timeout remains a timeout. */
    come_to_rest(hold, HF_HOLD_IDLE, hold->why != 0 ? hold->why : why);
}

/* Our place is gone with its session.  If we waited, we queue again; if we held the
 * lock, it is lost, and never acquired again by ourselves: the caller must know. */
static void on_gone(struct hf_hold *hold)
{
    switch (hold->state) {
    case HF_HOLD_IDLE:
        break;
    case HF_HOLD_ENTERING:
    case HF_HOLD_WAITING:
    case HF_HOLD_OUTSIDE:
        enter(hold);
        break;
    case HF_HOLD_HELD:
        lose(hold, true);
        break;
    case HF_HOLD_LEAVING: /* the session died before the release was answered */
        come_to_rest(hold, HF_HOLD_IDLE, hold->why != 0 ? hold->why : HF_ELOST);
        break;
    case HF_HOLD_LOST:
        hold->away = true;
        break;
    }
}

void hf_hold_step(struct hf_hold *hold, const struct hf_event *event)
{
    switch (event->what) {
    case HF_WANT:
        assert(hold->state == HF_HOLD_IDLE);
        hold->once = event->once;
        hold->why = 0;
        enter(hold);
        break;
    case HF_STANDING:
        assert(hf_hold_needs(hold) == HF_ENTER || hf_hold_needs(hold) == HF_WATCH ||
               hf_hold_needs(hold) == HF_DOWNGRADE);
        assert(hold->state != HF_HOLD_OUTSIDE);
        on_standing(hold, &event->standing);
        break;
    case HF_CHANGED:
        assert(hold->state == HF_HOLD_OUTSIDE);
        enter(hold);
        break;
    case HF_FAILED:
        assert(event->why != 0 && hf_hold_needs(hold) != HF_NOTHING);
        on_failed(hold, event->why);
        break;
    case HF_DROP:
        assert(hold->state != HF_HOLD_IDLE);
        on_drop(hold, event->why);
        break;
    case HF_LEFT:
        assert(hold->state == HF_HOLD_LEAVING);
        on_left(hold, event->why);
        break;
    case HF_GONE:
        on_gone(hold);
        break;
    case HF_EXPIRED:
        if (hold->state == HF_HOLD_HELD)
            lose(hold, false);
        break;
    case HF_HOLD_LESS:
        assert(hold->state == HF_HOLD_HELD);
        on_downgrade(hold, &event->shape);
        break;
    }
    assert((hold->token != 0) == (hold->state == HF_HOLD_HELD));
}
