/* enter.c - ENTER: a node of our own at the end of the line.
 *
 * Usually one flight: create and listing leave together, and the server answers
 * them in that order, so the listing shows our node and all that came before.
 *
 *     create + listing ----------------------------> answer
 *         no such folder: folder + create + listing, again
 *     a try, a limit: listing first; nothing is created if it is no use
 *     an earlier answer was lost: search.c first
 *     one of several that belong together: see group.c
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define TRIES 8 /* the folder may be swept away again before we are in it */

enum { CREATE, FOLDER }; /* call[] */

static void take_place(struct hf_zk *zk, struct hf_zk_task *task);

/* ---- Cannot be ------------------------------------------------------------------------- */

static void place_undone(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    assert(task->error < 0 && task->ticket->leaving);
    if (error == HF_ZK_CONNECTION_LOSS) {
        task->error = HF_EDOWN;
    } else {
        hf_zk_ticket_step_aside(zk, task->ticket);
        hf_zk_ticket_free(zk, task->ticket);
        task->ticket = NULL;
    }
    hf_task_finish(&task->base, task->error);
}

/* Delete a place that we must not keep.  The task ends with `status` when it is gone. */
static void undo_place(struct hf_zk *zk, struct hf_zk_task *task, int status)
{
    assert(status < 0 && task->ticket->where == HF_ZK_THERE);
    task->error = status;
    task->ticket->leaving = true;
    hf_zk_ticket_quiet(zk, task->ticket, true);
    hf_zk_place_delete(zk, task, place_undone);
}

static void undo_exhausted(struct hf_zk *zk, struct hf_zk_task *task)
{
    snprintf(zk->base.errmsg, sizeof zk->base.errmsg,
             "the numbers in %.120s are used up; when nobody is in it, delete that node, "
             "or use another lock name",
             task->line->folder);
    undo_place(zk, task, HF_EEXHAUSTED);
}

static void undo_full(struct hf_zk *zk, struct hf_zk_task *task)
{
    snprintf(zk->base.errmsg, sizeof zk->base.errmsg,
             "as many wait for \"%.128s\" as the limit of %u allows",
             task->base.req->name, task->base.req->limit);
    if (task->ticket->where == HF_ZK_THERE) {
        undo_place(zk, task, HF_EFULL);
        return;
    }
    hf_zk_ticket_free(zk, task->ticket);
    task->ticket = NULL;
    hf_task_finish(&task->base, HF_EFULL);
}

static void enter_fail(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    int status = hf_zk_group_failed(zk, task);

    if (status < 0) {
        hf_task_finish(&task->base, status);
        return;
    }
    if (task->folder_error != 0 && error != HF_ZK_CONNECTION_LOSS)
        error = task->folder_error;
    if (error == HF_ZK_NO_NODE) {
        hf_task_finish(&task->base, hf_zk_chroot_fail(zk));
        return;
    }
    hf_task_finish(&task->base,
                   hf_zk_fault(zk, error, "make a node in", task->line->folder));
}

/* ---- In line ------------------------------------------------------------------------------ */

/* Limit: those who wait ahead of us count, so that exactly so many get in. */
static bool is_full(const struct hf_zk_task *task)
{
    const struct hf_zk_line *line = task->line;
    size_t                   end = hf_zk_line_find(line, task->ticket->seq);
    bool                     free_for;

    assert(task->ticket->where == HF_ZK_THERE && task->ticket->line == line);
    if (task->base.req->limit == 0)
        return false; /* and there may be very many of us */
    size_t waiting = hf_zk_line_waiting(line, end, &task->base.req->shape, &free_for);
    return !free_for && waiting >= task->base.req->limit;
}

static bool is_exhausted(const struct hf_zk_ticket *ticket)
{
    return ticket->number < 0 || ticket->number >= HF_ZK_SEQUENCE_END;
}

static void judge_place(struct hf_zk *zk, struct hf_zk_task *task)
{
    if (is_exhausted(task->ticket))
        undo_exhausted(zk, task);
    else if (is_full(task))
        undo_full(zk, task);
    else
        hf_zk_read_answer(zk, task);
}

static void on_listed_in_line(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    /* Then ENTER is sent again, whatever came of the create. */
    bool lost = error == HF_ZK_CONNECTION_LOSS;

    if (!lost && task->error == HF_ZK_NO_NODE && ++task->step < TRIES) {
        take_place(zk, task);
    } else if (lost || task->error != 0) {
        enter_fail(zk, task, lost ? error : task->error);
    } else if (error != 0 && error != HF_ZK_NO_NODE) {
        enter_fail(zk, task, error);
    } else if (task->ticket->where == HF_ZK_NOWHERE) { /* a claim that came too late */
        hf_zk_ticket_free(zk, task->ticket);
        task->ticket = NULL;
        hf_zk_read_answer(zk, task);
    } else {
        hf_zk_ticket_confirm(zk, task->ticket);
        if (task->ticket->where == HF_ZK_THERE)
            judge_place(zk, task);
        else
            hf_zk_read_answer(zk, task);
    }
}

void hf_zk_enter_made(struct hf_zk *zk, struct hf_zk_task *task, struct hf_zk_text path,
                      const struct hf_zk_stat *stat)
{
    size_t folder = strlen(task->line->folder) + 1;
    int    r = HF_ESTORE;

    task->error = 0;
    if (path.size > folder)
        r = hf_zk_ticket_found(zk, task->ticket, path.bytes + folder, path.size - folder,
                               stat);
    if (r == 0)
        return;
    /* It is there, so that it must be found and taken away. */
    hf_zk_ticket_set(zk, task->ticket, HF_ZK_UNSURE);
    task->error = HF_ZK_OPERATION_TIMEOUT;
}

