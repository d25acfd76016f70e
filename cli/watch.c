/* watch.c - watch: what happens to one lock, or to all, a line for each event.
 *
 * Events are told by comparing two looks at a line: see changes.h.
 */
#include "options.h"

#include "board.h"
#include "changes.h"
#include "cli.h"
#include "clock.h"
#include "entry.h"
#include "reach.h"
#include "session.h"
#include "text.h"

#include <inttypes.h>
#include <poll.h>

/* It waits for ever, in pieces. */
#define SHORTEST_MS 500
#define LONGEST_MS  1000

struct teller {
    const struct args    *args;
    struct leftovers_look look;
};

static void tell_event(const char *event, const struct hf_entry *entry, void *data)
{
    struct teller     *teller = data;
    const struct args *args = teller->args;
    bool               all = args->operand[0] == NULL;
    char    time[TEXT_TIME_MAX], owner[ENTRY_TEXT_MAX], line[2 * ENTRY_TEXT_MAX + 128];
    char    clean[2 * ENTRY_TEXT_MAX];
    int64_t now = clock_wall_us();

    if (args->json) {
        struct json json = { .out = stdout };
        json_open(&json, NULL, '{');
        json_string(&json, "time", text_time(time, now));
        json_string(&json, "event", event);
        json_string(&json, "name", entry->name);
        entry_json(&json, entry, &teller->look);
        json_close(&json, '}');
        putchar('\n');
    } else {
        snprintf(line, sizeof line, "%s %-8s %s%s%s token %" PRIu64, text_time(time, now),
                 event, all ? entry->name : "", all ? ": " : "",
                 entry_owner(owner, entry, &teller->look), entry->token);
        text_clean(clean, sizeof clean, line);
        puts(clean);
    }
}

static void tell_changes(const struct args *args, const struct hf_report *before,
                         const struct hf_report *after)
{
    struct teller teller = { .args = args };

    changes_tell(before, after, tell_event, &teller);
    leftovers_forget(&teller.look);
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

static int watch_one(const struct args *args, struct hf_client *client)
{
    struct hf_report *seen = NULL, *report;
    int               code = 0;

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
    return code;
}

/* ---- All locks ------------------------------------------------------------------ */

struct watched {
    const struct args *args;
    struct board       board; /* as it was told last */
};

static void on_line(struct hf_survey *survey, const char *name, struct hf_report *line,
                    void *data)
{
    struct watched          *watched = data;
    const struct board_line *before = board_find(&watched->board, name);

    (void)survey;
    tell_changes(watched->args, before != NULL ? before->report : NULL, line);
    (void)board_take(&watched->board, name, line, clock_wall_us(), NULL);
}

static int watch_all(const struct args *args, struct hf_client *client)
{
    struct watched           watched = { .args = args };
    struct hf_survey_options options = HF_SURVEY_INIT;
    struct hf_survey        *survey;
    struct pollfd            poller = { .fd = hf_fd(client), .events = POLLIN };

    options.on_line = on_line;
    options.data = &watched;
    options.pause_ms = 10;
    int r = hf_survey_new(client, &options, &survey);
    if (r < 0)
        return session_failed(client, r);
    do { /* now and then, to look how the link is */
        int timeout = hf_timeout_ms(client);
        (void)poll(&poller, 1,
                   timeout >= 0 && timeout < LONGEST_MS ? timeout : LONGEST_MS);
        hf_process(client);
        reach_show(NULL);
    } while (fflush(stdout) == 0); /* else nobody reads it any more */
    hf_survey_free(survey);
    board_finish(&watched.board);
    return 0;
}

int watch_main(const struct args *args)
{
    struct hf_client *client;

    int code = session_open(args, &client);
    if (code != 0)
        return code;
    code = args->operand[0] != NULL ? watch_one(args, client) : watch_all(args, client);
    hf_close(client);
    return code;
}
