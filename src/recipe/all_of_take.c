/* all_of_take.c - what comes next when several locks are taken, or given back, as one.
 *
 * The parts are in the order of their names, which is the same for everybody.  A set
 * that waits for a part has only parts that come before it: so nobody waits in a circle,
 * neither with other sets nor with clients that take single locks in that order.
 *
 * A store that takes several places in one step is asked for all of them at once.  If
 * all are free, that was it.  If not, we keep what comes before the first that is not
 * free, wait for that one, and give up the places behind it at once: if we held them
 * while we wait for an earlier one, a circle could form.  (Places taken in one step could
 * be kept if everybody took several in that way.  But a client that has the first lock
 * already and then queues for the second, behind us, waits for us while we wait for it.)
 * Then the rest is asked for, again at once.
 *
 * A set that found somebody in the way asks for the first part alone the next time, so
 * that sets that take turns are not in each other's way with places they cannot use.
 *
 * A claim has no queue, and is asked for by itself, when its turn comes.
 */
#include "recipe/all_of.h"

#include <assert.h>

enum verdict {
    WAIT,
    NEXT,  /* all that were asked for are held */
    QUEUE, /* one of them has to wait for somebody */
    FAIL,  /* one of them is not to be had, or lost */
    GIVEN, /* all are idle */
};

/* ---- Judging ----------------------------------------------------------------------- */

static bool are_idle(const struct hf_bundle *bundle, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++)
        if (hf_state(bundle->part[i]) != HF_IDLE)
            return false;
    return true;
}

static bool part_is_claim(const struct hf_lock *part)
{
    return part->job.hold.shape.claim;
}

/* Up to where the parts from `from` on are asked for next. */
static size_t end_of_step(const struct hf_bundle *bundle, size_t from)
{
    bool   alone = from == 0 && !bundle->hopeful && !bundle->once;
    size_t end = from + 1;

    if (from == bundle->count)
        return from;
    if (!bundle->together || alone || part_is_claim(bundle->part[from]))
        return end;
    while (end < bundle->count && !part_is_claim(bundle->part[end]))
        end++;
    return end;
}

/* `at`: the part that it is about. */
static enum verdict judge_parts(const struct hf_bundle *bundle, size_t *at)
{
    size_t i;

    if (bundle->phase == HF_RESTING)
        return WAIT;
    if (bundle->phase == HF_GIVING)
        return are_idle(bundle, 0, bundle->count) ? GIVEN : WAIT;
    for (i = 0; i < bundle->wanted; i++) {
        enum hf_state state = hf_state(bundle->part[i]);
        *at = i;
        if (state != HF_HELD && state != HF_WAITING)
            return FAIL;
    }
    for (i = bundle->taken; i < bundle->wanted; i++)
        if (hf_state(bundle->part[i]) != HF_HELD)
            break;
    *at = i;
    if (i == bundle->wanted) /* what was given up may not have left yet */
        return are_idle(bundle, i, end_of_step(bundle, i)) ? NEXT : WAIT;
    bool in_line = hf_ahead(bundle->part[i]) >= 0;
    return in_line && (!bundle->queued || i + 1 < bundle->wanted) ? QUEUE : WAIT;
}

bool hf_bundle_is_due(void *bundle)
{
    size_t at;

    return judge_parts(bundle, &at) != WAIT;
}

/* ---- Doing it ------------------------------------------------------------------------ */

void hf_bundle_drop(struct hf_bundle *bundle, size_t from)
{
    for (size_t i = bundle->wanted; i-- > from;) {
        struct hf_lock *part = bundle->part[i];
        enum hf_state   state = hf_state(part);
        if (state == HF_WAITING)
            hf_lock_post_drop(part, HF_ECANCELED);
        else if ((state == HF_HELD || state == HF_LOST) && hf_lock_let_go(part) == part)
            hf_lock_give_back(part);
    }
    bundle->wanted = from;
}

static void fail_all(struct hf_bundle *bundle, struct hf_lock *culprit, int why)
{
    bundle->culprit = culprit;
    bundle->why = why;
    bundle->phase = HF_GIVING;
    hf_bundle_drop(bundle, 0);
    if (!bundle->blocks && !bundle->again)
        hf_bundle_show(bundle, HF_LEAVING, why); /* the store may not know it yet */
}

void hf_bundle_give_up(struct hf_bundle *bundle, int why)
{
    size_t at = 0;

    assert(bundle->phase != HF_RESTING);
    if (bundle->why < 0 && !bundle->again) /* it did so before, and that is the reason */
        return;
    (void)judge_parts(bundle, &at);
    if (at == bundle->count) /* all are held, and nobody has noticed yet */
        at--;
    bundle->again = false;
    fail_all(bundle, bundle->part[at], why);
}

