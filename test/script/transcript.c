/* transcript.c - see run.h: what happens, in words. */
#include "run.h"

#include "holdfast.h"

#include <stdarg.h>
#include <stdio.h>

void transcript_add(struct run *run, const char *format, ...)
{
    char   *to = run->text + run->length;
    size_t  room = RUN_TEXT - run->length;
    va_list args;

    int n = snprintf(to, room, "[%5lld] ", (long long)(run->net.now / HF_MS));
    va_start(args, format);
    n += vsnprintf(to + n, room - (size_t)n, format, args);
    va_end(args);
    n += snprintf(to + n, room - (size_t)n, "\n");
    run->length += (size_t)n;
}

/* ---- The store ----------------------------------------------------------------- */

static struct run_client *sender(struct run *run, const struct sim_message *message)
{
    for (size_t i = 0; i < run->clients; i++)
        if (run->client[i].sim.wire == message->wire)
            return &run->client[i];
    return NULL;
}

static void add_deaths(struct run *run)
{
    for (size_t i = 0; i < run->clients; i++) {
        struct run_client *client = &run->client[i];
        if (client->session == 0 || hf_world_session(&run->net.world, client->session))
            continue;
        transcript_add(run, "    the session of %s has ended", client->name);
        client->session = 0;
    }
}

static void add_enter(struct run *run, const char *who, const struct hf_req *req)
{
    uint64_t token = req->standing.token;
    bool     repeat = token <= run->top;

    if (req->status == HF_EBUSY)
        transcript_add(run, "    %s is refused %s", who, req->name);
    else if (req->status != 0)
        transcript_add(run, "    %s is refused %s: %s", who, req->name,
                       hf_strerror(req->status));
    else if (req->standing.state == HF_STAND_NONE)
        transcript_add(run, "    %s has no place of %s any more", who, req->name);
    else
        transcript_add(run, "    %s %s place %d of %s", who,
                       repeat ? "still has" : "takes", (int)token, req->name);
    if (req->status == 0 && !repeat)
        run->top = token;
}

static void add_verb(struct run *run, const char *who, const struct hf_req *req)
{
    if (req->op == HF_ENTER)
        add_enter(run, who, req);
    else if (req->op == HF_LEAVE && req->status == 0)
        transcript_add(run, "    %s leaves the queue of %s", who, req->name);
    else if (req->op == HF_LEAVE)
        transcript_add(run, "    %s had left the queue of %s before", who, req->name);
    else if (req->op == HF_DOWNGRADE && req->standing.state != HF_STAND_NONE)
        transcript_add(run, "    %s downgrades place %d of %s", who,
                       (int)req->standing.token, req->name);
    else if (req->op == HF_DOWNGRADE)
        transcript_add(run, "    %s has no place of %s to downgrade", who, req->name);
    else if (req->op == HF_BREAK || req->op == HF_ASK)
        transcript_add(run, "    %s %s place %d of %s: %s", who,
                       req->op == HF_ASK ? "asks for" : "breaks", (int)req->token,
                       req->name, hf_strerror(req->status));
}

void transcript_served(struct sim_network *net, const struct sim_message *message,
                       bool answered)
{
    struct run *run = net->data;

    add_deaths(run);
    struct run_client *client = message != NULL ? sender(run, message) : NULL;
    if (client == NULL)
        return;
    struct sim_session *session = sim_network_session(net, message->session);
    if (!answered && session != NULL && message->connection < session->connection)
        transcript_add(run, "    a message of %s from an earlier connection is dropped",
                       client->name);
    else if (message->kind == SIM_HELLO && answered && !message->gone)
        client->session = message->session;
    else if (message->kind == SIM_VERB && !message->gone)
        add_verb(run, client->name, &message->req);
}

/* ---- The clients --------------------------------------------------------------- */

static void add_held(struct run *run, const char *who, const struct run_lock *lock)
{
    const struct hf_hold  *hold = &lock->job.hold;
    const struct hf_store *store = lock->job.engine->store;
    char                   slot[32] = "", deadline[32] = "";

    if (hold->slot >= 0)
        snprintf(slot, sizeof slot, ", slot %d", hold->slot);
    if (store->alive_until < HF_NEVER)
        snprintf(deadline, sizeof deadline, ", deadline in %lld ms",
                 (long long)((store->alive_until - lock->job.engine->now) / HF_MS));
    transcript_add(run, "%s holds %s: token %d%s%s", who, lock->name, (int)hold->token,
                   slot, deadline);
}

/* Changes within a state. */
static void add_changes_within(struct run_lock *lock, const char *who)
{
    const struct hf_job *job = &lock->job;
    struct run          *run = lock->client->run;
    uint32_t             weight = hf_hold_shape(&job->hold)->weight;

    if (job->follow && lock->ahead != job->known.ahead)
        transcript_add(run, "%s has %d ahead in the queue of %s", who,
                       (int)job->known.ahead, lock->name);
    if (job->asks > lock->asks)
        transcript_add(run, "%s is asked for %s: %s", who, lock->name, job->ask);
    if (job->hold.state == HF_HOLD_HELD && !job->hold.downgrade && weight != lock->weight)
        transcript_add(run, "%s holds less of %s", who, lock->name);
    lock->ahead = job->known.ahead;
    lock->asks = job->asks;
    lock->weight = job->hold.downgrade ? lock->weight : weight;
}

void transcript_change(struct hf_job *job)
{
    struct run_lock   *lock = (struct run_lock *)job;
    struct run        *run = lock->client->run;
    const char        *who = lock->client->name;
    enum hf_hold_state was = lock->state;

    lock->state = job->hold.state;
    add_changes_within(lock, who);
    if (lock->state == was)
        return;
    switch (lock->state) {
    case HF_HOLD_ENTERING:
        if (was != HF_HOLD_IDLE)
            transcript_add(run, "%s queues for %s again", who, lock->name);
        break;
    case HF_HOLD_WAITING:
        transcript_add(run, "%s waits for %s, %d ahead", who, lock->name,
                       (int)job->known.ahead);
        break;
    case HF_HOLD_OUTSIDE:
        transcript_add(run, "%s waits for %s until place %d leaves", who, lock->name,
                       (int)job->known.token);
        break;
    case HF_HOLD_HELD:
        add_held(run, who, lock);
        break;
    case HF_HOLD_LEAVING:
        transcript_add(run, "%s gives up %s", who, lock->name);
        break;
    case HF_HOLD_LOST:
        transcript_add(run, "%s has lost %s", who, lock->name);
        break;
    case HF_HOLD_IDLE:
        transcript_add(run, "%s is done with %s: %s", who, lock->name,
                       hf_strerror(job->hold.why));
        break;
    }
}

void transcript_link(struct run_client *client)
{
    static const char *const words[] = { "is disconnected", "is connected",
                                         "has lost its session" };

    if (client->sim.store == NULL || client->sim.store->link == client->link)
        return;
    client->link = client->sim.store->link;
    transcript_add(client->run, "%s %s", client->name, words[client->link]);
}
