/* publish.h - callbacks that are still to be made. */
#ifndef HF_PUBLISH_H
#define HF_PUBLISH_H

#include "client/client.h"

/* Remember to call on_state, with the mutex held. */
void hf_notice_add(struct hf_lock *lock, enum hf_state state, int why);

/* Forget those of `lock`; NULL: all. */
void hf_notices_drop(struct hf_client *client, const struct hf_lock *lock);

#endif
