/* survey.c - SURVEY: see survey.h.
 *
 * Nobody is told by those who die, so there is an eye on every session that has a ticket
 * (peer.c).  Whose death is noticed is swept, and by that the lines are told.
 *
 * Words may get lost: a FIFO is deleted, or a program of an older version changes a line and
 * knows nothing of surveys.  So once a second we see whether the database was written to
 * without a word to us; then it is not known which lines changed.
 */
#include "store/sqlite/inner.h"

#include "base/grow.h"
#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LOOK     HF_SEC        /* between two looks whether something was missed */
#define ABSENT   (500 * HF_MS) /* the same, whether there is a store now */
#define FORSAKEN (30 * HF_SEC) /* nobody asks: do not let others go on telling us */
#define TOO_MANY 1024          /* of more changes it is not told which */

/* ---- Hearing -------------------------------------------------------------------- */

/* The SURVEY that waits is carried out again. */
static void look_again(struct hf_sq *sq)
{
    struct hf_req *req = sq->survey.req;

    if (req == NULL)
        return;
    sq->survey.req = NULL;
    hf_requests_append(&sq->waiting, req);
    sq->base.wake = 0;
}

void hf_sq_survey_hear(struct hf_sq *sq, uint64_t about)
{
    struct hf_sq_survey *survey = &sq->survey;
    bool                 of_line = about >> 63 != 0;

    if (!survey->on || (about != 0 && !of_line))
        return;
    survey->heard = true;
    struct hf_sq_name *name = of_line ? hf_sq_name_find(survey, about) : NULL;
    if (name != NULL)
        hf_sq_name_changed(survey, name);
    else if (of_line)
        hf_sq_name_new(survey, about);
    else
        survey->unknown = true;
    look_again(sq);
}

/* By what it left our own FIFO is told, too. */
bool hf_sq_survey_bury(struct hf_sq *sq, uint64_t sid)
{
    int r = hf_sq_sweep_session(sq, sid);

    if (r == HF_SQ_STALE)
        sq->patrol = 0; /* what is to be done then is done there */
    if (r < 0)
        hf_sq_survey_hear(sq, 0);
    return r != 0;
}

static int read_data(struct hf_sq *sq, int64_t *ret)
{
    sqlite3_stmt *query = hf_sq_db_query(&sq->db, HF_SQ_DATA);

    int r = hf_sq_db_step(&sq->db, query);
    if (r != 1)
        return r;
    *ret = sqlite3_column_int64(query, 0);
    sqlite3_reset(query);
    return 0;
}

static void see_what_was_missed(struct hf_sq *sq)
{
    struct hf_sq_survey *survey = &sq->survey;
    int64_t              data = 0;
    bool                 heard = survey->heard;

    if (read_data(sq, &data) < 0 || (data != survey->data && !heard))
        hf_sq_survey_hear(sq, 0);
    survey->data = data;
    survey->heard = false;
}

void hf_sq_survey_run(struct hf_sq *sq)
{
    struct hf_sq_survey *survey = &sq->survey;

    if (sq->now < survey->look)
        return;
    survey->look = HF_NEVER;
    if (!survey->on) {
        look_again(sq);
        return;
    }
    survey->look = sq->now + LOOK;
    if (survey->req == NULL && sq->now - survey->asked > FORSAKEN)
        hf_sq_survey_stop(sq);
    else
        see_what_was_missed(sq);
}

/* ---- Beginning and end ---------------------------------------------------------- */

/* An eye on every session that a query tells.  Returns how many rows there were. */
static int keep_eyes(struct hf_sq *sq, sqlite3_stmt *query)
{
    int r, count = 0;

    while ((r = hf_sq_db_step(&sq->db, query)) == 1) {
        count = 1;
        r = hf_sq_peer_survey(sq, (uint64_t)sqlite3_column_int64(query, 0));
        if (r < 0)
            break;
    }
    sqlite3_reset(query);
    return r < 0 ? r : count;
}

static int write_surveyor(struct hf_sq *sq)
{
    int r = hf_sq_begin(sq);
    if (r < 0)
        return r;
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_WATCH, "", sq->sid);
    sqlite3_bind_int(query, 3, 1);
    r = hf_sq_db_step(&sq->db, query);
    sq->head.told = true;
    if (r == 0 && !hf_sq_head_write(&sq->live, &sq->head))
        r = hf_sq_fail(sq, HF_EFULL, "cannot write to %.160s", sq->files.live);
    if (r < 0) {
        hf_sq_abort(sq);
        return r;
    }
    return hf_sq_commit(sq);
}

/* From the commit on we are told, and who died before is seen as dead. */
static int start_survey(struct hf_sq *sq)
{
    struct hf_sq_survey *survey = &sq->survey;

    assert(!survey->on);
    int r = hf_sq_session(sq);
    if (r == 0)
        r = write_surveyor(sq);
    if (r < 0)
        return r;
    sq->watched = true;
    hf_sq_names_forget(survey);
    survey->on = true;
    survey->look = sq->now + LOOK;
    hf_sq_patrol_start(sq);
    r = read_data(sq, &survey->data);
    if (r == 0)
        r = keep_eyes(sq, hf_sq_db_query(&sq->db, HF_SQ_SESSIONS));
    survey->unknown = r < 0; /* then the next one begins with all of them */
    return r < 0 ? r : 0;
}

static void end_survey(struct hf_sq *sq)
{
    sq->survey.on = sq->survey.absent = false;
    sq->survey.look = HF_NEVER;
    hf_sq_names_forget(&sq->survey);
}

