/* draw_table.c - a row for each lock. */
#include "draw.h"

#include "place.h"
#include "table.h"
#include "text.h"
#include "words.h"

#include <stdio.h>
#include <string.h>

enum {
    ROW_NAME,
    ROW_KIND,
    ROW_HOLDER,
    ROW_COMMAND,
    ROW_HELD,
    ROW_LEASE,
    ROW_WAIT,
    ROW_LONGEST,
    ROW_NOTE,
    ROW_COLUMNS
};

static const struct table_column row_columns[ROW_COLUMNS] = {
    [ROW_NAME] = { "NAME", 18, 60, 9, false },
    [ROW_KIND] = { "KIND", 5, 9, 1, false },
    [ROW_HOLDER] = { "HOLDER", 18, 48, 6, false },
    [ROW_COMMAND] = { "COMMAND", 18, 60, 3, false },
    [ROW_HELD] = { "HELD", 6, 7, 5, true },
    [ROW_LEASE] = { "LEASE", 8, 12, 2, false },
    [ROW_WAIT] = { "WAIT", 4, 8, 8, true },
    [ROW_LONGEST] = { "LONGEST", 7, 7, 7, true },
    [ROW_NOTE] = { "NOTE", 10, 80, 0, false },
};

static void fill_waiters(struct draw *draw, const struct lock *lock,
                         struct table_cell *cell)
{
    snprintf(cell[ROW_WAIT].text, TABLE_TEXT, "%zu", lock->waiters);
    snprintf(cell[ROW_LONGEST].text, TABLE_TEXT, "-");
    if (lock->waiters == 0)
        return;
    draw_age(draw, cell[ROW_LONGEST].text, TABLE_TEXT, lock->waits_since);
    cell[ROW_NAME].style = cell[ROW_WAIT].style = cell[ROW_LONGEST].style = PAGE_STRONG;
}

static void fill_holder(struct draw *draw, const struct lock *lock,
                        struct table_cell *cell)
{
    const struct hf_entry *holder = lock->holder;
    char                   lease[WORDS_SHORT];

    snprintf(cell[ROW_HELD].text, TABLE_TEXT, "-");
    snprintf(cell[ROW_LEASE].text, TABLE_TEXT, "-");
    if (holder == NULL)
        return;
    int64_t left = words_left_ms(draw->snapshot, lock, lock->holder_at);
    draw_age(draw, cell[ROW_HELD].text, TABLE_TEXT, holder->since);
    snprintf(cell[ROW_LEASE].text, TABLE_TEXT, "%s",
             words_lease(lease, draw->snapshot, left));
    if (words_lease_is_low(draw->snapshot, left))
        cell[ROW_LEASE].style = PAGE_ALARM;
    words_what(cell[ROW_COMMAND].text, TABLE_TEXT, holder);
    if (!place_is_stranger(holder))
        text_clean(cell[ROW_NOTE].text, TABLE_TEXT, holder->note);
}

static void fill_row(struct draw *draw, const struct lock *lock, struct table_cell *cell)
{
    for (size_t i = 0; i < ROW_COLUMNS; i++) {
        cell[i].text[0] = '\0';
        cell[i].style = PAGE_PLAIN;
    }
    text_clean(cell[ROW_NAME].text, TABLE_TEXT, lock->name);
    text_clean(cell[ROW_KIND].text, TABLE_TEXT, lock->report->entry[0]->kind);
    words_holder(cell[ROW_HOLDER].text, TABLE_TEXT, lock);
    fill_holder(draw, lock, cell);
    fill_waiters(draw, lock, cell);
}

/* Wraps a long text, over so many lines at most. */
static void put_wrapped(struct draw *draw, const char *text, size_t lines)
{
    size_t width = draw->width > 20 ? draw->width - 2 : 20;

    for (; *text != '\0' && lines > 0; lines--) {
        size_t length = strlen(text), cut = length;
        if (length > width)
            for (cut = width; cut > 0 && text[cut] != ' '; cut--)
                ;
        if (cut == 0)
            cut = length;
        page_line(draw->page, PAGE_PLAIN);
        page_print(draw->page, PAGE_FAINT, " %.*s", (int)cut, text);
        text += cut + strspn(text + cut, " ");
    }
}

static void draw_unknown(struct draw *draw, size_t lines)
{
    char why[600];

    put_wrapped(draw, "it is not known who holds a lock:", 1);
    text_clean(why, sizeof why, draw->snapshot->why);
    put_wrapped(draw, why, lines - 1);
}

static void draw_empty(struct draw *draw, const struct rows *rows, size_t lines)
{
    const struct snapshot *snapshot = draw->snapshot;

    if (snapshot->as_of == 0 && !snapshot->reachable && *snapshot->why != '\0') {
        draw_unknown(draw, lines);
        return;
    }
    page_line(draw->page, PAGE_PLAIN);
    if (!snapshot->complete)
        page_put(draw->page, PAGE_FAINT, " looking at the store");
    else if (*rows->filter != '\0')
        page_put(draw->page, PAGE_FAINT, " no lock matches");
    else
        page_put(draw->page, PAGE_FAINT, " no lock is in use");
}

/* The widths of columns depend on the rows that are on the page. */
static void measure_rows(struct draw *draw, const struct rows *rows, size_t end,
                         struct table *table)
{
    struct table_cell cell[ROW_COLUMNS];

    table_init(table, row_columns, ROW_COLUMNS);
    table_want(table, ROW_HELD, "12m03s"); /* it will soon be that wide */
    for (size_t i = rows->first; i < end; i++) {
        fill_row(draw, rows->row[i], cell);
        for (size_t c = 0; c < ROW_COLUMNS; c++)
            table_want(table, c, cell[c].text);
    }
}

void draw_table(struct draw *draw, struct rows *rows, size_t height, bool mark)
{
    struct table      table;
    struct table_cell cell[ROW_COLUMNS];
    size_t            titles = height >= 2 || !mark, margin = mark ? 1 : 0;

    if (height == 0)
        return;
    if (mark)
        rows_scroll(rows, height - titles);
    if (rows->count == 0) {
        draw_empty(draw, rows, height);
        return;
    }
    size_t end = rows->first + height - titles;
    end = end < rows->count ? end : rows->count;
    measure_rows(draw, rows, end, &table);
    table_fit(&table, draw->width > margin ? draw->width - margin : draw->width);
    if (titles) {
        page_line(draw->page, mark ? PAGE_HEAD : PAGE_PLAIN);
        page_put(draw->page, PAGE_HEAD, mark ? " " : "");
        table_titles(&table, draw->page, PAGE_HEAD);
    }
    for (size_t i = rows->first; i < end; i++) {
        bool            selected = mark && i == rows->at;
        enum page_style style = selected ? PAGE_SELECTED : PAGE_PLAIN;
        fill_row(draw, rows->row[i], cell);
        words_shorten_lease(cell[ROW_LEASE].text, table.width[ROW_LEASE]);
        page_line(draw->page, style);
        page_put(draw->page, style, !mark ? "" : selected ? ">" : " ");
        table_put(&table, draw->page, cell, style);
    }
}
