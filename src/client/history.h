/* history.h - what happened to lines, copied out for the user. */
#ifndef HF_CLIENT_HISTORY_H
#define HF_CLIENT_HISTORY_H

#include "store/store.h"

/* Copy what an answer to HISTORY tells. */
int hf_records_new(const struct hf_req *req, struct hf_records **ret);

#endif
