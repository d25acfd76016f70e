/* asked.h - being asked to give a lock up; hf_ask(), the other end, is in inspect.c. */
#ifndef HF_ASKED_H
#define HF_ASKED_H

#include "client/client.h"

struct hf_asked {
    unsigned count; /* since it is held */
    int      fd;    /* -1: nobody wants it */
    char     reason[HF_ERRMSG_MAX];
};

void hf_asked_init(struct hf_asked *asked);
void hf_asked_finish(struct hf_asked *asked);

/* With the mutex held: what the engine heard; and that it counts no more. */
void hf_asked_show(struct hf_lock *lock);
void hf_asked_reset(struct hf_lock *lock);

#endif
