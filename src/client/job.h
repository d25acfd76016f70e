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

/* Let its timers fire; returns the next one, or HF_NEVER. */
hf_time hf_job_check_time(struct hf_job *job);

#endif
