/* watch.c - watch: a line for each event of a lock, or of all.
 *
 * Events are found by comparing two reports: see changes.h.
 */
#include "cli_options.h"

#include "changes.h"
#include "clock.h"
#include "complain.h"
#include "entry.h"
#include "locks.h"
#include "run/messages.h"
#include "session.h"
#include "text.h"

#include <inttypes.h>
#include <poll.h>

/* It waits for ever, in pieces. */
#define SHORTEST_MS 500
#define LONGEST_MS  1000

struct teller {
    const struct args    *args;
    struct leftovers_scan look;
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

/* Wait for something new.  Check the link from time to time, and more often while the
 * store cannot be reached. */
static int watch(const struct args *args, struct hf_client *client,
                 const struct hf_report *seen, struct hf_report **ret)
{
    int64_t limit = seen != NULL ? LONGEST_MS : SHORTEST_MS;
    int     r;

    do {
        r = hf_watch(client, args->operand[0], seen, limit, ret);
        hf_process(client);
        store_message_show(NULL);
        if (store_message_why() != NULL)
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
            code = complain_failure(client, r);
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
    struct locks       locks; /* as last reported */
};

static void on_line(struct hf_store_watch *watch, const char *name,
                    struct hf_report *line, void *data)
{
    struct watched    *watched = data;
    const struct lock *before = locks_find(&watched->locks, name);

    (void)watch;
    tell_changes(watched->args, before != NULL ? before->report : NULL, line);
    (void)locks_update(&watched->locks, name, line, clock_wall_us(), NULL);
}

static int watch_all(const struct args *args, struct hf_client *client)
{
    struct watched                watched = { .args = args };
    struct hf_store_watch_options options = HF_STORE_WATCH_INIT;
    struct hf_store_watch        *watch;
    struct pollfd                 poller = { .fd = hf_fd(client), .events = POLLIN };

    options.on_queue = on_line;
    options.data = &watched;
    options.pause_ms = 10;
    int r = hf_store_watch_new(client, &options, &watch);
    if (r < 0)
        return complain_failure(client, r);
    do { /* now and then, to look how the link is */
        int timeout = hf_timeout_ms(client);
        (void)poll(&poller, 1,
                   timeout >= 0 && timeout < LONGEST_MS ? timeout : LONGEST_MS);
        hf_process(client);
        store_message_show(NULL);
    } while (fflush(stdout) == 0); /* else nobody reads it any more */
    hf_store_watch_free(watch);
    locks_finish(&watched.locks);
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
