/* bench_line.c - who is in the line of a bench but its own clients: see bench.h. */
#include "bench.h"

#include "cli.h"
#include "clock.h"
#include "place.h"
#include "session.h"

#include <stdlib.h>
#include <string.h>

/* So many questions are asked at a time, and for no longer. */
#define QUESTIONS    100
#define QUESTIONS_NS (NS_PER_SEC / 4)

/* A place without a token is nobody's: a server that was started anew grants nothing for a
 * while, and says so in this way. */
static bool is_other(const struct bench *bench, const struct hf_entry *entry)
{
    return entry->token != 0 && strcmp(entry->note, bench->note) != 0;
}

/* The first of somebody else; NULL: there is none. */
static const struct hf_entry *find_other(const struct bench     *bench,
                                         const struct hf_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        if (is_other(bench, report->entry[i]))
            return report->entry[i];
    return NULL;
}

static void tell_other(const struct bench *bench, const struct hf_entry *other,
                       const char *what)
{
    char address[PLACE_TEXT_MAX];

    complain("%s %s \"%s\": %s", place_address(address, other),
             other->held ? "holds" : "waits for", bench->name, what);
}

static int refuse_busy(const struct bench *bench, struct hf_client *client)
{
    struct hf_report *report;

    int code = session_inspect(client, bench->name, &report);
    if (code != 0)
        return code;
    const struct hf_entry *other = find_other(bench, report);
    if (other != NULL) {
        tell_other(bench, other,
                   "bench takes no lock that somebody uses; give it another NAME");
        code = EXIT_BUSY;
    }
    hf_report_free(report);
    return code;
}

/* The smallest there is: does somebody hold it by a token that nobody has? */
int bench_line_ask(struct bench *bench, struct hf_client *client)
{
    int64_t end = clock_boot_ns() + QUESTIONS_NS;

    for (int i = 0; i < QUESTIONS && (i == 0 || clock_boot_ns() < end); i++) {
        int64_t begin = clock_boot_ns();
        int     r = hf_verify(client, bench->name, 1, SESSION_PATIENCE_MS);
        if (r < 0 && r != HF_ELOST)
            return session_failed(client, r);
        tally_add(&bench->trip, clock_boot_ns() - begin);
    }
    return 0;
}

int bench_line_free(struct bench *bench)
{
    struct hf_client *client;

    int code = session_open(bench->args, &client);
    if (code != 0)
        return code;
    bench->where = strdup(hf_where(client));
    if (bench->where == NULL)
        code = complain_errno("strdup");
    else
        code = refuse_busy(bench, client);
    if (code == 0)
        code = bench_line_ask(bench, client);
    hf_close(client);
    return code;
}

bool bench_line_crowded(struct bench *bench, struct hf_client *client)
{
    struct hf_report *report;

    int code = session_inspect(client, bench->name, &report);
    if (code != 0) {
        bench->end = BENCH_BY_ERROR;
        bench->code = code;
        return false;
    }
    const struct hf_entry *other = find_other(bench, report);
    if (other != NULL) {
        tell_other(bench, other, "stopped, for what is measured now is somebody else's");
        bench->end = BENCH_BY_COMPANY;
        bench->code = EXIT_BUSY;
    }
    hf_report_free(report);
    return other != NULL;
}
