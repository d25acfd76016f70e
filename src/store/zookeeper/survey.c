/* survey.c - SURVEY: which lines have changed since the one before.
 *
 * The server watches all that is below the chroot for us, with one watch that is recursive
 * and stays.  It tells the path of every node that is made, changed or deleted; the lines
 * that these are places of are marked until the next SURVEY.
 *
 *     from       to         when
 *     OFF        ARMING     a SURVEY comes: the server is asked to watch
 *     ARMING     ON         it watches
 *                POLLING    it cannot; so it is until the session ends
 *     ON         REMOVING   a SURVEY was canceled, or none comes any more
 *     REMOVING   OFF        it does not watch any more
 *     any other  OFF        the connection broke
 *
 * A new connection watches nothing, and nobody knows what happened in between.  So the
 * watch is not restored: the next SURVEY begins anew, and says to look at all.
 *
 * Servers before 3.6 do not know such watches: they say so, and hang up.  Then every line
 * is looked at once a second.  Servers since 3.8.4 (and Debian's) keep quiet about nodes
 * that we may not read.  So a line that has such is told once a second, and all are looked
 * at once a minute, for there may be new ones.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>

#define POLL   (1 * HF_SEC)
#define LOOK   (60 * HF_SEC)
#define IDLE   (30 * HF_SEC) /* without a SURVEY, the server is to watch no more */
#define MANY   256           /* of more lines it is not told which */
#define LOSSES 3             /* so often in a row is no accident */

enum { RECURSIVE = 1, ANY_WATCH = 3 }; /* modes of ADD_WATCH, kinds of REMOVE_WATCHES */

/* line->marks */
enum {
    CHANGED = 1, /* since it was last told */
    HIDDEN = 2,  /* there are places in it that we may not read */
    DENIED = 4,  /* we may not even list it */
};

/* The table above. */
static bool may_become(enum hf_zk_survey_state from, enum hf_zk_survey_state to)
{
    switch (from) {
    case HF_ZK_SURVEY_OFF:
        return to == HF_ZK_SURVEY_ARMING;
    case HF_ZK_SURVEY_ARMING:
        return to == HF_ZK_SURVEY_ON || to == HF_ZK_SURVEY_POLLING;
    case HF_ZK_SURVEY_ON:
        return to == HF_ZK_SURVEY_REMOVING;
    case HF_ZK_SURVEY_REMOVING:
        return to == HF_ZK_SURVEY_OFF;
    case HF_ZK_SURVEY_POLLING:
        break;
    }
    return false;
}

static void set_survey(struct hf_zk_survey *survey, enum hf_zk_survey_state state)
{
    assert(may_become(survey->state, state));
    assert(!survey->call.flying);
    survey->state = state;
}

/* ---- Marks ------------------------------------------------------------------------------ */

/* A marked line is in use. */
static void set_marks(struct hf_zk *zk, struct hf_zk_line *line, unsigned marks)
{
    struct hf_zk_survey *survey = &zk->survey;
    unsigned             before = line->marks;

    survey->changed += (marks & CHANGED) != 0;
    survey->changed -= (before & CHANGED) != 0;
    survey->hidden += (marks & HIDDEN) != 0;
    survey->hidden -= (before & HIDDEN) != 0;
    line->marks = marks;
    line->users += before == 0 && marks != 0;
    if (before != 0 && marks == 0)
        hf_zk_line_put(zk, line);
}

static void mark_line(struct hf_zk *zk, const char *name, unsigned mark, bool set)
{
    struct hf_zk_line *line = hf_zk_line_get(zk, name);

    if (line != NULL) {
        if (mark != CHANGED || (line->marks & DENIED) == 0)
            set_marks(zk, line, set ? line->marks | mark : line->marks & ~mark);
        hf_zk_line_put(zk, line);
    }
    if (line == NULL)
        zk->survey.looked = 0; /* so all are looked at */
}

/* All lines with one of the marks `having` lose `off` and gain `on`. */
static void change_marks(struct hf_zk *zk, unsigned having, unsigned off, unsigned on)
{
    for (size_t i = 0; i < HF_ZK_BUCKETS; i++)
        for (struct hf_zk_line *line = zk->line[i], *next; line != NULL; line = next) {
            next = line->next;
            if ((line->marks & having) != 0)
                set_marks(zk, line, (line->marks & ~off) | on);
        }
}

