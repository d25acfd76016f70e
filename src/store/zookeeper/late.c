/* late.c - tickets for which something is to be done a little later, if nothing has
 * happened until then.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>

void hf_zk_late_put(struct hf_zk_lates *list, struct hf_zk_late *late, hf_time at)
{
    if (late->list != NULL)
        return;
    if (list->first == NULL)
        list->last = &list->first;
    assert(*list->last == NULL);
    late->list = list;
    late->at = at;
    late->next = NULL;
    late->prev = list->last;
    *list->last = late;
    list->last = &late->next;
}

void hf_zk_late_not(struct hf_zk_late *late)
{
    if (late->list == NULL)
        return;
    assert(*late->prev == late);
    *late->prev = late->next;
    if (late->next != NULL)
        late->next->prev = late->prev;
    else
        late->list->last = late->prev;
    late->list = NULL;
}

struct hf_zk_late *hf_zk_late_take(struct hf_zk_lates *list, hf_time now)
{
    struct hf_zk_late *late = list->first;

    if (late == NULL || late->at > now)
        return NULL;
    hf_zk_late_not(late);
    return late;
}

hf_time hf_zk_late_wake(const struct hf_zk_lates *list)
{
    return list->first != NULL ? list->first->at : HF_NEVER;
}
