/* doctor.c - doctor: is anything wrong with the store? */
#include "cli_options.h"

#include "complain.h"
#include "entry.h"
#include "json.h"
#include "session.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {
    [HF_FINE] = "ok",
    [HF_WARNING] = "warn",
    [HF_FAULT] = "FAULT",
};

static void print_lines(const struct hf_findings *findings)
{
    size_t width = 0;

    for (size_t i = 0; i < findings->count; i++) {
        size_t columns = strlen(findings->finding[i]->about);
        width = columns > width ? columns : width;
    }
    for (size_t i = 0; i < findings->count; i++) {
        const struct hf_finding *finding = findings->finding[i];
        char                     text[1024], advice[1024];
        text_clean(text, sizeof text, finding->text);
        text_clean(advice, sizeof advice, finding->advice);
        printf("%-5s  %-*s  %s\n", words[finding->level], (int)width, finding->about,
               text);
        if (advice[0] != '\0')
            printf("%7s-> %s\n", "", advice);
    }
}

static void print_findings_json(const struct hf_findings *findings)
{
    struct json json = { .out = stdout };

    json_open(&json, NULL, '[');
    for (size_t i = 0; i < findings->count; i++) {
        const struct hf_finding *finding = findings->finding[i];
        json_open(&json, NULL, '{');
        json_string(&json, "level",
                    finding->level == HF_FAULT ? "fault" : words[finding->level]);
        json_string(&json, "about", finding->about);
        json_string(&json, "text", finding->text);
        json_string(&json, "advice", finding->advice);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    putchar('\n');
}

/* The exit code for the worst finding. */
static int print_findings(const struct args *args, const struct hf_findings *findings)
{
    int code = 0;

    for (size_t i = 0; i < findings->count; i++) {
        const struct hf_finding *finding = findings->finding[i];
        if (finding->level != HF_FAULT)
            continue;
        if (strcmp(finding->about, "link") == 0)
            code = EXIT_UNAVAILABLE;
        else if (code == 0)
            code = EXIT_FAULT;
    }
    if (args->json)
        print_findings_json(findings);
    else
        print_lines(findings);
    return code;
}

/* ---- Holders that are stopped ------------------------------------------------------ */

#define STOPPED_MAX 20

struct stopped {
    struct hf_finding        finding[STOPPED_MAX];
    char                     text[STOPPED_MAX][ENTRY_TEXT_MAX + 300];
    char                     advice[STOPPED_MAX][400];
    size_t                   count;
    const struct hf_finding *all[]; /* those of the library, then these */
};

static void add_stopped(struct stopped *stopped, const struct hf_entry *entry)
{
    char owner[ENTRY_TEXT_MAX];

    if (stopped->count == STOPPED_MAX || !place_is_stopped(entry))
        return;
    size_t i = stopped->count++;
    snprintf(stopped->text[i], sizeof stopped->text[i], "\"%s\" is held by %s",
             entry->name, entry_owner(owner, entry, NULL));
    snprintf(stopped->advice[i], sizeof stopped->advice[i],
             "kill -CONT %" PRId64
             " lets it go on; `holdfast show` and `break` know it as "
             "token %" PRIu64,
             entry->pid, entry->token);
    stopped->finding[i] = (struct hf_finding){ .level = HF_WARNING,
                                               .about = "holder",
                                               .text = stopped->text[i],
                                               .advice = stopped->advice[i] };
}

/* The findings of the library, and holders on this host that are stopped. */
static int print_all(const struct args *args, struct hf_client *client,
                     const struct hf_findings *findings)
{
    struct hf_report *report = NULL;
    size_t            most = findings->count + STOPPED_MAX;
    struct stopped   *stopped = calloc(1, sizeof *stopped + most * sizeof *stopped->all);

    if (stopped == NULL ||
        hf_inspect(client, args->operand[0], SESSION_PATIENCE_MS, &report) < 0) {
        free(stopped);
        return print_findings(args, findings); /* which tell what is wrong */
    }
    for (size_t i = 0; i < report->count; i++)
        add_stopped(stopped, report->entry[i]);
    hf_report_free(report);
    for (size_t i = 0; i < findings->count + stopped->count; i++)
        stopped->all[i] = i < findings->count ? findings->finding[i]
                                              : &stopped->finding[i - findings->count];
    int code = print_findings(args, &(struct hf_findings){ .finding = stopped->all,
                                                           .count = findings->count +
                                                                    stopped->count });
    free(stopped);
    return code;
}

/* It cannot be opened: that is the only finding. */
static void print_closed(const struct args *args, const char *why)
{
    const struct hf_finding version = {
        .level = HF_FINE, .about = "holdfast", .text = hf_version(), .advice = ""
    };
    const struct hf_finding link = {
        .level = HF_FAULT, .about = "link", .text = why, .advice = ""
    };
    const struct hf_finding *both[] = { &version, &link };

    (void)print_findings(args, &(struct hf_findings){ .finding = both, .count = 2 });
}

int doctor_main(const struct args *args)
{
    int64_t             limit = args->wait_ms >= 0 ? args->wait_ms : SESSION_PATIENCE_MS;
    char                error[512];
    struct hf_client   *client;
    struct hf_findings *findings;

    int code = session_try(args, error, sizeof error, &client);
    if (code == EXIT_USAGE) /* no fault of the store */
        complain("%s", error);
    else if (code != 0)
        print_closed(args, error);
    if (code != 0)
        return code;
    int r = hf_doctor(client, args->operand[0], limit, &findings);
    if (r < 0) {
        code = complain_failure(client, r);
    } else {
        code = print_all(args, client, findings);
        hf_findings_free(findings);
    }
    hf_close(client);
    return code;
}
