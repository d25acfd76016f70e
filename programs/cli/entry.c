/* entry.c - see entry.h. */
#include "entry.h"

#include "clock.h"
#include "text.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define LEFT_MAX 200

/* The leftovers, and since when; false: there are none, or that is not known. */
static bool is_left(struct leftovers_scan *look, const struct hf_entry *entry,
                    char names[LEFT_MAX], char age[TEXT_AGE_MAX])
{
    struct leftovers_found found;
    char                   all[TREE_NAMES_MAX];

    if (!leftovers_find(look, entry, &found))
        return false;
    snprintf(names, LEFT_MAX, "%.*s", LEFT_MAX - 1,
             tree_names(all, found.member, found.count));
    text_age(age, clock_wall_us() - found.since);
    return true;
}

const char *entry_command(char out[ENTRY_TEXT_MAX], const struct hf_entry *entry,
                          struct leftovers_scan *look, size_t columns)
{
    char names[LEFT_MAX], age[TEXT_AGE_MAX], raw[ENTRY_TEXT_MAX];

    if (is_left(look, entry, names, age))
        snprintf(raw, sizeof raw, "left %s ago: %s; by %s", age, names, entry->command);
    else
        snprintf(raw, sizeof raw, "%s%s", place_is_stopped(entry) ? "(stopped) " : "",
                 place_is_stranger(entry) ? entry->note : entry->command);
    text_clean(out, ENTRY_TEXT_MAX, raw);
    text_cut(out, columns);
    return out;
}

const char *entry_owner(char out[ENTRY_TEXT_MAX], const struct hf_entry *entry,
                        struct leftovers_scan *look)
{
    char command[200], names[LEFT_MAX], age[TEXT_AGE_MAX], left[LEFT_MAX + 60] = "";

    if (place_is_stranger(entry)) {
        text_clean(out, ENTRY_TEXT_MAX, entry->note);
        return out;
    }
    text_clean(command, sizeof command, entry->command);
    text_cut(command, 40);
    if (is_left(look, entry, names, age))
        snprintf(left, sizeof left, "%s, left %s ago by ", names, age);
    snprintf(out, ENTRY_TEXT_MAX, "%s%s (pid %" PRId64 ", %s@%s%s)", left,
             *command != '\0' ? command : "a process", entry->pid,
             place_or_unknown(entry->user), place_or_unknown(entry->host),
             place_is_stopped(entry) ? ", stopped" : "");
    return out;
}

const char *entry_kind(char out[ENTRY_KIND_MAX], const struct hf_entry *entry)
{
    if (strcmp(entry->kind, "reader") == 0 || strcmp(entry->kind, "writer") == 0)
        snprintf(out, ENTRY_KIND_MAX, "a read/write lock (-s, -x)");
    else if (strcmp(entry->kind, "semaphore") == 0)
        snprintf(out, ENTRY_KIND_MAX, "a semaphore (--slots %" PRIu32 ")",
                 entry->capacity);
    else
        snprintf(out, ENTRY_KIND_MAX, "a %s", entry->kind);
    return out;
}

const struct hf_entry *entry_first_holder(const struct hf_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        if (report->entry[i]->held)
            return report->entry[i];
    return NULL;
}

bool entry_is_ours(const struct hf_entry *entry)
{
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    return entry->pid == (int64_t)getpid() && strcmp(entry->host, host) == 0;
}

size_t entry_same_name(const struct hf_report *report, size_t first)
{
    size_t count = 1;

    while (first + count < report->count &&
           strcmp(report->entry[first]->name, report->entry[first + count]->name) == 0)
        count++;
    return count;
}

const char *entry_holders(char out[ENTRY_TEXT_MAX], const struct hf_report *report)
{
    const struct hf_entry *first = entry_first_holder(report);
    char                   owner[ENTRY_TEXT_MAX], age[TEXT_AGE_MAX], more[48] = "";
    size_t                 holders = 0;

    if (first == NULL) {
        snprintf(out, ENTRY_TEXT_MAX, "is free");
        return out;
    }
    for (size_t i = 0; i < report->count; i++)
        holders += report->entry[i]->held;
    if (holders > 1)
        snprintf(more, sizeof more, " and %zu other%s", holders - 1,
                 holders > 2 ? "s" : "");
    if (place_is_stranger(first))
        snprintf(out, ENTRY_TEXT_MAX, "is held by %.300s%s",
                 entry_owner(owner, first, NULL), more);
    else
        snprintf(out, ENTRY_TEXT_MAX, "is held by %.300s for %s%s",
                 entry_owner(owner, first, NULL), text_age(age, place_age(first)), more);
    return out;
}

/* The field is there only if there are leftovers. */
static void left_json(struct json *json, const struct hf_entry *entry,
                      struct leftovers_scan *look)
{
    struct leftovers_found found;
    char                   time[TEXT_TIME_MAX];

    if (!leftovers_find(look, entry, &found))
        return;
    json_open(json, "left", '{');
    json_string(json, "since", text_time(time, found.since));
    json_number(json, "count", found.count);
    json_open(json, "processes", '[');
    for (int i = 0; i < found.count && i < TREE_MEMBERS_MAX; i++) {
        json_open(json, NULL, '{');
        json_number(json, "pid", found.member[i].pid);
        json_string(json, "name", found.member[i].name);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

void entry_json(struct json *json, const struct hf_entry *entry,
                struct leftovers_scan *look)
{
    place_json(json, entry);
    left_json(json, entry, look);
}

static void entry_json_array(struct json *json, const char *key,
                             const struct hf_entry *const *entry, size_t count, bool held,
                             struct leftovers_scan *look)
{
    json_open(json, key, '[');
    for (size_t i = 0; i < count; i++) {
        if (entry[i]->held != held)
            continue;
        json_open(json, NULL, '{');
        entry_json(json, entry[i], look);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void entry_json_lock(struct json *json, const char *name,
                     const struct hf_entry *const *entry, size_t count,
                     struct leftovers_scan *look)
{
    json_open(json, NULL, '{');
    json_string(json, "name", name);
    entry_json_array(json, "holders", entry, count, true, look);
    entry_json_array(json, "waiters", entry, count, false, look);
    json_close(json, '}');
}
