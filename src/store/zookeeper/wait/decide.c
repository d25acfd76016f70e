/* decide.c - what a waiter does next, given what is known of its line.  Pure: no I/O.
 *
 * We know the last listing, and which of its places ended since.  At most the places of
 * the listing are ahead of a waiter: numbers rise, so nobody joins ahead of it.  With
 * one exception: a client may downgrade its place, which creates a node with the same
 * number under another name.  So a place that ended and could have been downgraded is a
 * ghost until the next listing: it counts with the most that it can weigh now.
 *
 * A place is heard if we learn of its end: it is our own, we listen to it, or to the
 * folder.
 *
 *     the places that may be ahead let us pass                        PASS
 *     the heard places keep us out, and we can sleep (see below)      SLEEP
 *     some ended since the listing: others may have, unheard          LIST
 *     otherwise                                                       LISTEN to more
 *
 * A waiter can sleep if every place that keeps it out is heard: the event that ends the
 * last of them is then the grant.  It can also sleep if one heard place is to spare:
 * when that goes, there is time to list.  A semaphore needs neither, since it lists when
 * it is granted, to see which slots are free.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>

/* kazoo's names do not tell a writer from a mutex. */
static bool may_become_lighter(const struct hf_zk_place *place)
{
    if (place->child.style == HF_ZK_KAZOO && place->child.shape.capacity == 1)
        return place->own == NULL || place->own->shape.capacity != 1;
    return place->child.shape.weight > 1;
}

void hf_zk_place_end(struct hf_zk_place *place)
{
    assert(place->state == HF_ZK_STANDS);
    place->state = may_become_lighter(place) ? HF_ZK_GHOST : HF_ZK_GONE;
    place->own = NULL;
    place->listener = NULL;
}

/* kazoo has one name for writers and mutexes.  For readers and writers it counts as a
 * writer, for all others as a mutex. */
struct hf_shape hf_zk_shape_to(const struct hf_zk_child *child,
                               const struct hf_shape    *mine)
{
    bool writer = child->style == HF_ZK_KAZOO && child->shape.capacity == 1 &&
                  mine != NULL && mine->capacity == HF_ALL;

    return writer ? (struct hf_shape){ .weight = HF_ALL, .capacity = HF_ALL }
                  : child->shape;
}

/* The same for a ghost, with the weight that it may have now. */
static struct hf_shape shape_now(const struct hf_zk_place *place,
                                 const struct hf_shape    *mine)
{
    struct hf_shape shape = hf_zk_shape_to(&place->child, mine);

    if (place->state == HF_ZK_GHOST && shape.weight > 1)
        shape.weight = shape.capacity == HF_ALL ? 1 : shape.weight - 1;
    return shape;
}

static bool blocks_by_itself(const struct hf_shape *other, const struct hf_shape *mine)
{
    struct hf_sum sum = { 0 };

    hf_sum_add(&sum, other);
    return hf_sum_judge(&sum, mine) != HF_PASSES;
}

/* ---- Walks -------------------------------------------------------------------------- */

enum part {
    ALL,     /* all that may be ahead */
    HEARD,   /* those whose end we would have heard */
    SPARED,  /* HEARD, without the nearest one that blocks us by itself */
    UNHEARD, /* ALL, without those that are HEARD */
};

struct walk {
    const struct hf_zk_waiter *waiter;
    enum part                  part;
    size_t                     index; /* of the place visited last */
    bool                       spared;
};

static bool is_heard(const struct hf_zk_waiter *waiter, const struct hf_zk_place *place)
{
    return place->state == HF_ZK_STANDS &&
           (place->own != NULL || place->listener != NULL || waiter->hears_all);
}

static bool is_in_part(struct walk *walk, const struct hf_zk_place *place,
                       const struct hf_shape *shape)
{
    bool heard = is_heard(walk->waiter, place);

    switch (walk->part) {
    case ALL:
        return true;
    case HEARD:
        return heard;
    case SPARED:
        if (heard && !walk->spared && blocks_by_itself(shape, walk->waiter->mine)) {
            walk->spared = true;
            return false;
        }
        return heard;
    case UNHEARD:
        return !heard;
    }
    return true;
}

static int next_ahead(void *from, struct hf_shape *ret)
{
    struct walk             *walk = from;
    const struct hf_zk_line *line = walk->waiter->line;

    while (walk->index > line->head) {
        const struct hf_zk_place *place = &line->place[--walk->index];
        if (place->state == HF_ZK_GONE)
            continue;
        *ret = shape_now(place, walk->waiter->mine);
        if (is_in_part(walk, place, ret))
            return 1;
    }
    return 0;
}

