/* asked.h - being asked for a lock, and asking. */
#ifndef HF_ASKED_H
#define HF_ASKED_H

#include "client/lock.h"

/* With the mutex held: what the engine heard; and that it counts no more. */
void hf_asked_show(struct hf_lock *lock);
void hf_asked_reset(struct hf_lock *lock);

#endif
