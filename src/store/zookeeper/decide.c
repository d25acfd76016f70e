/* decide.c - what a waiter does next, by what is known of its line.  Pure: no I/O.
 *
 * What is known is the last listing, and which of its places ended since.  The places ahead of
 * a waiter are, at most, those of the listing: numbers rise, so nobody joins ahead of it.  One
 * kind of place comes back: a client may downgrade, which makes a node of the same number under
 * another name.  So a place that ended and could have been lighter is a ghost until the next
 * listing: it counts with the most that it can weigh now.
 *
 *     all that may be ahead lets us pass                                PASS
 *     places that we hear keep us out, and that will do                 SLEEP
 *     else, if some ended since the listing                             LIST    others may have
 *                                                                       ended unheard
 *     else                                                              LISTEN  to more of them
 *
 * It will do if every place that keeps us out is heard: the event that ends the last of them
 * is then the grant.  It will also do if there is one to spare, for then there is time to list
 * when that goes.  A semaphore needs neither.  It lists when it is granted, to see which slots
 * are free.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>

/* kazoo's names do not tell a writer from a mutex. */
static bool may_become_lighter(const struct hf_zk_place *place)
{
    if (place->child.style == HF_ZK_KAZOO && place->child.shape.capacity == 1)
        return place->ticket == NULL || place->ticket->shape.capacity != 1;
    return place->child.shape.weight > 1;
}

void hf_zk_place_end(struct hf_zk_place *place)
{
    assert(place->state == HF_ZK_STANDS);
    place->state = may_become_lighter(place) ? HF_ZK_GHOST : HF_ZK_GONE;
    place->ticket = NULL;
    place->ear = NULL;
}

/* kazoo has one name for writers and mutexes.  To a reader or writer it is a writer, to all
 * others a mutex. */
struct hf_shape hf_zk_shape_to(const struct hf_zk_child *child,
                               const struct hf_shape    *mine)
{
    bool writer = child->style == HF_ZK_KAZOO && child->shape.capacity == 1 &&
                  mine != NULL && mine->capacity == HF_ALL;

    return writer ? (struct hf_shape){ .weight = HF_ALL, .capacity = HF_ALL }
                  : child->shape;
}

/* The same of a place as it may be now. */
static struct hf_shape shape_now(const struct hf_zk_place *place,
                                 const struct hf_shape    *mine)
{
    struct hf_shape shape = hf_zk_shape_to(&place->child, mine);

    if (place->state == HF_ZK_GHOST && shape.weight > 1)
        shape.weight = shape.capacity == HF_ALL ? 1 : shape.weight - 1;
    return shape;
}

static bool keeps_out_alone(const struct hf_shape *other, const struct hf_shape *mine)
{
    struct hf_sum sum = { 0 };

    hf_sum_add(&sum, other);
    return hf_sum_judge(&sum, mine) != HF_PASSES;
}

/* ---- Walks ------------------------------------------------------------------------------ */

enum part {
    ALL,     /* all that may be ahead */
    HEARD,   /* those of them that surely are, or else we are told */
    SPARED,  /* HEARD, without the nearest that keeps us out by itself */
    UNHEARD, /* ALL, without those that are HEARD */
};

struct walk {
    const struct hf_zk_waiter *who;
    enum part                  part;
    size_t                     index; /* the last one looked at */
    bool                       spared;
};

/* We know of the end of our own places without listening. */
static bool is_heard(const struct hf_zk_waiter *who, const struct hf_zk_place *place)
{
    return place->state == HF_ZK_STANDS &&
           (place->ticket != NULL || place->ear != NULL || who->hears_all);
}

