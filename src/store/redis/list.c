/* list.c - LIST: every place that the server tells. */
#include "store/redis/inner.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST     4 /* part of the answer that is a place */
#define SINCE_MAX ((int64_t)1 << 60)
#define LEFT_MAX  ((int64_t)24 * 3600 * 1000000)

/* ---- One place ------------------------------------------------------------------ */

/* "<state> <seq> <weight> <slot> <since> <kind> <name>\n<note>", cut up where it is.
 * While the list is made, `asked` tells those who wait. */
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
    ret->asked = state == 'w' ? "" : NULL;
    return true;
}

const char *hf_redis_behind(const redisReply *text)
{
    size_t size = strlen(text->str);

    return size < text->len ? text->str + size + 1 : "";
}

/* Behind it: how much of the lease is left. */
static bool read_place(const redisReply *part, struct hf_ticket *ret)
{
    if (part->type != REDIS_REPLY_STRING)
        return false;
    int64_t left = strtoll(hf_redis_behind(part), NULL, 10);
    if (!hf_redis_ticket_parse(part->str, ret))
        return false;
    ret->left = left > 0 && left <= LEFT_MAX ? left : 0;
    return true;
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
        if (ticket[i].asked != NULL &&
            (i == 0 || strcmp(ticket[i - 1].line, ticket[i].line) != 0))
            ticket[all++] = stand_in(ticket[i].line, ticket[i].shape, note);
    if (count == 0 && name != NULL && us > 0)
        ticket[all++] = stand_in(name, (struct hf_shape){ 1, 1, false }, note);
    return all;
}

/* { 0, changes, foreign, on hold for, place ... } */
void hf_redis_list(struct hf_served_task *task, int code, const void *data)
{
    const redisReply *reply = data;
    const char       *name = task->base.req->name;
    size_t            room = (reply->elements + 1) * 2, count = 0;
    char              note[128];

    (void)code;
    struct hf_ticket *ticket = hf_served_tickets(hf_served_of(task), room);
    if (ticket == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    bool foreign = hf_redis_number(reply, 2) > 0;
    if (foreign && name != NULL) /* who sets a claim's key himself is in no line */
        ticket[count++] = stand_in(name, (struct hf_shape){ 1, 1, true },
                                   "somebody who does not use Holdfast");
    for (size_t i = FIRST; i < reply->elements; i++, count++)
        if (!read_place(reply->element[i], &ticket[count]))
            ticket[count] = unreadable(name);
    hf_served_sort(ticket, count);
    count =
        add_held_off(ticket, count, name, hf_redis_number(reply, 3), note, sizeof note);
    assert(count <= room);
    for (size_t i = 0; i < count; i++)
        ticket[i].asked = NULL;
    hf_served_listed(task, count, (uint64_t)hf_redis_number(reply, 1));
}
