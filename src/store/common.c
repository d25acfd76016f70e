/* common.c - functions that all stores share; see store.h. */
#include "store/store.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int hf_store_invalid(struct hf_store *store, uint64_t token)
{
    char which[24] = "";

    if (token != 0)
        snprintf(which, sizeof which, " %" PRIu64, token);
    snprintf(
        store->errmsg, sizeof store->errmsg,
        "the place%s in its queue makes no sense to this version of Holdfast, so nobody "
        "gets past it; `holdfast show` lists it as unknown, `holdfast break` removes it",
        which);
    return HF_ECORRUPT;
}

static bool same_reason(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return strncmp(a, b, HF_ERRMSG_MAX - 1) == 0;
}

bool hf_standing_differs(const struct hf_standing *now, const struct hf_req *watch)
{
    const struct hf_standing *known = &watch->standing;

    assert(now->state != HF_STAND_UNKNOWN);
    if (now->state != known->state)
        return true;
    if (now->state == HF_STAND_WAITS)
        return watch->follow && now->ahead != known->ahead;
    return now->state == HF_STAND_HOLDS && !same_reason(now->asked, known->asked);
}

void hf_store_set_link(struct hf_store *store, enum hf_link link)
{
    assert(link == HF_LINK_DOWN || link == HF_LINK_UP || link == HF_LINK_LOST);
    if (link == HF_LINK_UP && store->refusal == 0)
        store->failures = store->absences = 0;
    if (store->link == link)
        return;
    store->link = link;
    if (store->on_link != NULL)
        store->on_link(store, store->on_link_data);
}

void hf_store_tried(struct hf_store *store, bool absent, bool last)
{
    store->failures++;
    store->present = store->present || !absent;
    if (!last)
        return;
    store->absences = store->present ? 0 : store->absences + 1;
    store->present = false;
    assert(store->absences <= store->failures); /* a round is one try or more */
}
