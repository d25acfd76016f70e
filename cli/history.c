/* history.c - history: what has happened to a lock, or to all, as far as the store kept it. */
#include "options.h"

#include "cli.h"
#include "clock.h"
#include "place.h"
#include "session.h"
#include "text.h"

#include <inttypes.h>

#define PATIENCE_MS 5000
#define SHOWN_MAX   (2 * PLACE_TEXT_MAX)

static void tell_record(const struct hf_record *record)
{
    struct hf_entry entry = { .host = record->host,
                              .user = record->user,
                              .pid = record->pid,
                              .command = record->command,
                              .note = record->note };
    char            time[TEXT_TIME_MAX], owner[PLACE_TEXT_MAX], line[SHOWN_MAX];
    char            clean[SHOWN_MAX];

    snprintf(line, sizeof line, "%s %-8s %s %s %s token %" PRIu64 "%s%s",
             text_time(time, record->time), record->what, record->name,
             place_address(owner, &entry), record->command, record->token,
             *record->reason != '\0' ? ": " : "", record->reason);
    text_clean(clean, sizeof clean, line);
    puts(clean);
}

static void tell_json(const struct hf_record *record)
{
    struct json json = { .out = stdout };
    char        time[TEXT_TIME_MAX];

    json_open(&json, NULL, '{');
    json_number(&json, "number", (int64_t)record->number);
    json_string(&json, "time", text_time(time, record->time));
    json_string(&json, "event", record->what);
    json_string(&json, "name", record->name);
    json_token(&json, "token", record->token);
    json_string(&json, "kind", record->kind);
    if (record->slot < 0)
        json_null(&json, "slot");
    else
        json_number(&json, "slot", record->slot);
    json_string(&json, "host", record->host);
    json_string(&json, "user", record->user);
    json_number(&json, "pid", record->pid);
    json_string(&json, "command", record->command);
    json_string(&json, "note", record->note);
    json_string(&json, "reason", record->reason);
    json_close(&json, '}');
    putchar('\n');
}

int history_main(const struct args *args)
{
    struct hf_client  *client;
    struct hf_records *history;
    int64_t            now = clock_wall_us();

    int code = session_open(args, &client);
    if (code != 0)
        return code;
    int r = hf_history(client, args->operand[0], 0, PATIENCE_MS, &history);
    if (r < 0) {
        code = session_failed(client, r);
        hf_close(client);
        return code;
    }
    for (size_t i = 0; i < history->count; i++) {
        const struct hf_record *record = history->record[i];
        if (args->since_ms > 0 && record->time < now - args->since_ms * 1000)
            continue;
        (args->json ? tell_json : tell_record)(record);
    }
    hf_records_free(history);
    hf_close(client);
    return 0;
}
