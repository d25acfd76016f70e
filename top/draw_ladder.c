/* draw_ladder.c - one line as a ladder: who holds, who waits behind whom, what to type. */
#include "draw.h"

#include "place.h"
#include "table.h"
#include "text.h"
#include "words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    RUNG_PLACE,
    RUNG_TOKEN,
    RUNG_KIND,
    RUNG_SLOT,
    RUNG_WHO,
    RUNG_SINCE,
    RUNG_AGE,
    RUNG_LEASE,
    RUNG_COMMAND,
    RUNG_NOTE,
    RUNG_COLUMNS
};

static const struct table_column rung_columns[RUNG_COLUMNS] = {
    [RUNG_PLACE] = { "PLACE", 13, 13, 9, false },
    [RUNG_TOKEN] = { "TOKEN", 20, 20, 8, true },
    [RUNG_KIND] = { "KIND", 5, 9, 2, false },
    [RUNG_SLOT] = { "SLOT", 4, 5, 3, true },
    [RUNG_WHO] = { "WHO", 20, 48, 7, false },
    [RUNG_SINCE] = { "SINCE", 8, 10, 4, false },
    [RUNG_AGE] = { "FOR", 6, 7, 6, true },
    [RUNG_LEASE] = { "LEASE", 8, 12, 5, false },
    [RUNG_COMMAND] = { "RUNS", 8, 60, 1, false },
    [RUNG_NOTE] = { "NOTE", 10, 80, 0, false },
};

/* ---- Rungs -------------------------------------------------------------------------- */

static const struct past_event *asked(const struct draw     *draw,
                                      const struct hf_entry *entry)
{
    const struct past *past = draw->sight->past;

    return past != NULL && entry->held ? past_asked(past, entry->name, entry->token)
                                       : NULL;
}

static void fill_rung(struct draw *draw, const struct board_line *line, size_t i,
                      struct table_cell *cell)
{
    const struct hf_entry *entry = line->report->entry[i];
    char                   text[PLACE_TEXT_MAX], small[WORDS_SHORT];
    int64_t                left = words_left_ms(draw->sight, line, i);

    for (size_t c = 0; c < RUNG_COLUMNS; c++) {
        cell[c].text[0] = '\0';
        cell[c].style = PAGE_PLAIN;
    }
    if (entry->held)
        snprintf(cell[RUNG_PLACE].text, TABLE_TEXT, "holds%s",
                 asked(draw, entry) != NULL ? " (asked)" : "");
    else
        snprintf(cell[RUNG_PLACE].text, TABLE_TEXT, "%s%zu",
                 i + 1 < line->report->count ? "|- " : "`- ", i + 1 - line->holders);
    cell[RUNG_PLACE].style = entry->held ? PAGE_STRONG : PAGE_PLAIN;
    snprintf(cell[RUNG_TOKEN].text, TABLE_TEXT, "%" PRIu64, entry->token);
    text_clean(cell[RUNG_KIND].text, TABLE_TEXT, entry->kind);
    if (entry->slot >= 0)
        snprintf(cell[RUNG_SLOT].text, TABLE_TEXT, "%d", entry->slot);
    snprintf(cell[RUNG_WHO].text, TABLE_TEXT, "%s", place_address(text, entry));
    snprintf(cell[RUNG_SINCE].text, TABLE_TEXT, "%s",
             words_time(small, entry->since, draw->sight->now));
    draw_age(draw, cell[RUNG_AGE].text, TABLE_TEXT, entry->since);
    snprintf(cell[RUNG_LEASE].text, TABLE_TEXT, "%s",
             words_lease(small, draw->sight, left));
    if (words_lease_is_low(draw->sight, left))
        cell[RUNG_LEASE].style = PAGE_ALARM;
    words_what(cell[RUNG_COMMAND].text, TABLE_TEXT, entry);
    if (!place_is_stranger(entry))
        text_clean(cell[RUNG_NOTE].text, TABLE_TEXT, entry->note);
}

static void draw_rungs(struct draw *draw, const struct board_line *line, size_t first,
                       size_t end, size_t chosen)
{
    struct table      table;
    struct table_cell cell[RUNG_COLUMNS];

    table_init(&table, rung_columns, RUNG_COLUMNS);
    table_want(&table, RUNG_AGE, "12m03s");
    for (size_t i = first; i < end; i++) {
        fill_rung(draw, line, i, cell);
        for (size_t c = 0; c < RUNG_COLUMNS; c++)
            table_want(&table, c, cell[c].text);
    }
    table_fit(&table, draw->width > 1 ? draw->width - 1 : draw->width);
    page_line(draw->page, PAGE_HEAD);
    page_put(draw->page, PAGE_HEAD, " ");
    table_titles(&table, draw->page, PAGE_HEAD);
    for (size_t i = first; i < end; i++) {
        enum page_style style = i == chosen ? PAGE_CHOSEN : PAGE_PLAIN;
        fill_rung(draw, line, i, cell);
        char *bar = strchr(cell[RUNG_LEASE].text, ']');
        if (bar != NULL && strlen(cell[RUNG_LEASE].text) > table.width[RUNG_LEASE])
            bar[1] = '\0'; /* a part of a bar says something wrong */
        page_line(draw->page, style);
        page_put(draw->page, style, i == chosen ? ">" : " ");
        table_put(&table, draw->page, cell, style);
    }
}

