/* queue.c - opens the store, and looks for others in the queue of the bench: see
 * bench.h. */
#include "bench.h"

#include "clock.h"
#include "complain.h"
#include "place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A round of questions to the store: this many, and for no longer than this. */
#define QUESTIONS    100
#define QUESTIONS_NS (NS_PER_SEC / 4)

int store_try(const struct bench *bench, char *error, size_t size, struct hf_client **ret)
{
    struct hf_options options = HF_OPTIONS_INIT;

    error[0] = '\0';
    options.flags = HF_NO_KEEPER;
    options.note = bench->note;
    options.error = error;
    options.error_size = size;
    int r = hf_open(NULL, &options, ret);
    if (r < 0 && error[0] == '\0')
        snprintf(error, size, "%s", hf_strerror(r));
    return r;
}

int store_open(const struct bench *bench, struct hf_client **ret)
{
    char error[512];

    int r = store_try(bench, error, sizeof error, ret);
    if (r < 0)
        complain("%s", error);
    return r < 0 ? exit_for(r) : 0;
}

static int store_inspect(struct hf_client *client, const char *name,
                         struct hf_report **ret)
{
    int r = hf_inspect(client, name, 0, ret);

    return r < 0 ? complain_failure(client, r) : 0;
}

/* A place without a token belongs to nobody: that is how a server says that it was
 * restarted, and grants nothing for a while. */
static bool is_other(const struct bench *bench, const struct hf_entry *entry)
{
    return entry->token != 0 && strcmp(entry->note, bench->note) != 0;
}

/* The first place of somebody else; NULL: there is none. */
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

    int code = store_inspect(client, bench->name, &report);
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

/* The smallest question there is: does somebody hold it, with a token that nobody has? */
int queue_measure_trips(struct bench *bench, struct hf_client *client)
{
    int64_t end = clock_boot_ns() + QUESTIONS_NS;

    for (int i = 0; i < QUESTIONS && (i == 0 || clock_boot_ns() < end); i++) {
        int64_t begin = clock_boot_ns();
        int     r = hf_verify(client, bench->name, 1, 0);
        if (r < 0 && r != HF_ELOST)
            return complain_failure(client, r);
        histogram_add(&bench->trip, clock_boot_ns() - begin);
    }
    return 0;
}

int queue_check(struct bench *bench)
{
    struct hf_client *client;

    int code = store_open(bench, &client);
    if (code != 0)
        return code;
    bench->where = strdup(hf_where(client));
    if (bench->where == NULL)
        code = complain_errno("strdup");
    else
        code = refuse_busy(bench, client);
    if (code == 0)
        code = queue_measure_trips(bench, client);
    hf_close(client);
    return code;
}

bool queue_has_others(struct bench *bench, struct hf_client *client)
{
    struct hf_report *report;

    int code = store_inspect(client, bench->name, &report);
    if (code != 0) {
        bench->end = BENCH_BY_ERROR;
        bench->code = code;
        return false;
    }
    const struct hf_entry *other = find_other(bench, report);
    if (other != NULL) {
        tell_other(bench, other,
                   "stopped, since the figures would not be those of the bench alone");
        bench->end = BENCH_BY_COMPANY;
        bench->code = EXIT_BUSY;
    }
    hf_report_free(report);
    return other != NULL;
}