/* The names of those that are CHANGED, to be freed; NULL: no memory. */
static const char **list_changed(const struct hf_zk *zk)
{
    const char **names = calloc(zk->survey.changed + 1, sizeof *names);
    size_t       count = 0;

    for (size_t i = 0; i < HF_ZK_BUCKETS && names != NULL; i++)
        for (const struct hf_zk_line *line = zk->line[i]; line != NULL; line = line->next)
            if ((line->marks & CHANGED) != 0)
                names[count++] = line->name;
    assert(names == NULL || count == zk->survey.changed);
    return names;
}

/* The next SURVEY begins anew. */
static void forget_marks(struct hf_zk *zk)
{
    change_marks(zk, ~0u, ~0u, 0);
    zk->survey.told = 0;
}

/* ---- With the server -------------------------------------------------------------------- */

static void on_survey_armed(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_survey *survey = data;

    (void)zk;
    if (reply->error == HF_ZK_CONNECTION_LOSS) {
        if (++survey->losses >= LOSSES)
            set_survey(survey, HF_ZK_SURVEY_POLLING);
        return; /* hf_zk_survey_over() follows */
    }
    survey->losses = 0;
    set_survey(survey, reply->error == 0 ? HF_ZK_SURVEY_ON : HF_ZK_SURVEY_POLLING);
}

/* What happens once it is armed is told; what was before has to be looked at. */
static void survey_start(struct hf_zk *zk)
{
    struct hf_zk_survey *survey = &zk->survey;

    set_survey(survey, HF_ZK_SURVEY_ARMING);
    hf_zk_call_begin(zk, &survey->call, HF_ZK_ADD_WATCH, on_survey_armed, survey);
    hf_zk_put_string(&zk->calls.out, hf_zk_root(zk));
    hf_zk_put_int(&zk->calls.out, RECURSIVE);
    hf_zk_call_end(zk);
}

static void on_survey_removed(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_survey *survey = data;

    set_survey(survey, HF_ZK_SURVEY_OFF);
    if (survey->task != NULL && reply->error != HF_ZK_CONNECTION_LOSS)
        survey_start(zk);
}

/* Nobody wants to know any more.  While it is ARMING, it is stopped when that is over. */
static void survey_stop(struct hf_zk *zk)
{
    struct hf_zk_survey *survey = &zk->survey;

    assert(survey->task == NULL);
    forget_marks(zk);
    if (survey->state != HF_ZK_SURVEY_ON)
        return;
    set_survey(survey, HF_ZK_SURVEY_REMOVING);
    hf_zk_call_begin(zk, &survey->call, HF_ZK_REMOVE_WATCHES, on_survey_removed, survey);
    hf_zk_put_string(&zk->calls.out, hf_zk_root(zk));
    hf_zk_put_int(&zk->calls.out, ANY_WATCH);
    hf_zk_call_end(zk);
}

void hf_zk_survey_over(struct hf_zk *zk)
{
    struct hf_zk_survey *survey = &zk->survey;

    assert(!survey->call.flying);
    if (survey->state != HF_ZK_SURVEY_POLLING)
        survey->state = HF_ZK_SURVEY_OFF;
    forget_marks(zk);
    if (survey->task != NULL)
        hf_task_finish(&survey->task->base, HF_EDOWN);
}

/* With another session there may be other servers. */
void hf_zk_survey_drop(struct hf_zk *zk)
{
    assert(zk->survey.task == NULL);
    zk->survey.state = HF_ZK_SURVEY_OFF;
    zk->survey.losses = 0;
}

/* ---- What happened ---------------------------------------------------------------------- */

/* A folder that is made anew may have another ACL than before. */
void hf_zk_survey_event(struct hf_zk *zk, struct hf_zk_text path)
{
    struct hf_zk_survey *survey = &zk->survey;
    char                 name[256];

    assert(survey->state == HF_ZK_SURVEY_ON);
    if (survey->changed > MANY)
        return;
    switch (hf_zk_path_parse(zk->config.chroot, path.bytes, path.size, name)) {
    case HF_ZK_PATH_FOREIGN:
        break;
    case HF_ZK_PATH_FOLDER:
        mark_line(zk, name, DENIED, false);
        break;
    case HF_ZK_PATH_PLACE:
        mark_line(zk, name, CHANGED, true);
    }
}

