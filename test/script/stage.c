/* stage.c - see stage.h: commands and the passing of time. */
#include "stage.h"

#include "holdfast.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The network ---------------------------------------------------------------------- */

static hf_time travel(struct net *net, struct net_wire *wire,
                      const struct net_letter *letter)
{
    struct stage *stage = net->data;

    for (size_t i = 0; i < stage->actors; i++) {
        const struct actor *actor = &stage->actor[i];
        if (actor->host.wire != wire)
            continue;
        if (letter->to_world ? actor->deaf : actor->mute)
            return NET_LOST;
        return HF_MS + actor->slow;
    }
    return HF_MS;
}

/* ---- Time ------------------------------------------------------------------------------ */

static hf_time next_event(const struct stage *stage)
{
    hf_time next = net_next(&stage->net);

    for (size_t i = 0; i < stage->actors; i++)
        if (host_next(&stage->actor[i].host) < next)
            next = host_next(&stage->actor[i].host);
    return next > stage->net.now ? next : stage->net.now;
}

static void run_hosts(struct stage *stage)
{
    for (size_t i = 0; i < stage->actors; i++) {
        struct actor *actor = &stage->actor[i];
        if (host_next(&actor->host) > stage->net.now)
            continue;
        host_run(&actor->host);
        tell_link(actor);
    }
}

static void pass(struct stage *stage, hf_time span)
{
    hf_time end = stage->net.now + span;

    for (hf_time next; (next = next_event(stage)) <= end;) {
        net_run(&stage->net, next);
        run_hosts(stage);
        if (stage->length > STAGE_TEXT / 2)
            break; /* it does not come to rest; the transcript shows how */
    }
    if (stage->net.now < end)
        net_run(&stage->net, end);
}

/* ---- Reading commands -------------------------------------------------------------------- */

static bool read_span(const char *number, const char *unit, hf_time *ret)
{
    char *end;
    long  value = strtol(number, &end, 10);

    if (end == number || *end != '\0' || value < 0)
        return false;
    *ret = value * (strcmp(unit, "s") == 0 ? HF_SEC : HF_MS);
    return strcmp(unit, "s") == 0 || strcmp(unit, "ms") == 0;
}

static bool read_kind(const char *text, struct hf_shape *ret)
{
    unsigned capacity, weight = 1;

    if (strcmp(text, "mutex") == 0)
        *ret = (struct hf_shape){ 1, 1, false };
    else if (strcmp(text, "reader") == 0)
        *ret = (struct hf_shape){ 1, HF_ALL, false };
    else if (strcmp(text, "writer") == 0)
        *ret = (struct hf_shape){ HF_ALL, HF_ALL, false };
    else if (strcmp(text, "claim") == 0)
        *ret = (struct hf_shape){ 1, 1, true };
    else if (sscanf(text, "semaphore:%u:%u", &capacity, &weight) >= 1)
        *ret = (struct hf_shape){ weight, capacity, false };
    else
        return false;
    return true;
}

/* ---- Commands ------------------------------------------------------------------------------ */

static struct actor *find_actor(struct stage *stage, const char *name)
{
    for (size_t i = 0; i < stage->actors; i++)
        if (strcmp(stage->actor[i].name, name) == 0)
            return &stage->actor[i];
    return NULL;
}

static struct role *find_role(struct actor *actor, const char *name)
{
    for (size_t i = 0; i < actor->roles; i++)
        if (strcmp(actor->role[i].name, name) == 0)
            return &actor->role[i];
    return NULL;
}

static const char *start(struct stage *stage, const char *name, char **word, size_t words)
{
    struct actor *actor = find_actor(stage, name);

    if (actor == NULL) {
        assert(stage->actors < STAGE_HOSTS);
        actor = &stage->actor[stage->actors++];
        *actor = (struct actor){ .stage = stage };
        snprintf(actor->name, sizeof actor->name, "%s", name);
        actor->host = (struct host){ .net = &stage->net, .offset = HF_SEC };
    }
    /* "with a lease of 3 s" */
    if (words == 6 && !read_span(word[4], word[5], &actor->host.ttl))
        return "how long is the lease?";
    actor->roles = 0;
    actor->link = HF_LINK_DOWN;
    host_start(&actor->host, 1);
    return NULL;
}

static const char *want(struct actor *actor, const char *name, char **word, size_t words)
{
    struct role    *role = find_role(actor, name);
    struct hf_shape shape = { 1, 1, false };
    bool            once = false, follow = false;
    hf_time         limit = HF_NEVER;
    uint32_t        behind = 0;

    for (size_t i = 0; i < words; i++) {
        if (strcmp(word[i], "once") == 0)
            once = true;
        else if (strcmp(word[i], "following") == 0)
            follow = true;
        else if (strcmp(word[i], "behind") == 0 && i + 1 < words)
            behind = (uint32_t)strtoul(word[++i], NULL, 10);
        else if (strcmp(word[i], "as") == 0 && i + 1 < words &&
                 read_kind(word[i + 1], &shape))
            i++;
        else if (strcmp(word[i], "for") == 0 && i + 2 < words &&
                 read_span(word[i + 1], word[i + 2], &limit))
            i += 2;
        else
            return "wants it how?";
    }
    if (role == NULL) {
        assert(actor->roles < STAGE_LOCKS);
        role = &actor->role[actor->roles++];
        snprintf(role->name, sizeof role->name, "%s", name);
        hf_job_init(&role->job, &actor->host.engine, role->name, &shape);
        role->actor = actor;
        role->state = HF_HOLD_IDLE;
        role->ahead = role->asks = 0;
        role->weight = shape.weight;
        role->job.on_change = tell_change;
    }
    if (role->state != HF_HOLD_IDLE)
        return "it wants or has it already";
    if (limit != HF_NEVER)
        limit += host_clock(&actor->host, actor->stage->net.now);
    role->job.limit = behind;
    role->job.follow = follow;
    hf_job_want(&role->job, once, limit);
    return NULL;
}

