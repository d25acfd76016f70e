/* errand.h - what the engine's own files know of errands. */
#ifndef HF_ERRAND_H
#define HF_ERRAND_H

#include "client/job.h"

/* Send those not yet sent, if the link is up. */
void hf_errands_send(struct hf_engine *engine);

/* End those whose time is over; returns the next deadline, or HF_NEVER. */
hf_time hf_errands_check_time(struct hf_engine *engine);

#endif