void hf_zk_survey_listed(struct hf_zk *zk, const char *name, bool denied)
{
    if (zk->survey.state == HF_ZK_SURVEY_ON)
        mark_line(zk, name, DENIED, denied);
}

void hf_zk_survey_found(struct hf_zk *zk, const char *name,
                        const struct hf_zk_items *items)
{
    struct hf_zk_survey *survey = &zk->survey;

    if (survey->state != HF_ZK_SURVEY_ON)
        return;
    if (name == NULL)
        change_marks(zk, HIDDEN, HIDDEN, 0);
    else
        mark_line(zk, name, HIDDEN, false);
    for (size_t i = 0; i < items->count; i++)
        if (items->item[i].hidden && items->item[i].there)
            mark_line(zk, items->item[i].line, HIDDEN, true);
}

/* ---- Answers ---------------------------------------------------------------------------- */

/* When it is to be answered even if nothing is known to have happened. */
static hf_time survey_due(const struct hf_zk_survey *survey)
{
    if (survey->told == 0)
        return 0;
    if (survey->state == HF_ZK_SURVEY_POLLING || survey->hidden > 0)
        return survey->told + POLL;
    return survey->looked + LOOK;
}

/* When the server is to watch no more, without another SURVEY. */
static hf_time idle_due(const struct hf_zk_survey *survey)
{
    if (survey->state != HF_ZK_SURVEY_ON)
        return HF_NEVER;
    return survey->told == 0 ? 0 : survey->told + IDLE;
}

static void answer_survey(struct hf_zk *zk)
{
    struct hf_zk_survey *survey = &zk->survey;
    struct hf_req       *req = survey->task->base.req;

    if (zk->remote.now >= survey->told + POLL)
        change_marks(zk, HIDDEN, 0, CHANGED);
    bool all = survey->told == 0 || survey->state == HF_ZK_SURVEY_POLLING ||
               survey->changed > MANY || zk->remote.now >= survey->looked + LOOK;
    const char **names = all ? NULL : list_changed(zk);
    survey->told = zk->remote.now;
    req->changed = names;
    req->changes = names != NULL ? survey->changed : 0;
    if (req->changes == 0)
        survey->looked = zk->remote.now;
    hf_task_finish(&survey->task->base, 0); /* the names are lent until now */
    change_marks(zk, CHANGED, CHANGED, 0);
    free(names);
}

void hf_zk_survey_run(struct hf_zk *zk)
{
    struct hf_zk_survey *survey = &zk->survey;
    hf_time              now = zk->remote.now;

    if (survey->state != HF_ZK_SURVEY_ON && survey->state != HF_ZK_SURVEY_POLLING)
        return;
    if (survey->task == NULL && now >= idle_due(survey))
        survey_stop(zk);
    else if (survey->task != NULL && (survey->changed > 0 || now >= survey_due(survey)))
        answer_survey(zk);
}

hf_time hf_zk_survey_wake(const struct hf_zk *zk)
{
    const struct hf_zk_survey *survey = &zk->survey;

    if (survey->state != HF_ZK_SURVEY_ON && survey->state != HF_ZK_SURVEY_POLLING)
        return HF_NEVER;
    return survey->task == NULL ? idle_due(survey) : survey_due(survey);
}

/* ---- Both ends -------------------------------------------------------------------------- */

void hf_zk_survey(struct hf_zk *zk, struct hf_zk_task *task)
{
    assert(zk->survey.task == NULL); /* one at a time */
    zk->survey.task = task;
    if (zk->survey.state == HF_ZK_SURVEY_OFF)
        survey_start(zk);
}

void hf_zk_survey_end(struct hf_zk *zk, const struct hf_zk_task *task)
{
    assert(zk->survey.task == task);
    (void)task;
    zk->survey.task = NULL;
}

void hf_zk_survey_cancel(struct hf_zk *zk, struct hf_zk_task *task)
{
    assert(zk->survey.task == task && task->base.req->canceled);
    hf_task_finish(&task->base, HF_ECANCELED);
    survey_stop(zk);
}

/* The server watches no more if none comes at once; and one that does begins anew. */
void hf_zk_survey_not_begun(struct hf_zk *zk)
{
    zk->survey.told = 0;
}
