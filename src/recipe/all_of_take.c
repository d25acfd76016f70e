/* all_of_take.c - what comes next when several locks are acquired or released as one.
 *
 * Members are in the order of their names, which is the same for everybody.  A set that
 * waits for a member holds only members that come before it.  So nobody waits in a
 * circle, neither with other sets nor with clients that acquire single locks in that
 * order.
 *
 * A store that can take several places in one step is asked for all of them at once.
 * If all are free, we are done.  If not, the set keeps the members before the first one
 * that is not free, waits for that one, and gives up the places behind it at once: if
 * it kept them while it waits for an earlier one, a circle could form.  (Places taken
 * in one step could be kept if every client took its locks in that way.  But a client
 * that holds the first lock and then queues for the second one, behind us, waits for us
 * while we wait for it.)  Then the set asks for the rest, again in one step.
 *
 * A set that had to wait asks for its first member alone the next time, so that sets
 * that take turns do not block each other with places they cannot use.
 *
 * A claim has no queue: it is asked for by itself, when its turn comes.
 */
#include "recipe/all_of.h"

#include <assert.h>

enum step {
    WAIT,
    NEXT,  /* all that are wanted are held: go on to the next */
    QUEUE, /* one of them has to wait */
    FAIL,  /* one of them was refused, or lost */
    GIVEN, /* all are idle */
};

/* ---- What comes next ------------------------------------------------------------- */

static bool are_idle(const struct hf_all_of *set, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++)
        if (hf_state(set->member[i]) != HF_IDLE)
            return false;
    return true;
}

static bool is_claim(const struct hf_lock *member)
{
    return member->job.hold.shape.claim;
}

/* The end of the members that are asked for next, starting at `from`. */
static size_t end_of_step(const struct hf_all_of *set, size_t from)
{
    bool   single = from == 0 && !set->hopeful && !set->once;
    size_t end = from + 1;

    if (from == set->count)
        return from;
    if (!set->together || single || is_claim(set->member[from]))
        return end;
    while (end < set->count && !is_claim(set->member[end]))
        end++;
    return end;
}

/* *at becomes the index of the member that decides. */
static enum step next_step(const struct hf_all_of *set, size_t *at)
{
    size_t i;

    if (set->phase == HF_RESTING)
        return WAIT;
    if (set->phase == HF_GIVING)
        return are_idle(set, 0, set->count) ? GIVEN : WAIT;
    for (i = 0; i < set->wanted; i++) {
        enum hf_state state = hf_state(set->member[i]);
        *at = i;
        if (state != HF_HELD && state != HF_WAITING)
            return FAIL;
    }
    for (i = set->taken; i < set->wanted; i++)
        if (hf_state(set->member[i]) != HF_HELD)
            break;
    *at = i;
    if (i == set->wanted) /* dropped ones may not have left yet */
        return are_idle(set, i, end_of_step(set, i)) ? NEXT : WAIT;
    bool in_line = hf_ahead(set->member[i]) >= 0;
    return in_line && (!set->queued || i + 1 < set->wanted) ? QUEUE : WAIT;
}

bool hf_all_of_is_due(void *set)
{
    size_t at;

    return next_step(set, &at) != WAIT;
}

/* ---- Doing it -------------------------------------------------------------------- */

void hf_all_of_drop(struct hf_all_of *set, size_t from)
{
    for (size_t i = set->wanted; i-- > from;) {
        struct hf_lock *member = set->member[i];
        enum hf_state   state = hf_state(member);
        if (state == HF_WAITING)
            hf_lock_post_drop(member, HF_ECANCELED);
        else if ((state == HF_HELD || state == HF_LOST) &&
                 hf_lock_let_go(member) == member)
            hf_lock_give_back(member);
    }
    set->wanted = from;
}

static void fail_all(struct hf_all_of *set, struct hf_lock *failed, int why)
{
    set->failed = failed;
    set->why = why;
    set->phase = HF_GIVING;
    hf_all_of_drop(set, 0);
    if (!set->blocks && !set->again)
        hf_all_of_publish(set, HF_LEAVING, why); /* the store has not confirmed it yet */
}

void hf_all_of_give_up(struct hf_all_of *set, int why)
{
    size_t at = 0;

    assert(set->phase != HF_RESTING);
    if (set->why < 0 && !set->again) /* given up before, for another reason */
        return;
    (void)next_step(set, &at);
    if (at == set->count) /* all are held, but that was not noticed yet */
        at--;
    set->again = false;
    fail_all(set, set->member[at], why);
}

