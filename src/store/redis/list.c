/* list.c - LIST and HISTORY: every place, or record, that the server tells, a piece at a time.
 *
 * Texts of places are kept until the last piece has come.  Meanwhile a place that waited may
 * have been granted: then it is told twice, and what was told last counts.
 */
#include "store/redis/inner.h"

#include "base/grow.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 5 /* part of the answer that is a place */
#define NUMBERS \
    3 /* ... and part of one of HISTORY that is a number, and the next its record */
#define TEXT_MAX  (256 * 1024 * 1024)
#define SINCE_MAX ((int64_t)1 << 60)
#define LEFT_MAX  ((int64_t)24 * 3600 * 1000000)
#define WAITS     (-2) /* a slot */

/* ---- One place ------------------------------------------------------------------ */

/* "<state> <seq> <weight> <slot> <since> <kind> <name>\n<note>", cut up where it is.
 * While the list is made, `slot` tells those who wait. */
bool hf_redis_ticket_parse(char *text, struct hf_ticket *ret)
{
    char    state, claim = '\0';
    int64_t weight, capacity;
    char   *name = text, *end = strchr(text, '\n');

    *ret = (struct hf_ticket){ 0 };
    for (int i = 0; i < 6 && name != NULL; i++) /* it may begin with a blank itself */
        name = (name = strchr(name, ' ')) != NULL ? name + 1 : NULL;
    if (end == NULL || name == NULL || name > end ||
        sscanf(text, "%c %" SCNu64 " %" SCNd64 " %d %" SCNd64 " %" SCNd64 "%c", &state,
               &ret->seq, &weight, &ret->slot, &ret->since, &capacity, &claim) != 7)
        return false;
    *end = '\0';
    if (ret->since < 0 || ret->since > SINCE_MAX)
        ret->since = 0;
    ret->token = ret->seq;
    ret->shape = hf_shape_read(weight, capacity, claim == 'c');
    ret->line = name;
    ret->note = end + 1;
    if (state == 'w')
        ret->slot = WAITS;
    return true;
}

/* What is behind the zero byte of such a text, which was not cut up yet; "" if nothing is. */
static const char *behind_text(const redisReply *text)
{
    size_t size = strlen(text->str);

    return size < text->len ? text->str + size + 1 : "";
}

/* Not a real place: it tells why nobody holds what seems to be free. */
static struct hf_ticket stand_in(const char *line, struct hf_shape shape,
                                 const char *note)
{
    shape.weight = shape.capacity;
    return (struct hf_ticket){
        .shape = shape, .slot = -1, .since = hf_wall_us(), .line = line, .note = note
    };
}

/* An entry of the line that cannot be read. */
static struct hf_ticket unreadable(const char *line)
{
    return (struct hf_ticket){ .shape = hf_shape_read(0, 0, false),
                               .slot = -1,
                               .line = line != NULL ? line : "",
                               .note = "an entry of the server that cannot be read" };
}

/* ---- What was told so far ------------------------------------------------------- */

struct hf_redis_listing {
    char    *text; /* of each place: as it is kept, and how much of its lease is left */
    size_t   used, room;
    size_t   count;
    int64_t  foreign; /* told with the first piece, and so is the next */
    uint64_t stamp;
};

void hf_redis_listing_free(struct hf_redis_listing *listing)
{
    if (listing != NULL)
        free(listing->text);
    free(listing);
}

static bool keep_text(struct hf_redis_listing *listing, const char *text)
{
    size_t size = strlen(text) + 1;
    char  *grown = listing->used + size <= TEXT_MAX
                       ? hf_grow(listing->text, &listing->room, listing->used + size, 1)
                       : NULL;

    if (grown == NULL)
        return false;
    listing->text = grown;
    memcpy(grown + listing->used, text, size);
    listing->used += size;
    return true;
}

/* What is no text cannot be read, and so can none that is empty. */
static bool keep_piece(struct hf_redis_listing *listing, const redisReply *reply)
{
    for (size_t i = FIRST; i < reply->elements; i++) {
        const redisReply *part = reply->element[i];
        bool              is_text = part->type == REDIS_REPLY_STRING;

        if (!keep_text(listing, is_text ? part->str : "") ||
            !keep_text(listing, is_text ? behind_text(part) : ""))
            return false;
        listing->count++;
    }
    return true;
}

/* Cut up where they are. */
static void read_all(const struct hf_redis_listing *listing, const char *name,
                     struct hf_ticket *ret)
{
    char *at = listing->text;

    for (size_t i = 0; i < listing->count; i++) {
        char *behind = at + strlen(at) + 1, *next = behind + strlen(behind) + 1;
        if (hf_redis_ticket_parse(at, &ret[i])) {
            int64_t left = strtoll(behind, NULL, 10);
            ret[i].left = left > 0 && left <= LEFT_MAX ? left : 0;
        } else {
            ret[i] = unreadable(name);
        }
        at = next;
    }
}

