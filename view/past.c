/* past.c - see past.h. */
#include "past.h"

#include "place.h"
#include "text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS 6

bool past_init(struct past *past, size_t room)
{
    assert(room > 0);
    *past = (struct past){ .room = room };
    past->event = calloc(room, sizeof *past->event);
    return past->event != NULL;
}

void past_finish(struct past *past)
{
    for (size_t i = 0; past->event != NULL && i < past->room; i++)
        free(past->event[i].text);
    free(past->event);
    past->event = NULL;
}

static struct past_event *slot_of(const struct past *past, uint64_t number)
{
    return &past->event[number % past->room];
}

/* Without memory the event is not kept. */
static void add_event(struct past *past, struct past_event event,
                      const char *const part[PARTS])
{
    size_t size = 0;

    for (size_t i = 0; i < PARTS; i++)
        size += strlen(part[i]) + 1;
    event.text = malloc(size);
    if (event.text == NULL)
        return;
    const char *copy[PARTS];
    char       *to = event.text;
    for (size_t i = 0; i < PARTS; i++) {
        copy[i] = to;
        to = stpcpy(to, part[i]) + 1;
    }
    event.name = copy[0];
    event.kind = copy[1];
    event.owner = copy[2];
    event.command = copy[3];
    event.note = copy[4];
    event.reason = copy[5];
    event.number = ++past->count;
    struct past_event *slot = slot_of(past, event.number);
    free(slot->text);
    *slot = event;
}

void past_add_entry(struct past *past, const char *what, const struct hf_entry *entry,
                    int64_t time, const char *reason)
{
    struct past_event event = { .time = time,
                                .token = entry->token,
                                .slot = entry->slot };
    char              owner[PLACE_TEXT_MAX];

    snprintf(event.what, sizeof event.what, "%s", what);
    add_event(past, event,
              (const char *[PARTS]){ entry->name, entry->kind,
                                     place_address(owner, entry), entry->command,
                                     entry->note, reason });
}

void past_add_record(struct past *past, const struct hf_record *record)
{
    struct hf_entry entry = {
        .name = record->name,
        .kind = record->kind,
        .token = record->token,
        .slot = record->slot,
        .host = record->host,
        .user = record->user,
        .pid = record->pid,
        .command = record->command,
        .note = record->note,
    };

    past_add_entry(past, record->what, &entry, record->time, record->reason);
}

const struct past_event *past_get(const struct past *past, uint64_t number)
{
    if (number == 0 || number > past->count || past->count - number >= past->room)
        return NULL;
    return slot_of(past, number);
}

uint64_t past_since(const struct past *past, int64_t time)
{
    uint64_t number = past->count + 1;

    for (const struct past_event *event;
         (event = past_get(past, number - 1)) != NULL && event->time >= time;)
        number--;
    return number;
}

const struct past_event *past_asked(const struct past *past, const char *name,
                                    uint64_t token)
{
    const struct past_event *event;

    for (uint64_t n = past->count; (event = past_get(past, n)) != NULL; n--)
        if (event->token == token && strcmp(event->what, "asked") == 0 &&
            strcmp(event->name, name) == 0)
            return event;
    return NULL;
}

void past_json(struct json *json, const struct past_event *event)
{
    char time[TEXT_TIME_MAX];

    json_number(json, "number", (int64_t)event->number);
    json_string(json, "time", text_time(time, event->time));
    json_string(json, "event", event->what);
    json_string(json, "name", event->name);
    json_token(json, "token", event->token);
    json_string(json, "kind", event->kind);
    if (event->slot < 0)
        json_null(json, "slot");
    else
        json_number(json, "slot", event->slot);
    json_string(json, "owner", event->owner);
    json_string(json, "command", event->command);
    json_string(json, "note", event->note);
    json_string(json, "reason", event->reason);
}
