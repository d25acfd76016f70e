/* decide.c - a waiter and a model of the server, on random lines whose places leave or
 * downgrade at any time, with late answers.  The waiter must not be granted while the
 * naive rule, applied to the server's nodes, keeps it out; and it must not sleep when no
 * message is under way and it fits.
 *
 *     waiter --- LIST, LISTEN ---> server --- events, listings ---> waiter
 *
 * Messages of each direction stay in order, as on a connection.  HF_DECIDE_SEED repeats
 * one line.
 */
/* one thread */
#include "base/random.h"
#include "store/zookeeper/inner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#define LINES 100000 /* it takes ten times as long */
#else
#define LINES 300000
#endif
#define PLACES 12
#define QUEUE  512
#define STEPS  100

/* A place at the server; its name is its generation: a downgrade makes the next one. */
struct node {
    struct hf_zk_child child;
    int                name;
    bool               there, watched, own;
};

enum letter { LISTING, WATCHES, ENDED };

struct message {
    enum letter what;
    int         index, name;   /* ENDED */
    bool        all;           /* WATCHES: the folder */
    int         names[PLACES]; /* WATCHES: -1: not this one */
    struct node node[PLACES];  /* LISTING */
};

struct way {
    struct message message[QUEUE];
    size_t         first, count;
};

static uint64_t rng;

static struct node     node[PLACES]; /* the server's */
static size_t          nodes;
static bool            folder_watched;
static struct way      up, down;
static struct hf_shape mine;

static struct hf_zk_place          place[PLACES]; /* the waiter's */
static int                         name_of[PLACES];
static struct hf_zk_place_listener listener[PLACES];
static struct hf_zk_own            own_place;
static struct hf_zk_line           line;
static bool                        listing;   /* one is on its way */
static bool                        hears_all; /* it listens to the folder */
static unsigned                    passes, listings, listens, sleeps;

static unsigned below(unsigned limit)
{
    return (unsigned)(hf_random_next(&rng) % limit);
}

static struct message *put(struct way *way)
{
    assert_true(way->count < QUEUE);
    struct message *message = &way->message[(way->first + way->count++) % QUEUE];
    *message = (struct message){ 0 };
    return message;
}

static struct message *take(struct way *way)
{
    struct message *message = &way->message[way->first];

    assert_true(way->count > 0);
    way->first = (way->first + 1) % QUEUE;
    way->count--;
    return message;
}

/* ---- The server ---------------------------------------------------------------- */

/* An event: a node was removed; -1: the folder changed. */
static void tell_ended(int index, int name)
{
    struct message *message = put(&down);

    message->what = ENDED;
    message->index = index;
    message->name = name;
}

/* The naive rule: the sum of all weights. */
static enum hf_verdict naive(bool watched_only)
{
    struct hf_sum sum = { 0 };

    for (size_t i = 0; i < nodes; i++) {
        struct hf_shape shape = hf_zk_shape_to(&node[i].child, &mine);
        if (node[i].there && (!watched_only || node[i].watched || node[i].own))
            hf_sum_add(&sum, &shape);
    }
    return hf_sum_judge(&sum, &mine);
}

static void end_node(size_t index, bool lighter)
{
    struct hf_shape shape = hf_zk_shape_to(&node[index].child, &mine);

    if (!node[index].there)
        return;
    if (node[index].watched)
        tell_ended((int)index, node[index].name);
    if (folder_watched)
        tell_ended(-1, 0);
    folder_watched = node[index].watched = false;
    if (lighter && shape.weight > 1 && !node[index].own) {
        shape.weight = shape.capacity == HF_ALL ? 1 : 1 + below(shape.weight - 1);
        node[index].child.shape = shape;
        node[index].child.style = HF_ZK_CURATOR;
        node[index].name++;
    } else {
        node[index].there = false;
    }
}

