/* history_text.c - see history_text.h. */
#include "lib/history_text.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

static const char *url_with(const char *param)
{
    static char text[1024];
    const char *url = recipe_url();

    snprintf(text, sizeof text, "%s%c%s", url, strchr(url, '?') != NULL ? '&' : '?',
             param);
    return text;
}

int history_try_open(const char *param, char error[256], struct hf_client **ret)
{
    struct hf_options options = HF_OPTIONS_INIT;

    error[0] = '\0';
    options.error = error;
    options.error_size = 256;
    return hf_open(url_with(param), &options, ret);
}

struct hf_client *history_open(void)
{
    struct hf_client         *plain = recipe_open(), *client = NULL;
    struct hf_history_report *history = NULL;
    char                      error[256];

    int r = hf_history(plain, NULL, 0, RECIPE_LIMIT_MS, &history);
    if (r == 0)
        hf_history_report_free(history);
    hf_close(plain);
    if (r == HF_EUNSUPPORTED)
        skip();
    r = history_try_open("history=1000", error, &client);
    if (r != 0)
        fail_msg("hf_open(%s): %s: %s", url_with("history=1000"), hf_errname(r), error);

    /* A new server grants nothing for a while: a client that comes then has to queue. */
    struct hf_lock *lock = recipe_mutex(client, recipe_name());
    assert_int_equal(hf_acquire(lock, 4 * RECIPE_LIMIT_MS), 0);
    assert_int_equal(hf_release(lock), 0);
    hf_lock_free(lock);
    return client;
}

static char letter_of(const char *what)
{
    static const char *const words[] = { "entered", "granted", "released", "left",
                                         "lost",    "broken",  "asked",    "lessened" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], what) == 0)
            return "egrlxbad"[i];
    return '?';
}

void history_as_text(const struct hf_history_report *history, char text[256])
{
    uint64_t places[26];
    size_t   count = 0, length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < history->count && length < 240; i++) {
        const struct hf_history_entry *record = history->entry[i];
        size_t                         who = 0;
        while (who < count && places[who] != record->token)
            who++;
        assert_true(who < 26);
        if (who == count)
            places[count++] = record->token;
        length += (size_t)sprintf(text + length, "%s%c%c", i > 0 ? " " : "",
                                  letter_of(record->what), (char)('A' + who));
    }
}

struct hf_history_report *history_recall(struct hf_client *client, const char *name,
                                         uint64_t after)
{
    struct hf_history_report *history = NULL;

    int r = hf_history(client, name, after, RECIPE_LIMIT_MS, &history);
    if (r != 0)
        fail_msg("hf_history: %s: %s", hf_errname(r), hf_errmsg(client));
    return history;
}

struct hf_history_report *history_await(struct hf_client *client, const char *name,
                                        const char *wanted)
{
    int64_t end = recipe_ms() + 10000;
    char    text[256];

    for (;;) {
        struct hf_history_report *history = history_recall(client, name, 0);
        history_as_text(history, text);
        if (strcmp(text, wanted) == 0)
            return history;
        hf_history_report_free(history);
        if (recipe_ms() > end)
            fail_msg("%s: the history is \"%s\", not \"%s\"", name, text, wanted);
        poll(NULL, 0, 5);
    }
}

void history_expect(struct hf_client *client, const char *name, const char *wanted)
{
    hf_history_report_free(history_await(client, name, wanted));
}
