/* listing.c - listing what is in a folder, and taking it in.
 *
 * One listing serves all tasks that wanted one before it was sent: a process that queues
 * a thousand times sends a thousand creates and one listing behind them.
 *
 *     wanted --> `queued` --flush--> in flight --answered--> the tasks are told, the WATCHes
 *                   |                    |                   of the line are reviewed
 *                   +--connection broke--+--> the tasks are told; a line on which WATCHes
 *                                             waited is `unlisted`: listed again when READY
 *
 * `refreshing` lasts from when a WATCH wants it until it is answered.  While a listing is in
 * flight the line may be queued again: for those who want one sent later.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- Taking a listing in ------------------------------------------------------------------ */

static bool make_listing_room(struct hf_zk_line *line, size_t count, size_t bytes)
{
    if (count > line->room) {
        struct hf_zk_place *grown = realloc(line->place, count * 2 * sizeof *grown);
        if (grown == NULL)
            return false;
        line->place = grown;
        line->room = count * 2;
    }
    if (bytes > line->text_room) {
        char *grown = realloc(line->text, bytes * 2);
        if (grown == NULL)
            return false;
        line->text = grown;
        line->text_room = bytes * 2;
    }
    return true;
}

/* A number may be anything, so they are kept as they come and not as bits. */
static bool add_slot(struct hf_zk_line *line, int64_t slot)
{
    if (line->slots == line->slot_room) {
        size_t    room = line->slot_room > 0 ? line->slot_room * 2 : 16;
        uint32_t *grown = realloc(line->slot, room * sizeof *grown);
        if (grown == NULL)
            return false;
        line->slot = grown;
        line->slot_room = room;
    }
    line->slot[line->slots++] = (uint32_t)slot;
    return true;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static int by_place_seq(const void *a, const void *b)
{
    const struct hf_zk_place *x = a, *y = b;

    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool is_reader_or_writer(const struct hf_shape *shape)
{
    return shape->capacity == HF_ALL && (shape->weight == 1 || shape->weight == HF_ALL);
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
    place->ticket = NULL;
    place->gone = false;
    bool is_numbered =
        place->child.number >= 0 && place->child.number < HF_ZK_SEQUENCE_END;
    line->plain = line->plain && place->child.shape.capacity == 1 &&
                  !place->child.shape.claim && is_numbered;
    line->shared =
        line->shared && is_reader_or_writer(&place->child.shape) && is_numbered;
    line->count++;
    return true;
}

static void clear_listing(struct hf_zk_line *line)
{
    line->count = line->head = line->slots = 0;
    line->plain = line->shared = true;
    line->writer_gone = false;
    line->stamp = 1; /* of a folder that is not there */
}

/* `claim` is no place if it belongs to one. */
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

/* Which of the places are ours. */
static void match_tickets(struct hf_zk_line *line)
{
    for (struct hf_zk_ticket *ticket = line->tickets; ticket != NULL;
         ticket = ticket->beside) {
        if (ticket->where != HF_ZK_THERE)
            continue;
        for (size_t i = hf_zk_line_find(line, ticket->seq);
             i < line->count && line->place[i].seq == ticket->seq; i++) {
            const char *name = line->place[i].name;
            assert(!line->place[i].gone); /* it is just taken in */
            if (hf_zk_child_is(name, strlen(name), ticket->uuid)) {
                line->place[i].ticket = ticket;
                ticket->index = i;
            }
        }
    }
}

/* Somebody may have given two places one number.  Then only their names tell them apart,
 * and in a line of mutexes names are not compared. */
static bool has_twins(const struct hf_zk_line *line)
{
    for (size_t i = 1; i < line->count; i++)
        if (line->place[i].seq == line->place[i - 1].seq)
            return true;
    return false;
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
    qsort(line->place, line->count, sizeof *line->place, by_place_seq);
    drop_claim(line);
    if (has_twins(line))
        line->plain = line->shared = false;
    if (line->slots > 0)
        qsort(line->slot, line->slots, sizeof *line->slot, by_number);
    match_tickets(line);
    return 0;
}

/* ---- Listings ------------------------------------------------------------------------------ */

/* In a line of mutexes, far behind, with two of our own just ahead: nothing can have changed
 * for it.  There may be thousands of these. */
static bool is_deep(const struct hf_zk_line *line, const struct hf_zk_ticket *ticket)
{
    size_t index = ticket->index;

    return line->plain && ticket->shape.capacity == 1 && index > HF_ZK_READY_AHEAD &&
           index < line->count && line->place[index].ticket == ticket &&
           line->place[index - 1].ticket != NULL && line->place[index - 2].ticket != NULL;
}

/* The WATCHes of a line, with a listing that is new, or that cannot be had. */
static void review_all(struct hf_zk *zk, struct hf_zk_line *line, bool listed)
{
    for (struct hf_zk_ticket *ticket = line->tickets, *next; ticket != NULL;
         ticket = next) {
        bool doubt = ticket->doubt;
        next = ticket->beside;
        ticket->doubt = false;
        if (ticket->watch == NULL)
            continue;
        if (listed && (doubt || !is_deep(line, ticket)))
            hf_zk_watch_review(zk, ticket);
        else if (!listed && doubt)
            hf_task_finish(&ticket->watch->base, 0); /* its READ hears why */
    }
}

static void tell_listed(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    while (task != NULL) {
        struct hf_zk_task *next = task->next_wanting;
        assert(task->on_list != NULL);
        task->next_wanting = NULL;
        task->on_list(zk, task, error);
        task = next;
    }
}

static void on_listing(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_listing *listing = data;
    struct hf_zk_line    *line = listing->line;
    int                   error = reply->error;

    assert(line->users > 0); /* the listing is one of them */
    if (error == 0) {
        int r = take_listing_in(line, &reply->body);
        if (r < 0) {
            clear_listing(line);
            error = r == HF_ENOMEM ? HF_ZK_OPERATION_TIMEOUT : HF_ZK_MARSHALLING;
        }
    } else if (error == HF_ZK_NO_NODE) {
        clear_listing(line);
    }
    line->unlisted =
        error == HF_ZK_CONNECTION_LOSS && (line->refreshing || line->unlisted);
    line->refreshing = false;
    struct hf_zk_task *tasks = listing->tasks;
    if (listing != &line->first)
        free(listing);
    tell_listed(zk, tasks, error);
    if (error != HF_ZK_CONNECTION_LOSS)
        review_all(zk, line, error == 0 || error == HF_ZK_NO_NODE);
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
    assert(task->next_wanting == NULL); /* one at a time */
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
    assert(line->tickets != NULL); /* only a ticket of ours waits for it */
    if (!line->refreshing)
        queue_listing(zk, line);
    line->refreshing = true;
}

/* The next line to list, and the tasks that want it. */
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

/* NULL: no memory, and one is in flight. */
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
        if (listing == NULL) { /* when that is answered */
            zk->to_list = line->next_to_list;
            line->next_to_list = later;
            later = line;
            continue;
        }
        next_to_list(zk, &listing->tasks);
        listing->line = line;
        hf_zk_call_get(zk, &listing->call, HF_ZK_GET_CHILDREN2, line->folder, false,
                       on_listing, listing);
    }
    zk->to_list = later;
}

void hf_zk_lines_fail(struct hf_zk *zk)
{
    assert(zk->dial.phase < HF_DIAL_READY && zk->calls.first == NULL);
    while (zk->to_list != NULL) {
        struct hf_zk_task *tasks;
        struct hf_zk_line *line = next_to_list(zk, &tasks);
        line->unlisted = line->refreshing || line->unlisted;
        line->refreshing = false;
        tell_listed(zk, tasks, HF_ZK_CONNECTION_LOSS);
        hf_zk_line_put(zk, line);
    }
}
