/* publish.c - what goes in and out of the engine around a turn.
 *
 * A notice has all that its call needs, as it was when the notice was left: once the
 * mutex is let go, whatever a lock says of itself may change.
 */
#include "client/publish.h"

#include "client/link.h"
#include "client/lock.h"
#include "client/lookout.h"
#include "client/query.h"
#include "client/stats.h"
#include "client/survey.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum kind { STATE, ASK, PLACE, REPORT, SURVEY, LINK };

struct hf_notice {
    enum kind          kind;
    struct hf_lock    *lock;
    hf_lock_hook      *hook; /* STATE: NULL: the user is meant */
    enum hf_state      state;
    int                why;
    int64_t            ahead;
    enum hf_link       link;
    struct hf_lookout *lookout;
    struct hf_survey  *survey;
    struct hf_report  *report; /* SURVEY: NULL: a look is over */
    struct hf_notice  *next;
    char               reason[];
};

/* When out of memory: hf_state() and its like still tell the truth. */
static int add_notice(struct hf_client *client, const struct hf_notice *what,
                      const char *reason)
{
    size_t            size = strlen(reason) + 1;
    struct hf_notice *notice = malloc(sizeof *notice + size);

    if (notice == NULL)
        return HF_ENOMEM;
    *notice = *what;
    memcpy(notice->reason, reason, size);
    assert(*client->last_notice == NULL && notice->next == NULL);
    *client->last_notice = notice;
    client->last_notice = &notice->next;
    client->drive.pending = true;
    return 0;
}

void hf_notice_state(struct hf_lock *lock, enum hf_state state, int why)
{
    struct hf_notice notice = { .kind = STATE, .lock = lock, .state = state, .why = why };

    notice.hook = lock->part.hook;
    bool users = lock->part.whole == NULL && lock->client->on_state != NULL;
    if (notice.hook != NULL || users)
        (void)add_notice(lock->client, &notice, "");
}

void hf_notice_ask(struct hf_lock *lock, const char *reason)
{
    struct hf_notice notice = { .kind = ASK, .lock = lock };

    if (lock->client->on_ask != NULL)
        (void)add_notice(lock->client, &notice, reason);
}

void hf_notice_place(struct hf_lock *lock, int64_t ahead)
{
    struct hf_notice notice = { .kind = PLACE, .lock = lock, .ahead = ahead };

    if (lock->client->on_place != NULL)
        (void)add_notice(lock->client, &notice, "");
}

void hf_notice_link(struct hf_client *client, enum hf_link link, const char *why)
{
    struct hf_notice notice = { .kind = LINK, .link = link };

    if (client->on_link != NULL)
        (void)add_notice(client, &notice, why);
}

int hf_notice_report(struct hf_lookout *lookout, struct hf_report *report)
{
    struct hf_notice notice = { .kind = REPORT, .lookout = lookout, .report = report };

    assert(report != NULL && !lookout->stopped);
    return add_notice(lookout->client, &notice, "");
}

int hf_notice_survey(struct hf_survey *survey, const char *name, struct hf_report *line)
{
    struct hf_notice notice = { .kind = SURVEY, .survey = survey, .report = line };

    return add_notice(hf_survey_client(survey), &notice, name);
}

static void notice_free(struct hf_notice *notice)
{
    hf_report_free(notice->report);
    free(notice);
}

static const void *subject(const struct hf_notice *notice)
{
    if (notice->kind == SURVEY)
        return notice->survey;
    return notice->kind == REPORT ? (const void *)notice->lookout : notice->lock;
}

void hf_notices_drop(struct hf_client *client, const void *about)
{
    struct hf_notice **at = &client->notices;

    while (*at != NULL) {
        struct hf_notice *notice = *at;
        if (about != NULL && subject(notice) != about) {
            at = &notice->next;
            continue;
        }
        *at = notice->next;
        notice_free(notice);
    }
    client->last_notice = at;
}

static struct hf_notice *take_notice(struct hf_client *client)
{
    struct hf_notice *notice = client->closing ? NULL : client->notices;

