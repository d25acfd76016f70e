/* table.c - see table.h. */
#include "table.h"

#include "text.h"

#include <assert.h>
#include <string.h>

void table_init(struct table *table, const struct table_column *column, size_t columns)
{
    assert(columns <= TABLE_COLUMNS);
    *table = (struct table){ .column = column, .columns = columns };
}

void table_want(struct table *table, size_t column, const char *text)
{
    size_t columns = text_columns(text);

    if (columns > table->wants[column])
        table->wants[column] = columns;
    table->texts[column][columns < TABLE_MOST ? columns : TABLE_MOST]++;
}

/* The width that fits all but the longest text, or all but one in eight if there are many. */
static size_t usual_width(const struct table *table, size_t column)
{
    const size_t *texts = table->texts[column];
    size_t        count = 0, wider = 0, width = TABLE_MOST;

    for (size_t i = 0; i <= TABLE_MOST; i++)
        count += texts[i];
    for (; width > 0 && wider + texts[width] <= 1 + count / 8; width--)
        wider += texts[width];
    return width;
}

/* Of the columns that are not left out, with the gaps between them. */
static size_t sum_of(const struct table *table, const size_t *width)
{
    size_t sum = 0, shown = 0;

    for (size_t i = 0; i < table->columns; i++)
        if (table->width[i] > 0) {
            sum += width[i];
            shown++;
        }
    return shown > 1 ? sum + (shown - 1) * table->gap : sum;
}

static void leave_out_column(struct table *table)
{
    size_t worst = TABLE_COLUMNS;

    for (size_t i = 0; i < table->columns; i++)
        if (table->width[i] > 0 &&
            (worst == TABLE_COLUMNS ||
             table->column[i].priority < table->column[worst].priority))
            worst = i;
    if (worst < TABLE_COLUMNS)
        table->width[worst] = 0;
}

/* The widest column above its minimum; TABLE_COLUMNS: there is none. */
static size_t widest(const struct table *table, const size_t *least)
{
    size_t found = TABLE_COLUMNS;

    for (size_t i = 0; i < table->columns; i++)
        if (table->width[i] > least[i] &&
            (found == TABLE_COLUMNS || table->width[i] > table->width[found]))
            found = i;
    return found;
}

/* Shrink columns until they fit, none below its minimum. */
static void narrow(struct table *table, const size_t *least, size_t width)
{
    while (sum_of(table, table->width) > width) {
        size_t i = widest(table, least);
        if (i == TABLE_COLUMNS)
            return;
        table->width[i]--;
    }
}

void table_fit(struct table *table, size_t width)
{
    size_t least[TABLE_COLUMNS], usual[TABLE_COLUMNS];

    table->gap = 2;
    for (size_t i = 0; i < table->columns; i++) {
        const struct table_column *column = &table->column[i];
        size_t                     wants = table->wants[i];
        if (wants > 0 && wants < strlen(column->title))
            wants = strlen(column->title);
        if (width > 0 && wants > column->most)
            wants = column->most;
        table->width[i] = wants;
        least[i] = wants < column->least ? wants : column->least;
        usual[i] = usual_width(table, i) > least[i] ? usual_width(table, i) : least[i];
    }
    if (width == 0 || sum_of(table, table->width) <= width)
        return;
    table->gap = 1;
    size_t shown = table->columns;
    while (shown-- > 1 && sum_of(table, least) > width)
        leave_out_column(table);
    narrow(table, usual, width);
    narrow(table, least, width); /* the page cuts the last column if need be */
}

static void put_text(const struct table *table, struct page *page, size_t i,
                     enum page_style style, const char *text, bool first, bool last)
{
    size_t begin = page->line[page->lines - 1].columns + (first ? 0 : table->gap);
    size_t columns = text_columns(text), width = table->width[i];
    bool   right = table->column[i].right && columns < width;
    bool   bar = style == PAGE_SELECTED || style == PAGE_HEAD;

    page_to(page, bar ? style : PAGE_PLAIN, begin + (right ? width - columns : 0));
    page_put(page, style, text);
    if (!last)
        page_to(page, bar ? style : PAGE_PLAIN, begin + width);
}

static void put_row(const struct table *table, struct page *page,
                    const char *const text[TABLE_COLUMNS], const enum page_style *style)
{
    size_t last = 0;
    bool   first = true;

    for (size_t i = 0; i < table->columns; i++)
        if (table->width[i] > 0)
            last = i;
    for (size_t i = 0; i < table->columns && page->lines > 0; i++) {
        if (table->width[i] == 0)
            continue;
        put_text(table, page, i, style[i], text[i], first, i == last);
        first = false;
    }
}

void table_titles(const struct table *table, struct page *page, enum page_style style)
{
    const char     *text[TABLE_COLUMNS];
    enum page_style styles[TABLE_COLUMNS];
    char            title[TABLE_COLUMNS][32];

    for (size_t i = 0; i < table->columns; i++) {
        size_t width = table->width[i];
        size_t length = strlen(table->column[i].title);
        if (width > 0 && length > width)
            length = width;
        memcpy(title[i], table->column[i].title, length);
        title[i][length] = '\0';
        text[i] = title[i];
        styles[i] = style;
    }
    put_row(table, page, text, styles);
}

/* text_cut() needs room for its dots. */
static void cut_cell(char *text, size_t width)
{
    if (width >= 3)
        text_cut(text, width);
    else
        text[text_fit(text, width)] = '\0';
}

void table_put(const struct table *table, struct page *page, struct table_cell *cell,
               enum page_style over)
{
    const char     *text[TABLE_COLUMNS];
    enum page_style styles[TABLE_COLUMNS];

    for (size_t i = 0; i < table->columns; i++) {
        if (table->width[i] > 0)
            cut_cell(cell[i].text, table->width[i]);
        text[i] = cell[i].text;
        styles[i] = over != PAGE_PLAIN ? over : cell[i].style;
    }
    put_row(table, page, text, styles);
}
