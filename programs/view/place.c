/* place.c - see place.h. */
#include "place.h"

#include "clock.h"
#include "proc.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLACK_US (10 * 1000000) /* the clocks of the server and of this host may differ */

const char *place_or_unknown(const char *text)
{
    return *text != '\0' ? text : "?";
}

bool place_is_stranger(const struct hf_entry *entry)
{
    return entry->pid == 0 && *entry->command == '\0' && *entry->note != '\0';
}

bool place_is_nobody(const struct hf_entry *entry)
{
    return entry->token == 0 && strcmp(entry->kind, "claim") != 0 &&
           place_is_stranger(entry);
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

/* The state of a process, and when it was started, in microseconds since 1970; 0: there is no
 * such process.  See proc(5): the name may contain anything, and ends at the last ")". */
static char read_state(int64_t pid, int64_t *started)
{
    char  path[64], text[1024] = "";
    FILE *file;

    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return 0;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);

    const char *word = strrchr(text, ')');
    char        state = word != NULL && word[1] == ' ' ? word[2] : '\0';
    for (int field = 3; word != NULL && field <= 22; field++)
        word = strchr(word + 1, ' ');
    int64_t ticks = word != NULL ? strtoll(word, NULL, 10) : 0;
    *started =
        clock_wall_us() - clock_boot_ns() / 1000 + ticks * 1000000 / sysconf(_SC_CLK_TCK);
    return state;
}

/* On the file store a stopped holder keeps the lock until it goes on; on a server until its lease
 * expires.  A process that was started later than the place only has the same pid. */
bool place_is_stopped(const struct hf_entry *entry)
{
    char    host[256] = "";
    int64_t started;

    gethostname(host, sizeof host - 1);
    if (!entry->held || entry->pid <= 0 || strcmp(entry->host, host) != 0 ||
        !proc_is_ours())
        return false;
    char state = read_state(entry->pid, &started);
    return (state == 'T' || state == 't') && started < entry->since + SLACK_US;
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
    json_number_or_null(json, "slot", entry->slot);
    json_string(json, "host", entry->host);
    json_string(json, "user", entry->user);
    json_number(json, "pid", entry->pid);
    json_string(json, "command", entry->command);
    json_string(json, "note", entry->note);
    json_string(json, "version", entry->version);
    json_bool(json, "stopped", place_is_stopped(entry));
    json_number_or_null(json, "lease_left_ms",
                        entry->left_ms != INT64_MAX ? entry->left_ms : -1);
}
