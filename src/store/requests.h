/* requests.h - requests in the order they came, linked by hf_req.next. */
#ifndef HF_REQUESTS_H
#define HF_REQUESTS_H

#include "store/store.h"

struct hf_requests {
    struct hf_req *first, *last;
};

void hf_requests_append(struct hf_requests *list, struct hf_req *req);

/* The first one, or NULL. */
struct hf_req *hf_requests_take(struct hf_requests *list);

/* To the front again: it comes next. */
void hf_requests_put_back(struct hf_requests *list, struct hf_req *req);

#endif
