/* enter.c - ENTER: create a node of our own at the end of the line.
 *
 * Usually one flight: create and listing are sent together, and the server answers them
 * in that order, so the listing shows our node and everything before it.
 *
 *     create + listing ----------------------------> answer
 *         no such folder: folder + create + listing, again
 *     a try, a limit: list first, and create nothing if that would be pointless
 *     an earlier answer was lost: recover.c first
 *     several that belong together: each waits here for the others (group.c).  Then
 *         one MULTI creates all the nodes
 *
 * A claim is a place like any other, with the node `claim` as its companion, created by
 * one MULTI: if `claim` exists, nothing is created.  So claims do not queue, and one
 * that comes too late disturbs nobody.  The places decide which claim holds, as always.
 * LEAVE, BREAK and the end of a session delete both nodes at once.
 *
 * A `claim` without its place counts as a place (names.h): somebody deleted the other
 * node, and the holder does not know yet; or an older Holdfast made it, which created no
 * other.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>

#define TRIES 8 /* the server may remove the empty folder again before we are in it */

enum { CREATE, FOLDER }; /* call[] */

static void take_place(struct hf_zk *zk, struct hf_zk_task *task);

/* ---- Refused ------------------------------------------------------------------------ */

static void forget_place(struct hf_zk *zk, struct hf_zk_task *task)
{
    hf_zk_own_free(zk, task->own);
    task->own = NULL;
}

static void place_undone(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    assert(task->error < 0);
    if (error == HF_ZK_CONNECTION_LOSS) {
        hf_zk_own_unsure(zk, task->own);
        task->error = HF_EDOWN;
    } else if (error != 0 && error != HF_ZK_NO_NODE) { /* LEAVE follows */
        task->error = hf_zk_fault(zk, error, "delete", task->own->path);
    } else {
        hf_zk_own_left_line(zk, task->own);
        forget_place(zk, task);
    }
    hf_task_finish(&task->base, task->error);
}

/* Delete a place that we must not keep.  The task ends with `status` when it is deleted.
 */
static void undo_place(struct hf_zk *zk, struct hf_zk_task *task, int status)
{
    struct hf_zk_own *own = task->own;

    assert(status < 0 && own->where == HF_ZK_THERE);
    task->error = status;
    hf_zk_own_unlisten(zk, own, true);
    hf_zk_place_delete(zk, task, own->path, hf_zk_own_companion(own), place_undone);
}

/* Nothing was created. */
static void enter_refuse(struct hf_zk *zk, struct hf_zk_task *task, int status)
{
    assert(status < 0 && task->own->where == HF_ZK_NOWHERE);
    forget_place(zk, task);
    hf_task_finish(&task->base, status);
}

/* Not free, by the last listing, which does not say whose place is ahead. */
static int enter_busy(const struct hf_zk_task *task)
{
    struct hf_req *req = task->base.req;

    req->standing = (struct hf_standing){ .state = HF_STAND_NONE, .slot = -1 };
    req->stamp = task->line->stamp;
    return HF_EBUSY;
}

static void undo_exhausted(struct hf_zk *zk, struct hf_zk_task *task)
{
    snprintf(zk->base.errmsg, sizeof zk->base.errmsg,
             "the sequence numbers in %.120s are used up; delete that node when nobody "
             "uses the lock, or use another lock name",
             task->line->folder);
    undo_place(zk, task, HF_EEXHAUSTED);
}

static void undo_full(struct hf_zk *zk, struct hf_zk_task *task)
{
    snprintf(zk->base.errmsg, sizeof zk->base.errmsg,
             "\"%.128s\" already has %u waiters, the limit", task->base.req->name,
             task->base.req->limit);
    if (task->own->where == HF_ZK_THERE)
        undo_place(zk, task, HF_EFULL);
    else
        enter_refuse(zk, task, HF_EFULL);
}

static void enter_fail(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    int status = hf_zk_group_failed(zk, task);

    if (task->folder_error != 0 && error != HF_ZK_CONNECTION_LOSS)
        error = task->folder_error;
    if (status == 0)
        status = error == HF_ZK_NO_NODE
                     ? hf_zk_chroot_fail(zk)
                     : hf_zk_fault(zk, error, "make a node in", task->line->folder);
    hf_task_finish(&task->base, status);
}

/* ---- In line ------------------------------------------------------------------------ */

/* Only waiters ahead of us count, so that exactly `limit` get in. */
static bool is_full(const struct hf_zk_task *task, size_t me)
{
    enum hf_verdict verdict;

    if (task->base.req->limit == 0)
        return false; /* counting very many of them would be wasted */
    return hf_zk_line_waiting(task->line, me, &task->own->shape, &verdict) >=
           task->base.req->limit;
}

static bool is_exhausted(const struct hf_zk_own *own)
{
    return own->number < 0 || own->number >= HF_ZK_SEQUENCE_END;
}

