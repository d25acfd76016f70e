/* table.h - columns that share the width of a page.
 *
 * Each wants as much as its longest text, and no more than its most; one without any text is
 * left out.  If that is too much together, columns are left out, those first that say least,
 * until the others have their least.  Then the widest gives way: first to what it usually
 * needs, so that one long text does not cost the other columns anything, then to its least.
 */
#ifndef TABLE_H
#define TABLE_H

#include "page.h"

#define TABLE_COLUMNS 10
#define TABLE_TEXT    520
#define TABLE_MOST    80 /* no column has more, unless there is no end */

struct table_column {
    const char *title;
    size_t      least, most;
    int         worth; /* the lowest is left out first */
    bool        right; /* numbers */
};

struct table_cell {
    char            text[TABLE_TEXT]; /* clean */
    enum page_style style;
};

struct table {
    const struct table_column *column;
    size_t                     columns;
    size_t                     wants[TABLE_COLUMNS]; /* of the longest text */
    /* How many texts are so wide; the last counts those that are wider, too. */
    size_t texts[TABLE_COLUMNS][TABLE_MOST + 1];
    /* As table_fit() leaves it. */
    size_t width[TABLE_COLUMNS]; /* 0: left out */
    size_t gap;
};

/* Nothing is known of its texts yet. */
void table_init(struct table *table, const struct table_column *column, size_t columns);

/* A text of that column will be there. */
void table_want(struct table *table, size_t column, const char *text);

/* `width` 0: there is no end. */
void table_fit(struct table *table, size_t width);

/* Add to the last line of a page.  `over` is the style of all cells, unless it is plain. */
void table_titles(const struct table *table, struct page *page, enum page_style style);
void table_put(const struct table *table, struct page *page, struct table_cell *cell,
               enum page_style over);

#endif