static bool is_in_part(struct walk *walk, const struct hf_zk_place *place,
                       const struct hf_shape *shape)
{
    bool heard = is_heard(walk->who, place);

    switch (walk->part) {
    case ALL:
        return true;
    case HEARD:
        return heard;
    case SPARED:
        if (heard && !walk->spared && keeps_out_alone(shape, walk->who->mine)) {
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
    const struct hf_zk_line *line = walk->who->line;

    while (walk->index > line->head) {
        const struct hf_zk_place *place = &line->place[--walk->index];
        if (place->state == HF_ZK_GONE)
            continue;
        *ret = shape_now(place, walk->who->mine);
        if (is_in_part(walk, place, ret))
            return 1;
    }
    return 0;
}

static enum hf_verdict judge(const struct hf_zk_waiter *who, enum part part)
{
    struct walk     walk = { .who = who, .part = part, .index = who->me };
    enum hf_verdict verdict;

    assert(who->me <= who->line->count);
    (void)hf_line_walk(who->mine, next_ahead, &walk, &verdict, NULL);
    return verdict;
}

enum hf_verdict hf_zk_judge(const struct hf_zk_line *line, size_t me,
                            const struct hf_shape *mine)
{
    return judge(&(struct hf_zk_waiter){ .line = line, .me = me, .mine = mine }, ALL);
}

/* ---- The decision ------------------------------------------------------------------------- */

static bool will_do(const struct hf_zk_waiter *who)
{
    if (judge(who, HEARD) == HF_PASSES)
        return false;
    return hf_shape_has_slots(who->mine) ||
           judge(who, SPARED) != HF_PASSES || /* soon found, in a long line */
           judge(who, UNHEARD) == HF_PASSES;
}

enum hf_zk_step hf_zk_decide(const struct hf_zk_waiter *who)
{
    enum hf_verdict verdict = judge(who, ALL);

    if (verdict == HF_PASSES)
        return HF_ZK_PASS;
    if (verdict != HF_BLOCKED)
        return who->line->stale ? HF_ZK_LIST : HF_ZK_REFUSE;
    if (will_do(who))
        return HF_ZK_SLEEP;
    return who->line->stale ? HF_ZK_LIST : HF_ZK_LISTEN;
}

/* ---- Whom to listen to -------------------------------------------------------------------- */

/* The next place ahead that may have to be listened to: among readers and writers, and in a
 * line of mutexes, one that keeps us out by itself. */
static bool next_that_counts(struct walk *walk, struct hf_shape *ret)
{
    const struct hf_shape *mine = walk->who->mine;

    while (next_ahead(walk, ret) > 0)
        if (hf_shape_has_slots(mine) || keeps_out_alone(ret, mine))
            return true;
    return false;
}

/* Two turns: the places just ahead that can hold the lock together, and those in front of
 * them.  Four for a reader, who need not list before the last of these writers has gone.
 *
 *     a mutex       the nearest two
 *     a reader      the nearest four writers
 *     a writer      the readers just ahead and the writer in front of them, or such
 *     a semaphore   twice as many as it has slots
 */
size_t hf_zk_choose(const struct hf_zk_waiter *who, size_t ret[HF_ZK_CHOOSE_MAX])
{
    struct walk     walk = { .who = who, .part = ALL, .index = who->me };
    struct hf_sum   turn = { 0 }, sum = { 0 };
    struct hf_shape other;
    size_t          count = 0;
    bool            reads = who->mine->capacity == HF_ALL && who->mine->weight == 1;
    int             turns = 1;

    while (count < HF_ZK_CHOOSE_MAX && next_that_counts(&walk, &other)) {
        if (hf_sum_judge(&turn, &other) != HF_PASSES) {
            if (++turns > (reads ? 4 : 2))
                break;
            turn = (struct hf_sum){ 0 };
        }
        hf_sum_add(&turn, &other);
        hf_sum_add(&sum, &other);
        ret[count++] = walk.index;
    }
    /* Very many of them are needed to keep us out. */
    return hf_sum_judge(&sum, who->mine) != HF_PASSES ? count : 0;
}

size_t hf_zk_depends(const struct hf_zk_waiter *who, size_t ret[HF_ZK_CHOOSE_MAX])
{
    struct walk     walk = { .who = who, .part = HEARD, .index = who->me };
    struct hf_sum   sum = { 0 };
    struct hf_shape other;
    size_t          count = 0;

    while (count < HF_ZK_CHOOSE_MAX && hf_sum_judge(&sum, who->mine) == HF_PASSES &&
           next_that_counts(&walk, &other)) {
        hf_sum_add(&sum, &other);
        ret[count++] = walk.index;
    }
    return count;
}
