/* versions.c - the versions of Holdfast in a store, for hf_doctor().
 *
 * They are read from the notes of places, and clients are told apart by host and pid.
 * A client that neither holds nor waits is not seen: stores keep no more of it than its
 * session.
 */
#include "client/look/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 5  /* versions */
#define TEXT_MAX  24 /* bytes of one: a note can have anything in it */

static int by_client(const void *a, const void *b)
{
    const struct hf_entry *x = *(const struct hf_entry *const *)a;
    const struct hf_entry *y = *(const struct hf_entry *const *)b;

    int order = strcmp(x->version, y->version);
    if (order == 0)
        order = strcmp(x->host, y->host);
    return order != 0 ? order : (x->pid > y->pid) - (x->pid < y->pid);
}

struct count {
    size_t clients;
    size_t versions; /* known ones */
    size_t unknown;  /* clients of an unknown version */
    char   text[SHOWN_MAX * (TEXT_MAX + 40) + 40];
};

static void count_version(struct count *count, const char *version, size_t clients)
{
    size_t used = strlen(count->text);

    count->clients += clients;
    if (*version == '\0') {
        count->unknown = clients;
        return;
    }
    if (++count->versions <= SHOWN_MAX)
        snprintf(count->text + used, sizeof count->text - used, "%s%zu of Holdfast %.*s",
                 used > 0 ? ", " : "", clients, TEXT_MAX, version);
    else if (count->versions == SHOWN_MAX + 1)
        snprintf(count->text + used, sizeof count->text - used, ", and others");
}

static void count_all(struct count *count, const struct hf_entry **sorted, size_t places)
{
    size_t clients = 0;

    for (size_t i = 0; i < places; i++) {
        bool last = i + 1 == places;
        clients += last || by_client(&sorted[i], &sorted[i + 1]) != 0;
        if (!last && strcmp(sorted[i]->version, sorted[i + 1]->version) == 0)
            continue;
        count_version(count, sorted[i]->version, clients);
        clients = 0;
    }
}

static const char *advise(const struct count *count)
{
    if (count->versions > 1)
        return "use one version everywhere; `holdfast list --json` shows the version of "
               "each process";
    if (count->unknown > 0)
        return "another program took these places, or a Holdfast too old to write its "
               "version; `holdfast list --json` shows them";
    return NULL;
}

/* A store says by such an entry why nothing is granted now; a claim without a token is that
 * of another program. */
static bool is_nobody(const struct hf_entry *entry)
{
    return entry->token == 0 && strcmp(entry->kind, "claim") != 0;
}

void hf_versions_find(const struct hf_report *report, struct hf_finding_list *list)
{
    struct count            count = { 0 };
    size_t                  places = 0;
    const struct hf_entry **sorted = calloc(report->count + 1, sizeof(*sorted));

    if (sorted == NULL) {
        list->failed = true;
        return;
    }
    for (size_t i = 0; i < report->count; i++)
        if (!is_nobody(report->entry[i]))
            sorted[places++] = report->entry[i];
    qsort(sorted, places, sizeof(*sorted), by_client);
    count_all(&count, sorted, places);
    free(sorted);

    char unknown[48] = "";
    if (count.unknown > 0)
        snprintf(unknown, sizeof unknown, "%s%zu of an unknown version",
                 count.versions > 0 ? ", " : "", count.unknown);
    enum hf_level level = count.versions > 1 ? HF_WARNING : HF_FINE;
    if (count.clients == 0)
        hf_finding_add(list, level, "versions", NULL, "no client holds or waits");
    else
        hf_finding_add(list, level, "versions", advise(&count), "%zu client%s: %s%s",
                       count.clients, count.clients > 1 ? "s" : "", count.text, unknown);
}
