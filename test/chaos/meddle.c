/* meddle.c - a thread of a worker, beside its turns: it cancels waits at random, breaks a place of
 * anybody when it gets SIGUSR1, and ends the worker when it gets SIGTERM. */
#include "worker.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BREAK_MS 1000

static sigset_t     signals;
static unsigned     seed;
static struct turns breaks; /* the same file; its lines belong to no turn */

/* ---- Breaks ------------------------------------------------------------------------------ */

/* Nothing but its lock protects the set without a fence.  Token 0: the entry says why nobody holds
 * the lock. */
static bool may_be_broken(const struct hf_entry *entry)
{
    return entry->token != 0 && strcmp(entry->name, worker_kinds[SET].lock) != 0;
}

/* Any; or, as an administrator would, the place that has been held for longest.  NULL: none. */
static const struct hf_entry *pick_entry(const struct hf_report *report)
{
    const struct hf_entry *longest = NULL, *any = NULL;
    unsigned               count = 0;

    for (size_t i = 0; i < report->count; i++) {
        const struct hf_entry *entry = report->entry[i];
        if (!may_be_broken(entry))
            continue;
        if (entry->held && (longest == NULL || entry->since < longest->since))
            longest = entry;
        if ((unsigned)rand_r(&seed) % ++count == 0)
            any = entry;
    }
    return longest != NULL && rand_r(&seed) % 3 == 0 ? longest : any;
}

/* It is written down before, because it may take effect at any time from now on, also if we are
 * killed. */
static void break_place(const struct hf_entry *entry)
{
    char lock[128];

    snprintf(lock, sizeof lock, ",\"lock\":\"%s\",\"token\":%" PRIu64, entry->name,
             entry->token);
    turns_add(&breaks, "break", turns_now(), "%s,\"victim\":\"%s\",\"held\":%s", lock,
              entry->note, entry->held ? "true" : "false");
    int r = hf_break(worker.client, entry->name, entry->token, BREAK_MS);
    turns_add(&breaks, "broke", turns_now(), "%s,\"result\":\"%s\"", lock,
              r == 0 ? "0" : hf_errname(r));
}

static void break_one(void)
{
    struct hf_report *report;

    if (worker.client == NULL || hf_inspect(worker.client, NULL, BREAK_MS, &report) != 0)
        return;
    const struct hf_entry *entry = pick_entry(report);
    if (entry != NULL)
        break_place(entry);
    hf_report_free(report);
}

/* ---- Cancels ------------------------------------------------------------------------------ */

static void cancel_waits(bool all)
{
    for (int k = 0; k < KINDS; k++)
        if (worker.lock[k] != NULL && (all || hf_state(worker.lock[k]) == HF_WAITING))
            (void)hf_cancel(worker.lock[k]);
}

/* At the end a wait begins after the worker looked for `ending`, or before: so cancel until the
 * process ends. */
static void *meddle(void *data)
{
    const struct timespec tick = { 0, 20000000 };

    (void)data;
    for (;;) {
        int number = sigtimedwait(&signals, NULL, &tick);
        if (number == SIGTERM)
            worker.ending = true;
        else if (number == SIGUSR1)
            break_one();
        if (worker.ending || rand_r(&seed) % 100 == 0)
            cancel_waits(worker.ending);
    }
    return NULL;
}

void meddle_start(void)
{
    pthread_t thread;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    seed = worker.seed + 1;
    breaks.fd = worker.history.fd;
    snprintf(breaks.who, sizeof breaks.who, "%s", worker.history.who);
    must(pthread_create(&thread, NULL, meddle, NULL) == 0, "thread", "none");
}
