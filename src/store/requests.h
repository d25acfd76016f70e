/* requests.h - a queue of requests, linked by hf_req.next; and which of them may end
 * early. */
#ifndef HF_REQUESTS_H
#define HF_REQUESTS_H

#include "store/store.h"

struct hf_requests {
    struct hf_req *first, *last;
};

void hf_requests_append(struct hf_requests *list, struct hf_req *req);

/* The first one, or NULL. */
struct hf_req *hf_requests_take(struct hf_requests *list);

/* Put it back to the front. */
void hf_requests_put_back(struct hf_requests *list, struct hf_req *req);

/* May a canceled request end with HF_ECANCELED?  `begun`: something may have been done
 * for it, or it was sent to a server.
 *
 *     request              not begun  begun
 *     WATCH, WATCH_STORE   yes        yes    it may wait for ever
 *     LEAVE, DOWNGRADE     no         no     they must be carried out
 *     all others           yes        no     the answer comes soon, or the connection
 *                                            breaks, and the caller must know the result
 */
bool hf_req_may_end(const struct hf_req *req, bool begun);

/* May `name` be NULL: is it about all lines, or about none? */
bool hf_req_may_name_none(const struct hf_req *req);

#endif
