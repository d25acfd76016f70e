/* survey.h - SURVEY: which lines have changed.
 *
 *                   log watched              something changed
 *     OFF ----------------------------> ON ---------------------> SURVEY answered
 *      ^    SURVEY answered: all         ^                              |
 *      |                                 +------------------------------+
 *      +--- canceled; files lost; nobody asks any more
 *
 * Every change of a line is written to the log, and inotify wakes us by that.  Which line it was
 * is in the history (past.h): we read what is new there.  So nobody needs to know that we are
 * here, and a survey writes nothing.
 */
#ifndef HF_SQLITE_SURVEY_H
#define HF_SQLITE_SURVEY_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_req;
struct hf_sq;

struct hf_sq_survey {
    bool on;
    bool absent;        /* there was no store when it was asked for last */
    bool unknown;       /* something changed, and it is not known what */
    bool stirred;       /* the file was written to, and the history does not say why */
    bool canceled;      /* some SURVEY was, wherever it stands */
    struct hf_req *req; /* that waits, or NULL */
    int            inotify; /* -1: not to be had.  Then we look once a second */

    hf_time  look;  /* when to look again in any case */
    int      looks; /* so many times for tickets of the dead */
    uint64_t last;  /* the number of the last record that was told */
    unsigned data;  /* which state of the database was told */

    const char **answer; /* lent out */
    size_t       answer_room;
};

/* Take a SURVEY on.  True: it stays; else it is answered with *status. */
bool hf_sq_survey(struct hf_sq *sq, struct hf_req *req, int *status);

/* If one was canceled: remember nothing any more. */
void hf_sq_survey_end_canceled(struct hf_sq *sq);

/* The connection is over.  A SURVEY that waits begins anew with the next. */
void hf_sq_survey_lost(struct hf_sq *sq);

/* What is written from now on is heard, once: by hf_sq_written().  For WATCHes, too. */
void hf_sq_listen(struct hf_sq *sq);

/* inotify is readable; survey.look has come, so look in any case. */
void hf_sq_written(struct hf_sq *sq);
void hf_sq_survey_run(struct hf_sq *sq);

/* Lines may look different, and the history does not say so: clients that survey the store ask
 * about all. */
void hf_sq_survey_stir(const struct hf_sq *sq);

#endif
