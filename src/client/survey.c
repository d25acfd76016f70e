/* survey.c - see survey.h. */
#include "client/survey.h"

#include "client/options.h"
#include "client/publish.h"
#include "client/report.h"
#include "client/told.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE (100 * HF_MS) /* between two looks, if the user does not say */
#define POLL  (1 * HF_SEC)  /* the same, if the store does not tell of changes */
#define RETRY (1 * HF_SEC)  /* before trying again what a store refused */

/* So many lines are listed at a time; of more than so many, all at once are cheaper. */
#define GLANCES  16
#define TOO_MANY 256

/* One LIST of one line. */
struct glance {
    struct hf_errand  errand; /* first */
    struct hf_survey *survey;
    char             *name; /* NULL: it is free for the next */
};

struct hf_survey {
    struct hf_errand         errand; /* first; SURVEY, or LIST of all */
    struct hf_client        *client;
    struct hf_survey_options options;
    hf_time                  pause;

    /* Of the one who turns. */
    struct glance  glance[GLANCES];
    size_t         at_work; /* errands in flight */
    char         **todo;    /* names still to be listed */
    size_t         todo_count;
    bool           failed; /* a line could not be listed: look at all */
    struct hf_told told;

    /* With the mutex. */
    bool              started, stopped;
    bool              in_inbox;
    struct hf_survey *next;
};

/* ---- What is to be listed --------------------------------------------------------- */

static void drop_todo(struct hf_survey *survey)
{
    while (survey->todo_count > 0)
        free(survey->todo[--survey->todo_count]);
    free(survey->todo);
    survey->todo = NULL;
}

/* False: it is too many, or there is no memory. */
static bool plan_glances(struct hf_survey *survey, const struct hf_req *req)
{
    assert(survey->todo == NULL && survey->todo_count == 0);
    if (req->changes == 0 || req->changes > TOO_MANY)
        return false;
    survey->todo = calloc(req->changes, sizeof *survey->todo);
    if (survey->todo == NULL)
        return false;
    for (size_t i = 0; i < req->changes; i++) {
        survey->todo[i] = strdup(req->changed[i]);
        if (survey->todo[i] == NULL) {
            drop_todo(survey);
            return false;
        }
        survey->todo_count++;
    }
    return true;
}

/* ---- Errands ---------------------------------------------------------------------- */

static void on_survey_done(struct hf_errand *errand);
static void on_glance_done(struct hf_errand *errand);

static void start_errand(struct hf_survey *survey, struct hf_errand *errand,
                         enum hf_op op, const char *name, hf_time after)
{
    errand->req = (struct hf_req){ .op = op, .name = name };
    errand->after = after;
    errand->deadline = HF_NEVER;
    errand->on_done = errand == &survey->errand ? on_survey_done : on_glance_done;
    survey->at_work++;
    hf_errand_start(errand, &survey->client->engine);
}

static void send_survey(struct hf_survey *survey, hf_time pause)
{
    hf_time now = survey->client->engine.now;
    bool    can = survey->client->store->impl->surveys;

    if (!can && pause > 0 && pause < POLL)
        pause = POLL;
    start_errand(survey, &survey->errand, can ? HF_SURVEY : HF_LIST, NULL,
                 pause > 0 ? now + pause : 0);
}

static void send_list(struct hf_survey *survey)
{
    start_errand(survey, &survey->errand, HF_LIST, NULL, 0);
}

static void send_glances(struct hf_survey *survey)
{
    for (size_t i = 0; i < GLANCES && survey->todo_count > 0; i++) {
        struct glance *glance = &survey->glance[i];
        if (glance->name != NULL)
            continue;
        glance->name = survey->todo[--survey->todo_count];
        glance->survey = survey;
        start_errand(survey, &glance->errand, HF_LIST, glance->name, 0);
    }
    if (survey->todo_count == 0)
        drop_todo(survey);
}

/* ---- Ends ------------------------------------------------------------------------- */

static void survey_free(struct hf_survey *survey)
{
    hf_told_finish(&survey->told);
    for (size_t i = 0; i < GLANCES; i++)
        free(survey->glance[i].name);
    drop_todo(survey);
    free(survey);
}

