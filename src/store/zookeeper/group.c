/* group.c - ENTERs that belong together: several nodes, made in one step.
 *
 * Each ENTER goes its own way (see enter.c) until it is about to make its node: it has
 * listed the line, if it must be free, and knows that it has no node yet.
 * There it waits for the others.  When all have come, one MULTI makes all the nodes, and
 * each goes on by itself with a listing of its own, in the same flight:
 *
 *     a   list ----+                  +---- listing ----> answer
 *     b   list ----+---- one MULTI ---+---- listing ----> answer
 *     c   list ----+                  +---- listing ----> answer
 *
 * If one of them fails on its way, or finds its line taken and does not want to wait, the
 * others end as it did, and nothing was written.  One that has its node from an earlier
 * try, whose answer was lost, keeps nobody waiting longer than it takes to find it.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A server takes no more than a megabyte at once, unless told otherwise. */
#define BYTES_MAX (512 * 1024)

struct hf_zk_group {
    uint64_t            number;
    struct hf_zk_task  *mates;
    struct hf_zk_call   call;
    int                 status; /* with which one of them failed; 0: none did */
    char                errmsg[HF_ERRMSG_MAX];
    struct hf_zk_group *next;
};

/* ---- Members ------------------------------------------------------------------------- */

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
        return; /* it does without */
    task->group = group;
    task->part = -1;
    task->next_mate = group->mates;
    group->mates = task;
}

static void group_fail(struct hf_zk *zk, struct hf_zk_group *group, int status)
{
    assert(status < 0); /* why all of them fail */
    group->status = status;
    memcpy(group->errmsg, zk->base.errmsg, sizeof group->errmsg);
}

static void group_free_if_empty(struct hf_zk *zk, struct hf_zk_group *group)
{
    struct hf_zk_group **at = &zk->groups;

    if (group->mates != NULL || group->call.flying)
        return;
    while (*at != group) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = group->next;
    free(group);
}

void hf_zk_group_leave(struct hf_zk *zk, struct hf_zk_task *task, int status)
{
    struct hf_zk_group  *group = task->group;
    const struct hf_req *req = task->base.req;
    bool refused = status == 0 && req->only_free && req->me == req->snapshot.count;

    if (refused) {
        snprintf(zk->base.errmsg, sizeof zk->base.errmsg,
                 "\"%.128s\", wanted at the same time, is taken", req->name);
        status = HF_EBUSY;
    }
    if (status < 0 && group->status == 0)
        group_fail(zk, group, status);
    for (struct hf_zk_task **at = &group->mates; *at != NULL; at = &(*at)->next_mate) {
        if (*at == task) {
            *at = task->next_mate;
            break;
        }
    }
    task->group = NULL;
    group_free_if_empty(zk, group);
}

int hf_zk_group_failed(struct hf_zk *zk, const struct hf_zk_task *task)
{
    int status = task->group != NULL ? task->group->status : 0;

    if (status != 0)
        memcpy(zk->base.errmsg, task->group->errmsg, sizeof zk->base.errmsg);
    return status;
}

/* ---- One step --------------------------------------------------------------------------- */

static struct hf_zk_task *mate_at(const struct hf_zk_group *group, int32_t part)
{
    struct hf_zk_task *task = group->mates;

    while (task != NULL && task->part != part)
        task = task->next_mate;
    return task;
}

/* Which of them is to blame; if nobody is, the first. */
static const struct hf_zk_line *culprit(const struct hf_zk_group *group,
                                        const struct hf_zk_reply *reply)
{
    const struct hf_zk_line *line = group->mates->line;

    assert(reply->error != 0);
    for (struct hf_zk_task *task = group->mates; task != NULL; task = task->next_mate)
        if (task->part >= 0 &&
            hf_zk_multi_error(reply, (size_t)task->part) == reply->error)
            line = task->line;
    return line;
}

static void on_group_failed(struct hf_zk *zk, struct hf_zk_group *group,
                            struct hf_zk_reply *reply)
{
    bool passes = reply->error == HF_ZK_NO_NODE || reply->error == HF_ZK_CONNECTION_LOSS;

    for (struct hf_zk_task *task = group->mates; task != NULL; task = task->next_mate)
        if (task->part >= 0)
            hf_zk_enter_failed(zk, task, reply->error);
    if (!passes)
        group_fail(zk, group,
                   hf_zk_fault(zk, reply->error, "make a node in",
                               culprit(group, reply)->folder));
}

