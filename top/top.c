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

void top_say(struct top *top, bool alarming, const char *format, ...)
{
    char    raw[TOP_TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    text_clean(top->message, sizeof top->message, raw);
    top->alarming = alarming;
}

const struct board_line *top_opened(const struct top *top, const struct sight *sight)
{
    return top->opened != NULL ? board_find(sight->board, top->opened) : NULL;
}

static void find_chosen_place(struct top *top, const struct board_line *line)
{
    size_t count = line != NULL ? line->report->count : 0;

    for (size_t i = 0; i < count && top->place != 0; i++)
        if (line->report->entry[i]->token == top->place) {
            top->place_at = i;
            return;
        }
    if (top->place_at >= count)
        top->place_at = count > 0 ? count - 1 : 0;
    if (top->place == 0)
        top->place_at = 0;
}

void top_take(struct top *top, const struct sight *sight)
{
    rows_take(&top->rows, sight->board, sight->now);
    find_chosen_place(top, top_opened(top, sight));
}

/* ---- Moving ------------------------------------------------------------------------ */

static void move_in_line(struct top *top, const struct board_line *line, long by)
{
    if (line == NULL)
        return;
    long at = (long)top->place_at, last = (long)line->report->count - 1;
    at = by > last - at ? last : by < -at ? 0 : at + by;
    top->place_at = (size_t)at;
    top->place = line->report->entry[at]->token;
}

static void move(struct top *top, const struct sight *sight, long by)
{
    if (top->opened != NULL)
        move_in_line(top, top_opened(top, sight), by);
    else
        rows_move(&top->rows, by);
}

/* False: the key is none of these. */
static bool move_by_key(struct top *top, const struct sight *sight, uint32_t key)
{
    long page = top->page > 1 ? (long)top->page - 1 : 1;

    switch (key) {
    case TOP_KEY_UP:
    case 'k':
        move(top, sight, -1);
        return true;
    case TOP_KEY_DOWN:
    case 'j':
        move(top, sight, 1);
        return true;
    case TOP_KEY_PAGE_UP:
        move(top, sight, -page);
        return true;
    case TOP_KEY_PAGE_DOWN:
    case ' ':
        move(top, sight, page);
        return true;
    case TOP_KEY_HOME:
    case 'g':
        move(top, sight, -1000000000);
        return true;
    case TOP_KEY_END:
    case 'G':
        move(top, sight, 1000000000);
        return true;
    default:
        return false;
    }
}

static void open_line(struct top *top)
{
    const struct board_line *line = rows_chosen(&top->rows);

    if (top->opened != NULL || line == NULL)
        return;
    top->opened = strdup(line->name);
    top->place = 0;
    top->place_at = top->place_first = 0;
    rows_move(&top->rows, 0); /* it is chosen now, wherever it moves */
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

/* ---- Whom it is about --------------------------------------------------------------- */

/* The line that keys are for. */
static const struct board_line *line_meant(const struct top   *top,
                                           const struct sight *sight)
{
    return top->opened != NULL ? top_opened(top, sight) : rows_chosen(&top->rows);
}

/* False: it has no such name as fits, and is left alone. */
static bool take_target(struct top *top, const struct sight *sight,
                        const struct board_line *line, const struct hf_entry *entry)
{
    char    address[PLACE_TEXT_MAX], age[TEXT_AGE_MAX];
    int64_t since = sight->now - entry->since;

    if (strlen(line->name) >= sizeof top->target_name)
        return false;
    snprintf(top->target_name, sizeof top->target_name, "%s", line->name);
    top->target_token = entry->token;
    snprintf(top->target_text, sizeof top->target_text,
             "token %" PRIu64 ", %s by %.400s for %s", entry->token,
             entry->held ? "held" : "waited for", place_address(address, entry),
             text_age(age, since));
    input_set(&top->input, "");
    return true;
}

static void begin_ask(struct top *top, const struct sight *sight)
{
    const struct board_line *line = line_meant(top, sight);

    if (line == NULL || line->holder == NULL)
        top_say(top, false, "nobody holds it: there is nobody to ask");
    else if (take_target(top, sight, line, line->holder))
        top->mode = TOP_ASKING;
}

static void begin_break(struct top *top, const struct sight *sight)
{
    const struct board_line *line = line_meant(top, sight);
    const struct hf_entry   *entry = line != NULL ? line->holder : NULL;

    if (line != NULL && top->opened != NULL && top->place_at < line->report->count)
        entry = line->report->entry[top->place_at];
    if (entry == NULL)
        top_say(top, false, "nobody holds it: there is nothing to break");
    else if (top->opened == NULL && line->holders > 1)
        top_say(top, false, "it has %zu holders: Enter opens it, choose one there",
                line->holders);
    else if (take_target(top, sight, line, entry))
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

static enum top_wish key_filtering(struct top *top, const struct sight *sight,
                                   uint32_t key)
{
    if (key == TOP_KEY_ESCAPE) {
        rows_filter(&top->rows, top->filter_before, top->typed_before);
        top->mode = TOP_LOOKING;
    } else if (key == TOP_KEY_ENTER) {
        top->mode = TOP_LOOKING;
    } else if (key == TOP_KEY_UP || key == TOP_KEY_DOWN) {
        move_by_key(top, sight, key);
    } else {
        edit(top, key);
        rows_filter(&top->rows, top->input.text, true);
    }
    rows_take(&top->rows, sight->board, sight->now);
    return TOP_NOTHING;
}

static enum top_wish key_asking(struct top *top, uint32_t key)
{
    if (key == TOP_KEY_ESCAPE || key == TOP_KEY_ENTER)
        top->mode = TOP_LOOKING;
    else
        edit(top, key);
    return key == TOP_KEY_ENTER ? TOP_ASK : TOP_NOTHING;
}

/* A name that hides something is typed as it is shown. */
static bool is_its_name(const struct top *top)
{
    char shown[TOP_NAME_MAX];

    if (strcmp(top->input.text, top->target_name) == 0)
        return true;
    text_clean(shown, sizeof shown, top->target_name);
    return strcmp(top->input.text, shown) == 0;
}

static enum top_wish key_breaking(struct top *top, uint32_t key)
{
    if (key == TOP_KEY_ESCAPE) {
        top->mode = TOP_LOOKING;
        top_say(top, false, "nothing was broken");
    } else if (key == TOP_KEY_ENTER) {
        top->mode = TOP_LOOKING;
        if (is_its_name(top))
            return TOP_BREAK;
        top_say(top, true, "that is not its name: nothing was broken");
    } else {
        edit(top, key);
    }
    return TOP_NOTHING;
}

/* ---- Keys --------------------------------------------------------------------------- */

static enum top_wish key_looking(struct top *top, const struct sight *sight, uint32_t key)
{
    if (move_by_key(top, sight, key))
        return TOP_NOTHING;
    switch (key) {
    case TOP_KEY_ENTER:
    case TOP_KEY_RIGHT:
        open_line(top);
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
        begin_ask(top, sight);
        break;
    case 'b':
        begin_break(top, sight);
        break;
    case 'p':
        return TOP_PAUSE;
    case '?':
    case 'h':
        top->mode = TOP_HELPING;
        break;
    case CTRL('L'):
        return TOP_REDRAW;
    case 'q':
        return TOP_QUIT;
    default:
        break;
    }
    top_take(top, sight);
    return TOP_NOTHING;
}

enum top_wish top_key(struct top *top, const struct sight *sight, uint32_t key)
{
    top->message[0] = '\0';
    switch (top->mode) {
    case TOP_LOOKING:
        return key_looking(top, sight, key);
    case TOP_FILTERING:
        return key_filtering(top, sight, key);
    case TOP_ASKING:
        return key_asking(top, key);
    case TOP_BREAKING:
        return key_breaking(top, key);
    case TOP_HELPING:
        top->mode = TOP_LOOKING;
        break;
    }
    return TOP_NOTHING;
}