static const char *drop(struct actor *actor, const char *name, int why)
{
    struct role *role = find_role(actor, name);

    if (role == NULL || role->state == HF_HOLD_IDLE)
        return "has nothing to give up";
    hf_job_drop(&role->job, why);
    return NULL;
}

/* "lessens x to KIND" */
static const char *lessen(struct actor *actor, char **word, size_t words)
{
    struct role    *role = words == 3 ? find_role(actor, word[0]) : NULL;
    struct hf_shape shape;

    if (role == NULL || role->state != HF_HOLD_HELD || !read_kind(word[2], &shape))
        return "lessens what to what?";
    hf_job_lessen(&role->job, &shape);
    return NULL;
}

static void on_errand(struct hf_errand *errand)
{
    (void)errand; /* the world tells */
}

/* "breaks ticket 1 of x", "asks for ticket 1 of x because y" */
static const char *go_to_ticket(struct actor *actor, enum hf_op op, char **word,
                                size_t words)
{
    struct stage *stage = actor->stage;

    if (words != (op == HF_ASK ? 6u : 4u))
        return "which ticket?";
    snprintf(stage->name, sizeof stage->name, "%s", word[3]);
    snprintf(stage->why, sizeof stage->why, "%s", op == HF_ASK ? word[5] : "");
    stage->errand = (struct hf_errand){
        .req = { .op = op,
                 .name = stage->name,
                 .note = stage->why,
                 .token = strtoull(word[1], NULL, 10) },
        .deadline = HF_NEVER,
        .on_done = on_errand,
    };
    hf_errand_start(&stage->errand, &actor->host.engine);
    return NULL;
}

static const char *be(struct actor *actor, char **word, size_t words)
{
    if (words == 2 && strcmp(word[1], "off") == 0)
        actor->deaf = actor->mute = true;
    else if (words == 1 && strcmp(word[0], "reachable") == 0)
        actor->deaf = actor->mute = false;
    else if (words == 1 && strcmp(word[0], "quick") == 0)
        actor->slow = 0;
    else if (words == 4 && strcmp(word[0], "slow") == 0)
        return read_span(word[2], word[3], &actor->slow) ? NULL : "slow by how much?";
    else
        return "is what?";
    return NULL;
}

/* What a running host does, or what is done to it. */
static const char *act(struct actor *actor, const char *verb, char **word, size_t words)
{
    struct host *host = &actor->host;

    host->wake = 0;
    if (strcmp(verb, "wants") == 0 && words >= 1)
        return want(actor, word[0], word + 1, words - 1);
    if (strcmp(verb, "releases") == 0 && words == 1)
        return drop(actor, word[0], 0);
    if (strcmp(verb, "cancels") == 0 && words == 1)
        return drop(actor, word[0], HF_ECANCELED);
    if (strcmp(verb, "lessens") == 0)
        return lessen(actor, word, words);
    if (strcmp(verb, "breaks") == 0)
        return go_to_ticket(actor, HF_BREAK, word, words);
    if (strcmp(verb, "asks") == 0 && words > 1)
        return go_to_ticket(actor, HF_ASK, word + 1, words - 1);
    if (strcmp(verb, "is") == 0)
        return be(actor, word, words);
    if (strcmp(verb, "hears") == 0)
        actor->mute = true;
    else if (strcmp(verb, "stops") == 0 || strcmp(verb, "goes") == 0)
        host_stop(host, verb[0] == 's');
    else if (strcmp(verb, "dies") == 0 || strcmp(verb, "closes") == 0)
        host_close(host, verb[0] == 'c');
    else
        return "does what?";
    return NULL;
}

const char *stage_play(struct stage *stage, const char *command)
{
    char   line[256], *word[16], *rest;
    size_t words = 0;

    snprintf(line, sizeof line, "%s", command);
    for (char *w = strtok_r(line, " ", &rest); w != NULL && words < 16;
         w = strtok_r(NULL, " ", &rest))
        word[words++] = w;
    if (words < 2)
        return "not a command";

    hf_time span;
    if (words == 3 && strncmp(word[2], "pass", 4) == 0 &&
        read_span(word[0], word[1], &span)) {
        pass(stage, span);
        return NULL;
    }
    if (strcmp(word[1], "starts") == 0)
        return start(stage, word[0], word + 2, words - 2);
    /* "the connection of a breaks [late]" */
    bool          breaks = words >= 5 && strcmp(word[1], "connection") == 0;
    struct actor *actor = find_actor(stage, word[breaks ? 3 : 0]);
    if (actor == NULL || actor->host.store == NULL)
        return "nobody of that name is there";
    if (!breaks)
        return act(actor, word[1], word + 2, words - 2);
    host_cut(&actor->host, words == 6);
    return NULL;
}

void stage_open(struct stage *stage)
{
    net_init(&stage->net);
    stage->net.travel = travel;
    stage->net.served = tell_served;
    stage->net.data = stage;
    stage->actors = 0;
    stage->top = 0;
    stage->length = 0;
    stage->text[0] = '\0';
}

void stage_close(struct stage *stage)
{
    for (size_t i = 0; i < stage->actors; i++)
        if (stage->actor[i].host.store != NULL)
            host_close(&stage->actor[i].host, false);
    net_finish(&stage->net);
}