/* The thread may hold the name already; 1: then this is all there is to do.  A part that
 * the user uses by himself is none of ours. */
static int find_shelter(struct hf_bundle *bundle, struct hf_lock *part)
{
    bool ours = hf_lock_is_free(part) || hf_owner_lends(&part->owner);

    return bundle->blocks && ours ? hf_shelter_find(part, bundle->once) : 0;
}

static int want_part(struct hf_bundle *bundle, struct hf_lock *part, uint64_t group)
{
    int r = find_shelter(bundle, part);
    if (r == 0)
        r = hf_lock_prepare(part);
    if (r != 0)
        return r < 0 ? r : 0;
    r = hf_lock_take_for_nobody(part);
    if (r < 0)
        return r;
    part->letter.group = group;
    hf_lock_post_want(part, bundle->once, bundle->deadline);
    return 0;
}

static void want_next(struct hf_bundle *bundle)
{
    struct hf_client *client = bundle->self->client;
    size_t            end = end_of_step(bundle, bundle->taken);
    uint64_t          group = end - bundle->taken > 1 ? ++client->groups : 0;

    while (bundle->wanted < end) {
        struct hf_lock *part = bundle->part[bundle->wanted];
        int             r = want_part(bundle, part, group);
        if (r < 0) {
            fail_all(bundle, part, r);
            return;
        }
        bundle->wanted++;
    }
}

static void rest_bundle(struct hf_bundle *bundle, enum hf_state state)
{
    bundle->phase = HF_RESTING;
    bundle->hopeful = !bundle->queued;
    if (bundle->blocks)
        return; /* the call that waits tells how it went */
    if (bundle->why < 0)
        hf_lock_fail(bundle->culprit, bundle->why);
    hf_bundle_listen(bundle, false);
    hf_bundle_show(bundle, state, bundle->why);
}

static void on_next(struct hf_bundle *bundle)
{
    bundle->taken = bundle->wanted;
    if (bundle->taken == bundle->count)
        rest_bundle(bundle, HF_HELD);
    else if (hf_now() >= bundle->deadline)
        hf_bundle_give_up(bundle, bundle->once ? HF_EDOWN : HF_ETIMEOUT);
    else
        want_next(bundle);
}

static void on_fail(struct hf_bundle *bundle, struct hf_lock *part)
{
    bool lost = hf_state(part) == HF_LOST;

    /* The whole was not held yet, so nobody need be told. */
    bundle->again = lost && hf_now() < bundle->deadline;
    fail_all(bundle, part, lost ? HF_ELOST : hf_why(part));
}

static void on_given(struct hf_bundle *bundle)
{
    if (bundle->again) {
        bundle->again = false;
        bundle->why = 0;
        bundle->taken = 0;
        bundle->phase = HF_TAKING;
        return; /* and step goes on */
    }
    for (size_t i = bundle->count; i-- > 0 && bundle->why == 0;) {
        bundle->why = hf_why(bundle->part[i]);
        bundle->culprit = bundle->part[i];
    }
    rest_bundle(bundle, HF_IDLE);
}

void hf_bundle_step(struct hf_bundle *bundle)
{
    for (;;) {
        size_t at = 0;
        switch (judge_parts(bundle, &at)) {
        case NEXT:
            on_next(bundle);
            break;
        case QUEUE:
            bundle->queued = true;
            bundle->taken = at;
            hf_bundle_drop(bundle, at + 1);
            break;
        case FAIL:
            on_fail(bundle, bundle->part[at]);
            break;
        case GIVEN:
            on_given(bundle);
            break;
        case WAIT:
            return;
        }
    }
}

/* ---- Both ways ------------------------------------------------------------------------ */

static void begin_phase(struct hf_bundle *bundle, bool blocks, enum hf_bundle_phase phase)
{
    assert(bundle->phase == HF_RESTING);
    bundle->phase = phase;
    bundle->blocks = blocks;
    bundle->again = false;
    bundle->why = 0;
    if (!blocks)
        hf_bundle_listen(bundle, true);
}

void hf_bundle_take(struct hf_bundle *bundle, bool blocks, bool once, hf_time deadline)
{
    begin_phase(bundle, blocks, HF_TAKING);
    bundle->once = once;
    bundle->deadline = deadline;
    bundle->taken = bundle->wanted = 0;
    bundle->queued = false;
    hf_bundle_show(bundle, HF_WAITING, 0);
    hf_bundle_step(bundle);
}

void hf_bundle_give(struct hf_bundle *bundle, bool blocks)
{
    begin_phase(bundle, blocks, HF_GIVING);
    hf_bundle_show(bundle, HF_LEAVING, 0);
    hf_bundle_drop(bundle, 0);
    hf_bundle_step(bundle);
}
