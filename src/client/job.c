/* job.c - one hold and the request it has in flight; see engine.h. */
#include "client/engine.h"

#include "base/random.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void append(struct hf_job *job)
{
    assert(*job->engine->last_job == NULL);
    job->next = NULL;
    job->prev = job->engine->last_job;
    *job->engine->last_job = job;
    job->engine->last_job = &job->next;
}

static void unlink_job(struct hf_job *job)
{
    assert(*job->prev == job);
    *job->prev = job->next;
    if (job->next != NULL)
        job->next->prev = job->prev;
    else
        job->engine->last_job = job->prev;
}

void hf_job_init(struct hf_job *job, struct hf_engine *engine, const char *name,
                 const struct hf_shape *shape)
{
    *job = (struct hf_job){ .engine = engine, .name = name, .note = "" };
    hf_hold_init(&job->hold, shape, &engine->ids);
    hf_retry_init(&job->retry, 10 * HF_MS, HF_SEC, hf_random_next(&engine->seed));

    append(job);
}

bool hf_job_quiet(const struct hf_job *job)
{
    return job->hold.state == HF_HOLD_IDLE && !job->flying;
}

void hf_job_finish(struct hf_job *job)
{
    assert(hf_job_quiet(job));
    struct hf_job **at = &job->engine->dirty;
    while (*at != NULL && *at != job)
        at = &(*at)->next_dirty;
    if (*at == job) {
        *at = job->next_dirty;
        if (*at == NULL)
            job->engine->last_dirty = at;
    }
    unlink_job(job);
}

void hf_job_mark_dirty(struct hf_job *job)
{
    if (job->is_dirty)
        return;
    job->is_dirty = true;
    assert(*job->engine->last_dirty == NULL);
    job->next_dirty = NULL; /* at the end: in the order in which they were wanted */
    *job->engine->last_dirty = job;
    job->engine->last_dirty = &job->next_dirty;
}

static void changed(struct hf_job *job)
{
    if (job->on_change != NULL)
        job->on_change(job);
}

void hf_job_step(struct hf_job *job, const struct hf_event *event)
{
    enum hf_hold_state before = job->hold.state;

    hf_hold_step(&job->hold, event);
    hf_job_mark_dirty(job);
    if (job->hold.state != before)
        changed(job);
}

void hf_job_want(struct hf_job *job, bool once, hf_time deadline)
{
    assert(job->hold.state == HF_HOLD_IDLE && job->note != NULL);
    /* To the end: when the link comes up, the job that was wanted first enters first. */
    unlink_job(job);
    append(job);
    job->deadline = deadline;
    job->again = job->absent_since = 0;
    job->asks = 0;
    job->ask[0] = job->errmsg[0] = '\0';
    job->failure = 0;
    hf_retry_reset(&job->retry);
    if (job->engine->store->link != HF_LINK_UP)
        job->engine->soonest = 0;
    else if (deadline < job->engine->soonest)
        job->engine->soonest = deadline;
    hf_job_step(job, &(struct hf_event){ .what = HF_WANT, .once = once });
}

void hf_job_drop(struct hf_job *job, int why)
{
    bool never_sent = job->hold.state == HF_HOLD_ENTERING && job->entered != job->hold.id;

    job->again = 0;
    job->failure = 0; /* of another request */
    hf_job_step(job, &(struct hf_event){ .what = HF_DROP, .why = why });
    if (never_sent) /* the store has no place to give up */
        hf_job_step(job, &(struct hf_event){ .what = HF_LEFT });
}

void hf_job_downgrade(struct hf_job *job, const struct hf_shape *shape)
{
    hf_job_step(job, &(struct hf_event){ .what = HF_HOLD_LESS, .shape = *shape });
}

static void pause_job(struct hf_job *job)
{
    job->again = job->engine->now + hf_retry_next(&job->retry);
    if (job->again < job->engine->soonest)
        job->engine->soonest = job->again;
}