/* The thread may hold the name already; 1: then the member is granted.  A member that
 * the user has acquired directly is left alone. */
static int try_nested(struct hf_all_of *set, struct hf_lock *member)
{
    bool unused = hf_lock_is_free(member) || hf_owner_is_outlived(&member->owner);

    return set->blocks && unused ? hf_nested_acquire(member, set->once) : 0;
}

static int want_member(struct hf_all_of *set, struct hf_lock *member, uint64_t group)
{
    int r = try_nested(set, member);
    if (r == 0)
        r = hf_lock_prepare(member);
    if (r != 0)
        return r < 0 ? r : 0;
    r = hf_lock_take_for_nobody(member);
    if (r < 0)
        return r;
    member->pending.group = group;
    hf_lock_post_want(member, set->once, set->deadline);
    return 0;
}

static void want_next(struct hf_all_of *set)
{
    struct hf_client *client = set->self->client;
    size_t            end = end_of_step(set, set->taken);
    uint64_t          group = end - set->taken > 1 ? ++client->groups : 0;

    while (set->wanted < end) {
        struct hf_lock *member = set->member[set->wanted];
        int             r = want_member(set, member, group);
        if (r < 0) {
            fail_all(set, member, r);
            return;
        }
        set->wanted++;
    }
}

static void rest(struct hf_all_of *set, enum hf_state state)
{
    set->phase = HF_RESTING;
    set->hopeful = !set->queued;
    if (set->blocks)
        return; /* the thread that waits publishes the result */
    if (set->why < 0)
        hf_lock_fail(set->failed, set->why);
    hf_all_of_listen(set, false);
    hf_all_of_publish(set, state, set->why);
}

static void on_next(struct hf_all_of *set)
{
    set->taken = set->wanted;
    if (set->taken == set->count)
        rest(set, HF_HELD);
    else if (hf_now() >= set->deadline)
        hf_all_of_give_up(set, set->once ? HF_EDOWN : HF_ETIMEOUT);
    else
        want_next(set);
}

static void on_fail(struct hf_all_of *set, struct hf_lock *member)
{
    bool lost = hf_state(member) == HF_LOST;

    /* The set was not held yet: start again without telling the user. */
    set->again = lost && hf_now() < set->deadline;
    fail_all(set, member, lost ? HF_ELOST : hf_why(member));
}

static void on_given(struct hf_all_of *set)
{
    if (set->again) {
        set->again = false;
        set->why = 0;
        set->taken = 0;
        set->phase = HF_TAKING;
        return; /* hf_all_of_step() goes on */
    }
    for (size_t i = set->count; i-- > 0 && set->why == 0;) {
        set->why = hf_why(set->member[i]);
        set->failed = set->member[i];
    }
    rest(set, HF_IDLE);
}

void hf_all_of_step(struct hf_all_of *set)
{
    for (;;) {
        size_t at = 0;
        switch (next_step(set, &at)) {
        case NEXT:
            on_next(set);
            break;
        case QUEUE:
            set->queued = true;
            set->taken = at;
            hf_all_of_drop(set, at + 1);
            break;
        case FAIL:
            on_fail(set, set->member[at]);
            break;
        case GIVEN:
            on_given(set);
            break;
        case WAIT:
            return;
        }
    }
}

/* ---- Start ----------------------------------------------------------------------- */

static void begin_phase(struct hf_all_of *set, bool blocks, enum hf_all_of_phase phase)
{
    assert(set->phase == HF_RESTING);
    set->phase = phase;
    set->blocks = blocks;
    set->again = false;
    set->why = 0;
    if (!blocks)
        hf_all_of_listen(set, true);
}

void hf_all_of_take(struct hf_all_of *set, bool blocks, bool once, hf_time deadline)
{
    begin_phase(set, blocks, HF_TAKING);
    set->once = once;
    set->deadline = deadline;
    set->taken = set->wanted = 0;
    set->queued = false;
    hf_all_of_publish(set, HF_WAITING, 0);
    hf_all_of_step(set);
}

void hf_all_of_give(struct hf_all_of *set, bool blocks)
{
    begin_phase(set, blocks, HF_GIVING);
    hf_all_of_publish(set, HF_LEAVING, 0);
    hf_all_of_drop(set, 0);
    hf_all_of_step(set);
}
