/* answer.c - what a task is answered: the line as a ticket sees it. */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>

/* kazoo has one name for writers and mutexes.  To a reader or writer it is a writer, to all
 * others a mutex. */
struct hf_shape hf_zk_shape_to(const struct hf_zk_child *child,
                               const struct hf_shape    *mine)
{
    bool writer = child->style == HF_ZK_KAZOO && child->shape.capacity == 1 &&
                  mine != NULL && mine->capacity == HF_ALL;

    return writer ? (struct hf_shape){ .weight = HF_ALL, .capacity = HF_ALL }
                  : child->shape;
}

static bool make_snapshot_room(struct hf_zk *zk, size_t count)
{
    if (count <= zk->snapshot_room)
        return true;

    struct hf_ticket *grown = realloc(zk->snapshot, count * 2 * sizeof *grown);
    if (grown == NULL)
        return false;
    zk->snapshot = grown;
    zk->snapshot_room = count * 2;
    return true;
}

static bool keeps_out(uint64_t ahead, const struct hf_shape *nearest,
                      const struct hf_shape *shape)
{
    return !hf_shape_agrees(nearest, shape) || ahead + shape->weight > shape->capacity;
}

/* Back from `end`, until the places on the way keep `shape` out: the index of the last one.
 * Nobody needs to know more than these (see hf_line_judge).  `shape` NULL: all. */
static size_t near_part(const struct hf_zk_line *line, size_t end,
                        const struct hf_shape *shape)
{
    uint64_t weight = 0;
    size_t   first = end;

    while ((end = hf_zk_line_before(line, end)) < line->count) {
        first = end;
        if (shape == NULL)
            continue;
        struct hf_shape other = hf_zk_shape_to(&line->place[end].child, shape);
        weight += other.weight;
        if (keeps_out(weight, &other, shape))
            break;
    }
    return first;
}

size_t hf_zk_ticket_index(const struct hf_zk_line   *line,
                          const struct hf_zk_ticket *ticket)
{
    if (ticket == NULL || ticket->where != HF_ZK_THERE)
        return line->count;
    size_t i = hf_zk_line_find(line, ticket->seq);
    while (i < line->count && line->place[i].seq == ticket->seq &&
           line->place[i].ticket != ticket)
        i++;
    return i < line->count && line->place[i].ticket == ticket ? i : line->count;
}

static size_t count_live(const struct hf_zk_line *line, size_t end)
{
    size_t count = 0;

    for (size_t i = line->head; i < end; i++)
        count += !line->place[i].gone;
    return count;
}

static void copy_part(struct hf_zk *zk, const struct hf_zk_line *line, size_t first,
                      size_t end, const struct hf_shape *shape, size_t *count)
{
    for (size_t i = first; i < end; i++) {
        if (line->place[i].gone)
            continue;
        assert(*count < zk->snapshot_room);
        zk->snapshot[(*count)++] =
            (struct hf_ticket){ .seq = line->place[i].seq,
                                .shape = hf_zk_shape_to(&line->place[i].child, shape),
                                .slot = -1 };
    }
}

int hf_zk_answer(struct hf_zk *zk, struct hf_req *req, struct hf_zk_line *line,
                 struct hf_zk_ticket *ticket, const struct hf_shape *shape)
{
    size_t me = hf_zk_ticket_index(line, ticket);
    bool   present = me < line->count;
    size_t first = near_part(line, me, present ? &ticket->shape : shape);
    size_t count = 0;

    assert(first <= me && me <= line->count);
    if (!make_snapshot_room(zk, me - first + 1))
        return HF_ENOMEM;
    copy_part(zk, line, first, me, present ? &ticket->shape : shape, &count);
    assert(count <= me - first);
    req->me = count;
    req->ahead = count_live(line, me);
    if (present) {
        zk->snapshot[count++] = (struct hf_ticket){ .seq = ticket->seq,
                                                    .token = ticket->token,
                                                    .shape = ticket->shape,
                                                    .slot = ticket->slot,
                                                    .asked = ticket->asked };
        ticket->told = true;
    }
    req->snapshot = (struct hf_line){ zk->snapshot, count };
    req->stamp = line->stamp;
    return 0;
}

int hf_zk_granted(struct hf_zk *zk, const struct hf_zk_line *line, size_t me,
                  const struct hf_shape *shape)
{
    size_t first = near_part(line, me, shape), count = 0;

    if (me == line->count)
        return 0;
    if (!make_snapshot_room(zk, me - first))
        return HF_ENOMEM;
    copy_part(zk, line, first, me, shape, &count);
    struct hf_line ahead = { zk->snapshot, count };
    return hf_line_judge(&ahead, shape).granted;
}

size_t hf_zk_line_waiting(const struct hf_zk_line *line, size_t end,
                          const struct hf_shape *shape, bool *free_for)
{
    uint64_t weight = 0;
    size_t   waiting = 0;

    assert(end <= line->count);
    *free_for = true;
    for (size_t i = line->head; i < end; i++) {
        if (line->place[i].gone)
            continue;
        struct hf_shape other = hf_zk_shape_to(&line->place[i].child, shape);
        waiting += waiting > 0 || weight + other.weight > other.capacity;
        weight += other.weight;
        if (!hf_shape_agrees(&other, shape))
            *free_for = false;
    }
    if (waiting > 0 || weight + shape->weight > shape->capacity)
        *free_for = false;
    return waiting;
}

void hf_zk_answer_done(struct hf_zk *zk, struct hf_zk_task *task, int error, int gone,
                       const char *what)
{
    assert(gone < 0 && task->line != NULL);
    if (error == 0)
        hf_task_finish(&task->base, 0);
    else if (error == HF_ZK_NO_NODE || error == HF_ZK_BAD_VERSION)
        hf_task_fail(&task->base, gone, "that place in \"%.100s\" is gone",
                     task->base.req->name);
    else
        hf_task_finish(&task->base, hf_zk_fault(zk, error, what, task->line->folder));
}