static void on_failure(struct hf_job *job, int status)
{
    bool leaving = job->hold.state == HF_HOLD_LEAVING;

    snprintf(job->errmsg, sizeof job->errmsg, "%s", job->engine->store->errmsg);
    bool another = job->failure != status;
    job->failure = status;
    pause_job(job);
    hf_job_step(job, &(struct hf_event){ .what = HF_FAILED, .why = status });
    if (job->hold.state == HF_HOLD_LEAVING && !leaving)
        job->again = 0; /* LEAVE is a new request, not a retry */
    if (leaving && another)
        changed(job);
}

/* The same reason read twice is one ask. */
static void note_ask(struct hf_job *job, const char *reason)
{
    if (job->asks > 0 && strncmp(job->ask, reason, sizeof job->ask - 1) == 0)
        return;
    snprintf(job->ask, sizeof job->ask, "%s", reason);
    job->asks++;
    changed(job);
}

/* Data in a store can be anything: an answer without these is refused. */
static bool makes_sense(const struct hf_standing *standing)
{
    return standing->state == HF_STAND_NONE ||
           (standing->state != HF_STAND_UNKNOWN && standing->token != 0);
}

static void on_standing(struct hf_job *job, const struct hf_req *req)
{
    struct hf_standing now = req->standing;
    struct hf_req      asked = { .standing = job->known, .follow = job->follow };
    bool               moved = job->known.ahead != now.ahead;
    bool nothing_new = req->op == HF_WATCH && !hf_standing_differs(&now, &asked);

    job->known = now;
    job->known.asked = NULL; /* lent; note_ask() keeps a copy */
    hf_job_step(job, &(struct hf_event){ .what = HF_STANDING, .standing = now });
    if (moved || req->op == HF_DOWNGRADE)
        changed(job);
    if (job->hold.state == HF_HOLD_HELD && now.asked != NULL) {
        note_ask(job, now.asked);
        job->known.asked = job->ask;
    }
    /* Do not spin if the store completes a WATCH although nothing changed, or answers
     * ENTER and then does not know our place. */
    if (nothing_new || job->hold.state != HF_HOLD_ENTERING)
        hf_retry_reset(&job->retry);
    if (nothing_new || job->hold.state == HF_HOLD_ENTERING)
        pause_job(job);
}

static void on_answer(struct hf_job *job, const struct hf_req *req)
{
    job->failure = 0;
    if (req->op == HF_LEAVE) {
        hf_job_step(job, &(struct hf_event){ .what = HF_LEFT, .why = req->status });
    } else if (req->status == HF_EBUSY) { /* refused: an answer, not a failure */
        job->known = req->standing;
        hf_retry_reset(&job->retry);
        hf_job_step(job, &(struct hf_event){ .what = HF_FAILED, .why = HF_EBUSY });
    } else if (req->id == 0) {
        hf_job_step(job, &(struct hf_event){ .what = HF_CHANGED });
    } else if (!makes_sense(&req->standing)) {
        on_failure(job, hf_store_invalid(job->engine->store, 0));
    } else {
        on_standing(job, req);
    }
}

/* The place that a request for this hold is about; 0 while it has none. */
static uint64_t place_of(const struct hf_hold *hold)
{
    return hold->state == HF_HOLD_OUTSIDE ? 0 : hold->id;
}

static bool is_wanted(const struct hf_job *job)
{
    return job->req.op == hf_hold_needs(&job->hold) &&
           job->req.id == place_of(&job->hold);
}