static void serve(void)
{
    struct message *asked = take(&up);

    if (asked->what == LISTING) {
        struct message *answer = put(&down);
        answer->what = LISTING;
        memcpy(answer->node, node, sizeof node);
        return;
    }
    if (asked->all) { /* as of a listing: the watch may be set late */
        bool changed = false;
        for (size_t i = 0; i < nodes; i++)
            changed = changed || asked->names[i] != (node[i].there ? node[i].name : -1);
        folder_watched = !changed;
        if (changed)
            tell_ended(-1, 0);
        return;
    }
    for (size_t i = 0; i < nodes; i++) {
        if (asked->names[i] < 0)
            continue;
        if (node[i].there && node[i].name == asked->names[i])
            node[i].watched = true;
        else
            tell_ended((int)i, asked->names[i]);
    }
}

/* ---- The waiter ---------------------------------------------------------------- */

static void end_place(size_t index)
{
    hf_zk_place_end(&place[index]);
    line.stale = true;
    while (line.head < line.count && line.place[line.head].state == HF_ZK_GONE)
        line.head++;
}

static void take_in(const struct node *listed)
{
    line.count = line.head = 0;
    line.stale = listing = false;
    for (size_t i = 0; i < nodes; i++) {
        bool left = listed[i].own && !node[i].there; /* we know that we have left */
        if (!listed[i].there || left) {
            listener[i].seq = 0;
            continue;
        }
        bool heard = listener[i].seq != 0 && (int)listener[i].seq == listed[i].name + 1;
        if (!heard)
            listener[i].seq = 0;
        name_of[line.count] = listed[i].name;
        place[line.count++] =
            (struct hf_zk_place){ .child = listed[i].child,
                                  .seq = i,
                                  .own = listed[i].own ? &own_place : NULL,
                                  .listener = heard ? &listener[i] : NULL };
    }
}

static void hear(const struct message *message)
{
    if (message->what == LISTING) {
        take_in(message->node);
        return;
    }
    if (message->index < 0) {
        hears_all = false;
        line.stale = true;
        return;
    }
    for (size_t i = 0; i < line.count; i++) {
        if ((int)place[i].seq != message->index || name_of[i] != message->name ||
            place[i].state != HF_ZK_STANDS)
            continue;
        listener[message->index].seq = 0;
        end_place(i);
    }
}

static struct hf_zk_waiter waiter_now(void)
{
    return (struct hf_zk_waiter){
        .line = &line, .me = line.count, .mine = &mine, .hears_all = hears_all
    };
}

static void send_listen(void)
{
    struct hf_zk_waiter waiter = waiter_now();
    size_t              index[HF_ZK_CHOOSE_MAX];
    size_t              count = hf_zk_choose_places(&waiter, index);
    struct message     *message = put(&up);

    message->what = WATCHES;
    memset(message->names, -1, sizeof message->names);
    message->all = count == 0 || below(20) == 0; /* as for a follower */
    for (size_t i = 0; i < (message->all ? line.count : count); i++) {
        size_t at = message->all ? i : index[i];
        message->names[place[at].seq] = name_of[at];
        if (message->all || place[at].own != NULL)
            continue;
        assert_int_equal(place[at].state, HF_ZK_STANDS);
        place[at].listener = &listener[place[at].seq];
        listener[place[at].seq].seq = (uint64_t)name_of[at] + 1;
    }
    if (message->all)
        hears_all = true;
    waiter = waiter_now();
    enum hf_zk_step step = hf_zk_decide(&waiter);
    assert_int_equal(step, HF_ZK_SLEEP); /* what it chose is enough */
}

/* True: it holds. */
static bool review(void)
{
    struct hf_zk_waiter waiter = waiter_now();
    enum hf_zk_step     step = hf_zk_decide(&waiter);

    switch (step) {
    case HF_ZK_PASS:
        assert_int_equal(naive(false), HF_PASSES);
        passes++;
        return true;
    case HF_ZK_LIST:
        if (!listing)
            put(&up)->what = LISTING;
        listings += !listing;
        listing = true;
        break;
    case HF_ZK_LISTEN:
        listens++;
        send_listen();
        break;
    case HF_ZK_SLEEP:
        sleeps++;
        if (up.count == 0 && down.count == 0) {
            assert_int_not_equal(naive(false), HF_PASSES);
            assert_true(folder_watched || naive(true) != HF_PASSES);
        }
        break;
    case HF_ZK_REFUSE:
        fail_msg("no place of another kind is in this line");
    }
    assert_true(step == HF_ZK_SLEEP || up.count + down.count > 0);
    return false;
}

