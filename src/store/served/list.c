/* list.c - LIST: every place in one line, or in all. */
#include "store/served/served.h"

#include "base/grow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct hf_ticket *hf_served_tickets(struct hf_served *served, size_t count)
{
    struct hf_ticket *grown =
        hf_grow(served->ticket, &served->ticket_room, count, sizeof *grown);

    if (grown != NULL)
        served->ticket = grown;
    return grown;
}

static int by_name_and_seq(const void *a, const void *b)
{
    const struct hf_ticket *x = a, *y = b;
    int                     r = strcmp(x->line, y->line);

    return r != 0 ? r : (x->seq > y->seq) - (x->seq < y->seq);
}

void hf_served_sort(struct hf_ticket *ticket, size_t count)
{
    if (count > 1)
        qsort(ticket, count, sizeof *ticket, by_name_and_seq);
}

void hf_served_listed(struct hf_served_task *task, size_t count, uint64_t stamp)
{
    struct hf_served *served = hf_served_of(task);

    assert(count <= served->ticket_room);
    hf_served_sort(served->ticket, count);
    task->base.req->stamp = stamp;
    hf_served_give(task, served->ticket, count, count);
}

void hf_served_list(struct hf_served_task *task)
{
    const struct hf_served_ops *ops = hf_served_of(task)->ops;

    ops->begin(task);
    hf_served_send(task, ops->list);
}
