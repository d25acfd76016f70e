/* survey.h - all lines of a store, told as they change; hf_survey_new() in holdfast.h.
 *
 *              nobody knows which
 *            +---------------------+
 *            v                     |
 *     SURVEY -----> LIST all --> REST --> SURVEY --> LIST each that changed --> REST ...
 *     (at once)                                      (a few at a time)
 *
 * The first SURVEY comes before the first LIST, so that nothing is missed between them.  If
 * this client had a survey before, the store may remember for that one still: then the first
 * SURVEY would not end, and the LIST comes first.  A store that cannot survey is listed again
 * and again.
 */
#ifndef HF_CLIENT_SURVEY_H
#define HF_CLIENT_SURVEY_H

#include "client/client.h"

/* Start new ones, stop those that are freed; with the mutex held. */
void hf_surveys_collect(struct hf_client *client);

/* When the store is closed: free what is left. */
void hf_surveys_drop(struct hf_client *client);

struct hf_client *hf_survey_client(const struct hf_survey *survey);

/* Make the callback that a notice is about: a line, or, if `line` is NULL, the end of a
 * look.  The report becomes the user's. */
void hf_survey_call(struct hf_survey *survey, const char *name, struct hf_report *line);

#endif
