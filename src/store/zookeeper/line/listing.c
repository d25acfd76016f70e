/* listing.c - lists a folder, and takes the listing in.
 *
 * One listing serves all tasks that asked for one before it was sent: a process that
 * queues a thousand times sends a thousand creates and one listing behind them.
 *
 *     wanted --> `queued` --flush--> `flying` --answered--> the tasks are called, and
 *                   |                    |                  the waiters reviewed (wait.c)
 *                   +--connection broke--+--> the tasks are called.  The waiters list
 *                                             again when there is a connection
 *
 * While a listing is in flight the line may be queued again, for tasks that need one
 * sent later. For a waiter the next answer is good enough: a server sends events and
 * answers in the order of what it did, so that listing shows every change that we have
 * heard of.
 */
#include "base/grow.h"
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- Taking a listing in ------------------------------------------------------------ */

static bool make_listing_room(struct hf_zk_line *line, size_t count, size_t bytes)
{
    struct hf_zk_place *place =
        hf_grow(line->place, &line->room, count, sizeof *line->place);
    char *text = hf_grow(line->text, &line->text_room, bytes, 1);

    if (place != NULL)
        line->place = place;
    if (text != NULL)
        line->text = text;
    return place != NULL && text != NULL;
}

/* A number may be anything, so they are kept as a list and not as bits. */
static bool add_slot(struct hf_zk_line *line, int64_t slot)
{
    uint32_t *grown =
        hf_grow(line->slot, &line->slot_room, line->slots + 1, sizeof *grown);

    if (grown == NULL)
        return false;
    line->slot = grown;
    line->slot[line->slots++] = (uint32_t)slot;
    return true;
}

