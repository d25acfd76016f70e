/* history.c - see history.h. */
#include "history.h"

#include "place.h"
#include "text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS 6

bool history_init(struct history *history, size_t room)
{
    assert(room > 0);
    *history = (struct history){ .room = room };
    history->entry = calloc(room, sizeof *history->entry);
    return history->entry != NULL;
}

void history_finish(struct history *history)
{
    for (size_t i = 0; history->entry != NULL && i < history->room; i++)
        free(history->entry[i].text);
    free(history->entry);
    history->entry = NULL;
}

static struct history_entry *slot_of(const struct history *history, uint64_t number)
{
    return &history->entry[number % history->room];
}

/* If there is no memory, the entry is dropped. */
static void add_entry(struct history *history, struct history_entry entry,
                      const char *const part[PARTS])
{
    size_t size = 0;

    for (size_t i = 0; i < PARTS; i++)
        size += strlen(part[i]) + 1;
    entry.text = malloc(size);
    if (entry.text == NULL)
        return;
    const char *copy[PARTS];
    char       *to = entry.text;
    for (size_t i = 0; i < PARTS; i++) {
        copy[i] = to;
        to = stpcpy(to, part[i]) + 1;
    }
    entry.name = copy[0];
    entry.kind = copy[1];
    entry.owner = copy[2];
    entry.command = copy[3];
    entry.note = copy[4];
    entry.reason = copy[5];
    entry.number = ++history->count;
    struct history_entry *slot = slot_of(history, entry.number);
    free(slot->text);
    *slot = entry;
}

void history_add_place(struct history *history, const char *what,
                       const struct hf_entry *place, int64_t time, const char *reason)
{
    struct history_entry entry = { .time = time,
                                   .token = place->token,
                                   .slot = place->slot };
    char                 owner[PLACE_TEXT_MAX];

    snprintf(entry.what, sizeof entry.what, "%s", what);
    add_entry(history, entry,
              (const char *[PARTS]){ place->name, place->kind,
                                     place_address(owner, place), place->command,
                                     place->note, reason });
}

void history_add_entry(struct history *history, const struct hf_history_entry *entry)
{
    struct hf_entry place = {
        .name = entry->name,
        .kind = entry->kind,
        .token = entry->token,
        .slot = entry->slot,
        .host = entry->host,
        .user = entry->user,
        .pid = entry->pid,
        .command = entry->command,
        .note = entry->note,
    };

    history_add_place(history, entry->what, &place, entry->time, entry->reason);
}

const struct history_entry *history_get(const struct history *history, uint64_t number)
{
    if (number == 0 || number > history->count ||
        history->count - number >= history->room)
        return NULL;
    return slot_of(history, number);
}

uint64_t history_since(const struct history *history, int64_t time)
{
    uint64_t number = history->count + 1;

    for (const struct history_entry *entry;
         (entry = history_get(history, number - 1)) != NULL && entry->time >= time;)
        number--;
    return number;
}

const struct history_entry *history_last_request(const struct history *history,
                                                 const char *name, uint64_t token)
{
    const struct history_entry *entry;

    for (uint64_t n = history->count; (entry = history_get(history, n)) != NULL; n--)
        if (entry->token == token && strcmp(entry->what, "asked") == 0 &&
            strcmp(entry->name, name) == 0)
            return entry;
    return NULL;
}

void history_json(struct json *json, const struct history_entry *entry)
{
    char time[TEXT_TIME_MAX];

    json_number(json, "number", (int64_t)entry->number);
    json_string(json, "time", text_time(time, entry->time));
    json_string(json, "event", entry->what);
    json_string(json, "name", entry->name);
    json_token(json, "token", entry->token);
    json_string(json, "kind", entry->kind);
    json_number_or_null(json, "slot", entry->slot);
    json_string(json, "owner", entry->owner);
    json_string(json, "command", entry->command);
    json_string(json, "note", entry->note);
    json_string(json, "reason", entry->reason);
}
