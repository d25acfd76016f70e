/* standing.c - how a place stands, by the last listing: what ENTER, AMEND and WATCH answer. */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>

static uint64_t count_ahead(const struct hf_zk_line *line, size_t me)
{
    uint64_t count = 0;

    for (size_t i = line->head; i < me; i++)
        count += line->place[i].state != HF_ZK_GONE;
    return count;
}

struct hf_standing hf_zk_standing(const struct hf_zk_ticket *ticket, enum hf_stand state)
{
    const struct hf_zk_line *line = ticket->line;
    struct hf_standing       standing = { .state = HF_STAND_NONE, .slot = -1 };

    if (ticket->where != HF_ZK_THERE || state == HF_STAND_NONE)
        return standing;
    standing.state = state;
    standing.token = ticket->token;
    standing.weight = ticket->shape.weight;
    if (state == HF_STAND_HOLDS) {
        standing.slot = ticket->slot;
        standing.asked = ticket->asked;
    } else {
        standing.ahead = count_ahead(line, hf_zk_ticket_index(ticket));
    }
    return standing;
}

/* ---- Answering --------------------------------------------------------------------------- */

void hf_zk_answer(struct hf_zk *zk, struct hf_zk_task *task, enum hf_stand state)
{
    struct hf_zk_ticket *ticket = task->ticket;
    struct hf_standing   none = { .state = HF_STAND_NONE, .slot = -1 };

    if (ticket != NULL && state == HF_STAND_HOLDS && ticket->where == HF_ZK_THERE) {
        if (ticket->slot < 0 && hf_shape_has_slots(&ticket->shape)) {
            hf_zk_slot_take(zk, task); /* and here again */
            return;
        }
        if (ticket->held_at == 0)
            ticket->held_at = zk->remote.now;
    }
    task->base.req->standing = ticket != NULL ? hf_zk_standing(ticket, state) : none;
    hf_task_finish(&task->base, 0);
}

/* A place of another kind, or one that makes no sense, is in the way. */
int hf_zk_refusal(struct hf_zk *zk, const struct hf_zk_line *line,
                  enum hf_verdict verdict)
{
    assert(verdict == HF_MISMATCHED || verdict == HF_BARRED);
    if (verdict == HF_BARRED)
        return hf_store_strange(&zk->base, 0);
    snprintf(zk->base.errmsg, sizeof zk->base.errmsg,
             "\"%.128s\" is a lock of another kind", line->name);
    return HF_EMISMATCH;
}

void hf_zk_answer_listed(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_ticket *ticket = task->ticket;

    if (ticket != NULL)
        hf_zk_ticket_confirm(zk, ticket);
    if (ticket == NULL || ticket->where != HF_ZK_THERE) {
        hf_zk_answer(zk, task, HF_STAND_NONE);
        return;
    }
    enum hf_verdict verdict =
        hf_zk_judge(task->line, hf_zk_ticket_index(ticket), &ticket->shape);
    if (verdict == HF_PASSES)
        hf_zk_answer(zk, task, HF_STAND_HOLDS);
    else if (verdict == HF_BLOCKED)
        hf_zk_answer(zk, task, HF_STAND_WAITS);
    else
        hf_task_finish(&task->base, hf_zk_refusal(zk, task->line, verdict));
}

/* ---- Looking ----------------------------------------------------------------------------- */

static void on_listed_to_look(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    if (!hf_zk_task_failed(zk, task, error, "list", task->line->folder))
        hf_zk_answer_listed(zk, task);
}

void hf_zk_look(struct hf_zk *zk, struct hf_zk_task *task)
{
    task->on_list = on_listed_to_look;
    hf_zk_line_list(zk, task->line, task);
}

/* ---- Other answers ------------------------------------------------------------------------ */

size_t hf_zk_line_waiting(const struct hf_zk_line *line, size_t end,
                          const struct hf_shape *shape, enum hf_verdict *verdict)
{
    struct hf_sum sum = { 0 };
    size_t        waiting = 0;

    assert(end <= line->count);
    for (size_t i = line->head; i < end; i++) {
        if (line->place[i].state == HF_ZK_GONE)
            continue;
        struct hf_shape other = hf_zk_shape_to(&line->place[i].child, shape);
        waiting += !hf_sum_next(&sum, &other);
    }
    *verdict = hf_sum_judge(&sum, shape);
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