void hf_sq_survey_stop(struct hf_sq *sq)
{
    bool was_on = sq->survey.on;

    end_survey(sq);
    if (!was_on || hf_sq_begin(sq) < 0)
        return; /* the row goes with the session */
    hf_sq_peers_unsurvey(sq);
    sq->recount = true;
    if (hf_sq_db_step(&sq->db, hf_sq_db_bind(&sq->db, HF_SQ_UNSURVEY, NULL, sq->sid)) ==
        0)
        hf_sq_commit(sq);
    else
        hf_sq_abort(sq);
}

void hf_sq_survey_end_canceled(struct hf_sq *sq)
{
    struct hf_req *req = sq->survey.req;

    if (!sq->survey.canceled)
        return;
    sq->survey.canceled = false;
    if (req != NULL) {
        assert(req->canceled); /* one at a time */
        sq->survey.req = NULL;
        hf_sq_finish(sq, req, HF_ECANCELED);
    }
    hf_sq_survey_stop(sq);
}

void hf_sq_survey_lost(struct hf_sq *sq)
{
    end_survey(sq);
    look_again(sq);
}

void hf_sq_survey_finish(struct hf_sq *sq)
{
    hf_sq_names_forget(&sq->survey);
    free(sq->survey.answer);
}

/* ---- The answer ------------------------------------------------------------------- */

/* Which lines are those of the hashes that no name has?  1 if none is left. */
static int find_new(struct hf_sq *sq)
{
    struct hf_sq_survey *survey = &sq->survey;
    char                *line = strdup("");
    int                  r = line != NULL ? 1 : HF_ENOMEM;

    for (size_t i = 0; i < survey->news; i++)
        hf_sq_name_changed(survey,
                           hf_sq_name_find(survey,
                                           survey->new[i])); /* it was listed since */
    while (survey->news > 0 && r == 1) {
        sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_NEXT_LINE, line, 0);
        r = hf_sq_db_step(&sq->db, query);
        const char *next = r == 1 ? (const char *)sqlite3_column_text(query, 0) : NULL;
        char       *copy = next != NULL ? strdup(next) : NULL;
        bool        end = r == 1 && sqlite3_column_type(query, 0) == SQLITE_NULL;
        sqlite3_reset(query);
        free(line);
        line = copy;
        if (r != 1 || end)
            break;
        if (line == NULL)
            r = HF_ENOMEM;
        uint64_t hash = line != NULL ? hf_sq_line_hash(line) : 0;
        for (size_t i = 0; line != NULL && i < survey->news; i++)
            if (survey->new[i] == hash && hf_sq_name_find(survey, hash) == NULL)
                hf_sq_name_changed(survey, hf_sq_name_add(survey, line, hash));
    }
    free(line);
    survey->news = 0;
    return r < 0 ? r : 0;
}

/* They are told now.  Of lines where somebody is, whoever is new gets an eye on him. */
static int take_changes(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_survey *survey = &sq->survey;
    const char         **grown =
        hf_grow(survey->answer, &survey->answer_room, survey->changes, sizeof *grown);

    if (grown == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    survey->answer = grown;
    req->changes = 0;
    while (survey->changed != NULL) {
        struct hf_sq_name *name = survey->changed;
        survey->changed = name->also;
        survey->changes--;
        name->is_changed = false;
        survey->answer[req->changes++] = name->text;
        int r = keep_eyes(sq, hf_sq_db_bind(&sq->db, HF_SQ_SIDS, name->text, 0));
        if (r < 0)
            return r;
        if (r == 0)
            hf_sq_name_drop(survey, name);
    }
    req->changed = survey->answer;
    return 0;
}

/* It is not known which: all are to be looked at, and their names learned again. */
static int take_all(struct hf_sq *sq, struct hf_req *req)
{
    hf_sq_names_forget(&sq->survey);
    req->changes = 0;
    int r = keep_eyes(sq, hf_sq_db_query(&sq->db, HF_SQ_SESSIONS));
    return r < 0 ? r : 0;
}

/* 1 if there is something to tell. */
static int answer_changes(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_survey *survey = &sq->survey;
    int                  r = 0;

    if (!hf_sq_current(sq))
        return HF_SQ_STALE;
    hf_sq_names_free_gone(survey);
    if (!survey->unknown && survey->news > 0)
        r = find_new(sq);
    if (r == 0 && (survey->unknown || survey->changes > TOO_MANY))
        r = take_all(sq, req);
    else if (r == 0 && survey->changes > 0)
        r = take_changes(sq, req);
    else if (r == 0)
        return 0;
    if (r < 0)
        survey->unknown = true; /* next time */
    return r < 0 ? r : 1;
}

static int begin_survey(struct hf_sq *sq)
{
    struct hf_sq_survey *survey = &sq->survey;
    bool                 absent = survey->absent;

    int r = hf_sq_connect(sq, false);
    if (r == HF_ENOTFOUND && absent) {
        survey->absent = true;
        survey->look = sq->now + ABSENT;
        return 0;
    }
    survey->absent = r == HF_ENOTFOUND; /* nobody was ever here: no file is made */
    if (r == 0)
        r = start_survey(sq);
    return r < 0 && r != HF_ENOTFOUND ? r : 1;
}

bool hf_sq_survey(struct hf_sq *sq, struct hf_req *req, int *status)
{
    struct hf_sq_survey *survey = &sq->survey;

    assert(survey->req == NULL); /* one at a time */
    survey->asked = sq->now;
    int r = survey->on ? answer_changes(sq, req) : begin_survey(sq);
    *status = r < 0 ? r : 0;
    if (r != 0)
        return false;
    survey->req = req;
    return true;
}