static int by_place_seq(const void *a, const void *b)
{
    const struct hf_zk_place *x = a, *y = b;

    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool add_place(struct hf_zk_line *line, struct hf_zk_text name, size_t *bytes)
{
    struct hf_zk_place *place = &line->place[line->count];
    char               *text = line->text + *bytes;

    assert(line->count < line->room);
    assert(name.size < line->text_room - *bytes);
    hf_zk_child_parse(name.bytes, name.size, &place->child);
    if (place->child.style == HF_ZK_SLOT)
        return add_slot(line, place->child.number);
    if (place->child.style == HF_ZK_FOREIGN)
        return true;
    memcpy(text, name.bytes, name.size);
    text[name.size] = '\0';
    *bytes += name.size + 1;
    place->name = text;
    place->seq = hf_zk_child_seq(&place->child);
    place->state = HF_ZK_STANDS;
    place->own = NULL;
    place->listener = NULL;
    line->count++;
    return true;
}

static void clear_listing(struct hf_zk_line *line)
{
    line->count = line->head = line->slots = 0;
    line->stale = false;
    line->stamp = HF_ZK_STAMP_NONE;
    line->written = UINT64_MAX;
}

/* `claim` is not a place itself if it belongs to one. */
static void drop_claim(struct hf_zk_line *line)
{
    bool belongs = false;

    if (line->count == 0 || line->place[0].child.style != HF_ZK_CLAIM)
        return;
    for (size_t i = 1; i < line->count && !belongs; i++)
        belongs = hf_zk_child_claims(&line->place[i].child);
    if (belongs)
        memmove(line->place, line->place + 1, --line->count * sizeof *line->place);
}

/* Find our own places in it. */
static void match_places(struct hf_zk_line *line)
{
    for (struct hf_zk_own *own = line->own; own != NULL; own = own->line_next) {
        if (own->where != HF_ZK_THERE)
            continue;
        for (size_t i = hf_zk_line_find(line, own->seq);
             i < line->count && line->place[i].seq == own->seq; i++) {
            const char *name = line->place[i].name;
            if (hf_zk_child_is(name, strlen(name), own->uuid))
                line->place[i].own = own;
        }
    }
}

static int take_listing_in(struct hf_zk_line *line, struct hf_zk_reader *body)
{
    size_t count = hf_zk_get_count(body, 4), bytes = 0;

    clear_listing(line);
    if (!make_listing_room(line, count + 1, body->size + count))
        return HF_ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (!add_place(line, hf_zk_get_text(body), &bytes))
            return HF_ENOMEM;
    struct hf_zk_stat stat;
    hf_zk_get_stat(body, &stat);
    if (body->bad)
        return HF_ESTORE;
    line->stamp = (uint64_t)stat.pzxid;
    line->written = (uint64_t)stat.mzxid;
    qsort(line->place, line->count, sizeof *line->place, by_place_seq);
    drop_claim(line);
    match_places(line);
    return 0;
}

void hf_zk_line_forget(struct hf_zk *zk, struct hf_zk_line *line)
{
    clear_listing(line);
    line->stale = true;
    hf_zk_line_match_listeners(zk, line);
}

/* ---- Listings ----------------------------------------------------------------------- */

static void notify_tasks(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    while (task != NULL) {
        struct hf_zk_task *next = task->next_wanting;
        assert(task->on_list != NULL);
        task->next_wanting = NULL;
        task->on_list(zk, task, error);
        task = next;
    }
}

static int take_answer_in(struct hf_zk *zk, struct hf_zk_line *line,
                          struct hf_zk_reply *reply)
{
    int r = 0;

    if (reply->error != 0 && reply->error != HF_ZK_NO_NODE)
        return reply->error;
    if (reply->error == 0)
        r = take_listing_in(line, &reply->body);
    if (r < 0 || reply->error != 0)
        clear_listing(line);
    hf_zk_line_match_listeners(zk, line);
    if (r < 0)
        return r == HF_ENOMEM ? HF_ZK_OPERATION_TIMEOUT : HF_ZK_MARSHALLING;
    return reply->error;
}

static void on_listing(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_listing *listing = data;
    struct hf_zk_line    *line = listing->line;
    struct hf_zk_task    *tasks = listing->tasks;
    int                   error = take_answer_in(zk, line, reply);

    assert(line->users > 0); /* the listing is a user */
    if (listing != &line->first)
        free(listing);
    line->flying--;
    notify_tasks(zk, tasks, error);
    if (error == 0 || error == HF_ZK_NO_NODE)
        hf_zk_wait_listed(zk, line);
    else if (error != HF_ZK_CONNECTION_LOSS)
        hf_zk_wait_list_failed(zk, line, error);
    hf_zk_line_put(zk, line);
}

static void queue_listing(struct hf_zk *zk, struct hf_zk_line *line)
{
    assert(line->users > 0);
    if (line->queued)
        return;
    line->queued = true;
    line->users++;
    line->next_to_list = zk->to_list;
    zk->to_list = line;
}

void hf_zk_line_list(struct hf_zk *zk, struct hf_zk_line *line, struct hf_zk_task *task)
{
    assert(task->line == line && task->on_list != NULL);
    assert(task->next_wanting == NULL); /* a task wants one listing at a time */
    assert(line->wanting == NULL || line->queued);
    if (line->wanting != NULL)
        line->wanting_last->next_wanting = task;
    else
        line->wanting = task;
    line->wanting_last = task;
    queue_listing(zk, line);
}

void hf_zk_line_refresh(struct hf_zk *zk, struct hf_zk_line *line)
{
    if (line->flying == 0)
        queue_listing(zk, line);
}

/* Take the next line to list, with the tasks that want it. */
static struct hf_zk_line *next_to_list(struct hf_zk *zk, struct hf_zk_task **tasks)
{
    struct hf_zk_line *line = zk->to_list;

    assert(line->queued && line->users > 0);
    zk->to_list = line->next_to_list;
    line->queued = false;
    *tasks = line->wanting;
    line->wanting = NULL;
    return line;
}

/* NULL: no memory for another one while the first is in flight. */
static struct hf_zk_listing *listing_new(struct hf_zk_line *line)
{
    return line->first.call.flying ? calloc(1, sizeof line->first) : &line->first;
}

void hf_zk_lines_flush(struct hf_zk *zk)
{
    struct hf_zk_line *later = NULL;

    assert(zk->dial.phase == HF_DIAL_READY);
    while (zk->to_list != NULL) {
        struct hf_zk_line    *line = zk->to_list;
        struct hf_zk_listing *listing = listing_new(line);
        if (listing == NULL) { /* tried again when the first is answered */
            zk->to_list = line->next_to_list;
            line->next_to_list = later;
            later = line;
            continue;
        }
        next_to_list(zk, &listing->tasks);
        listing->line = line;
        line->flying++;
        hf_zk_call_get(zk, &listing->call, HF_ZK_GET_CHILDREN2, line->folder, on_listing,
                       listing);
    }
    zk->to_list = later;
}

void hf_zk_lines_fail(struct hf_zk *zk)
{
    assert(zk->dial.phase < HF_DIAL_READY && zk->calls.first == NULL);
    while (zk->to_list != NULL) {
        struct hf_zk_task *tasks;
        struct hf_zk_line *line = next_to_list(zk, &tasks);
        notify_tasks(zk, tasks, HF_ZK_CONNECTION_LOSS);
        hf_zk_line_put(zk, line);
    }
}