static void on_group_nodes(struct hf_zk *zk, struct hf_zk_group *group,
                           struct hf_zk_reply *reply)
{
    struct hf_zk_task *task;

    for (int32_t i = 0; (task = mate_at(group, i)) != NULL; i++) {
        struct hf_zk_stat stat;
        struct hf_zk_text path = hf_zk_multi_made(zk, reply, &stat);
        hf_zk_enter_made(zk, task, path, &stat);
    }
}

static void on_group_made(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_group *group = data;

    if (reply->error == 0)
        on_group_nodes(zk, group, reply);
    else if (group->mates != NULL)
        on_group_failed(zk, group, reply);
    for (struct hf_zk_task *task = group->mates; task != NULL; task = task->next_mate)
        task->part = -1;
    group_free_if_empty(zk, group);
}

static void make_nodes(struct hf_zk *zk, struct hf_zk_group *group)
{
    int32_t part = 0;

    for (struct hf_zk_task *task = group->mates; task != NULL; task = task->next_mate)
        hf_zk_enter_folder(zk, task);
    size_t begin = hf_zk_call_begin(zk, &group->call, HF_ZK_MULTI, on_group_made, group);
    for (struct hf_zk_task *task = group->mates; task != NULL; task = task->next_mate) {
        char path[HF_ZK_PATH_MAX];
        hf_zk_enter_path(zk, task, path);
        hf_zk_multi_create(zk, path,
                           task->base.req->note != NULL ? task->base.req->note : "",
                           HF_ZK_EPHEMERAL_SEQUENTIAL);
        assert(task->arrived && task->part < 0);
        task->arrived = false;
        task->part = part++;
    }
    hf_zk_multi_end(zk);
    hf_zk_call_end(zk, begin);
    for (struct hf_zk_task *task = group->mates; task != NULL; task = task->next_mate)
        hf_zk_enter_list(zk, task);
}

/* One is no group, and too many do not fit one message.  Then each is made by itself, which
 * only costs more. */
static void make_each(struct hf_zk *zk, struct hf_zk_group *group)
{
    for (struct hf_zk_task *task = group->mates, *next; task != NULL; task = next) {
        next = task->next_mate;
        task->arrived = false;
        hf_zk_enter_alone(zk, task);
    }
}

static void group_end(struct hf_zk *zk, struct hf_zk_group *group)
{
    int  status = group->status;
    char errmsg[HF_ERRMSG_MAX];

    memcpy(errmsg, group->errmsg, sizeof errmsg);
    for (struct hf_zk_task *task = group->mates, *next; task != NULL; task = next) {
        next = task->next_mate; /* the group may go with its last one */
        memcpy(zk->base.errmsg, errmsg, sizeof errmsg);
        hf_zk_ticket_free(zk, task->ticket);
        task->ticket = NULL;
        hf_task_finish(&task->base, status);
    }
}

void hf_zk_group_arrive(struct hf_zk_task *task)
{
    assert(task->group != NULL && !task->arrived);
    assert(task->part < 0); /* what it had in the last MULTI is answered */
    task->arrived = true;
}

static void group_run(struct hf_zk *zk, struct hf_zk_group *group)
{
    size_t count = 0, bytes = 0;

    for (struct hf_zk_task *task = group->mates; task != NULL; task = task->next_mate) {
        if (!task->arrived)
            return;
        count++;
        bytes += HF_ZK_PATH_MAX + 256;
        bytes += task->base.req->note != NULL ? strlen(task->base.req->note) : 0;
    }
    if (group->status != 0)
        group_end(zk, group);
    else if (count > 1 && bytes <= BYTES_MAX)
        make_nodes(zk, group);
    else
        make_each(zk, group);
}

void hf_zk_groups_run(struct hf_zk *zk)
{
    for (struct hf_zk_group *group = zk->groups, *next; group != NULL; group = next) {
        next = group->next;
        group_run(zk, group);
    }
}

/* Those who waited for others have nothing in flight that could tell them. */
void hf_zk_groups_fail(struct hf_zk *zk)
{
    for (struct hf_zk_group *group = zk->groups, *next; group != NULL; group = next) {
        next = group->next;
        for (struct hf_zk_task *task = group->mates, *mate; task != NULL; task = mate) {
            mate = task->next_mate;
            if (task->arrived)
                hf_task_finish(&task->base, HF_EDOWN);
        }
    }
}
