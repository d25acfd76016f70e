/* requests.c - see requests.h. */
#include "store/requests.h"

#include <assert.h>

void hf_requests_append(struct hf_requests *list, struct hf_req *req)
{
    req->next = NULL;
    if (list->last != NULL)
        list->last->next = req;
    else
        list->first = req;
    list->last = req;
}

struct hf_req *hf_requests_take(struct hf_requests *list)
{
    struct hf_req *req = list->first;

    if (req != NULL) {
        list->first = req->next;
        if (list->first == NULL)
            list->last = NULL;
    }
    return req;
}

void hf_requests_put_back(struct hf_requests *list, struct hf_req *req)
{
    req->next = list->first;
    list->first = req;
    if (list->last == NULL)
        list->last = req;
}

bool hf_req_may_end(const struct hf_req *req, bool begun)
{
    assert(req->op > HF_NOTHING && req->op <= HF_HISTORY);
    if (req->op == HF_WATCH || req->op == HF_WATCH_STORE)
        return true;
    return !begun && req->op != HF_LEAVE && req->op != HF_DOWNGRADE;
}

bool hf_req_may_name_none(const struct hf_req *req)
{
    return req->op == HF_LIST || req->op == HF_DIAGNOSE || req->op == HF_WATCH_STORE ||
           req->op == HF_HISTORY;
}