/* ---- Around it ---------------------------------------------------------------------- */

/* How much of the capacity is taken. */
static uint64_t taken(const struct board_line *line)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < line->report->count; i++)
        if (line->report->entry[i]->held)
            sum += line->report->entry[i]->weight;
    return sum;
}

static void draw_title(struct draw *draw, const char *opened,
                       const struct board_line *line)
{
    char name[TABLE_TEXT];

    text_clean(name, sizeof name, opened);
    page_line(draw->page, PAGE_PLAIN);
    page_put(draw->page, PAGE_PLAIN, " ");
    if (draw->width >= 20)
        text_cut(name, draw->width - draw->width / 3);
    page_put(draw->page, PAGE_STRONG, name);
    if (line == NULL) {
        page_put(draw->page, PAGE_FAINT, "  nobody is in its line");
        return;
    }
    const struct hf_entry *first = line->report->entry[0];
    page_print(draw->page, PAGE_PLAIN, "  %s", first->kind);
    if (strcmp(first->kind, "semaphore") == 0)
        page_print(draw->page, PAGE_PLAIN, ", %" PRIu64 " of %" PRIu32 " taken",
                   taken(line), first->capacity);
    page_print(draw->page, PAGE_PLAIN, ", %zu hold%s, %zu wait%s", line->holders,
               line->holders == 1 ? "s" : "", line->waiters,
               line->waiters == 1 ? "s" : "");
}

/* What the chosen place runs, its note, and why it was asked. */
static void draw_place(struct draw *draw, const struct hf_entry *entry)
{
    const struct past_event *event = asked(draw, entry);
    char                     text[TABLE_TEXT];

    page_line(draw->page, PAGE_FAINT);
    words_what(text, sizeof text, entry);
    page_put(draw->page, PAGE_FAINT, " runs: ");
    page_put(draw->page, PAGE_PLAIN, *text != '\0' ? text : "-");
    text_clean(text, sizeof text, entry->note);
    if (*text != '\0') {
        page_put(draw->page, PAGE_FAINT, "  note: ");
        page_put(draw->page, PAGE_PLAIN, text);
    }
    if (event != NULL) {
        text_clean(text, sizeof text, event->reason);
        page_put(draw->page, PAGE_FAINT, "  asked: ");
        page_put(draw->page, PAGE_PLAIN, *text != '\0' ? text : "without a reason");
    }
}

/* A command over as many lines as it needs, so that it can be copied: they end in a
 * backslash where a word ends.  Returns how many lines; with `page` NULL it counts only. */
static size_t put_command(struct page *page, const char *command, size_t width)
{
    char   line[5000];
    size_t lines = 0;

    while (*command != '\0') {
        size_t length = strlen(command);
        if (width > 8 && text_columns(command) > width - 3) {
            size_t fits = text_fit(command, width - 5), cut = fits;
            while (cut > 0 && command[cut] != ' ')
                cut--;
            length = cut > 0 ? cut : fits;
        }
        bool more = command[length] != '\0', word = command[length] == ' ';
        snprintf(line, sizeof line, "%.*s%s", (int)length, command,
                 more && word ? " \\" : "");
        if (page != NULL) {
            page_line(page, PAGE_PLAIN);
            page_put(page, PAGE_PLAIN, "   ");
            page_put(page, PAGE_PLAIN, line);
        }
        lines++;
        command += length + (more && word);
        if (length == 0)
            break;
    }
    return lines;
}

/* How to do the same by hand. */
static void commands_of(const struct sight *sight, const struct hf_entry *entry,
                        char first[5500], char second[5500])
{
    words_command(first, 5500, sight, entry->held ? "ask" : "show", 0, entry->name);
    words_command(second, 5500, sight, "break", entry->token, entry->name);
}

void draw_ladder(struct draw *draw, struct top *top, size_t height)
{
    const struct board_line *line = top_opened(top, draw->sight);
    char                     one[5500], two[5500];
    size_t                   extra = 0;

    if (height == 0)
        return;
    if (height >= 3 || line == NULL) {
        draw_title(draw, top->opened, line);
        height--;
    }
    if (line == NULL || height < 2)
        return;
    size_t                 end = draw->page->lines + height;
    const struct hf_entry *entry = line->report->entry[top->place_at];
    commands_of(draw->sight, entry, one, two);
    extra = 1 + put_command(NULL, one, draw->width) + put_command(NULL, two, draw->width);
    if (height < extra + 4)
        extra = height >= 5;
    size_t      rows = height - 1 - extra, count = line->report->count;
    struct rows window = { .count = count,
                           .at = top->place_at,
                           .first = top->place_first };
    rows_scroll(&window, rows);
    top->place_first = window.first;
    top->page = rows;
    size_t last = window.first + rows < count ? window.first + rows : count;
    draw_rungs(draw, line, window.first, last, top->place_at);
    if (extra == 0)
        return;
    draw_blank(draw, end - extra);
    draw_place(draw, entry);
    if (extra > 1) {
        put_command(draw->page, one, draw->width);
        put_command(draw->page, two, draw->width);
    }
}
