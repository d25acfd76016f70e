/* requests.h - requests in the order they came, linked by hf_req.next; and which of them
 * may end early. */
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

/* May a canceled request end with HF_ECANCELED?  `begun`: something may have been done for
 * it, or a server be asked.
 *
 *     request       not begun  begun
 *     WATCH, SURVEY yes        yes    it waits for what may never happen
 *     LEAVE, AMEND  no         no     they are wanted in any case
 *     all others    yes        no     the answer comes soon, or the connection breaks; and
 *                                     what was done must be heard of
 */
bool hf_req_may_end(const struct hf_req *req, bool begun);

/* May it be about all lines, or none, so that `name` is NULL? */
bool hf_req_may_name_none(const struct hf_req *req);

#endif
