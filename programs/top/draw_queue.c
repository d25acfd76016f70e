/* draw_queue.c - the queue of one lock: holders, waiters in their order, commands to type. */
#include "draw.h"

#include "place.h"
#include "table.h"
#include "text.h"
#include "words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    QUEUE_PLACE,
    QUEUE_TOKEN,
    QUEUE_KIND,
    QUEUE_SLOT,
    QUEUE_WHO,
    QUEUE_SINCE,
    QUEUE_AGE,
    QUEUE_LEASE,
    QUEUE_COMMAND,
    QUEUE_NOTE,
    QUEUE_COLUMNS
};

static const struct table_column queue_columns[QUEUE_COLUMNS] = {
    [QUEUE_PLACE] = { "PLACE", 13, 13, 9, false },
    [QUEUE_TOKEN] = { "TOKEN", 20, 20, 8, true },
    [QUEUE_KIND] = { "KIND", 5, 9, 2, false },
    [QUEUE_SLOT] = { "SLOT", 4, 5, 3, true },
    [QUEUE_WHO] = { "WHO", 20, 48, 7, false },
    [QUEUE_SINCE] = { "SINCE", 8, 10, 4, false },
    [QUEUE_AGE] = { "FOR", 6, 7, 6, true },
    [QUEUE_LEASE] = { "LEASE", 8, 12, 5, false },
    [QUEUE_COMMAND] = { "RUNS", 8, 60, 1, false },
    [QUEUE_NOTE] = { "NOTE", 10, 80, 0, false },
};

/* ---- Places ------------------------------------------------------------------------- */

static const struct history_entry *find_request(const struct draw     *draw,
                                                const struct hf_entry *entry)
{
    const struct history *history = draw->snapshot->history;

    return history != NULL && entry->held
               ? history_last_request(history, entry->name, entry->token)
               : NULL;
}

static void fill_place(struct draw *draw, const struct lock *lock, size_t i,
                       struct table_cell *cell)
{
    const struct hf_entry *entry = lock->report->entry[i];
    char                   text[PLACE_TEXT_MAX], small[WORDS_SHORT];
    int64_t                left = words_left_ms(draw->snapshot, lock, i);

    for (size_t c = 0; c < QUEUE_COLUMNS; c++) {
        cell[c].text[0] = '\0';
        cell[c].style = PAGE_PLAIN;
    }
    if (entry->held)
        snprintf(cell[QUEUE_PLACE].text, TABLE_TEXT, "holds%s",
                 find_request(draw, entry) != NULL ? " (asked)" : "");
    else
        snprintf(cell[QUEUE_PLACE].text, TABLE_TEXT, "%s%zu",
                 i + 1 < lock->report->count ? "|- " : "`- ", i + 1 - lock->holders);
    cell[QUEUE_PLACE].style = entry->held ? PAGE_STRONG : PAGE_PLAIN;
    snprintf(cell[QUEUE_TOKEN].text, TABLE_TEXT, "%" PRIu64, entry->token);
    text_clean(cell[QUEUE_KIND].text, TABLE_TEXT, entry->kind);
    if (entry->slot >= 0)
        snprintf(cell[QUEUE_SLOT].text, TABLE_TEXT, "%d", entry->slot);
    snprintf(cell[QUEUE_WHO].text, TABLE_TEXT, "%s", place_address(text, entry));
    snprintf(cell[QUEUE_SINCE].text, TABLE_TEXT, "%s",
             words_time(small, entry->since, draw->snapshot->now));
    draw_age(draw, cell[QUEUE_AGE].text, TABLE_TEXT, entry->since);
    snprintf(cell[QUEUE_LEASE].text, TABLE_TEXT, "%s",
             words_lease(small, draw->snapshot, left));
    if (words_lease_is_low(draw->snapshot, left))
        cell[QUEUE_LEASE].style = PAGE_ALARM;
    words_what(cell[QUEUE_COMMAND].text, TABLE_TEXT, entry);
    if (!place_is_stranger(entry))
        text_clean(cell[QUEUE_NOTE].text, TABLE_TEXT, entry->note);
}

static void draw_places(struct draw *draw, const struct lock *lock, size_t first,
                        size_t end, size_t selected)
{
    struct table      table;
    struct table_cell cell[QUEUE_COLUMNS];

    table_init(&table, queue_columns, QUEUE_COLUMNS);
    table_want(&table, QUEUE_AGE, "12m03s");
    for (size_t i = first; i < end; i++) {
        fill_place(draw, lock, i, cell);
        for (size_t c = 0; c < QUEUE_COLUMNS; c++)
            table_want(&table, c, cell[c].text);
    }
    table_fit(&table, draw->width > 1 ? draw->width - 1 : draw->width);
    page_line(draw->page, PAGE_HEAD);
    page_put(draw->page, PAGE_HEAD, " ");
    table_titles(&table, draw->page, PAGE_HEAD);
    for (size_t i = first; i < end; i++) {
        enum page_style style = i == selected ? PAGE_SELECTED : PAGE_PLAIN;
        fill_place(draw, lock, i, cell);
        words_shorten_lease(cell[QUEUE_LEASE].text, table.width[QUEUE_LEASE]);
        page_line(draw->page, style);
        page_put(draw->page, style, i == selected ? ">" : " ");
        table_put(&table, draw->page, cell, style);
    }
}