/* Delete it again if it is a try that would have to wait, or cannot wait here. */
static void judge_place(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_own *own = task->own;
    size_t            me = hf_zk_own_index(own);
    enum hf_verdict   verdict = hf_zk_judge(task->line, me, &own->shape);

    if (is_exhausted(own))
        undo_exhausted(zk, task);
    else if (verdict == HF_PASSES)
        hf_zk_answer(zk, task, HF_STAND_HOLDS);
    else if (verdict != HF_BLOCKED)
        undo_place(zk, task, hf_zk_refusal(zk, task->line, verdict));
    else if (task->base.req->only_free)
        undo_place(zk, task, enter_busy(task));
    else if (is_full(task, me))
        undo_full(zk, task);
    else
        hf_zk_answer(zk, task, HF_STAND_WAITS);
}

/* Another claim was quicker, but it may be gone again. */
static void came_too_late(struct hf_zk *zk, struct hf_zk_task *task)
{
    enum hf_verdict verdict =
        hf_zk_judge(task->line, task->line->count, &task->own->shape);

    if (verdict != HF_PASSES)
        enter_refuse(zk, task, enter_busy(task));
    else if (++task->step < TRIES)
        take_place(zk, task);
    else
        enter_refuse(zk, task, HF_EDOWN);
}

static void on_listed_in_line(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    /* The caller sends ENTER again, whatever became of the create. */
    bool lost = error == HF_ZK_CONNECTION_LOSS;

    if (!lost && task->error == HF_ZK_NO_NODE && ++task->step < TRIES) {
        take_place(zk, task);
    } else if (lost || task->error != 0) {
        enter_fail(zk, task, lost ? error : task->error);
    } else if (error != 0 && error != HF_ZK_NO_NODE) {
        enter_fail(zk, task, error);
    } else if (task->own->where == HF_ZK_NOWHERE) {
        came_too_late(zk, task);
    } else {
        hf_zk_own_confirm(zk, task->own);
        if (task->own->where == HF_ZK_THERE)
            judge_place(zk, task);
        else
            hf_zk_answer(zk, task, HF_STAND_NONE);
    }
}

static void list_behind(struct hf_zk *zk, struct hf_zk_task *task)
{
    task->on_list = on_listed_in_line;
    hf_zk_line_list(zk, task->line, task);
}

/* ---- Creating nodes ----------------------------------------------------------------- */

static const char *note_of(const struct hf_req *req)
{
    return req->note != NULL ? req->note : "";
}

/* The path of the new node, up to its number. */
static void place_path(const struct hf_zk *zk, const struct hf_zk_task *task, char *ret)
{
    char prefix[HF_ZK_CHILD_MAX];

    assert(task->own->where == HF_ZK_NOWHERE); /* never two nodes */
    hf_zk_child_prefix(zk->config.style, &task->base.req->shape, task->own->uuid, prefix);
    hf_zk_path(task->line, prefix, ret);
}

/* The server created it, with this path. */
static void place_made(struct hf_zk *zk, struct hf_zk_task *task, struct hf_zk_text path,
                       const struct hf_zk_stat *stat)
{
    if (hf_zk_own_found(zk, task->own, path, stat) == 0) {
        if (task->own->companion != NULL)
            task->own->companion->where = HF_ZK_THERE;
        return;
    }
    /* It exists, so it must be found again and deleted. */
    hf_zk_own_set(zk, task->own, HF_ZK_UNSURE);
    task->error = HF_ZK_OPERATION_TIMEOUT;
}

static void place_not_made(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    task->error = error;
    if (error == HF_ZK_CONNECTION_LOSS)
        hf_zk_own_set(zk, task->own, HF_ZK_UNSURE);
    else if (task->own->companion != NULL)
        task->own->companion->where = HF_ZK_NOWHERE;
    if (error == HF_ZK_NODE_EXISTS && task->own->shape.claim)
        task->error = 0; /* another claim was quicker: the listing shows it */
}

static void on_place_made(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_stat stat;

    if (reply->error != 0) {
        place_not_made(zk, data, reply->error);
        return;
    }
    struct hf_zk_text path = hf_zk_get_text(&reply->body);
    hf_zk_get_stat(&reply->body, &stat);
    if (reply->body.bad)
        path.size = 0;
    place_made(zk, data, path, &stat);
}

/* All were created, or none, perhaps because of one of them. */
static void on_places_made(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;
    struct hf_zk_stat  stat;

    for (size_t i = 0, count = task->made_together; i < count;
         i++, task = task->next_in_group) {
        if (reply->error == 0) {
            struct hf_zk_text path = hf_zk_multi_made(zk, reply, &stat);
            place_made(zk, task, path, &stat);
            continue;
        }
        place_not_made(zk, task, reply->error);
        if (reply->error != HF_ZK_NO_NODE && hf_zk_multi_error(reply, i) == reply->error)
            hf_zk_group_blame(zk, task);
    }
}

