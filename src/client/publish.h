/* publish.h - callbacks that are still to be made. */
#ifndef HF_PUBLISH_H
#define HF_PUBLISH_H

#include "client/client.h"

/* Remember to call on_state, on_ask, on_place; with the mutex held. */
void hf_notice_state(struct hf_lock *lock, enum hf_state state, int why);
void hf_notice_ask(struct hf_lock *lock, const char *reason);
void hf_notice_place(struct hf_lock *lock, int64_t ahead);

/* The same for on_link; `why` is copied. */
void hf_notice_link(struct hf_client *client, enum hf_link link, const char *why);

/* Remember to call a lookout's callback; the report becomes the notice's. */
int hf_notice_report(struct hf_lookout *lookout, struct hf_report *report);

/* The same for a survey; `line` NULL: a look is over.  `name` is copied. */
int hf_notice_survey(struct hf_survey *survey, const char *name, struct hf_report *line);

/* Forget those about a lock, lookout or survey; NULL: all. */
void hf_notices_drop(struct hf_client *client, const void *about);

#endif
