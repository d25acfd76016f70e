/* tell.c - what happens, in words. */
#include "stage.h"

#include "holdfast.h"

#include <stdarg.h>
#include <stdio.h>

void stage_tell(struct stage *stage, const char *format, ...)
{
    char   *to = stage->text + stage->length;
    size_t  room = STAGE_TEXT - stage->length;
    va_list args;

    int n = snprintf(to, room, "[%5lld] ", (long long)(stage->net.now / HF_MS));
    va_start(args, format);
    n += vsnprintf(to + n, room - (size_t)n, format, args);
    va_end(args);
    n += snprintf(to + n, room - (size_t)n, "\n");
    stage->length += (size_t)n;
}

/* ---- The world ---------------------------------------------------------------------- */

static struct actor *sender(struct stage *stage, const struct net_letter *letter)
{
    for (size_t i = 0; i < stage->actors; i++)
        if (stage->actor[i].host.wire == letter->wire)
            return &stage->actor[i];
    return NULL;
}

static void tell_deaths(struct stage *stage)
{
    for (size_t i = 0; i < stage->actors; i++) {
        struct actor *actor = &stage->actor[i];
        if (actor->session == 0 || hf_world_session(&stage->net.world, actor->session))
            continue;
        stage_tell(stage, "    the session of %s is over", actor->name);
        actor->session = 0;
    }
}

static void tell_enter(struct stage *stage, const char *who, const struct hf_req *req)
{
    uint64_t token = req->standing.token;
    bool     repeat = token <= stage->top;

    if (req->status == HF_EBUSY)
        stage_tell(stage, "    %s is refused %s", who, req->name);
    else if (req->status != 0)
        stage_tell(stage, "    %s is turned away from %s: %s", who, req->name,
                   hf_strerror(req->status));
    else if (req->standing.state == HF_STAND_NONE)
        stage_tell(stage, "    %s has no ticket of %s any more", who, req->name);
    else
        stage_tell(stage, "    %s %s ticket %d of %s", who, repeat ? "has" : "takes",
                   (int)token, req->name);
    if (req->status == 0 && !repeat)
        stage->top = token;
}

static void tell_verb(struct stage *stage, const char *who, const struct hf_req *req)
{
    if (req->op == HF_ENTER)
        tell_enter(stage, who, req);
    else if (req->op == HF_LEAVE && req->status == 0)
        stage_tell(stage, "    %s is out of the line of %s", who, req->name);
    else if (req->op == HF_LEAVE)
        stage_tell(stage, "    %s was out of the line of %s before", who, req->name);
    else if (req->op == HF_AMEND && req->standing.state != HF_STAND_NONE)
        stage_tell(stage, "    %s amends ticket %d of %s", who, (int)req->standing.token,
                   req->name);
    else if (req->op == HF_AMEND)
        stage_tell(stage, "    %s has no ticket of %s to amend", who, req->name);
    else if (req->op == HF_BREAK || req->op == HF_ASK)
        stage_tell(stage, "    %s %s ticket %d of %s: %s", who,
                   req->op == HF_ASK ? "asks for" : "breaks", (int)req->token, req->name,
                   hf_strerror(req->status));
}

void tell_served(struct net *net, const struct net_letter *letter, bool answered)
{
    struct stage *stage = net->data;

    tell_deaths(stage);
    struct actor *actor = letter != NULL ? sender(stage, letter) : NULL;
    if (actor == NULL)
        return;
    struct net_session *session = net_session(net, letter->session);
    if (!answered && session != NULL && letter->connection < session->connection)
        stage_tell(stage, "    what %s sent on an earlier connection is dropped",
                   actor->name);
    else if (letter->kind == NET_HELLO && answered && !letter->gone)
        actor->session = letter->session;
    else if (letter->kind == NET_VERB && !letter->gone)
        tell_verb(stage, actor->name, &letter->req);
}

/* ---- The clients ---------------------------------------------------------------------- */

static void tell_held(struct stage *stage, const char *who, const struct role *role)
{
    const struct hf_hold  *hold = &role->job.hold;
    const struct hf_store *store = role->job.engine->store;
    char                   slot[32] = "", sure[32] = "";

    if (hold->slot >= 0)
        snprintf(slot, sizeof slot, ", slot %d", hold->slot);
    if (store->alive_until < HF_NEVER)
        snprintf(sure, sizeof sure, ", sure for %lld ms",
                 (long long)((store->alive_until - role->job.engine->now) / HF_MS));
    stage_tell(stage, "%s holds %s: token %d%s%s", who, role->name, (int)hold->token,
               slot, sure);
}

/* What changes while the state does not. */
static void tell_rest(struct role *role, const char *who)
{
    const struct hf_job *job = &role->job;
    struct stage        *stage = role->actor->stage;
    uint32_t             weight = hf_hold_shape(&job->hold)->weight;

    if (job->follow && role->ahead != job->known.ahead)
        stage_tell(stage, "%s has %d ahead in the line of %s", who, (int)job->known.ahead,
                   role->name);
    if (job->asks > role->asks)
        stage_tell(stage, "%s is asked for %s: %s", who, role->name, job->ask);
    if (job->hold.state == HF_HOLD_HELD && !job->hold.lessen && weight != role->weight)
        stage_tell(stage, "%s holds less of %s", who, role->name);
    role->ahead = job->known.ahead;
    role->asks = job->asks;
    role->weight = job->hold.lessen ? role->weight : weight;
}

void tell_change(struct hf_job *job)
{
    struct role       *role = (struct role *)job;
    struct stage      *stage = role->actor->stage;
    const char        *who = role->actor->name;
    enum hf_hold_state was = role->state;

    role->state = job->hold.state;
    tell_rest(role, who);
    if (role->state == was)
        return;
    switch (role->state) {
    case HF_HOLD_ENTERING:
        if (was != HF_HOLD_IDLE)
            stage_tell(stage, "%s asks for %s again", who, role->name);
        break;
    case HF_HOLD_WAITING:
        stage_tell(stage, "%s waits for %s, %d ahead", who, role->name,
                   (int)job->known.ahead);
        break;
    case HF_HOLD_OUTSIDE:
        stage_tell(stage, "%s waits for %s until %d leaves", who, role->name,
                   (int)job->known.token);
        break;
    case HF_HOLD_HELD:
        tell_held(stage, who, role);
        break;
    case HF_HOLD_LEAVING:
        stage_tell(stage, "%s gives up %s", who, role->name);
        break;
    case HF_HOLD_LOST:
        stage_tell(stage, "%s has lost %s", who, role->name);
        break;
    case HF_HOLD_IDLE:
        stage_tell(stage, "%s is done with %s: %s", who, role->name,
                   hf_strerror(job->hold.why));
        break;
    }
}

void tell_link(struct actor *actor)
{
    static const char *const words[] = { "is disconnected", "is connected",
                                         "has lost its session" };

    if (actor->host.store == NULL || actor->host.store->link == actor->link)
        return;
    actor->link = actor->host.store->link;
    stage_tell(actor->stage, "%s %s", actor->name, words[actor->link]);
}