static void on_folder_made(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;

    (void)zk;
    if (reply->error == 0 || reply->error == HF_ZK_NODE_EXISTS)
        return;
    task->folder_error = reply->error;
    task->step = TRIES; /* trying again is pointless */
}

static void put_place(struct hf_zk *zk, const struct hf_zk_task *task)
{
    char path[HF_ZK_PATH_MAX];

    place_path(zk, task, path);
    hf_zk_multi_create(zk, path, note_of(task->base.req), HF_ZK_EPHEMERAL_SEQUENTIAL);
    if (task->own->shape.claim)
        hf_zk_companion_put(zk, task->own, -1);
}

/* Nodes and listings in one flight; from the second try on folders, too. */
void hf_zk_enter_make(struct hf_zk *zk, struct hf_zk_task *first, size_t count)
{
    struct hf_zk_task *task = first;
    char               path[HF_ZK_PATH_MAX];

    for (size_t i = 0; i < count; i++, task = task->next_in_group)
        if (task->step > 0)
            hf_zk_call_create(zk, &task->call[FOLDER], task->line->folder, "",
                              HF_ZK_CONTAINER, on_folder_made, task);
    if (count == 1 && !first->own->shape.claim) {
        place_path(zk, first, path);
        hf_zk_call_create(zk, &first->call[CREATE], path, note_of(first->base.req),
                          HF_ZK_EPHEMERAL_SEQUENTIAL, on_place_made, first);
    } else {
        first->made_together = count;
        hf_zk_multi_begin(zk, &first->call[CREATE], on_places_made, first);
        task = first;
        for (size_t i = 0; i < count; i++, task = task->next_in_group)
            put_place(zk, task);
        hf_zk_multi_end(zk);
    }
    task = first;
    for (size_t i = 0; i < count; i++, task = task->next_in_group)
        list_behind(zk, task);
}

static void take_place(struct hf_zk *zk, struct hf_zk_task *task)
{
    assert(task->own->where == HF_ZK_NOWHERE);
    task->own->token = 0; /* the new node gets a token of its own */
    task->own->ctime = 0;
    task->error = 0;
    if (task->own->shape.claim && !hf_zk_companion_ready(task->own)) {
        forget_place(zk, task);
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    if (task->group != NULL)
        task->arrived = true; /* group.c makes it wait for the others */
    else
        hf_zk_enter_make(zk, task, 1);
}

/* ---- Listing first ------------------------------------------------------------------ */

static void on_listed_first(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    const struct hf_req *req = task->base.req;
    enum hf_verdict      verdict;

    if (error != 0 && error != HF_ZK_NO_NODE) {
        enter_fail(zk, task, error);
        return;
    }
    size_t waiting =
        hf_zk_line_waiting(task->line, task->line->count, &req->shape, &verdict);
    if (verdict == HF_MISMATCHED || verdict == HF_BARRED) {
        enter_refuse(zk, task, hf_zk_refusal(zk, task->line, verdict));
    } else if (req->only_free && verdict == HF_BLOCKED) {
        enter_refuse(zk, task, enter_busy(task));
    } else if (req->limit != 0 && waiting >= req->limit && verdict == HF_BLOCKED) {
        undo_full(zk, task);
    } else {
        task->step = error == HF_ZK_NO_NODE;
        take_place(zk, task);
    }
}

static void begin_enter(struct hf_zk *zk, struct hf_zk_task *task)
{
    assert(task->own->where != HF_ZK_UNSURE); /* recover.c comes first */
    bool list_first = task->base.req->only_free || task->base.req->limit != 0;

    if (task->own->where == HF_ZK_THERE) {
        /* It exists from an earlier ENTER, whose answer was lost.  List again: the
         * listing that recovered it did not know yet that it is ours. */
        list_behind(zk, task);
    } else if (task->own->where == HF_ZK_TAKEN) {
        hf_zk_answer(zk, task, HF_STAND_NONE);
    } else if (list_first) {
        task->on_list = on_listed_first;
        hf_zk_line_list(zk, task->line, task);
    } else {
        take_place(zk, task);
    }
}

void hf_zk_enter(struct hf_zk *zk, struct hf_zk_task *task)
{
    task->own = hf_zk_own_find(zk, task->base.req->id);
    if (task->own == NULL)
        task->own = hf_zk_own_new(zk, task->base.req);
    if (task->base.req->group != 0)
        hf_zk_group_join(zk, task);
    if (task->own == NULL)
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
    else if (hf_zk_session_full(zk) < 0) /* never by a place that it had before */
        enter_refuse(zk, task, HF_EFULL);
    else if (task->own->where == HF_ZK_UNSURE)
        hf_zk_recover(zk, task, begin_enter);
    else
        begin_enter(zk, task);
}
