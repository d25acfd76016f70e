/* notice.c - see notice.h. */
#include "notice.h"

#include "cli.h"
#include "clock.h"
#include "entry.h"
#include "reach.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FIRST_NS    (400 * NS_PER_MS) /* shorter waits are not worth a word */
#define TERMINAL_NS (1 * NS_PER_SEC)
#define LOG_NS      (5 * NS_PER_SEC)
#define WAITED_NS   (1 * NS_PER_SEC) /* shorter ones are not worth a word afterwards */
#define ASK_MS      500

void notice_init(struct notice *notice, struct hf_client *client, const char *name,
                 bool quiet)
{
    const char *term = getenv("TERM");
    int64_t     now = clock_boot_ns();

    *notice = (struct notice){
        .client = client,
        .name = name,
        .quiet = quiet,
        .terminal = isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0,
        .begin = now,
        .next = now + FIRST_NS,
    };
}

int notice_timeout_ms(const struct notice *notice)
{
    int64_t left = notice->next - clock_boot_ns();

    if (notice->quiet)
        return -1;
    return left <= 0 ? 0 : (int)(left / NS_PER_MS + 1);
}

/* How many wait ahead of this process; -1: it is not in the line. */
static int count_ahead(const struct hf_report *report)
{
    int ahead = 0;

    for (size_t i = 0; i < report->count; i++) {
        const struct hf_entry *entry = report->entry[i];
        if (entry->held)
            continue;
        if (entry_is_ours(entry))
            return ahead;
        ahead++;
    }
    return -1;
}

static void compose(char *out, size_t size, const struct notice *notice,
                    const struct hf_report *report)
{
    const struct hf_entry *holder = entry_first_holder(report);
    char                   owner[ENTRY_TEXT_MAX], age[TEXT_AGE_MAX], queue[64] = "";
    int                    ahead = count_ahead(report);

    if (ahead == 0)
        snprintf(queue, sizeof queue, ", you are next");
    else if (ahead > 0)
        snprintf(queue, sizeof queue, ", %d ahead of you", ahead);
    if (holder == NULL)
        snprintf(out, size, "waiting for \"%s\"%s", notice->name, queue);
    else if (place_is_stranger(holder))
        snprintf(out, size, "waiting for \"%s\", held by %s%s", notice->name,
                 entry_owner(owner, holder, NULL), queue);
    else
        snprintf(out, size, "waiting for \"%s\": held %s by %s%s", notice->name,
                 text_age(age, place_age(holder)), entry_owner(owner, holder, NULL),
                 queue);
}

/* One line, however narrow the terminal is. */
static void rewrite_line(const char *text)
{
    char           clean[1024], line[1100];
    struct winsize window = { 0 };
    size_t         columns = 80;

    snprintf(line, sizeof line, "holdfast: %s", text);
    text_clean(clean, sizeof clean, line);
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 10)
        columns = window.ws_col;
    text_cut(clean, columns - 1);
    int     length = snprintf(line, sizeof line, "\r\033[K%s", clean);
    ssize_t n = write(STDERR_FILENO, line, (size_t)length);
    (void)n;
}

/* True: it is time to tell who holds the lock, and the store is there to say so. */
static bool is_due(struct notice *notice)
{
    char text[900];

    if (notice->quiet || clock_boot_ns() < notice->next)
        return false;
    notice->next = clock_boot_ns() + (notice->terminal ? TERMINAL_NS : LOG_NS);
    if (reach_why() == NULL)
        return true;
    snprintf(text, sizeof text, "waiting for \"%s\": %s; %s", notice->name, reach_why(),
             reach_again());
    if (notice->terminal)
        rewrite_line(text);
    notice->shown = notice->terminal;
    return false;
}

static void tell_holder(struct notice *notice, const struct hf_report *report)
{
    const struct hf_entry *holder = entry_first_holder(report);
    char                   text[900];
    uint64_t               token = holder != NULL ? holder->token : 0;
    compose(text, sizeof text, notice, report);
    if (holder != NULL && entry_is_ours(holder)) {
        /* It became ours just now: nothing to say. */
    } else if (notice->terminal) {
        rewrite_line(text);
        notice->shown = true;
    } else if (holder != NULL && (token != notice->told || !notice->spoken)) {
        complain("%s", text);
        notice->told = token;
        notice->spoken = true;
    }
}

void notice_show(struct notice *notice)
{
    struct hf_report *report;

    if (!is_due(notice) || hf_inspect(notice->client, notice->name, ASK_MS, &report) < 0)
        return; /* the wait itself will tell what is wrong */
    tell_holder(notice, report);
    hf_report_free(report);
}

void notice_show_seen(struct notice *notice, const struct hf_report *seen)
{
    if (is_due(notice) && seen != NULL)
        tell_holder(notice, seen);
}

void notice_clear(struct notice *notice)
{
    if (!notice->shown)
        return;
    ssize_t n = write(STDERR_FILENO, "\r\033[K", 4);
    (void)n;
    notice->shown = false;
}

void notice_waited(const struct notice *notice)
{
    char    age[TEXT_AGE_MAX];
    int64_t waited = clock_boot_ns() - notice->begin;

    if (waited >= WAITED_NS && !notice->quiet)
        complain("waited %s for \"%s\"", text_age(age, waited / (NS_PER_MS / 1000)),
                 notice->name);
}