/* They are sorted: those that are told twice stand side by side. */
static size_t without_twins(struct hf_ticket *ticket, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        bool twin = kept > 0 && ticket[i].seq != 0 &&
                    ticket[kept - 1].seq == ticket[i].seq &&
                    strcmp(ticket[kept - 1].line, ticket[i].line) == 0;
        if (!twin)
            ticket[kept++] = ticket[i];
        else if (ticket[i].slot != WAITS) /* it holds: that was told last */
            ticket[kept - 1] = ticket[i];
    }
    return kept;
}

/* ---- All of them ---------------------------------------------------------------- */

/* In a hold-off nobody is granted anything, not even the first in line. */
static size_t add_held_off(struct hf_ticket *ticket, size_t count, const char *name,
                           int64_t us, char *note, size_t size)
{
    size_t all = count;

    snprintf(note, size,
             "nobody: for %.1f s nothing is granted, for Redis was started anew or lost "
             "data",
             (double)us / 1e6);
    for (size_t i = 0; i < count && us > 0; i++)
        if (ticket[i].slot == WAITS &&
            (i == 0 || strcmp(ticket[i - 1].line, ticket[i].line) != 0))
            ticket[all++] = stand_in(ticket[i].line, ticket[i].shape, note);
    if (count == 0 && name != NULL && us > 0)
        ticket[all++] = stand_in(name, (struct hf_shape){ 1, 1, false }, note);
    return all;
}

static void tell_listing(struct hf_served_task         *task,
                         const struct hf_redis_listing *listing, int64_t held_off)
{
    const char *name = task->base.req->name;
    size_t      room = (listing->count + 1) * 2, count = listing->count;
    char        note[128];

    struct hf_ticket *ticket = hf_served_tickets(hf_served_of(task), room);
    if (ticket == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    read_all(listing, name, ticket);
    if (listing->foreign > 0 &&
        name != NULL) /* who sets a claim's key himself is in no line */
        ticket[count++] = stand_in(name, (struct hf_shape){ 1, 1, true },
                                   "somebody who does not use Holdfast");
    hf_served_sort(ticket, count);
    count = without_twins(ticket, count);
    count = add_held_off(ticket, count, name, held_off, note, sizeof note);
    assert(count <= room);
    for (size_t i = 0; i < count; i++)
        if (ticket[i].slot == WAITS)
            ticket[i].slot = -1;
    hf_served_listed(task, count, listing->stamp);
}

/* { 0, changes, foreign, on hold for, end of this piece, place ... } */
void hf_redis_list(struct hf_served_task *task, int code, const void *data)
{
    const redisReply         *reply = data;
    const char               *end = hf_redis_text(reply, 4);
    struct hf_redis_listing **listing = &((struct hf_redis_task *)task)->listing;

    (void)code;
    if (*listing == NULL && (*listing = calloc(1, sizeof **listing)) != NULL) {
        (*listing)->foreign = hf_redis_number(reply, 2);
        (*listing)->stamp = (uint64_t)hf_redis_number(reply, 1);
    }
    if (*listing == NULL || !keep_piece(*listing, reply)) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
    } else if (end != NULL && end[0] != '\0' && reply->elements > FIRST) {
        hf_redis_begin(task);
        hf_redis_add(hf_served_of(task), end);
        hf_served_send(task, hf_redis_list);
    } else {
        tell_listing(task, *listing, hf_redis_number(reply, 3));
    }
}

/* ---- HISTORY -------------------------------------------------------------------- */

/* A record is kept as a place is: what happened stands for its state, and when for since
 * when.  Behind a zero byte there is why somebody asked. */
static bool read_record(const redisReply *part, struct hf_past *ret)
{
    struct hf_ticket place;

    if (part->type != REDIS_REPLY_STRING)
        return false;
    char        what = part->str[0];
    const char *reason = behind_text(part);
    if (!hf_redis_ticket_parse(part->str, &place))
        return false;
    *ret = (struct hf_past){
        .time = place.since,
        .what = what,
        .line = place.line,
        .token = place.token,
        .shape = place.shape,
        .slot = place.slot,
        .note = place.note,
        .reason = reason,
    };
    return true;
}

/* { 0, newest, seen, number, record, ... }.  What cannot be read is left out. */
void hf_redis_history(struct hf_served_task *task, int code, const void *data)
{
    const redisReply *reply = data;
    struct hf_past    past;

    (void)code;
    for (size_t i = NUMBERS; i + 1 < reply->elements; i += 2) {
        if (!read_record(reply->element[i + 1], &past))
            continue;
        past.number = (uint64_t)hf_redis_number(reply, i);
        if (!hf_served_recall(task, &past)) {
            hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
            return;
        }
    }
    hf_served_recalled(task, (uint64_t)hf_redis_number(reply, 1),
                       (uint64_t)hf_redis_number(reply, 2));
}
