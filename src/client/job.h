/* job.h - what the engine's own files know of a job. */
#ifndef HF_JOB_H
#define HF_JOB_H

#include "client/engine.h"

/* Step the hold; tells on_change and soils the job if its state moved. */
void hf_job_tell(struct hf_job *job, const struct hf_event *event);

/* Have it reconciled before the turn is over. */
void hf_job_soil(struct hf_job *job);

/* Make the request in flight the one that is needed. */
void hf_job_reconcile(struct hf_job *job);

/* Is it in vain to send a request just once?  So it is if none of its servers is there,
 * for a second: they may be starting.  `missed` keeps since when; 0 at first.  If not,
 * *next becomes no later than when to look again. */
bool hf_engine_in_vain(const struct hf_engine *engine, hf_time *missed, hf_time *next);

/* Let its timers fire; returns the next one, or HF_NEVER. */
hf_time hf_job_check_time(struct hf_job *job);

#endif