/* ---- Around it ---------------------------------------------------------------------- */

/* How much of the capacity is in use. */
static uint64_t taken(const struct lock *lock)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < lock->report->count; i++)
        if (lock->report->entry[i]->held)
            sum += lock->report->entry[i]->weight;
    return sum;
}

static void draw_title(struct draw *draw, const char *opened, const struct lock *lock)
{
    char name[TABLE_TEXT];

    text_clean(name, sizeof name, opened);
    page_line(draw->page, PAGE_PLAIN);
    page_put(draw->page, PAGE_PLAIN, " ");
    if (draw->width >= 20)
        text_cut(name, draw->width - draw->width / 3);
    page_put(draw->page, PAGE_STRONG, name);
    if (lock == NULL) {
        page_put(draw->page, PAGE_FAINT, "  its queue is empty");
        return;
    }
    const struct hf_entry *first = lock->report->entry[0];
    page_print(draw->page, PAGE_PLAIN, "  %s", first->kind);
    if (strcmp(first->kind, "semaphore") == 0)
        page_print(draw->page, PAGE_PLAIN, ", %" PRIu64 " of %" PRIu32 " taken",
                   taken(lock), first->capacity);
    page_print(draw->page, PAGE_PLAIN, ", %zu hold%s, %zu wait%s", lock->holders,
               lock->holders == 1 ? "s" : "", lock->waiters,
               lock->waiters == 1 ? "s" : "");
}

/* The command of the selected place, its note, and why it was asked for the lock. */
static void draw_place(struct draw *draw, const struct hf_entry *entry)
{
    const struct history_entry *request = find_request(draw, entry);
    char                        text[TABLE_TEXT];

    page_line(draw->page, PAGE_FAINT);
    words_what(text, sizeof text, entry);
    page_put(draw->page, PAGE_FAINT, " runs: ");
    page_put(draw->page, PAGE_PLAIN, *text != '\0' ? text : "-");
    text_clean(text, sizeof text, entry->note);
    if (*text != '\0') {
        page_put(draw->page, PAGE_FAINT, "  note: ");
        page_put(draw->page, PAGE_PLAIN, text);
    }
    if (request != NULL) {
        text_clean(text, sizeof text, request->reason);
        page_put(draw->page, PAGE_FAINT, "  asked: ");
        page_put(draw->page, PAGE_PLAIN, *text != '\0' ? text : "without a reason");
    }
}

/* Prints a command so that it can be copied, over as many lines as needed: each but the last ends
 * in a backslash after a word.  Returns the number of lines; with `page` NULL it only counts. */
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

/* Commands that do the same by hand. */
static void commands_of(const struct snapshot *snapshot, const struct hf_entry *entry,
                        char first[5500], char second[5500])
{
    words_command(first, 5500, snapshot, entry->held ? "ask" : "show", 0, entry->name);
    words_command(second, 5500, snapshot, "break", entry->token, entry->name);
}

void draw_queue(struct draw *draw, struct top *top, size_t height)
{
    const struct lock *lock = top_opened(top, draw->snapshot);
    char               one[5500], two[5500];
    size_t             extra = 0;

    if (height == 0)
        return;
    if (height >= 3 || lock == NULL) {
        draw_title(draw, top->opened, lock);
        height--;
    }
    if (lock == NULL || height < 2)
        return;
    size_t                 end = draw->page->lines + height;
    const struct hf_entry *entry = lock->report->entry[top->place_at];
    commands_of(draw->snapshot, entry, one, two);
    extra = 1 + put_command(NULL, one, draw->width) + put_command(NULL, two, draw->width);
    if (height < extra + 4)
        extra = height >= 5;
    size_t      rows = height - 1 - extra, count = lock->report->count;
    struct rows window = { .count = count,
                           .at = top->place_at,
                           .first = top->place_first };
    rows_scroll(&window, rows);
    top->place_first = window.first;
    top->page = rows;
    size_t last = window.first + rows < count ? window.first + rows : count;
    draw_places(draw, lock, window.first, last, top->place_at);
    if (extra == 0)
        return;
    draw_blank(draw, end - extra);
    draw_place(draw, entry);
    if (extra > 1) {
        put_command(draw->page, one, draw->width);
        put_command(draw->page, two, draw->width);
    }
}
