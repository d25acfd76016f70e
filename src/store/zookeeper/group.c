/* group.c - ENTERs that belong together: several nodes, created in one step.
 *
 * Each ENTER goes its own way (see enter.c) until it is about to create its node: it has
 * listed the line, if the line must be free, and knows that it has no node yet.  There
 * it waits for the others.  When all have arrived, one MULTI creates all the nodes, and
 * each ENTER continues with a listing of its own, in the same flight:
 *
 *     a   list ----+                  +---- listing ----> answer
 *     b   list ----+---- one MULTI ---+---- listing ----> answer
 *     c   list ----+                  +---- listing ----> answer
 *
 * If one of them fails on its way, or finds its line taken and does not want to wait,
 * the others end with the same status, and nothing is written.  One that has its node
 * from an earlier try, whose answer was lost, does not wait for the others.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hf_zk_group {
    uint64_t            number;
    struct hf_zk_task  *tasks;
    int                 status; /* why one of them failed; 0: none did */
    char                errmsg[HF_ERRMSG_MAX];
    struct hf_zk_group *next;
};

/* ---- Members ------------------------------------------------------------------------ */

static struct hf_zk_group *group_get(struct hf_zk *zk, uint64_t number)
{
    struct hf_zk_group *group = zk->groups;

    while (group != NULL && group->number != number)
        group = group->next;
    if (group == NULL && (group = calloc(1, sizeof *group)) != NULL) {
        group->number = number;
        group->next = zk->groups;
        zk->groups = group;
    }
    return group;
}

void hf_zk_group_join(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_group *group = group_get(zk, task->base.req->group);

    assert(!task->base.req->shape.claim);
    if (group == NULL)
        return; /* no memory: it goes on by itself */
    task->group = group;
    task->next_in_group = group->tasks;
    group->tasks = task;
}

static void group_fail(struct hf_zk *zk, struct hf_zk_group *group, int status)
{
    assert(status < 0);
    group->status = status;
    memcpy(group->errmsg, zk->base.errmsg, sizeof group->errmsg);
}

static void group_free(struct hf_zk *zk, struct hf_zk_group *group)
{
    struct hf_zk_group **at = &zk->groups;

    while (*at != group) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = group->next;
    free(group);
}

void hf_zk_group_leave(struct hf_zk *zk, struct hf_zk_task *task, int status)
{
    struct hf_zk_group *group = task->group;

    if (status == HF_EBUSY)
        snprintf(zk->base.errmsg, sizeof zk->base.errmsg,
                 "\"%.128s\", wanted together with it, is taken", task->base.req->name);
    if (status < 0 && group->status == 0)
        group_fail(zk, group, status);
    struct hf_zk_task **at = &group->tasks;
    while (*at != task)
        at = &(*at)->next_in_group;
    *at = task->next_in_group;
    task->group = NULL;
    if (group->tasks == NULL)
        group_free(zk, group);
}

int hf_zk_group_failed(struct hf_zk *zk, const struct hf_zk_task *task)
{
    int status = task->group != NULL ? task->group->status : 0;

    if (status != 0)
        memcpy(zk->base.errmsg, task->group->errmsg, sizeof zk->base.errmsg);
    return status;
}

void hf_zk_group_blame(struct hf_zk *zk, struct hf_zk_task *task)
{
    if (task->group != NULL)
        group_fail(zk, task->group,
                   hf_zk_fault(zk, task->error, "make a node in", task->line->folder));
}

/* ---- One step ----------------------------------------------------------------------- */

static void group_end(struct hf_zk *zk, struct hf_zk_group *group)
{
    int  status = group->status;
    char errmsg[HF_ERRMSG_MAX];

    memcpy(errmsg, group->errmsg, sizeof errmsg);
    for (struct hf_zk_task *task = group->tasks, *next; task != NULL; task = next) {
        next = task->next_in_group; /* the group is freed with its last task */
        assert(task->arrived);      /* so it has no node, and no call in flight */
        memcpy(zk->base.errmsg, errmsg, sizeof errmsg);
        hf_zk_own_free(zk, task->own);
        task->own = NULL;
        hf_task_finish(&task->base, status);
    }
}

static size_t bytes_of(const struct hf_zk_task *task)
{
    const char *note = task->base.req->note;

    return HF_ZK_PATH_MAX + 256 + (note != NULL ? strlen(note) : 0);
}

/* By one MULTI, or by several if one is too small. */
static void make_nodes(struct hf_zk *zk, struct hf_zk_group *group)
{
    struct hf_zk_task *first = group->tasks;

    while (first != NULL) {
        struct hf_zk_task *end = first;
        size_t             count = 0, bytes = 0, most = (size_t)zk->config.buffer / 2;
        for (; end != NULL && (count == 0 || bytes + bytes_of(end) <= most);
             end = end->next_in_group) {
            end->arrived = false;
            bytes += bytes_of(end);
            count++;
        }
        hf_zk_enter_make(zk, first, count);
        first = end;
    }
}

static void group_run(struct hf_zk *zk, struct hf_zk_group *group)
{
    for (struct hf_zk_task *task = group->tasks; task != NULL; task = task->next_in_group)
        if (!task->arrived)
            return;
    if (group->status != 0)
        group_end(zk, group);
    else
        make_nodes(zk, group);
}

void hf_zk_groups_run(struct hf_zk *zk)
{
    for (struct hf_zk_group *group = zk->groups, *next; group != NULL; group = next) {
        next = group->next;
        group_run(zk, group);
    }
}

/* Tasks with a call or listing in flight have failed already. */
void hf_zk_groups_fail(struct hf_zk *zk)
{
    for (struct hf_zk_group *group = zk->groups, *next; group != NULL; group = next) {
        next = group->next;
        if (group->status == 0)
            group_fail(zk, group, HF_EDOWN);
        group_end(zk, group);
    }
}
