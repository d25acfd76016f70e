/* survey.h - SURVEY: which lines have changed.
 *
 *                   row written              something changed
 *     OFF ----------------------------> ON ---------------------> SURVEY answered
 *      ^    SURVEY answered: all         ^                              |
 *      |                                 +------------------------------+
 *      +--- canceled; files or session lost; nobody asks any more
 *
 * Who surveys has a row in `watcher` with the name '', which no line has.  Whoever changes a
 * line tells it the hash of that line.  A hash is turned back into a name by those that this
 * client has been shown: whatever it has seen can be told to have changed.  Another hash is
 * of a line that is new, or that was there for a moment: the lines are gone through for it.
 */
#ifndef HF_SQLITE_SURVEY_H
#define HF_SQLITE_SURVEY_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HF_SQ_NAME_LISTS 1024
#define HF_SQ_NEW_MAX    256 /* of more, it is not known which */

struct hf_req;
struct hf_sq;

/* The name of a line that this client was shown. */
struct hf_sq_name {
    uint64_t           hash;
    struct hf_sq_name *next; /* in its list */
    struct hf_sq_name *also; /* in that of those that changed, or are gone */
    bool               is_changed;
    char               text[];
};

struct hf_sq_survey {
    bool           on;
    bool           absent;   /* there was no store when it was asked for last */
    bool           unknown;  /* something changed, and it is not known what */
    bool           canceled; /* some SURVEY was, wherever it stands */
    bool           heard;    /* of anything, since the last look */
    struct hf_req *req;      /* that waits, or NULL */

    struct hf_sq_name *names[HF_SQ_NAME_LISTS];
    struct hf_sq_name *changed, *gone; /* gone: lent out, and no more in `names` */
    size_t             changes;
    uint64_t new[HF_SQ_NEW_MAX]; /* hashes of no name that we know */
    size_t       news;
    const char **answer; /* lent out */
    size_t       answer_room;

    hf_time look;  /* when to see that nothing was missed */
    hf_time asked; /* when the last SURVEY was */
    int64_t data;  /* which state of the database was seen */
};

/* Take a SURVEY on.  True: it stays; else it is answered with *status. */
bool hf_sq_survey(struct hf_sq *sq, struct hf_req *req, int *status);

/* It was canceled: remember nothing any more. */
void hf_sq_survey_stop(struct hf_sq *sq);
void hf_sq_survey_end_canceled(struct hf_sq *sq);

/* The connection is over.  A SURVEY that waits begins anew with the next. */
void hf_sq_survey_lost(struct hf_sq *sq);
void hf_sq_survey_finish(struct hf_sq *sq);

/* If it is time: see that nothing was missed. */
void hf_sq_survey_run(struct hf_sq *sq);

/* We were told about a line; 0: about something. */
void hf_sq_survey_hear(struct hf_sq *sq, uint64_t about);

/* ---- names.c -------------------------------------------------------------------- */

struct hf_sq_name *hf_sq_name_find(struct hf_sq_survey *survey, uint64_t hash);
struct hf_sq_name *hf_sq_name_add(struct hf_sq_survey *survey, const char *text,
                                  uint64_t hash); /* NULL: no memory; then all changed */

/* It has changed (NULL: nothing has); a line has changed that has no name yet. */
void hf_sq_name_changed(struct hf_sq_survey *survey, struct hf_sq_name *name);
void hf_sq_name_new(struct hf_sq_survey *survey, uint64_t hash);

/* The line is no more; its name is lent out until free_gone(). */
void hf_sq_name_drop(struct hf_sq_survey *survey, struct hf_sq_name *name);
void hf_sq_names_free_gone(struct hf_sq_survey *survey);

/* Forget all names, and what changed. */
void hf_sq_names_forget(struct hf_sq_survey *survey);

/* The client is shown that line. */
void hf_sq_survey_learn(struct hf_sq *sq, const char *line);

/* A session that we survey is dead, or seems to be.  True if it has tickets that are alive. */
bool hf_sq_survey_bury(struct hf_sq *sq, uint64_t sid);

#endif
