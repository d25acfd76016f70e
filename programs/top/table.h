/* table.h - columns that share the width of a page.
 *
 * Each column wants the width of its longest text, up to its maximum; a column without any text is
 * left out.  If the columns do not fit, those with the lowest priority are left out until the others
 * have their minimum.  Then the widest column shrinks, first to its usual width, so that one long
 * text does not cost the other columns anything, then to its minimum.
 */
#ifndef TABLE_H
#define TABLE_H

#include "page.h"

#define TABLE_COLUMNS 10
#define TABLE_TEXT    520
#define TABLE_MOST    80 /* the maximum of every column, unless the width has no limit */

struct table_column {
    const char *title;
    size_t      least, most;
    int         priority; /* the lowest is left out first */
    bool        right;    /* aligned right, for numbers */
};

struct table_cell {
    char            text[TABLE_TEXT]; /* clean */
    enum page_style style;
};

struct table {
    const struct table_column *column;
    size_t                     columns;
    size_t                     wants[TABLE_COLUMNS]; /* of the longest text */
    /* How many texts have each width; the last also counts wider texts. */
    size_t texts[TABLE_COLUMNS][TABLE_MOST + 1];
    /* Set by table_fit(). */
    size_t width[TABLE_COLUMNS]; /* 0: left out */
    size_t gap;
};

void table_init(struct table *table, const struct table_column *column, size_t columns);

/* Count a text that will be printed in that column. */
void table_want(struct table *table, size_t column, const char *text);

/* Choose the widths of all columns.  `width` 0: no limit. */
void table_fit(struct table *table, size_t width);

/* Add to the last line of a page.  `over` is the style of all cells, unless it is plain. */
void table_titles(const struct table *table, struct page *page, enum page_style style);
void table_put(const struct table *table, struct page *page, struct table_cell *cell,
               enum page_style over);

#endif