/* An errand is back.  True if nobody wants to know any more; then the last one frees. */
static bool is_stopped(struct hf_survey *survey)
{
    struct hf_client *client = survey->client;

    assert(survey->at_work > 0);
    survey->at_work--;
    int  cancel = hf_drive_begin(&client->drive);
    bool stopped = survey->stopped;
    bool last = stopped && !survey->in_inbox && survey->at_work == 0;
    hf_drive_end(&client->drive, cancel);
    if (last)
        survey_free(survey);
    return stopped;
}

/* All that was seen in this look is told. */
static void end_look(struct hf_survey *survey, bool told)
{
    struct hf_client *client = survey->client;

    int cancel = hf_drive_begin(&client->drive);
    if (told && !survey->stopped)
        (void)hf_notice_survey(survey, "", NULL);
    hf_drive_end(&client->drive, cancel);
}

/* SURVEY or LIST of all has been answered. */
static void on_survey_done(struct hf_errand *errand)
{
    struct hf_survey    *survey = (struct hf_survey *)errand;
    struct hf_client    *client = survey->client;
    const struct hf_req *req = &errand->req;
    int                  status = req->status;

    if (is_stopped(survey))
        return;
    if (status == 0 && req->op == HF_SURVEY) {
        if (plan_glances(survey, req))
            send_glances(survey);
        else
            send_list(survey);
        return;
    }
    if (status == 0) {
        int cancel = hf_drive_begin(&client->drive);
        status = hf_told_all(&survey->told, &req->line, req->stamp);
        hf_drive_end(&client->drive, cancel);
        end_look(survey, status == 0);
    }
    survey->failed = status < 0;
    if (status < 0 && req->op == HF_LIST)
        start_errand(survey, errand, HF_LIST, NULL, client->engine.now + RETRY);
    else
        send_survey(survey, status < 0 ? RETRY : survey->pause);
}

/* One line was listed. */
static void on_glance_done(struct hf_errand *errand)
{
    struct glance       *glance = (struct glance *)errand;
    struct hf_survey    *survey = glance->survey;
    const struct hf_req *req = &errand->req;
    struct hf_report    *report = NULL;
    int                  status = req->status;

    struct hf_line line = req->line;
    if (status == HF_EDENIED) { /* to us nobody is in it */
        line.count = 0;
        status = 0;
    }
    if (status == 0)
        status = hf_report_new(&line, req->stamp, &report);
    if (status == 0) {
        int cancel = hf_drive_begin(&survey->client->drive);
        if (survey->stopped)
            hf_report_free(report);
        else
            status = hf_told_line(&survey->told, glance->name, report);
        hf_drive_end(&survey->client->drive, cancel);
    }
    survey->failed |= status < 0;
    free(glance->name);
    glance->name = NULL;
    if (is_stopped(survey))
        return;
    if (survey->failed)
        drop_todo(survey);
    send_glances(survey);
    if (survey->at_work > 0)
        return;
    bool failed = survey->failed;
    survey->failed = false;
    end_look(survey, !failed);
    if (failed)
        start_errand(survey, &survey->errand, HF_LIST, NULL,
                     survey->client->engine.now + RETRY);
    else
        send_survey(survey, survey->pause);
}

struct hf_client *hf_survey_client(const struct hf_survey *survey)
{
    return survey->client;
}

void hf_survey_call(struct hf_survey *survey, const char *name, struct hf_report *line)
{
    const struct hf_survey_options *options = &survey->options;

    if (line == NULL && options->on_look != NULL)
        options->on_look(survey, options->data);
    if (line != NULL)
        options->on_line(survey, name, line, options->data);
}

/* ---- The user's end --------------------------------------------------------------- */

static void add_to_inbox(struct hf_survey *survey)
{
    struct hf_client *client = survey->client;

    survey->in_inbox = true;
    hf_drive_post(&client->drive);
    hf_drive_nudge(&client->drive);
}

static int tell_line(const char *name, struct hf_report *report, void *data)
{
    return hf_notice_survey(data, name, report);
}

