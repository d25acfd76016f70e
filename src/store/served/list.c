/* list.c - LIST and DIAGNOSE. */
#include "store/served/served.h"

#include "base/grow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct hf_place *hf_served_places(struct hf_served *served, size_t count)
{
    struct hf_place *grown =
        hf_grow(served->listed, &served->listed_room, count, sizeof *grown);

    if (grown != NULL)
        served->listed = grown;
    return grown;
}

static int by_name_and_seq(const void *a, const void *b)
{
    const struct hf_place *x = a, *y = b;
    int                    r = strcmp(x->line, y->line);

    return r != 0 ? r : (x->seq > y->seq) - (x->seq < y->seq);
}

void hf_served_sort(struct hf_place *place, size_t count)
{
    if (count > 1)
        qsort(place, count, sizeof *place, by_name_and_seq);
}

void hf_served_listed(struct hf_served_task *task, size_t count, uint64_t stamp)
{
    struct hf_served *served = hf_served_of(task);

    assert(count <= served->listed_room);
    hf_served_sort(served->listed, count);
    task->base.req->stamp = stamp;
    task->base.req->line = (struct hf_line){ .place = served->listed, .count = count };
    hf_task_finish(&task->base, 0);
}

void hf_served_list(struct hf_served_task *task)
{
    const struct hf_served_ops *ops = hf_served_of(task)->ops;

    ops->begin(task);
    hf_served_send(task, ops->list);
}

void hf_served_findings(struct hf_served_task *task, struct hf_finding_list *list)
{
    if (list->failed) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
    } else {
        task->base.req->finding = list->finding;
        task->base.req->findings = list->count;
        hf_task_finish(&task->base, 0);
    }
    hf_finding_list_clear(list);
}
