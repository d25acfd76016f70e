/* top.c - see top.h. */
#include "top.h"

#include "place.h"
#include "text.h"
#include "words.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CTRL(letter) ((letter) - '@')

void top_finish(struct top *top)
{
    rows_finish(&top->rows);
    free(top->opened);
    *top = (struct top){ 0 };
}

void top_message(struct top *top, bool alarming, const char *format, ...)
{
    char    raw[TOP_TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    text_clean(top->message, sizeof top->message, raw);
    top->alarming = alarming;
}

const struct lock *top_opened(const struct top *top, const struct snapshot *snapshot)
{
    return top->opened != NULL ? locks_find(snapshot->locks, top->opened) : NULL;
}

static void find_selected_place(struct top *top, const struct lock *lock)
{
    size_t count = lock != NULL ? lock->report->count : 0;

    for (size_t i = 0; i < count && top->place != 0; i++)
        if (lock->report->entry[i]->token == top->place) {
            top->place_at = i;
            return;
        }
    if (top->place_at >= count)
        top->place_at = count > 0 ? count - 1 : 0;
    if (top->place == 0)
        top->place_at = 0;
}

void top_update(struct top *top, const struct snapshot *snapshot)
{
    rows_update(&top->rows, snapshot->locks, snapshot->now);
    find_selected_place(top, top_opened(top, snapshot));
}

/* ---- Moving ------------------------------------------------------------------------ */

static void move_in_queue(struct top *top, const struct lock *lock, long by)
{
    if (lock == NULL)
        return;
    long at = (long)top->place_at, last = (long)lock->report->count - 1;
    at = by > last - at ? last : by < -at ? 0 : at + by;
    top->place_at = (size_t)at;
    top->place = lock->report->entry[at]->token;
}

static void move(struct top *top, const struct snapshot *snapshot, long by)
{
    if (top->opened != NULL)
        move_in_queue(top, top_opened(top, snapshot), by);
    else
        rows_move(&top->rows, by);
}

/* False: the key does not move the selection. */
static bool move_by_key(struct top *top, const struct snapshot *snapshot, uint32_t key)
{
    long page = top->page > 1 ? (long)top->page - 1 : 1;

    switch (key) {
    case TOP_KEY_UP:
    case 'k':
        move(top, snapshot, -1);
        return true;
    case TOP_KEY_DOWN:
    case 'j':
        move(top, snapshot, 1);
        return true;
    case TOP_KEY_PAGE_UP:
        move(top, snapshot, -page);
        return true;
    case TOP_KEY_PAGE_DOWN:
    case ' ':
        move(top, snapshot, page);
        return true;
    case TOP_KEY_HOME:
    case 'g':
        move(top, snapshot, -1000000000);
        return true;
    case TOP_KEY_END:
    case 'G':
        move(top, snapshot, 1000000000);
        return true;
    default:
        return false;
    }
}

static void open_lock(struct top *top)
{
    const struct lock *lock = rows_selected(&top->rows);

    if (top->opened != NULL || lock == NULL)
        return;
    top->opened = strdup(lock->name);
    top->place = 0;
    top->place_at = top->place_first = 0;
    rows_move(&top->rows, 0); /* keep it selected, wherever it moves */
}

static void go_back(struct top *top)
{
    if (top->opened != NULL) {
        free(top->opened);
        top->opened = NULL;
    } else if (*top->rows.filter != '\0') {
        rows_filter(&top->rows, "", true);
    }
}

/* ---- The target of a key ------------------------------------------------------------ */

/* The lock that a key applies to. */
static const struct lock *lock_meant(const struct top      *top,
                                     const struct snapshot *snapshot)
{
    return top->opened != NULL ? top_opened(top, snapshot) : rows_selected(&top->rows);
}

/* False: the name is too long. */
static bool take_target(struct top *top, const struct snapshot *snapshot,
                        const struct lock *lock, const struct hf_entry *entry)
{
    char    address[PLACE_TEXT_MAX], age[TEXT_AGE_MAX];
    int64_t since = snapshot->now - entry->since;

    if (strlen(lock->name) >= sizeof top->target_name)
        return false;
    snprintf(top->target_name, sizeof top->target_name, "%s", lock->name);
    top->target_token = entry->token;
    snprintf(top->target_text, sizeof top->target_text,
             "token %" PRIu64 ", %s by %.400s for %s", entry->token,
             entry->held ? "held" : "waited for", place_address(address, entry),
             text_age(age, since));
    input_set(&top->input, "");
    return true;
}

static void begin_ask(struct top *top, const struct snapshot *snapshot)
{
    const struct lock *lock = lock_meant(top, snapshot);

    if (lock == NULL || lock->holder == NULL)
        top_message(top, false, "nobody holds it: there is nobody to ask");
    else if (take_target(top, snapshot, lock, lock->holder))
        top->mode = TOP_ASKING;
}

static void begin_break(struct top *top, const struct snapshot *snapshot)
{
    const struct lock     *lock = lock_meant(top, snapshot);
    const struct hf_entry *entry = lock != NULL ? lock->holder : NULL;

    if (lock != NULL && top->opened != NULL && top->place_at < lock->report->count)
        entry = lock->report->entry[top->place_at];
    if (entry == NULL)
        top_message(top, false, "nobody holds it: there is nothing to break");
    else if (top->opened == NULL && lock->holders > 1)
        top_message(top, false, "it has %zu holders: open it with Enter and select one",
                    lock->holders);
    else if (take_target(top, snapshot, lock, entry))
        top->mode = TOP_BREAKING;
}

/* ---- Typing ------------------------------------------------------------------------- */

static void edit(struct top *top, uint32_t key)
{
    if (key == TOP_KEY_BACK)
        input_back(&top->input);
    else if (key == CTRL('U'))
        input_set(&top->input, "");
    else if (key < TOP_KEY_UP)
        input_add(&top->input, key);
}

static void begin_filter(struct top *top)
{
    memcpy(top->filter_before, top->rows.filter, sizeof top->filter_before);
    top->typed_before = top->rows.typed;
    input_set(&top->input, top->rows.filter);
    top->mode = TOP_FILTERING;
}

static enum top_action key_filtering(struct top *top, const struct snapshot *snapshot,
                                     uint32_t key)
{
    if (key == TOP_KEY_ESCAPE) {
        rows_filter(&top->rows, top->filter_before, top->typed_before);
        top->mode = TOP_BROWSING;
    } else if (key == TOP_KEY_ENTER) {
        top->mode = TOP_BROWSING;
    } else if (key == TOP_KEY_UP || key == TOP_KEY_DOWN) {
        move_by_key(top, snapshot, key);
    } else {
        edit(top, key);
        rows_filter(&top->rows, top->input.text, true);
    }
    rows_update(&top->rows, snapshot->locks, snapshot->now);
    return TOP_NOTHING;
}

static enum top_action key_asking(struct top *top, uint32_t key)
{
    if (key == TOP_KEY_ESCAPE || key == TOP_KEY_ENTER)
        top->mode = TOP_BROWSING;
    else
        edit(top, key);
    return key == TOP_KEY_ENTER ? TOP_ASK : TOP_NOTHING;
}

/* Hidden characters may be typed as they are shown. */
static bool name_matches(const struct top *top)
{
    char shown[TOP_NAME_MAX];

    if (strcmp(top->input.text, top->target_name) == 0)
        return true;
    text_clean(shown, sizeof shown, top->target_name);
    return strcmp(top->input.text, shown) == 0;
}

static enum top_action key_breaking(struct top *top, uint32_t key)
{
    if (key == TOP_KEY_ESCAPE) {
        top->mode = TOP_BROWSING;
        top_message(top, false, "nothing was broken");
    } else if (key == TOP_KEY_ENTER) {
        top->mode = TOP_BROWSING;
        if (name_matches(top))
            return TOP_BREAK;
        top_message(top, true, "the name does not match: nothing was broken");
    } else {
        edit(top, key);
    }
    return TOP_NOTHING;
}

/* ---- Keys --------------------------------------------------------------------------- */

static enum top_action key_browsing(struct top *top, const struct snapshot *snapshot,
                                    uint32_t key)
{
    if (move_by_key(top, snapshot, key))
        return TOP_NOTHING;
    switch (key) {
    case TOP_KEY_ENTER:
    case TOP_KEY_RIGHT:
        open_lock(top);
        break;
    case TOP_KEY_ESCAPE:
    case TOP_KEY_LEFT:
    case TOP_KEY_BACK:
        go_back(top);
        break;
    case '/':
        if (top->opened != NULL)
            go_back(top);
        begin_filter(top);
        break;
    case 'a':
        begin_ask(top, snapshot);
        break;
    case 'b':
        begin_break(top, snapshot);
        break;
    case 'p':
        return TOP_PAUSE;
    case '?':
    case 'h':
        top->mode = TOP_HELP;
        break;
    case CTRL('L'):
        return TOP_REDRAW;
    case 'q':
        return TOP_QUIT;
    default:
        break;
    }
    top_update(top, snapshot);
    return TOP_NOTHING;
}

enum top_action top_key(struct top *top, const struct snapshot *snapshot, uint32_t key)
{
    top->message[0] = '\0';
    switch (top->mode) {
    case TOP_BROWSING:
        return key_browsing(top, snapshot, key);
    case TOP_FILTERING:
        return key_filtering(top, snapshot, key);
    case TOP_ASKING:
        return key_asking(top, key);
    case TOP_BREAKING:
        return key_breaking(top, key);
    case TOP_HELP:
        top->mode = TOP_BROWSING;
        break;
    }
    return TOP_NOTHING;
}