/* ---- Lines --------------------------------------------------------------------- */

static struct hf_shape random_shape(unsigned kind, uint32_t capacity)
{
    bool writer = below(3) == 0;

    if (kind == 0)
        return (struct hf_shape){ .weight = 1, .capacity = 1 };
    if (kind == 1)
        return (struct hf_shape){ .weight = writer ? HF_ALL : 1, .capacity = HF_ALL };
    return (struct hf_shape){ .weight = below(2) ? 1 : 1 + below(capacity),
                              .capacity = capacity };
}

static void begin_line(void)
{
    unsigned kind = below(3);
    uint32_t capacity = 2 + below(5);
    bool     kazoo = below(4) == 0;

    up.count = down.count = 0;
    folder_watched = listing = hears_all = false;
    mine = random_shape(kind, capacity);
    nodes = below(PLACES + 1);
    own_place.shape = mine;
    memset(listener, 0, sizeof listener);
    for (size_t i = 0; i < nodes; i++) {
        struct hf_shape shape = random_shape(kind, capacity);
        node[i] = (struct node){ .there = true, .own = below(6) == 0 };
        node[i].child = (struct hf_zk_child){ .style = HF_ZK_CURATOR, .shape = shape };
        if (kazoo && (shape.capacity == 1 || shape.weight == HF_ALL)) {
            node[i].child.style = HF_ZK_KAZOO;
            node[i].child.shape = (struct hf_shape){ .weight = 1, .capacity = 1 };
        }
    }
    line = (struct hf_zk_line){ .place = place };
    take_in(node);
}

/* A place of ours ends as soon as its LEAVE is sent. */
static void end_own(size_t index)
{
    end_node(index, false);
    for (size_t i = 0; i < line.count; i++)
        if (place[i].seq == index && place[i].state == HF_ZK_STANDS)
            end_place(i);
}

static bool play_step(void)
{
    size_t index = below((unsigned)nodes);

    switch (below(8)) {
    case 0:
        node[index].own ? end_own(index) : end_node(index, below(4) == 0);
        return node[index].own && review();
    case 1:
    case 2:
        if (up.count > 0)
            serve();
        return false;
    default:
        if (down.count > 0)
            hear(take(&down));
        return review();
    }
}

/* In the end all places leave, and all messages arrive. */
static void play_line(void)
{
    begin_line();
    bool held = review();
    for (unsigned steps = below(STEPS); steps > 0 && !held; steps--)
        held = play_step();
    for (size_t i = 0; i < nodes && !held; i++)
        node[i].own ? end_own(i) : end_node(i, false);
    for (int rest = 0; rest < STEPS && !held; rest++) {
        if (up.count > 0)
            serve();
        else if (down.count > 0)
            hear(take(&down));
        held = review();
    }
    assert_true(held);
}

static void a_waiter_is_granted_never_too_early_and_never_too_late(void **state)
{
    const char *text = getenv("HF_DECIDE_SEED");
    uint64_t    seed = text != NULL ? strtoull(text, NULL, 0) : hf_random();

    (void)state;
    print_message("# HF_DECIDE_SEED=%llu\n", (unsigned long long)seed);
    rng = seed;
    for (long i = 0; i < LINES; i++)
        play_line();
    print_message("# %u passed, %u listings, %u listens, %u sleeps\n", passes, listings,
                  listens, sleeps);
    assert_true(listings > 0 && listens > 0 && sleeps > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_waiter_is_granted_never_too_early_and_never_too_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
