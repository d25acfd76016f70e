/* dial.c - the states of a dial, and their times; see dial.h. */
#include "store/remote/dial.h"

#include "base/random.h"

#include <assert.h>
#include <stdio.h>

#define PAUSE_FIRST (50 * HF_MS)
#define PAUSE_LAST  HF_SEC

/* ---- Both ends of its life ---------------------------------------------------- */

void hf_dial_init(struct hf_dial *dial, uint64_t seed)
{
    const struct hf_dial_ops *ops = dial->ops;

    assert(ops->greet != NULL && ops->read != NULL && ops->over != NULL);
    assert(ops->patience != NULL && (ops->connect == NULL) == (ops->step == NULL));
    assert(dial->servers <= HF_SERVERS_MAX && (dial->servers > 0 || ops->find != NULL));
    assert(dial->servers > 0 || !ops->loyal);
    hf_retry_init(&dial->retry, PAUSE_FIRST, PAUSE_LAST, seed);
    for (size_t i = 0; i < dial->servers; i++) {
        size_t at = ops->shuffle ? (size_t)(hf_random_next(&seed) % (i + 1)) : i;
        dial->order[i] = dial->order[at];
        dial->order[at] = (unsigned char)i;
    }
    if (dial->servers > 0)
        dial->here = dial->list[hf_dial_next_server(dial)];
}

/* ---- Steps -------------------------------------------------------------------- */

void hf_dial_allow_all(struct hf_dial *dial)
{
    assert(dial->phase != HF_DIAL_RESTING);
    dial->due = HF_NEVER;
}

void hf_dial_allow(struct hf_dial *dial)
{
    hf_time limit = dial->ops->patience(dial);

    assert(dial->phase != HF_DIAL_RESTING && limit > 0);
    dial->due = limit == HF_NEVER ? HF_NEVER : *dial->now + limit;
}

void hf_dial_limit(struct hf_dial *dial)
{
    if (dial->phase != dial->ops->shares || dial->due == HF_NEVER)
        hf_dial_allow(dial);
}

hf_time hf_dial_doubled(hf_time limit, unsigned times, hf_time most)
{
    assert(limit > 0);
    for (unsigned i = 0; i < times && limit < most; i++)
        limit *= 2;
    return limit < most ? limit : most;
}

static void end_refusal(struct hf_dial *dial)
{
    if (dial->refusal == 0)
        return;
    assert(dial->ops->is_link);
    dial->refusal = 0;
    dial->store->refusal = 0;
    hf_store_set_link(dial->store, HF_LINK_DOWN);
}

static void begin_dial(struct hf_dial *dial)
{
    assert(dial->phase == HF_DIAL_RESTING && dial->resolve == NULL);
    end_refusal(dial);
    dial->phase = HF_DIAL_RESOLVING;
    dial->due = HF_NEVER; /* while others find out where it is */
    dial->detour = false;
    if (dial->next_address < dial->addresses) {
        hf_dial_connect_next(dial);
    } else if (dial->ops->find != NULL) {
        dial->ops->find(dial);
    } else {
        hf_dial_choose(dial);
        hf_dial_look_up(dial);
    }
}

void hf_dial_greet(struct hf_dial *dial)
{
    assert(dial->phase == HF_DIAL_CONNECTING);
    dial->phase = HF_DIAL_GREETING;
    hf_dial_limit(dial);
    dial->ops->greet(dial);
}

void hf_dial_ready(struct hf_dial *dial)
{
    assert(dial->phase == HF_DIAL_GREETING && dial->refusal == 0);
    dial->phase = HF_DIAL_READY;
    dial->addresses = dial->next_address = 0;
    dial->tried = 0;
    dial->rounds = dial->slow = 0;
    dial->denial = 0;
    if (!dial->ops->is_link)
        return;
    dial->store->errmsg[0] = '\0';
    hf_store_set_link(dial->store, HF_LINK_UP);
}

void hf_dial_proven(struct hf_dial *dial)
{
    assert(dial->phase >= HF_DIAL_GREETING);
    hf_retry_reset(&dial->retry);
}

void hf_dial_greet_again(struct hf_dial *dial)
{
    assert(dial->phase >= HF_DIAL_GREETING);
    dial->phase = HF_DIAL_GREETING;
    hf_dial_allow_all(dial);
}

/* ---- Running ------------------------------------------------------------------ */

static void time_out(struct hf_dial *dial)
{
    const struct hf_dial_ops *ops = dial->ops;
    bool                      greeting = dial->phase == HF_DIAL_GREETING;
    bool shaking = dial->phase == HF_DIAL_CONNECTING && ops->connect == NULL &&
                   dial->stream.state == HF_STREAM_SHAKING;
    char why[HF_ERRMSG_MAX] = "does not answer";

    assert(dial->phase > HF_DIAL_RESTING && dial->phase < HF_DIAL_READY);
    if (dial->phase == HF_DIAL_RESOLVING) {
        hf_dial_absent(dial, "cannot be found: nobody answers in time");
        return;
    }
    if (ops->late != NULL)
        ops->late(dial, why, sizeof why);
    else if (shaking && ops->plain != NULL)
        snprintf(why, sizeof why,
                 "does not answer in TLS (does it speak that on this port? if not, write "
                 "%s)",
                 ops->plain);
    else if (greeting && ops->doubt != NULL)
        snprintf(why, sizeof why, "does not answer (%s)", ops->doubt);
    dial->slow += greeting;
    hf_dial_hung(dial, why);
}

static bool may_dial(const struct hf_dial *dial)
{
    return dial->ops->may_begin == NULL || dial->ops->may_begin(dial);
}

void hf_dial_run(struct hf_dial *dial, bool readable)
{
    if (dial->phase == HF_DIAL_RESTING && *dial->now >= dial->due && may_dial(dial))
        begin_dial(dial);
    if (dial->phase == HF_DIAL_RESOLVING && dial->resolve != NULL)
        hf_dial_take_addresses(dial);
    if (dial->phase == HF_DIAL_CONNECTING && dial->ops->step != NULL)
        dial->ops->step(dial);
    else if (dial->phase == HF_DIAL_CONNECTING)
        hf_dial_stream_step(dial);
    /* before checking the clock: after a pause of this process, the answer may be here */
    if (dial->phase >= HF_DIAL_GREETING && (readable || dial->more))
        dial->ops->read(dial);
    if (dial->phase != HF_DIAL_RESTING && dial->phase != HF_DIAL_READY &&
        *dial->now >= dial->due)
        time_out(dial);
}

hf_time hf_dial_wake(const struct hf_dial *dial)
{
    if (dial->phase == HF_DIAL_RESTING)
        return may_dial(dial) ? dial->due : HF_NEVER;
    if (dial->more)
        return 0;
    return dial->phase == HF_DIAL_READY ? HF_NEVER : dial->due;
}

bool hf_dial_is_alone(const struct hf_dial *dial)
{
    return dial->servers <= 1 && dial->addresses <= 1;
}

int hf_dial_status(const struct hf_dial *dial)
{
    assert(dial->refusal == 0 || dial->phase == HF_DIAL_RESTING);
    return dial->refusal != 0 ? dial->refusal : dial->phase == HF_DIAL_READY;
}