static void on_job_done(struct hf_req *req)
{
    struct hf_job *job = req->data;
    bool           wanted = is_wanted(job);
    bool           standing = req->op != HF_LEAVE && req->id != 0;

    assert(req == &job->req);
    hf_engine_answered(job->engine, req);
    job->flying = false;
    job->canceling = false;
    hf_job_mark_dirty(job);
    if (hf_job_quiet(job))
        changed(job);
    if (!wanted || req->status == HF_ECANCELED)
        return;
    /* An answer that a place exists proves nothing if it comes so late that the session
     * may be dead by now.  Ask again. */
    bool late = standing && req->standing.state != HF_STAND_NONE &&
                job->engine->now >= job->engine->store->alive_until;
    bool answer = req->status == 0 || (req->op == HF_LEAVE && req->status == HF_ELOST) ||
                  (req->op == HF_ENTER && req->status == HF_EBUSY);
    if (late && req->status == 0)
        pause_job(job);
    else if (answer)
        on_answer(job, req);
    else
        on_failure(job, req->status);
}

static void submit(struct hf_job *job, enum hf_op need)
{
    const struct hf_hold *hold = &job->hold;

    assert(!job->flying && need != HF_NOTHING);
    if (need == HF_ENTER)
        job->known = (struct hf_standing){ .state = HF_STAND_UNKNOWN, .slot = -1 };
    job->req = (struct hf_req){
        .op = need,
        .name = job->name,
        .id = place_of(hold),
        .shape = *hf_hold_shape(hold),
        .only_free = hf_hold_only_free(hold),
        .note = job->note,
        .limit = job->limit,
        .group = job->group,
        .follow = job->follow,
        .token = job->known.token,
        .stamp = job->req.stamp,
        .standing = job->known,
        .done = on_job_done,
        .data = job,
    };
    job->flying = true;
    if (need == HF_ENTER)
        job->entered = hold->id;
    hf_engine_submit(job->engine, &job->req);
}

/* At most one request per hold is in flight.  If it is not the one wanted,
 * cancel it and wait for done() before sending another: a LEAVE that overtook
 * its ENTER would leave a place that nobody remembers. */
void hf_job_reconcile(struct hf_job *job)
{
    struct hf_store *store = job->engine->store;
    enum hf_op       need = hf_hold_needs(&job->hold);

    assert(job->flying || !job->canceling);
    if (job->flying) {
        if (!is_wanted(job) && !job->canceling) {
            job->canceling = true;
            store->impl->cancel(store, &job->req);
        }
    } else if (need != HF_NOTHING && store->link == HF_LINK_UP &&
               job->engine->now >= job->again) {
        submit(job, need);
    }
}

static bool waits(const struct hf_job *job)
{
    return job->hold.state == HF_HOLD_ENTERING || job->hold.state == HF_HOLD_WAITING ||
           job->hold.state == HF_HOLD_OUTSIDE;
}

/* The code for a wait that ran out of time.  A try has a limit only because stores may
 * fail to answer.  If ENTER failed again and again, the caller gets that failure:
 * perhaps nobody holds the lock. */
static int timeout_code(struct hf_job *job)
{
    const struct hf_store *store = job->engine->store;
    bool                   down = store->link != HF_LINK_UP;

    if (down)
        snprintf(job->errmsg, sizeof job->errmsg, "%s", store->errmsg);
    else if (job->hold.state == HF_HOLD_ENTERING && job->failure < 0)
        return job->failure;
    return down || job->hold.once ? HF_EDOWN : HF_ETIMEOUT;
}

hf_time hf_job_check_time(struct hf_job *job)
{
    hf_time now = job->engine->now;
    hf_time next = HF_NEVER;

    if (now >= job->engine->store->alive_until)
        hf_job_step(job, &(struct hf_event){ .what = HF_EXPIRED });
    if (waits(job) && now >= job->deadline)
        hf_job_drop(job, timeout_code(job));
    if (waits(job) && job->hold.once &&
        hf_engine_store_absent(job->engine, &job->absent_since, &next))
        hf_job_drop(job, timeout_code(job));
    if (waits(job) && job->deadline < next)
        next = job->deadline;
    if (job->again > now && job->again < next)
        next = job->again;
    else if (job->again != 0 && job->again <= now) {
        job->again = 0;
        hf_job_mark_dirty(job);
    }
    return next;
}
