/* standing.c - how a place stands, by the last listing: the answer to ENTER, DOWNGRADE
 * and WATCH. */
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

struct hf_standing hf_zk_standing(const struct hf_zk_own *own, enum hf_stand state)
{
    const struct hf_zk_line *line = own->line;
    struct hf_standing       standing = { .state = HF_STAND_NONE, .slot = -1 };

    if (own->where != HF_ZK_THERE || state == HF_STAND_NONE)
        return standing;
    standing.state = state;
    standing.token = own->token;
    standing.weight = own->shape.weight;
    if (state == HF_STAND_HOLDS) {
        standing.slot = hf_zk_own_slot(own);
        standing.asked = own->asked;
    } else {
        standing.ahead = count_ahead(line, hf_zk_own_index(own));
    }
    return standing;
}

/* ---- Answering ---------------------------------------------------------------------- */

void hf_zk_answer(struct hf_zk *zk, struct hf_zk_task *task, enum hf_stand state)
{
    struct hf_zk_own  *own = task->own;
    struct hf_standing none = { .state = HF_STAND_NONE, .slot = -1 };

    if (own != NULL && state == HF_STAND_HOLDS && own->where == HF_ZK_THERE) {
        if (hf_zk_own_slot(own) < 0 && hf_shape_has_slots(&own->shape)) {
            hf_zk_slot_take(zk, task); /* which calls us again */
            return;
        }
        if (own->held_at == 0)
            own->held_at = zk->remote.now;
    }
    task->base.req->standing = own != NULL ? hf_zk_standing(own, state) : none;
    hf_task_finish(&task->base, 0);
}

/* A place of another kind, or an invalid one, is ahead. */
int hf_zk_refusal(struct hf_zk *zk, const struct hf_zk_line *line,
                  enum hf_verdict verdict)
{
    assert(verdict == HF_MISMATCHED || verdict == HF_BARRED);
    if (verdict == HF_BARRED)
        return hf_store_invalid(&zk->base, 0);
    snprintf(zk->base.errmsg, sizeof zk->base.errmsg,
             "\"%.128s\" is a lock of another kind", line->name);
    return HF_EMISMATCH;
}

int hf_zk_session_full(struct hf_zk *zk)
{
    size_t most = hf_zk_config_most(&zk->config);

    if (zk->own_bytes <= most)
        return 0;
    snprintf(zk->base.errmsg, sizeof zk->base.errmsg,
             "one client may have places with %zu bytes of paths, "
             "so that the servers survive its end: use several clients or shorter names, "
             "or see maxbuffer= in docs/zookeeper.md",
             most);
    return HF_EFULL;
}

void hf_zk_answer_listed(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_own *own = task->own;

    if (own != NULL)
        hf_zk_own_confirm(zk, own);
    if (own == NULL || own->where != HF_ZK_THERE) {
        hf_zk_answer(zk, task, HF_STAND_NONE);
        return;
    }
    enum hf_verdict verdict = hf_zk_judge(task->line, hf_zk_own_index(own), &own->shape);
    if (verdict == HF_PASSES)
        hf_zk_answer(zk, task, HF_STAND_HOLDS);
    else if (verdict == HF_BLOCKED)
        hf_zk_answer(zk, task, HF_STAND_WAITS);
    else
        hf_task_finish(&task->base, hf_zk_refusal(zk, task->line, verdict));
}

/* ---- From a new listing ------------------------------------------------------------- */

static void on_listed_to_answer(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    if (!hf_zk_task_failed(zk, task, error, "list", task->line->folder))
        hf_zk_answer_listed(zk, task);
}

void hf_zk_list_and_answer(struct hf_zk *zk, struct hf_zk_task *task)
{
    task->on_list = on_listed_to_answer;
    hf_zk_line_list(zk, task->line, task);
}

/* ---- Other answers ------------------------------------------------------------------ */

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
