/* history.c - history: the entries that the store has kept about a lock, or about all. */
#include "cli_options.h"

#include "clock.h"
#include "complain.h"
#include "place.h"
#include "session.h"
#include "store_url.h"
#include "text.h"

#include <inttypes.h>
#include <string.h>

#define PATIENCE_MS 5000
#define SHOWN_MAX   (2 * PLACE_TEXT_MAX)

static void tell_record(const struct hf_history_entry *record)
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

static void tell_json(const struct hf_history_entry *record)
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

/* The store keeps that many as soon as it has answered a client with this URL. */
static int set_kept(struct hf_client *client, const struct args *args)
{
    struct hf_history_report *history = NULL;
    const char               *where = hf_where(client);
    int                       length = (int)strcspn(where, "?");

    int r = hf_history(client, NULL, 0, PATIENCE_MS, &history);
    hf_history_report_free(history);
    if (r < 0 && !(r == HF_ENOTFOUND && args->keep == 0))
        return complain_failure(client, r);
    if (args->keep == 0)
        printf("%.*s keeps no history from now on\n", length, where);
    else
        printf("%.*s keeps the last %" PRId64 " events from now on\n", length, where,
               args->keep);
    return 0;
}

static int keep_main(const struct args *args)
{
    struct args       other = *args;
    struct hf_client *client;

    if (args->url == NULL && url_is_withheld())
        return session_open(args, &client); /* which complains */
    other.url = url_with_history(args->url, args->keep);
    if (other.url == NULL)
        return complain_errno("--keep");
    int code = session_open(&other, &client);
    args_finish(&other);
    if (code != 0)
        return code;
    code = set_kept(client, args);
    hf_close(client);
    return code;
}

int history_main(const struct args *args)
{
    struct hf_client         *client;
    struct hf_history_report *history;
    int64_t                   now = clock_wall_us();

    if (args->keep >= 0)
        return keep_main(args);
    int code = session_open(args, &client);
    if (code != 0)
        return code;
    int r = hf_history(client, args->operand[0], 0, PATIENCE_MS, &history);
    if (r < 0) {
        code = complain_failure(client, r);
        hf_close(client);
        return code;
    }
    for (size_t i = 0; i < history->count; i++) {
        const struct hf_history_entry *record = history->entry[i];
        if (args->since_ms > 0 && record->time < now - args->since_ms * 1000)
            continue;
        (args->json ? tell_json : tell_record)(record);
    }
    hf_history_report_free(history);
    hf_close(client);
    return 0;
}