static int new_survey(struct hf_client *client, const struct hf_survey_options *given,
                      struct hf_survey **ret)
{
    struct hf_survey_options options = HF_SURVEY_INIT;
    char                     errmsg[HF_ERRMSG_MAX];

    if (given == NULL)
        return hf_client_fail(client, HF_EINVAL, "a survey needs options");
    int r = hf_options_copy(given, sizeof options, "HF_SURVEY_INIT", &options, errmsg);
    if (r < 0)
        return hf_client_fail(client, r, "%s", errmsg);
    if (options.on_line == NULL)
        return hf_client_fail(client, HF_EINVAL, "a survey needs on_line");
    if (options.pause_ms < 0)
        return hf_client_fail(client, HF_EINVAL, "pause_ms of a survey is negative");
    if (client->survey != NULL)
        return hf_client_fail(client, HF_ESTATE, "this client has a survey already");
    struct hf_survey *survey = calloc(1, sizeof *survey);
    if (survey == NULL)
        return hf_client_fail(client, HF_ENOMEM, "out of memory");
    survey->client = client;
    survey->options = options;
    survey->pause = options.pause_ms > 0 ? options.pause_ms * HF_MS : PAUSE;
    hf_told_init(&survey->told, tell_line, survey);
    client->survey = survey;
    add_to_inbox(survey);
    *ret = survey;
    return 0;
}

int hf_survey_new(struct hf_client *client, const struct hf_survey_options *options,
                  struct hf_survey **ret)
{
    int cancel;

    int r = ret != NULL ? hf_client_begin(client, &cancel) : HF_EINVAL;
    if (r < 0)
        return r;
    r = new_survey(client, options, ret);
    hf_client_end(client, cancel);
    return r;
}

void hf_survey_free(struct hf_survey *survey)
{
    int cancel;

    if (survey == NULL || hf_client_begin(survey->client, &cancel) < 0)
        return;
    struct hf_client *client = survey->client;
    assert(!survey->stopped); /* from now on it frees itself */
    hf_client_settle(client, survey);
    survey->stopped = true;
    hf_notices_drop(client, survey);
    survey->next = client->stopped_surveys;
    client->stopped_surveys = survey;
    client->survey = NULL;
    add_to_inbox(survey);
    hf_client_end(client, cancel);
}

/* ---- With the engine -------------------------------------------------------------- */

void hf_surveys_collect(struct hf_client *client)
{
    struct hf_survey *survey = client->survey;

    if (survey != NULL && survey->in_inbox) {
        survey->in_inbox = false;
        survey->started = true;
        if (client->surveyed) /* the store may still remember for the one before */
            send_list(survey);
        else
            send_survey(survey, 0);
        client->surveyed = true;
    }
    while ((survey = client->stopped_surveys) != NULL) {
        client->stopped_surveys = survey->next;
        survey->in_inbox = false;
        if (survey->at_work == 0) {
            survey_free(survey);
            continue;
        }
        for (size_t i = 0; i < GLANCES; i++)
            if (survey->glance[i].name != NULL)
                hf_errand_stop(&survey->glance[i].errand);
        hf_errand_stop(&survey->errand);
    }
}

/* Of which survey an errand is, or NULL. */
static struct hf_survey *survey_of(struct hf_errand *errand)
{
    if (errand->on_done == on_survey_done)
        return (struct hf_survey *)errand;
    return errand->on_done == on_glance_done ? ((struct glance *)errand)->survey : NULL;
}

void hf_surveys_drop(struct hf_client *client)
{
    struct hf_errand **at = &client->engine.errands;

    /* Those not begun have no errand; whoever has some goes with the last. */
    if (client->survey != NULL && client->survey->at_work == 0)
        survey_free(client->survey);
    while (client->stopped_surveys != NULL) {
        struct hf_survey *survey = client->stopped_surveys;
        client->stopped_surveys = survey->next;
        if (survey->at_work == 0)
            survey_free(survey);
    }
    while (*at != NULL) {
        struct hf_survey *survey = survey_of(*at);
        if (survey == NULL) {
            at = &(*at)->next;
            continue;
        }
        *at = (*at)->next;
        if (--survey->at_work == 0)
            survey_free(survey);
    }
}