void hf_zk_enter_failed(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    task->error = error;
    if (error == HF_ZK_CONNECTION_LOSS)
        hf_zk_ticket_set(zk, task->ticket, HF_ZK_UNSURE);
    else if (error == HF_ZK_NODE_EXISTS && task->ticket->shape.claim)
        task->error = 0; /* somebody was quicker: the listing shows him */
}

static void on_place_made(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_stat stat;

    if (reply->error != 0) {
        hf_zk_enter_failed(zk, data, reply->error);
        return;
    }
    struct hf_zk_text path = hf_zk_get_text(&reply->body);
    hf_zk_get_stat(&reply->body, &stat);
    if (reply->body.bad)
        path.size = 0;
    hf_zk_enter_made(zk, data, path, &stat);
}

static void on_folder_made(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;

    (void)zk;
    if (reply->error == 0 || reply->error == HF_ZK_NODE_EXISTS)
        return;
    task->folder_error = reply->error;
    task->step = TRIES; /* no use to try again */
}

void hf_zk_enter_folder(struct hf_zk *zk, struct hf_zk_task *task)
{
    if (task->step > 0)
        hf_zk_call_create(zk, &task->call[FOLDER], task->line->folder, "",
                          HF_ZK_CONTAINER, on_folder_made, task);
}

void hf_zk_enter_path(struct hf_zk *zk, const struct hf_zk_task *task, char *ret)
{
    char prefix[HF_ZK_CHILD_MAX];

    assert(task->ticket->where == HF_ZK_NOWHERE); /* never two nodes */
    hf_zk_child_prefix(zk->config.style, &task->base.req->shape, task->ticket->uuid,
                       prefix);
    hf_zk_path(task->line, prefix, ret);
}

void hf_zk_enter_list(struct hf_zk *zk, struct hf_zk_task *task)
{
    task->on_list = on_listed_in_line;
    hf_zk_line_list(zk, task->line, task);
}

/* Create and listing in one flight; from the second time on the folder, too. */
void hf_zk_enter_alone(struct hf_zk *zk, struct hf_zk_task *task)
{
    const struct hf_req *req = task->base.req;
    const char          *note = req->note != NULL ? req->note : "";
    char                 path[HF_ZK_PATH_MAX];

    hf_zk_enter_folder(zk, task);
    hf_zk_enter_path(zk, task, path);
    if (req->shape.claim)
        hf_zk_claim_create(zk, task, path, note);
    else
        hf_zk_call_create(zk, &task->call[CREATE], path, note, HF_ZK_EPHEMERAL_SEQUENTIAL,
                          on_place_made, task);
    hf_zk_enter_list(zk, task);
}

static void take_place(struct hf_zk *zk, struct hf_zk_task *task)
{
    assert(task->ticket->where == HF_ZK_NOWHERE);
    task->error = 0;
    if (task->group != NULL)
        hf_zk_group_arrive(task);
    else
        hf_zk_enter_alone(zk, task);
}

/* ---- Listing first -------------------------------------------------------------------------- */

static void on_listed_first(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    const struct hf_req *req = task->base.req;
    bool                 free_for;

    if (error != 0 && error != HF_ZK_NO_NODE) {
        enter_fail(zk, task, error);
        return;
    }
    size_t waiting =
        hf_zk_line_waiting(task->line, task->line->count, &req->shape, &free_for);
    if (req->only_free && !free_for) {
        hf_zk_ticket_free(zk, task->ticket);
        task->ticket = NULL;
        hf_zk_read_answer(zk, task);
    } else if (req->limit != 0 && waiting >= req->limit && !free_for) {
        undo_full(zk, task);
    } else {
        task->step = error == HF_ZK_NO_NODE;
        take_place(zk, task);
    }
}

/* We have a place from an earlier try, whose answer was lost.  It is listed again: the
 * listing in which it was found did not know yet that it is ours. */
static void keep_place(struct hf_zk *zk, struct hf_zk_task *task)
{
    assert(task->ticket->where == HF_ZK_THERE);
    task->error = 0;
    hf_zk_enter_list(zk, task);
}

static void begin_enter(struct hf_zk *zk, struct hf_zk_task *task)
{
    assert(task->ticket->where != HF_ZK_UNSURE); /* that is searched for first */
    bool list_first = task->base.req->only_free || task->base.req->limit != 0;

    if (task->ticket->where == HF_ZK_THERE) {
        keep_place(zk, task);
    } else if (task->ticket->where == HF_ZK_AWAY) {
        hf_zk_read(zk, task);
    } else if (list_first) {
        task->on_list = on_listed_first;
        hf_zk_line_list(zk, task->line, task);
    } else {
        take_place(zk, task);
    }
}

void hf_zk_enter(struct hf_zk *zk, struct hf_zk_task *task)
{
    task->ticket = hf_zk_ticket_find(zk, task->base.req->id);
    if (task->ticket == NULL)
        task->ticket = hf_zk_ticket_new(zk, task->base.req);
    if (task->base.req->group != 0)
        hf_zk_group_join(zk, task);
    if (task->ticket == NULL)
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
    else if (task->ticket->where == HF_ZK_UNSURE)
        hf_zk_search(zk, task, begin_enter);
    else
        begin_enter(zk, task);
}
