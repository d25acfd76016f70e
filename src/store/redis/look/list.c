/* list.c - LIST and HISTORY: places, or history entries, in pieces.
 *
 * LIST keeps the text of each place until the last piece is there.  A waiter that is
 * granted between two pieces is listed twice; the later one counts.
 */
#include "store/redis/inner.h"

#include "base/grow.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST     5 /* part of LIST's answer with the first place */
#define NUMBERS   3 /* part of HISTORY's answer with the first number; its entry follows */
#define TEXT_MAX  (256 * 1024 * 1024)
#define SINCE_MAX ((int64_t)1 << 60)
#define LEFT_MAX  ((int64_t)24 * 3600 * 1000000)
#define WAITS     (-2) /* in `slot`, while the list is being made */

/* ---- One place ---------------------------------------------------------------- */

/* Parses "<state> <seq> <weight> <slot> <since> <kind> <name>\n<note>" in place.  A
 * waiter has WAITS as its slot until the list is complete. */
bool hf_redis_place_parse(char *text, struct hf_place *ret)
{
    char    state, claim = '\0';
    int64_t weight, capacity;
    char   *name = text, *end = strchr(text, '\n');

    *ret = (struct hf_place){ 0 };
    for (int i = 0; i < 6 && name != NULL; i++) /* a name may begin with a blank */
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

/* The text behind the NUL of a place or an entry that is not parsed yet; "": none. */
static const char *behind_text(const redisReply *text)
{
    size_t size = strlen(text->str);

    return size < text->len ? text->str + size + 1 : "";
}

/* A place that does not exist: it explains why nobody holds a lock that seems free. */
static struct hf_place stand_in(const char *line, struct hf_shape shape, const char *note)
{
    shape.weight = shape.capacity;
    return (struct hf_place){
        .shape = shape, .slot = -1, .since = hf_wall_us(), .line = line, .note = note
    };
}

/* A place whose text makes no sense. */
static struct hf_place unreadable_place(const char *line)
{
    return (struct hf_place){ .shape = hf_shape_read(0, 0, false),
                              .slot = -1,
                              .line = line != NULL ? line : "",
                              .note =
                                  "the server has an entry here that cannot be read" };
}

/* ---- Received so far ---------------------------------------------------------- */

struct hf_redis_listing {
    char    *text; /* for each place: its text, and what is left of its lease */
    size_t   used, room;
    size_t   count;
    int64_t  foreign; /* from the first piece, as is `stamp` */
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

/* A part that is not a text becomes an empty one, which will not parse. */
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

/* Parses all places, in place. */
static void parse_all(const struct hf_redis_listing *listing, const char *name,
                      struct hf_place *ret)
{
    char *at = listing->text;

    for (size_t i = 0; i < listing->count; i++) {
        char *behind = at + strlen(at) + 1, *next = behind + strlen(behind) + 1;
        if (hf_redis_place_parse(at, &ret[i])) {
            int64_t left = strtoll(behind, NULL, 10);
            ret[i].left = left > 0 && left <= LEFT_MAX ? left : 0;
        } else {
            ret[i] = unreadable_place(name);
        }
        at = next;
    }
}

/* The places are sorted, so a place that is listed twice has its twin beside it. */
static size_t without_twins(struct hf_place *place, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        bool twin = kept > 0 && place[i].seq != 0 &&
                    place[kept - 1].seq == place[i].seq &&
                    strcmp(place[kept - 1].line, place[i].line) == 0;
        if (!twin)
            place[kept++] = place[i];
        else if (place[i].slot != WAITS) /* the holder is the later one */
            place[kept - 1] = place[i];
    }
    return kept;
}

/* ---- All of them -------------------------------------------------------------- */

/* Tell a user who has never heard of the grace period why nothing is granted. */
static void explain_grace(const struct hf_redis *redis, int64_t us, char *ret,
                          size_t size)
{
    hf_time age = redis->remote.now - redis->link.info.started;
    hf_time longest = hf_redis_longest_known(redis);

    if (age < longest)
        snprintf(ret, size,
                 "nobody: this Redis started %.0f s ago; if it lost locks, their holders "
                 "stop within %g s: first grant in %.1f s",
                 hf_seconds(age), hf_seconds(longest), (double)us / 1e6);
    else
        snprintf(ret, size,
                 "nobody: this Redis lost data, or may have; their holders come back or "
                 "stop: first grant in %.1f s",
                 (double)us / 1e6);
}

/* During the grace period nothing is granted, not even to the first in line. */
static size_t add_grace(struct hf_place *place, size_t count, const char *name,
                        int64_t us, const char *note)
{
    size_t all = count;

    for (size_t i = 0; i < count && us > 0; i++)
        if (place[i].slot == WAITS &&
            (i == 0 || strcmp(place[i - 1].line, place[i].line) != 0))
            place[all++] = stand_in(place[i].line, place[i].shape, note);
    if (count == 0 && name != NULL && us > 0)
        place[all++] = stand_in(name, (struct hf_shape){ 1, 1, false }, note);
    return all;
}

static void answer_list(struct hf_served_task         *task,
                        const struct hf_redis_listing *listing, int64_t grace)
{
    const char *name = task->base.req->name;
    size_t      room = (listing->count + 1) * 2, count = listing->count;
    char        note[160];

    struct hf_place *place = hf_served_places(hf_served_of(task), room);
    if (place == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    parse_all(listing, name, place);
    if (listing->foreign > 0 && name != NULL) /* such a claim is in no line */
        place[count++] = stand_in(name, (struct hf_shape){ 1, 1, true },
                                  "another program, not Holdfast");
    hf_served_sort(place, count);
    count = without_twins(place, count);
    explain_grace((struct hf_redis *)hf_served_of(task), grace, note, sizeof note);
    count = add_grace(place, count, name, grace, note);
    assert(count <= room);
    for (size_t i = 0; i < count; i++)
        if (place[i].slot == WAITS)
            place[i].slot = -1;
    hf_served_listed(task, count, listing->stamp);
}

/* { 0, last, foreign, grace period, end of this piece, place ... } */
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
        answer_list(task, *listing, hf_redis_number(reply, 3));
    }
}

/* ---- HISTORY ------------------------------------------------------------------ */

/* An entry has the form of a place: the event instead of its state, the time of the event
 * instead of `since`; and, behind a NUL, the reason. */
static bool read_entry(const redisReply *part, struct hf_history_row *ret)
{
    struct hf_place place;

    if (part->type != REDIS_REPLY_STRING)
        return false;
    char        what = part->str[0];
    const char *reason = behind_text(part);
    if (!hf_redis_place_parse(part->str, &place))
        return false;
    *ret = (struct hf_history_row){
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

/* { 0, newest, seen, number, entry, ... }.  Entries that do not parse are left out. */
void hf_redis_history(struct hf_served_task *task, int code, const void *data)
{
    const redisReply     *reply = data;
    struct hf_history_row past;

    (void)code;
    for (size_t i = NUMBERS; i + 1 < reply->elements; i += 2) {
        if (!read_entry(reply->element[i + 1], &past))
            continue;
        past.number = (uint64_t)hf_redis_number(reply, i);
        if (!hf_served_history_add(task, &past)) {
            hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
            return;
        }
    }
    hf_served_history_piece(task, (uint64_t)hf_redis_number(reply, 1),
                            (uint64_t)hf_redis_number(reply, 2));
}
