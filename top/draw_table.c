/* draw_table.c - a row for each lock. */
#include "draw.h"

#include "place.h"
#include "table.h"
#include "text.h"
#include "words.h"

#include <stdio.h>
#include <string.h>

enum { NAME, KIND, HOLDER, COMMAND, HELD, LEASE, WAIT, LONGEST, NOTE, COLUMNS };

static const struct table_column columns[COLUMNS] = {
    [NAME] = { "NAME", 12, 60, 9, false },     [KIND] = { "KIND", 5, 9, 2, false },
    [HOLDER] = { "HOLDER", 20, 48, 6, false }, [COMMAND] = { "COMMAND", 8, 60, 1, false },
    [HELD] = { "HELD", 6, 7, 5, true },        [LEASE] = { "LEASE", 8, 12, 3, false },
    [WAIT] = { "WAIT", 4, 8, 8, true },        [LONGEST] = { "LONGEST", 7, 7, 7, true },
    [NOTE] = { "NOTE", 10, 80, 0, false },
};

static void fill_waiters(struct draw *draw, const struct board_line *line,
                         struct table_cell *cell)
{
    snprintf(cell[WAIT].text, TABLE_TEXT, "%zu", line->waiters);
    snprintf(cell[LONGEST].text, TABLE_TEXT, "-");
    if (line->waiters == 0)
        return;
    draw_age(draw, cell[LONGEST].text, TABLE_TEXT, line->waits_since);
    cell[NAME].style = cell[WAIT].style = cell[LONGEST].style = PAGE_STRONG;
}

static void fill_holder(struct draw *draw, const struct board_line *line,
                        struct table_cell *cell)
{
    const struct hf_entry *holder = line->holder;
    char                   lease[WORDS_SHORT];

    snprintf(cell[HELD].text, TABLE_TEXT, "-");
    snprintf(cell[LEASE].text, TABLE_TEXT, "-");
    if (holder == NULL)
        return;
    int64_t left = board_left_ms(line, holder);
    draw_age(draw, cell[HELD].text, TABLE_TEXT, holder->since);
    snprintf(cell[LEASE].text, TABLE_TEXT, "%s", words_lease(lease, draw->sight, left));
    if (words_lease_is_low(draw->sight, left))
        cell[LEASE].style = PAGE_ALARM;
    words_what(cell[COMMAND].text, TABLE_TEXT, holder);
    if (!place_is_stranger(holder))
        text_clean(cell[NOTE].text, TABLE_TEXT, holder->note);
}

static void fill_row(struct draw *draw, const struct board_line *line,
                     struct table_cell *cell)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        cell[i].text[0] = '\0';
        cell[i].style = PAGE_PLAIN;
    }
    text_clean(cell[NAME].text, TABLE_TEXT, line->name);
    text_clean(cell[KIND].text, TABLE_TEXT, line->report->entry[0]->kind);
    words_holder(cell[HOLDER].text, TABLE_TEXT, line);
    fill_holder(draw, line, cell);
    fill_waiters(draw, line, cell);
}

/* A part of a bar says something wrong. */
static void shorten_lease(const struct table *table, char *text)
{
    char *end = strchr(text, ']');

    if (end != NULL && strlen(text) > table->width[LEASE])
        end[1] = '\0';
}

static void say_nothing(struct draw *draw, const struct rows *rows)
{
    const struct sight *sight = draw->sight;

    page_line(draw->page, PAGE_PLAIN);
    if (!sight->complete)
        page_put(draw->page, PAGE_FAINT,
                 sight->reachable || *sight->why == '\0' ? " looking at the store"
                                                         : " nothing is known of it yet");
    else if (*rows->filter != '\0')
        page_put(draw->page, PAGE_FAINT, " no lock matches");
    else
        page_put(draw->page, PAGE_FAINT, " no lock is in use");
}

/* Columns have the widths of what is on the page, so that it can be seen. */
static void measure(struct draw *draw, const struct rows *rows, size_t end,
                    struct table *table)
{
    struct table_cell cell[COLUMNS];

    table_init(table, columns, COLUMNS);
    table_want(table, HELD, "12m03s"); /* as it will be soon */
    for (size_t i = rows->first; i < end; i++) {
        fill_row(draw, rows->row[i], cell);
        for (size_t c = 0; c < COLUMNS; c++)
            table_want(table, c, cell[c].text);
    }
}

void draw_table(struct draw *draw, struct rows *rows, size_t height, bool mark)
{
    struct table      table;
    struct table_cell cell[COLUMNS];
    size_t            titles = height >= 2 || !mark, margin = mark ? 1 : 0;

    if (height == 0)
        return;
    if (mark)
        rows_scroll(rows, height - titles);
    if (rows->count == 0) {
        say_nothing(draw, rows);
        return;
    }
    size_t end = rows->first + height - titles;
    end = end < rows->count ? end : rows->count;
    measure(draw, rows, end, &table);
    table_fit(&table, draw->width > margin ? draw->width - margin : draw->width);
    if (titles) {
        page_line(draw->page, mark ? PAGE_HEAD : PAGE_PLAIN);
        page_put(draw->page, PAGE_HEAD, mark ? " " : "");
        table_titles(&table, draw->page, PAGE_HEAD);
    }
    for (size_t i = rows->first; i < end; i++) {
        bool            chosen = mark && i == rows->at;
        enum page_style style = chosen ? PAGE_CHOSEN : PAGE_PLAIN;
        fill_row(draw, rows->row[i], cell);
        shorten_lease(&table, cell[LEASE].text);
        page_line(draw->page, style);
        page_put(draw->page, style, !mark ? "" : chosen ? ">" : " ");
        table_put(&table, draw->page, cell, style);
    }
}
