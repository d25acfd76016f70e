/* wait_message.c - tells a user who waits about the holder; see messages.h. */
#include "run/messages.h"

#include "clock.h"
#include "complain.h"
#include "entry.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FIRST_NS    (400 * NS_PER_MS) /* shorter waits need no message */
#define TERMINAL_NS (1 * NS_PER_SEC)
#define LOG_NS      (5 * NS_PER_SEC)
#define WAITED_NS   (1 * NS_PER_SEC) /* nor do shorter ones afterwards */
#define ASK_MS      500

void wait_message_init(struct wait_message *message, struct hf_client *client,
                       const char *name, bool quiet)
{
    const char *term = getenv("TERM");
    int64_t     now = clock_boot_ns();

    *message = (struct wait_message){
        .client = client,
        .name = name,
        .quiet = quiet,
        .terminal = isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0,
        .begin = now,
        .next = now + FIRST_NS,
    };
}

int wait_message_timeout_ms(const struct wait_message *message)
{
    int64_t left = message->next - clock_boot_ns();

    if (message->quiet)
        return -1;
    return left <= 0 ? 0 : (int)(left / NS_PER_MS + 1);
}

/* How many wait ahead of this process; -1: it is not in the queue. */
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

static void compose(char *out, size_t size, const struct wait_message *message,
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
        snprintf(out, size, "waiting for \"%s\"%s", message->name, queue);
    else if (place_is_stranger(holder))
        snprintf(out, size, "waiting for \"%s\", held by %s%s", message->name,
                 entry_owner(owner, holder, NULL), queue);
    else
        snprintf(out, size, "waiting for \"%s\": held %s by %s%s", message->name,
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

/* True: it is time for a message about the holder, and the store can be asked. */
static bool is_due(struct wait_message *message)
{
    char text[900];

    if (message->quiet || clock_boot_ns() < message->next)
        return false;
    message->next = clock_boot_ns() + (message->terminal ? TERMINAL_NS : LOG_NS);
    if (store_message_why() == NULL)
        return true;
    snprintf(text, sizeof text, "waiting for \"%s\": %s; %s", message->name,
             store_message_why(), store_message_retry());
    if (message->terminal)
        rewrite_line(text);
    message->shown = message->terminal;
    return false;
}

static void tell_holder(struct wait_message *message, const struct hf_report *report)
{
    const struct hf_entry *holder = entry_first_holder(report);
    char                   text[900];
    uint64_t               token = holder != NULL ? holder->token : 0;
    compose(text, sizeof text, message, report);
    if (holder != NULL && entry_is_ours(holder)) {
        /* It was granted just now. */
    } else if (message->terminal) {
        rewrite_line(text);
        message->shown = true;
    } else if (holder != NULL && (token != message->told || !message->spoken)) {
        complain("%s", text);
        message->told = token;
        message->spoken = true;
    }
}

void wait_message_show(struct wait_message *message)
{
    struct hf_report *report;

    if (!is_due(message) ||
        hf_inspect(message->client, message->name, ASK_MS, &report) < 0)
        return; /* hf_process() reports what is wrong */
    tell_holder(message, report);
    hf_report_free(report);
}

void wait_message_show_seen(struct wait_message *message, const struct hf_report *seen)
{
    if (is_due(message) && seen != NULL)
        tell_holder(message, seen);
}

void wait_message_clear(struct wait_message *message)
{
    if (!message->shown)
        return;
    ssize_t n = write(STDERR_FILENO, "\r\033[K", 4);
    (void)n;
    message->shown = false;
}

void wait_message_waited(const struct wait_message *message)
{
    char    age[TEXT_AGE_MAX];
    int64_t waited = clock_boot_ns() - message->begin;

    if (waited >= WAITED_NS && !message->quiet)
        complain("waited %s for \"%s\"", text_age(age, waited / (NS_PER_MS / 1000)),
                 message->name);
}