static enum hf_verdict judge(const struct hf_zk_waiter *waiter, enum part part)
{
    struct walk     walk = { .waiter = waiter, .part = part, .index = waiter->me };
    enum hf_verdict verdict;

    assert(waiter->me <= waiter->line->count);
    (void)hf_line_walk(waiter->mine, next_ahead, &walk, &verdict, NULL);
    return verdict;
}

enum hf_verdict hf_zk_judge(const struct hf_zk_line *line, size_t me,
                            const struct hf_shape *mine)
{
    return judge(&(struct hf_zk_waiter){ .line = line, .me = me, .mine = mine }, ALL);
}

/* ---- The decision ------------------------------------------------------------------- */

static bool can_sleep(const struct hf_zk_waiter *waiter)
{
    if (judge(waiter, HEARD) == HF_PASSES)
        return false;
    return hf_shape_has_slots(waiter->mine) ||
           judge(waiter, SPARED) != HF_PASSES || /* stops early in a long line */
           judge(waiter, UNHEARD) == HF_PASSES;
}

enum hf_zk_step hf_zk_decide(const struct hf_zk_waiter *waiter)
{
    enum hf_verdict verdict = judge(waiter, ALL);

    if (verdict == HF_PASSES)
        return HF_ZK_PASS;
    if (verdict != HF_BLOCKED)
        return waiter->line->stale ? HF_ZK_LIST : HF_ZK_REFUSE;
    if (can_sleep(waiter))
        return HF_ZK_SLEEP;
    return waiter->line->stale ? HF_ZK_LIST : HF_ZK_LISTEN;
}

/* ---- Places to listen to ------------------------------------------------------------ */

/* The next place ahead that is worth listening to.  Among readers and writers, and among
 * mutexes, only one that blocks us by itself is. */
static bool next_that_counts(struct walk *walk, struct hf_shape *ret)
{
    const struct hf_shape *mine = walk->waiter->mine;

    while (next_ahead(walk, ret) > 0)
        if (hf_shape_has_slots(mine) || blocks_by_itself(ret, mine))
            return true;
    return false;
}

/* Two rounds of holders: the places just ahead that can hold the lock together, and the
 * places in front of those.  Four rounds for a reader: it need not list before the last
 * of these writers is gone.
 *
 *     a mutex       the nearest two
 *     a reader      the nearest four writers
 *     a writer      the readers just ahead and the writer in front of them, or the like
 *     a semaphore   twice as many as it has slots
 */
size_t hf_zk_choose_places(const struct hf_zk_waiter *waiter,
                           size_t                     ret[HF_ZK_CHOOSE_MAX])
{
    struct walk     walk = { .waiter = waiter, .part = ALL, .index = waiter->me };
    struct hf_sum   round = { 0 }, sum = { 0 };
    struct hf_shape other;
    size_t          count = 0;
    bool reader = waiter->mine->capacity == HF_ALL && waiter->mine->weight == 1;
    int  rounds = 1;

    while (count < HF_ZK_CHOOSE_MAX && next_that_counts(&walk, &other)) {
        if (hf_sum_judge(&round, &other) != HF_PASSES) {
            if (++rounds > (reader ? 4 : 2))
                break;
            round = (struct hf_sum){ 0 };
        }
        hf_sum_add(&round, &other);
        hf_sum_add(&sum, &other);
        ret[count++] = walk.index;
    }
    /* 0: more than HF_ZK_CHOOSE_MAX are needed to keep us out. */
    return hf_sum_judge(&sum, waiter->mine) != HF_PASSES ? count : 0;
}

size_t hf_zk_depends_on(const struct hf_zk_waiter *waiter, size_t ret[HF_ZK_CHOOSE_MAX])
{
    struct walk     walk = { .waiter = waiter, .part = HEARD, .index = waiter->me };
    struct hf_sum   sum = { 0 };
    struct hf_shape other;
    size_t          count = 0;

    while (count < HF_ZK_CHOOSE_MAX && hf_sum_judge(&sum, waiter->mine) == HF_PASSES &&
           next_that_counts(&walk, &other)) {
        hf_sum_add(&sum, &other);
        ret[count++] = walk.index;
    }
    return count;
}
