/* watch.c - watch: what happens to one lock, a line for each event.
 *
 *     entered    somebody queues        left       a waiter gave up
 *     granted    somebody has it        released   a holder no longer has it
 *
 * Events are told by comparing two looks at the line.  What came and went
 * between the two is not seen.
 */
#include "options.h"

#include "cli.h"
#include "clock.h"
#include "entry.h"
#include "reach.h"
#include "session.h"
#include "text.h"

#include <inttypes.h>

/* It waits for ever, in pieces. */
#define SHORTEST_MS 500
#define LONGEST_MS  1000

static const struct hf_entry *find_place(const struct hf_report *report, uint64_t token)
{
    for (size_t i = 0; report != NULL && i < report->count; i++)
        if (report->entry[i]->token == token)
            return report->entry[i];
    return NULL;
}

static void tell_event(const struct args *args, const char *event,
                       const struct hf_entry *entry)
{
    char    time[TEXT_TIME_MAX], owner[ENTRY_TEXT_MAX], line[ENTRY_TEXT_MAX + 128];
    int64_t now = clock_wall_us();

    if (args->json) {
        struct json json = { .out = stdout };
        json_open(&json, NULL, '{');
        json_string(&json, "time", text_time(time, now));
        json_string(&json, "event", event);
        json_string(&json, "name", entry->name);
        entry_json(&json, entry);
        json_close(&json, '}');
        putchar('\n');
    } else {
        snprintf(line, sizeof line, "%s %-8s %s token %" PRIu64, text_time(time, now),
                 event, entry_owner(owner, entry), entry->token);
        text_clean(owner, sizeof owner, line);
        puts(owner);
    }
}

/* The ends first: a grant follows from the end before it. */
static void tell_changes(const struct args *args, const struct hf_report *before,
                         const struct hf_report *after)
{
    for (size_t i = 0; before != NULL && i < before->count; i++)
        if (find_place(after, before->entry[i]->token) == NULL)
            tell_event(args, before->entry[i]->held ? "released" : "left",
                       before->entry[i]);
    for (size_t i = 0; i < after->count; i++) {
        const struct hf_entry *now = after->entry[i],
                              *was = find_place(before, now->token);
        if (was == NULL)
            tell_event(args, now->held ? "granted" : "entered", now);
        else if (now->held && !was->held)
            tell_event(args, "granted", now);
    }
}

/* Until there is something new.  Now and then, and more often while the store is not
 * reached, look how the link is. */
static int watch(const struct args *args, struct hf_client *client,
                 const struct hf_report *seen, struct hf_report **ret)
{
    int64_t limit = seen != NULL ? LONGEST_MS : SHORTEST_MS;
    int     r;

    do {
        r = hf_watch(client, args->operand[0], seen, limit, ret);
        hf_process(client);
        reach_show(NULL);
        if (reach_why() != NULL)
            limit = SHORTEST_MS;
        else if (limit < LONGEST_MS)
            limit *= 2;
    } while (r == HF_ETIMEOUT || r == HF_EDOWN);
    return r;
}

int watch_main(const struct args *args)
{
    struct hf_client *client;
    struct hf_report *seen = NULL, *report;

    int code = session_open(args, &client);
    if (code != 0)
        return code;
    for (;;) {
        int r = watch(args, client, seen, &report);
        if (r < 0) {
            code = session_failed(client, r);
            break;
        }
        tell_changes(args, seen, report);
        hf_report_free(seen);
        seen = report;
        if (fflush(stdout) != 0) /* nobody reads it any more */
            break;
    }
    hf_report_free(seen);
    hf_close(client);
    return code;
}
