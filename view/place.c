/* place.c - see place.h. */
#include "place.h"

#include "clock.h"
#include "text.h"

#include <inttypes.h>
#include <string.h>

const char *place_or_unknown(const char *text)
{
    return *text != '\0' ? text : "?";
}

bool place_is_stranger(const struct hf_entry *entry)
{
    return entry->pid == 0 && *entry->command == '\0' && *entry->note != '\0';
}

const char *place_address(char out[PLACE_TEXT_MAX], const struct hf_entry *entry)
{
    char raw[PLACE_TEXT_MAX];

    if (place_is_stranger(entry))
        return strcpy(out, "-");
    snprintf(raw, sizeof raw, "%s@%s:%" PRId64, place_or_unknown(entry->user),
             place_or_unknown(entry->host), entry->pid);
    text_clean(out, PLACE_TEXT_MAX, raw);
    return out;
}

int64_t place_age(const struct hf_entry *entry)
{
    int64_t age = clock_wall_us() - entry->since;

    return age < 0 ? 0 : age; /* clocks of two hosts differ */
}

void place_json(struct json *json, const struct hf_entry *entry)
{
    char time[TEXT_TIME_MAX];

    json_token(json, "token", entry->token);
    json_string(json, "kind", entry->kind);
    json_string(json, "since", text_time(time, entry->since));
    json_number(json, "age_ms", place_age(entry) / 1000);
    json_number(json, "weight", entry->weight);
    if (entry->capacity == UINT32_MAX)
        json_null(json, "capacity");
    else
        json_number(json, "capacity", entry->capacity);
    if (entry->slot < 0)
        json_null(json, "slot");
    else
        json_number(json, "slot", entry->slot);
    json_string(json, "host", entry->host);
    json_string(json, "user", entry->user);
    json_number(json, "pid", entry->pid);
    json_string(json, "command", entry->command);
    json_string(json, "note", entry->note);
    json_string(json, "version", entry->version);
    json_bool(json, "stopped", place_is_stopped(entry));
    if (entry->left_ms >= 0 && entry->left_ms != INT64_MAX)
        json_number(json, "lease_left_ms", entry->left_ms);
    else
        json_null(json, "lease_left_ms");
}
