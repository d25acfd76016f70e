/* take_failed.c - tells the user why a lock was not acquired, and finds the exit code;
 * see take.h. */
#include "run/take.h"

#include "complain.h"
#include "entry.h"
#include "run/leftovers.h"
#include "run/messages.h"
#include "run/status.h"
#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 1024 /* complain() writes no more either */

int take_failed_because(int why, const char *format, ...)
{
    char    text[TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    complain("%s", text);
    status_failed(why, text);
    return exit_for(why);
}

/* Reported even with -q: they may stay for ever, and then nothing is ever run. */
static bool is_left_over(const struct hf_entry *holder)
{
    struct leftovers_found found;

    return holder != NULL && leftovers_find(NULL, holder, &found);
}

static int say_busy(const struct taking *taking, int why)
{
    const struct args *args = taking->args;
    const char        *name = args->operand[0];
    struct hf_report  *report;
    char               holders[ENTRY_TEXT_MAX] = "is held", text[TEXT_MAX];
    bool               quiet = args->quiet;

    if (hf_inspect(taking->client, name, 1000, &report) == 0) {
        quiet = quiet && !is_left_over(entry_first_holder(report));
        if (entry_first_holder(report) != NULL)
            entry_holders(holders, report);
        else
            snprintf(holders, sizeof holders,
                     why == HF_ETIMEOUT ? "is free by now" : "was held until just now");
        hf_report_free(report);
    }
    snprintf(text, sizeof text, "%s\"%s\" %s",
             why == HF_ETIMEOUT ? "gave up waiting: " : "", name, holders);
    if (!quiet)
        complain("%s", text);
    status_failed(why, text);
    return args->busy_exit;
}

/* --max-waiters is reached, or the store is full: the queue tells which. */
static int say_full(const struct taking *taking)
{
    const struct args *args = taking->args;
    struct hf_report  *report;
    size_t             waiting = 0;
    char               text[TEXT_MAX];

    if (hf_inspect(taking->client, args->operand[0], 1000, &report) == 0) {
        for (size_t i = 0; i < report->count; i++)
            waiting += !report->entry[i]->held;
        hf_report_free(report);
    }
    if (waiting >= args->max_waiters)
        snprintf(text, sizeof text,
                 "%zu wait%s for \"%s\" already: --max-waiters is %" PRIu32, waiting,
                 waiting == 1 ? "s" : "", args->operand[0], args->max_waiters);
    else /* some have left meanwhile, or the disk is full */
        snprintf(text, sizeof text, "%s", failure_text(taking->client, HF_EFULL));
    if (!args->quiet)
        complain("%s", text);
    status_failed(HF_EFULL, text);
    return args->busy_exit;
}

static int say_mismatch(const struct taking *taking)
{
    const char       *name = taking->args->operand[0];
    struct hf_report *report;
    char              kind[ENTRY_KIND_MAX], owner[ENTRY_TEXT_MAX];
    int               code;

    if (hf_inspect(taking->client, name, 1000, &report) < 0)
        return take_failed_because(HF_EMISMATCH, "%s",
                                   failure_text(taking->client, HF_EMISMATCH));
    if (report->count > 0)
        code = take_failed_because(
            HF_EMISMATCH,
            "\"%s\" is in use as %s by %s; use the same kind everywhere, or another name",
            name, entry_kind(kind, report->entry[0]),
            entry_owner(owner, report->entry[0], NULL));
    else
        code = take_failed_because(
            HF_EMISMATCH, "\"%s\" was in use as another kind of lock until just now",
            name);
    hf_report_free(report);
    return code;
}

/* Our lock was held, but that of the file was not. */
static int say_file(const struct taking *taking, int why)
{
    const struct args *args = taking->args;
    const char        *file = args->also_flock;
    char               text[TEXT_MAX];

    if (why == HF_ELOST)
        return take_failed_because(
            why,
            "\"%s\" was lost while waiting for flock on %s: the command was not started",
            args->operand[0], file);
    if (why != HF_EBUSY)
        return take_failed_because(why, "flock on %s: %s%s", file, strerror(errno),
                                   errno == EBADF ? "; NFS needs write permission" : "");
    snprintf(text, sizeof text, "%sanother program has flock on %s, see lslocks(8)",
             args->wait_ms > 0 ? "gave up waiting: " : "", file);
    if (!args->quiet)
        complain("%s", text);
    status_failed(args->wait_ms > 0 ? HF_ETIMEOUT : why, text);
    return args->busy_exit;
}

int take_failed(const struct taking *taking, int why)
{
    if (taking->file_busy)
        return say_file(taking, why);
    if (why == HF_EMISMATCH)
        return say_mismatch(taking);
    if (why == HF_EFULL && taking->args->max_waiters > 0)
        return say_full(taking);
    if (why == HF_EBUSY && taking->args->wait_ms > 0)
        why = HF_ETIMEOUT; /* we were stopped, and -w was over when we were continued */
    if (why == HF_EBUSY || why == HF_ETIMEOUT)
        return say_busy(taking, why);
    if (why == HF_EDOWN && store_message_why() != NULL)
        return take_failed_because(why, "%s", store_message_why());
    return take_failed_because(why, "%s", failure_text(taking->client, why));
}