    if (notice != NULL) {
        client->notices = notice->next;
        if (client->notices == NULL)
            client->last_notice = &client->notices;
    }
    return notice;
}

static void call_survey(struct hf_notice *notice)
{
    struct hf_report *line = notice->report;

    notice->report = NULL; /* it becomes the user's */
    hf_survey_call(notice->survey, notice->reason, line);
}

static void make_call(struct hf_client *client, struct hf_notice *notice)
{
    struct hf_lock *lock = notice->lock;

    if (notice->kind == SURVEY)
        call_survey(notice);
    else if (notice->kind == REPORT)
        notice->lookout->on_report(notice->lookout, notice->report);
    else if (notice->kind == ASK)
        client->on_ask(lock, notice->reason, client->data);
    else if (notice->kind == PLACE)
        client->on_place(lock, notice->ahead, client->data);
    else if (notice->kind == LINK)
        client->on_link(client, notice->link, notice->reason, client->data);
    else if (notice->hook != NULL)
        notice->hook(lock, notice->state, notice->why);
    else
        client->on_state(lock, notice->state, notice->why, client->data);
}

/* One at a time: if a thread is at it, it makes those that came meanwhile, too. */
static void deliver(void *owner)
{
    struct hf_client *client = owner;
    struct hf_drive  *drive = &client->drive;
    struct hf_notice *notice;
    int               cancel = hf_drive_begin(drive);

    if (client->calling) {
        hf_drive_end(drive, cancel);
        return;
    }
    assert(client->called == NULL);
    client->calling = true;
    client->caller = pthread_self();
    while ((notice = take_notice(client)) != NULL) {
        client->called = subject(notice);
        hf_drive_end(drive, cancel);
        make_call(client, notice);
        notice_free(notice);
        cancel = hf_drive_begin(drive);
        client->called = NULL;
        hf_drive_rouse(drive);
    }
    client->calling = false;
    hf_drive_rouse(drive);
    hf_drive_end(drive, cancel);
}

/* What somebody waits to be over. */
struct call {
    const struct hf_client *client;
    const void             *about;
};

static bool is_over(void *arg)
{
    const struct call      *call = arg;
    const struct hf_client *client = call->client;

    return call->about != NULL ? client->called != call->about : !client->calling;
}

void hf_client_settle(struct hf_client *client, const void *about)
{
    struct call call = { client, about };

    if (client->calling && !pthread_equal(client->caller, pthread_self()))
        (void)hf_drive_wait(&client->drive, is_over, &call, HF_NEVER);
}

static void collect(void *owner)
{
    struct hf_client *client = owner;

    hf_inbox_collect(client);
    hf_queries_collect(client);
    hf_lookouts_collect(client);
    hf_surveys_collect(client);
}

static void turn(void *owner, hf_time now, bool readable)
{
    struct hf_client *client = owner;

    hf_engine_turn(&client->engine, now, readable);
}

/* A renewal moved the deadline: alarms that hang on it move along. */
static void publish_deadline(struct hf_client *client)
{
    hf_time until = client->store->alive_until;

    if (until == atomic_load(&client->alive_until))
        return;
    hf_stats_renewed(client);
    atomic_store(&client->alive_until, until);
    for (struct hf_lock *lock = client->held; lock != NULL;
         lock = hf_lock_next(lock, HF_LIST_HELD))
        hf_lock_set_alarm(lock);
}

static hf_time publish(void *owner)
{
    struct hf_client *client = owner;

    publish_deadline(client);
    hf_link_publish(client);
    hf_stats_publish(client);
    while (client->changed != NULL) {
        struct hf_lock *lock = client->changed;
        client->changed = lock->moved;
        assert(lock->is_moved);
        lock->is_moved = false;
        hf_lock_publish(lock);
    }
    hf_queries_publish(client);
    return hf_engine_wake(&client->engine);
}

const struct hf_drive_ops hf_client_ops = {
    .collect = collect,
    .turn = turn,
    .publish = publish,
    .deliver = deliver,
};
