/* survey.c - SURVEY: which lines have changed since the last one?
 *
 *     SURVEY --call--> some, or nobody knows which ---------------------> done
 *               |
 *               +----> none: it rests, until the server tells ("s"), or until it is
 *                      time to ask again, where the server cannot tell --> call
 *
 * The server remembers for us which lines change, from the first call of a session on.  It is
 * told with each how far we have seen all (`stamp`), so that an answer may be lost.  It is told to
 * forget us when a SURVEY is canceled, and when none has come for a while.
 */
#include "store/served/served.h"

#include "base/grow.h"

#include <assert.h>
#include <stdlib.h>

#define LAPSE (60 * HF_SEC) /* so long we are remembered without a SURVEY */

static void on_surveyed(struct hf_served_task *task, int code, const void *reply);

static void call_survey(struct hf_served_task *task, bool end,
                        hf_served_on_answer *on_answer)
{
    struct hf_served *served = hf_served_of(task);

    served->survey.rung = false;
    served->ops->begin(task);
    served->ops->add_number(served, served->survey.stamp);
    served->ops->add_number(served, end);
    hf_served_send(task, on_answer);
}

/* ---- The end ---------------------------------------------------------------------- */

static void on_forgotten(struct hf_served_task *task, int code, const void *reply)
{
    (void)code;
    (void)reply;
    hf_served_of(task)->survey.stamp = 0;
    hf_task_finish(&task->base, task->base.req->canceled ? HF_ECANCELED : 0);
}

void hf_served_survey_cancel(struct hf_served_task *task)
{
    if (!task->flying) /* else when it is answered */
        call_survey(task, true, on_forgotten);
}

void hf_served_survey_ended(struct hf_served_task *task)
{
    struct hf_served_survey *survey = &hf_served_of(task)->survey;

    if (survey->task != task)
        return;
    survey->task = NULL;
    survey->due = survey->stamp != 0 ? hf_served_of(task)->remote.now + LAPSE : HF_NEVER;
}

static void on_lapsed(struct hf_req *req)
{
    struct hf_served_survey *survey = req->data;

    survey->lapsing = false;
}

/* By a request of our own: `id` tells it from others. */
static void lapse(struct hf_served *served)
{
    struct hf_served_survey *survey = &served->survey;

    survey->due = HF_NEVER;
    if (survey->lapsing)
        return;
    survey->lapsing = true;
    survey->lapse =
        (struct hf_req){ .op = HF_SURVEY, .id = 1, .done = on_lapsed, .data = survey };
    hf_remote_submit(&served->base, &survey->lapse);
}

/* ---- The answer ------------------------------------------------------------------- */

/* False: no memory. */
static bool take_names(struct hf_served *served, const void *reply, size_t *count)
{
    struct hf_served_survey *survey = &served->survey;
    const char              *name;

    *count = 0;
    while ((name = served->ops->changed(reply, *count)) != NULL) {
        const char **grown =
            hf_grow(survey->name, &survey->room, *count + 1, sizeof *grown);
        if (grown == NULL)
            return false;
        survey->name = grown;
        survey->name[(*count)++] = name;
    }
    return true;
}

/* { code, stamp, what survey_until() knows, unknown }, and names. */
static void on_surveyed(struct hf_served_task *task, int code, const void *reply)
{
    struct hf_served        *served = hf_served_of(task);
    struct hf_served_survey *survey = &served->survey;
    struct hf_req           *req = task->base.req;
    bool                     unknown = served->ops->number(reply, 3) != 0;
    size_t                   count;

    (void)code;
    if (req->canceled) {
        call_survey(task, true, on_forgotten);
        return;
    }
    unknown |= !take_names(served, reply, &count);
    if (!unknown && count == 0) {
        survey->due = served->ops->survey_until(served, reply);
        return;
    }
    survey->stamp = (uint64_t)served->ops->number(reply, 1);
    req->changed = survey->name;
    req->changes = unknown ? 0 : count;
    hf_task_finish(&task->base, 0);
}

/* ---- The beginning, and between ----------------------------------------------------- */

void hf_served_survey(struct hf_served_task *task)
{
    struct hf_served *served = hf_served_of(task);

    if (task->base.req->id != 0) {
        call_survey(task, true, on_forgotten);
        return;
    }
    assert(served->survey.task == NULL); /* one at a time */
    served->survey.task = task;
    served->survey.due = HF_NEVER;
    if (served->ops->want_news != NULL)
        served->ops->want_news(served, true);
    call_survey(task, false, on_surveyed);
}

/* Something has changed, or may have without our being told. */
void hf_served_survey_ring(struct hf_served *served)
{
    served->survey.rung = true;
}

static bool is_due(const struct hf_served *served)
{
    const struct hf_served_survey *survey = &served->survey;

    return survey->task != NULL && survey->rung;
}

void hf_served_survey_run(struct hf_served *served)
{
    struct hf_served_survey *survey = &served->survey;

    if (hf_dial_status(served->remote.dial) <= 0 ||
        (survey->task != NULL && survey->task->flying))
        return;
    if (survey->task == NULL && served->remote.now >= survey->due)
        lapse(served);
    else if (is_due(served) ||
             (survey->task != NULL && served->remote.now >= survey->due))
        call_survey(survey->task, false, on_surveyed);
}

hf_time hf_served_survey_wake(const struct hf_served *served)
{
    const struct hf_served_survey *survey = &served->survey;

    if (hf_dial_status(served->remote.dial) <= 0 ||
        (survey->task != NULL && survey->task->flying))
        return HF_NEVER;
    return is_due(served) ? 0 : survey->due;
}
